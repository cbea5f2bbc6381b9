// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: memory and launches; the kernels are in tree_*.cuh.
#include "tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tree_far_field.cuh"
#include "tree_decisions.cuh"

namespace manymove::coulomb {
namespace {

// As measured on an H100 (docs/benchmarks/electrolyte.md): where the sums at short range cost as
// much as the transforms, and the parts of a sweep in seconds. In small systems transforms take
// their time beside other kernels, so that the mesh may be finer.
constexpr std::size_t kSmall = 32768;  // ions at most
constexpr double ions_per_point(Space space, std::size_t ions) {
  return space == Space::ewald ? 0.35 : ions > kSmall ? 0.5 : 0.25;
}
constexpr double kBatch = 80;
constexpr int kReachBins = 1;
Costs costs_of(Space space) {
  // With Ewald's energy the mesh is small, the rounds take most of the time, and a mesh of moves
  // has not been measured to save any.
  if (space == Space::ewald)
    return {.point = 2.3e-11, .launch = 0, .pair = 1.05e-11, .near = 5e-12, .of_moves = 1};
  return {.point = 2.3e-11, .launch = 1e-4, .pair = 1.6e-12, .near = 5e-12, .of_moves = 2e-8};
}

constexpr int kMostBatch = 8192;  // trials, wanted
// Trials that are guessed together: the more there are, the more rounds it takes, as the change of
// the energy by another's move falls with the size of the system.
int batch_length(std::size_t ions) {
  const double wanted = kBatch * std::cbrt(static_cast<double>(ions));
  return std::clamp(1 << static_cast<int>(std::lround(std::log2(wanted))), 64, kMostBatch);
}
// A batch is at most half as long again as is wanted, and rounding makes each of an outer epoch's
// longer by one trial.
constexpr int most_batch(int batch) { return 2 * batch + 2; }

// Trials of a batch and of the two kinds of epochs, for a number of hopeful trials. All batches and
// epochs of a sweep but the last ones are equal, and epochs have whole batches.
struct Lengths {
  int outer, inner, batch;
};
Lengths lengths_of(int hopeful, const Epochs& most, int batch) {
  const auto split = [](int trials, std::size_t most) {
    return blocks_for(trials, blocks_for(trials, static_cast<int>(most)));
  };
  const int outer = split(hopeful, most.outer),
            inner = most.inner < most.outer ? split(outer, most.inner) : outer;
  const int batches = std::max(1, static_cast<int>(std::lround(double(inner) / batch)));
  Lengths lengths;
  lengths.batch = blocks_for(inner, batches);
  lengths.inner = batches * lengths.batch;
  lengths.outer = blocks_for(outer, inner) * lengths.inner;
  return lengths;
}
std::size_t most_trials(const Epochs& epochs, int batch) {
  const std::size_t batches = 4 * (epochs.outer / static_cast<std::size_t>(batch) + 1) +
                              4 * (epochs.outer / epochs.inner + 1);
  return epochs.outer + batches;
}

template <Space B>
class Tree final : public DeviceTree {
  static constexpr bool kSingle = Epoch<B>::kSingle;
  using Field = DeviceField<B>;

 public:
  Tree(const State& state, cudaStream_t stream)
      : stream_(stream),
        ions_(static_cast<int>(state.sites.size())),
        batch_(batch_length(state.sites.size())),
        least_(state.least_bound / state.rules.strength),
        field_(make_far_field(state, ions_per_point(B, state.sites.size())), state,
               state.sites.size(), stream, mesh_stream_),
        epochs_(epochs_for(state, field_.field(), costs_of(B))),
        bins_(state, field_.field().mesh.reach / kReachBins, stream) {
    if (epochs_.inner < epochs_.outer) {
      const std::size_t moves = most_trials(epochs_, batch_);
      moves_ = std::make_unique<Field>(make_far_field_of_moves(state, field_.field(), moves), state,
                                       2 * moves, stream, stream);
    }
    make_lists(state);
    int per_multiprocessor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel_, kTreeThreads,
                                                        0),
          "occupancy");
    // Small systems gain more from barriers of fewer blocks.
    blocks_ = (state.sites.size() > kSmall ? per_multiprocessor : std::min(per_multiprocessor, 2)) *
              multiprocessors();
  }

  void fill(const Site* site) override {
    wait_for_all();
    field_.fill(site, ions_);
    mesh_done_.record(mesh_stream_);
    wait_for_mesh();
  }

