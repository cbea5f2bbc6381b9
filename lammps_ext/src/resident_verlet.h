// SPDX-License-Identifier: GPL-2.0-or-later
// run_style manymove/verlet: velocity Verlet with particles that stay on the device. The host's
// arrays are made current for the steps in which somebody reads them.
#pragma once

#include <memory>
#include <string>

#include "integrate_api.h"

namespace LAMMPS_NS {

class Residence;
class ResidentDeck;

class VerletManymove : public Verlet {
 public:
  VerletManymove(class LAMMPS* lmp, int narg, char** arg);
  ~VerletManymove() override;

  void init() override;
  void setup(int flag) override;
  void setup_minimal(int flag) override;
  void run(int steps) override;
  void cleanup() override;

 private:
  std::string place();
  int threads() const;
  bool has_gpus() const;
  void rent(const std::string& device);
  void move_in();
  void run_on_host(int steps);
  void run_on_device(ResidentDeck& deck, Residence& residence, int steps);
  bigint next_stop(const ResidentDeck& deck, bigint last) const;
  bool wants_values_per_atom() const;
  unsigned what_is_read(const ResidentDeck& deck) const;
  void read(const ResidentDeck& deck, Residence& residence, unsigned what);
  void tally_per_atom(const ResidentDeck& deck);
  void refresh_neighbours(Residence* residence);
  void bring_home(Residence& residence);
  void let_others_act(const ResidentDeck& deck, Residence& residence, unsigned what);

  std::string device_ = "auto";     // auto, cuda, cpu
  int threads_ = 0;                 // 0: those of LAMMPS
  std::string transport_ = "auto";  // of Settings
  bool overlap_ = true;
  std::string said_, said_about_transport_;  // in earlier runs
  std::unique_ptr<ResidentDeck> deck_;
  std::unique_ptr<Residence> residence_;  // from setup to the end of the run
  bigint moved_in_ = -1;                  // the step of residence_ that has not run yet
  bool stale_ = false;  // ghosts and lists of the host are those of an earlier step
};

}  // namespace LAMMPS_NS
