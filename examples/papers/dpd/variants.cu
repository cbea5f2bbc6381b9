// SPDX-License-Identifier: BSD-3-Clause
// Kernels of the paper on DPD and their alternatives, which the engines do not use: neighbor lists
// by votes of a warp or by atomic increments (Algorithm 3), lists with the core in front, the radix
// sort of Algorithm 2, conversions of the layout, and forces with several random number generators
// and functions. variants.py compiles this file with nvcc and compares the times of the kernels.
//
// Every function returns nullptr or the text of an error.
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>
#include <string>
#include <vector>

#include "variants.h"

namespace variants {
namespace {

constexpr int kWarp = 32, kWarpsOfBlock = 4, kThreads = 256;
constexpr unsigned kAll = 0xffffffffu;

#if !defined(LAUNCH)
#define LAUNCH(kernel, blocks, threads, bytes) kernel<<<blocks, threads, bytes>>>
#endif

struct Failure {
  std::string text;
};

void check(cudaError_t status) {
  if (status != cudaSuccess) throw Failure{cudaGetErrorString(status)};
}

unsigned blocks_for(std::int64_t items, int of_block) {
  return static_cast<unsigned>((items + of_block - 1) / of_block);
}

// Device memory.
template <class T>
class Array {
 public:
  explicit Array(std::int64_t size) : size_(size) {
    check(
        cudaMalloc(reinterpret_cast<void**>(&data_), std::max<std::int64_t>(size, 1) * sizeof(T)));
  }
  Array(const T* host, std::int64_t size) : Array(size) {
    check(cudaMemcpy(data_, host, size * sizeof(T), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }
  T* data() const { return data_; }
  std::vector<T> host(std::int64_t count) const {
    std::vector<T> copy(count);
    check(cudaMemcpy(copy.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
  }
  void zero() const { check(cudaMemset(data_, 0, size_ * sizeof(T))); }

 private:
  T* data_ = nullptr;
  std::int64_t size_;
};

// Time of the fastest run in seconds. `prepare` is not timed.
template <class Prepare, class Run>
double fastest(int repeats, Prepare prepare, Run run) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  float best = INFINITY;
  for (int k = 0; k <= repeats; ++k) {  // the first one warms up
    prepare();
    check(cudaEventRecord(begin));
    run();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaGetLastError());
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    if (k > 0) best = std::min(best, milliseconds);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1e-3 * best;
}
template <class Run>
double fastest(int repeats, Run run) {
  return fastest(repeats, [] {}, run);
}

// ---- layouts (Figure 1, Table 1) ----

// One thread per particle: three arrays from an array of structures, and the reverse.
__global__ void deinterleave(std::int64_t n, const double* in, double* x, double* y, double* z) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  x[i] = in[3 * i];
  y[i] = in[3 * i + 1];
  z[i] = in[3 * i + 2];
}
__global__ void interleave(std::int64_t n, const double* x, const double* y, const double* z,
                           double* out) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  out[3 * i] = x[i];
  out[3 * i + 1] = y[i];
  out[3 * i + 2] = z[i];
}

// One thread per particle: what the pair forces read, in float32, relative to the middle of the box
// (section 3.4). Reads 56 bytes, writes 32.
__global__ void merge_xvt(std::int64_t n, double middle, const double* x, const double* y,
                          const double* z, const double* vx, const double* vy, const double* vz,
                          const std::int32_t* signature, const std::int32_t* tag, float4* position,
                          float4* velocity) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  position[i] = {static_cast<float>(x[i] - middle), static_cast<float>(y[i] - middle),
                 static_cast<float>(z[i] - middle), __int_as_float(signature[i])};
  velocity[i] = {static_cast<float>(vx[i]), static_cast<float>(vy[i]), static_cast<float>(vz[i]),
                 __int_as_float(tag[i])};
}

// One thread per particle.
__global__ void make_signatures(std::int64_t n, NoiseKey key, const std::int32_t* tag,
                                const double* vx, const double* vy, const double* vz,
                                std::int32_t* signature) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const std::uint32_t words[4] = {key.mask[1], key.mask[0], ~key.round[0], key.round[0]};
  signature[i] = static_cast<std::int32_t>(
      tea_signature(static_cast<std::uint32_t>(tag[i]), vx[i], vy[i], vz[i], words));
}

// One thread per particle: half a kick and a drift of the velocity Verlet algorithm.
__global__ void integrate(std::int64_t n, double step, const double* fx, const double* fy,
                          const double* fz, double* vx, double* vy, double* vz, double* x,
                          double* y, double* z) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  vx[i] += 0.5 * step * fx[i];
  vy[i] += 0.5 * step * fy[i];
  vz[i] += 0.5 * step * fz[i];
  x[i] += step * vx[i];
  y[i] += step * vy[i];
  z[i] += step * vz[i];
}

