// SPDX-License-Identifier: BSD-3-Clause
#include "core/hard_particles/engine.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/hard_particles/packing.h"
#include "core/runtime/engine_group.h"
#include "fields.h"
#include "positions.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace manymove::hard_particles {

using namespace bindings;

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

// The fields, whose arrays by particle follow each other in `field_values` and `field_points`.
std::vector<ExternalField> fields_of(const nb::dict& d) {
  if (!d.contains("fields")) return {};
  static constexpr std::pair<const char*, FieldKind> kKinds[] = {
      {"wall", FieldKind::wall},
      {"harmonic_wall", FieldKind::harmonic_wall},
      {"lj93_wall", FieldKind::lj93_wall},
      {"linear", FieldKind::linear},
      {"springs", FieldKind::springs}};
  static constexpr std::pair<const char*, WallShape> kShapes[] = {
      {"plane", WallShape::plane},
      {"sphere", WallShape::sphere},
      {"cylinder", WallShape::cylinder}};
  const auto given = nb::cast<std::vector<nb::dict>>(d["fields"]);
  const auto values = optional_array<double>(d, "field_values");
  const auto points = optional_array<double>(d, "field_points");
  std::size_t with_values = 0, with_points = 0;
  for (const nb::dict& each : given) {
    with_values += nb::cast<bool>(each["by_particle"]);
    with_points += named(each, "kind", kKinds) == FieldKind::springs;
  }
  const auto part = [](const std::vector<double>& all, std::size_t count, std::size_t& next) {
    if (all.size() % count != 0)
      throw std::invalid_argument("the arrays of the fields must have the same length");
    const auto size = static_cast<std::ptrdiff_t>(all.size() / count);
    const auto begin = all.begin() + size * static_cast<std::ptrdiff_t>(next++);
    return std::vector<double>(begin, begin + size);
  };
  std::vector<ExternalField> fields;
  std::size_t next_values = 0, next_points = 0;
  for (const nb::dict& each : given) {
    ExternalField& field = fields.emplace_back();
    field.kind = named(each, "kind", kKinds);
    field.shape = named(each, "shape", kShapes);
    read(each, "inside", field.inside, "origin", field.origin, "direction", field.direction,
         "radius", field.radius, "length", field.length, "cutoff", field.cutoff, "value",
         field.value);
    if (nb::cast<bool>(each["by_particle"])) field.values = part(values, with_values, next_values);
    if (field.kind == FieldKind::springs) field.points = part(points, with_points, next_points);
  }
  return fields;
}

std::vector<PairStep> steps_of(const nb::dict& d) {
  std::vector<PairStep> steps;
  if (!d.contains("steps")) return steps;
  for (const nb::handle each : d["steps"])
    steps.push_back({nb::cast<std::vector<double>>(each["ranges"]),
                     nb::cast<std::vector<double>>(each["energies"])});
  return steps;
}

