// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: memory and launches; the kernels are in tree_*.cuh.
#include "tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tree_decisions.cuh"
#include "tree_far_field.cuh"

namespace manymove::coulomb {
namespace {

// As measured on an H100 (docs/benchmarks/electrolyte.md): where the sums at short range cost as
// much as the transforms, and the parts of a sweep in seconds. In small systems transforms take
// their time while other kernels run, so that the mesh may be finer.
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

// Trials of a batch and of the two kinds of epochs, for a number of candidates. All batches and
// epochs of a sweep but the last ones are equal, and epochs have whole batches.
struct Lengths {
  int outer, inner, batch;
};
Lengths lengths_of(int candidates, const Epochs& most, int batch) {
  const auto split = [](int trials, std::size_t most) {
    return blocks_for(trials, blocks_for(trials, static_cast<int>(most)));
  };
  const int outer = split(candidates, most.outer),
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
  Tree(const State& state, FarField field, const Epochs& epochs, cudaStream_t stream)
      : stream_(stream),
        ions_(static_cast<int>(state.sites.size())),
        batch_(batch_length(state.sites.size())),
        epochs_(epochs),
        field_(std::move(field), state, state.sites.size(), stream, mesh_stream_),
        bins_(state, field_.field().mesh.reach / kReachBins, stream),
        new_head_(cell_count(state.rules)) {
    if (epochs_.inner < epochs_.outer) {
      const std::size_t moves = most_trials(epochs_, batch_);
      moves_ = std::make_unique<Field>(make_far_field_of_moves(state, field_.field(), moves), state,
                                       2 * moves, stream, stream);
      made_.make(2 * trials_, site_);
    }
    firsts_.clear(stream_);
    make_arrays(state.parameters.vacuum);
    const int per_multiprocessor = blocks_side_by_side(kernel_, kTreeThreads, 0);
    // Small systems gain more from barriers of fewer blocks.
    blocks_ =
        (n_ > kSmall ? per_multiprocessor : std::min(per_multiprocessor, 2)) * multiprocessors();
  }

  void fill(const Site* site) override {
    wait_for_all();
    field_.fill(site, ions_);
    mesh_done_.record(mesh_stream_);
    wait_for_mesh();
  }

  // ---- a sweep, by sweep_of() ----

  void begin_sweep(const Rules& r, const ChainArrays& chain) {
    // Charges may still follow the last moves, in the mesh stream: a sweep without candidates has
    // not waited for that, and the lists of the sweep before it are overwritten here.
    if (refreshed_) wait_for_mesh();
    copy_out(candidates_.data(), chain.count, sizeof(std::uint32_t), stream_);
    counted_.record(stream_);
    rules_ = r;
    turn_ = 1 - turn_;
    arrays_.chain = chain;
    arrays_.from = from_[turn_];
    arrays_.to = to_[turn_];
    transform();
    moved_.clear(stream_);
    new_head_.clear(stream_, 0xff);
    // These run while the host waits for the number of candidates.
    const int blocks = blocks_for(ions_, kThreads);
    arrange_kernel<<<blocks, kThreads, 0, stream_>>>(r, arrays_);
    conflicts_used_.clear(stream_);
    conflicts_kernel<<<blocks, kThreads, 0, stream_>>>(r, arrays_);
    check_launch();
    sort_ions();
    refreshed_ = true;
  }
  // The number of candidates, for which the host waits.
  int candidates() const {
    counted_.wait();
    return static_cast<int>(candidates_[0]);
  }
  // Numbers of trials, functions of N alone
  Epochs epochs() const { return epochs_; }
  int batch() const { return batch_; }

  // An outer epoch, and in it one epoch after the other, trials begin..end.
  void begin_outer(const Deal& deal) {
    outer_ = arrays_.deal = deal;
    const TrialSites all = trials(deal.begin, deal.end);
    epoch_turn_ = 1 - epoch_turn_;
    if (!std::exchange(refreshed_, false)) {
      transform();
      sort_ions();
    }
    bins_.sort(TrialItems{all}, outer_site_[epoch_turn_], stream_);
    wait_for_mesh();
    field_.estimate(rules_, all, deal, outer_site_[epoch_turn_], estimate_, false);
  }
  void begin_epoch(int begin, int end) {
    arrays_.deal.end = end;
    const TrialSites some = trials(begin, end);
    SiteEstimate* const estimates = estimate_ + 2 * (begin - outer_.begin);
    EstimateBounds bounds{.ions = field_.field().bound};
    if (moves_) {
      if (begin == outer_.begin) moves_->clear();
      bins_.sort(TrialItems{some}, site_, stream_);
    }
    if (begin > outer_.begin) {
      moves_->transform();
      moves_->sort(TrialItems{trials(outer_.begin, begin), arrays_.accepted + outer_.begin});
      moves_->estimate(rules_, some, arrays_.deal, site_, estimates, true);
      bounds.moves = moves_->field().bound;
      bounds.moves_squares = moves_->mesh().squares;
    }
    counts_.clear(stream_);
    // Four potentials for each move before. In float32 eight moves are one float64 sum; those of
    // moves that are guessed and taken back find room in the float32 bound of their terms.
    const double pairs = some.count;
    bounds.later = (kSingle ? 4 : 16) * pairs;
    bounds.roundings = kSingle ? pairs + 256 : 16 * (bounds.later + 4096);
    estimate_kernel<B><<<blocks_for(some.count, kThreads), kThreads, 0, stream_>>>(
        rules_, field_.mesh(), bounds, some, arrays_.deal, estimates, arrays_.change + begin,
        arrays_.error + begin);
    check_launch();
  }
  void decide_and_move(int begin, int end) { launch(Step::both, begin, end); }
  void decide(int begin, int end) {
    launch(Step::decide, begin, end);
    decided_.record(stream_);
  }
  // Takes the decisions of another device, in order with both devices' work.
  void receive(const Tree& other, int begin, int end) {
    other.decided_.hold(stream_);
    // One byte for each trial is all that devices exchange within a batch.
    copy_on_device(arrays_.accepted + begin, other.arrays_.accepted + begin,
                   static_cast<std::size_t>(end - begin), stream_);
  }
  void move(int begin, int end) { launch(Step::move, begin, end); }
  void end_epoch(int begin, int end) {
    if (moves_ && end < outer_.end)
      moves_->follow(trials(begin, end), site_, arrays_.accepted + begin);
  }
  void end_outer() {
    wait_for_all();
    field_.follow(trials(outer_.begin, outer_.end), outer_site_[epoch_turn_],
                  arrays_.accepted + outer_.begin);
    mesh_done_.record(mesh_stream_);
  }

 private:
  void launch(Step step, int begin, int end) {
    // For barriers of the whole grid: a cooperative launch has all blocks at work at a time.
    void* arguments[] = {&rules_, &arrays_, &step, &begin, &end};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel_),
                                      dim3(static_cast<unsigned>(blocks_)), dim3(kTreeThreads),
                                      arguments, 0, stream_),
          "launch");
  }

  void make_arrays(bool vacuum) {
    TreeArrays& a = arrays_;
    made_.make(n_, from_[0], from_[1], to_[0], to_[1]);
    // Two sites for each trial.
    made_.make(2 * trials_, estimate_, outer_site_[0], outer_site_[1]);
    made_.make(n_, a.limit, a.conflict, a.change, a.error, a.accepted, a.new_next, a.conflicts);
    made_.make(most_batch_, a.exact, a.flipped[0], a.flipped[1], a.flipped[2]);
    made_.make(most_batch_, a.open[0], a.open[1], a.open[2]);
    if (vacuum) made_.make(n_, a.gain, a.earlier);
    a.moved = moved_.data();
    a.new_head = new_head_.data();
    a.conflicts_capacity = static_cast<unsigned>(n_);
    a.conflicts_used = conflicts_used_.data();
    a.from_first = firsts_.data();
    a.first_error = firsts_.data() + most_batch_;
    a.count = counts_.data();
    a.quanta = field_.field().quanta;
  }

  // The charges of the ions follow their moves and are transformed in a stream of their own, beside
  // what the next trials need before the potential.
  void transform() {
    wait_for_all();
    field_.transform();
    mesh_done_.record(mesh_stream_);
  }
  void wait_for_all() {
    // What follows in the mesh stream comes after all that the main stream has now.
    all_done_.record(stream_);
    all_done_.hold(mesh_stream_);
  }
  void wait_for_mesh() { mesh_done_.hold(stream_); }
  TrialSites trials(int begin, int end) const {
    return {arrays_.from + begin, arrays_.to + begin, begin, end - begin};
  }
  void sort_ions() { field_.sort(IonItems{arrays_.chain.site, ions_}); }

  void (*kernel_)(Rules, TreeArrays, Step, int, int) = epoch_kernel<B>;
  cudaStream_t stream_;
  Stream mesh_stream_;
  Event all_done_, mesh_done_;  // what is enqueued in either stream
  int ions_, batch_, blocks_ = 0;
  Epochs epochs_;
  Field field_;
  std::unique_ptr<Field> moves_;  // if there are two kinds of epochs
  DeviceCells bins_;              // of sites of trials
  const std::size_t n_ = static_cast<std::size_t>(ions_),
                    most_batch_ = static_cast<std::size_t>(most_batch(batch_)),
                    trials_ = std::min(n_, most_trials(epochs_, batch_));  // of an outer epoch
  TreeArrays arrays_{};
  DeviceArrays made_;  // of `arrays_` and of these:
  SiteEstimate* estimate_ = nullptr;
  std::int32_t* site_ = nullptr;
  // Two of each, as charges may still follow the moves of the sweep or epoch before
  Site *from_[2], *to_[2];
  std::int32_t* outer_site_[2];
  int turn_ = 0, epoch_turn_ = 0;
  // What is cleared
  DeviceBuffer<double> firsts_{2 * most_batch_};
  DeviceBuffer<std::uint8_t> moved_{n_};
  DeviceBuffer<std::int32_t> new_head_;
  DeviceBuffer<unsigned> counts_{kCounts}, conflicts_used_{1};
  PinnedBuffer<std::uint32_t> candidates_{1};
  Event counted_;
  bool refreshed_ = false;  // at the start of the sweep
  Event decided_;           // the last batch that this device has decided
  Rules rules_{};           // of the present sweep
  Deal outer_{};            // of the present outer epoch
};

