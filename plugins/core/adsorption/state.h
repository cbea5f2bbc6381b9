// SPDX-License-Identifier: BSD-3-Clause
// What the two engines share on the host: checks, the framework, its grid and pockets.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "arrays.h"
#include "engine.h"
#include "grid.h"
#include "model.h"

namespace manymove::adsorption {

struct State {
  Parameters parameters;
  double edge[3];  // of the box
  int slots = 0;
  std::vector<Image> images;
  std::vector<float> grid;  // as Model::grid has it, in the precision of the engine
  std::vector<double> double_grid;
  GridInfo info{};
  Snapshot data;
  bool torn = false;  // some systems had to stop before the end of a run

  std::size_t grid_values() const;    // of one species, without the repeated planes
  std::size_t padded_values() const;  // with them
};

// Lennard-Jones for Eq. 1.
template <class F>
PairLaw<F> make_law(const LennardJones& law, const Parameters& parameters);

// Checks everything; no grid and no molecules yet.
State make_state(const Parameters& parameters);
// Which voxels of a grid are open: within reach below the barrier, or below the hill without one.
struct OpenVoxels {
  std::unique_ptr<Pockets> pockets;
  std::vector<bool> open;
  std::size_t blocked_count = 0, open_count = 0;
};
// Throws NoChannelError, which names the kind.
OpenVoxels open_voxels(const State& state, const double* energies, const std::string& kind);
// Grids of so many kinds, and that of one of them. highest: where GridInfo::lowest begins.
void make_grid(State& state, std::size_t kinds, double highest);
void set_grid(State& state, std::size_t kind, const double* energies, const Pockets* pockets);
// energies: [species][z][y][x] of the unit cell. Blocks the pockets, and sets the capacities.
void finish_grid(State& state, std::vector<double>&& energies);
GridSum grid_sum(const State& state, int species);
// Takes over the caller's molecules, or another engine's.
void adopt(State& state, const double* positions, const double* orientations);
void adopt(State& state, const Snapshot& snapshot);
// Refuses numbers of molecules of a checkpoint that do not fit the capacities.
void check_counts(const State& state, const Snapshot& snapshot);
void check_displacement(const State& state, double angstrom);
bool positive(double value);  // whether it is positive and finite
void check_law(const LennardJones& law);
// Refuses a wrong temperature, cutoff, or number of species or molecules.
void check_molecules(const Parameters& parameters);
// Refuse wrong methods, systems, exchange and profile, and a wrong grid.
void check_method(const Parameters& parameters);
void check_grid(const Parameters& parameters);
// Refuse a position that is not finite, and one at which the framework has too high an energy. The
// errors name the molecule by its index in its system.
void check_finite(const double* xyz, int molecule, int system);
void check_place(const State& state, const double* xyz, int molecule, int system, double energy,
                 bool pocket);
// Sets energies and averages to zero, and the numbers of molecules to those of the start.
void clear_data(State& state);
// The framework energy at a place of the box, summed over the atoms.
double direct_energy(const State& state, int species, const double* xyz);
Site to_site(const State& state, const double* xyz);

// With the grid at `grid`, on the host or on a device.
template <class F>
Model<F> make_model(const State& state, const F* grid);
template <class F>
PointArrays<F> make_arrays(const State& state, const F* grid);
// What the arrays of point particles and of molecules have in common; no pointers.
template <class F>
void set_common(const State& state, SystemArrays<F>& arrays);

template <class F>
const F* host_grid(const State& state) {
  if constexpr (std::is_same_v<F, float>)
    return state.grid.data();
  else
    return state.double_grid.data();
}

void check_species(const State& state, int species);
// Runs all systems for some steps. launch(again) runs all of them, or only those that stopped
// because they had no free slot, as far as the slots suffice. enlarge(full) makes room for the
// species of these bits.
void run_whole(State& state, std::uint64_t steps, bool measure,
               const std::function<MoveCounts(bool)>& launch,
               const std::function<void(unsigned)>& enlarge);
// Throws if some systems had to stop before the end of a run.
void check_whole(const State& state);
// Throws std::runtime_error if a molecule has found no place.
void check_placed(const State& state, const MoveCounts& moves);
void set_activities(State& state, const std::vector<double>& activities);

// ---- capacity.cpp ----

inline constexpr int kMostSlots = 16384;  // of a system

// How many spheres of a species' diameter a scan of the pores of the box places. open: of the unit
// cell, [z][y][x].
int estimated_capacity(const State& state, int species, const std::vector<bool>& open);
// After the capacities have changed: `sites` for them, without molecules.
void make_room(State& state);
// More slots for the species of these bits, with the molecules where they are.
void grow(State& state, unsigned full);
std::vector<int> capacities(const State& state);

// As Engine::framework_energies().
template <class F>
void framework_energies(const State& state, const double* xyz, std::size_t count, int species,
                        bool direct, double* energies) {
  check_species(state, species);
  const Model<F> m = make_model(state, host_grid<F>(state));
  for (std::size_t i = 0; i < count; ++i)
    energies[i] =
        direct ? direct_energy(state, species, xyz + 3 * i)
               : static_cast<double>(framework_energy(m, species, to_site(state, xyz + 3 * i)));
}

// ---- the engines of each backend, of which make_engine() of engine.h chooses one ----

// What fills the state with molecules, once its grid is there; none: the engine places them.
template <class StateOfEngine>
using Adopt = std::function<void(StateOfEngine&)>;

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, const Adopt<State>& molecules, int threads);
// Throws std::invalid_argument for a device that does not exist, and in a
// build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, const Adopt<State>& molecules, int device,
                                         int threads);

}  // namespace manymove::adsorption
