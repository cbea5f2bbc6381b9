// SPDX-License-Identifier: BSD-3-Clause
#include "core/hard_particles/packing.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

namespace nb = nanobind;

void bind_packing(nb::module_& module) {
  using Positions = nb::ndarray<double, nb::numpy, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
  module.def(
      "relax_overlaps",
      [](Positions positions, std::pair<double, double> box, double diameter,
         std::size_t max_iterations) {
        const auto [lx, ly] = box;
        if (!(diameter > 0) || !(lx >= diameter) || !(ly >= diameter) || !std::isfinite(lx) ||
            !std::isfinite(ly))
          throw std::invalid_argument("relax_overlaps: needs finite box edges >= diameter > 0");
        if (positions.shape(0) > 4'000'000'000u)
          throw std::invalid_argument("relax_overlaps: more than 4e9 disks");
        for (std::size_t i = 0; i < positions.shape(0); ++i)
          if (!std::isfinite(positions(i, 0)) || !std::isfinite(positions(i, 1)))
            throw std::invalid_argument("relax_overlaps: position is not finite");
        manymove::hard_particles::Relaxation result;
        {
          nb::gil_scoped_release release;
          result = manymove::hard_particles::relax_overlaps(positions.data(), positions.shape(0),
                                                            lx, ly, diameter, max_iterations);
        }
        return std::make_pair(result.iterations, result.worst_depth);
      },
      nb::arg("positions").noconvert(), nb::arg("box"), nb::arg("diameter"),
      nb::arg("max_iterations"),
      "Push overlapping disks apart, in place, until no pair is closer than the diameter.\n\n"
      "positions: float64[N, 2], C-contiguous; box: (Lx, Ly), periodic, centered on the origin.\n"
      "Returns (passes made, deepest overlap left in diameters).");
}
