// SPDX-License-Identifier: BSD-3-Clause
#include "core/coulomb/engine.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <tuple>
#include <utility>

#include "core/runtime/engine_group.h"
#include "fields.h"
#include "positions.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace manymove::coulomb {

using namespace bindings;

namespace {

constexpr std::pair<const char*, Method> kMethods[] = {{"brush", Method::brush},
                                                       {"tree", Method::tree},
                                                       {"reduction", Method::reduction},
                                                       {"serial", Method::serial},
                                                       {"auto", Method::automatic}};

const char* name_of(Method method) {
  for (const auto& [name, known] : kMethods)
    if (method == known) return name;
  return "";
}

Parameters parameters_from(const nb::dict& d) {
  Parameters p;
  p.periodic = !d["box"].is_none();
  if (p.periodic) {
    const auto box = nb::cast<std::array<double, 3>>(d["box"]);
    for (int a = 0; a < 3; ++a) p.box[a] = box[a];
  } else {
    p.radius = nb::cast<double>(d["radius"]);
  }
  p.ewald = nb::object(d["boundary"]).equal(nb::str("ewald"));
  p.vacuum = nb::object(d["surrounding"]).equal(nb::str("vacuum"));
  p.double_precision = nb::cast<std::string>(d["precision"]) == "double";
  p.method = named(d, "method", kMethods);
  read(d, "bjerrum_length", p.bjerrum_length, "max_displacement", p.max_displacement,
       "short_displacement", p.short_displacement, "short_fraction", p.short_fraction,
       "threads_per_particle", p.threads_per_particle, "seed", p.seed, "first_sweep",
       p.first_sweep);
  return p;
}

// Valence, diameter and species of each ion.
using IonColumns = std::tuple<Column<double>, Column<double>, Column<std::int32_t>>;

Ions ions_from(const double* positions, std::size_t count, const IonColumns& columns) {
  const auto& [valence, diameter, species] = columns;
  if (valence.size() != count || diameter.size() != count || species.size() != count)
    throw std::invalid_argument("valences, diameters and species must be as many as positions, " +
                                std::to_string(count) + ", got " + std::to_string(valence.size()) +
                                ", " + std::to_string(diameter.size()) + " and " +
                                std::to_string(species.size()));
  return {positions, valence.data(), diameter.data(), species.data(), count};
}

// Three for each ion, or nullptr if there are none.
const std::int32_t* images_from(const Column<std::int32_t>& images, std::size_t count) {
  if (images.size() != 0 && images.size() != 3 * count)
    throw std::invalid_argument("images must be three integers for each of " +
                                std::to_string(count) + " ions, got " +
                                std::to_string(images.size()));
  return images.size() ? images.data() : nullptr;
}

// A method that takes the addresses of a host program's arrays.
template <auto Method>
auto with_host_particles() {
  return [](Engine& e, std::uintptr_t position, bool double_precision, std::uintptr_t image,
            std::uintptr_t charge, std::uintptr_t diameter, std::uintptr_t index,
            const std::array<double, 3>& highest) {
    return (e.*Method)({reinterpret_cast<void*>(position),
                        double_precision,
                        reinterpret_cast<std::int32_t*>(image),
                        reinterpret_cast<const void*>(charge),
                        reinterpret_cast<const void*>(diameter),
                        reinterpret_cast<const std::uint32_t*>(index),
                        {highest[0], highest[1], highest[2]}});
  };
}

}  // namespace

