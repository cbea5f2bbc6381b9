// SPDX-License-Identifier: BSD-3-Clause
#include "box_moves.h"

#include "../volume.h"

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

// A thread for each cell. Positive numbers are in the order of their bits.
template <int D, Contact C>
__global__ void least_ratio_kernel(const __grid_constant__ Geometry g,
                                   const __grid_constant__ Law reference, const LeastRatio wanted,
                                   const Sphere* spheres, const std::uint32_t* counts,
                                   std::int64_t cells, unsigned long long* least) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  double mine = wanted.most;
  if (index < cells) {
    int cell[3];
    cell_of(g, index, cell);
    mine = least_ratio_of<D, C>(g, reference, wanted, spheres, counts, cell, mine);
  }
  for (int lane = 16; lane > 0; lane /= 2) mine = fmin(mine, __shfl_down_sync(~0u, mine, lane));
  if (threadIdx.x % 32 == 0 && mine < wanted.most)
    atomicMin(least, static_cast<unsigned long long>(__double_as_longlong(mine)));
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

template <int D, class... Arguments>
void launch_least_ratio(Contact contact, unsigned blocks, cudaStream_t stream,
                        Arguments... arguments) {
  const auto kernel = contact == Contact::one_size   ? &least_ratio_kernel<D, Contact::one_size>
                      : contact == Contact::additive ? &least_ratio_kernel<D, Contact::additive>
                                                     : &least_ratio_kernel<D, Contact::table>;
  kernel<<<blocks, kThreads, 0, stream>>>(arguments...);
}

}  // namespace

BoxMoves::BoxMoves(const State& s, cudaStream_t stream)
    : contacts_(on_device(s.lattice.contacts, stream)), least_(1) {}

double BoxMoves::least_ratio(const State& s, const double* diameters, const Label* labels,
                             const Sphere* spheres, const std::uint32_t* counts,
                             cudaStream_t stream) {
  const LeastRatio wanted = least_ratio_wanted(s);
  Law reference = reference_law(s);
  reference.labels = labels;
  reference.diameters = diameters;
  reference.contacts = contacts_.data();
  auto bits = bits_of(wanted.most);
  static_assert(sizeof bits == sizeof(unsigned long long));
  copy_in(least_.data(), &bits, sizeof bits, stream);
  const std::size_t here = s.row_cells() * static_cast<std::size_t>(s.rows());
  const auto cells = static_cast<std::int64_t>(here);
  const auto launch =
      s.dimensions() == 2
          ? &launch_least_ratio<2, Geometry, Law, LeastRatio, const Sphere*, const std::uint32_t*,
                                std::int64_t, unsigned long long*>
          : &launch_least_ratio<3, Geometry, Law, LeastRatio, const Sphere*, const std::uint32_t*,
                                std::int64_t, unsigned long long*>;
  launch(s.distances.contact, blocks(here), stream, s.local(), reference, wanted, spheres, counts,
         cells, least_.data());
  check_launch();
  least_.download(reinterpret_cast<unsigned long long*>(&bits), stream);
  return as_double(bits);
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