// One thread per particle: a component in the new order.
__global__ void reorder(std::int64_t n, const std::int32_t* from, const double* in, double* out) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = in[from[i]];
}

// ---- neighbor lists (section 3.3) ----

struct Cells {
  std::int64_t cells;
  const std::int32_t *member, *start, *stencil;
  std::int32_t candidates;  // of a row of `fine`
  std::int32_t *fine, *length;
};

// One warp per cell: the particles of its stencil in one row (the fine-grained stencil).
__global__ void expand(Cells c) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t cell = (blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x) / kWarp;
  if (cell >= c.cells) return;
  std::int32_t* row = c.fine + cell * c.candidates;
  int length = 0;
  for (int k = 0; k < 27; ++k) {
    const int near = c.stencil[27 * cell + k];
    const int first = c.start[near], count = c.start[near + 1] - first;
    for (int m = lane; m < count; m += kWarp) row[length + m] = c.member[first + m];
    length += count;
  }
  if (lane == 0) c.length[cell] = length;
}

struct Lists {
  std::int32_t row;
  float edge, inverse_edge, inner, outer;  // squared radii of the core and of the skin
  std::int32_t *table, *core, *skin;       // skin: numbers of the second part, if any
};

enum Way { vote, vote_in_registers, atomic_in_shared, atomic_in_global };

struct Slot {
  std::int32_t i, core, skin;
  float x, y, z;
};

