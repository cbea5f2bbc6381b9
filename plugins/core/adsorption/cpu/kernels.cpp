// SPDX-License-Identifier: BSD-3-Clause
// Adsorbates on a core. Compiled once per SIMD level; nothing here may instantiate what other
// sources also instantiate.
#include "../../runtime/vec.h"  // first: the templates of model.h must see its operators
//
#include "loop_points.h"
#include "run_systems.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

// ---- pmc: kTogether systems in SIMD lanes ----

template <class F>
void run_together(const PointArrays<F>& w, int first, const PointScratch<F>& scratch,
                  MoveCounts& moves) {
  constexpr int W = kTogether;
  const Model<F>& m = w.m;
  const int n = w.slots, used = w.systems - first < W ? w.systems - first : W;
  auto* const ids = reinterpret_cast<std::uint32_t*>(scratch.sites);
  const auto site_at = [&](int slot, int l) {
    // [slot][3][W]: a coordinate of the W systems side by side.
    const std::uint32_t* p = ids + static_cast<std::size_t>(slot) * 3 * W + l;
    return Site{p[0], p[W], p[2 * W]};
  };
  const auto put = [&](int slot, int l, const Site& s) {
    std::uint32_t* p = ids + static_cast<std::size_t>(slot) * 3 * W + l;
    p[0] = s.x;
    p[W] = s.y;
    p[2 * W] = s.z;
    const Point<F> q = to_point(m, s);
    scratch.x[slot * W + l] = q.x;
    scratch.y[slot * W + l] = q.y;
    scratch.z[slot * W + l] = q.z;
  };
  double energy[W];
  Averages averages[W];
  std::uint32_t system[W];
  for (int l = 0; l < W; ++l) {  // spare lanes repeat the last system; their results are not used
    system[l] = static_cast<std::uint32_t>(first + (l < used ? l : used - 1));
    energy[l] = w.energies[system[l]];
    averages[l] = load_averages(w, static_cast<int>(system[l]));
    for (int slot = 0; slot < n; ++slot)
      put(slot, l, w.sites[static_cast<std::size_t>(system[l]) * n + slot]);
  }
  for (std::uint64_t t = w.first_step; t < w.first_step + w.steps; ++t) {
    // All systems try to move the same molecule, so that the lanes read the same slots.
    const auto k = static_cast<int>(
        uniform_below(common_draw(m.key, t).molecule, static_cast<std::uint32_t>(n)));
    // The systems are closed, so that slot k holds a molecule of the same species in all of them.
    int species = 0;
    // Slots of a species follow each other.
    while (k >= m.first_slot[species + 1]) ++species;
    // Philox for as many systems at a time as a register has lanes.
    alignas(64) std::uint32_t word[4][W];
    for (int base = 0; base < W; base += kLanes) {
      UintLanes lanes[4], id;
      __builtin_memcpy(&id, system + base, sizeof id);
      random_words(lanes, m.key, t, id, UintLanes{}, Purpose::propose);
      for (int a = 0; a < 4; ++a) __builtin_memcpy(word[a] + base, &lanes[a], sizeof lanes[a]);
    }
    Site fresh[W];
    alignas(64) F ax[W], ay[W], az[W], bx[W], by[W], bz[W], sum[W], field[W];
    for (int l = 0; l < W; ++l) {
      const std::uint32_t own[3] = {word[0][l], word[1][l], word[2][l]};
      const Site old = site_at(k, l);
      fresh[l] = moved(old, step_of(m, own));
      const Point<F> a = to_point(m, fresh[l]);
      ax[l] = a.x, ay[l] = a.y, az[l] = a.z;
      bx[l] = scratch.x[k * W + l], by[l] = scratch.y[k * W + l], bz[l] = scratch.z[k * W + l];
      // E_grid(r') - E_grid(r) of Eq. 5.
      sum[l] = 0;
      field[l] = framework_energy(m, species, fresh[l]) - framework_energy(m, species, old);
    }
    for (int b = 0; b < m.species; ++b) {
      const PairLaw<F> law = m.law[species][b];
      for (int j = m.first_slot[b]; j < m.first_slot[b + 1]; ++j) {
        if (j == k) continue;
        const F *x = scratch.x + j * W, *y = scratch.y + j * W, *z = scratch.z + j * W;
        for (int l = 0; l < W; ++l)
          // Eq. 5: sum_j u(r'_ij) - u(r_ij).
          sum[l] += pair_energy(m, law, {ax[l], ay[l], az[l]}, x[l], y[l], z[l]) -
                    pair_energy(m, law, {bx[l], by[l], bz[l]}, x[l], y[l], z[l]);
      }
    }
    for (int l = 0; l < used; ++l) {
      // Eq. 2: accepted with the probability min(1, exp(-beta dE)).
      const F difference = min_of(sum[l] + field[l], F(kForbidden));
      if (metropolis(m.beta, difference, word[3][l])) {
        put(k, l, fresh[l]);
        energy[l] += static_cast<double>(difference);
        ++moves.accepted;
      }
      if (w.measure) {
        averages[l].measure(energy[l]);
        if (m.bins)
          Alone::add(w.profile + static_cast<std::size_t>((first + l) % w.groups) * m.bins +
                         profile_bin(m, site_at(k, l)),
                     quantum(1));
      }
    }
    const bool refresh = (t + 1) % kRefresh == 0;
    if (!refresh && t + 1 < w.first_step + w.steps) continue;
    for (int l = 0; l < used; ++l)
      for (int slot = 0; slot < n; ++slot)
        w.sites[static_cast<std::size_t>(first + l) * n + slot] = site_at(slot, l);
    if (!refresh) continue;
    for (int l = 0; l < used; ++l)
      // What the energy that was carried along has lost by rounding is kept as the drift.
      averages[l].renew(system_of<Team>(w, first + l, scratch).total_energy(), energy[l]);
    for (int l = 0; l < W; ++l)  // the systems used the same memory
      for (int slot = 0; slot < n; ++slot)
        put(slot, l, w.sites[static_cast<std::size_t>(system[l]) * n + slot]);
  }
  for (int l = 0; l < used; ++l) {
    w.energies[first + l] = energy[l];
    store_averages(w, first + l, averages[l]);
  }
}

template <class F>
void run_systems(const PointArrays<F>& w, int first, void* memory, MoveCounts& moves) {
  if (w.method == Method::pmc)
    run_together(w, first, *static_cast<const PointScratch<F>*>(memory), moves);
  else
    run_system(w, first, memory, moves);
}

}  // namespace

void use(Kernels<PointArrays<float>>& kernels) { kernels = kernels_of(&run_systems<float>); }
void use(Kernels<PointArrays<double>>& kernels) { kernels = kernels_of(&run_systems<double>); }

}  // namespace manymove::adsorption::MANYMOVE_SIMD
