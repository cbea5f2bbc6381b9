// SPDX-License-Identifier: BSD-3-Clause
// The method "tree" on GPUs: memory and launches; the kernels are in far_field.cuh and tree.cuh.
#include "tree.h"

#include <algorithm>
#include <cmath>
#include <cub/device/device_scan.cuh>

#include "tree.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kThreads = 256;

// As measured on an H100 (docs/benchmarks/electrolyte.md), with the meanings that the CPU's have.
constexpr double kIonsPerPoint = 0.35, kPairsPerPoint = 50, kBatch = 80;
constexpr int kReachCells = 3, kReachBins = 1;

// Trials that are guessed together: the more there are, the more rounds it takes, as the change of
// the energy by another's move falls with the size of the system.
int batch_length(std::size_t ions) {
  const double wanted = kBatch * std::cbrt(static_cast<double>(ions));
  return 1 << std::clamp(static_cast<int>(std::lround(std::log2(wanted))), 6, 14);
}

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

template <Space B>
class Tree final : public DeviceTree {
  static constexpr bool kSingle = Epoch<B>::kSingle;

 public:
  Tree(const State& state, cudaStream_t stream)
      : field_(make_far_field(state, kIonsPerPoint)),
        stream_(stream),
        ions_(static_cast<int>(state.sites.size())),
        batch_(batch_length(state.sites.size())),
        least_(state.least_bound / state.rules.strength) {
    make_mesh();
    make_cells(state, field_.mesh.reach / kReachCells, sources_, cell_count_, cell_first_);
    make_cells(state, field_.mesh.reach / kReachBins, bins_, bin_count_, bin_first_);
    make_lists(state);
    int per_multiprocessor = 0, device = 0, multiprocessors = 0;
    check(cudaGetDevice(&device), "device");
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
          "properties");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel_, kTreeThreads,
                                                        0),
          "occupancy");
    blocks_ = per_multiprocessor * multiprocessors;
  }

  void fill(const Site* site) override {
    charge_.clear(stream_);
    fill_kernel<<<std::min(ions_, 65535), kSpreadThreads, 0, stream_>>>(mesh_, site, ions_);
    check_launch();
  }

  int begin_sweep(const Rules& r, const TreeInput& in) override {
    std::uint32_t count = 0;
    copy_out(&count, in.count, sizeof count, stream_);
    check(cudaStreamSynchronize(stream_), "sweep");
    const int hopeful = static_cast<int>(count);
    rules_ = r;
    input_ = in;
    view_ = view(in);
    tally_.clear(stream_);
    moved_.clear(stream_);
    check(cudaMemsetAsync(new_head_.data(), 0xff, new_head_.size() * sizeof(std::int32_t), stream_),
          "clear");
    if (hopeful == 0) return 0;
    const int blocks = blocks_for(hopeful, kThreads);
    arrange_kernel<<<blocks, kThreads, 0, stream_>>>(
        r, in.site, in.trial, in.most, in.order, hopeful, from_.data(), to_.data(), limit_.data(),
        new_head_.data(), new_next_.data());
    conflicts_used_.clear(stream_);
    conflicts_kernel<<<blocks, kThreads, 0, stream_>>>(
        r, view_, in.trial, hopeful, conflict_.data(), conflicts_.data(),
        static_cast<unsigned>(conflicts_.size()), conflicts_used_.data());
    if (r.vacuum != 0) gains_kernel<<<blocks, kThreads, 0, stream_>>>(r, view_, hopeful);
    check_launch();
    return hopeful;
  }
  int epoch() const override { return epoch_; }
  int batch() const override { return batch_; }

  void begin_epoch(int begin, int end, int own, int devices) override {
    view_.deal = {begin, end, batch_, own, devices};
    refresh(input_.site);
    counts_.clear(stream_);
    estimate(rules_, view_.deal);
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
  void end_epoch() override {
    const Places places = epoch_places();
    follow_mesh_kernel<<<std::min(2 * places.count, 65535), kSpreadThreads, 0, stream_>>>(
        mesh_, places, place_.data(), accepted_.data() + view_.deal.begin);
    check_launch();
  }
  TreeTally end_sweep() override {
    TreeTally tally;
    tally_.download(&tally, stream_, 1);
    return tally;
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

  void make_mesh() {
    const MeshRules& m = field_.mesh;
    std::size_t points = 1;
    double in_transform = 1;
    mesh_.rules = m;
    for (int a = 0; a < 3; ++a) {
      points *= static_cast<std::size_t>(m.points[a]);
      in_transform *= m.length[a];
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
    epoch_ =
        static_cast<int>(epoch_length(static_cast<std::size_t>(ions_), in_transform,
                                      B == Space::ewald ? kPairsPerPoint / 8 : kPairsPerPoint));
    charge_ = DeviceBuffer<unsigned long long>(points);
    potential_ = DeviceBuffer<float>(points);
    near_table_ = DeviceBuffer<NearTable>(1);
    near_table_.upload(&field_.near_table, stream_);
    spectrum_ = DeviceBuffer<Complex<double>>(static_cast<std::size_t>(m.points[0]) * m.length[1] *
                                              field_.half[2]);
    spectrum_.clear(stream_);
    factor_ = on_device(field_.factor, stream_);
    field_.factor = {};
    squares_ = DeviceBuffer<double>(1);
    mesh_.charge = charge_.data();
    mesh_.potential = potential_.data();
    mesh_.spectrum = spectrum_.data();
    mesh_.factor = factor_.data();
    mesh_.squares = squares_.data();
    mesh_.stride = field_.half[2];
    mesh_.half_y = field_.half[1];
  }

  // Cells of the system with an edge of about `edge`.
  void make_cells(const State& state, double edge, SourceCells& s,
                  DeviceBuffer<std::uint32_t>& count, DeviceBuffer<std::uint32_t>& first) {
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
    count.clear(stream_);
    s.count = count.data();
    s.first = first.data();
    std::size_t bytes = 0;
    check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, s.count, s.first,
                                        static_cast<int>(cells + 1), stream_),
          "scan");
    if (bytes > scan_.size()) scan_ = DeviceBuffer<char>(bytes);
  }
  void add_up(const DeviceBuffer<std::uint32_t>& count, DeviceBuffer<std::uint32_t>& first) {
    std::size_t bytes = scan_.size();
    check(cub::DeviceScan::ExclusiveSum(scan_.data(), bytes, count.data(), first.data(),
                                        static_cast<int>(count.size()), stream_),
          "scan");
  }

  void make_lists(const State& state) {
    const auto n = static_cast<std::size_t>(ions_);
    from_ = DeviceBuffer<Site>(n);
    to_ = DeviceBuffer<Site>(n);
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
    const auto batch = static_cast<std::size_t>(batch_);
    lists_ = DeviceBuffer<std::int32_t>(7 * batch);
    exact_ = DeviceBuffer<unsigned long long>(batch);
    const auto epoch = static_cast<std::size_t>(epoch_);
    place_ = DeviceBuffer<std::int32_t>(2 * epoch);
    estimate_ = DeviceBuffer<PlaceEstimate>(2 * epoch);
    source_ = DeviceBuffer<Site>(n);
    counts_ = DeviceBuffer<unsigned>(kCounts);
    tally_ = DeviceBuffer<TreeTally>(1);
    if (!state.parameters.vacuum) return;
    gain_ = DeviceBuffer<Dipole>(n);
    earlier_ = DeviceBuffer<Dipole>(n);
  }

  TreeView view(const TreeInput& in) const {
    std::int32_t* const lists = lists_.data();
    return {from_.data(),
            to_.data(),
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
            {lists, lists + batch_, lists + 2 * batch_},
            {lists + 3 * batch_, lists + 4 * batch_, lists + 5 * batch_},
            exact_.data(),
            lists + 6 * batch_,
            counts_.data(),
            tally_.data(),
            gain_.data(),
            earlier_.data(),
            in.image,
            in.dipole,
            field_.quanta,
            ions_,
            {}};
  }

  // The potential of the ions as they stand, and the sources by cell.
  void refresh(const Site* site) {
    const MeshRules& m = field_.mesh;
    squares_.clear(stream_);
    const dim3 z(static_cast<unsigned>(blocks_for(m.points[1], 2 * kLines)),
                 static_cast<unsigned>(m.points[0]));
    const auto waves = static_cast<unsigned>(blocks_for(m.length[2] / 2, kLines));
    const dim3 y(waves, static_cast<unsigned>(m.points[0])),
        x(waves, static_cast<unsigned>(m.length[1]));
    forward_z_kernel<<<z, kFftThreads, line_memory_[2], stream_>>>(mesh_);
    along_y_kernel<false><<<y, kFftThreads, line_memory_[1], stream_>>>(mesh_);
    along_x_kernel<<<x, kFftThreads, line_memory_[0], stream_>>>(mesh_);
    along_y_kernel<true><<<y, kFftThreads, line_memory_[1], stream_>>>(mesh_);
    inverse_z_kernel<<<z, kFftThreads, line_memory_[2], stream_>>>(mesh_);
    // The counts are 0 here: sorting takes them back to that.
    count_cells_kernel<<<blocks_for(ions_, kThreads), kThreads, 0, stream_>>>(sources_, site,
                                                                              ions_);
    add_up(cell_count_, cell_first_);
    sort_cells_kernel<<<blocks_for(ions_, kThreads), kThreads, 0, stream_>>>(sources_, site, ions_,
                                                                             source_.data());
    check_launch();
  }

  Places epoch_places() const {
    const Deal& d = view_.deal;
    return {from_.data() + d.begin, to_.data() + d.begin, d.end - d.begin};
  }
  void estimate(const Rules& r, const Deal& deal) {
    const Places places = epoch_places();
    const int blocks = blocks_for(2 * places.count, kThreads);
    count_places_kernel<<<blocks, kThreads, 0, stream_>>>(bins_, places);
    add_up(bin_count_, bin_first_);
    sort_places_kernel<<<blocks, kThreads, 0, stream_>>>(bins_, places, place_.data());
    potential_kernel<B>
        <<<blocks_for(2 * places.count, kEstimateThreads / 32), kEstimateThreads, 0, stream_>>>(
            r, mesh_, sources_, source_.data(), near_table_.data(), places, deal, place_.data(),
            estimate_.data());
    // Four potentials for each move before. In float32 eight moves are one float64 sum; those of
    // moves that are guessed and taken back find room in the float32 bound of their terms.
    const double pairs = places.count, terms = (kSingle ? 4 : 16) * pairs;
    const double roundings = kSingle ? pairs + 256 : 16 * (terms + 4096);
    estimate_kernel<B><<<blocks_for(places.count, kThreads), kThreads, 0, stream_>>>(
        r, mesh_, field_.bound, least_, places, deal, estimate_.data(), terms, roundings,
        change_.data() + deal.begin, error_.data() + deal.begin);
    check_launch();
  }

  void (*kernel_)(Rules, TreeView, const float4*, Step, int, int) = epoch_kernel<B>;
  FarField field_;
  cudaStream_t stream_;
  int ions_, batch_, epoch_ = 0, blocks_ = 0;
  double least_;
  Mesh mesh_{};
  SourceCells sources_{}, bins_{};
  std::size_t line_memory_[3];
  DeviceBuffer<Complex<double>> twiddle_[3], spectrum_;
  DeviceBuffer<unsigned long long> charge_, exact_;
  DeviceBuffer<float> potential_;
  DeviceBuffer<NearTable> near_table_;
  DeviceBuffer<double> factor_, squares_, change_, error_;
  DeviceBuffer<std::uint32_t> cell_count_, cell_first_, bin_count_, bin_first_;
  DeviceBuffer<PlaceEstimate> estimate_;
  DeviceBuffer<char> scan_;
  DeviceBuffer<Site> source_, from_, to_;
  DeviceBuffer<std::uint8_t> accepted_, moved_;
  DeviceBuffer<std::int64_t> limit_;
  DeviceBuffer<std::int32_t> conflict_, conflicts_, new_head_, new_next_, lists_, place_;
  DeviceBuffer<unsigned> counts_, conflicts_used_;
  DeviceBuffer<TreeTally> tally_;
  DeviceBuffer<Dipole> gain_, earlier_;  // with a vacuum around
  Event decided_;                        // the last batch that this device has decided
  // Of the present sweep
  Rules rules_{};
  TreeInput input_{};
  TreeView view_{};
};

}  // namespace