// One warp per cell (Algorithm 3). `split` puts neighbors within the cutoff in front and those of
// the skin at the end of the row, in reversed order.
template <int way, bool split>
__global__ void __launch_bounds__(kWarp* kWarpsOfBlock)
    build_lists(Cells c, Lists lists, const float4* position) {
  __shared__ Slot slots[kWarpsOfBlock][kWarp];
  const int lane = threadIdx.x % kWarp;
  Slot* slot = slots[threadIdx.x / kWarp];
  const std::int64_t cell = (blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x) / kWarp;
  if (cell >= c.cells) return;
  const unsigned below = (1u << lane) - 1u;
  const std::int32_t* fine = c.fine + cell * c.candidates;
  const int first = c.start[cell], members = c.start[cell + 1] - first, length = c.length[cell];
  for (int p = 0; p < members; p += kWarp) {
    const int part = min(members - p, kWarp);
    __syncwarp();
    if (lane < part) {
      const int i = c.member[first + p + lane];
      const float4 r = position[i];
      slot[lane] = {i, 0, 0, r.x, r.y, r.z};
    }
    __syncwarp();
    int mine_core = 0, mine_skin = 0;  // of slot `lane`, where counts are in registers
    for (int base = 0; base < length; base += kWarp) {
      const bool loaded = base + lane < length;
      const int j = loaded ? fine[base + lane] : -1;
      const float4 r = loaded ? position[j] : float4{0, 0, 0, 0};
      for (int s = 0; s < part; ++s) {
        const float dx = near_image(r.x - slot[s].x, lists.edge, lists.inverse_edge);
        const float dy = near_image(r.y - slot[s].y, lists.edge, lists.inverse_edge);
        const float dz = near_image(r.z - slot[s].z, lists.edge, lists.inverse_edge);
        const float squared = dx * dx + dy * dy + dz * dz;
        const int i = slot[s].i;
        const bool near = loaded && squared < lists.outer && j != i;
        const bool hit = split ? near && squared < lists.inner : near;
        const bool far = split && near && !hit;
        std::int32_t* row = lists.table + static_cast<std::int64_t>(i) * lists.row;
        int at = 0, at_end = 0;
        if constexpr (way == atomic_in_shared) {
          if (hit) at = atomicAdd(&slot[s].core, 1);
          if (far) at_end = atomicAdd(&slot[s].skin, 1);
        } else if constexpr (way == atomic_in_global) {
          if (hit) at = atomicAdd(&lists.core[i], 1);
          if (far) at_end = atomicAdd(&lists.skin[i], 1);
        } else {
          const unsigned hits = __ballot_sync(kAll, hit);
          const unsigned fars = split ? __ballot_sync(kAll, far) : 0u;
          if constexpr (way == vote) {
            at = slot[s].core + __popc(hits & below);
            at_end = slot[s].skin + __popc(fars & below);
            __syncwarp();
            if (lane == 0) {
              slot[s].core += __popc(hits);
              if (split) slot[s].skin += __popc(fars);
            }
            __syncwarp();
          } else {
            at = __shfl_sync(kAll, mine_core, s) + __popc(hits & below);
            if (split) at_end = __shfl_sync(kAll, mine_skin, s) + __popc(fars & below);
            if (lane == s) {
              mine_core += __popc(hits);
              mine_skin += __popc(fars);
            }
          }
        }
        if (hit && at < lists.row) row[at] = j;
        if (far && at_end < lists.row) row[lists.row - 1 - at_end] = j;
      }
    }
    __syncwarp();
    if (way != atomic_in_global && lane < part) {
      const bool registers = way == vote_in_registers;
      lists.core[slot[lane].i] = registers ? mine_core : slot[lane].core;
      if (split) lists.skin[slot[lane].i] = registers ? mine_skin : slot[lane].skin;
    }
  }
}

// One warp per particle: the neighbors of the skin behind those of the core.
__global__ void join(std::int64_t n, Lists lists) {
  extern __shared__ std::int32_t buffer[];
  const int lane = threadIdx.x % kWarp;
  std::int32_t* part = buffer + threadIdx.x / kWarp * lists.row;
  const std::int64_t i = (blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x) / kWarp;
  if (i >= n) return;
  std::int32_t* row = lists.table + i * lists.row;
  const int core = lists.core[i], skin = lists.skin[i];
  for (int k = lane; k < skin; k += kWarp) part[k] = row[lists.row - 1 - k];
  __syncwarp();
  for (int k = lane; k < skin; k += kWarp) row[core + k] = part[k];
  if (lane == 0) lists.core[i] = core + skin;
}

// One warp per tile of 32 x 32: transposed in place (Figure 8). With blocks of kWarpsOfBlock warps.
__global__ void transpose(std::int64_t tiles, std::int32_t row, std::int32_t* table) {
  __shared__ std::int32_t tile[kWarpsOfBlock][kWarp][kWarp + 1];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t index = (blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x) / kWarp;
  if (index >= tiles) return;
  const int tiles_of_row = row / kWarp;
  std::int32_t* corner = table + index / tiles_of_row * kWarp * row + index % tiles_of_row * kWarp;
  for (int k = 0; k < kWarp; ++k) tile[warp][k][lane] = corner[std::int64_t(k) * row + lane];
  __syncwarp();
  for (int k = 0; k < kWarp; ++k) corner[std::int64_t(k) * row + lane] = tile[warp][lane][k];
}

