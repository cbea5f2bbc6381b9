// SPDX-License-Identifier: BSD-3-Clause
// MPMC of hard disks on a GPU: one block per tile, which stays in shared memory for a whole cycle;
// one kernel launch per cycle, which gathers the shifted grid, makes all moves and writes the tile
// back.
#include <algorithm>

#include "../common/device.cuh"
#include "cuda.h"

namespace manymove::harddisk {
namespace {

struct Tally {
  unsigned long long trial_moves, accepted_moves;
  unsigned int corrupt;
};

struct Buffers {
  const Position* old_cells;
  const std::int32_t* old_ids;
  Position* new_cells;
  std::int32_t* new_ids;
  Tally* tally;
};

constexpr int kThreads = 256;
// Cells by the work of a visit: one disk with no extras, at most 2, at most 4; two disks; any
// other.
constexpr int kClasses = 5;

MM_HD int list_capacity(const Geometry& g) { return (g.tile / 2) * (g.tile / 2); }

std::size_t shared_bytes(const Geometry& g) {
  return static_cast<std::size_t>(g.plane) *
             (kSlots * sizeof(Position) + sizeof(std::uint32_t) + kSlots) +
         8 * list_capacity(g) * sizeof(std::uint32_t);
}

__device__ int class_of(const Geometry& g, std::uint32_t entry) {
  const int n = entry_count(entry);
  const std::uint32_t e = entry_extras(entry);
  const int extras = __popc(e & 0x5555u) + 2 * __popc(e & 0xaaaau);
  if (n > 2 || extras > 4 || g.moves_per_cell % 4) return 4;
  return n == 2 ? 3 : (extras + 1) / 2;
}

// i / columns for the indices of a tile's cells, exactly, without an integer division.
struct RowOf {
  float inverse;
  __device__ explicit RowOf(int columns) : inverse(1.0f / static_cast<float>(columns)) {}
  __device__ int operator()(int i) const {
    return static_cast<int>((static_cast<float>(i) + 0.5f) * inverse);
  }
};

__device__ std::int64_t new_cell(const Geometry& g, const TileBounds& b, int column, int row) {
  return static_cast<std::int64_t>(b.first[1] + row) * g.cells[0] + b.first[0] + column;
}

template <class T>
__device__ void swap_values(T& a, T& b) {
  const T c = a;
  a = b;
  b = c;
}

// One block per tile, one thread per active cell. K - 8: extras that visit_any() keeps in
// registers.
template <int K, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(kThreads, BlocksPerMultiprocessor)
    cycle_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Draw d,
                 const Buffers b) {
  extern __shared__ float4 shared[];
  auto* const tile = reinterpret_cast<Position*>(shared);
  const int capacity = list_capacity(g);
  auto* const list = reinterpret_cast<std::uint32_t*>(tile + kSlots * g.plane);  // [4][capacity]
  auto* const found = list + 4 * capacity;                                       // [4 * capacity]
  auto* const count = found + 4 * capacity;                                      // [plane]
  auto* const order = reinterpret_cast<std::uint8_t*>(count + g.plane);          // [kSlots][plane]
  __shared__ Neighbour near[2][8];
  __shared__ int members[4][kClasses], last[4][kClasses];
  __shared__ unsigned int accepted_in_block;

  __shared__ TileBounds bounds;
  if (threadIdx.x < 16)
    near[threadIdx.x / 8][threadIdx.x % 8] = g.near[threadIdx.x / 8][threadIdx.x % 8];
  if (threadIdx.x < 4 * kClasses) members[threadIdx.x / kClasses][threadIdx.x % kClasses] = 0;
  if (threadIdx.x == 0) {
    accepted_in_block = 0;
    bounds = tile_bounds(g, blockIdx.x);
  }

  for (int i = threadIdx.x; i < g.plane; i += blockDim.x) {
    count[i] = 0;
#pragma unroll
    for (int s = 0; s < kSlots; ++s) tile[s * g.plane + i] = {kEmpty, kEmpty};
  }
  __syncthreads();

  {
    const int columns = bounds.size[0], rows = bounds.size[1];
    const RowOf old_row(columns + 2), wide_row(columns + 1), active_row(columns - 1);

    // Each disk of the old cells under this tile lands in its new cell.
    for (int i = threadIdx.x; i < (columns + 2) * (rows + 2); i += blockDim.x) {
      const int row = old_row(i), column = i - row * (columns + 2);
      const std::int64_t from = old_cell(g, d, bounds, column, row);
      Position old[kSlots];
      load_cell(b.old_cells, from, old);
      int4 ids = __ldcg(reinterpret_cast<const int4*>(b.old_ids) + from);
      asm volatile(""
                   : "+r"(ids.x), "+r"(ids.y), "+r"(ids.z),
                     "+r"(ids.w));  // wait for both loads at once
      const int id[kSlots] = {ids.x, ids.y, ids.z, ids.w};
#pragma unroll
      for (int slot = 0; slot < kSlots; ++slot) {
        if (old[slot].x == kEmpty) break;
        const Landing l = land(g, d, old[slot], slot);
        const int c = column - l.before[0], r = row - l.before[1];
        if (c < 0 || c > columns || r < 0 || r > rows) continue;
        const int index = local_index(g, c, r);
        const std::uint32_t at = atomicAdd(&count[index], 1u);
        if (at >= kSlots) {
          b.tally->corrupt = 1;
          continue;
        }
        tile[at * g.plane + index] = l.p;
        order[at * g.plane + index] = static_cast<std::uint8_t>(l.order);
        if (c < columns && r < rows) b.new_ids[new_cell(g, bounds, c, r) * kSlots + at] = id[slot];
      }
    }
    __syncthreads();

    // Threads raced for the slots of crowded cells: put those in order.
    for (int i = threadIdx.x; i < (columns + 1) * (rows + 1); i += blockDim.x) {
      const int row = wide_row(i), column = i - row * (columns + 1);
      const int index = local_index(g, column, row), n = min(count[index], kSlots);
      if (n < 2) continue;
      std::int32_t* ids = column < columns && row < rows
                              ? b.new_ids + new_cell(g, bounds, column, row) * kSlots
                              : nullptr;
      for (int last = n - 1; last > 0; --last)
        for (int at = 0; at < last; ++at) {
          std::uint8_t* const o = order + at * g.plane + index;
          if (o[0] < o[g.plane]) continue;
          Position* const p = tile + at * g.plane + index;
          swap_values(o[0], o[g.plane]);
          swap_values(p[0], p[g.plane]);
          if (ids) swap_values(ids[at], ids[at + 1]);
        }
    }

    // List the active cells by class, so that the threads of a warp have alike work. The order of
    // the lists has no other effect: random numbers belong to the cell.
    const int active = (columns - 1) * (rows - 1);
    for (int i = threadIdx.x; i < active; i += blockDim.x) {
      const int row = 1 + active_row(i), column = 1 + i - (row - 1) * (columns - 1);
      const std::uint32_t entry = list_entry(g, count, local_index(g, column, row), column & 1);
      found[i] = entry;
      if (entry_count(entry))
        atomicAdd(&members[(column & 1) | (row & 1) << 1][class_of(g, entry)], 1);
    }
    __syncthreads();
    if (threadIdx.x < 4)
      for (int k = 0, sum = 0; k < kClasses; ++k) {
        last[threadIdx.x][k] = sum;
        sum += members[threadIdx.x][k];
      }
    __syncthreads();
    for (int i = threadIdx.x; i < active; i += blockDim.x) {
      const std::uint32_t entry = found[i];
      const int row = 1 + active_row(i), column = 1 + i - (row - 1) * (columns - 1),
                set = (column & 1) | (row & 1) << 1;
      if (entry_count(entry))
        list[set * capacity + atomicAdd(&last[set][class_of(g, entry)], 1)] = entry;
    }
    __syncthreads();
  }

  // last[set][k] is now the end of class k.
  const auto where = static_cast<std::uint32_t>(blockIdx.x) * static_cast<std::uint32_t>(g.plane);
  int accepted = 0;
  for (int round = 0; round < g.rounds; ++round) {
    for (int turn = 0; turn < 4; ++turn) {
      const int set = d.order[round] >> (2 * turn) & 3, odd = set & 1;
      const std::uint32_t* const entries = list + set * capacity;
      const int alone = last[set][2], pairs = last[set][3] - alone,
                others = last[set][4] - last[set][3];
      const int first_pair = (alone + 31) & ~31,
                first_other = first_pair + ((pairs + 31) & ~31);  // whole warps
      for (int i = threadIdx.x; i < first_other + others; i += blockDim.x) {
        if (i < alone) {
          const int busiest =
              min(i | 31, alone - 1);  // the warp's; all its threads go the same way
          const std::uint32_t entry = entries[i];
          const int index = entry_index(entry);
          const Place at{tile + index, near[odd], g.plane};
          if (busiest < last[set][0])
            accepted += visit_alone<0>(g, d.cycle, round, at, entry, odd, where + index);
          else if (busiest < last[set][1])
            accepted += visit_alone<2>(g, d.cycle, round, at, entry, odd, where + index);
          else
            accepted += visit_alone<4>(g, d.cycle, round, at, entry, odd, where + index);
        } else if (i >= first_pair && i < first_pair + pairs) {
          const std::uint32_t entry = entries[i - first_pair + alone];
          const int index = entry_index(entry);
          accepted += visit_pair<4>(g, d.cycle, round, {tile + index, near[odd], g.plane}, entry,
                                    odd, where + index);
        } else if (i >= first_other) {
          const std::uint32_t entry = entries[i - first_other + alone + pairs];
          const int index = entry_index(entry);
          accepted += visit_any<K>(g, d.cycle, round, {tile + index, near[odd], g.plane}, entry,
                                   odd, where + index);
        }
      }
      __syncthreads();
    }
  }

  const int columns = bounds.size[0], rows = bounds.size[1];
  const RowOf owned_row(columns);
  for (int i = threadIdx.x; i < columns * rows; i += blockDim.x) {
    const int row = owned_row(i), column = i - row * columns;
    const std::int64_t cell = new_cell(g, bounds, column, row);
    const Position* p = tile + local_index(g, column, row);
    auto* out = reinterpret_cast<float4*>(b.new_cells + cell * kSlots);
    const Position p0 = p[0], p1 = p[g.plane], p2 = p[2 * g.plane], p3 = p[3 * g.plane];
    out[0] = {p0.x, p0.y, p1.x, p1.y};
    out[1] = {p2.x, p2.y, p3.x, p3.y};
  }

  atomicAdd(&accepted_in_block, static_cast<unsigned int>(accepted));
  __syncthreads();
  if (threadIdx.x == 0) {
    int visits = 0;
    for (int set = 0; set < 4; ++set) visits += last[set][kClasses - 1];
    atomicAdd(&b.tally->trial_moves,
              static_cast<unsigned long long>(visits) * g.rounds * g.moves_per_cell);
    atomicAdd(&b.tally->accepted_moves, static_cast<unsigned long long>(accepted_in_block));
  }
}

// One thread per cell; the block's histogram is in shared memory.
__global__ void histogram_kernel(const Geometry g, const ContactBins law, const Position* cells,
                                 std::uint32_t* row_of_bins) {
  extern __shared__ std::uint32_t bins[];
  for (int i = threadIdx.x; i < law.bins; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell < g.cells[0] * g.cells[1]) {
    const int row = cell / g.cells[0], column = cell - row * g.cells[0];
    for (int slot = 0;
         slot < kSlots && cells[static_cast<std::int64_t>(cell) * kSlots + slot].x != kEmpty;
         ++slot)
      for_pairs<true>(g, cells, column, row, slot, [&](float dx, float dy) {
        const int bin = contact_bin(g, law, dx, dy);
        if (bin >= 0) atomicAdd(&bins[bin], 1u);
      });
  }
  __syncthreads();
  for (int i = threadIdx.x; i < law.bins; i += blockDim.x)
    if (bins[i]) atomicAdd(&row_of_bins[i], bins[i]);
}

// One thread per cell; sums[block] in a fixed order.
__global__ void bond_order_kernel(const Geometry g, const Position* cells, float reach2,
                                  double2* sums) {
  __shared__ double2 part[kThreads];
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  double2 sum = {0, 0};
  if (cell < g.cells[0] * g.cells[1]) {
    const int row = cell / g.cells[0], column = cell - row * g.cells[0];
    for (int slot = 0;
         slot < kSlots && cells[static_cast<std::int64_t>(cell) * kSlots + slot].x != kEmpty;
         ++slot) {
      double psi[2];
      bond_order(g, cells, column, row, slot, reach2, psi);
      sum.x += psi[0];
      sum.y += psi[1];
    }
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) {
      part[threadIdx.x].x += part[threadIdx.x + width].x;
      part[threadIdx.x].y += part[threadIdx.x + width].y;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

class CudaEngine final : public Engine {
 public:
  CudaEngine(State state, int device) : state_(std::move(state)), device_(select(device)) {
    const Geometry& g = state_.geometry;
    const std::size_t slots = state_.data.ids.size();
    for (int k = 0; k < 2; ++k) {
      cells_[k] = DeviceBuffer<Position>(slots);
      ids_[k] = DeviceBuffer<std::int32_t>(slots);
    }
    tally_ = DeviceBuffer<Tally>(1);
    sums_ = DeviceBuffer<double2>(blocks_of_cells());
    const std::size_t bytes = shared_bytes(g);
    // Wide cells have more extras: worth more registers. Small tiles come in small systems, where
    // latency counts and registers are plenty.
    kernel_ = state_.parameters.cell_width > 1.15 * state_.parameters.diameter
                  ? &cycle_kernel<20, 2>
              : g.tile <= 25 ? &cycle_kernel<12, 2>
                             : &cycle_kernel<12, 3>;
    check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)),
          "shared memory for a tile");
    upload();
    state_.data.cells = {};  // the device has them
    state_.data.ids = {};
  }
  ~CudaEngine() override { cudaSetDevice(device_); }