std::unique_ptr<DeviceTree> make_device_tree(const State& state, cudaStream_t stream) {
  if (state.rules.space == Space::ewald) return std::make_unique<Tree<Space::ewald>>(state, stream);
  return std::make_unique<Tree<Space::cell>>(state, stream);
}

TreeTally sweep_by_trees(const std::vector<TreePart>& parts) {
  const auto devices = static_cast<int>(parts.size());
  // The first device comes last, so that it is the current one afterwards.
  const auto each = [&](const auto& step) {
    for (int d = devices; d-- > 0;) {
      check(select_device(parts[d].device), "device");
      step(*parts[d].tree, d);
    }
  };
  int hopeful = 0;
  each(
      [&](DeviceTree& tree, int d) { hopeful = tree.begin_sweep(parts[d].rules, parts[d].input); });
  const DeviceTree& first = *parts.front().tree;
  const int batch = first.batch(), epochs = blocks_for(hopeful, first.epoch()),
            length = epochs > 0 ? blocks_for(hopeful, epochs) : 1;
  for (int begin = 0; begin < hopeful; begin += length) {
    const int end = std::min(hopeful, begin + length);
    each([&](DeviceTree& tree, int d) { tree.begin_epoch(begin, end, d, devices); });
    if (devices == 1) parts.front().tree->decide_and_move(begin, end);
    for (int start = begin, decider = 0; devices > 1 && start < end;
         start += batch, decider = (decider + 1) % devices) {
      const int stop = std::min(end, start + batch);
      check(select_device(parts[decider].device), "device");
      parts[decider].tree->decide(start, stop);
      each([&](DeviceTree& tree, int d) {
        if (d != decider) tree.hear(*parts[decider].tree, start, stop);
        tree.move(start, stop);
      });
    }
    each([](DeviceTree& tree, int) { tree.end_epoch(); });
  }
  TreeTally sum{};
  each([&](DeviceTree& tree, int) {
    const TreeTally tally = tree.end_sweep();
    sum.accepted += tally.accepted;
    sum.direct += tally.direct;
    sum.low += tally.low;
    sum.high += tally.high;
  });
  return sum;
}

}  // namespace manymove::coulomb