// Decides the trials of a sweep. Every device makes all moves; what is decided, and estimated for
// that, is divided among them.
template <Space B>
void sweep_of(const std::vector<TreeDevice>& devices) {
  const auto count = static_cast<int>(devices.size());
  const auto tree_of = [&](int d) -> Tree<B>& { return static_cast<Tree<B>&>(*devices[d].tree); };
  // The first device comes last, so that it is the current one afterwards.
  const auto each = [&](const auto& step) {
    for (int d = count; d-- > 0;) {
      check(select_device(devices[d].device), "device");
      step(tree_of(d), d);
    }
  };
  each([&](Tree<B>& tree, int d) { tree.begin_sweep(devices[d].rules, devices[d].chain); });
  const Tree<B>& first = tree_of(0);
  const int candidates = first.candidates();
  if (candidates == 0) return;
  const Lengths lengths = lengths_of(candidates, first.epochs(), first.batch());
  // A batch after the other is decided by one device, and the others receive what it decided.
  const auto decide_in_turn = [&](int outer, int begin, int end) {
    for (int start = begin; start < end; start += lengths.batch) {
      const int stop = std::min(end, start + lengths.batch),
                decider = (start - outer) / lengths.batch % count;
      check(select_device(devices[decider].device), "device");
      tree_of(decider).decide(start, stop);
      each([&](Tree<B>& tree, int d) {
        if (d != decider) tree.receive(tree_of(decider), start, stop);
        tree.move(start, stop);
      });
    }
  };
  for (int outer = 0; outer < candidates; outer += lengths.outer) {
    const int outer_end = std::min(candidates, outer + lengths.outer);
    each([&](Tree<B>& tree, int d) {
      tree.begin_outer({outer, outer_end, lengths.batch, d, count});
    });
    for (int begin = outer; begin < outer_end; begin += lengths.inner) {
      const int end = std::min(outer_end, begin + lengths.inner);
      each([&](Tree<B>& tree, int) { tree.begin_epoch(begin, end); });
      if (count == 1)
        tree_of(0).decide_and_move(begin, end);
      else
        decide_in_turn(outer, begin, end);
      each([&](Tree<B>& tree, int) { tree.end_epoch(begin, end); });
    }
    each([](Tree<B>& tree, int) { tree.end_outer(); });
  }
}

}  // namespace

std::unique_ptr<DeviceTree> make_device_tree(const State& state, const ChangeTree& change,
                                             cudaStream_t stream) {
  const Space space = state.rules.space;
  FarField field = make_far_field(state, ions_per_point(space, state.sites.size()));
  Epochs epochs = epochs_for(state, field, costs_of(space));
  if (change) change(field, epochs);
  if (space == Space::ewald)
    return std::make_unique<Tree<Space::ewald>>(state, std::move(field), epochs, stream);
  return std::make_unique<Tree<Space::cell>>(state, std::move(field), epochs, stream);
}

void sweep_by_trees(const std::vector<TreeDevice>& devices) {
  devices.front().rules.space == Space::ewald ? sweep_of<Space::ewald>(devices)
                                              : sweep_of<Space::cell>(devices);
}

}  // namespace manymove::coulomb
