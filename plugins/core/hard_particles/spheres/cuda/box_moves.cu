// SPDX-License-Identifier: BSD-3-Clause
#include "box_moves.h"

#include <atomic>

#include "../../../runtime/launch.cuh"

namespace manymove::hard_particles::spheres {
namespace {

constexpr int kThreads = 128;

unsigned blocks(std::size_t threads) {
  return static_cast<unsigned>(blocks_for(threads, std::size_t{kThreads}));
}

__device__ void cell_of(const Geometry& g, std::int64_t index, int cell[3]) {
  const std::int64_t layer = std::int64_t{g.cells[0]} * g.cells[1];
  const auto in_layer = static_cast<int>(index % layer);
  cell[0] = in_layer % g.cells[0];
  cell[1] = in_layer / g.cells[0];
  cell[2] = static_cast<int>(index / layer);
}

std::size_t cells_in(const Geometry& g) {
  return std::size_t{1} * g.cells[0] * g.cells[1] * g.cells[2];
}

constexpr int kLanes = 4;  // that share a cell
constexpr unsigned long long kNoRatio = 0x7ff0000000000000ull;

// The least ratio of a block's threads counts; the last block of all chooses among the outcomes.
// Positive numbers are in the order of their bits.
__device__ void choose(double mine, const LeastRatio& wanted, const VolumeOutcomes& outcomes,
                       BoxChoice* choice, volatile BoxAnswer* answer, unsigned int number) {
  for (int lane = 16; lane > 0; lane /= 2) mine = fmin(mine, __shfl_down_sync(~0u, mine, lane));
  if (threadIdx.x % 32 == 0 && mine < wanted.most) {
    atomicMin(&choice->least, static_cast<unsigned long long>(__double_as_longlong(mine)));
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (atomicAdd(&choice->blocks, 1u) != gridDim.x - 1) return;
  __threadfence();
  const double least =
      fmin(wanted.most,
           __longlong_as_double(static_cast<long long>(atomicExch(&choice->least, kNoRatio))));
  choice->blocks = 0;
  int k = 0;
  while (k < outcomes.number && least < outcomes.from[k]) ++k;
  const bool host = k == outcomes.number || outcomes.host[k];
  choice->for_host = host;
  if (!host) choice->scale = outcomes.scale[k];
  answer->least_ratio = least;
  answer->for_host = host;
  __threadfence_system();
  answer->number = number;
}

// Several threads for each cell.
template <int D, Contact C>
__global__ void __launch_bounds__(kThreads)
    least_ratio_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Law reference,
                       const __grid_constant__ LeastRatio wanted, const Sphere* spheres,
                       const std::uint32_t* counts, std::int64_t cells,
                       const __grid_constant__ VolumeOutcomes outcomes, BoxChoice* choice,
                       volatile BoxAnswer* answer, unsigned int number) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  double mine = wanted.most;
  if (index / kLanes < cells) {
    int cell[3];
    cell_of(g, index / kLanes, cell);
    mine = least_ratio_of<D, C, kLanes>(g, reference, wanted, spheres, counts, cell,
                                        static_cast<int>(index % kLanes), mine);
  }
  choose(mine, wanted, outcomes, choice, answer, number);
}

// A block of cells, one for each thread, with the cells around them that come after, in shared
// memory; for ranges of one cell.
template <int D>
struct Brick {
  static constexpr int kX = D == 3 ? 8 : 16, kY = kX, kZ = D == 3 ? 4 : 1, kOwn = kX * kY * kZ;
  // With cells on both sides along the first axes, on the far side only along the last.
  static constexpr int kAllX = kX + 2, kAllY = kY + (D == 3 ? 2 : 1), kAllZ = D == 3 ? kZ + 1 : 1;
  static constexpr int kCells = kAllX * kAllY * kAllZ;
  static constexpr int kRoom = 1280;  // for particles
  static constexpr int kRounds = (kCells + kOwn - 1) / kOwn;
  static constexpr int size(int axis) { return axis == 0 ? kX : axis == 1 ? kY : kZ; }
  static constexpr int bricks(int cells, int axis) { return (cells + size(axis) - 1) / size(axis); }
};

template <int D, Contact C>
__global__ void __launch_bounds__(Brick<D>::kOwn, 4)
    brick_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Law reference,
                 const __grid_constant__ LeastRatio wanted, const Sphere* spheres,
                 const std::uint32_t* counts, int rows,
                 const __grid_constant__ VolumeOutcomes outcomes, BoxChoice* choice,
                 volatile BoxAnswer* answer, unsigned int number) {
  using B = Brick<D>;
  __shared__ float4 particles[B::kRoom];
  __shared__ std::uint32_t places[B::kCells];  // the first particle of a cell, and how many << 16
  __shared__ unsigned int total;
  const int thread = static_cast<int>(threadIdx.x);
  int low[3] = {0, 0, 0}, own[3] = {1, 1, 1};  // the first cell, and how many are this brick's
  int brick = static_cast<int>(blockIdx.x);
#pragma unroll
  for (int a = 0; a < D; ++a) {
    const int cells = a == D - 1 ? rows : g.cells[a], n = B::bricks(cells, a);
    low[a] = brick % n * B::size(a);
    brick /= n;
    own[a] = min(B::size(a), cells - low[a]);
  }
  if (thread == 0) total = 0;
  __syncthreads();
  let_next_kernel_start();
  wait_for_former_kernel();
  int from[B::kRounds];
  std::uint32_t n[B::kRounds];
  float4 first[B::kRounds];
#pragma unroll
  for (int k = 0; k < B::kRounds; ++k) {
    const int cell = thread + k * B::kOwn;
    const int at[3] = {cell % B::kAllX - 1, cell / B::kAllX % B::kAllY - (D == 3 ? 1 : 0),
                       cell / (B::kAllX * B::kAllY)};
    bool is = cell < B::kCells;
    int there = 0;
#pragma unroll
    for (int a = D - 1; a >= 0; --a) {
      is = is && at[a] <= own[a];
      int i = low[a] + at[a];
      i = i < 0 ? i + g.cells[a] : i >= g.cells[a] ? i - g.cells[a] : i;
      there = there * g.cells[a] + i;
    }
    from[k] = is ? there : -1;
    n[k] = is ? counts[there] : 0;
    if (is)
      first[k] =
          *reinterpret_cast<const float4*>(spheres + static_cast<std::int64_t>(there) * g.slots);
  }
#pragma unroll
  for (int k = 0; k < B::kRounds; ++k) {
    const int cell = thread + k * B::kOwn;
    if (cell >= B::kCells) continue;
    const unsigned int to = n[k] ? atomicAdd(&total, n[k]) : 0;
    places[cell] = to | n[k] << 16;
    if (n[k] == 0 || to + n[k] > B::kRoom) continue;
    particles[to] = first[k];
    for (std::uint32_t s = 1; s < n[k]; ++s)
      particles[to + s] = reinterpret_cast<const float4*>(
          spheres + static_cast<std::int64_t>(from[k]) * g.slots)[s];
  }
  __syncthreads();
  double mine = wanted.most;
  const int at[3] = {thread % B::kX, thread / B::kX % B::kY, thread / (B::kX * B::kY)};
  bool is = true;
#pragma unroll
  for (int a = 0; a < D; ++a) is = is && at[a] < own[a];
  if (is && total <= B::kRoom) {
    const int here = at[0] + 1 + B::kAllX * (at[1] + (D == 3 ? 1 : 0) + B::kAllY * at[2]);
    const std::uint32_t of = places[here] & 0xffffu, count = places[here] >> 16;
    for (std::uint32_t s = of; s < of + count; ++s) {
      const float4 p = particles[s];
      const auto look = [&](const float4& q, float x, float y, float z) {
        const float dx = q.x - p.x + x, dy = q.y - p.y + y, dz = D == 3 ? q.z - p.z + z : 0.0f;
        if (fast_fma(dx, dx, fast_fma(dy, dy, dz * dz)) > wanted.farthest2) return;
        const double a = static_cast<double>(dx), b = static_cast<double>(dy),
                     c = static_cast<double>(dz);
        const double ratio = (a * a + b * b + c * c) /
                             contact_of<C>(reference, __float_as_uint(p.w), __float_as_uint(q.w));
        if (ratio < mine) mine = ratio;
      };
      for (std::uint32_t t = of; t < s; ++t) look(particles[t], 0, 0, 0);
      // The cells after the own one, in rows of three along x.
#pragma unroll 1
      for (int row = 0; row < (D == 3 ? 5 : 2); ++row) {
        const int y = row < 2 ? row : row - 3, z = row < 2 ? 0 : 1;
        const std::uint32_t* const its = places + here + B::kAllX * (y + B::kAllY * z);
        const float above = 2.0f * g.half[1] * static_cast<float>(y),
                    behind = D == 3 ? 2.0f * g.half[2] * static_cast<float>(z) : 0.0f;
#pragma unroll
        for (int x = -1; x < 2; ++x) {
          if (row == 0 && x < 1) continue;
          const std::uint32_t begin = its[x] & 0xffffu, end = begin + (its[x] >> 16);
          for (std::uint32_t t = begin; t < end; ++t)
            look(particles[t], 2.0f * g.half[0] * static_cast<float>(x), above, behind);
        }
      }
    }
  } else if (is) {  // too many for the shared memory
    const int cell[3] = {low[0] + at[0], low[1] + at[1], low[2] + at[2]};
    mine = least_ratio_of<D, C, 1>(g, reference, wanted, spheres, counts, cell, 0, mine);
  }
  choose(mine, wanted, outcomes, choice, answer, number);
}

