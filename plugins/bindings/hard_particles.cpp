// SPDX-License-Identifier: BSD-3-Clause
#include "core/hard_particles/engine.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "core/hard_particles/packing.h"
#include "positions.h"

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

// Addresses, as array interfaces give them.
HostParticles host_particles(std::uintptr_t position, bool double_precision, std::uintptr_t image,
                             std::uintptr_t index, std::uintptr_t tag) {
  return {reinterpret_cast<void*>(position), double_precision,
          reinterpret_cast<std::int32_t*>(image), reinterpret_cast<const std::uint32_t*>(index),
          reinterpret_cast<const std::uint32_t*>(tag)};
}

template <auto Method>
auto with_host_particles() {
  return [](Engine& e, std::uintptr_t position, bool double_precision, std::uintptr_t image,
            std::uintptr_t index, std::uintptr_t tag) {
    return (e.*Method)(host_particles(position, double_precision, image, index, tag));
  };
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

nb::tuple counters_tuple(const Counters& c) {
  return nb::make_tuple(c.cycles, c.trial_moves, c.accepted_moves);
}

nb::dict dict_of(Snapshot s) {
  nb::dict d;
  d["counters"] = counters_tuple(s.counters);
  d["origin"] = nb::make_tuple(s.origin[0], s.origin[1]);
  d["cells"] = array_of(std::move(s.cells));
  d["ids"] = array_of(std::move(s.ids));
  return d;
}

nb::dict snapshot_dict(const Engine& engine) {
  return dict_of(released([&] { return engine.snapshot(); }));
}

Snapshot snapshot_from(const nb::dict& d) {
  Snapshot s;
  const auto c = nb::cast<std::array<std::uint64_t, 3>>(d["counters"]);
  s.counters = {c[0], c[1], c[2]};
  s.origin = nb::cast<std::array<std::int64_t, 2>>(d["origin"]);
  s.cells = vector_from<float>(d["cells"]);
  s.ids = vector_from<std::int32_t>(d["ids"]);
  return s;
}

}  // namespace

void bind_hard_disks(nb::module_& module) {
  nb::exception<OverlapError>(module, "OverlapError", PyExc_ValueError);
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
  engine
      .def_static(
          "from_positions",
          [](nb::object positions, const nb::dict& parameters, const std::string& device,
             int threads) {
            const auto input = read_positions(positions, 2);
            const Parameters p = parameters_from(parameters);
            nb::gil_scoped_release release;
            return make_engine(input.data, input.count, p, device, threads);
          },
          "positions"_a, "parameters"_a, "device"_a, "threads"_a)
      .def_static(
          "from_snapshot",
          [](const nb::dict& snapshot, std::size_t particles, const nb::dict& parameters,
             const std::string& device, int threads) {
            const auto [s, p] =
                checkpoint_from(snapshot, parameters, &snapshot_from, &parameters_from);
            nb::gil_scoped_release release;
            return make_engine(s, particles, p, device, threads);
          },
          "snapshot"_a, "particles"_a, "parameters"_a, "device"_a, "threads"_a)
      .def_static(
          "of_ranks",
          [](const nb::object& whole, std::size_t particles, const nb::dict& parameters,
             const std::string& device, int threads, manymove::Communicator& ranks,
             const std::string& transport) {
            const Parameters p = parameters_from(parameters);
            const Snapshot s =
                whole.is_none() ? Snapshot{} : snapshot_from(nb::cast<nb::dict>(whole));
            nb::gil_scoped_release release;
            return make_engine(&s, particles, p, device, threads, ranks, transport);
          },
          "whole"_a.none(), "particles"_a, "parameters"_a, "device"_a, "threads"_a, "ranks"_a,
          "transport"_a, nb::keep_alive<0, 6>())
      .def_static(
          "first_snapshot",
          [](nb::object positions, const nb::dict& parameters) {
            const auto input = read_positions(positions, 2);
            const Parameters p = parameters_from(parameters);
            Repair repair;
            Snapshot s =
                released([&] { return make_snapshot(input.data, input.count, p, repair); });
            return nb::make_tuple(dict_of(std::move(s)), input.count,
                                  nb::make_tuple(repair.count, repair.depth));
          },
          "positions"_a, "parameters"_a)
      .def_static(
          "check_snapshot",
          [](const nb::dict& snapshot, std::size_t particles, const nb::dict& parameters) {
            const auto [s, p] =
                checkpoint_from(snapshot, parameters, &snapshot_from, &parameters_from);
            nb::gil_scoped_release release;
            check_snapshot(s, particles, p);
          },
          "snapshot"_a, "particles"_a, "parameters"_a)
      .def("run", &Engine::run, "cycles"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "set_sampling",
          [](Engine& e, double bin_width, int bins, std::uint64_t every, std::uint64_t record) {
            e.set_sampling({bin_width, bins, every, record});
          },
          "bin_width"_a, "bins"_a, "every"_a, "record"_a)
      .def("take_rows",
           [](Engine& e) {
             std::vector<std::uint64_t> cycles;
             auto rows = released([&] { return e.take_rows(cycles); });
             return nb::make_tuple(array_of(std::move(rows)), array_of(std::move(cycles)));
           })
      .def(
          "enqueue",
          [](Engine& e, std::uint64_t cycles, std::uintptr_t position, bool double_precision,
             std::uintptr_t image, std::uintptr_t index, std::uintptr_t tag) {
            e.enqueue(cycles, host_particles(position, double_precision, image, index, tag));
          },
          "cycles"_a, "position"_a, "double_precision"_a, "image"_a, "index"_a, "tag"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("cycles_between_writes", &Engine::cycles_between_writes)
      .def(
          "contact_histogram",
          [](const Engine& e, double bin_width, int bins) {
            return array_of(released([&] { return e.contact_histogram(bin_width, bins); }));
          },
          "bin_width"_a, "bins"_a)
      .def_prop_ro("counters", [](const Engine& e) { return counters_tuple(e.counters()); })
      .def_prop_ro("grid", &grid_dict)
      .def_prop_ro(
          "repair",
          [](const Engine& e) { return nb::make_tuple(e.repair().count, e.repair().depth); })
      .def_prop_ro("particles", &Engine::particles)
      .def("occupied", &Engine::occupied, nb::call_guard<nb::gil_scoped_release>())
      .def("positions",
           [](const Engine& e) {
             std::vector<double> xy(2 * e.particles());
             released([&] { e.positions(xy.data()); });
             return array_of(std::move(xy));
           })
      .def(
          "bond_order",
          [](const Engine& e, double reach) {
            const auto psi = released([&] { return e.bond_order(reach); });
            return std::make_pair(psi[0], psi[1]);
          },
          "reach"_a)
      .def("max_overlap", &Engine::max_overlap, nb::call_guard<nb::gil_scoped_release>())
      .def("state_hash", &Engine::state_hash, nb::call_guard<nb::gil_scoped_release>())
      .def("snapshot", &snapshot_dict);
  const auto host_method = [&](const char* name, auto method) {
    engine.def(name, method, "position"_a, "double_precision"_a, "image"_a, "index"_a, "tag"_a,
               nb::call_guard<nb::gil_scoped_release>());
  };
  host_method("same_positions", with_host_particles<&Engine::same_positions>());
  host_method("write_positions", with_host_particles<&Engine::write_positions>());

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
