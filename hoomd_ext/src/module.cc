// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "HardParticles.h"

namespace py = pybind11;
using manymove::host::HardParticles;

PYBIND11_MODULE(_manymove, module) {
  py::class_<HardParticles, hoomd::Integrator, std::shared_ptr<HardParticles>>(module,
                                                                               "HardParticles")
      .def(py::init<std::shared_ptr<hoomd::SystemDefinition>, int, int>())
      .def("setShape", &HardParticles::set_shape)
      .def("getShape", &HardParticles::shape)
      .def("setD", &HardParticles::set_max_displacement)
      .def("getD", &HardParticles::max_displacement)
      .def_property("nselect", &HardParticles::moves_per_cell, &HardParticles::set_moves_per_cell)
      .def_property("sweeps_per_step", &HardParticles::sweeps_per_step,
                    &HardParticles::set_sweeps_per_step)
      .def_property("repair_depth", &HardParticles::repair_depth, &HardParticles::set_repair_depth)
      .def("setCheck", &HardParticles::set_check)
      .def("setTile", &HardParticles::set_tile)
      .def("setPressure", &HardParticles::set_pressure)
      .def("setBoxMoves", &HardParticles::set_box_moves)
      .def("setSwap", &HardParticles::set_swap)
      .def("setFields", &HardParticles::set_fields)
      .def_property_readonly("external_energy", &HardParticles::field_energy)
      .def("resize", &HardParticles::resize)
      .def_property_readonly("volume_moves", &HardParticles::volume_moves)
      .def_property_readonly("aspect_moves", &HardParticles::aspect_moves)
      .def_property_readonly("swap_moves", &HardParticles::swap_moves)
      .def_property_readonly("translate_moves", &HardParticles::accepted_and_rejected)
      .def_property_readonly("all_moves", &HardParticles::all_accepted_and_rejected)
      .def_property_readonly("mps", &HardParticles::moves_per_second)
      .def_property_readonly("exchange_costs",
                             [](const HardParticles& self) {
                               const auto costs = self.exchange_costs();
                               py::dict d;
                               d["steps"] = costs.steps;
                               d["migrations"] = costs.migrations;
                               d["sweep_seconds"] = costs.sweep_seconds;
                               d["exchange_seconds"] = costs.exchange_seconds;
                               d["migration_seconds"] = costs.migration_seconds;
                               d["messages"] = costs.counts.messages;
                               d["bytes"] = costs.counts.bytes;
                               d["migrated"] = costs.counts.migrated;
                               return d;
                             })
      .def_property_readonly("overlaps", &HardParticles::overlaps)
      .def_property_readonly("state_hash", &HardParticles::state_hash)
      .def_property_readonly("packing_fraction", &HardParticles::packing_fraction)
      .def_property_readonly("diameter", &HardParticles::diameter)
      .def_property_readonly("max_d", &HardParticles::largest_displacement)
      .def_property_readonly("repaired",
                             [](const HardParticles& self) {
                               const auto repair = self.repaired();
                               py::dict d;
                               d["count"] = repair.count;
                               d["depth"] = repair.depth;
                               return d;
                             })
      .def("nearest_contacts",
           [](HardParticles& self, double bin_width, int bins) {
             const auto counts = self.nearest_contacts(bin_width, bins);
             return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(counts.size()),
                                               counts.data());
           })
      .def("contact_histogram", [](HardParticles& self, double bin_width, int bins) {
        const auto counts = self.contact_histogram(bin_width, bins);
        return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(counts.size()), counts.data());
      });
}