  void run(std::uint64_t cycles) override {
    use();
    const Geometry& g = state_.geometry;
    for (std::uint64_t i = 0; i < cycles; ++i) {
      const Draw draw = draw_cycle(g, state_.data.counters.cycles);
      kernel_<<<g.tiles[0] * g.tiles[1], threads(), shared_bytes(g), stream_>>>(
          g, draw,
          Buffers{cells_[now_].data(), ids_[now_].data(), cells_[1 - now_].data(),
                  ids_[1 - now_].data(), tally_.data()});
      now_ = 1 - now_;
      move_origin(state_, draw, state_.data.origin);
      const std::uint64_t cycle = ++state_.data.counters.cycles;
      if (sampling_.every && cycle % sampling_.every == 0)
        histogram_kernel<<<blocks_of_cells(), kThreads, sampling_.bins * sizeof(std::uint32_t),
                           stream_>>>(g, contact_bins(g, sampling_), cells_[now_].data(),
                                      ring_.data() + ring_used_ * sampling_.bins);
      if (sampling_.record && cycle % sampling_.record == 0) {
        if (incomplete_)
          ring_.clear(stream_);  // nothing else is in it yet
        else
          row_cycles_.push_back(cycle), ++ring_used_;
        incomplete_ = false;
        if (ring_used_ == kRing) collect_rows();
      }
    }
    check(cudaGetLastError(), "launch");
    check(cudaStreamSynchronize(stream_), "cycle");
    Tally tally;
    tally_.download(&tally, stream_);
    state_.data.counters.trial_moves = tally.trial_moves;
    state_.data.counters.accepted_moves = tally.accepted_moves;
    if (tally.corrupt)
      throw std::runtime_error("a cell holds more disks than fit: the state is corrupt");
  }