// One thread per particle.
template <int noise, int arithmetic>
__global__ void pair_forces(std::int64_t n, double edge, double squared_cutoff, Law law,
                            NoiseKey key, std::int32_t row, const std::int32_t* table,
                            const std::int32_t* count, const float4* position,
                            const float4* velocity, double* fx, double* fy, double* fz) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const std::int32_t* list = table + i / kWarp * kWarp * row + i % kWarp;
  const float4 r = position[i], v = velocity[i];
  const double inverse_edge = 1.0 / edge;
  double x = 0, y = 0, z = 0;
  const int neighbors = count[i];
  for (int k = 0; k < neighbors; ++k) {
    const int j = list[std::int64_t(k % kWarp) * row + k / kWarp * kWarp];
    const float4 other = position[j];
    double dx = static_cast<double>(r.x) - other.x, dy = static_cast<double>(r.y) - other.y,
           dz = static_cast<double>(r.z) - other.z;
    dx -= edge * rint(dx * inverse_edge);
    dy -= edge * rint(dy * inverse_edge);
    dz -= edge * rint(dz * inverse_edge);
    const double squared = dx * dx + dy * dy + dz * dz;
    if (squared < squared_cutoff) {
      const float4 w = velocity[j];
      const double approach = dx * (static_cast<double>(v.x) - w.x) +
                              dy * (static_cast<double>(v.y) - w.y) +
                              dz * (static_cast<double>(v.z) - w.z);
      const bool signatures = noise == tea_of_signatures;
      const auto word_i = static_cast<std::uint32_t>(__float_as_int(signatures ? r.w : v.w));
      const auto word_j = static_cast<std::uint32_t>(__float_as_int(signatures ? other.w : w.w));
      const double f = force_of<noise, arithmetic>(law, squared, approach, word_i, word_j, key);
      x += f * dx;
      y += f * dy;
      z += f * dz;
    }
  }
  fx[i] = x;
  fy[i] = y;
  fz[i] = z;
}

