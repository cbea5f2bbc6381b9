// SPDX-License-Identifier: BSD-3-Clause
// Adsorbates on a core. Compiled once per SIMD level; nothing here may instantiate what other
// sources also instantiate. Sums have the order of cuda/kernels.cuh's threads and warps.
#include "../../runtime/vec.h"  // first: the templates of model.h must see its operators
//
#include "../point_trials.h"
#include "system.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

// Adds up a system's energy from scratch, pairs over kWidth lanes as a warp does.
template <class F>
double total_energy(const System<F>& s) {
  double part[kWidth] = {};
  for (int a = 0; a < s.m.species; ++a)
    for (int i = 0; i < s.counts[a]; ++i) {
      const int slot = s.m.first_slot[a] + i;
      const Point<F> p{s.x[slot], s.y[slot], s.z[slot]};
      double& sum = part[i % kWidth];
      sum += static_cast<double>(framework_energy(s.m, a, s.sites[slot]));
      for (int b = a; b < s.m.species; ++b) {
        const PairLaw<F> law = s.m.law[a][b];
        const int begin = s.m.first_slot[b], end = begin + s.counts[b];
        for (int j = a == b ? slot + 1 : begin; j < end; ++j)
          sum += static_cast<double>(pair_energy(s.m, law, p, s.x[j], s.y[j], s.z[j]));
      }
    }
  for (int off = kWidth / 2; off > 0; off /= 2) {
    double next[kWidth];
    for (int l = 0; l < kWidth; ++l) next[l] = part[l] + part[l ^ off];
    for (int l = 0; l < kWidth; ++l) part[l] = next[l];
  }
  return part[0];
}

template <class F>
void add_to(const PointArrays<F>& w, int system, Sum sum, double value) {
  w.sums[static_cast<std::size_t>(sum) * w.systems + system] += value;
}

template <class F>
void count_place(const PointArrays<F>& w, int system, const Site& site, double probability) {
  const std::uint64_t q = quantum(probability);
  if (q)
    __atomic_fetch_add(
        w.profile + static_cast<std::size_t>(system % w.groups) * w.m.bins + profile_bin(w.m, site),
        q, __ATOMIC_RELAXED);
}

template <class F>
void measure_state(const PointArrays<F>& w, int system, double energy, const std::int32_t* counts) {
  add_to(w, system, kPlain, energy);
  double& squares = w.sums[static_cast<std::size_t>(kEnergySquared) * w.systems + system];
  squares = fused(energy, energy, squares);
  if (!w.m.exchange) return;
  double n = 0;
  for (int b = 0; b < w.m.species; ++b) {
    n += counts[b];
    add_to(w, system, static_cast<Sum>(kOfSpecies + b), counts[b]);
  }
  add_to(w, system, kNumber, n);
  add_to(w, system, kNumberSquared, n * n);
  double& cross = w.sums[static_cast<std::size_t>(kEnergyNumber) * w.systems + system];
  cross = fused(energy, n, cross);
  if (w.m.species > 1) add_mixture(w.sums + system, w.systems, w.m.species, energy, counts);
}

template <class F>
void renew_energy(const PointArrays<F>& w, int system, double fresh, double& energy) {
  double& drift = w.sums[static_cast<std::size_t>(kDrift) * w.systems + system];
  drift = highest_of(drift, magnitude(fresh - energy));
  energy = fresh;
}

// ---- one proposal per step ----

// A system whose energies are sums over kWidth lanes (Wide, for plj) or one by one (pmc).
template <class F, bool Wide>
struct SingleProposal : System<F> {
  using Real = F;
  using System<F>::System, System<F>::m, System<F>::counts, System<F>::sites;