  void set_sampling(const Sampling& sampling) override {
    use();
    DeviceBuffer<std::uint32_t> ring((kRing + 1) * sampling.bins);
    if (sampling.bins) ring.clear(stream_);
    ring_.swap(ring);
    sampling_ = sampling;
    incomplete_ = sampling.record && state_.data.counters.cycles % sampling.record != 0;
    ring_used_ = 0;
    rows_.clear();
    row_cycles_.clear();
  }

  std::vector<std::uint32_t> take_rows(std::vector<std::uint64_t>& cycles) override {
    use();
    if (ring_used_) collect_rows();
    cycles = std::exchange(row_cycles_, {});
    return std::exchange(rows_, {});
  }

  Counters counters() const override { return state_.data.counters; }
  Grid grid() const override { return grid_of(state_); }
  Repair repair() const override { return state_.repair; }
  std::size_t particles() const override { return state_.particles; }
  double occupied() const override { return occupied_share(snapshot()); }
  void positions(double* xy) const override { export_positions(state_, snapshot(), xy); }
  double max_overlap() const override { return deepest_overlap(state_, snapshot()); }
  std::uint64_t state_hash() const override { return hash_of(state_, snapshot()); }

  Snapshot snapshot() const override {
    use();
    Snapshot data;
    data.counters = state_.data.counters;
    data.origin = state_.data.origin;
    data.ids.resize(ids_[now_].size());
    data.cells.resize(2 * data.ids.size());
    cells_[now_].download(reinterpret_cast<Position*>(data.cells.data()), stream_);
    ids_[now_].download(data.ids.data(), stream_);
    for (std::size_t at = 0; at < data.ids.size(); ++at)
      if (data.cells[2 * at] == kEmpty) data.ids[at] = -1;  // the kernel leaves old ones there
    return data;
  }

