// SPDX-License-Identifier: BSD-3-Clause
// The policy `EqualDisks` on a GPU: device memory, launches and what comes back; the kernels are in
// disks_kernels.cuh.
#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "../../runtime/waits.cuh"
#include "../../runtime/watchdog.h"
#include "disks_kernels.cuh"
#include "engine.cuh"

namespace manymove::hard_particles::equal_disks {
namespace {

// One schedule of the kernel, in all modes.
using Kernel = decltype(&cycle_kernel<12, 1, kThreads, 3, Mode::plain>);
struct Kernels {
  Kernel plain, host, strip;
};
template <int K, int Teams, int Threads, int Blocks>
Kernels kernels() {
  return {&cycle_kernel<K, Teams, Threads, Blocks, Mode::plain>,
          &cycle_kernel<K, Teams, Threads, Blocks, Mode::host>,
          &cycle_kernel<K, Teams, Threads, Blocks, Mode::strip>};
}

class CudaDisks final : public CudaEngine {
 public:
  CudaDisks(State state, int device)
      : CudaEngine(std::move(state), device, 1024), local_(geometry_of(state_)) {
    const std::size_t slots = state_.data.ids.size();
    for (int k = 0; k < 2; ++k) {
      cells_[k] = DeviceBuffer<Position>(slots);
      ids_[k] = DeviceBuffer<std::int32_t>(slots);
      cells_[k].clear(stream_);  // slots beyond a cell's disks are copied, never used
      ids_[k].clear(stream_);
    }
    moves_ = DeviceBuffer<MoveCounts>(2);
    traces_ = DeviceBuffer<Traces>(1);
    traces_.clear(stream_);
    sums_ = DeviceBuffer<double2>(blocks_of(local_.cells[0] * local_.cells[1]));
    const std::size_t bytes = TileMemory::bytes(local_);
    choose_kernel();
    doubled_ = doubled(local_);
    for (const auto kernel : {kernels_.plain, kernels_.host, kernels_.strip})
      allow_shared_memory(kernel, bytes, "shared memory for a tile");
    upload();
    if (state_.strip)
      halo_ =
          std::make_unique<HaloExchange>(*state_.ranks, state_.first_row(), rows_here(), stream_);
    state_.data.cells = {};  // the device has them
    state_.data.ids = {};
    made();
  }
  ~CudaDisks() override { leave(); }

  void enqueue(std::uint64_t cycles) override {
    const DeviceGuard here = use();
    enqueue(cycles, nullptr, Compares::never);
  }
  void enqueue(std::uint64_t cycles, const HostParticles& host) override {
    const DeviceGuard here = use();
    // The last cycle writes the positions itself, where it has been compiled for it.
    const bool at_once = host.double_precision && cycles > 0;
    if (at_once) prepare_to_write();
    enqueue(cycles, at_once ? &host : nullptr, Compares::never);
    if (!at_once) write_positions(host);
  }

  bool same_positions(const HostParticles& host) const override {
    const DeviceGuard here = use();
    compare(host);
    Traces traces;
    traces_.download(&traces, stream_);
    return traces.written[written_] == traces.found[question_ % 2].trace;
  }
  bool enqueue_if_same(std::uint64_t cycles, const HostParticles& host) override {
    const DeviceGuard here = use();
    if (!host.double_precision || rows_.sampling().every) {
      if (!same_positions(host)) return false;
      enqueue(cycles, host);
      return true;
    }
    const auto before = std::make_tuple(state_.data.origin, state_.data.counters.cycles,
                                        last_write_, now_, written_);
    const bool within = cycles > 1;
    if (!within) compare(host);
    enqueue(cycles, &host, within ? Compares::within : Compares::before);
    const bool same = are_same();
    pending_ = cycles;
    if (!same)
      std::tie(state_.data.origin, state_.data.counters.cycles, last_write_, now_, written_) =
          before;
    return same;
  }
  void write_positions(const HostParticles& host) override {
    const DeviceGuard here = use();
    const auto kernel = host.double_precision ? &write_kernel<double> : &write_kernel<float>;
    const CellRange range = cells_here();
    prepare_to_write();
    kernel<<<blocks_of(range.end), kThreads, 0, stream_>>>(local_, writing(host, nullptr), planes(),
                                                           ids_[now_].data());
    check_launch();
  }

