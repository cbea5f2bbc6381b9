// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: memory and launches; the kernels are in far_field.cuh and tree.cuh.
#include "tree.h"

#include <algorithm>
#include <cmath>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "tree.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kThreads = 256;

// As measured on an H100 (docs/benchmarks/electrolyte.md): where the sums at short range cost as
// much as the transforms, and the parts of a sweep in seconds. In small systems transforms take
// their time beside other kernels, so that the mesh may be finer.
constexpr std::size_t kSmall = 32768;  // ions at most
constexpr double ions_per_point(Space space, std::size_t ions) {
  return space == Space::ewald ? 0.35 : ions > kSmall ? 0.5 : 0.25;
}
constexpr double kBatch = 80;
constexpr int kReachCells = 3, kReachBins = 1;
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

// The plan with the fewest stages, and the smallest radices of those.
FftPlan wide_plan(int length) {
  FftPlan best{length, 25, {}};
  FftPlan plan{length, 0, {}};
  const auto extend = [&](const auto& self, int rest, int largest) -> void {
    if (rest == 1) {
      if (plan.stages < best.stages ||
          (plan.stages == best.stages && plan.radix[0] < best.radix[0]))
        best = plan;
      return;
    }
    if (plan.stages + 1 >= 24) return;
    for (const int radix : {10, 9, 8, 6, 5, 4, 3, 2}) {
      if (radix > largest || rest % radix != 0) continue;
      plan.radix[plan.stages++] = radix;
      self(self, rest / radix, radix);
      --plan.stages;
    }
  };
  extend(extend, length, 10);
  return best;
}

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

// Of the current device
int multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "properties");
  return count;
}

// A far field in a device's memory: charges and potential on the mesh, and what they stand for,
// sorted into cells for the sums at short range.
template <Space B>
class DeviceField {
 public:
  // sources: at most so many. What is done to the mesh goes into a stream of its own, which may be
  // the other one too.
  DeviceField(FarField field, const State& state, std::size_t sources, cudaStream_t stream,
              cudaStream_t mesh_stream)
      : field_(std::move(field)), stream_(stream), mesh_stream_(mesh_stream), source_(sources) {
    make_mesh();
    make_cells(state, field_.mesh.reach / kReachCells, stream_, cells_, count_, first_, scan_);
    for_window(field_.mesh, [&](auto window) {
      constexpr int W = window();
      spread_threads_ = spread_threads(W);
      fill_ = &fill_kernel<W>;
      follow_ = &follow_mesh_kernel<W>;
      potential_ = &potential_kernel<B, W, false>;
      more_potential_ = &potential_kernel<B, W, true>;
    });
  }

  const FarField& field() const { return field_; }
  const Mesh& mesh() const { return mesh_; }

  void clear() { charge_.clear(mesh_stream_); }
  void fill(const Site* site, int ions) {
    clear();
    fill_<<<std::min(ions, 65535), spread_threads_, 0, mesh_stream_>>>(mesh_, site, ions);
    check_launch();
  }
  // The charges of accepted moves go with them.
  void follow(const Places& places, const std::int32_t* sorted, const std::uint8_t* accepted) {
    // Not so many blocks that they keep off the kernels of the other stream
    follow_<<<std::min(2 * places.count, follow_blocks_), spread_threads_, 0, mesh_stream_>>>(
        mesh_, places, sorted, accepted);
    check_launch();
  }

  // The potential of the charges on the mesh.
  void transform() {
    const MeshRules& m = field_.mesh;
    squares_.clear(mesh_stream_);
    const dim3 z(static_cast<unsigned>(blocks_for(m.points[1], 2 * kLines)),
                 static_cast<unsigned>(m.points[0]));
    const auto waves = static_cast<unsigned>(blocks_for(m.length[2] / 2, kLines));
    const dim3 y(waves, static_cast<unsigned>(m.points[0])),
        x(waves, static_cast<unsigned>(m.length[1]));
    const auto along = [&](int axis) { return fft_threads(m.length[axis]); };
    forward_z_kernel<<<z, along(2), line_memory_[2], mesh_stream_>>>(mesh_);
    along_y_kernel<false><<<y, along(1), line_memory_[1], mesh_stream_>>>(mesh_);
    along_x_kernel<<<x, along(0), line_memory_[0], mesh_stream_>>>(mesh_);
    along_y_kernel<true><<<y, along(1), line_memory_[1], mesh_stream_>>>(mesh_);
    inverse_z_kernel<<<z, along(2), line_memory_[2], mesh_stream_>>>(mesh_);
    check_launch();
  }

