// SPDX-License-Identifier: BSD-3-Clause
#include "core/adsorption/engine.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "core/adsorption/spheres.h"
#include "fields.h"
#include "positions.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace manymove::adsorption {

using namespace bindings;

namespace {

using Coordinates = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Orientations =
    std::optional<nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>>;
using Edges = nb::ndarray<const double, nb::shape<3, 3>, nb::c_contig, nb::device::cpu>;
using Laws = std::vector<std::pair<double, double>>;  // epsilon, sigma

std::vector<LennardJones> laws_from(const nb::handle& object) {
  std::vector<LennardJones> laws;
  for (const auto& [epsilon, sigma] : nb::cast<Laws>(object)) laws.push_back({epsilon, sigma});
  return laws;
}

constexpr std::pair<const char*, Method> kMethods[] = {{"metropolis", Method::metropolis},
                                                       {"pmc", Method::pmc},
                                                       {"plj", Method::plj},
                                                       {"mup", Method::mup},
                                                       {"mdp", Method::mdp}};

ForceField force_field_from(const nb::dict& d) {
  ForceField r;
  for (const nb::handle& item : nb::cast<nb::list>(d["types"])) {
    const auto t = nb::cast<nb::dict>(item);
    r.types.push_back({nb::cast<double>(t["charge"]), laws_from(t["with_framework"])});
  }
  r.pairs = laws_from(d["pairs"]);
  for (const nb::handle& item : nb::cast<nb::list>(d["bodies"])) {
    std::vector<BodySite> sites;
    for (const auto& [type, offset] :
         nb::cast<std::vector<std::pair<int, std::array<double, 3>>>>(item))
      sites.push_back({type, offset});
    r.bodies.push_back(std::move(sites));
  }
  read(d, "tilt", r.tilt, "framework_charge", r.framework_charge, "tail", r.tail, "alpha", r.alpha,
       "wave_cutoff", r.wave_cutoff);
  if (!d.contains("chains")) return r;
  for (const nb::handle& item : nb::cast<nb::list>(d["chains"])) {
    const auto c = nb::cast<nb::dict>(item);
    ChainLaws laws{nb::cast<std::vector<double>>(c["bonds"]),
                   {},
                   nb::cast<std::vector<std::array<double, 4>>>(c["torsions"])};
    for (const auto& [stiffness, angle] : nb::cast<Laws>(c["bends"]))
      laws.bends.push_back({stiffness, angle});
    r.chains.push_back(std::move(laws));
  }
  return r;
}

Parameters parameters_from(const nb::dict& d) {
  Parameters p;
  const auto cell = nb::cast<std::array<double, 3>>(d["cell"]);
  std::copy(cell.begin(), cell.end(), p.framework.cell);
  for (const nb::handle& item : nb::cast<nb::list>(d["species"])) {
    const auto s = nb::cast<nb::dict>(item);
    p.species.push_back({nb::cast<int>(s["molecules"]), nb::cast<int>(s["capacity"]),
                         nb::cast<double>(s["activity"]), laws_from(s["with_framework"])});
  }
  p.pairs = laws_from(d["pairs"]);
  p.method = named(d, "method", kMethods);
  read(d, "fractional", p.framework.fractional, "kind", p.framework.kind, "cells", p.cells,
       "temperature", p.temperature, "cutoff", p.cutoff, "moments", p.moments, "proposals",
       p.proposals, "systems", p.systems, "max_displacement", p.max_displacement, "exchange",
       p.exchange, "grid", p.grid, "cubic", p.cubic, "double_precision", p.double_precision,
       "barrier", p.barrier, "hill", p.hill, "direction", p.direction, "bins", p.bins, "groups",
       p.groups, "seed", p.seed);
  // Host programs leave out what they do not have; Parameters has the defaults.
  read_some(d, "shifted", p.shifted, "trial_positions", p.trial_positions, "trial_orientations",
            p.trial_orientations, "reinsertion", p.reinsertion, "identity_change",
            p.identity_change, "regrowth", p.regrowth);
  if (d.contains("rigid")) p.force_field = force_field_from(nb::cast<nb::dict>(d["rigid"]));
  return p;
}

void check_shapes(const Coordinates& positions, const Orientations& orientations,
                  std::size_t molecules) {
  if (positions.shape(0) != molecules || (orientations && orientations->shape(0) != molecules))
    throw std::invalid_argument(
        "positions and orientations must be those of " + std::to_string(molecules) +
        " molecules, got " + std::to_string(positions.shape(0)) +
        (orientations ? " and " + std::to_string(orientations->shape(0)) : ""));
}

// While the grid is filled, Python's signal handlers run in its main thread, and `interrupted`, a
// function or None, may ask for an end.
Poll poll_of(nb::handle interrupted) {
  return [interrupted] {
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals()) nb::raise_python_error();
    if (interrupted.is_none() || !nb::cast<bool>(interrupted())) return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    nb::raise_python_error();
  };
}