// All measurements of one system, in the order of TIMES in variants.py.
void measure_all(const System& s, double* seconds, std::int32_t* counts) {
  const std::int64_t n = s.particles, checked = std::min<std::int64_t>(n, 4096) / kWarp * kWarp;
  std::vector<double> component(n);
  const auto split_component = [&](const double* vectors, int axis) {
    for (std::int64_t i = 0; i < n; ++i) component[i] = vectors[3 * i + axis];
    return component.data();
  };
  const Array<double> x(split_component(s.position, 0), n), y(split_component(s.position, 1), n),
      z(split_component(s.position, 2), n), vx(split_component(s.velocity, 0), n),
      vy(split_component(s.velocity, 1), n), vz(split_component(s.velocity, 2), n);
  const Array<double> fx(n), fy(n), fz(n);
  const Array<std::int32_t> tag(s.tag, n), signature(n), member(s.member, n),
      start(s.start, s.cells + 1), stencil(s.stencil, 27 * s.cells), length(s.cells),
      fine(s.cells * s.candidates);
  const Array<std::int32_t> table(n * s.row), core(n), skin(n);
  const Array<float4> position(n), velocity(n);
  const NoiseKey key = noise_key(1, 1);
  const unsigned blocks = blocks_for(n, kThreads);
  const unsigned blocks_of_cells = blocks_for(s.cells, kWarpsOfBlock);
  const int repeats = s.repeats, block = kWarp * kWarpsOfBlock;
  double* next = seconds;

  // Preparations of a step: signatures, MergeXVT, integration.
  *next++ = fastest(repeats, [&] {
    LAUNCH(make_signatures, blocks, kThreads, 0)
    (n, key, tag.data(), vx.data(), vy.data(), vz.data(), signature.data());
  });
  *next++ = fastest(repeats, [&] {
    LAUNCH(merge_xvt, blocks, kThreads, 0)
    (n, 0.5 * s.edge, x.data(), y.data(), z.data(), vx.data(), vy.data(), vz.data(),
     signature.data(), tag.data(), position.data(), velocity.data());
  });

  // Lists.
  const Cells cells{s.cells,      member.data(), start.data(), stencil.data(),
                    s.candidates, fine.data(),   length.data()};
  const auto edge = static_cast<float>(s.edge);
  const Lists lists{s.row,        edge,        1.0f / edge, s.cutoff * s.cutoff, s.reach * s.reach,
                    table.data(), core.data(), skin.data()};
  const auto clear = [&] {
    core.zero();
    skin.zero();
  };
  const auto nothing_before = [] {};
  *next++ = fastest(repeats, [&] { LAUNCH(expand, blocks_of_cells, block, 0)(cells); });
  std::vector<std::int32_t> rows, count;
  const auto compare = [&](const char* name) {
    const std::vector<std::int32_t> found = core.host(n);
    if (rows.empty()) {
      count = found;
      const auto longest = *std::max_element(count.begin(), count.end());
      if (longest > s.row) throw Failure{"a list has more than " + std::to_string(s.row)};
      rows = sorted_rows(table.host(checked * s.row), checked, s.row, count);
    } else if (found != count ||
               sorted_rows(table.host(checked * s.row), checked, s.row, count) != rows) {
      throw Failure{std::string(name) + " makes other lists"};
    }
  };
  *next++ = fastest(repeats, nothing_before, [&] {
    const auto kernel = build_lists<vote, false>;
    LAUNCH(kernel, blocks_of_cells, block, 0)(cells, lists, position.data());
  });
  compare("vote");
  *next++ = fastest(repeats, nothing_before, [&] {
    const auto kernel = build_lists<vote_in_registers, false>;
    LAUNCH(kernel, blocks_of_cells, block, 0)(cells, lists, position.data());
  });
  compare("vote_in_registers");
  *next++ = fastest(repeats, nothing_before, [&] {
    const auto kernel = build_lists<atomic_in_shared, false>;
    LAUNCH(kernel, blocks_of_cells, block, 0)(cells, lists, position.data());
  });
  compare("atomic_in_shared");
  *next++ = fastest(repeats, clear, [&] {
    const auto kernel = build_lists<atomic_in_global, false>;
    LAUNCH(kernel, blocks_of_cells, block, 0)(cells, lists, position.data());
  });
  compare("atomic_in_global");

  // Forces from ordered lists, then from lists with the core in front.
  const std::int64_t tiles = n / kWarp * (s.row / kWarp);
  const auto transpose_lists = [&] {
    LAUNCH(transpose, blocks_for(tiles, kWarpsOfBlock), block, 0)(tiles, s.row, table.data());
  };
  const auto build = [&] {
    const auto kernel = build_lists<vote, false>;
    LAUNCH(kernel, blocks_of_cells, block, 0)(cells, lists, position.data());
  };
  const auto build_split = [&] {
    const auto kernel = build_lists<vote, true>;
    LAUNCH(kernel, blocks_of_cells, block, 0)(cells, lists, position.data());
  };
  const auto join_lists = [&] {
    LAUNCH(join, blocks_for(n, kWarpsOfBlock), block, kWarpsOfBlock * s.row * 4)(n, lists);
  };
  *next++ = fastest(repeats, build, transpose_lists);
  const Law law = law_of(s.cutoff);
  const double squared_cutoff = static_cast<double>(s.cutoff) * s.cutoff;
  const auto time_forces = [&](auto kernel) {
    return fastest(repeats, [&] {
      LAUNCH(kernel, blocks, kThreads, 0)
      (n, s.edge, squared_cutoff, law, key, s.row, table.data(), core.data(), position.data(),
       velocity.data(), fx.data(), fy.data(), fz.data());
    });
  };
  const auto forces = [&] {
    std::vector<double> all = fx.host(n);
    for (const auto* f : {&fy, &fz}) {
      const std::vector<double> more = f->host(n);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  };
  const auto agree = [&](const std::vector<double>& a, double tolerance, const char* name) {
    const double away = largest_difference(a, forces());
    if (!(away < tolerance))
      throw Failure{std::string(name) + ": forces differ by " + std::to_string(away)};
  };
  *next++ = time_forces(pair_forces<tea_of_signatures, fast_functions>);
  const std::vector<double> of_signatures = forces();
  double total = 0, scale = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    total += of_signatures[i];
    scale = std::max(scale, std::fabs(of_signatures[i]));
  }
  if (!(std::fabs(total) < 1e-9 * scale * n)) throw Failure{"the forces do not add up to zero"};
  *next++ = time_forces(pair_forces<tea_of_signatures, library_functions>);
  agree(of_signatures, 1e-6, "library functions");
  *next++ = time_forces(pair_forces<tea_of_tags, fast_functions>);
  *next++ = time_forces(pair_forces<philox_of_tags, fast_functions>);
  const std::vector<double> of_tags = forces();
  *next++ = time_forces(pair_forces<philox_of_tags, product_functions>);
  if (largest_difference(of_tags, of_signatures) < 1e-3)
    throw Failure{"two generators make the same forces"};

  *next++ = fastest(repeats, build_split);
  build_split();
  double of_skin = 0;
  for (const std::int32_t number : skin.host(n)) of_skin += number;
  *next++ = fastest(repeats, build_split, join_lists);
  compare("join");
  transpose_lists();
  *next++ = time_forces(pair_forces<tea_of_signatures, fast_functions>);
  agree(of_signatures, 1e-10, "the core in front");

  *next++ = fastest(repeats, [&] {
    LAUNCH(integrate, blocks, kThreads, 0)
    (n, 1e-12, fx.data(), fy.data(), fz.data(), vx.data(), vy.data(), vz.data(), x.data(), y.data(),
     z.data());
  });
  *next++ = fastest(repeats, [&] {  // six components into the new order
    for (const auto* of : {&x, &y, &z, &vx, &vy, &vz})
      LAUNCH(reorder, blocks, kThreads, 0)(n, member.data(), of->data(), fx.data());
  });
  *next++ = of_skin;  // entries that `join` moves
  std::copy(count.begin(), count.end(), counts);
}

