// SPDX-License-Identifier: BSD-3-Clause
#include "core/hard_particles/engine.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>

#include <cmath>

#include "core/hard_particles/packing.h"
#include "hard_particle_engine.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace manymove::hard_particles;
using namespace manymove::bindings;

namespace {

Parameters parameters_from(const nb::dict& d) {
  Parameters p;
  const auto box = nb::cast<std::array<double, 2>>(d["box"]);
  p.box[0] = box[0];
  p.box[1] = box[1];
  p.diameter = nb::cast<double>(d["diameter"]);
  p.max_displacement = nb::cast<double>(d["max_displacement"]);
  p.cell_width = nb::cast<double>(d["cell_width"]);
  p.moves_per_cell = nb::cast<int>(d["moves_per_cell"]);
  p.rounds = nb::cast<int>(d["rounds"]);
  p.tile = nb::cast<int>(d["tile"]);
  p.shuffle_particles = nb::cast<bool>(d["shuffle_particles"]);
  p.shuffle_sets = nb::cast<bool>(d["shuffle_sets"]);
  p.shift_along_axis = nb::cast<bool>(d["shift_along_axis"]);
  p.seed = nb::cast<std::uint64_t>(d["seed"]);
  p.first_cycle = nb::cast<std::uint64_t>(d["first_cycle"]);
  p.repair_depth = nb::cast<double>(d["repair_depth"]);
  return p;
}

nb::dict grid_dict(const Engine& engine) {
  const Grid g = engine.grid();
  nb::dict d;
  d["cells"] = nb::make_tuple(g.cells[0], g.cells[1]);
  d["cell_width"] = nb::make_tuple(g.cell_width[0], g.cell_width[1]);
  d["tiles"] = nb::make_tuple(g.tiles[0], g.tiles[1]);
  d["tile"] = g.tile;
  d["moves_per_cell"] = g.moves_per_cell;
  d["rounds"] = g.rounds;
  d["max_displacement"] = g.max_displacement;
  d["unit"] = g.unit;
  return d;
}

nb::dict dict_of(Snapshot s, std::size_t) {
  nb::dict d;
  d["counters"] = counters_tuple(s.counters);
  d["origin"] = nb::make_tuple(s.origin[0], s.origin[1]);
  d["cells"] = array_of(std::move(s.cells));
  d["ids"] = array_of(std::move(s.ids));
  return d;
}

Snapshot snapshot_from(const nb::dict& d) {
  Snapshot s;
  s.counters = counters_from(d);
  s.origin = nb::cast<std::array<std::int64_t, 2>>(d["origin"]);
  s.cells = vector_from<float>(d["cells"]);
  s.ids = vector_from<std::int32_t>(d["ids"]);
  return s;
}

struct Disks {
  using Engine = manymove::hard_particles::Engine;
  using Parameters = manymove::hard_particles::Parameters;
  using Snapshot = manymove::hard_particles::Snapshot;
  static constexpr auto parameters_from = ::parameters_from;
  static constexpr auto snapshot_from = ::snapshot_from;
  static constexpr auto dict_of = ::dict_of;
  static constexpr auto grid_dict = ::grid_dict;
  static std::size_t dimensions(const Parameters&) { return 2; }
};

}  // namespace

void bind_hard_disks(nb::module_& module) {
  module.def(
      "count_overlaps",
      [](const nb::object& positions, std::array<double, 2> box, double diameter) {
        const auto input = read_positions(positions, 2);
        nb::gil_scoped_release release;
        return count_overlaps(input.data, input.count, box.data(), diameter);
      },
      "positions"_a, "box"_a, "diameter"_a,
      "Pairs of disks closer than a diameter; positions are float (N, 2).");
  nb::class_<Engine> engine(module, "HardDisks",
                            "The engine behind manymove.HardDisks; its documentation is there.");
  bind_engine<Disks>(engine);
  engine.def(
      "bond_order",
      [](const Engine& e, double reach) {
        const auto psi = released([&] { return e.bond_order(reach); });
        return std::make_pair(psi[0], psi[1]);
      },
      "reach"_a);

  using Written = nb::ndarray<double, nb::numpy, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
  module.def(
      "relax_overlaps",
      [](Written positions, std::pair<double, double> box, double diameter,
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
        const Relaxation result = released([&] {
          return relax_overlaps(positions.data(), positions.shape(0), lx, ly, diameter,
                                max_iterations);
        });
        return std::make_pair(result.iterations, result.worst_depth);
      },
      nb::arg("positions").noconvert(), nb::arg("box"), nb::arg("diameter"),
      nb::arg("max_iterations"),
      "Push overlapping disks apart, in place, until no pair is closer than the diameter.\n\n"
      "positions: float64[N, 2], C-contiguous; box: (Lx, Ly), periodic, centered on the origin.\n"
      "Returns (passes made, deepest overlap left in diameters).");
}