// A thread for each particle of an additive mixture, or for each pair of types. reference:
// diameters or contact distances.
__global__ void rescale_kernel(const double* reference, std::size_t count, int types,
                               const BoxChoice* choice, const Scaled scaled) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count || choice->for_host) return;
  const double unit = choice->scale.unit;
  if (types == 0) {
    scaled.diameters[i] = diameter_in_units(reference[i], unit);
    scaled.labels[i] = radius_in_units(reference[i], unit);
    return;
  }
  const double sigma = reference[i] / unit;
  scaled.contacts[i] = sigma * sigma;
  scaled.sigmas[i] = static_cast<float>(sigma);
  const auto type = static_cast<int>(i / types);
  if (scaled.radii && static_cast<int>(i % types) == type)
    scaled.radii[type] = radius_in_units(reference[i], unit).radius;
}

// A thread for each particle.
__global__ void diameters_kernel(const double* reference, std::size_t particles, double unit,
                                 double* diameters, Label* labels) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= particles) return;
  diameters[i] = diameter_in_units(reference[i], unit);
  labels[i] = radius_in_units(reference[i], unit);
}

// A thread for each cell of the former grid.
__global__ void change_cells_kernel(const __grid_constant__ Geometry from, const Sphere* spheres,
                                    const std::uint32_t* counts, std::int64_t cells,
                                    const __grid_constant__ Geometry to, Sphere* new_spheres,
                                    std::uint32_t* new_counts, unsigned int* corrupt) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= cells) return;
  int cell[3];
  cell_of(from, index, cell);
  for (std::uint32_t s = 0; s < counts[index]; ++s) {
    const Sphere p = spheres[index * from.slots + s];
    const float local[3] = {p.x, p.y, p.z};
    float moved[3] = {0, 0, 0};
    std::int64_t there = 0;
    for (int a = 2; a >= 0; --a) {
      std::int64_t at = 0;
      if (to.cells[a] > 1) {  // an axis of the system, which has at least three cells
        const auto half = static_cast<std::int64_t>(to.half[a]);
        const std::int64_t x = (2 * cell[a] + 1) * static_cast<std::int64_t>(from.half[a]) +
                               static_cast<std::int64_t>(local[a]);
        at = x / (2 * half);
        moved[a] = static_cast<float>(x - (2 * at + 1) * half);
      }
      there = there * to.cells[a] + at;
    }
    const std::uint32_t slot = atomicAdd(new_counts + there, 1u);
    if (slot < static_cast<std::uint32_t>(to.slots))
      new_spheres[there * to.slots + slot] = {moved[0], moved[1], moved[2], p.id};
    else
      *corrupt = 1;
  }
}

