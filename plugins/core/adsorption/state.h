// SPDX-License-Identifier: BSD-3-Clause
// What the engines share on the host: checks, the framework and its grids, the molecules of a
// caller or a checkpoint.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine.h"
#include "grid.h"
#include "molecules/arrays.h"

namespace manymove::adsorption {

// The mesh of the waves, in float; without quads where there is none.
struct MeshTables {
  MeshModel<float> model{};  // without pointers to the arrays
  std::vector<MeshQuad> quads;
  std::vector<MeshRow> rows;
  std::vector<std::int32_t> layer;  // [layers + 1]: first row
  std::vector<MeshWeights<float>> weights;
  std::vector<float> alone;
};

// The tables that exist in both precisions.
template <class F>
struct InPrecision {
  std::vector<PairLaw<F>> laws;  // [types][types]
  std::vector<F> wave_weights;   // [waves]
};

// The types of sites of point particles are their species.
struct State {
  Parameters parameters;
  double edges[6];    // of the box: xx, xy, xz, yy, yz, zz of docs/theory/molecules.md
  double inverse[6];  // of the same matrix
  int slots = 0;
  Snapshot data;
  bool torn = false;  // some systems had to stop before the end of a run

  std::shared_ptr<const Grids> grid = std::make_shared<Grids>();
  InPrecision<float> of_float;
  InPrecision<double> of_double;
  std::vector<ChargedImage> atoms;         // images within the cutoff of the unit cell
  std::vector<PairLaw<double>> atom_laws;  // [kinds][types]

  // ---- of molecules ----
  bool charged = false, felt_charges = false;  // molecules; and a framework that acts on them
  std::vector<WaveRow> rows;
  MeshTables mesh;
  std::vector<AngleTable> tables;                // of chains
  std::vector<ChainBody> chains;                 // [species], or none
  std::vector<IdealChain> ideal;                 // likewise
  double framework_alpha = 0;                    // of the framework's potential
  std::vector<std::array<double, 5>> potential;  // its waves: k and the amplitude

