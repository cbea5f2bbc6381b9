// SPDX-License-Identifier: BSD-3-Clause
// What the kernels for rigid molecules work on, on a host or on a device.
#pragma once

#include "../arrays.h"
#include "../engine.h"
#include "../team.h"
#include "chain_model.h"
#include "model.h"

namespace manymove::adsorption {

template <class F>
struct MoleculeArrays : SystemArrays<F> {
  MoleculeModel<F> r;
  ChainModel chains;
  int trial_positions, trial_orientations;
  // Upper limits of common_draw()'s kind for these moves, after m.exchange.
  std::uint32_t reinsert_below, identity_below, regrow_below;
  int places;         // slots of sites of a system: of each species, its sites times its slots
  int most_sites;     // of a molecule
  bool meshes;        // steps of several proposals near the old one use the model's mesh
  F most_of_trials;   // a trial with a higher framework energy has no weight
  Quaternion* turns;  // [systems][slots]
  double* waves;      // [systems][waves][2]: structure factors, cosine and sine
  double* shapes;     // [systems][slots][chains.sites][3]: offsets of chains' sites
  F* changes;         // [systems][MoleculeScratch::slow()], on a GPU
};

// Sites near a moving molecule, in runs of one type.
struct NearRun {
  int type, begin, count;
};
inline constexpr int kMostRuns = kMostSpecies * kMostSites;

// Energies that are added up in any order, in units of 2^-20 K.
inline constexpr double kQuantum = 0x1p-20;

// At least kWidth, for starts and test molecules.
template <class F>
MM_HD int walk_length(const MoleculeArrays<F>& w) {
  return several_proposals(w.method) ? w.proposals : kWidth;
}

template <class F>
MM_HD Steps steps_of(const MoleculeArrays<F>& w) {
  if (w.chains.sites) return Steps::chains;
  if (several_proposals(w.method)) return Steps::several;
  const bool many = w.trial_positions * w.trial_orientations > 1;
  return many || w.identity_below > w.r.m.exchange ? Steps::trials : Steps::one;
}

// Memory of one worker besides the state: where the sites are, and what a step needs.
template <class F>
struct MoleculeScratch {
  TeamPointer<std::uint32_t> sites[3];  // [places]
  TeamPointer<std::uint32_t> near[3];   // [places]: sites close to the molecule that moves
  TeamPointer<NearRun> runs;            // [kMostRuns]
  TeamPointer<Choice> choice;
  TeamPointer<Pose> walk[2];       // [most proposals], also of starts and test molecules
  TeamPointer<F> energy;           // [most proposals or trials]
  TeamPointer<F> weight;           // [most proposals or trials]
  TeamPointer<std::int32_t> open;  // [trials]
  TeamPointer<Site> beads;         // [trials]: trial places of a chain's bead
  TeamPointer<double> offsets;     // [trials][3]: their offsets from the center, without rotation
  TeamPointer<Site> grown;         // [chains.sites]: beads of the chain that grows
  TeamPointer<double> shape;       // [chains.sites][3]: their offsets
  TeamPointer<TeamCounters> counters;
  F* change;  // [waves][2]
  F* others;  // [waves][2]
  MeshScratch<F> mesh;