// ---- sorting (Algorithm 2) ----

constexpr int kTile = 1024, kDigits = 16, kBits = 4;

// A block per tile of keys: numbers of its digits, digit by digit.
__global__ void radix_histogram(std::int64_t n, const std::uint32_t* key, int bit,
                                std::int32_t* prefix) {
  __shared__ std::int32_t count[kDigits];
  if (threadIdx.x < kDigits) count[threadIdx.x] = 0;
  __syncthreads();
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) {
    const std::int64_t at = blockIdx.x * std::int64_t(kTile) + k;
    if (at < n) atomicAdd(&count[key[at] >> bit & (kDigits - 1)], 1);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) prefix[threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

// One block of 1,024 threads: exclusive prefix sums, in place.
__global__ void radix_prefix_sum(std::int64_t items, std::int32_t* prefix) {
  __shared__ std::int32_t of_warp[kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  std::int32_t carried = 0;
  for (std::int64_t base = 0; base < items; base += blockDim.x) {
    const std::int64_t at = base + threadIdx.x;
    const std::int32_t value = at < items ? prefix[at] : 0;
    std::int32_t sum = value;
    for (int d = 1; d < kWarp; d *= 2) {
      const std::int32_t other = __shfl_up_sync(kAll, sum, d);
      if (lane >= d) sum += other;
    }
    if (lane == kWarp - 1) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) {
      std::int32_t all = of_warp[lane];
      for (int d = 1; d < kWarp; d *= 2) {
        const std::int32_t other = __shfl_up_sync(kAll, all, d);
        if (lane >= d) all += other;
      }
      of_warp[lane] = all;
    }
    __syncthreads();
    const std::int32_t before = carried + (warp ? of_warp[warp - 1] : 0);
    if (at < items) prefix[at] = before + sum - value;
    carried += of_warp[kWarp - 1];
    __syncthreads();
  }
}

// A block of kThreads per tile: keys and values to their places, in stable order.
__global__ void radix_permute(std::int64_t n, const std::uint32_t* key, const std::uint32_t* value,
                              int bit, const std::int32_t* prefix, std::uint32_t* key_out,
                              std::uint32_t* value_out) {
  constexpr int warps = kThreads / kWarp;
  __shared__ std::int32_t base[kDigits], place[warps][kDigits];
  const int t = threadIdx.x, lane = t % kWarp, warp = t / kWarp;
  if (t < kDigits) base[t] = prefix[t * gridDim.x + blockIdx.x];
  for (int round = 0; round < kTile; round += kThreads) {
    if (t < warps * kDigits) place[t / kDigits][t % kDigits] = 0;
    __syncthreads();
    const std::int64_t at = blockIdx.x * std::int64_t(kTile) + round + t;
    const bool valid = at < n;
    const std::uint32_t k = valid ? key[at] : 0;
    const unsigned digit = k >> bit & (kDigits - 1);
    unsigned same = __ballot_sync(kAll, valid);  // lanes with the same digit
    for (int b = 0; b < kBits; ++b) {
      const unsigned ones = __ballot_sync(kAll, digit >> b & 1u);
      same &= digit >> b & 1u ? ones : ~ones;
    }
    const int rank = __popc(same & ((1u << lane) - 1u));
    if (valid && rank == 0) place[warp][digit] = __popc(same);
    __syncthreads();
    if (t < kDigits) {
      std::int32_t sum = base[t];
      for (int w = 0; w < warps; ++w) {
        const std::int32_t count = place[w][t];
        place[w][t] = sum;
        sum += count;
      }
      base[t] = sum;
    }
    __syncthreads();
    if (valid) {
      const std::int32_t to = place[warp][digit] + rank;
      key_out[to] = k;
      value_out[to] = value[at];
    }
    __syncthreads();
  }
}

void sort_all(std::int64_t n, int bits, int repeats, const std::uint32_t* host_keys,
              double* seconds) {
  const Array<std::uint32_t> original(host_keys, n), keys(n), values(n), other_keys(n),
      other_values(n);
  const unsigned tiles = blocks_for(n, kTile);
  const Array<std::int32_t> prefix(static_cast<std::int64_t>(tiles) * kDigits);
  std::vector<std::uint32_t> order(n);
  for (std::int64_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  const Array<std::uint32_t> first(order.data(), n);
  const auto fill = [&] {
    check(cudaMemcpy(keys.data(), original.data(), n * 4, cudaMemcpyDeviceToDevice));
    check(cudaMemcpy(values.data(), first.data(), n * 4, cudaMemcpyDeviceToDevice));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return host_keys[a] < host_keys[b]; });
  const auto sorted = [&](const char* name, const Array<std::uint32_t>& found) {
    if (found.host(n) != order) throw Failure{std::string(name) + " does not sort"};
  };
  seconds[0] = fastest(repeats, fill, [&] {
    std::uint32_t *key = keys.data(), *value = values.data();
    std::uint32_t *key_out = other_keys.data(), *value_out = other_values.data();
    for (int bit = 0; bit < bits; bit += kBits) {
      LAUNCH(radix_histogram, tiles, kThreads, 0)(n, key, bit, prefix.data());
      LAUNCH(radix_prefix_sum, 1, 1024, 0)
      (static_cast<std::int64_t>(tiles) * kDigits, prefix.data());
      LAUNCH(radix_permute, tiles, kThreads, 0)
      (n, key, value, bit, prefix.data(), key_out, value_out);
      std::swap(key, key_out);
      std::swap(value, value_out);
    }
    if (key != keys.data()) {
      check(cudaMemcpyAsync(keys.data(), key, n * 4, cudaMemcpyDeviceToDevice));
      check(cudaMemcpyAsync(values.data(), value, n * 4, cudaMemcpyDeviceToDevice));
    }
  });
  sorted("the radix sort", values);
  seconds[1] = fastest(repeats, fill, [&] {
    thrust::stable_sort_by_key(thrust::device, keys.data(), keys.data() + n, values.data());
  });
  sorted("Thrust", values);
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys.data(), other_keys.data(),
                                        values.data(), other_values.data(), static_cast<int>(n), 0,
                                        bits));
  const Array<std::uint8_t> memory(static_cast<std::int64_t>(bytes));
  seconds[2] = fastest(repeats, fill, [&] {
    check(cub::DeviceRadixSort::SortPairs(memory.data(), bytes, keys.data(), other_keys.data(),
                                          values.data(), other_values.data(), static_cast<int>(n),
                                          0, bits));
  });
  sorted("CUB", other_values);
}