  Counters counters() const override {
    const DeviceGuard here = use();
    if (waiting_) {
      check(cudaStreamSynchronize(stream_), "cycle");
      moves_.download(&seen_, stream_, 1);
      waiting_ = false;
      pending_ = 0;
    }
    if (seen_.corrupt)
      throw std::runtime_error("a cell holds more disks than fit: the state is corrupt");
    return {state_.data.counters.cycles, seen_.trial_moves, seen_.accepted_moves};
  }
  double occupied() const override {
    const std::vector<std::int32_t> ids = snapshot().ids;  // of this rank's rows
    std::size_t some = 0;
    for (std::size_t at = 0; at < ids.size(); at += kSlots) some += ids[at] >= 0;
    return static_cast<double>(some) / static_cast<double>(state_.cells());
  }

  Snapshot snapshot() const override {
    const DeviceGuard here = use();
    Snapshot data;
    data.counters = counters();
    data.origin = state_.data.origin;
    if (state_.strip) data.first_row = state_.strip->first_row();
    const std::size_t first = state_.first_row() * row_slots(state_);
    data.ids.resize(state_.rows() * row_slots(state_));
    data.cells.resize(2 * data.ids.size());
    std::vector<Position> cells(data.ids.size());
    std::vector<std::int32_t> ids(data.ids.size());
    cells_[now_].download(cells.data(), stream_, cells.size(), first);
    ids_[now_].download(ids.data(), stream_, ids.size(), first);
    from_planes(local_.cells[0], cells.data(), ids.data(), data);
    return data;
  }

  std::array<double, 2> bond_order(double reach) const override {
    const DeviceGuard here = use();
    const auto reach2 = static_cast<float>(reach * reach / (state_.unit * state_.unit));
    look_at_neighbors();
    const CellRange range = cells_here();
    const int blocks = blocks_of(range.end - range.first);
    bond_order_kernel<<<blocks, kThreads, 0, stream_>>>(local_, range, planes(), reach2,
                                                        sums_.data());
    check_launch();
    std::vector<std::array<double, 2>> sums(static_cast<std::size_t>(blocks));
    sums_.download(reinterpret_cast<double2*>(sums.data()), stream_, sums.size());
    return mean_of(sums, state_.particles);
  }

 private:
  // A host program's positions with those left there: in a kernel of its own, or in the first of
  // several cycles. That one leaves the state that it reads, and the others do nothing if positions
  // differ.
  enum class Compares { never, before, within };

  void compare(const HostParticles& host) const {
    const auto kernel = host.double_precision ? &compare_kernel<double> : &compare_kernel<float>;
    const auto block = static_cast<std::size_t>(kCompared * kThreads);
    launch_kernel(kernel, static_cast<unsigned>(blocks_for(state_.particles, block)), kThreads, 0,
                  stream_, overlap_, comparing(host));
  }
  // The answer to the last comparison. It comes through mapped memory, because an event between two
  // kernels would not let the second one start early. Cycles that were enqueued earlier are made
  // first. Therefore the time limit holds for each hundred of them.
  bool are_same() const {
    const volatile unsigned* const answer = answer_.get();
    const double limit = limit_ * (1 + static_cast<double>(pending_ / 100));
    wait_alone([&] { return *answer / 2 == question_; }, stream_, limit, "comparison", nullptr);
    return *answer % 2;
  }

  // The last cycle writes the positions to `host`, unless that is null.
  void enqueue(std::uint64_t cycles, const HostParticles* host, Compares compares) {
    waiting_ = true;
    pending_ += cycles;
    Comparison former{};
    if (compares == Compares::before) former = last_comparison();
    for (std::uint64_t i = 0; i < cycles; ++i) {
      const Draw draw = EqualDisks::draw(whole_, state_.data.counters.cycles);
      move_origin(state_, draw, state_.data.origin);
      const std::uint64_t cycle = ++state_.data.counters.cycles;
      if (state_.strip) {
        cycle_of_strip(draw);
      } else if (i == 0 && compares == Compares::within) {
        launch(draw, comparing(*host), former);
        former = last_comparison();
      } else {
        const bool writes = host && i + 1 == cycles;
        launch(draw, writes ? writing(*host, former.others) : HostWork{}, former);
        former.answer = nullptr;
      }
      now_ = 1 - now_;
      if (rows_.wants_sample(cycle)) add_pairs(rows_.sampling(), rows_.row());
      rows_.end_cycle(cycle);
    }
    check_launch();
    finish();
  }

