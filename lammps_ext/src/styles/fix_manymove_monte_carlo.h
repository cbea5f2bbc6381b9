// SPDX-License-Identifier: GPL-2.0-or-later
// What fix manymove/coulomb and fix manymove/wrmc have in common: every so many steps atoms are
// gathered on rank 0, moved there by an engine, and sent back to their ranks before LAMMPS
// exchanges atoms between ranks and builds its lists. If the ranks share the engine, all of them
// gather and move the same atoms, and each rank updates its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/adsorption/molecules/rigid_molecules.h"
#include "fix.h"
#include "mpi_communicator.h"

namespace LAMMPS_NS {

class FixMonteCarlo : public Fix {
 public:
  int setmask() override;

 protected:
  using Particle = manymove::adsorption::HostAtom;

  // fix ID group style N count seed ...
  FixMonteCarlo(class LAMMPS* lmp, int narg, char** arg, int least, const char* count_name);

  double positive(const char* name, const char* text) const;
  int positive_integer(const char* name, const char* text) const;
  // Takes the keywords that both have.
  bool take(const std::string& key, const char* value);
  // Turns the device "auto" into one that is available. To be called when all keywords are known.
  // on_cpus: whether several ranks share the engine if the device is the CPU.
  void choose_device(bool on_cpus = false);

  // tilts: whether the box may be tilted.
  void check_surroundings(bool tilts = false) const;

  // ---- collective calls ----

  // Runs a task that contains the calls below. All ranks make this call; afterwards all have
  // succeeded, or LAMMPS ends with the same error on all of them. No rank waits without a watchdog:
  // one that is silent for MANYMOVE_TIMEOUT seconds is named by the others.
  void collectively(const std::function<void()>& task);

  // The atoms of the group, or all others, in the order of tags on the ranks that move them; empty
  // on other ranks.
  std::vector<Particle> gather(bool of_group) const;
  // Runs a task on rank 0, for however long it takes: rank 0 answers the ranks that wait for it.
  // The task must not call MPI or LAMMPS. Its error becomes an error of all ranks.
  void on_first_rank(const std::function<void()>& task) const;
  // Runs a task on the ranks that move atoms: on all together, or on the first one.
  void on_moving_ranks(const std::function<void()>& task) const;
  // Replaces the values by those of rank 0.
  void spread(std::vector<double>& values) const;
  // Moves an atom of gather(); its image follows the nearest image.
  void move(Particle& atom, const double (&to)[3]) const;
  // Writes the positions of the moved atoms on the ranks that own the atoms.
  void leave(const std::vector<Particle>& atoms) const;

  const std::string name_;  // of the style, at the beginning of messages
  std::uint64_t seed_;
  int count_;  // sweeps or steps at a time
  // "cpu" or "cuda:<index>" after choose_device(), on the ranks that move atoms.
  std::string device_ = "auto";
  int threads_ = 1;      // of each of these ranks
  bool shared_ = false;  // whether all ranks move atoms together; otherwise rank 0 does
  mutable std::optional<MpiCommunicator> ranks_;  // within collectively()
};

}  // namespace LAMMPS_NS
