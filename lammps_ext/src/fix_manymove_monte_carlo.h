// SPDX-License-Identifier: GPL-2.0-or-later
// What fix manymove/coulomb and fix manymove/wrmc have in common: every so many steps atoms are
// gathered on rank 0, moved there by an engine, and left on their ranks before LAMMPS exchanges
// atoms between ranks and builds its lists.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fix.h"

namespace LAMMPS_NS {

class FixMonteCarlo : public Fix {
 public:
  int setmask() override;

 protected:
  // Doubles only, so that MPI moves it as it is.
  struct Particle {
    double tag, type, charge, x[3], moved;
  };

  // fix ID group style N count seed ...
  FixMonteCarlo(class LAMMPS* lmp, int narg, char** arg, int least, const char* count_name);

  double positive(const char* name, const char* text) const;
  int positive_integer(const char* name, const char* text) const;
  // Takes the keywords that both have.
  bool take(const std::string& key, const char* value);

  void check_surroundings() const;

  // On rank 0, by tag: the atoms of the group, or all others.
  std::vector<Particle> gather(bool of_group) const;
  // Runs the task on rank 0; what it throws ends the run on all ranks, with a note.
  void on_first_rank(const std::function<void()>& task, const std::string& note) const;
  // Rank 0's atoms that have moved go to those that they are; images follow the nearest image.
  void leave(std::vector<Particle>& atoms) const;

  const std::string name_;  // of the style, at the beginning of messages
  std::uint64_t seed_;
  int count_;           // sweeps or steps at a time
  std::string device_;  // "cpu" or "cuda:<index>"
  int threads_ = 1;
};

}  // namespace LAMMPS_NS