  F pair_change(int species, const Point<F>* to, const Point<F>* from, int slot) {
    if constexpr (!Wide) {
      F sum = 0;
      for_others(species, [&](const PairLaw<F>& law, int begin, int end) {
        for (int j = begin; j < end; ++j)
          if (j != slot) sum += change_with(law, to, from, j);
      });
      return sum;
    }
    const F kept = slot < 0 ? F(0) : this->x[slot];
    if (slot >= 0) this->x[slot] = kFar<F>;
    F part[kWidth] = {};
    for_others(species, [&](const PairLaw<F>& law, int begin, int end) {
      for (int base = begin; base < end; base += kWidth) {
        const int lanes = end - base < kWidth ? end - base : kWidth;
        if (to && from)
          for (int l = 0; l < lanes; ++l) part[l] += change_with(law, to, from, base + l);
        else
          for (int l = 0; l < lanes; ++l) part[l] += pair_with(law, to ? *to : *from, base + l);
      }
    });
    if (slot >= 0) this->x[slot] = kept;
    for (int off = kWidth / 2; off > 0; off /= 2) {
      F next[kWidth];
      for (int l = 0; l < kWidth; ++l) next[l] = part[l] + part[l ^ off];
      for (int l = 0; l < kWidth; ++l) part[l] = next[l];
    }
    return part[0];
  }
  F field_change(int species, const Site& fresh, const Site& old) const {
    return framework_energy(m, species, fresh) - framework_energy(m, species, old);
  }
  void sync() const {}
  void move(int slot, const Site& site) { this->put(slot, site); }
  void insert(int species, const Site& site) {
    this->put(m.first_slot[species] + counts[species]++, site);
  }
  void remove(int species, int slot) {
    this->put(slot, sites[m.first_slot[species] + --counts[species]]);
  }
  void count_place(const Site& site) const {
    adsorption::MANYMOVE_SIMD::count_place(this->w, this->id, site, 1);
  }

 private:
  template <class Visit>
  void for_others(int species, const Visit& visit) const {
    for (int b = 0; b < m.species; ++b)
      visit(m.law[species][b], m.first_slot[b], m.first_slot[b] + counts[b]);
  }
  F pair_with(const PairLaw<F>& law, const Point<F>& p, int j) const {
    return pair_energy(m, law, p, this->x[j], this->y[j], this->z[j]);
  }
  F change_with(const PairLaw<F>& law, const Point<F>* to, const Point<F>* from, int j) const {
    const F fresh = to ? pair_with(law, *to, j) : F(0),
            old = from ? pair_with(law, *from, j) : F(0);
    return to && from ? fresh - old : fresh + old;
  }
};

template <class F, bool Wide>
void run_single(const PointArrays<F>& w, int system, const Scratch<F>& scratch, MoveCounts& moves) {
  SingleProposal<F, Wide> s(w, system, scratch);
  std::uint64_t t = w.again ? w.reached[system] : w.first_step;
  for (; t < w.first_step + w.steps; ++t) {
    const CommonDraw draw = common_draw(w.m.key, t);
    if (draw.kind >= w.m.exchange)
      translate(s, t, draw.molecule, moves);
    else if (!exchange(s, t, moves))
      break;
    if (w.measure) measure_state(w, system, s.energy, s.counts);
    if ((t + 1) % kRefresh == 0) renew_energy(w, system, total_energy(s), s.energy);
  }
  w.energies[system] = s.energy;
  if (w.reached) w.reached[system] = t;
}

// ---- pmc: kTogether systems in SIMD lanes ----

template <class F>
void run_together(const PointArrays<F>& w, int first, const Scratch<F>& scratch,
                  MoveCounts& moves) {
  constexpr int W = kTogether;
  const Model<F>& m = w.m;
  const int n = w.slots, used = w.systems - first < W ? w.systems - first : W;
  auto* const ids = reinterpret_cast<std::uint32_t*>(scratch.sites);
  const auto site_at = [&](int slot, int l) {
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
  std::uint32_t system[W];
  for (int l = 0; l < W; ++l) {  // spare lanes repeat the last system; their results are not used
    system[l] = static_cast<std::uint32_t>(first + (l < used ? l : used - 1));
    energy[l] = w.energies[system[l]];
    for (int slot = 0; slot < n; ++slot)
      put(slot, l, w.sites[static_cast<std::size_t>(system[l]) * n + slot]);
  }
  for (std::uint64_t t = w.first_step; t < w.first_step + w.steps; ++t) {
    const auto k = static_cast<int>(
        uniform_below(common_draw(m.key, t).molecule, static_cast<std::uint32_t>(n)));
    int species = 0;
    while (k >= m.first_slot[species + 1]) ++species;
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
      sum[l] = 0;
      field[l] = framework_energy(m, species, fresh[l]) - framework_energy(m, species, old);
    }
    for (int b = 0; b < m.species; ++b) {
      const PairLaw<F> law = m.law[species][b];
      for (int j = m.first_slot[b]; j < m.first_slot[b + 1]; ++j) {
        if (j == k) continue;
        const F *x = scratch.x + j * W, *y = scratch.y + j * W, *z = scratch.z + j * W;
        for (int l = 0; l < W; ++l)
          sum[l] += pair_energy(m, law, {ax[l], ay[l], az[l]}, x[l], y[l], z[l]) -
                    pair_energy(m, law, {bx[l], by[l], bz[l]}, x[l], y[l], z[l]);
      }
    }
    for (int l = 0; l < used; ++l) {
      const F difference = lowest_of(sum[l] + field[l], F(kForbidden));
      if (metropolis(m.beta, difference, word[3][l])) {
        put(k, l, fresh[l]);
        energy[l] += static_cast<double>(difference);
        ++moves.accepted;
      }
      if (w.measure) {
        measure_state(w, first + l, energy[l], nullptr);
        if (m.bins) count_place(w, first + l, site_at(k, l), 1);
      }
    }
    if ((t + 1) % kRefresh == 0 || t + 1 == w.first_step + w.steps)
      for (int l = 0; l < used; ++l) {
        for (int slot = 0; slot < n; ++slot)
          w.sites[static_cast<std::size_t>(first + l) * n + slot] = site_at(slot, l);
        w.energies[first + l] = energy[l];
      }
    if ((t + 1) % kRefresh == 0) {
      for (int l = 0; l < used; ++l)
        renew_energy(w, first + l, total_energy(System<F>(w, first + l, scratch)), energy[l]);
      for (int l = 0; l < used; ++l) w.energies[first + l] = energy[l];
      for (int l = 0; l < W; ++l)  // System used the same memory
        for (int slot = 0; slot < n; ++slot)
          put(slot, l, w.sites[static_cast<std::size_t>(system[l]) * n + slot]);
    }
  }
}

