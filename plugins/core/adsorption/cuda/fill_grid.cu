// SPDX-License-Identifier: BSD-3-Clause
// The grids of the framework on a GPU. Each point adds up the atoms in the order in which
// molecules/cpu/kernels.cpp does, and this file is compiled without contraction into fma, so that
// the grid has the same bits.
#include "fill_grid.cuh"

#include <utility>
#include <vector>

#include "../../runtime/device.cuh"

namespace manymove::adsorption {
namespace {

constexpr int kPointsOfBlock = 128;
constexpr std::size_t kPointsOfLaunch = 1u << 22;  // between two looks at an interruption

// A thread has a point of the grid: of a type's Lennard-Jones energies, or of the potential.
template <bool Potential>
__global__ void __launch_bounds__(kPointsOfBlock)
    grid_kernel(const __grid_constant__ FrameworkAtoms atoms, const GridRow* rows,
                std::size_t first, std::size_t end, int type, double* values) {
  const std::size_t point = first + static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (point >= end) return;
  const auto length = static_cast<std::size_t>(rows[0].points);
  const GridRow row = rows[point / length];
  const double x = row.start + static_cast<double>(point % length) * row.spacing;
  double sum = 0;
  for (std::size_t i = 0; i < atoms.count; ++i) {
    const ChargedImage a = atoms.images[i];
    const double dy = row.y - a.y, dz = row.z - a.z, across = dz * dz + dy * dy;
    // Nearly all threads of a warp have the same row, and skip the same atoms.
    if (!(across < atoms.cutoff2)) continue;
    if constexpr (Potential) {
      const double dx = x - a.x, r2 = dx * dx + across;
      if (a.charge != 0 && r2 < atoms.cutoff2) sum += a.charge * image_potential(atoms.alpha, r2);
    } else {
      const PairLaw<double>& law = atoms.laws[a.kind * atoms.types + type];
      if (law.repulsion != 0) sum += image_energy(law, a.x, a.y, a.z, x, row.y, row.z);
    }
  }
  values[point] = sum;
}

}  // namespace

void fill_grid_on_device(State& s, cudaStream_t stream, const Poll& poll) {
  if (!s.has_framework() || enter_shared_grid(s)) return;
  const std::array<int, 3>& n = s.parameters.grid;
  const std::size_t values = s.grid_values();
  std::vector<GridRow> rows;
  for (int z = 0; z < n[2]; ++z)
    for (int y = 0; y < n[1]; ++y) rows.push_back(grid_row(s, y, z));
  const auto device_rows = on_device(rows, stream, Memory::pool);
  const auto images = on_device(s.atoms, stream, Memory::pool);
  const auto laws = on_device(s.atom_laws, stream, Memory::pool);
  FrameworkAtoms atoms = framework_atoms(s);
  atoms.images = images.data();
  atoms.laws = laws.data();
  DeviceBuffer<double> device(values, Memory::pool);
  const auto fill = [&](auto kernel, int type, double* host) {
    for (std::size_t first = 0; first < values; first += kPointsOfLaunch) {
      const std::size_t end = std::min(values, first + kPointsOfLaunch);
      kernel<<<static_cast<unsigned>(blocks_for(end - first, kPointsOfBlock)), kPointsOfBlock, 0,
               stream>>>(atoms, device_rows.data(), first, end, type, device.data());
      check_launch();
      check(cudaStreamSynchronize(stream), "kernel");
      poll();
    }
    device.download(host, stream);
  };
  std::vector<double> energies(values * s.types()), potential(s.felt_charges ? values : 0);
  for (int t = 0; t < s.types(); ++t) fill(&grid_kernel<false>, t, energies.data() + t * values);
  if (s.felt_charges) fill(&grid_kernel<true>, 0, potential.data());
  finish_grid(s, std::move(energies), std::move(potential), poll);
}

}  // namespace manymove::adsorption