  template <class F>
  const InPrecision<F>& in() const {
    if constexpr (std::is_same_v<F, float>)
      return of_float;
    else
      return of_double;
  }
  // Calls visit(grid) with that in the precision of the engine.
  auto with_grid(const auto& visit) const {
    return parameters.double_precision ? visit(grid->of_double) : visit(grid->of_float);
  }
  int waves() const { return static_cast<int>(of_double.wave_weights.size()); }
  double edge(int axis) const { return edges[axis == 0 ? 0 : axis == 1 ? 3 : 5]; }
  bool molecules() const { return parameters.force_field.has_value(); }  // or point particles
  int types() const;
  bool has_framework() const { return !parameters.framework.kind.empty(); }
  // Whether the framework acts on a type.
  bool felt(int type) const;
  const std::vector<LennardJones>& with_framework(int type) const;
  double charge(int type) const {
    return molecules() ? parameters.force_field->types[type].charge : 0;
  }
  std::size_t shape_size() const;  // of a slot
  // The number of values of one type. `repeated`: planes along each axis that repeat others.
  std::size_t grid_values(int repeated = 0) const;
};

// Checks everything; no grid and no molecules yet.
State make_state(const Parameters& parameters);
// Takes over the caller's molecules, or another engine's.
void adopt(State& state, const double* positions, const double* orientations);
void adopt(State& state, const Snapshot& snapshot);
void check_displacement(const State& state, double angstrom);
// Sets the numbers of trials, and calls resized() for memory that depends on them. Restores the
// numbers if one of the two throws.
void set_trials(State& state, int positions, int orientations,
                const std::function<void()>& resized);
void check_species(const State& state, int species);
// Throws std::runtime_error if a molecule has found no place.
void check_placed(const State& state, const MoveCounts& moves);
void set_activities(State& state, const std::vector<double>& activities);

bool positive(double value);  // whether it is positive and finite

// The kind of a move by the common word of a step, which is uniform below 2^32: it is an exchange
// below the first limit, a reinsertion below the second one, and so on; beyond the last limit it is
// a translation or rotation. The limits are the sums of the shares times 2^32.
struct MoveLimits {
  std::uint32_t exchange, reinsertion, identity, regrowth;
};
MoveLimits move_limits(const Parameters& parameters);

// With the grid at `grid`, on the host or on a device.
template <class F>
Model<F> make_model(const State& state, const F* grid);
// Arrays: PointArrays<F> or MoleculeArrays<F>; the state's own arrays are not in them.
template <class Arrays>
Arrays make_arrays(const State& state, const typename Arrays::Real* grid);

// ---- framework.cpp ----

// The images of the framework's atoms, and the waves of its potential.
void collect_atoms(State& state);
void make_potential(State& state);
FrameworkAtoms framework_atoms(const State& state);
GridRow grid_row(const State& state, int row, int layer);
// lennard_jones: [types][z][y][x] of the unit cell; potential: [z][y][x], its real-space part.
// Blocks the pockets, and enters the grid. Throws NoChannelError.
void finish_grid(State& state, std::vector<double>&& lennard_jones, std::vector<double>&& potential,
                 const Poll& poll);
// A place of the box in angstrom.
Site to_site(const State& state, const double* xyz);
// The energy of a molecule at a pose with the framework, by the grid; kForbidden in a pocket.
double framework_energy_at(const State& state, int species, const Pose& pose);
// As Engine::framework_energies().
void framework_energies(const State& state, const double* xyz, std::size_t count, int type,
                        bool direct, double* energies);

// ---- shared_grids.cpp ----

// Takes a grid that another engine has, or that is kept, if it is the one of this state.
bool enter_shared_grid(State& state);
// Takes a new grid, which later engines may share, and sets the capacities of point particles.
void enter_grid(State& state, std::shared_ptr<const Grids> grid);

// ---- molecules/ ----

// Checks the molecules' sites and charges, and makes the tables of their waves and chains.
void make_molecules(State& state);
// Whether the waves at the end of Ewald's sum are so small that the error of the mesh, which is
// largest for them, is as docs/theory/molecules.md has it.
inline bool waves_decay(const ForceField& field) {
  const double phase = field.wave_cutoff / (2 * field.alpha);
  return std::exp(-phase * phase) <= 1e-4;
}
// The tables, the chains and the ideal chains; none where molecules are rigid.
void make_chains(State& state);
void fill_chain_model(const State& state, const AngleTable* tables, ChainModel& model);
// Largest distance of a bead from the center.
double chain_reach(const ChainBody& body, int sites);
// Refuse orientations and shapes of a checkpoint that are none.
void check_poses(const State& state, const Snapshot& snapshot);
void check_shape(const State& state, std::size_t species, const double* shape);
// The mesh of the waves, for steps of several proposals in mixed precision.
void make_mesh(State& state);
void fill_mesh_model(const MeshTables& tables, MeshModel<float>& model);
inline void fill_mesh_model(const MeshTables&, MeshModel<double>&) {}
// With the model of the molecules, the rest of their arrays.
template <class F>
void set_model(const State& state, const F* grid, MoleculeArrays<F>& arrays);

// ---- capacity.cpp ----

inline constexpr int kMostSlots = 16384;  // of a system

// How many spheres of a species' diameter a scan of the pores of the box places. open: of the unit
// cell, [z][y][x].
int estimated_capacity(const State& state, int species, const std::vector<bool>& open);
// After the capacities have changed: arrays with slots for them, without molecules.
void make_room(State& state);
// Calls visit() while the state has the numbers of slots that it will have when all species have
// grown once, unless they are too many. The arrays stay as they are.
void if_grown(State& state, const std::function<void()>& visit);
// More slots for the species of these bits, with the molecules where they are.
void grow(State& state, unsigned full);
std::vector<int> capacities(const State& state);
// Runs all systems for some steps. launch(again) runs all of them, or only those that stopped
// because they had no free slot, as far as the slots suffice. enlarge(full) makes room for the
// species of these bits.
void run_whole(State& state, std::uint64_t steps, bool measure,
               const std::function<MoveCounts(bool)>& launch,
               const std::function<void(unsigned)>& enlarge);
// Throws if some systems had to stop before the end of a run.
void check_whole(const State& state);

// ---- the engines of each backend, of which make_engine() of engine.h chooses one ----

struct Start {
  // Fills the state with molecules, once its grid is there; none: the engine places them.
  std::function<void(State&)> molecules;
  Poll poll;
};

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, const Start& start, int threads);
// In a build with CUDA. Throw std::invalid_argument for a device that does not exist.
std::unique_ptr<Engine> make_cuda_engine_of_points(State state, const Start& start, int device);
std::unique_ptr<Engine> make_cuda_engine_of_molecules(State state, const Start& start, int device);

}  // namespace manymove::adsorption