  // The sources by cell: ions, or what accepted moves have left and reached. The counts are 0
  // before: sorting takes them back to that.
  void sort(const Site* site, int ions) {
    count_cells_kernel<<<blocks_for(ions, kThreads), kThreads, 0, stream_>>>(cells_, site, ions);
    add_up(count_, first_, scan_, stream_);
    sort_cells_kernel<<<blocks_for(ions, kThreads), kThreads, 0, stream_>>>(cells_, site, ions,
                                                                            source_.data());
    check_launch();
  }
  void sort(const Places& places, const std::uint8_t* accepted) {
    const int blocks = blocks_for(2 * places.count, kThreads);
    count_moves_kernel<<<blocks, kThreads, 0, stream_>>>(cells_, places, accepted);
    add_up(count_, first_, scan_, stream_);
    sort_moves_kernel<<<blocks, kThreads, 0, stream_>>>(cells_, places, accepted, source_.data());
    check_launch();
  }

  // At the places of trials, of which `origin` is the first; `more`: in addition to what is there.
  void estimate(const Rules& r, const Places& places, int origin, const Deal& deal,
                const std::int32_t* sorted, PlaceEstimate* estimate, bool more) {
    (more ? more_potential_ : potential_)<<<blocks_for(2 * places.count, kEstimateThreads / 32),
                                            kEstimateThreads, 0, stream_>>>(
        r, mesh_, cells_, source_.data(), near_table_.data(), places, origin, deal, sorted,
        estimate);
    check_launch();
  }

