// SPDX-License-Identifier: GPL-2.0-or-later
// pair_style manymove/dpd: dissipative particle dynamics with any weight exponent.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dpd/engine.h"
#include "core/dpd/pair_forces.h"
#include "pair.h"

namespace LAMMPS_NS {

// Forces of the pairs of a style from an engine that a run style has.
class ForcesOfEngine {
 public:
  // Adds the forces on the rank's atoms where they are. draw: as in noise_key(). Collective.
  virtual manymove::dpd::EnergyAndVirial add_forces(std::uint64_t draw) = 0;
  // The pair style is gone.
  virtual void forget_pair() = 0;

 protected:
  ~ForcesOfEngine() = default;
};

class PairManymoveDPD : public Pair {
 public:
  explicit PairManymoveDPD(class LAMMPS* lmp);
  ~PairManymoveDPD() override;

  void compute(int eflag, int vflag) override;
  void settings(int narg, char** arg) override;
  void coeff(int narg, char** arg) override;
  void init_style() override;
  double init_one(int i, int j) override;
  void setup() override;
  void write_restart(FILE* fp) override;
  void read_restart(FILE* fp) override;
  void write_restart_settings(FILE* fp) override;
  void read_restart_settings(FILE* fp) override;
  void write_data(FILE* fp) override;
  void write_data_all(FILE* fp) override;
  double single(int i, int j, int itype, int jtype, double rsq, double factor_coul,
                double factor_lj, double& fforce) override;
  void* extract(const char* name, int& dim) override;
  double memory_usage() override;
  int pack_forward_comm(int n, int* list, double* buffer, int pbc_flag, int* pbc) override;
  void unpack_forward_comm(int n, int first, double* buffer) override;

  // Number of the present step's draw, the same on all ranks. Forces of one step are computed with
  // the same random numbers, also in a run that continues from this step. A second run of no steps
  // at the same step, and earlier steps after reset_timestep, have numbers not used before.
  std::uint64_t draw();
  // The law of this step, valid until the next call.
  virtual manymove::dpd::PairTable table();
  std::uint64_t seed() const { return static_cast<std::uint64_t>(seed_); }
  const std::string& style() const { return style_; }
  // Whether atoms have local densities for this style. update_densities() computes them from the
  // present positions. It is collective, and neighbor lists must be up to date.
  virtual bool has_densities_of_atoms() const { return false; }
  void update_densities() { find_densities(); }
  // Scalars that atoms carry for this style.
  virtual manymove::dpd::ScalarKind scalars() const { return manymove::dpd::kNoScalars; }

  // Forces are computed by an engine that a run style has attached. Null: by this style itself.
  void attach(ForcesOfEngine* device);
  // Whether lists of neighbors are built only when this style itself computes, from the next init()
  // on.
  void want_lists_on_demand() { lists_on_demand_ = true; }

 protected:
  bool lists_on_demand_ = false;
  std::unique_ptr<manymove::dpd::PairForces> forces_;
  double **a_ = nullptr, **gamma_ = nullptr, **sigma_ = nullptr, **cut_ = nullptr,
         **exponent_ = nullptr;

  virtual void allocate();
  // An array of coefficients of all pairs of types, which are 0 at first. It is symmetric after
  // init_one(), and is destroyed with the style.
  void create(double**& array, const char* name);
  // The pairs of types i <= j in the ranges range[0] and range[1] of a pair_coeff command.
  std::vector<std::pair<int, int>> types_in(char** range) const;
  // Local densities of atoms and ghosts, valid until the next call; null if forces need none.
  // Collective.
  virtual const double* find_densities() { return nullptr; }

  // Scalars of atoms and ghosts, and room for their flux, which is 0; take_flux() adds it to that
  // of the atoms. Null if there are none.
  struct ScalarsOnHost {
    const double (*scalars)[manymove::dpd::kScalars];
    double (*flux)[manymove::dpd::kScalars];
  };
  virtual ScalarsOnHost scalars_on_host() { return {nullptr, nullptr}; }
  virtual void take_flux() {}

  // Adds other forces of pairs, with LAMMPS' sums, where an engine computes those of DPD, too.
  virtual void add_charges() {}

  // One pair_coeff in a data file, after the types.
  virtual void write_coefficients(FILE* fp, int i, int j);
  // Coefficients of pairs in restart files besides those of manymove/dpd, and whether those that
  // were read are possible.
  virtual std::vector<double**> more_coefficients() const { return {}; }
  virtual bool are_possible(int, int) const { return true; }

  // The finite number that is this argument of a command, "Pair style" or "Pair coeff": one that
  // is not negative, or one that is positive. Anything else is an error.
  double not_negative(const char* command, const char* name, const char* text) const;
  double positive(const char* command, const char* name, const char* text) const;
  void refuse_name_of_style(int narg, char** arg);
  // Whether friction and noise act.
  bool is_moving() const;
  // Whether random forces act between these types, i <= j.
  virtual bool is_noisy(int i, int j) const;
  double sigma_of(double gamma) const;
  // Coefficients of the last table().
  manymove::dpd::PairCoefficients& coefficients_of(int i, int j);
  bool is_active(int i, int j) const;

  std::string style_ = "manymove/dpd";  // in messages
  // No conservative force, and a temperature that may change during a run.
  bool thermostat_ = false;

 private:
  std::vector<double**> coefficients_in_restarts() const;
  void check_seeds(int i, int j);
  void find_images();
  void add_forces_of_device(std::uint64_t number);
  void add_forces(std::uint64_t number, const manymove::dpd::PairCallback* callback);
  const manymove::dpd::PairCoefficients* fill_table();
  const std::uint32_t* tags();

  manymove::dpd::NoiseRamp ramp() const;
  manymove::dpd::PairTable table_of_step();

  std::vector<double**> created_;  // arrays of create()
  double temperature_ = 0, cutoff_ = 0, weight_exponent_ = 1;
  // Temperatures of a thermostat at the beginning and the end of a run; temperature_ is the higher
  // one.
  double first_temperature_ = 0, last_temperature_ = 0;
  int seed_ = 0;
  int double_precision_ = 0;
  int threads_ = 1;
  double largest_cutoff_ = 0;
  bool setting_up_ = false;       // the next forces are those at the beginning of a run
  std::int64_t drawn_step_ = -1;  // the last step for which random numbers were drawn
  bool drawn_in_setup_ = false;   // there, at the beginning of a run
  std::int64_t draws_ahead_ = 0;  // number of a draw minus its step
  ForcesOfEngine* device_ = nullptr;
  const double* density_ = nullptr;        // result of find_densities()
  std::vector<std::uint8_t> active_;       // pairs of types that LAMMPS asked init_one() about
  bool narrow_[3] = {};                    // edges shorter than twice the cutoff
  std::vector<std::array<int, 3>> image_;  // of Particles; empty if no edge is narrow
  std::vector<manymove::dpd::PairCoefficients> table_;
  std::vector<std::uint32_t> short_tags_;  // where LAMMPS' tags have 64 bits
};

}  // namespace LAMMPS_NS
