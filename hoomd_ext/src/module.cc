// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "HardDisks.h"

namespace py = pybind11;
using manymove::host::HardDisks;

PYBIND11_MODULE(_manymove, module) {
  py::class_<HardDisks, hoomd::Integrator, std::shared_ptr<HardDisks>>(module, "HardDisks")
      .def(py::init<std::shared_ptr<hoomd::SystemDefinition>, int>())
      .def("setShape", &HardDisks::set_shape)
      .def("getShape", &HardDisks::shape)
      .def("setD", &HardDisks::set_max_displacement)
      .def("getD", &HardDisks::max_displacement)
      .def_property("nselect", &HardDisks::moves_per_cell, &HardDisks::set_moves_per_cell)
      .def_property("sweeps_per_step", &HardDisks::sweeps_per_step, &HardDisks::set_sweeps_per_step)
      .def_property("repair_depth", &HardDisks::repair_depth, &HardDisks::set_repair_depth)
      .def_property_readonly("translate_moves", &HardDisks::accepted_and_rejected)
      .def_property_readonly("all_moves", &HardDisks::all_accepted_and_rejected)
      .def_property_readonly("mps", &HardDisks::moves_per_second)
      .def_property_readonly("overlaps", &HardDisks::overlaps)
      .def_property_readonly("state_hash", &HardDisks::state_hash)
      .def_property_readonly("packing_fraction", &HardDisks::packing_fraction)
      .def_property_readonly("diameter", &HardDisks::diameter)
      .def_property_readonly("max_d", &HardDisks::largest_displacement)
      .def_property_readonly("repaired",
                             [](const HardDisks& self) {
                               const auto repair = self.repaired();
                               py::dict d;
                               d["count"] = repair.count;
                               d["depth"] = repair.depth;
                               return d;
                             })
      .def("contact_histogram", [](HardDisks& self, double bin_width, int bins) {
        const auto counts = self.contact_histogram(bin_width, bins);
        return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(counts.size()), counts.data());
      });
}
