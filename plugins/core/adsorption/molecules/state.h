// SPDX-License-Identifier: BSD-3-Clause
// What the engines for rigid molecules share on the host: checks, the waves of Ewald's sum, and the
// grids of the framework.
#pragma once

#include <algorithm>
#include <cmath>

#include "../state.h"
#include "arrays.h"

namespace manymove::adsorption {

// The mesh of MeshModel, in float; without quads where there is none.
struct MeshTables {
  int points[3] = {}, highest[3] = {}, alone_half[3] = {}, most_rows = 0, most_quads = 0;
  std::vector<MeshQuad> quads;
  std::vector<MeshRow> rows;
  std::vector<std::int32_t> layer;
  std::vector<MeshWeights<float>> weights;
  std::vector<float> alone;
};

struct MoleculeState : State {
  double edges[6];    // of the box: xx, xy, xz, yy, yz, zz of docs/theory/molecules.md
  double inverse[6];  // of the same matrix
  bool charged = false, felt_charges = false;  // molecules; and a framework that acts on them
  std::vector<PairLaw<float>> float_laws;      // [types][types]
  std::vector<PairLaw<double>> double_laws;
  std::vector<WaveRow> rows;
  std::vector<float> float_weights;  // [waves]
  std::vector<double> double_weights;
  MeshTables mesh;
  std::vector<ChargedImage> atoms;               // images within the cutoff of the unit cell
  std::vector<PairLaw<double>> atom_laws;        // [kinds][types]
  std::vector<AngleTable> tables;                // of chains
  std::vector<ChainBody> chains;                 // [species], or none
  std::vector<IdealChain> ideal;                 // likewise
  double framework_alpha = 0;                    // of the framework's potential
  std::vector<std::array<double, 5>> potential;  // its waves: k and the amplitude

  const PairLaw<float>* laws(float) const { return float_laws.data(); }
  const PairLaw<double>* laws(double) const { return double_laws.data(); }
  const float* weights(float) const { return float_weights.data(); }
  const double* weights(double) const { return double_weights.data(); }
  int waves() const { return static_cast<int>(double_weights.size()); }
  int types() const { return static_cast<int>(parameters.rigid->types.size()); }
  bool has_framework() const { return !parameters.framework.kind.empty(); }
  int places() const;
  std::size_t shape_size() const {  // of a slot
    std::size_t most = 0;
    for (const auto& sites : parameters.rigid->bodies) most = std::max(most, sites.size());
    return chains.empty() ? 0 : 3 * most;
  }
};

// Checks everything; no grid and no molecules yet.
MoleculeState make_molecule_state(const Parameters& parameters);
// The images of the framework's atoms, and the waves of its potential.
void collect_atoms(MoleculeState& state);
void make_potential(MoleculeState& state);
// Whether the waves at the end of Ewald's sum are so small that the error of the mesh, which is
// largest for them, is as docs/theory/molecules.md has it.
inline bool waves_decay(const Rigid& rigid) {
  const double phase = rigid.wave_cutoff / (2 * rigid.alpha);
  return std::exp(-phase * phase) <= 1e-4;
}
// The tables, the chains and the ideal chains; none where molecules are rigid.
void make_chains(MoleculeState& state);
void fill_chain_model(const MoleculeState& state, const AngleTable* tables, ChainModel& model);
// Largest distance of a bead from the center.
double chain_reach(const ChainBody& body, int sites);
// Calls task(slot, species) for the slots of all systems that have a molecule; the other slots of a
// checkpoint may have any content. counts: [systems][species], within the capacities.
template <class Task>
void each_molecule(const MoleculeState& state, const std::vector<std::int32_t>& counts,
                   const Task& task) {
  const std::vector<Species>& species = state.parameters.species;
  std::size_t slot = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t b = i % species.size();
    for (int k = 0; k < counts[i]; ++k) task(slot + k, b);
    slot += species[b].capacity;
  }
}
void check_shapes(const MoleculeState& state, const Snapshot& snapshot);
// The mesh of the waves, for steps of several proposals in mixed precision.
void make_mesh(MoleculeState& state);
void fill_mesh_model(const MeshTables& tables, MeshModel<float>& model);
inline void fill_mesh_model(const MeshTables&, MeshModel<double>&) {}
// Fills the grids by rows: fill(row, energies, potential) for each of the grid's rows.
GridRow grid_row(const MoleculeState& state, int row, int layer);
// lennard_jones: [types][z][y][x] of the unit cell; potential: [z][y][x], its real-space part.
void finish_grid(MoleculeState& state, std::vector<double>&& lennard_jones,
                 std::vector<double>&& potential);
void adopt(MoleculeState& state, const double* positions, const double* orientations);
void adopt(MoleculeState& state, const Snapshot& snapshot);
// After the capacities have changed: room for poses, without molecules; and with them.
void make_room(MoleculeState& state);
void grow(MoleculeState& state, unsigned full);
// The framework's energy at a site's place, summed over the atoms and the waves.
double direct_site_energy(const MoleculeState& state, int type, const double* xyz);

template <class F>
MoleculeArrays<F> make_arrays(const MoleculeState& state, const F* grid);
template <class StateOfEngine, class F>
using ArraysOf =
    decltype(make_arrays(std::declval<const StateOfEngine&>(), std::declval<const F*>()));
template <class F>
void framework_energies(const MoleculeState& state, const double* xyz, std::size_t count, int type,
                        bool direct, double* energies);

std::unique_ptr<Engine> make_cpu_engine(MoleculeState state, const Adopt<MoleculeState>& molecules,
                                        int threads);
// threads: of the CPU, which fill the grid.
std::unique_ptr<Engine> make_cuda_engine(MoleculeState state, const Adopt<MoleculeState>& molecules,
                                         int device, int threads);

}  // namespace manymove::adsorption