  void launch(const Draw& draw, const HostWork& host, const Comparison& former) {
    const bool plain = !host.compared && !host.written && !former.written;
    launch(plain ? kernels_.plain : kernels_.host, local_.tiles[0] * local_.tiles[1], stream_,
           overlap_, draw, host, former, {});
  }
  void launch(Kernel kernel, int blocks, cudaStream_t stream, bool overlap, const Draw& draw,
              const HostWork& host, const Comparison& former, const StripView& part) {
    const std::size_t first = state_.first_row() * row_slots(state_);
    launch_kernel(
        kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads_),
        TileMemory::bytes(local_), stream, overlap, local_, doubled_, draw,
        LaunchArrays{cells_[now_].data(), ids_[now_].data(), cells_[1 - now_].data() + first,
                     ids_[1 - now_].data() + first, moves_.data()},
        host, former, part);
  }

  void cycle_of_strip(const Draw& draw) {
    Strip& strip = *state_.strip;
    const int rows = strip.rows();
    const Crossing crossing = strip.advance(draw.shift_cells[1]);
    const Draw local = local_draw(strip, draw);
    run_strip([&] { halo_->collect(crossing, rows, rows_here()); }, [&] { halo_->exchange(); },
              [&](int first, int end, cudaStream_t stream) {
                if (end > first)
                  launch(kernels_.strip, (end - first) * local_.tiles[0], stream, false, local, {},
                         {}, view_of(strip, state_, first));
              });
  }

  RowArrays rows_here() const {
    const std::size_t slots = row_slots(state_);
    return {{{cells_[now_].data(), slots * sizeof(Position)},
             {ids_[now_].data(), slots * sizeof(std::int32_t)}}};
  }

  // Pairs reach two rows of cells beyond the strip.
  void look_at_neighbors() const {
    if (!halo_) return;
    halo_->collect({2, 2, 2, 2}, state_.rows(), rows_here());
    halo_->exchange();
    halo_->join();
  }

  HostWork comparing(const HostParticles& host) const {
    Traces& traces = *traces_.data();
    question_ = (question_ + 1) % kQuestions;
    return {.particles = host,
            .compared = static_cast<int>(state_.particles),
            .found = &traces.found[question_ % 2],
            .next_written = &traces.written[1 - written_],
            .next_found = &traces.found[1 - question_ % 2]};
  }
  // For the kernels that come after it.
  Comparison last_comparison() const {
    const Traces& traces = *traces_.data();
    const Found& found = traces.found[question_ % 2];
    return {&traces.written[written_], &found.trace, &found.others, question_, answer_.get()};
  }
  HostWork writing(const HostParticles& host, const Sum* others) {
    const std::uint64_t cycle = state_.data.counters.cycles;
    written_ = 1 - written_;
    return {.particles = host,
            .frame = host_frame(state_),
            .reach = reach_of(state_, std::exchange(last_write_, cycle), cycle),
            .written = &traces_.data()->written[written_],
            .others = others};
  }
  // Where no comparison is on its way.
  void prepare_to_write() {
    check(cudaMemsetAsync(&traces_.data()->written[1 - written_], 0, sizeof(Sum), stream_),
          "traces");
  }