double seconds_of(auto&& task) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  task();
  return std::chrono::duration<double>(Clock::now() - began).count();
}
template <class T>
void append(std::vector<T>& all, const std::vector<T>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

struct KeptGrid {
  std::shared_ptr<const void> grid;
};

nb::dict grid_dict(const Engine& engine) {
  const GridInfo g = engine.grid_info();
  nb::dict d;
  d["points"] = nb::make_tuple(g.points[0], g.points[1], g.points[2]);
  d["bytes"] = g.bytes;
  d["lowest"] = g.lowest;
  d["blocked_share"] = g.blocked_share;
  d["open_share"] = g.open_share;
  nb::list pockets;
  for (const Pocket& one : g.pockets) {
    nb::dict of_pocket;
    of_pocket["type"] = one.type;
    of_pocket["center"] = nb::make_tuple(one.center[0], one.center[1], one.center[2]);
    of_pocket["share"] = one.share;
    of_pocket["lowest"] = one.lowest;
    pockets.append(std::move(of_pocket));
  }
  d["pockets"] = std::move(pockets);
  return d;
}

nb::tuple compare(Engine& e, const std::vector<std::uint64_t>& steps, std::uint64_t rest,
                  bool measure, std::uint32_t insertions) {
  std::vector<std::int32_t> counts;
  std::vector<double> tests, sums;
  const double seconds = released([&] {
    return seconds_of([&] {
      for (const std::uint64_t some : steps) {
        if (some) e.run(some, measure);
        append(counts, e.counts());
        for (std::size_t kind = 0; kind < e.capacities().size(); ++kind)
          append(tests, e.insert_test_molecules(insertions, static_cast<int>(kind), false));
      }
      if (rest) e.run(rest, measure);
      if (measure) sums = e.sums();
    });
  });
  return nb::make_tuple(seconds, array_of(std::move(counts)), array_of(std::move(tests)),
                        array_of(std::move(sums)));
}

void bind_atoms(nb::module_& module) {
  module.def(
      "closest_pair",
      [](Coordinates fractional, Edges edges) {
        return released(
            [&] { return closest_pair(fractional.data(), fractional.shape(0), edges.data()); });
      },
      "fractional"_a, "edges"_a, "The closest atoms of a crystal and their distance.");
  module.def(
      "free_points",
      [](Coordinates fractional, Edges edges, Column<double> radii,
         const std::vector<std::uint32_t>& own, std::uint32_t first, std::uint32_t count,
         std::uint64_t seed) {
        if (radii.size() != fractional.shape(0) || own.size() > radii.size())
          throw std::invalid_argument(
              "radii must be those of all atoms, and own the first of them");
        return array_of(released([&] {
          return free_points(fractional.data(), radii.size(), edges.data(), radii.data(), own,
                             first, count, seed);
        }));
      },
      "fractional"_a, "edges"_a, "radii"_a, "own"_a, "first"_a, "count"_a, "seed"_a,
      "Numbers of random points on the spheres of the first atoms that are in no other sphere.");
}

}  // namespace