void bind_coulomb(nb::module_& module) {
  module.def(
      "check_positions",
      [](const nb::object& positions, std::size_t columns) { read_positions(positions, columns); },
      "positions"_a, "columns"_a,
      "Raises the errors of the engines for an array that they cannot read.");
  nb::class_<Engine> engine(module, "Electrolyte",
                            "The engine behind manymove.Electrolyte; its documentation is there.");
  engine
      .def_static(
          "from_positions",
          [](nb::object positions, const IonColumns& columns, const nb::dict& parameters,
             const std::string& device, int threads, Column<std::int32_t> images,
             Communicator* ranks) {
            const auto input = read_positions(positions, 3);
            Ions ions = ions_from(input.data, input.count, columns);
            ions.image = images_from(images, input.count);
            const Parameters p = parameters_from(parameters);
            nb::gil_scoped_release release;
            return make_engine(ions, p, device, threads, ranks);
          },
          "positions"_a, "columns"_a, "parameters"_a, "device"_a, "threads"_a, "images"_a,
          "ranks"_a = nb::none(), nb::keep_alive<0, 7>())
      .def_static(
          "from_snapshot",
          [](const nb::dict& snapshot, const IonColumns& columns, const nb::dict& parameters,
             const std::string& device, int threads, Communicator* ranks) {
            const auto [s, p] =
                checkpoint_from(snapshot, parameters, &fields_from<Snapshot>, &parameters_from);
            const Ions ions = ions_from(nullptr, std::get<0>(columns).size(), columns);
            nb::gil_scoped_release release;
            return make_engine(s, ions, p, device, threads, ranks);
          },
          "snapshot"_a, "columns"_a, "parameters"_a, "device"_a, "threads"_a,
          "ranks"_a = nb::none(), nb::keep_alive<0, 6>())
      .def("run", &Engine::run, "sweeps"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("join", &Engine::join, "group"_a.none(), nb::call_guard<nb::gil_scoped_release>(),
           "Make sweeps together with the engines of an EngineGroup, or no longer with None. "
           "Returns whether they are made together.")
      .def("take_energies", [](Engine& e) { return array_of(e.take_energies()); })
      .def_prop_ro("counters", [](const Engine& e) { return tuple_of(e.counters()); })
      .def_prop_ro("particles", &Engine::particles)
      .def_prop_ro("energy_change", &Engine::energy_change)
      .def("energy", &Engine::energy, nb::call_guard<nb::gil_scoped_release>())
      .def("positions",
           [](const Engine& e) {
             std::vector<double> xyz(3 * e.particles());
             released([&] { e.positions(xyz.data()); });
             return array_of(std::move(xyz));
           })
      .def(
          "device_positions",
          [](const Engine& e, int device) {
            const std::size_t n = e.particles();
            const auto positions = released([&] {
              auto memory = memory_on(device, 3 * n * sizeof(double));
              e.positions_on_device(static_cast<double*>(memory.get()));
              if (device >= 0) manymove::wait_for_device(device);
              return memory;
            });
            return device_array(positions, n, 3, 3, device);
          },
          "device"_a,
          "float64 [N][3] in the memory of the engine's first device, whose index is -1 for the "
          "host.")
      .def(
          "set_positions",
          [](Engine& e, nb::object positions, Column<std::int32_t> images) {
            const auto input = read_positions(positions, 3);
            if (input.count != e.particles())
              throw std::invalid_argument("the number of ions cannot change, from " +
                                          std::to_string(e.particles()) + " to " +
                                          std::to_string(input.count));
            const std::int32_t* const image = images_from(images, input.count);
            nb::gil_scoped_release release;
            e.set_positions(input.data, image);
          },
          "positions"_a, "images"_a)
      .def("images",
           [](const Engine& e) {
             std::vector<std::int32_t> image(3 * e.particles());
             released([&] { e.images(image.data()); });
             return array_of(std::move(image));
           })
      .def(
          "count_pairs",
          [](const Engine& e, double bin_width, int bins, double interior_radius, int species) {
            std::vector<std::uint64_t> counts(static_cast<std::size_t>(species) * (species + 1) /
                                              2 * bins);
            std::vector<std::uint64_t> interior(species);
            released([&] {
              e.count_pairs({bin_width, bins, interior_radius, species}, counts.data(),
                            interior.data());
            });
            return nb::make_tuple(array_of(std::move(counts)), array_of(std::move(interior)));
          },
          "bin_width"_a, "bins"_a, "interior_radius"_a, "species"_a)
      .def_prop_ro("max_displacement", &Engine::max_displacement)
      .def_prop_ro("short_displacement", &Engine::short_displacement)
      .def_prop_ro("unit", &Engine::unit)
      .def_prop_ro("threads_per_particle", &Engine::threads_per_particle)
      .def_prop_ro("method", [](const Engine& e) { return name_of(e.method()); })
      .def("max_overlap", &Engine::max_overlap, nb::call_guard<nb::gil_scoped_release>())
      .def("state_hash", &Engine::state_hash, nb::call_guard<nb::gil_scoped_release>())
      .def("snapshot",
           [](const Engine& e) { return dict_of(released([&] { return e.snapshot(); })); });
  const auto host_method = [&](const char* name, auto method) {
    engine.def(name, method, "position"_a, "double_precision"_a, "image"_a, "charge"_a,
               "diameter"_a, "index"_a, "highest"_a, nb::call_guard<nb::gil_scoped_release>());
  };
  host_method("adopt", with_host_particles<&Engine::adopt>());
  host_method("same_particles", with_host_particles<&Engine::same_particles>());
  host_method("write_positions", with_host_particles<&Engine::write_positions>());
}

}  // namespace manymove::coulomb