Parameters parameters_from(const nb::dict& d) {
  Parameters p;
  const auto box = nb::cast<std::vector<double>>(d["box"]);
  if (box.size() != 2 && box.size() != 3)
    throw std::invalid_argument("box must have two or three edges, got " +
                                std::to_string(box.size()));
  p.dimensions = static_cast<int>(box.size());
  std::copy(box.begin(), box.end(), p.box);
  p.diameters = optional_array<double>(d, "diameters");
  p.types = optional_array<std::int32_t>(d, "types");
  p.contacts = optional_array<double, 2>(d, "contacts");
  p.pinned = optional_array<std::uint8_t>(d, "pinned");
  p.fields = fields_of(d);
  p.steps = steps_of(d);
  if (p.diameters.empty() && p.types.empty() && p.contacts.empty()) read(d, "diameter", p.diameter);
  p.tile = widths(d["tile"], p.dimensions);
  read(d, "max_displacement", p.max_displacement, "cell_width", p.cell_width, "moves_per_cell",
       p.moves_per_cell, "rounds", p.rounds, "seed", p.seed, "first_cycle", p.first_cycle,
       "repair_depth", p.repair_depth);
  read_some(d, "gibbs", p.gibbs);
  if (d.contains("swap_rounds"))
    read(d, "swap_rounds", p.swap_rounds, "swap_every", p.swap_every, "swap_range", p.swap_range);
  if (d.contains("fugacities"))
    read(d, "fugacities", p.fugacities, "insertion_attempts", p.insertion_attempts,
         "insertion_every", p.insertion_every);
  if (d.contains("beta_pressure")) {
    read(d, "beta_pressure", p.beta_pressure, "ln_volume", p.ln_volume, "volume_delta",
         p.volume_delta, "volume_repeats", p.volume_repeats, "volume_every", p.volume_every);
    read_some(d, "edges_apart", p.edges_apart);
    if (d.contains("edge_shares")) {
      const auto shares = nb::cast<std::vector<double>>(d["edge_shares"]);
      if (shares.size() != box.size())
        throw std::invalid_argument("edge_shares: one for each edge");
      std::copy(shares.begin(), shares.end(), p.edge_shares);
    }
    if (d.contains("box_weights"))
      read(d, "box_weights", p.box_weights, "box_deltas", p.box_deltas);
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
  d["extent"] = axes(g.extent, dimensions);
  d["volume_delta"] = g.volume_delta;
  d["largest_volume_delta"] = g.largest_volume_delta;
  d["box_deltas"] = nb::tuple(nb::cast(g.box_deltas));
  d["largest_box_deltas"] = nb::tuple(nb::cast(g.largest_box_deltas));
  d["volume_repeats"] = g.volume_repeats;
  d["volume_every"] = g.volume_every;
  return d;
}

void bind_making(nb::class_<Engine>& engine) {
  engine
      .def_static(
          "from_positions",
          [](nb::object positions, const nb::dict& parameters, const std::string& device,
             int threads) {
            const Parameters p = parameters_from(parameters);
            const auto input = read_positions(positions, static_cast<std::size_t>(p.dimensions));
            nb::gil_scoped_release release;
            return make_engine(input.data, input.count, p, device, threads);
          },
          "positions"_a, "parameters"_a, "device"_a, "threads"_a)
      .def_static(
          "from_snapshot",
          [](const nb::dict& snapshot, std::size_t particles, const nb::dict& parameters,
             const std::string& device, int threads) {
            const auto [s, p] =
                checkpoint_from(snapshot, parameters, fields_from<Snapshot>, parameters_from);
            nb::gil_scoped_release release;
            return make_engine(s, particles, p, device, threads);
          },
          "snapshot"_a, "particles"_a, "parameters"_a, "device"_a, "threads"_a)
      .def_static(
          "of_ranks",
          [](const nb::object& whole, std::size_t particles, const nb::dict& parameters,
             const std::string& device, int threads, manymove::Communicator& ranks) {
            const Parameters p = parameters_from(parameters);
            const Snapshot s =
                whole.is_none() ? Snapshot{} : fields_from<Snapshot>(nb::cast<nb::dict>(whole));
            nb::gil_scoped_release release;
            return make_engine(&s, particles, p, device, threads, ranks);
          },
          "whole"_a.none(), "particles"_a, "parameters"_a, "device"_a, "threads"_a, "ranks"_a,
          nb::keep_alive<0, 6>())
      .def_static(
          "first_snapshot",
          [](nb::object positions, const nb::dict& parameters) {
            const Parameters p = parameters_from(parameters);
            const auto input = read_positions(positions, static_cast<std::size_t>(p.dimensions));
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
                checkpoint_from(snapshot, parameters, fields_from<Snapshot>, parameters_from);
            nb::gil_scoped_release release;
            check_snapshot(s, particles, p);
          },
          "snapshot"_a, "particles"_a, "parameters"_a);
}

nb::tuple tuple_of_trials(const TrialCounters& c) { return nb::make_tuple(c.trials, c.accepted); }
template <auto Counters>
nb::tuple trials(const Engine& engine) {
  return tuple_of_trials((engine.*Counters)());
}

void bind_running(nb::class_<Engine>& engine) {
  engine.def("run", &Engine::run, "cycles"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("join", &Engine::join, "group"_a.none(), nb::call_guard<nb::gil_scoped_release>(),
           "Make cycles together with the engines of an EngineGroup, or no longer with None. "
           "Returns whether they are made together.")
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
      .def_prop_ro("counters", [](const Engine& e) { return tuple_of(e.counters()); })
      .def_prop_ro("grid", grid_dict)
      .def_prop_ro(
          "repair",
          [](const Engine& e) { return nb::make_tuple(e.repair().count, e.repair().depth); })
      .def_prop_ro("particles", &Engine::particles)
      .def_prop_ro("transport", &Engine::transport)
      .def("positions",
           [](const Engine& e) {
             std::vector<double> r(e.particles() * static_cast<std::size_t>(e.dimensions()));
             released([&] { e.positions(r.data()); });
             return array_of(std::move(r));
           })
      .def(
          "device_positions",
          [](Engine& e, int device) {
            const std::size_t n = e.particles();
            const auto positions = released([&] {
              std::vector<std::uint32_t> order(n);
              std::iota(order.begin(), order.end(), 0u);
              const auto index = memory_on(device, n * sizeof order[0], order.data());
              auto memory = memory_on(device, 4 * n * sizeof(double));
              const auto* const same = static_cast<const std::uint32_t*>(index.get());
              e.write_positions({memory.get(), true, nullptr, same, same});
              if (device >= 0) manymove::wait_for_device(device);
              return memory;
            });
            return device_array(positions, n, static_cast<std::size_t>(e.dimensions()), 4, device);
          },
          "device"_a,
          "float64 [N][D] in the memory of the engine's device, whose index is -1 for the host.")
      .def("max_overlap", &Engine::max_overlap, nb::call_guard<nb::gil_scoped_release>())
      .def("state_hash", &Engine::state_hash, nb::call_guard<nb::gil_scoped_release>())
      .def("snapshot",
           [](const Engine& e) { return dict_of(released([&] { return e.snapshot(); })); });
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
      .def_prop_ro("volume_counters", &trials<&Engine::volume_counters>)
      .def_prop_ro(
          "box_counters",
          [](const Engine& e) {
            return nb::make_tuple(tuple_of_trials(e.box_counters(BoxMove::volume)),
                                  tuple_of_trials(e.box_counters(BoxMove::length)),
                                  tuple_of_trials(e.box_counters(BoxMove::aspect)));
          },
          "With several kinds of box moves, the trials and those accepted of changes of the "
          "volume, "
          "of one edge and of the aspect ratio.")
      .def("field_energies", &array_from<&Engine::field_energies>,
           "The energy of each particle in the external fields in kT, float64 (N).")
      .def("step_energies", &array_from<&Engine::step_energies>,
           "The energy of each particle in the steps of its pairs in kT, float64 (N).")
      .def("diameters", &array_from<&Engine::diameters>,
           "With swap moves the present diameters, float64 (N).")
      .def_prop_ro("swap_counters", &trials<&Engine::swap_counters>)
      .def_prop_ro("insertion_counters", &trials<&Engine::insertion_counters>)
      .def_prop_ro("deletion_counters", &trials<&Engine::deletion_counters>)
      .def(
          "types", [](const Engine& e) { return array_of(e.types()); },
          "The present types, int32 (N), of particles that have types.")
      .def("set_type_diameters", &Engine::set_type_diameters, "diameters"_a,
           "With swap moves, the diameters of a host program's particle types.")
      .def(
          "bond_order",
          [](const Engine& e, double reach) {
            const auto psi = released([&] { return e.bond_order(reach); });
            return std::make_pair(psi[0], psi[1]);
          },
          "reach"_a);
}

// Methods that take the particles of a host program, by addresses as array interfaces give them.
void bind_host_methods(nb::class_<Engine>& engine) {
  using Address = std::uintptr_t;
  static constexpr auto particles = [](Address position, bool double_precision, Address image,
                                       Address index, Address tag) -> HostParticles {
    return {reinterpret_cast<void*>(position), double_precision,
            reinterpret_cast<std::int32_t*>(image), reinterpret_cast<const std::uint32_t*>(index),
            reinterpret_cast<const std::uint32_t*>(tag)};
  };
  const auto define = [&](const char* name, auto method, auto... first) {
    engine.def(name, method, first..., "position"_a, "double_precision"_a, "image"_a, "index"_a,
               "tag"_a, nb::call_guard<nb::gil_scoped_release>());
  };
  define(
      "enqueue",
      [](Engine& e, std::uint64_t cycles, Address position, bool double_precision, Address image,
         Address index, Address tag) {
        e.enqueue(cycles, particles(position, double_precision, image, index, tag));
      },
      "cycles"_a);
  define("same_positions", [](const Engine& e, Address position, bool double_precision,
                              Address image, Address index, Address tag) {
    return e.same_positions(particles(position, double_precision, image, index, tag));
  });
  define("write_positions", [](Engine& e, Address position, bool double_precision, Address image,
                               Address index, Address tag) {
    e.write_positions(particles(position, double_precision, image, index, tag));
  });
  engine.def_prop_ro("cycles_between_writes", &Engine::cycles_between_writes);
}

}  // namespace

void bind_hard_particles(nb::module_& module) {
  module.def(
      "count_overlaps",
      [](const nb::object& positions, const std::vector<double>& box, const nb::object& diameters) {
        const auto input = read_positions(positions, box.size());
        Parameters p;
        p.dimensions = static_cast<int>(box.size());
        std::copy_n(box.begin(), std::min<std::size_t>(3, box.size()), p.box);
        if (!nb::try_cast(diameters, p.diameter)) {
          const auto each = nb::cast<Column<double>>(diameters);
          p.diameters.assign(each.data(), each.data() + each.size());
        }
        const nb::gil_scoped_release release;
        return count_overlaps(input.data, input.count, p);
      },
      "positions"_a, "box"_a, "diameters"_a,
      "Number of pairs closer than the diameter, or the mean of their diameters (float64 N). "
      "positions: float (N, D).");
  nb::class_<Engine> engine(
      module, "HardParticles",
      "The engine behind manymove.HardDisks and HardSpheres. positions: float (N, D). parameters: "
      "box (D edges); diameter, or diameters (float64 N), or types (int32 N) and contacts (float64 "
      "T by T), where the others are missing or None; pinned (uint8 N, not 0 for "
      "particles that never move, or None); fields (a list of dictionaries, as "
      "manymove.fields makes them) with field_values and field_points; steps (a list of "
      "dictionaries with ranges and energies, T * T numbers each); max_displacement, cell_width, "
      "moves_per_cell, rounds, tile (0: chosen); seed, first_cycle, repair_depth; at constant "
      "pressure beta_pressure, ln_volume, edges_apart, volume_delta, edge_shares, volume_repeats, "
      "volume_every (0: chosen), and for several kinds of box moves box_weights and box_deltas (of "
      "the volume, an edge and the aspect ratio); for swap moves swap_rounds, swap_every, "
      "swap_range (0: any); for insertions and deletions fugacities (T), insertion_attempts and "
      "insertion_every (0: chosen); gibbs for a system of a Gibbs ensemble.");
  bind_making(engine);
  bind_running(engine);
  bind_host_methods(engine);

  module.def(
      "exchange_in_gibbs_ensemble",
      [](Engine& first, Engine& second, std::uint64_t transfers, int volume_trials,
         double volume_delta, double volume) {
        auto made = released([&] {
          return exchange_in_gibbs_ensemble(first, second,
                                            {transfers, volume_trials, volume_delta, volume});
        });
        return nb::make_tuple(nb::make_tuple(made.volumes[0], made.volumes[1]),
                              array_of(std::move(made.trials)), array_of(std::move(made.sums)));
      },
      "first"_a, "second"_a, "transfers"_a, "volume_trials"_a, "volume_delta"_a, "volume"_a,
      "Trial transfers of particles and exchanges of volume between two systems with gibbs. "
      "Returns their volumes and, uint64 and float64 (2 T), the trial transfers into each system "
      "of each type and their sums of V exp(-dU) / (n + 1).");

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
          return relax_overlaps({positions.data(), positions.size()}, lx, ly, diameter,
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

}  // namespace manymove::hard_particles