using LeastRatioKernel = void (*)(Geometry, Law, LeastRatio, const Sphere*, const std::uint32_t*,
                                  std::int64_t, VolumeOutcomes, BoxChoice*, volatile BoxAnswer*,
                                  unsigned int);
using BrickKernel = void (*)(Geometry, Law, LeastRatio, const Sphere*, const std::uint32_t*, int,
                             VolumeOutcomes, BoxChoice*, volatile BoxAnswer*, unsigned int);
template <int D>
LeastRatioKernel least_ratio_in(Contact contact) {
  return contact == Contact::one_size   ? &least_ratio_kernel<D, Contact::one_size>
         : contact == Contact::additive ? &least_ratio_kernel<D, Contact::additive>
                                        : &least_ratio_kernel<D, Contact::table>;
}
template <int D>
BrickKernel bricks_in(Contact contact) {
  return contact == Contact::one_size   ? &brick_kernel<D, Contact::one_size>
         : contact == Contact::additive ? &brick_kernel<D, Contact::additive>
                                        : &brick_kernel<D, Contact::table>;
}

}  // namespace

BoxMoves::BoxMoves(const State& s, cudaStream_t stream)
    : contacts_(on_device(s.lattice.contacts, stream)),
      sigmas_(on_device(s.parameters.contacts, stream)),
      choice_(1) {
  const BoxChoice none{kNoRatio, 0, 0, scale_of(s)};
  choice_.upload(&none, stream);
}

