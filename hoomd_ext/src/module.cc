// SPDX-License-Identifier: BSD-3-Clause
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "DPD.h"
#include "HardParticles.h"
#include "MuVT.h"

namespace py = pybind11;
using manymove::host::DPD;
using manymove::host::HardParticles;
using manymove::host::MuVT;

namespace {

using Bond = std::tuple<unsigned int, std::string, double, double, double, double>;
using Angle = std::tuple<unsigned int, double, double>;

// From the tuples of dpd.py: type, "harmonic" or "fenewca", k, r0, epsilon, sigma of bonds, and
// type, k, t0 of angles. HOOMD-blue's harmonic energies have a factor 1/2, which the engine's do
// not have.
void set_forces(DPD& self, const std::vector<Bond>& bonds, const std::vector<Angle>& angles) {
  std::vector<DPD::BondForce> of_bonds;
  for (const auto& [type, form, k, r0, epsilon, sigma] : bonds) {
    if (form == "harmonic")
      of_bonds.push_back({type, {0.5 * k, r0}});
    else
      of_bonds.push_back({type, {k, r0, manymove::dpd::kFene, epsilon, sigma}});
  }
  std::vector<DPD::AngleForce> of_angles;
  for (const auto& [type, k, t0] : angles) of_angles.push_back({type, {0.5 * k, t0}});
  self.set_forces(std::move(of_bonds), std::move(of_angles));
}

void export_dpd(py::module_& module) {
  py::class_<DPD, hoomd::Integrator, std::shared_ptr<DPD>>(module, "DPD")
      .def(py::init<std::shared_ptr<hoomd::SystemDefinition>, hoomd::Scalar, int, bool>())
      .def("setParams", &DPD::set_params)
      .def("getParams", &DPD::params)
      .def("setRCut", &DPD::set_r_cut)
      .def("getRCut", &DPD::r_cut)
      .def_property("dt", &DPD::dt, &DPD::set_dt)
      .def_property("kT", &DPD::kT, &DPD::set_kT)
      .def_property("buffer", &DPD::buffer, &DPD::set_buffer)
      .def("setCheck", &DPD::set_check)
      .def("setGroup", &DPD::set_group)
      .def("setForces", &set_forces)
      .def("setExclusions", &DPD::set_exclusions)
      .def("setSchedule", &DPD::set_schedule)
      .def("sums",
           [](DPD& self) {
             const DPD::Sums sums = self.sums();
             py::dict d;
             d["pair_energy"] = sums.pair_energy;
             d["bond_energy"] = sums.bond_energy;
             d["angle_energy"] = sums.angle_energy;
             return d;
           })
      .def_property_readonly("kinetic_energy", &DPD::kinetic_energy)
      .def_property_readonly("pressure_tensor", &DPD::pressure_tensor)
      .def_property_readonly("degrees_of_freedom", &DPD::degrees_of_freedom)
      .def_property_readonly("builds", &DPD::builds)
      .def_property_readonly("mps", &DPD::steps_per_second)
      .def_property_readonly("forces", [](DPD& self) {
        const auto forces = self.forces();
        return py::array_t<double>({static_cast<py::ssize_t>(forces.size() / 3), py::ssize_t(3)},
                                   forces.data());
      });
}

using OtherMoves = HardParticles::OtherMoves;
template <auto kKind>
HardParticles::Moves moves(HardParticles& self) {
  return self.accepted_and_rejected(kKind);
}

}  // namespace

PYBIND11_MODULE(_manymove, module) {
  export_dpd(module);
  py::class_<MuVT, hoomd::Updater, std::shared_ptr<MuVT>>(module, "MuVT")
      .def(py::init<std::shared_ptr<hoomd::SystemDefinition>, std::shared_ptr<hoomd::Trigger>>())
      .def("setFugacity", &MuVT::set_fugacity)
      .def("getFugacity", &MuVT::fugacity)
      .def_property("transfer_types", &MuVT::transfer_types, &MuVT::set_transfer_types)
      .def_property("attempts", &MuVT::attempts, &MuVT::set_attempts);
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
      .def("setMuVT", &HardParticles::set_muvt)
      .def("setFields", &HardParticles::set_fields)
      .def("setSteps", &HardParticles::set_steps)
      .def_property_readonly("pair_energy", &HardParticles::pair_energy)
      .def_property_readonly("external_energy", &HardParticles::field_energy)
      .def("resize", &HardParticles::resize)
      .def_property_readonly("volume_moves", &moves<&OtherMoves::volume>)
      .def_property_readonly("aspect_moves", &moves<&OtherMoves::aspect>)
      .def_property_readonly("swap_moves", &moves<&OtherMoves::swap>)
      .def_property_readonly("insert_moves", &moves<&OtherMoves::insertion>)
      .def_property_readonly("remove_moves", &moves<&OtherMoves::deletion>)
      .def_property_readonly("N", &HardParticles::numbers)
      .def_property_readonly("translate_moves",
                             [](HardParticles& self) { return self.accepted_and_rejected(); })
      .def_property_readonly("all_moves", &HardParticles::all_accepted_and_rejected)
      .def_property_readonly("mps", &HardParticles::moves_per_second)
      .def_property_readonly("exchange_costs",
                             [](HardParticles& self) {
                               const auto costs = self.exchange_costs();
                               py::dict d;
                               d["steps"] = costs.steps;
                               d["migrations"] = costs.migrations;
                               d["seconds"] = costs.seconds;
                               d["sweep_seconds"] = costs.counts.sweep_seconds;
                               d["exchange_seconds"] = costs.counts.exchange_seconds;
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
             const auto found = self.nearest_contacts(bin_width, bins);
             const auto array = [](const std::vector<double>& sums) {
               return py::array_t<double>(static_cast<py::ssize_t>(sums.size()), sums.data());
             };
             return py::make_tuple(array(found.compression), array(found.expansion));
           })
      .def("contact_histogram", [](HardParticles& self, double bin_width, int bins) {
        const auto counts = self.contact_histogram(bin_width, bins);
        return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(counts.size()), counts.data());
      });
}