void bind_adsorption(nb::module_& module) {
  bind_atoms(module);
  nb::class_<KeptGrid>(module, "AdsorptionGrid",
                       "A grid in memory, which later engines with the same framework and force "
                       "field take.");
  nb::class_<Engine>(module, "Adsorption",
                     "The engine behind manymove.Adsorption; its documentation is there.")
      .def_static(
          "create",
          [](const nb::dict& parameters, const std::string& device, int threads,
             nb::handle interrupted) {
            const Parameters p = parameters_from(parameters);
            nb::gil_scoped_release release;
            return make_engine(p, device, threads, poll_of(interrupted));
          },
          "parameters"_a, "device"_a, "threads"_a, "interrupted"_a = nb::none())
      .def_static(
          "from_positions",
          [](Coordinates positions, const nb::dict& parameters, const std::string& device,
             int threads, const Orientations& orientations, nb::handle interrupted) {
            const Parameters p = parameters_from(parameters);
            check_shapes(positions, orientations, molecules_of(p));
            nb::gil_scoped_release release;
            return make_engine(positions.data(), p, device, threads,
                               orientations ? orientations->data() : nullptr, poll_of(interrupted));
          },
          "positions"_a, "parameters"_a, "device"_a, "threads"_a, "orientations"_a = nb::none(),
          "interrupted"_a = nb::none())
      .def_static(
          "from_snapshot",
          [](const nb::dict& snapshot, const nb::dict& parameters, const std::string& device,
             int threads, nb::handle interrupted) {
            const auto [s, p] =
                checkpoint_from(snapshot, parameters, &fields_from<Snapshot>, &parameters_from);
            nb::gil_scoped_release release;
            return make_engine(s, p, device, threads, poll_of(interrupted));
          },
          "snapshot"_a, "parameters"_a, "device"_a, "threads"_a, "interrupted"_a = nb::none())
      .def(
          "run",
          [](Engine& e, std::uint64_t steps, bool measure) {
            return released([&] { return seconds_of([&] { e.run(steps, measure); }); });
          },
          "steps"_a, "measure"_a,
          "Returns its time in seconds, without the wait for Python's lock.")
      .def("compare", &compare, "steps"_a, "rest"_a, "measure"_a, "insertions"_a,
           "Runs each of these numbers of steps, inserts test molecules after it, and runs the "
           "rest. Returns its time as `run` does, counts and sums over test molecules after each "
           "number, [systems][species] and [species][systems][2], and with `measure` the sums at "
           "the end. "
           "This is one call, because threads wait for Python's lock after each.")
      .def("set_max_displacement", &Engine::set_max_displacement, "angstrom"_a)
      .def("set_trials", &Engine::set_trials, "positions"_a, "orientations"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("max_displacement", &Engine::max_displacement)
      .def(
          "set_positions",
          [](Engine& e, Coordinates positions, const Orientations& orientations) {
            check_shapes(positions, orientations, e.molecules());
            nb::gil_scoped_release release;
            e.set_positions(positions.data(), orientations ? orientations->data() : nullptr);
          },
          "positions"_a, "orientations"_a = nb::none())
      .def("reset_averages", &Engine::reset_averages, nb::call_guard<nb::gil_scoped_release>())
      .def("set_activities", &Engine::set_activities, "activities"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "insert_test_molecules",
          [](Engine& e, std::uint32_t insertions, int species, bool empty) {
            return array_of(
                released([&] { return e.insert_test_molecules(insertions, species, empty); }));
          },
          "insertions"_a, "species"_a, "empty"_a)
      .def(
          "framework_energies",
          [](const Engine& e, Coordinates xyz, int species, bool direct) {
            std::vector<double> energies(xyz.shape(0));
            released([&] {
              e.framework_energies(xyz.data(), energies.size(), species, direct, energies.data());
            });
            return array_of(std::move(energies));
          },
          "xyz"_a, "species"_a, "direct"_a)
      .def_prop_ro("counters", [](const Engine& e) { return tuple_of(e.counters()); })
      .def_prop_ro("grid", &grid_dict)
      .def("kept_grid", [](const Engine& e) { return KeptGrid{e.kept_grid()}; })
      .def_prop_ro("capacities", &Engine::capacities)
      .def_prop_ro("ideal_chains",
                   [](const Engine& e) {
                     std::vector<std::array<double, 3>> chains;
                     for (const IdealChain& c : e.ideal_chains())
                       chains.push_back({c.weight, c.weight_error, c.energy});
                     return chains;
                   })
      .def("sums", &array_from<&Engine::sums>)
      .def("counts", &array_from<&Engine::counts>)
      .def("energies", &array_from<&Engine::energies>)
      .def("snapshot",
           [](const Engine& e) { return dict_of(released([&] { return e.snapshot(); })); });
}

}  // namespace manymove::adsorption
