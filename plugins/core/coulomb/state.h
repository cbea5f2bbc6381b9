// SPDX-License-Identifier: BSD-3-Clause
// What the two engines share on the host: input to integers, integers to output.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "dipole.h"
#include "engine.h"
#include "model.h"

namespace manymove::coulomb {

struct State {
  Parameters parameters;
  Communicator* ranks = nullptr;  // ranks that share the chain; null: a single one
  Rules rules{};
  double unit = 0;           // length of one integer unit
  double axis_unit[3] = {};  // the same along each axis of a box, to 2^-24
  std::shared_ptr<const EwaldBox> ewald;
  double self_energy = 0;           // in kT, of the ions with their own images
  std::vector<std::int32_t> image;  // [N][3] with a vacuum around, otherwise empty
  Dipole dipole{};                  // the same
  std::vector<Site> sites;          // where the ions are
  std::vector<double> radius;       // in units
  std::vector<std::int32_t> species;
  std::vector<std::int64_t> atom_id;  // empty: messages count ions from 0
  Counters counters;
  __int128 change = 0;  // of the energy since the start, in quanta
};

// Checks everything and puts the ions on the grid of integers.
State make_state(const Ions& ions, const Parameters& parameters);
State make_state(const Snapshot& snapshot, const Ions& ions, const Parameters& parameters);
// An ion in messages.
Particles name_of(const State& state, std::size_t i);
// Other positions of the same ions; throws and changes nothing if they are bad.
void set_positions(State& state, const double* xyz, const std::int32_t* image);
// The ions that overlap with another, in order.
std::vector<int> overlapping_ions(const State& state);
// The dipole moment follows from positions and images.
void find_dipole(State& state);
// In kT, of the dipole moment in a vacuum and of the ions with their own images.
double energy_beside_pairs(const State& state);

// Ions by cell, as linked lists.
class CellLists {
 public:
  // Empty lists, and those of all ions.
  void clear(const State& state);
  void fill(const State& state);
  // Puts ion i first in the list of the cell of a place.
  void add(const Rules& rules, std::int32_t i, const Site& at);
  CellListView view() const { return {head.data(), next.data()}; }

 private:
  std::vector<std::int32_t> head, next;
};

Snapshot snapshot_of(const State& state);
Bins bins_of(const State& state, const Histogram& histogram);

// Throws std::invalid_argument on all ranks if the digests of the ranks differ. Collective.
void check_same(Communicator& ranks, std::uint64_t digest);

// What the engines have in common.
class EngineBase : public Engine {
 public:
  explicit EngineBase(State state) : state_(std::move(state)) {}

  std::vector<double> take_energies() override { return std::exchange(energies_, {}); }
  Counters counters() const override { return state_.counters; }
  std::size_t particles() const override { return state_.sites.size(); }
  double energy_change() const override {
    return static_cast<double>(state_.change) * state_.rules.strength;
  }
  void positions(double* xyz) const override;
  void images(std::int32_t* image) const override;
  Snapshot snapshot() const override { return snapshot_of(present()); }
  double max_overlap() const override;
  std::uint64_t state_hash() const override;
  double max_displacement() const override { return state_.rules.step * state_.unit; }
  double short_displacement() const override { return state_.rules.short_step * state_.unit; }
  double unit() const override { return state_.unit; }
  int threads_per_particle() const override { return state_.parameters.threads_per_particle; }
  Method method() const override { return state_.parameters.method; }

 protected:
  // The state with the present positions.
  virtual const State& present() const { return state_; }
  // After a sweep, for take_energies().
  void note_energy() {
    constexpr std::size_t kMost = 1 << 20;
    if (energies_.size() == 2 * kMost)  // seldom: a shift of all costs a millisecond
      energies_.erase(energies_.begin(), energies_.end() - kMost);
    energies_.push_back(energy_change());
  }

  mutable State state_;
  std::uint64_t trace_ = 0;  // of a host program's particles as they were left

 private:
  std::vector<double> energies_;
};

// ---- the engines of each backend, of which make_engine() of engine.h chooses one ----

// For the tree: changes the far field and the epochs that the engine has chosen. Tests take larger
// bounds of the error, which cost direct sums and change no decision, and shorter epochs.
struct FarField;
struct Epochs;
using ChangeTree = std::function<void(FarField& field, Epochs& epochs)>;

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, int threads, const ChangeTree& change = {});
// One chain on one or several devices. Throws std::invalid_argument for a device that does not
// exist, and in a build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, const std::vector<int>& devices,
                                         const ChangeTree& change = {});

}  // namespace manymove::coulomb
