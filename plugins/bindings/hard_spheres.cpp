// SPDX-License-Identifier: BSD-3-Clause
#include "core/hard_particles/particles_engine_interface.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

#include "hard_particle_engine.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace manymove::hard_particles::spheres;
using namespace manymove::bindings;

namespace {

// An array that may be missing or None; with two dimensions it is square.
template <class T, int Dimensions = 1>
std::vector<T> optional_array(const nb::dict& d, const char* name) {
  if (!d.contains(name) || d[name].is_none()) return {};
  nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu> a;
  if (!nb::try_cast(d[name], a))
    throw nb::type_error((std::string(name) + " must be a C-contiguous array of numbers with " +
                          (Dimensions == 1 ? "one dimension" : "two dimensions"))
                             .c_str());
  if (Dimensions == 2 && a.shape(0) != a.shape(1))
    throw std::invalid_argument(std::string(name) + " must be square");
  return {a.data(), a.data() + a.size()};
}

// One width for all axes, or one for each.
std::array<int, 3> widths(const nb::handle& given, int dimensions) {
  std::array<int, 3> all{};
  int one = 0;
  if (nb::try_cast(given, one)) {
    all.fill(one);
    return all;
  }
  const auto each = nb::cast<std::vector<int>>(given);
  if (each.size() != static_cast<std::size_t>(dimensions))
    throw std::invalid_argument("tile must have one width or " + std::to_string(dimensions) +
                                ", got " + std::to_string(each.size()));
  std::copy(each.begin(), each.end(), all.begin());
  return all;
}

Parameters parameters_from(const nb::dict& d) {
  Parameters p;
  const auto box = nb::cast<std::vector<double>>(d["box"]);
  if (box.size() != 2 && box.size() != 3)
    throw std::invalid_argument("box must have two or three edges, got " +
                                std::to_string(box.size()));
  p.dimensions = static_cast<int>(box.size());
  std::copy(box.begin(), box.end(), p.box);
  if (d.contains("diameter") && !d["diameter"].is_none())
    p.diameter = nb::cast<double>(d["diameter"]);
  p.diameters = optional_array<double>(d, "diameters");
  p.types = optional_array<std::int32_t>(d, "types");
  p.contacts = optional_array<double, 2>(d, "contacts");
  p.max_displacement = nb::cast<double>(d["max_displacement"]);
  p.cell_width = nb::cast<double>(d["cell_width"]);
  p.moves_per_cell = nb::cast<int>(d["moves_per_cell"]);
  p.rounds = nb::cast<int>(d["rounds"]);
  p.tile = widths(d["tile"], p.dimensions);
  p.seed = nb::cast<std::uint64_t>(d["seed"]);
  p.first_cycle = nb::cast<std::uint64_t>(d["first_cycle"]);
  p.repair_depth = nb::cast<double>(d["repair_depth"]);
  if (d.contains("swap_rounds")) {
    p.swap_rounds = nb::cast<int>(d["swap_rounds"]);
    p.swap_every = nb::cast<int>(d["swap_every"]);
    p.swap_range = nb::cast<double>(d["swap_range"]);
  }
  if (d.contains("beta_pressure")) {
    p.beta_pressure = nb::cast<double>(d["beta_pressure"]);
    p.ln_volume = nb::cast<bool>(d["ln_volume"]);
    p.edges_apart = d.contains("edges_apart") && nb::cast<bool>(d["edges_apart"]);
    p.volume_delta = nb::cast<double>(d["volume_delta"]);
    if (d.contains("edge_shares")) {
      const auto shares = nb::cast<std::vector<double>>(d["edge_shares"]);
      if (shares.size() != box.size())
        throw std::invalid_argument("edge_shares: one for each edge");
      std::copy(shares.begin(), shares.end(), p.edge_shares);
    }
    p.volume_repeats = nb::cast<int>(d["volume_repeats"]);
    p.volume_every = nb::cast<int>(d["volume_every"]);
  }
  return p;
}

template <class T>
nb::tuple axes(const T* values, std::size_t dimensions) {
  return dimensions == 2 ? nb::make_tuple(values[0], values[1])
                         : nb::make_tuple(values[0], values[1], values[2]);
}

nb::dict grid_dict(const Engine& engine) {
  const Grid g = engine.grid();
  const auto dimensions = static_cast<std::size_t>(g.dimensions);
  nb::dict d;
  d["cells"] = axes(g.cells, dimensions);
  d["cell_width"] = axes(g.cell_width, dimensions);
  d["tiles"] = axes(g.tiles, dimensions);
  const bool cubes = std::equal(g.tile + 1, g.tile + dimensions, g.tile);
  d["tile"] = cubes ? nb::cast(g.tile[0]) : nb::object(axes(g.tile, dimensions));
  d["moves_per_cell"] = g.moves_per_cell;
  d["rounds"] = g.rounds;
  d["slots"] = g.slots;
  d["max_displacement"] = g.max_displacement;
  d["unit"] = g.unit;
  d["box"] = axes(g.box, dimensions);
  d["volume_delta"] = g.volume_delta;
  d["largest_volume_delta"] = g.largest_volume_delta;
  d["volume_repeats"] = g.volume_repeats;
  d["volume_every"] = g.volume_every;
  return d;
}

nb::dict dict_of(Snapshot s, std::size_t dimensions) {
  nb::dict d;
  d["counters"] = counters_tuple(s.counters);
  d["origin"] = axes(s.origin.data(), dimensions);
  d["places"] = array_of(std::move(s.places));
  d["volume"] = nb::make_tuple(s.volume, s.volume_trials, s.volume_accepted);
  d["extent"] = nb::make_tuple(s.extent[0], s.extent[1], s.extent[2]);
  if (!s.diameters.empty()) {
    d["diameters"] = array_of(std::move(s.diameters));
    d["swaps"] = nb::make_tuple(s.swap_trials, s.swap_accepted);
  }
  return d;
}

Snapshot snapshot_from(const nb::dict& d) {
  Snapshot s;
  s.counters = counters_from(d);
  const auto origin = nb::cast<std::vector<std::int64_t>>(d["origin"]);
  if (origin.size() != 2 && origin.size() != 3) throw std::bad_cast();
  std::copy(origin.begin(), origin.end(), s.origin.begin());
  s.places = vector_from<std::int64_t>(d["places"]);
  if (d.contains("swaps"))
    std::tie(s.swap_trials, s.swap_accepted) =
        nb::cast<std::tuple<std::uint64_t, std::uint64_t>>(d["swaps"]);
  if (d.contains("extent")) s.extent = nb::cast<std::array<std::int64_t, 3>>(d["extent"]);
  if (d.contains("volume"))
    std::tie(s.volume, s.volume_trials, s.volume_accepted) =
        nb::cast<std::tuple<double, std::uint64_t, std::uint64_t>>(d["volume"]);
  return s;
}

struct Spheres {
  using Engine = manymove::hard_particles::spheres::Engine;
  using Parameters = manymove::hard_particles::spheres::Parameters;
  using Snapshot = manymove::hard_particles::spheres::Snapshot;
  static constexpr auto parameters_from = ::parameters_from;
  static constexpr auto snapshot_from = ::snapshot_from;
  static constexpr auto dict_of = ::dict_of;
  static constexpr auto grid_dict = ::grid_dict;
  static std::size_t dimensions(const Parameters& p) {
    return static_cast<std::size_t>(p.dimensions);
  }
};

}  // namespace

