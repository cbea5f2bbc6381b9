// SPDX-License-Identifier: BSD-3-Clause
// The policy `EqualDisks` on a GPU: device memory, launches and what comes back; the kernels are in
// disks_kernels.cuh and systems_of_disks.cuh.
#include <algorithm>
#include <array>
#include <memory>

#include "disks_kernels.cuh"
#include "launcher.cuh"
#include "systems_of_disks.cuh"

namespace manymove::hard_particles::equal_disks {
namespace {

// The kernel, and that of a cycle which compares or writes a host program's positions.
using Kernel = decltype(&cycle_kernel<12, 1, kThreads, 3, false>);
struct Kernels {
  Kernel plain, host;
};
template <int K, int Teams, int Threads, int Blocks>
Kernels kernels() {
  return {&cycle_kernel<K, Teams, Threads, Blocks, false>,
          &cycle_kernel<K, Teams, Threads, Blocks, true>};
}

class CudaDisks final : public MemberOfGroup<CudaDisks> {
 public:
  using System = equal_disks::System;

  CudaDisks(State state, int device)
      : MemberOfGroup(std::move(state), device, 1024), local_(geometry_of(state_)) {
    const DeviceGuard here = use();
    const std::size_t slots = state_.start.spheres.size();
    std::vector<Position> cells(slots);
    std::vector<std::int32_t> ids(slots);
    to_planes(local_.cells[0], state_.start, cells, ids);
    state_.start = {};
    for (int k = 0; k < 2; ++k) {  // slots beyond a cell's disks are copied, never used
      cells_[k] = on_device(cells, stream_);
      ids_[k] = on_device(ids, stream_);
    }
    sums_ = DeviceBuffer<double2>(blocks_of(local_.cells[0] * local_.cells[1]));
    choose_kernel();
    doubled_ = doubled(local_);
    for (const auto kernel : {kernels_.plain, kernels_.host})
      allow_shared_memory(kernel, TileMemory::bytes(local_), "shared memory for a tile");
    begin_exchange();
  }
  ~CudaDisks() override { end_exchange(); }

  // The cycle's kernel is one that all of them can use.
  static KernelsOfSystems<System> kernels_for(const std::vector<const CudaDisks*>& engines) {
    // Where many blocks are at work, more of them do more than more threads for each.
    constexpr int kMost = 96;
    KernelsOfSystems<System> kernels{};
    auto& cycle = kernels.cycle;
    auto& histogram = kernels.histogram;
    histogram = {&histogram_of_systems, 0, kThreads, 0};
    bool wide = false;
    for (const CudaDisks* const each : engines) {
      const Geometry& g = each->local_;
      wide |= each->has_wide_cells();
      cycle.threads =
          std::max(cycle.threads, static_cast<unsigned>(std::min(kMost, each->team_size())));
      cycle.make_room(each->state_.tiles(), TileMemory::bytes(g));
      histogram.make_room(blocks_of(g.cells[0] * g.cells[1]),
                          each->sampling_.bins * sizeof(std::uint32_t));
    }
    cycle.run = wide ? &cycle_of_systems<20, kMost, 5> : &cycle_of_systems<12, kMost, 7>;
    return kernels;
  }

  void enqueue(std::uint64_t cycles, const HostParticles& host) override {
    check_alone();
    const DeviceGuard here = use();
    // The last cycle writes the positions itself, where it has been compiled for it.
    // Positions in float32 are written by a kernel of its own.
    const bool at_once = host.double_precision && cycles > 0;
    if (at_once) host_.prepare_to_write();
    make_cycles(cycles, at_once ? &host : nullptr);
    if (!at_once) write_positions(host);
  }
  using StateEngine::enqueue;

  void write_positions(const HostParticles& host) override {
    check_alone();
    const DeviceGuard here = use();
    const auto kernel = host.double_precision ? &write_kernel<double> : &write_kernel<float>;
    const CellRange range = cells_here();
    host_.prepare_to_write();
    kernel<<<blocks_of(range.end), kThreads, 0, stream_>>>(
        local_, host_.writing(state_, host, nullptr), planes(), ids_[now_].data());
    check_launch();
  }

  void hand_over(const HandOverWork& work, cudaStream_t stream) const override {
    const DeviceGuard here = use();
    const bool inner = work.part == Part::inner;
    const auto kernel = work.held.arrays.double_precision
                            ? (inner ? &hand_over_kernel<double, Part::inner>
                                     : &hand_over_kernel<double, Part::border>)
                            : (inner ? &hand_over_kernel<float, Part::inner>
                                     : &hand_over_kernel<float, Part::border>);
    const CellRange range = cells_here();
    kernel<<<blocks_for(range.end - range.first, kHandedOver * kHostThreads), kHostThreads, 0,
             stream>>>(local_, range, OwnRows(state_), host_frame(state_), work, planes(),
                       ids_[now_].data());
    check_launch();
  }

 private:
  friend MemberOfGroup;

  bool can_undo(const HostParticles& host) const override { return host.double_precision; }
  // The first cycle compares, or acts on the comparison.
  void enqueue_and_ask(std::uint64_t cycles, const HostParticles& host) override {
    // A single cycle writes the positions, so that it cannot compare them as well.
    const bool within = cycles > 1;
    if (!within) host_.compare(state_, host, overlap_);
    make_cycles(cycles, &host, within ? Compares::within : Compares::before);
  }

  const void* kernel() const { return nullptr; }
  System system() const {
    const int next = 1 - now_;
    return {local_,
            doubled_,
            {cells_[now_].data(), cells_[next].data()},
            {ids_[now_].data(), ids_[next].data()},
            moves_.data(),
            state_.tiles(),
            0,
            law_of(state_),
            sampling_.every ? contact_bins(state_, sampling_) : ContactBins{}};
  }
  // Equal disks at constant pressure run in the engine of general particles.
  void search(System&) const {}
  void change_box(bool) {}