  // Cells of the system with an edge of about `edge`.
  static void make_cells(const State& state, double edge, cudaStream_t stream, SourceCells& s,
                         DeviceBuffer<std::uint32_t>& count, DeviceBuffer<std::uint32_t>& first,
                         DeviceBuffer<char>& scan) {
    std::size_t cells = 1;
    for (int a = 0; a < 3; ++a) {
      const double extent = state.rules.extent[a];
      s.cells[a] = std::max(1, static_cast<int>(extent / edge));
      s.edge[a] = extent / s.cells[a];
      s.per_edge[a] = s.cells[a] / extent;
      s.half[a] = extent / 2;
      cells *= static_cast<std::size_t>(s.cells[a]);
    }
    s.periodic = state.rules.periodic;
    count = DeviceBuffer<std::uint32_t>(cells + 1);
    first = DeviceBuffer<std::uint32_t>(cells + 1);
    count.clear(stream);
    s.count = count.data();
    s.first = first.data();
    std::size_t bytes = 0;
    check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, s.count, s.first,
                                        static_cast<int>(cells + 1), stream),
          "scan");
    scan = DeviceBuffer<char>(bytes);
  }
  static void add_up(const DeviceBuffer<std::uint32_t>& count, DeviceBuffer<std::uint32_t>& first,
                     DeviceBuffer<char>& scan, cudaStream_t stream) {
    std::size_t bytes = scan.size();
    check(cub::DeviceScan::ExclusiveSum(scan.data(), bytes, count.data(), first.data(),
                                        static_cast<int>(count.size()), stream),
          "scan");
  }

 private:
  void make_mesh() {
    const MeshRules& m = field_.mesh;
    std::size_t points = 1;
    mesh_.rules = m;
    for (int a = 0; a < 3; ++a) {
      points *= static_cast<std::size_t>(m.points[a]);
      mesh_.plan[a] = wide_plan(m.length[a]);
      std::vector<Complex<double>> turns;
      for (int j = 0; j < m.length[a]; ++j) {
        const double angle = -2 * 3.14159265358979323846 * j / m.length[a];
        turns.push_back({std::cos(angle), std::sin(angle)});
      }
      twiddle_[a] = on_device(turns, stream_);
      mesh_.twiddle[a] = twiddle_[a].data();
      line_memory_[a] =
          2 * sizeof(Complex<double>) * kLines * static_cast<std::size_t>(m.length[a]);
    }
    const auto allow = [](auto kernel, std::size_t bytes) {
      allow_shared_memory(kernel, bytes, "shared memory for the transform's lines");
    };
    allow(forward_z_kernel, line_memory_[2]);
    allow(inverse_z_kernel, line_memory_[2]);
    allow(along_y_kernel<false>, line_memory_[1]);
    allow(along_y_kernel<true>, line_memory_[1]);
    allow(along_x_kernel, line_memory_[0]);
    charge_ = DeviceBuffer<unsigned long long>(points);
    on_mesh_ = DeviceBuffer<float>(points);
    near_table_ = DeviceBuffer<NearTable>(1);
    near_table_.upload(&field_.near_table, stream_);
    spectrum_ = DeviceBuffer<Complex<double>>(static_cast<std::size_t>(m.points[0]) * m.length[1] *
                                              field_.half[2]);
    spectrum_.clear(stream_);
    factor_ = on_device(field_.factor, stream_);
    field_.factor = {};
    squares_ = DeviceBuffer<double>(1);
    mesh_.charge = charge_.data();
    mesh_.potential = on_mesh_.data();
    mesh_.spectrum = spectrum_.data();
    mesh_.factor = factor_.data();
    mesh_.squares = squares_.data();
    mesh_.stride = field_.half[2];
    mesh_.half_y = field_.half[1];
  }

  using Potential = void (*)(Rules, Mesh, SourceCells, const Site*, const NearTable*, Places, int,
                             Deal, const std::int32_t*, PlaceEstimate*);
  FarField field_;
  cudaStream_t stream_, mesh_stream_;
  Mesh mesh_{};
  SourceCells cells_{};
  std::size_t line_memory_[3];
  int spread_threads_, follow_blocks_ = 8 * multiprocessors();
  void (*fill_)(Mesh, const Site*, int);
  void (*follow_)(Mesh, Places, const std::int32_t*, const std::uint8_t*);
  Potential potential_, more_potential_;
  DeviceBuffer<Complex<double>> twiddle_[3], spectrum_;
  DeviceBuffer<unsigned long long> charge_;
  DeviceBuffer<float> on_mesh_;
  DeviceBuffer<NearTable> near_table_;
  DeviceBuffer<double> factor_, squares_;
  DeviceBuffer<std::uint32_t> count_, first_;
  DeviceBuffer<char> scan_;
  DeviceBuffer<Site> source_;
};

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
        epochs_(epochs_for(state, field_.field(), costs_of(B))) {
    if (epochs_.inner < epochs_.outer) {
      const std::size_t moves = most_trials(epochs_, batch_);
      moves_ = std::make_unique<Field>(make_far_field_of_moves(state, field_.field(), moves), state,
                                       2 * moves, stream, stream);
    }
    Field::make_cells(state, field_.field().mesh.reach / kReachBins, stream_, bins_, bin_count_,
                      bin_first_, scan_);
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
    const int blocks = blocks_for(2 * places.count, kThreads);
    count_places_kernel<<<blocks, kThreads, 0, stream_>>>(bins_, places);
    Field::add_up(bin_count_, bin_first_, scan_, stream_);
    sort_places_kernel<<<blocks, kThreads, 0, stream_>>>(bins_, places, sorted.data());
    check_launch();
  }

  void (*kernel_)(Rules, TreeView, const float4*, Step, int, int) = epoch_kernel<B>;
  cudaStream_t stream_;
  Stream mesh_stream_;
  Event all_done_, mesh_done_;  // what is enqueued in either stream
  int ions_, batch_, blocks_ = 0;
  double least_;
  Field field_;
  Epochs epochs_;
  std::unique_ptr<Field> moves_;  // if there are two kinds of epochs
  SourceCells bins_{};            // of places
  DeviceBuffer<unsigned long long> exact_;
  DeviceBuffer<double> change_, error_, firsts_;
  DeviceBuffer<std::uint32_t> bin_count_, bin_first_;
  DeviceBuffer<PlaceEstimate> estimate_;  // of an outer epoch
  DeviceBuffer<char> scan_;
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
