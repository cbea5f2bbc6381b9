// SPDX-License-Identifier: BSD-3-Clause
// Rigid molecules on a core. Compiled once per SIMD level; nothing here may instantiate what other
// sources also instantiate.
#include "../../moves/starts.h"
#include "../../moves/steps.h"
#include "../../moves/test_insertions.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

// A team that is a loop over W lanes: the compiler makes SIMD code of it.
template <int W>
struct Loop {
  using One = Loop;
  static constexpr int width = W;
  template <class T>
  struct Lane {
    alignas(64) T value[W];
    T& operator[](int l) { return value[l]; }
    const T& operator[](int l) const { return value[l]; }
  };
  template <class T>
  struct Levels {
    T level[6][W];
    T partial(int n, int l) const { return level[n][l]; }
    T total() const { return level[5][0]; }
  };

  template <class Function>
  static void each(const Function& f) {
    for (int l = 0; l < W; ++l) f(l);
  }
  template <class Function>
  static void share(int count, const Function& f) {
    for (int i = 0; i < count; ++i) f(i);
  }
  template <class Function>
  static void tasks(TeamPointer<TeamCounters>, int count, const Function& f) {
    for (int t = 0; t < count; ++t) f(t);
  }
  static void reset(TeamPointer<TeamCounters>) {}
  static std::int64_t total(TeamPointer<TeamCounters>, std::int64_t amount) { return amount; }
  template <class F>
  static void bring(const F*, int, TeamPointer<F>) {}
  static bool first_warp() { return true; }
  static One one() { return {}; }
  template <class Function>
  static void first_lanes(int some, const Function& f) {
    for (int l = 0; l < some; ++l) f(l);
  }
  template <class T>
  static T sum(const Lane<T>& values) {
    return levels_of(values, [](T a, T b) { return a + b; });
  }
  template <class T>
  static T lowest(const Lane<T>& values) {
    return levels_of(values, [](T a, T b) { return a < b ? a : b; });
  }
  template <class T>
  static T highest(const Lane<T>& values) {
    return levels_of(values, [](T a, T b) { return a > b ? a : b; });
  }
  // Sums of a butterfly, each level kept.
  template <class T>
  static Levels<T> levels(const Lane<T>& values) {
    Levels<T> all;
    for (int l = 0; l < W; ++l) all.level[0][l] = values[l];
    for (int n = 0; n < 5; ++n)
      for (int l = 0; l < W; ++l)
        all.level[n + 1][l] = all.level[n][l] + all.level[n][(l ^ (16 >> n)) % W];
    return all;
  }
  template <class Test, class Store>
  static int compact(int count, const Test& test, const Store& store) {
    int place = 0;
    for (int i = 0; i < count; ++i)
      if (test(i)) store(i, place++);
    return place;
  }
  static bool any(const Lane<bool>& values) {
    bool found = false;
    for (int l = 0; l < W; ++l) found |= values[l];
    return found;
  }
  static bool leads() { return true; }
  static void sync() {}
  static void add(std::uint64_t* to, std::uint64_t amount) {
    __atomic_fetch_add(to, amount, __ATOMIC_RELAXED);
  }

 private:
  template <class T, class Join>
  static T levels_of(const Lane<T>& values, const Join& join) {
    T part[W], next[W];
    for (int l = 0; l < W; ++l) part[l] = values[l];
    for (int off = W / 2; off > 0; off /= 2) {
      for (int l = 0; l < W; ++l) next[l] = join(part[l], part[l ^ off]);
      for (int l = 0; l < W; ++l) part[l] = next[l];
    }
    return part[0];
  }
};
using Team = Loop<kWidth>;
using Alone = Loop<1>;

template <class F>
void run_system(const MoleculeArrays<F>& w, int system, const MoleculeScratch<F>& scratch,
                MoveCounts& moves) {
  if (w.chains.sites && w.method == Method::metropolis) {
    MoleculeSystem<Alone, F, true> s(w, system, Alone{}, scratch);
    run_steps<Steps::chains>(s, moves);
  } else if (w.chains.sites) {
    MoleculeSystem<Team, F, true> s(w, system, Team{}, scratch);
    run_steps<Steps::chains>(s, moves);
  } else if (w.method == Method::metropolis) {
    MoleculeSystem<Alone, F> s(w, system, Alone{}, scratch);
    if (steps_of(w) == Steps::trials)
      run_steps<Steps::trials>(s, moves);
    else
      run_steps<Steps::one>(s, moves);
  } else {
    MoleculeSystem<Team, F> s(w, system, Team{}, scratch);
    switch (steps_of(w)) {
      case Steps::one:
        run_steps<Steps::one>(s, moves);
        break;
      case Steps::several:
        run_steps<Steps::several>(s, moves);
        break;
      case Steps::trials:
        run_steps<Steps::trials>(s, moves);
        break;
      case Steps::chains:
        break;  // above
    }
  }
}

template <class F>
void place_molecules(const MoleculeArrays<F>& w, int system, const MoleculeScratch<F>& scratch,
                     MoveCounts& moves) {
  if (moves.stuck) return;  // where one system finds no room, the others are not tried
  if (w.chains.sites) {
    MoleculeSystem<Team, F, true> s(w, system, Team{}, scratch);
    if (!place_chains(s)) moves.stuck = true;
    return;
  }
  MoleculeSystem<Team, F> s(w, system, Team{}, scratch);
  if (!place_all(s)) moves.stuck = true;
}

template <class F>
void sum_energies(const MoleculeArrays<F>& w, int system, const MoleculeScratch<F>& scratch) {
  if (w.chains.sites) {
    MoleculeSystem<Team, F, true> s(w, system, Team{}, scratch);
    w.energies[system] = s.total_energy();
    return;
  }
  MoleculeSystem<Team, F> s(w, system, Team{}, scratch);
  w.energies[system] = s.total_energy();
}

template <class F>
void insert_test_molecules(const MoleculeTestInsertions<F>& t, int system,
                           const MoleculeScratch<F>& scratch) {
  if (t.work.chains.sites) {
    MoleculeSystem<Team, F, true> s(t.work, system, Team{}, scratch);
    insert_test_chains(t, s);
    return;
  }
  MoleculeSystem<Team, F> s(t.work, system, Team{}, scratch);
  insert_tests(t, s);
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
MoleculeKernels<F> kernels_of() {
  return {&run_system<F>, &place_molecules<F>, &sum_energies<F>, &insert_test_molecules<F>,
          &fill_row};
}

}  // namespace

void use(MoleculeKernels<float>& kernels) { kernels = kernels_of<float>(); }
void use(MoleculeKernels<double>& kernels) { kernels = kernels_of<double>(); }

}  // namespace manymove::adsorption::MANYMOVE_SIMD
