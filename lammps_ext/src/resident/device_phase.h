// SPDX-License-Identifier: GPL-2.0-or-later
// Phases in which the ranks of LAMMPS use an engine together. What the engine cannot do is an error
// of LAMMPS.
#pragma once

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "atom.h"
#include "comm.h"
#include "core/dpd/engine.h"
#include "mpi_communicator.h"
#include "pointers.h"

namespace LAMMPS_NS {

// What a run style was asked for.
struct DeviceWishes {
  std::string device;     // cpu or cuda
  int threads;            // of the CPU
  std::string transport;  // between GPUs, as in Settings
  bool overlap;           // of transport and motion
};

class DevicePhase : protected Pointers {
 protected:
  DevicePhase(class LAMMPS* lmp, const DeviceWishes& wishes);

  manymove::dpd::HostArrays arrays() const;
  std::unique_ptr<manymove::dpd::Engine> engine_of(manymove::dpd::Settings settings) {
    settings.transport = wishes_.transport;
    settings.overlap = wishes_.overlap;
    return manymove::dpd::make_engine(settings, device_, wishes_.threads, &communicator_);
  }

  // All ranks enter together. They leave together, with the same error if there is one.
  void guarded(auto call) {
    reported(lmp, "Run style manymove/verlet on " + wishes_.device, [&] {
      try {
        if (comm->nprocs == 1) return with_size(call);
        manymove::collective(communicator_, [&] { with_size(call); });
      } catch (const manymove::dpd::LostParticle& failure) {
        throw std::runtime_error(std::string("Lost atoms: ") + failure.what());
      }
    });
  }

  MpiCommunicator communicator_;

 private:
  // The message says for how many atoms memory is missing.
  void with_size(auto call) {
    try {
      call();
    } catch (const manymove::Agreed&) {
      throw;
    } catch (const std::bad_alloc& failure) {
      std::string what = "out of memory for " + std::to_string(atom->nlocal) + " atoms";
      if (std::strcmp(failure.what(), "std::bad_alloc") != 0)
        what += std::string(": ") + failure.what();
      throw std::runtime_error(what);
    }
  }

  const DeviceWishes wishes_;
  std::string device_;  // of this rank
};

}  // namespace LAMMPS_NS
