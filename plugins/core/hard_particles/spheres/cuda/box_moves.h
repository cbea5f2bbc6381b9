// SPDX-License-Identifier: BSD-3-Clause
// Constant pressure on a GPU: what a trial change of the volume needs of the particles, and their
// cells after it.
#pragma once

#include <memory>

#include "../../../runtime/device.cuh"
#include "../state.h"

namespace manymove::hard_particles::spheres {

// All calls need the engine's device and work in the order of its stream.
class BoxMoves {
 public:
  BoxMoves(const State& state, cudaStream_t stream);

  // The ratio that least_ratio_wanted() of volume.h asks for; waits for it. reference: the
  // diameters of particles in the caller's unit. Cells are from this rank's first on, and after the
  // last those of two rows of the next rank.
  double least_ratio(const State& state, const double* reference, const Label* labels,
                     const Sphere* spheres, const std::uint32_t* counts, cudaStream_t stream);
  // The diameters of an additive mixture in the integer units of a new volume.
  static void fill_diameters(const double* reference, std::size_t particles, double unit,
                             double* diameters, Label* labels, cudaStream_t stream);
  // Puts the particles of one grid into the cells of another with the same lattice, in any order
  // within a cell. A cell without room sets `corrupt`.
  static void change_cells(const Geometry& from, const Sphere* spheres, const std::uint32_t* counts,
                           const Geometry& to, Sphere* new_spheres, std::uint32_t* new_counts,
                           unsigned int* corrupt, cudaStream_t stream);

 private:
  DeviceBuffer<double> contacts_;           // of types, squared, in the caller's unit
  DeviceBuffer<unsigned long long> least_;  // the bits of a positive float64
};

}  // namespace manymove::hard_particles::spheres
