// SPDX-License-Identifier: BSD-3-Clause
#include "row_diameters.h"

namespace manymove::hard_particles {
namespace {

constexpr int kThreads = 128;

unsigned blocks(std::size_t threads) {
  return static_cast<unsigned>(blocks_for(threads, std::size_t{kThreads}));
}

// Both kernels have a thread for each cell.
__global__ void pack_kernel(const StoredCells cells, std::size_t number, const double* reference) {
  const std::size_t cell = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (cell >= number) return;
  const StoredCells mine = cells.from(cell);
  for (std::uint32_t s = 0; s < *mine.counts; ++s)
    mine.diameters[s] = reference[mine.spheres[s].id];
}

__global__ void take_kernel(const StoredCells cells, std::size_t number, double unit,
                            const SwappedDiameters of) {
  const std::size_t cell = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (cell >= number) return;
  const StoredCells mine = cells.from(cell);
  for (std::uint32_t s = 0; s < *mine.counts; ++s) {
    const std::uint32_t id = mine.spheres[s].id;
    of.reference[id] = mine.diameters[s];
    of.diameters[id] = diameter_in_units(mine.diameters[s], unit);
    of.labels[id] = radius_in_units(mine.diameters[s], unit);
  }
}

}  // namespace

void pack_diameters(const StoredCells& cells, std::size_t number, const double* reference,
                    cudaStream_t stream) {
  if (number == 0) return;
  pack_kernel<<<blocks(number), kThreads, 0, stream>>>(cells, number, reference);
  check_launch();
}

void take_diameters(const StoredCells& cells, std::size_t number, double unit,
                    const SwappedDiameters& of, cudaStream_t stream) {
  if (number == 0) return;
  take_kernel<<<blocks(number), kThreads, 0, stream>>>(cells, number, unit, of);
  check_launch();
}

}  // namespace manymove::hard_particles
