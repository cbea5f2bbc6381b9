// SPDX-License-Identifier: GPL-2.0-or-later
// run_style manymove/verlet: velocity Verlet with particles that stay on the device. The host's
// arrays are made current for the steps in which they are read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "translation/script_translation.h"
#include "verlet.h"

namespace LAMMPS_NS {

class DeviceSession;
class PairOnDevice;
struct DeviceWishes;

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
  void choose_place();
  void announce(const std::string& text, bool warning);
  DeviceWishes wishes() const;
  bool has_gpus() const;
  void leave_device();
  void make_session();
  void upload();
  void run_on_host(int steps);
  void run_on_device(ScriptTranslation& script, DeviceSession& session, int steps);
  bigint next_stop(const ScriptTranslation& script, bigint last) const;
  bool wants_values_per_atom() const;
  unsigned what_is_read(const ScriptTranslation& script, const DeviceSession& session);
  void read(const ScriptTranslation& script, DeviceSession& session, unsigned what,
            bool ghosts = false);
  void step_on_host(const ScriptTranslation& script, DeviceSession& session);
  void take_sums(const ScriptTranslation& script, const DeviceSession& session);
  void begin_step(const ScriptTranslation& script, DeviceSession& session);
  bool end_step(const ScriptTranslation& script, DeviceSession& session);
  void tally_per_atom(const ScriptTranslation& script, const DeviceSession& session);
  void refresh_neighbors(DeviceSession* session);
  void migrate_to_owners(DeviceSession& session);
  void follow_atoms(DeviceSession& session);
  void reset_box();
  void adapt(ScriptTranslation& script, DeviceSession& session, unsigned what);
  void log_copied_bytes(std::uint64_t in_steps, std::uint64_t before, bigint steps);
  void let_others_act(const ScriptTranslation& script, DeviceSession& session, unsigned what);

  std::string device_ = "auto";     // auto, cuda, cpu
  int threads_ = 0;                 // 0: those of LAMMPS
  std::string transport_ = "auto";  // of Settings
  bool overlap_ = true;
  std::string said_, said_about_transport_;  // in earlier runs
  std::unique_ptr<ScriptTranslation> script_;
  std::string device_of_run_;  // cpu or cuda; empty: the host alone
  bool resident_ = false;      // the particles stay on it; else pair forces come from it
  std::unique_ptr<DeviceSession> session_;  // from setup to the end of the run
  std::vector<std::unique_ptr<PairOnDevice>>
      pairs_;             // likewise; of each instance of the pair style
  bigint uploaded_ = -1;  // the step of session_ that has not run yet
  // Fixes ave/chunk that are due, whose sums the engine makes.
  std::vector<std::pair<Fix*, manymove::dpd::Profile>> profiles_;
  LastSetup last_setup_;
  std::vector<double*> rows_;  // of VelocitiesOfSums
  bool stale_ = false;         // ghosts and lists of the host belong to an earlier step
  bool refreshed_ = false;     // hybrid styles have not sorted the lists yet
};

}  // namespace LAMMPS_NS