// ---- several proposals per step ----

template <class F>
void draw_proposals(const PointArrays<F>& w, int system, std::uint64_t step, const Site& old,
                    std::uint32_t split_word, const Scratch<F>& s) {
  const int P = w.proposals;
  for (int base = 0; base < P; base += kLanes) {
    UintLanes lanes[4], index;
    for (int l = 0; l < kLanes; ++l) index[l] = static_cast<std::uint32_t>(base + l);
    random_words(lanes, w.m.key, step, UintLanes{} + static_cast<std::uint32_t>(system), index,
                 Purpose::propose);
    for (int a = 0; a < 3; ++a)
      __builtin_memcpy(s.words + a * kMostProposals + base, &lanes[a], sizeof lanes[a]);
  }
  const auto split = static_cast<int>(uniform_below(split_word, static_cast<std::uint32_t>(P)));
  const bool anywhere = uniform_proposals(w, step);
  s.proposals[0] = old;
  Site at = old;
  for (int i = 1; i < P; ++i) {
    const std::uint32_t word[3] = {s.words[i], s.words[kMostProposals + i],
                                   s.words[2 * kMostProposals + i]};
    if (anywhere) {
      s.proposals[i] = {word[0], word[1], word[2]};
    } else {
      if (i == P - split) at = old;  // the second walk
      s.proposals[i] = at = moved(at, step_of(w.m, word));
    }
  }
}

// Energies of a molecule of a species at the first `count` proposals, with all others. together:
// proposals in sequence are close to each other, so that many molecules are too far from all.
template <class F>
void proposal_energies(const System<F>& s, int species, int count, bool together,
                       const Scratch<F>& c) {
  for (int i = 0; i < count; ++i) {
    const Point<F> p = to_point(s.m, c.proposals[i]);
    c.px[i] = p.x, c.py[i] = p.y, c.pz[i] = p.z;
  }
  for (int base = 0; base < count; base += kWidth) {
    alignas(64) F sum[kWidth] = {};
    const F *px = c.px + base, *py = c.py + base, *pz = c.pz + base;
    Surroundings<F> around{};
    if (together) {
      Extent extent{};
      for (int l = 0; l < kWidth; ++l) extent.include(c.proposals[base], c.proposals[base + l]);
      around = surroundings_of(s.m, c.proposals[base], extent);
    }
    for (int b = 0; b < s.m.species; ++b) {
      const PairLaw<F> law = s.m.law[species][b];
      const int begin = s.m.first_slot[b], end = begin + s.counts[b];
      for (int j = begin; j < end; ++j) {
        const F x = s.x[j], y = s.y[j], z = s.z[j];
        if (together && !may_feel(s.m, around, law.cutoff2, x, y, z)) continue;
        for (int l = 0; l < kWidth; ++l)
          sum[l] += pair_energy(s.m, law, {px[l], py[l], pz[l]}, x, y, z);
      }
    }
    for (int l = 0; l < kWidth; ++l)
      c.energy[base + l] = sum[l] + framework_energy(s.m, species, c.proposals[base + l]);
  }
}

template <class F>
struct Reduction {
  F level[6][kWidth];
  // Sums of a butterfly, each level kept.
  void add_up() {
    for (int n = 0; n < 5; ++n)
      for (int l = 0; l < kWidth; ++l) level[n + 1][l] = level[n][l] + level[n][l ^ (16 >> n)];
  }
  F total() const { return level[5][0]; }
};