  void clear_tallies() override { tally_.clear(stream_); }
  std::vector<TreeTally> tallies(int sweeps) const override {
    std::vector<TreeTally> tallies(static_cast<std::size_t>(sweeps));
    tally_.download(tallies.data(), stream_, tallies.size());
    return tallies;
  }

  void begin_sweep(const Rules& r, const TreeInput& in, int slot) override {
    // Charges may still follow the last moves, in the mesh stream: a sweep without hopeful trials
    // has not waited for that, and the lists of the sweep before it are overwritten here.
    if (refreshed_) wait_for_mesh();
    copy_out(hopeful_.data(), in.count, sizeof(std::uint32_t), stream_);
    counted_.record(stream_);
    rules_ = r;
    input_ = in;
    turn_ = 1 - turn_;
    view_ = view(in, slot);
    transform();
    moved_.clear(stream_);
    check(cudaMemsetAsync(new_head_.data(), 0xff, new_head_.size() * sizeof(std::int32_t), stream_),
          "clear");
    // While the host waits for the number of hopeful trials
    const int blocks = blocks_for(ions_, kThreads);
    arrange_kernel<<<blocks, kThreads, 0, stream_>>>(
        r, in.site, in.trial, in.most, in.order, in.count, from_[turn_].data(), to_[turn_].data(),
        limit_.data(), new_head_.data(), new_next_.data());
    conflicts_used_.clear(stream_);
    conflicts_kernel<<<blocks, kThreads, 0, stream_>>>(
        r, view_, in.trial, in.count, conflict_.data(), conflicts_.data(),
        static_cast<unsigned>(conflicts_.size()), conflicts_used_.data());
    if (r.vacuum != 0) gains_kernel<<<blocks, kThreads, 0, stream_>>>(r, view_, in.count);
    check_launch();
    field_.sort(in.site, ions_);
    refreshed_ = true;
  }
  int hopeful() const override {
    counted_.wait();
    return static_cast<int>(hopeful_[0]);
  }
  Epochs epochs() const override { return epochs_; }
  int batch() const override { return batch_; }

  void begin_outer(const Deal& deal) override {
    outer_ = view_.deal = deal;
    const Places places = trials(deal.begin, deal.end);
    epoch_turn_ = 1 - epoch_turn_;
    if (!std::exchange(refreshed_, false)) {
      transform();
      field_.sort(input_.site, ions_);
    }
    sort_places(places, outer_place_[epoch_turn_]);
    wait_for_mesh();
    field_.estimate(rules_, places, deal.begin, deal, outer_place_[epoch_turn_].data(),
                    estimate_.data(), false);
  }
  void begin_epoch(int begin, int end) override {
    view_.deal.end = end;
    const Places places = trials(begin, end);
    PlaceEstimate* const estimates = estimate_.data() + 2 * (begin - outer_.begin);
    MovesBound of_moves{0, 0, nullptr};
    if (moves_) {
      if (begin == outer_.begin) moves_->clear();
      sort_places(places, place_);
    }
    if (begin > outer_.begin) {
      moves_->transform();
      moves_->sort(trials(outer_.begin, begin), accepted_.data() + outer_.begin);
      moves_->estimate(rules_, places, begin, view_.deal, place_.data(), estimates, true);
      const ErrorBound& bound = moves_->field().bound;
      of_moves = {bound.field, bound.per_norm, moves_->mesh().squares};
    }
    counts_.clear(stream_);
    // Four potentials for each move before. In float32 eight moves are one float64 sum; those of
    // moves that are guessed and taken back find room in the float32 bound of their terms.
    const double pairs = places.count, terms = (kSingle ? 4 : 16) * pairs;
    const double roundings = kSingle ? pairs + 256 : 16 * (terms + 4096);
    estimate_kernel<B><<<blocks_for(places.count, kThreads), kThreads, 0, stream_>>>(
        rules_, field_.mesh(), field_.field().bound, of_moves, least_, places, begin, view_.deal,
        estimates, terms, roundings, change_.data() + begin, error_.data() + begin);
    check_launch();
  }
  void decide_and_move(int begin, int end) override { launch(Step::both, begin, end); }
  void decide(int begin, int end) override {
    launch(Step::decide, begin, end);
    decided_.record(stream_);
  }
  void hear(const DeviceTree& decider, int begin, int end) override {
    const auto& other = static_cast<const Tree&>(decider);
    other.decided_.hold(stream_);
    check(cudaMemcpyAsync(accepted_.data() + begin, other.accepted_.data() + begin,
                          static_cast<std::size_t>(end - begin), cudaMemcpyDeviceToDevice, stream_),
          "copy");
  }
  void move(int begin, int end) override { launch(Step::move, begin, end); }
  void end_epoch(int begin, int end) override {
    if (moves_ && end < outer_.end)
      moves_->follow(trials(begin, end), place_.data(), accepted_.data() + begin);
  }
  void end_outer() override {
    wait_for_all();
    field_.follow(trials(outer_.begin, outer_.end), outer_place_[epoch_turn_].data(),
                  accepted_.data() + outer_.begin);
    mesh_done_.record(mesh_stream_);
  }