  Cells present_cells() const override {
    const DeviceGuard here = use();
    return from_planes(local_.cells[0], cells_[now_].values(stream_), ids_[now_].values(stream_));
  }
  std::vector<std::array<double, 2>> bond_order_sums(float reach2) const override {
    const DeviceGuard here = use();
    fetch_neighbors({2, 2, 2, 2});
    const CellRange range = cells_here();
    const int blocks = blocks_of(range.end - range.first);
    bond_order_kernel<<<blocks, kThreads, 0, stream_>>>(local_, range, planes(), reach2,
                                                        sums_.data());
    check_launch();
    std::vector<std::array<double, 2>> sums(static_cast<std::size_t>(blocks));
    sums_.download(reinterpret_cast<double2*>(sums.data()), stream_, sums.size());
    return sums;
  }

  // A host program's positions with those left there: in a kernel of its own, or in the first of
  // several cycles. That one leaves the state that it reads, and the others do nothing if positions
  // differ.
  enum class Compares { never, before, within };

  // The last cycle writes the positions to `host`, unless that is null.
  void make_cycles(std::uint64_t cycles, const HostParticles* host = nullptr,
                   Compares compares = Compares::never) {
    pending_ += cycles;
    Comparison former{};
    if (compares == Compares::before) former = host_.last_comparison();
    for (std::uint64_t i = 0; i < cycles; ++i) {
      const Draw draw = begin_cycle();
      if (state_.strip) {
        cycle_of_strip(draw);
      } else if (i == 0 && compares == Compares::within) {
        launch(local_, draw, state_.tiles(), stream_, host_.comparing(state_, *host), former);
        former = host_.last_comparison();
      } else {
        const bool writes = host && i + 1 == cycles;
        launch(local_, draw, state_.tiles(), stream_,
               writes ? host_.writing(state_, *host, former.others) : HostWork{}, former);
        former.answer = nullptr;
      }
      now_ = 1 - now_;
      end_cycle();
    }
    check_launch();
  }

  void launch_tiles(const Draw& local, int first_tile, int tiles, cudaStream_t stream) override {
    Geometry g = geometry_of(state_);
    g.part.first_tile = first_tile;
    launch(g, local, tiles, stream, {}, {});
  }
  void launch(const Geometry& g, const Draw& draw, int tiles, cudaStream_t stream,
              const HostWork& host, const Comparison& former) {
    const bool plain = !host.compared && !host.written && !former.written;
    const std::size_t first = first_cell() * kSlots;
    launch_kernel(
        plain ? kernels_.plain : kernels_.host, static_cast<unsigned>(tiles),
        static_cast<unsigned>(threads_), TileMemory::bytes(g), stream, overlap_ && !state_.strip, g,
        doubled_, draw,
        LaunchArrays{cells_[now_].data(), ids_[now_].data(), cells_[1 - now_].data() + first,
                     ids_[1 - now_].data() + first, moves_.data()},
        host, former);
  }

  RowArrays rows_here() const override {
    const std::size_t slots = state_.row_cells() * kSlots;
    return {{{cells_[now_].data(), slots * sizeof(Position)},
             {ids_[now_].data(), slots * sizeof(std::int32_t)}}};
  }

  // Whole warps for the cells of a set that hold one disk, and one for the others; more take turns.
  int team_size() const { return 32 * std::max(2, (set_cells(local_) * 83 / 100 + 31) / 32 + 1); }
  // In large tiles more threads than that let the disks land sooner.
  int threads_of_block() const {
    return local_.tile < 17 ? std::min(kThreads, team_size()) : kThreads;
  }
  bool has_wide_cells() const {
    return state_.parameters.cell_width > 1.15 * state_.parameters.diameter;
  }

  // How a kernel schedules its work has no say in the trajectory, so it may depend on the device.
  void choose_kernel() {
    const int multiprocessors = manymove::multiprocessors();
    const int tiles = state_.tiles(), team = team_size(), threads = threads_of_block();
    const auto use = [&](const Kernels& kernels, int threads) {
      kernels_ = kernels;
      threads_ = threads;
    };
    if (has_wide_cells())
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
    fetch_neighbors({2, 2, 2, 2});
    const CellRange range = cells_here();
    histogram_kernel<<<blocks_of(range.end - range.first), kThreads,
                       sampling.bins * sizeof(std::uint32_t), stream_>>>(
        local_, range, law_of(state_), contact_bins(state_, sampling), planes(), row);
  }
  Planes planes() const { return {cells_[now_].data()}; }
  // This rank's, in local storage.
  CellRange cells_here() const {
    const int columns = local_.cells[0], first = state_.first_row();
    return {first * columns, (first + state_.rows()) * columns};
  }
  static int blocks_of(int threads) { return blocks_for(threads, kThreads); }

  const Geometry local_;  // at the start
  Doubled doubled_;
  DeviceBuffer<Position> cells_[2];
  DeviceBuffer<std::int32_t> ids_[2];
  DeviceBuffer<double2> sums_;
  Kernels kernels_;
  int threads_;
  BetweenCalls between_calls_{*this};
};

}  // namespace

}  // namespace manymove::hard_particles::equal_disks

namespace manymove::hard_particles {

std::unique_ptr<Engine> make_cuda_engine(State state, int device) {
  if (!state.equal_disks()) return make_cuda_particles(std::move(state), device);
  return std::make_unique<equal_disks::CudaDisks>(std::move(state), device);
}

}  // namespace manymove::hard_particles