void bind_hard_spheres(nb::module_& module) {
  nb::class_<Engine> engine(
      module, "HardSpheres",
      "The engine behind manymove.HardSpheres and mixtures of disks. positions: float (N, D). "
      "parameters: box (D edges); diameter, or diameters (float64 N), or types (int32 N) and "
      "contacts (float64 T by T), where the others are missing or None; max_displacement, "
      "cell_width, moves_per_cell, rounds, tile (0: chosen); seed, first_cycle, repair_depth; at "
      "constant pressure beta_pressure, ln_volume, edges_apart, volume_delta, edge_shares, "
      "volume_repeats, volume_every (0: chosen); for swap moves swap_rounds, swap_every, "
      "swap_range (0: any).");
  bind_engine<Spheres>(engine);
  engine.def("set_volume_sampling", &Engine::set_volume_sampling, "record"_a)
      .def(
          "take_volumes",
          [](Engine& e) {
            std::vector<std::uint64_t> cycles;
            auto rows = e.take_volumes(cycles);
            return nb::make_tuple(array_of(std::move(rows)), array_of(std::move(cycles)));
          },
          "float64 [rows][3], flat, the means of V, V^2 and 1/V, and the cycles at which rows "
          "ended.")
      .def_prop_ro("volume_counters",
                   [](const Engine& e) {
                     const TrialCounters c = e.volume_counters();
                     return nb::make_tuple(c.trials, c.accepted);
                   })
      .def(
          "diameters",
          [](const Engine& e) { return array_of(released([&] { return e.diameters(); })); },
          "With swap moves the present diameters, float64 (N).")
      .def_prop_ro("swap_counters",
                   [](const Engine& e) {
                     const TrialCounters c = e.swap_counters();
                     return nb::make_tuple(c.trials, c.accepted);
                   })
      .def("set_type_diameters", &Engine::set_type_diameters, "diameters"_a,
           "With swap moves, the diameters of a host program's particle types.");
  engine.def_static(
      "count_overlaps",
      [](nb::object positions, const std::vector<double>& box, const Column<double>& diameters) {
        const auto input = read_positions(positions, box.size());
        Parameters p;
        p.dimensions = static_cast<int>(box.size());
        std::copy_n(box.begin(), std::min<std::size_t>(3, box.size()), p.box);
        p.diameters.assign(diameters.data(), diameters.data() + diameters.size());
        const nb::gil_scoped_release release;
        return count_overlaps(input.data, input.count, p);
      },
      "positions"_a, "box"_a, "diameters"_a,
      "Number of pairs closer than the mean of their diameters. positions: float (N, D).");
}