void BoxMoves::begin(State& s, const double* diameters, const Scaled& scaled, const Sphere* spheres,
                     const std::uint32_t* counts, cudaStream_t stream) {
  const LeastRatio wanted = least_ratio_wanted(s);
  // Ranks decide together, on the host.
  const VolumeOutcomes outcomes = s.ranks ? VolumeOutcomes{} : foretell_volume(s, wanted.most);
  Law reference = reference_law(s);
  reference.labels = scaled.labels;
  reference.diameters = diameters;
  reference.contacts = contacts_.data();
  const Geometry g = s.local();
  const Contact contact = s.distances.contact;
  if (wanted.range == 1) {
    const int D = s.dimensions();
    unsigned bricks = 1;
    for (int a = 0; a < D; ++a) {
      const int cells = a == D - 1 ? s.rows() : g.cells[a];
      bricks *=
          static_cast<unsigned>(D == 2 ? Brick<2>::bricks(cells, a) : Brick<3>::bricks(cells, a));
    }
    const auto kernel = D == 2 ? bricks_in<2>(contact) : bricks_in<3>(contact);
    launch_kernel(kernel, bricks, D == 2 ? Brick<2>::kOwn : Brick<3>::kOwn, 0, stream,
                  !s.ranks && waits_for_former_kernel(kernel), g, reference, wanted, spheres,
                  counts, s.rows(), outcomes, choice_.data(), answer_.get(), ++number_);
  } else {
    const std::size_t cells = s.row_cells() * static_cast<std::size_t>(s.rows());
    const auto kernel =
        s.dimensions() == 2 ? least_ratio_in<2>(contact) : least_ratio_in<3>(contact);
    kernel<<<blocks(cells * kLanes), kThreads, 0, stream>>>(
        g, reference, wanted, spheres, counts, static_cast<std::int64_t>(cells), outcomes,
        choice_.data(), answer_.get(), ++number_);
  }
  check_launch();
  begun_ = true;
  if (s.distances.contact == Contact::one_size) return;
  const bool additive = s.distances.contact == Contact::additive;
  const std::size_t count = additive ? s.particles : sigmas_.size();
  rescale_kernel<<<blocks(count), kThreads, 0, stream>>>(additive ? diameters : sigmas_.data(),
                                                         count, additive ? 0 : reference.types,
                                                         choice_.data(), scaled);
  check_launch();
}

BoxAnswer BoxMoves::end(cudaStream_t stream) {
  const volatile BoxAnswer* const answer = answer_.get();
  for (unsigned int look = 1; answer->number != number_; ++look) {
    if (look % 4096 != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) check(status, "box move");
    if (status == cudaSuccess && answer->number != number_)
      throw std::runtime_error("CUDA: a box move has left no answer");
  }
  begun_ = false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return *answer_;
}

void BoxMoves::fill_diameters(const double* reference, std::size_t particles, double unit,
                              double* diameters, Label* labels, cudaStream_t stream) {
  diameters_kernel<<<blocks(particles), kThreads, 0, stream>>>(reference, particles, unit,
                                                               diameters, labels);
  check_launch();
}

void BoxMoves::change_cells(const Geometry& from, const Sphere* spheres,
                            const std::uint32_t* counts, const Geometry& to, Sphere* new_spheres,
                            std::uint32_t* new_counts, unsigned int* corrupt, cudaStream_t stream) {
  check(cudaMemsetAsync(new_counts, 0, cells_in(to) * sizeof(std::uint32_t), stream), "clear");
  change_cells_kernel<<<blocks(cells_in(from)), kThreads, 0, stream>>>(
      from, spheres, counts, static_cast<std::int64_t>(cells_in(from)), to, new_spheres, new_counts,
      corrupt);
  check_launch();
}

}  // namespace manymove::hard_particles::spheres
