// SPDX-License-Identifier: BSD-3-Clause
// What the engines of disks and spheres have in common.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "core/hard_particles/engine.h"
#include "host_particles.h"
#include "positions.h"

namespace manymove::bindings {

inline nb::tuple counters_tuple(const hard_particles::Counters& c) {
  return nb::make_tuple(c.cycles, c.trial_moves, c.accepted_moves);
}
inline hard_particles::Counters counters_from(const nb::dict& d) {
  const auto c = nb::cast<std::array<std::uint64_t, 3>>(d["counters"]);
  return {c[0], c[1], c[2]};
}

// System has the types Engine, Parameters and Snapshot, and parameters_from(dict),
// snapshot_from(dict), dict_of(snapshot, dimensions), grid_dict(engine) and dimensions(parameters).
template <class System>
void bind_engine(nb::class_<typename System::Engine>& engine) {
  using namespace nb::literals;
  using Engine = typename System::Engine;
  using Parameters = typename System::Parameters;
  using Snapshot = typename System::Snapshot;
  engine
      .def_static(
          "from_positions",
          [](nb::object positions, const nb::dict& parameters, const std::string& device,
             int threads) {
            const Parameters p = System::parameters_from(parameters);
            const auto input = read_positions(positions, System::dimensions(p));
            nb::gil_scoped_release release;
            return make_engine(input.data, input.count, p, device, threads);
          },
          "positions"_a, "parameters"_a, "device"_a, "threads"_a)
      .def_static(
          "from_snapshot",
          [](const nb::dict& snapshot, std::size_t particles, const nb::dict& parameters,
             const std::string& device, int threads) {
            const auto [s, p] = checkpoint_from(snapshot, parameters, System::snapshot_from,
                                                System::parameters_from);
            nb::gil_scoped_release release;
            return make_engine(s, particles, p, device, threads);
          },
          "snapshot"_a, "particles"_a, "parameters"_a, "device"_a, "threads"_a)
      .def_static(
          "of_ranks",
          [](const nb::object& whole, std::size_t particles, const nb::dict& parameters,
             const std::string& device, int threads, Communicator& ranks) {
            const Parameters p = System::parameters_from(parameters);
            const Snapshot s =
                whole.is_none() ? Snapshot{} : System::snapshot_from(nb::cast<nb::dict>(whole));
            nb::gil_scoped_release release;
            return make_engine(&s, particles, p, device, threads, ranks);
          },
          "whole"_a.none(), "particles"_a, "parameters"_a, "device"_a, "threads"_a, "ranks"_a,
          nb::keep_alive<0, 6>())
      .def_static(
          "first_snapshot",
          [](nb::object positions, const nb::dict& parameters) {
            const Parameters p = System::parameters_from(parameters);
            const auto input = read_positions(positions, System::dimensions(p));
            hard_particles::Repair repair;
            Snapshot s =
                released([&] { return make_snapshot(input.data, input.count, p, repair); });
            return nb::make_tuple(System::dict_of(std::move(s), System::dimensions(p)), input.count,
                                  nb::make_tuple(repair.count, repair.depth));
          },
          "positions"_a, "parameters"_a)
      .def_static(
          "check_snapshot",
          [](const nb::dict& snapshot, std::size_t particles, const nb::dict& parameters) {
            const auto [s, p] = checkpoint_from(snapshot, parameters, System::snapshot_from,
                                                System::parameters_from);
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
      .def(
          "take_rows",
          [](Engine& e) {
            std::vector<std::uint64_t> cycles;
            auto rows = released([&] { return e.take_rows(cycles); });
            return nb::make_tuple(array_of(std::move(rows)), array_of(std::move(cycles)));
          },
          "uint64 [rows][pairs of types][bins], flat, and the cycles at which rows ended.")
      .def(
          "contact_histogram",
          [](const Engine& e, double bin_width, int bins) {
            return array_of(released([&] { return e.contact_histogram(bin_width, bins); }));
          },
          "bin_width"_a, "bins"_a)
      .def_prop_ro("counters", [](const Engine& e) { return counters_tuple(e.counters()); })
      .def_prop_ro("grid", System::grid_dict)
      .def_prop_ro(
          "repair",
          [](const Engine& e) { return nb::make_tuple(e.repair().count, e.repair().depth); })
      .def_prop_ro("particles", &Engine::particles)
      .def_prop_ro("transport", &Engine::transport)
      .def("occupied", &Engine::occupied, nb::call_guard<nb::gil_scoped_release>())
      .def("positions",
           [](const Engine& e) {
             std::vector<double> r(e.particles() * static_cast<std::size_t>(e.dimensions()));
             released([&] { e.positions(r.data()); });
             return array_of(std::move(r));
           })
      .def("max_overlap", &Engine::max_overlap, nb::call_guard<nb::gil_scoped_release>())
      .def("state_hash", &Engine::state_hash, nb::call_guard<nb::gil_scoped_release>())
      .def("snapshot", [](const Engine& e) {
        return System::dict_of(released([&] { return e.snapshot(); }),
                               static_cast<std::size_t>(e.dimensions()));
      });
  bind_host_methods(engine);
}

}  // namespace manymove::bindings