template <class F>
void step_multiple(System<F>& s, std::uint64_t step, const Scratch<F>& c, MoveCounts& moves) {
  const PointArrays<F>& w = s.w;
  const int n = s.molecules(), P = w.proposals, own = P / kWidth;
  int species;
  const int slot = s.find(static_cast<int>(uniform_below(common_draw(s.m.key, step).molecule,
                                                         static_cast<std::uint32_t>(n))),
                          species);
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::choose);
  draw_proposals(w, s.id, step, s.sites[slot], word[0], c);
  s.x[slot] = kFar<F>;
  proposal_energies(s, species, P, !uniform_proposals(w, step), c);
  const F old = c.energy[0];
  F lowest = 0;
  for (int i = 0; i < P; ++i) {
    c.energy[i] = energy_difference(c.energy[i], old);
    lowest = lowest_of(lowest, c.energy[i]);
  }
  const F shift = weight_shift(s.m.beta, lowest);
  for (int i = 0; i < P; ++i) c.weights[i] = weight(s.m.beta, c.energy[i] - shift);
  Reduction<F> sw{}, first{}, second{};
  for (int l = 0; l < kWidth; ++l)
    for (int i = l * own; i < (l + 1) * own; ++i) {
      const F product = mul_rn(c.weights[i], c.energy[i]);
      sw.level[0][l] += c.weights[i];
      first.level[0][l] += product;
      second.level[0][l] = fused(product, c.energy[i], second.level[0][l]);
    }
  sw.add_up();
  first.add_up();
  F rest = mul_rn(static_cast<F>(uniform(word[1])), sw.total());
  const int lane = choose_lane(rest, [&](int level, int l) { return sw.level[level][l]; });
  const int chosen = lane * own + choose_own(rest, c.weights + lane * own, own);
  const double before = s.energy;
  s.energy += static_cast<double>(c.energy[chosen]);
  s.put(slot, c.proposals[chosen]);
  if (chosen != 0) ++moves.accepted;
  if (!w.measure) return;
  const double total = static_cast<double>(sw.total());
  const double mean = static_cast<double>(first.total()) / total;
  measure_state(w, s.id, s.energy, s.counts);
  add_to(w, s.id, kWaste, before + mean);
  if (w.moments) {
    second.add_up();
    const double square = static_cast<double>(second.total()) / total;
    add_to(w, s.id, kJump, square);
    add_to(w, s.id, kWasteSquared, fused(before, before + 2 * mean, square));
  }
  if (s.m.bins)
    for (int i = 0; i < P; ++i)
      count_place(w, s.id, c.proposals[i], static_cast<double>(c.weights[i]) / total);
}

template <class F>
void run_multiple(const PointArrays<F>& w, int system, const Scratch<F>& scratch,
                  MoveCounts& moves) {
  System<F> s(w, system, scratch);
  for (std::uint64_t t = w.first_step; t < w.first_step + w.steps; ++t) {
    step_multiple(s, t, scratch, moves);
    if ((t + 1) % kRefresh == 0) renew_energy(w, system, total_energy(s), s.energy);
  }
  w.energies[system] = s.energy;
}

template <class F>
void run_systems(const PointArrays<F>& w, int first, void* memory, MoveCounts& moves) {
  const Scratch<F> scratch(memory, w.slots);
  if (w.method == Method::pmc) {
    run_together(w, first, scratch, moves);
    return;
  }
  for (int system = first; system < w.systems && system < first + kTogether; ++system)
    if (w.method == Method::metropolis)
      run_single<F, false>(w, system, scratch, moves);
    else if (w.method == Method::plj)
      run_single<F, true>(w, system, scratch, moves);
    else
      run_multiple(w, system, scratch, moves);
}

// ---- starts ----