  // How a kernel schedules its work has no say in the trajectory, so it may depend on the device.
  void choose_kernel() {
    const Geometry& g = local_;
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_),
          "device");
    const int tiles = g.tiles[0] * (state_.strip ? state_.strip->tile_rows() : g.tiles[1]);
    // Whole warps for the cells of a set that hold one disk, and one for the others; more take
    // turns. In large tiles more threads than that let the disks land sooner.
    const int team = 32 * std::max(2, (set_cells(g) * 83 / 100 + 31) / 32 + 1);
    const auto use = [&](const Kernels& kernels, int threads) {
      kernels_ = kernels;
      threads_ = threads;
    };
    const int threads = g.tile < 17 ? std::min(kThreads, team) : kThreads;
    if (state_.parameters.cell_width > 1.15 * state_.parameters.diameter)
      use(kernels<20, 1, kThreads, 2>(), threads);  // many extras: worth more registers
    else if (tiles <= multiprocessors && 2 * team <= 384)
      use(kernels<12, 2, 384, 1>(), 384);
    else if (tiles <= 2 * multiprocessors && 2 * team <= kThreads)
      use(kernels<12, 2, kThreads, 2>(), 2 * team);
    else if (tiles <= 2 * multiprocessors)
      use(kernels<12, 1, 320, 2>(), 320);
    else
      use(kernels<12, 1, kThreads, 3>(), threads);
    overlap_ = waits_for_former_kernel(kernels_.plain);
  }
  void add_pairs(const Sampling& sampling, std::uint64_t* row) const override {
    look_at_neighbors();
    const CellRange range = cells_here();
    histogram_kernel<<<blocks_of(range.end - range.first), kThreads,
                       sampling.bins * sizeof(std::uint32_t), stream_>>>(
        local_, range, contact_bins(local_, sampling), planes(), row);
  }
  Planes planes() const { return {cells_[now_].data()}; }
  // This rank's, in local storage.
  CellRange cells_here() const {
    const int columns = local_.cells[0], first = state_.first_row();
    return {first * columns, (first + state_.rows()) * columns};
  }
  static int blocks_of(int threads) { return blocks_for(threads, kThreads); }

  // Puts state_.data on the device.
  void upload() {
    const Snapshot& data = state_.data;
    std::vector<Position> cells(data.ids.size());
    std::vector<std::int32_t> ids(data.ids.size());
    to_planes(local_.cells[0], data, cells.data(), ids.data());
    cells_[now_].upload(cells.data(), stream_);
    ids_[now_].upload(ids.data(), stream_);
    seen_ = {data.counters.trial_moves, data.counters.accepted_moves, 0};
    const MoveCounts counts[2] = {seen_, {}};
    moves_.upload(counts, stream_);
  }

  // The draws are those of the whole grid.
  static Geometry of_whole(Geometry g, int rows) {
    g.cells[1] = rows;
    return g;
  }

  const Geometry local_, whole_ = of_whole(local_, state_.geometry.cells[1]);
  Doubled doubled_;
  DeviceBuffer<Position> cells_[2];
  DeviceBuffer<std::int32_t> ids_[2];
  DeviceBuffer<MoveCounts> moves_;
  mutable MoveCounts seen_{};                 // the counts as last fetched
  mutable bool waiting_ = false;              // for cycles on their way
  mutable std::uint64_t pending_ = 0;         // cycles that may not have ended yet
  const double limit_ = Watchdog::timeout();  // longest wait for the GPU, in seconds
  DeviceBuffer<Traces> traces_;
  int written_ = 0;  // the last trace in Traces
  MappedMemory<unsigned> answer_;
  static constexpr unsigned kQuestions = 1u << 31;
  mutable unsigned question_ = 0;
  std::uint64_t last_write_ = kNever;  // cycle of the last write_positions()
  DeviceBuffer<double2> sums_;
  Kernels kernels_;
  int threads_;
  bool overlap_;  // of one cycle's end and the next one's start
};

}  // namespace

}  // namespace manymove::hard_particles::equal_disks

namespace manymove::hard_particles {

std::unique_ptr<Engine> make_cuda_disks(State state, int device) {
  return std::make_unique<equal_disks::CudaDisks>(std::move(state), device);
}

std::unique_ptr<Engine> make_cuda_engine(State state, int device) {
  return state.equal_disks() ? make_cuda_disks(std::move(state), device)
                             : make_cuda_particles(std::move(state), device);
}

}  // namespace manymove::hard_particles