  std::array<double, 2> bond_order(double reach) const override {
    use();
    const auto reach2 = static_cast<float>(reach * reach / (state_.unit * state_.unit));
    bond_order_kernel<<<blocks_of_cells(), kThreads, 0, stream_>>>(
        state_.geometry, cells_[now_].data(), reach2, sums_.data());
    check(cudaGetLastError(), "launch");
    std::vector<double2> sums(sums_.size());
    sums_.download(sums.data(), stream_);
    return mean_of(&sums.data()->x, sums.size(), state_.particles);
  }

 private:
  static constexpr std::size_t kRing = 1024;  // rows kept on the device before they are fetched

  static int select(int device) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess) {
      cudaGetLastError();
      devices = 0;
    }
    if (device >= devices)
      throw std::invalid_argument(
          "device \"cuda:" + std::to_string(device) + "\" does not exist: " +
          (devices ? std::to_string(devices) + " CUDA device(s) found" : "no CUDA device found"));
    check(cudaSetDevice(device), "device");
    return device;
  }
  void use() const { check(cudaSetDevice(device_), "device"); }

  // Whole warps for the cells of a set that hold one disk, and one for the others; more take turns.
  int threads() const {
    const int warps = (list_capacity(state_.geometry) * 83 / 100 + 31) / 32 + 1;
    return std::min(kThreads, std::max(2, warps) * 32);
  }
  int blocks_of_cells() const {
    const Geometry& g = state_.geometry;
    return (g.cells[0] * g.cells[1] + kThreads - 1) / kThreads;
  }

  // Puts state_.data on the device.
  void upload() {
    const Snapshot& data = state_.data;
    cells_[now_].upload(reinterpret_cast<const Position*>(data.cells.data()), stream_);
    ids_[now_].upload(data.ids.data(), stream_);
    const Tally tally{data.counters.trial_moves, data.counters.accepted_moves, 0};
    tally_.upload(&tally, stream_);
  }

  // Fetches the finished rows; the one that is being filled becomes the first.
  void collect_rows() {
    const std::size_t bins = sampling_.bins, count = ring_used_ * bins;
    rows_.resize(rows_.size() + count);
    ring_.download(rows_.data() + rows_.size() - count, stream_, count);
    check(cudaMemcpyAsync(ring_.data(), ring_.data() + count, bins * sizeof(std::uint32_t),
                          cudaMemcpyDeviceToDevice, stream_),
          "rows");
    check(cudaMemsetAsync(ring_.data() + bins, 0, count * sizeof(std::uint32_t), stream_), "rows");
    ring_used_ = 0;
  }

  State state_;
  int device_;
  Stream stream_;
  DeviceBuffer<Position> cells_[2];
  DeviceBuffer<std::int32_t> ids_[2];
  DeviceBuffer<Tally> tally_;
  DeviceBuffer<double2> sums_;
  DeviceBuffer<std::uint32_t> ring_;
  decltype(&cycle_kernel<12, 2>) kernel_;
  int now_ = 0;
  Sampling sampling_;
  bool incomplete_ = false;  // the row that is being filled began late
  std::size_t ring_used_ = 0;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint64_t> row_cycles_;
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(State state, int device) {
  return std::make_unique<CudaEngine>(std::move(state), device);
}

}  // namespace manymove::harddisk