 private:
  void launch(Step step, int begin, int end) {
    const float4* trial = input_.trial;
    void* arguments[] = {&rules_, &view_, &trial, &step, &begin, &end};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel_),
                                      dim3(static_cast<unsigned>(blocks_)), dim3(kTreeThreads),
                                      arguments, 0, stream_),
          "launch");
  }

  void make_lists(const State& state) {
    const auto n = static_cast<std::size_t>(ions_);
    for (auto* const both : {&from_, &to_})
      for (DeviceBuffer<Site>& one : *both) one = DeviceBuffer<Site>(n);
    change_ = DeviceBuffer<double>(n);
    error_ = DeviceBuffer<double>(n);
    accepted_ = DeviceBuffer<std::uint8_t>(n);
    limit_ = DeviceBuffer<std::int64_t>(n);
    conflict_ = DeviceBuffer<std::int32_t>(n);
    conflicts_ = DeviceBuffer<std::int32_t>(n);
    conflicts_used_ = DeviceBuffer<unsigned>(1);
    moved_ = DeviceBuffer<std::uint8_t>(n);
    const int* const cells = state.rules.cells;
    new_head_ =
        DeviceBuffer<std::int32_t>(static_cast<std::size_t>(cells[0]) * cells[1] * cells[2]);
    new_next_ = DeviceBuffer<std::int32_t>(n);
    const auto batch = static_cast<std::size_t>(most_batch(batch_));
    lists_ = DeviceBuffer<std::int32_t>(6 * batch);
    firsts_ = DeviceBuffer<double>(2 * batch);
    firsts_.clear(stream_);
    exact_ = DeviceBuffer<unsigned long long>(batch);
    const std::size_t trials = std::min(n, most_trials(epochs_, batch_));
    for (auto& one : outer_place_) one = DeviceBuffer<std::int32_t>(2 * trials);
    if (moves_) place_ = DeviceBuffer<std::int32_t>(2 * trials);
    estimate_ = DeviceBuffer<PlaceEstimate>(2 * trials);
    counts_ = DeviceBuffer<unsigned>(kCounts);
    tally_ = DeviceBuffer<TreeTally>(kRing);
    if (!state.parameters.vacuum) return;
    gain_ = DeviceBuffer<Dipole>(n);
    earlier_ = DeviceBuffer<Dipole>(n);
  }

  TreeView view(const TreeInput& in, int slot) const {
    std::int32_t* const lists = lists_.data();
    const int batch = most_batch(batch_);
    return {from_[turn_].data(),
            to_[turn_].data(),
            in.order,
            limit_.data(),
            conflict_.data(),
            change_.data(),
            error_.data(),
            accepted_.data(),
            in.site,
            moved_.data(),
            in.radius,
            in.head,
            in.next,
            new_head_.data(),
            new_next_.data(),
            conflicts_.data(),
            {lists, lists + batch, lists + 2 * batch},
            {lists + 3 * batch, lists + 4 * batch, lists + 5 * batch},
            exact_.data(),
            firsts_.data(),
            firsts_.data() + batch,
            counts_.data(),
            tally_.data() + slot,
            gain_.data(),
            earlier_.data(),
            in.image,
            in.dipole,
            field_.field().quanta,
            ions_,
            {}};
  }

  // The charges of the ions follow their moves and are transformed in a stream of their own, beside
  // what the next trials need before the potential.
  void transform() {
    wait_for_all();
    field_.transform();
    mesh_done_.record(mesh_stream_);
  }
  void wait_for_all() {
    all_done_.record(stream_);
    all_done_.hold(mesh_stream_);
  }
  void wait_for_mesh() { mesh_done_.hold(stream_); }
  Places trials(int begin, int end) const {
    return {from_[turn_].data() + begin, to_[turn_].data() + begin, end - begin};
  }
  void sort_places(const Places& places, DeviceBuffer<std::int32_t>& sorted) {
    bins_.sort(count_places_kernel, sort_places_kernel, 2 * places.count, sorted.data(), stream_,
               places);
  }

  void (*kernel_)(Rules, TreeView, const float4*, Step, int, int) = epoch_kernel<B>;
  cudaStream_t stream_;
  Stream mesh_stream_;
  Event all_done_, mesh_done_;  // what is enqueued in either stream
  int ions_, batch_, blocks_ = 0;
  double least_;
  Field field_;
  Epochs epochs_;
  DeviceCells bins_;              // of places
  std::unique_ptr<Field> moves_;  // if there are two kinds of epochs
  DeviceBuffer<unsigned long long> exact_;
  DeviceBuffer<double> change_, error_, firsts_;
  DeviceBuffer<PlaceEstimate> estimate_;  // of an outer epoch
  // Two of each, as charges may still follow the moves of the sweep or epoch before
  DeviceBuffer<Site> from_[2], to_[2];
  DeviceBuffer<std::int32_t> outer_place_[2];
  int turn_ = 0, epoch_turn_ = 0;
  DeviceBuffer<std::uint8_t> accepted_, moved_;
  DeviceBuffer<std::int64_t> limit_;
  DeviceBuffer<std::int32_t> conflict_, conflicts_, new_head_, new_next_, lists_, place_;
  DeviceBuffer<unsigned> counts_, conflicts_used_;
  DeviceBuffer<TreeTally> tally_;        // of the sweeps since they were cleared
  DeviceBuffer<Dipole> gain_, earlier_;  // with a vacuum around
  PinnedBuffer<std::uint32_t> hopeful_{1};
  Event counted_;
  bool refreshed_ = false;  // at the start of the sweep
  Event decided_;           // the last batch that this device has decided
  // Of the present sweep
  Rules rules_{};
  TreeInput input_{};
  TreeView view_{};
  Deal outer_{};  // of the present outer epoch
};

}  // namespace