// ---- functions (Table 3) ----

template <int function>
__global__ void evaluate(std::int64_t n, const std::uint32_t* v, const double* a, const double* b,
                         double* out) {
  const std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = value_of<function>(v[i], a[i], b[i]);
}

// One thread: clock cycles of calls of which each needs the value of the one before.
template <int function>
__global__ void chained(int calls, double b, long long* cycles, double* out) {
  std::uint32_t v = 0x9E3779B9u;
  double a = 1.37, value = 0;
  const long long begin = clock64();
  for (int k = 0; k < calls; ++k) {
    value = value_of<function>(v, a, b);
    chain(value, v, a);
  }
  *cycles = clock64() - begin;
  *out = value + a + v;
}

template <class Task>
const char* guarded(Task task) {
  static std::string text;
  try {
    task();
    check(cudaDeviceSynchronize());
    return nullptr;
  } catch (const Failure& failure) {
    text = failure.text;
    return text.c_str();
  }
}

}  // namespace
}  // namespace variants

using namespace variants;

// Times in seconds of a system; counts [particles]: lengths of the lists.
extern "C" const char* variants_measure(const System* system, double* seconds,
                                        std::int32_t* counts) {
  return guarded([&] { measure_all(*system, seconds, counts); });
}

// Times in seconds of Interleave and Deinterleave.
extern "C" const char* variants_layouts(std::int64_t n, int repeats, double* seconds) {
  return guarded([&] {
    std::vector<double> host(3 * n);
    for (std::int64_t k = 0; k < 3 * n; ++k) host[k] = static_cast<double>(k);
    const Array<double> in(host.data(), 3 * n), x(n), y(n), z(n), out(3 * n);
    const unsigned blocks = blocks_for(n, kThreads);
    seconds[1] = fastest(repeats, [&] {
      LAUNCH(deinterleave, blocks, kThreads, 0)(n, in.data(), x.data(), y.data(), z.data());
    });
    seconds[0] = fastest(repeats, [&] {
      LAUNCH(interleave, blocks, kThreads, 0)(n, x.data(), y.data(), z.data(), out.data());
    });
    if (out.host(3 * n) != host) throw Failure{"the layouts differ"};
  });
}

