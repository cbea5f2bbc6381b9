// SPDX-License-Identifier: BSD-3-Clause
// Rigid molecules on a core. Compiled once per SIMD level; nothing here may instantiate what other
// sources also instantiate.
#include "../../cpu/loop_team.h"
#include "../../moves/starts.h"
#include "../../moves/steps.h"
#include "../../moves/test_insertions.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

template <class F>
MoleculeScratch<F> scratch_in(const MoleculeArrays<F>& w, void* memory) {
  auto* const from = static_cast<char*>(memory);
  return {TeamPointer<char>{from}, w, reinterpret_cast<F*>(from + MoleculeScratch<F>::bytes(w))};
}

// Calls run(system) for chains or rigid molecules; the method metropolis adds up energies one by
// one, the others as a warp does.
template <class TeamOf, class F, class Run>
void with_system(const MoleculeArrays<F>& w, int system, void* memory, const Run& run) {
  const MoleculeScratch<F> scratch = scratch_in(w, memory);
  constexpr TeamOf kTeam;
  if (w.chains.sites) {
    MoleculeSystem<TeamOf, F, true> s(w, system, kTeam, scratch);
    run(s);
  } else {
    MoleculeSystem<TeamOf, F> s(w, system, kTeam, scratch);
    run(s);
  }
}

template <class F>
void run_systems(const MoleculeArrays<F>& w, int system, void* memory, MoveCounts& moves) {
  const Steps kind = steps_of(w);
  const auto run = [&](auto& s) {
    using System = std::remove_reference_t<decltype(s)>;
    if constexpr (System::kChains)
      run_steps<Steps::chains>(s, moves);
    else if (kind == Steps::trials)
      run_steps<Steps::trials>(s, moves);
    else if constexpr (System::kLanes > 1)
      kind == Steps::several ? run_steps<Steps::several>(s, moves)
                             : run_steps<Steps::one>(s, moves);
    else
      run_steps<Steps::one>(s, moves);
  };
  if (w.method == Method::metropolis)
    with_system<Alone>(w, system, memory, run);
  else
    with_system<Team>(w, system, memory, run);
}

template <class F>
void place_molecules(const MoleculeArrays<F>& w, int system, void* memory, MoveCounts& moves) {
  if (moves.stuck) return;  // where one system finds no room, the others are not tried
  with_system<Team>(w, system, memory, [&](auto& s) { moves.stuck = !place_molecules(s); });
}

template <class F>
void sum_energies(const MoleculeArrays<F>& w, int system, void* memory) {
  with_system<Team>(w, system, memory, [&](auto& s) { w.energies[system] = s.total_energy(); });
}

template <class F>
void insert_test_molecules(const TestInsertions<MoleculeArrays<F>>& t, int system, void* memory) {
  with_system<Team>(t.arrays, system, memory, [&](auto& s) { insert_tests(t, s); });
}

void fill_row(const GridRow& g, double* energies, double* potential) {
  const int n = g.points;
  for (int i = 0; i < g.types * n; ++i) energies[i] = 0;
  for (int i = 0; g.charged && i < n; ++i) potential[i] = 0;
  for (std::size_t i = 0; i < g.count; ++i) {
    const ChargedImage a = g.images[i];
    const double dy = g.y - a.y, dz = g.z - a.z, across = dz * dz + dy * dy;
    if (!(across < g.cutoff2)) continue;
    const double half = square_root(g.cutoff2 - across), middle = a.x - g.start;
    const auto bound = [&](double x) {  // a point not after x
      const double p = x / g.spacing;
      return p < 0 ? 0 : p > n ? n : static_cast<int>(p);
    };
    const int first = bound(middle - half), last = bound(middle + half) + 1;
    const int end = last < n ? last : n;
    for (int t = 0; t < g.types; ++t) {
      const PairLaw<double> law = g.laws[static_cast<std::size_t>(a.kind) * g.types + t];
      if (law.repulsion == 0) continue;
      double* out = energies + t * n;
      for (int p = first; p < end; ++p)
        out[p] += image_energy(law, a.x, a.y, a.z, g.start + p * g.spacing, g.y, g.z);
    }
    if (a.charge == 0) continue;
    for (int p = first; p < end; ++p) {
      const double dx = g.start + p * g.spacing - a.x, r2 = dx * dx + across;
      potential[p] += r2 < g.cutoff2 ? a.charge * image_potential(g.alpha, r2) : 0;
    }
  }
}

template <class F>
void set_kernels(Kernels<MoleculeArrays<F>>& kernels) {
  kernels = {&run_systems<F>, &place_molecules<F>, &sum_energies<F>, &insert_test_molecules<F>};
}

}  // namespace

void use(Kernels<MoleculeArrays<float>>& kernels) { set_kernels(kernels); }
void use(Kernels<MoleculeArrays<double>>& kernels) { set_kernels(kernels); }
void use(SiteGridKernels& kernels) { kernels = {&fill_row}; }

}  // namespace manymove::adsorption::MANYMOVE_SIMD