std::unique_ptr<DeviceTree> make_device_tree(const State& state, cudaStream_t stream) {
  if (state.rules.space == Space::ewald) return std::make_unique<Tree<Space::ewald>>(state, stream);
  return std::make_unique<Tree<Space::cell>>(state, stream);
}

void sweep_by_trees(const std::vector<TreePart>& parts, int slot) {
  const auto devices = static_cast<int>(parts.size());
  // The first device comes last, so that it is the current one afterwards.
  const auto each = [&](const auto& step) {
    for (int d = devices; d-- > 0;) {
      check(select_device(parts[d].device), "device");
      step(*parts[d].tree, d);
    }
  };
  each([&](DeviceTree& tree, int d) { tree.begin_sweep(parts[d].rules, parts[d].input, slot); });
  const DeviceTree& first = *parts.front().tree;
  const int hopeful = first.hopeful();
  if (hopeful == 0) return;
  const Lengths lengths = lengths_of(hopeful, first.epochs(), first.batch());
  for (int outer = 0; outer < hopeful; outer += lengths.outer) {
    const int outer_end = std::min(hopeful, outer + lengths.outer);
    each([&](DeviceTree& tree, int d) {
      tree.begin_outer({outer, outer_end, lengths.batch, d, devices});
    });
    for (int begin = outer; begin < outer_end; begin += lengths.inner) {
      const int end = std::min(outer_end, begin + lengths.inner);
      each([&](DeviceTree& tree, int) { tree.begin_epoch(begin, end); });
      if (devices == 1) parts.front().tree->decide_and_move(begin, end);
      for (int start = begin, decider = (begin - outer) / lengths.batch % devices;
           devices > 1 && start < end; start += lengths.batch, decider = (decider + 1) % devices) {
        const int stop = std::min(end, start + lengths.batch);
        check(select_device(parts[decider].device), "device");
        parts[decider].tree->decide(start, stop);
        each([&](DeviceTree& tree, int d) {
          if (d != decider) tree.hear(*parts[decider].tree, start, stop);
          tree.move(start, stop);
        });
      }
      each([&](DeviceTree& tree, int) { tree.end_epoch(begin, end); });
    }
    each([](DeviceTree& tree, int) { tree.end_outer(); });
  }
}

}  // namespace manymove::coulomb