// Times in seconds of the radix sort, of Thrust and of CUB with the lowest `bits` of keys [n].
extern "C" const char* variants_sort(std::int64_t n, int bits, int repeats,
                                     const std::uint32_t* keys, double* seconds) {
  return guarded([&] { sort_all(n, bits, repeats, keys, seconds); });
}

// Values [n] of a function.
extern "C" const char* variants_evaluate(int function, std::int64_t n, const std::uint32_t* v,
                                         const double* a, const double* b, double* out) {
  return guarded([&] {
    const Array<std::uint32_t> v_(v, n);
    const Array<double> a_(a, n), b_(b, n), out_(n);
    for_constant<0, 1, 2, 3, 4, 5, 6, 7, 8>(function, [&](auto constant) {
      const auto kernel = evaluate<decltype(constant)::value>;
      LAUNCH(kernel, blocks_for(n, kThreads), kThreads, 0)
      (n, v_.data(), a_.data(), b_.data(), out_.data());
    });
    const std::vector<double> found = out_.host(n);
    std::copy(found.begin(), found.end(), out);
  });
}

// Clock cycles of one of the calls of a chain.
extern "C" const char* variants_latency(int function, int calls, double b, double* cycles) {
  return guarded([&] {
    const Array<long long> taken(1);
    const Array<double> out(1);
    for_constant<0, 1, 2, 3, 4, 5, 6, 7, 8>(function, [&](auto constant) {
      const auto kernel = chained<decltype(constant)::value>;
      for (int k = 0; k < 2; ++k) LAUNCH(kernel, 1, 1, 0)(calls, b, taken.data(), out.data());
    });
    *cycles = static_cast<double>(taken.host(1)[0]) / calls;
  });
}

// Peak bandwidth of the memory in bytes per second.
extern "C" double variants_peak_bandwidth() {
  int kilohertz = 0, bits = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, 0) != cudaSuccess ||
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0) != cudaSuccess)
    return 0;
  return 2e3 * kilohertz * bits / 8;
}