  MM_HD static std::size_t align(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  // Bytes of a worker's memory for the arrays of TeamPointers.
  MM_HD static std::size_t bytes(const MoleculeArrays<F>& w) {
    const MeshModel<F>& m = w.r.mesh;
    std::size_t sum = align(kMostRuns * sizeof(NearRun)) + align(sizeof(Choice)) +
                      6 * align(static_cast<std::size_t>(w.places) * sizeof(std::uint32_t)) +
                      2 * align(walk_size(w)) + 2 * align(energies(w) * sizeof(F)) +
                      align(trials(w) * sizeof(std::int32_t));
    if (const auto n = static_cast<std::size_t>(w.chains.sites))
      // For chains: trial places and offsets of a bead, places and offsets of the growing chain.
      sum += align(trials(w) * sizeof(Site)) + align(3 * trials(w) * sizeof(double)) +
             align(n * sizeof(Site)) + align(3 * n * sizeof(double));
    if (w.meshes) sum += align(kMeshNodes * sizeof(F)) + align(phases(w, m)) + tables(m);
    return sum + align(sizeof(TeamCounters));
  }
  // Numbers of slow memory of a worker, a multiple of 16.
  MM_HD static std::size_t slow(const MoleculeArrays<F>& w) {
    return (4 * static_cast<std::size_t>(w.r.waves) + 15) / 16 * 16;
  }
  // memory: bytes(w), aligned to 64; waves: slow(w), aligned likewise.
  MM_HD MoleculeScratch(TeamPointer<char> memory, const MoleculeArrays<F>& w, F* waves)
      : change(waves + 2 * static_cast<std::size_t>(w.r.waves)), others(waves) {
    const auto take = [&](std::size_t size) {
      const TeamPointer<char> from = memory;
      memory = memory + static_cast<int>(align(size));
      return from;
    };
    const std::size_t places = static_cast<std::size_t>(w.places) * sizeof(std::uint32_t);
    // The arrays that bytes() counts, each at a multiple of 64 bytes.
    for (int a = 0; a < 3; ++a) sites[a] = take(places).template as<std::uint32_t>();
    for (int a = 0; a < 3; ++a) near[a] = take(places).template as<std::uint32_t>();
    runs = take(kMostRuns * sizeof(NearRun)).template as<NearRun>();
    choice = take(sizeof(Choice)).template as<Choice>();
    for (int b = 0; b < 2; ++b) walk[b] = take(walk_size(w)).template as<Pose>();
    energy = take(energies(w) * sizeof(F)).template as<F>();
    weight = take(energies(w) * sizeof(F)).template as<F>();
    open = take(trials(w) * sizeof(std::int32_t)).template as<std::int32_t>();
    if (const auto n = static_cast<std::size_t>(w.chains.sites)) {
      beads = take(trials(w) * sizeof(Site)).template as<Site>();
      offsets = take(3 * trials(w) * sizeof(double)).template as<double>();
      grown = take(n * sizeof(Site)).template as<Site>();
      shape = take(3 * n * sizeof(double)).template as<double>();
    }
    counters = take(sizeof(TeamCounters)).template as<TeamCounters>();
    if (!w.meshes) return;
    const MeshModel<F>& m = w.r.mesh;
    mesh.values = take(kMeshNodes * sizeof(F)).template as<F>();
    mesh.phases = take(phases(w, m)).template as<MeshPhase<F>>();
    mesh.amplitudes = take(m.most_quads * sizeof(MeshAmplitude<F>)).template as<MeshAmplitude<F>>();
#if defined(__CUDA_ARCH__)
    mesh.alone = mesh.amplitudes.template as<F>();
#else
    mesh.alone = TeamPointer<const F>(m.alone);
#endif
    mesh.circle = take(circle(m.layers)).template as<MeshPhase<F>>();
    for (int a = 0; a < 2; ++a)
      mesh.turning[a] = take(circle(m.highest[a] + 1)).template as<MeshPhase<F>>();
  }

 private:
  MM_HD static std::size_t trials(const MoleculeArrays<F>& w) {
    // One place more for the old pose.
    int most = (w.trial_positions + 1) * w.trial_orientations;  // of a reinsertion
    if (steps_of(w) == Steps::chains)  // at least kWidth, for starts and test molecules
      most = w.trial_positions > w.trial_orientations ? w.trial_positions : w.trial_orientations;
    else if (steps_of(w) != Steps::trials)
      return 0;
    return static_cast<std::size_t>((most + kWidth - 1) / kWidth * kWidth);
  }
  MM_HD static std::size_t energies(const MoleculeArrays<F>& w) {
    const auto proposals = static_cast<std::size_t>(walk_length(w));
    return trials(w) > proposals ? trials(w) : proposals;
  }
  // Also of the mesh's sums along x, where poses are no more.
  MM_HD static std::size_t walk_size(const MoleculeArrays<F>& w) {
    const std::size_t poses = static_cast<std::size_t>(walk_length(w)) * sizeof(Pose),
                      plane = static_cast<std::size_t>(w.r.mesh.most_rows) * kMeshSide *
                              sizeof(MeshSums<F>);
    return poses > plane ? poses : plane;
  }
  // Of the sum over the waves; afterwards the mesh around a molecule alone is there on a GPU.
  MM_HD static std::size_t tables(const MeshModel<F>& m) {
    const std::size_t sums = align(m.most_quads * sizeof(MeshAmplitude<F>)) +
                             align(circle(m.layers)) + align(circle(m.highest[0] + 1)) +
                             align(circle(m.highest[1] + 1)),
                      alone = align(alone_nodes(m) * sizeof(F));
    return sums > alone ? sums : alone;
  }
  MM_HD static std::size_t circle(int waves) {
    return static_cast<std::size_t>(waves) * kMeshSide * sizeof(MeshPhase<F>);
  }
  MM_HD static std::size_t phases(const MoleculeArrays<F>& w, const MeshModel<F>& m) {
    return static_cast<std::size_t>(2 * w.most_sites + 1) * phases_of_point(m) *
           sizeof(MeshPhase<F>);
  }
};

MANYMOVE_KERNELS(Kernels<MoleculeArrays<float>>)
MANYMOVE_KERNELS(Kernels<MoleculeArrays<double>>)

}  // namespace manymove::adsorption