// Each molecule goes to the best of kWidth random places below the hill, of as many rounds as it
// takes to find one where it is bound at all.
template <class F>
void place_molecules(const PointArrays<F>& w, int first, void* memory, MoveCounts& moves) {
  const Scratch<F> c(memory, w.slots);
  // Where one system finds no room, the others are not tried.
  for (int system = first; system < w.systems && system < first + kTogether && !moves.stuck;
       ++system) {
    std::int32_t* counts = w.counts + static_cast<std::size_t>(system) * w.m.species;
    std::int32_t wanted[kMostSpecies];
    for (int b = 0; b < w.m.species; ++b) {
      wanted[b] = counts[b];
      counts[b] = 0;
    }
    System<F> s(w, system, c);
    std::uint64_t molecule = 0;  // of all species: places must not depend on capacities
    for (int b = 0; b < w.m.species; ++b)
      for (int i = 0; i < wanted[b] && !moves.stuck; ++i, ++molecule) {
        const int slot = w.m.first_slot[b] + i;
        F best = F(kForbidden);
        for (std::uint32_t round = 0; round < kPlaceRounds && !(best < F(0)); ++round) {
          for (int l = 0; l < kWidth; ++l) {
            std::uint32_t word[4];
            random_words(word, w.m.key, molecule, static_cast<std::uint32_t>(system),
                         round * kWidth + static_cast<std::uint32_t>(l), Purpose::place);
            c.proposals[l] = {word[0], word[1], word[2]};
          }
          proposal_energies(s, b, kWidth, false, c);
          for (int l = 0; l < kWidth; ++l)
            if (c.energy[l] < best && framework_energy(w.m, b, c.proposals[l]) < w.hill) {
              best = c.energy[l];
              s.put(slot, c.proposals[l]);
            }
        }
        if (!(best < w.hill)) moves.stuck = true;
        ++counts[b];
      }
    w.energies[system] = total_energy(s);
  }
}

template <class F>
void sum_energies(const PointArrays<F>& w, int first, void* memory) {
  const Scratch<F> c(memory, w.slots);
  for (int system = first; system < w.systems && system < first + kTogether; ++system)
    w.energies[system] = total_energy(System<F>(w, system, c));
}

// ---- test molecules ----

template <class F>
void insert_test_molecules(const TestInsertions<F>& t, int system, void* memory) {
  const PointArrays<F>& w = t.work;
  const Scratch<F> c(memory, w.slots);
  System<F> s(w, system, c);
  std::int32_t none[kMostSpecies] = {};
  if (t.empty) s.counts = none;
  double part[2][kWidth] = {};
  for (std::uint64_t base = 0; base < t.count; base += kWidth) {
    for (int l = 0; l < kWidth; ++l) {
      std::uint32_t word[4];
      random_words(word, w.m.key, t.first + base + static_cast<std::uint64_t>(l),
                   static_cast<std::uint32_t>(system), static_cast<std::uint32_t>(t.species),
                   Purpose::widom);
      c.proposals[l] = {word[0], word[1], word[2]};
    }
    proposal_energies(s, t.species, kWidth, false, c);
    for (int l = 0; l < kWidth && base + static_cast<std::uint64_t>(l) < t.count; ++l) {
      const double factor = static_cast<double>(weight(w.m.beta, c.energy[l]));
      part[0][l] += factor;
      part[1][l] = fused(factor, static_cast<double>(c.energy[l]), part[1][l]);
    }
  }
  for (int q = 0; q < 2; ++q) {
    for (int off = kWidth / 2; off > 0; off /= 2) {
      double next[kWidth];
      for (int l = 0; l < kWidth; ++l) next[l] = part[q][l] + part[q][l ^ off];
      for (int l = 0; l < kWidth; ++l) part[q][l] = next[l];
    }
    t.sums[2 * system + q] = part[q][0];
  }
}

void fill_row(const GridSum& g, int row, int layer, std::int32_t* near, double* energies) {
  const double y = mul_rn(static_cast<double>(row), g.spacing[1]);
  const double z = mul_rn(static_cast<double>(layer), g.spacing[2]);
  int count = 0;
  for (std::size_t i = 0; i < g.count; ++i) {
    const double dy = y - g.images[i].y, dz = z - g.images[i].z;
    near[count] = static_cast<std::int32_t>(i);
    count += fused(dz, dz, dy * dy) < g.law[g.images[i].kind].cutoff2;
  }
  for (int p = 0; p < g.points[0]; ++p) energies[p] = 0;
  for (int i = 0; i < count; ++i) {
    const Image image = g.images[near[i]];
    const PairLaw<double> law = g.law[image.kind];
    if (law.repulsion == 0) continue;
    for (int p = 0; p < g.points[0]; ++p)
      energies[p] += image_energy(law, image.x, image.y, image.z,
                                  mul_rn(static_cast<double>(p), g.spacing[0]), y, z);
  }
}

template <class F>
Kernels<F> kernels_of() {
  return {&run_systems<F>, &place_molecules<F>, &sum_energies<F>, &insert_test_molecules<F>,
          &fill_row};
}

}  // namespace

void use(Kernels<float>& kernels) { kernels = kernels_of<float>(); }
void use(Kernels<double>& kernels) { kernels = kernels_of<double>(); }

}  // namespace manymove::adsorption::MANYMOVE_SIMD
