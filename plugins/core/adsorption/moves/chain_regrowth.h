// SPDX-License-Identifier: BSD-3-Clause
// Moves of chains that grow bead by bead: insertions, deletions, reinsertions, partial regrowths
// and changes of identity. Each bead is chosen among several trials by its Rosenbluth weight;
// trials are drawn by the bends and torsions, so that the weights have the other energies alone.
// The proofs are in docs/theory/open_systems.md, section 7.
#pragma once

#include "growth_with_trials.h"

namespace manymove::adsorption {

// The growth of a chain, or, of the old one, the weight with which it would grow.
struct Growth {
  std::uint64_t step;
  std::uint32_t stream;  // of random numbers: 0, 1 for old chains, 2 for tests, 3 for starts
  int species;
  bool old;                // its beads are the first trials; they are in scratch.shape
  bool here;               // the middle bead is at the center; otherwise anywhere
  bool alone;              // without other molecules
  int places, turns;       // trials of the middle bead, and of the others
  int except;              // the slot of the old molecule, or -1
  int low = 0, high = -1;  // the beads that stay, if there are any
  Pose pose{{0, 0, 0}, {1, 0, 0, 0}};
};
struct Grown {
  double weight;  // W, the product of the mean weights of the trials of each bead
  double energy;  // of the chain with the framework, the other molecules and itself; without bonds
  Pose pose;
};

// Of a bead whose trial places are in scratch.beads. The beads of the chain from low to high are in
// scratch.grown.
template <class System>
MM_TEAM Bias<typename System::Real> weigh_bead(const System& s, int species, int bead, int low,
                                               int high, int all, std::uint32_t word) {
  using F = typename System::Real;
  const int type = s.r.body[species].type[bead];
  const TeamPointer<Site> beads = s.scratch.beads, grown = s.scratch.grown;
  return weigh_trials(
      s, all, word,
      [&](int i) {
        return s.r.framework && s.r.felt[type] ? framework_energy(s.m, type, beads[i]) : F(0);
      },
      [&](const auto& trial_of, auto& pairs) {
        typename System::template Lane<Site> at;
        s.team.each([&](int l) {
          at[l] = beads[trial_of(l)];
          pairs[l] =
              chain_energy(s, species, bead, low, high, at[l], [&](int i) { return grown[i]; });
        });
        s.add_bead_pairs(type, at, pairs);
      });
}

// Grows a chain into scratch.shape, first the beads above those that are there, then those below.
// The weight is zero where no trial of a bead has one, or where an old bead has none.
template <class System>
MM_TEAM Grown grow(System& s, const Growth& g) {
  using F = typename System::Real;
  const Body<F>& body = s.r.body[g.species];
  const ChainBody& chain = s.w.chains.of[g.species];
  const TeamPointer<double> shape = s.scratch.shape, offsets = s.scratch.offsets;
  const TeamPointer<Site> beads = s.scratch.beads, grown = s.scratch.grown;
  const auto system = static_cast<std::uint32_t>(s.id);
  const auto draw_choice = [&](int bead) {
    std::uint32_t word[4];
    random_words(word, s.m.key, g.step, system, draw_number(g.stream, bead, Draw::choice, 0),
                 Purpose::chain);
    return word[0];
  };
  const Matrix turn = matrix_of(g.pose.turn);
  Grown result{1, 0, g.pose};
  int low = g.low, high = g.high;
  const Grown none{0, 0, g.pose};
  // Takes the chosen trial of a bead, or the old one.
  const auto take = [&](const Bias<F>& bias) {
    result.weight *= bias.mean;
    result.energy += static_cast<double>(g.old ? bias.old_energy : bias.energy);
    return g.old ? bias.old_weight > F(0) : bias.mean > 0;
  };
  s.team.sync();
  if (low > high) {
    const int places = g.here ? 1 : g.places;
    s.gather(g.pose.center, {0, 0, 0}, body.reach, g.except, !g.here);
    if (g.alone) s.forget_near();
    s.team.share(places, [&](int i) {
      std::uint32_t word[4];
      random_words(word, s.m.key, g.step, system,
                   draw_number(g.stream, chain.middle, Draw::place, i), Purpose::chain);
      beads[i] = i == 0 && (g.old || g.here) ? g.pose.center : Site{word[0], word[1], word[2]};
    });
    s.team.sync();
    const Bias<F> bias =
        weigh_bead(s, g.species, chain.middle, 0, -1, places, draw_choice(chain.middle));
    if (!take(bias)) return none;
    if (!g.old) result.pose.center = beads[bias.chosen];
    low = high = chain.middle;
    s.team.sync();
    if (s.team.leads())
      for (int a = 0; a < 3 && !g.old; ++a) shape[3 * low + a] = 0;
    s.team.sync();
  }
  s.team.share(high - low + 1, [&](int i) {
    grown[low + i] = site_from(s.r, result.pose.center, turn, (shape + 3 * (low + i)).get());
  });
  s.gather(result.pose.center, {0, 0, 0}, body.reach, g.except, false);
  if (g.alone) s.forget_near();
  while (high < body.count - 1 || low > 0) {
    const int side = high < body.count - 1 ? 1 : -1, j = side > 0 ? high + 1 : low - 1;
    const BeadFrame frame = frame_of(chain, shape, j, side, high - low + 1);
    s.team.share(g.turns, [&](int i) {
      Vector at = bead_of(shape, j);
      if (!(g.old && i == 0))
        at = draw_bead(s.w.chains, frame, s.m.key, g.step, system, g.stream, j, i);
      offsets[3 * i] = at.x, offsets[3 * i + 1] = at.y, offsets[3 * i + 2] = at.z;
      beads[i] = site_from(s.r, result.pose.center, turn, (offsets + 3 * i).get());
    });
    s.team.sync();
    const Bias<F> bias = weigh_bead(s, g.species, j, low, high, g.turns, draw_choice(j));
    if (!take(bias)) return none;
    const int chosen = g.old ? 0 : bias.chosen;
    if (s.team.leads()) {
      for (int a = 0; a < 3; ++a) shape[3 * j + a] = offsets[3 * chosen + a];
      grown[j] = beads[chosen];
    }
    s.team.sync();
    (side > 0 ? high : low) = j;
  }
  return result;
}

// ---- the state ----

template <class System>
MM_TEAM void load_shape(const System& s, int slot) {
  const double* const from = s.shape_of(slot);
  s.team.sync();
  s.team.share(3 * s.w.chains.sites, [&](int i) { s.scratch.shape[i] = from[i]; });
  s.team.sync();
}
// A chain that has grown, or that is in another slot. LaneSites of beads that it does not have are
// zero.
template <class System>
MM_TEAM void store_chain(System& s, int species, int slot, const Pose& pose) {
  double* const to = s.shape_of(slot);
  s.team.sync();
  const int used = 3 * s.r.body[species].count;
  s.team.share(3 * s.w.chains.sites, [&](int i) { to[i] = i < used ? s.scratch.shape[i] : 0; });
  s.put(species, slot, pose);
}
// By bends and torsions, of the chain in scratch.shape.
template <class System>
MM_TEAM double bonds_of_shape(const System& s, int species) {
  return bonded_energy(s.w.chains, species, s.r.body[species].count, s.scratch.shape);
}

// ---- steps ----

// As move_with_trials() of bias.h, and partial regrowths.
template <class System, class Counts>
MM_TEAM bool move_chain(System& s, std::uint64_t step, const CommonDraw& draw, Counts& moves,
                        TrialOutcome& outcome) {
  using F = typename System::Real;
  std::uint32_t word[4];
  words_of(s, step, 0u, word);
  const auto species = static_cast<std::uint32_t>(s.m.species);
  const bool exchange = draw.kind < s.m.exchange,
             reinsert = !exchange && draw.kind < s.w.reinsert_below,
             here = !exchange && !reinsert && draw.kind < s.w.identity_below,
             regrow = !exchange && !reinsert && !here, stays = reinsert || regrow;
  const bool insert = exchange && word[0] >> 31, gone = !insert, come = insert || !exchange;
  int from = static_cast<int>(uniform_below(word[1], species)), to = from, slot = -1;
  bool some = true;
  if (stays) {
    const auto all = static_cast<std::uint32_t>(s.molecules());
    some = all > 0;
    if (some) slot = s.find(static_cast<int>(uniform_below(draw.molecule, all)), from);
    to = from;
  } else {
    ++moves.exchanges;
    if (here) {
      to = static_cast<int>(uniform_below(word[0], species - 1));
      to += to >= from;
    } else {
      outcome.inserted = from;
      outcome.tried = insert ? 1 : -1;
      outcome.present = s.counts[from];
    }
    if (gone) {
      const auto present = static_cast<std::uint32_t>(s.counts[from]);
      some = present > 0;
      slot = s.m.first_slot[from] + static_cast<int>(uniform_below(word[2], present));
    }
  }
  const bool single = regrow && some && s.r.body[from].count == 1;  // without a bond
  if (single) some = false;
  if (some) {
    Growth g{step, 1, from, true, here, false, s.w.trial_positions, s.w.trial_orientations, slot};
    Grown before{1, 0, {{0, 0, 0}, {1, 0, 0, 0}}}, after = before;
    double bonds = 0;
    if (regrow) {  // a bond is cut, and the part without the center grows again
      const int count = s.r.body[from].count, middle = s.w.chains.of[from].middle;
      const int cut =
          static_cast<int>(uniform_below(word[2], static_cast<std::uint32_t>(count - 1)));
      g.low = cut < middle ? cut + 1 : 0;
      g.high = cut < middle ? count - 1 : cut;
    }
    if (gone) {
      load_shape(s, slot);
      g.pose = s.pose(slot);
      bonds -= bonds_of_shape(s, from);
      before = grow(s, g);
    }
    if (come && before.weight > 0) {
      g.stream = 0;
      g.species = to;
      g.old = false;
      if (!regrow) g.pose.turn = {1, 0, 0, 0};
      after = grow(s, g);
      if (after.weight > 0) bonds += bonds_of_shape(s, to);
    }
    if (before.weight > 0 && after.weight > 0) {
      F rest = 0;
      if (exchange) rest = insert ? s.tail_with_others(to, 0) : -s.tail_with_others(from, 1);
      if (here)
        rest = s.tail_with_others(to, 0) - static_cast<F>(s.r.tail[to][from]) -
               s.tail_with_others(from, 1);
      // Accepted with the probability limit / scale.
      double limit = static_cast<double>(weight(s.m.beta, rest)) * after.weight,
             scale = before.weight;
      if (!stays) {
        if (come) limit *= s.m.activity[to], scale *= s.counts[to] + 1;
        if (gone) limit *= s.counts[from], scale *= s.m.activity[from];
        if (come) outcome.gains = to;
        if (gone) outcome.loses = from;
      }
      if (insert) outcome.test = limit;
      outcome.probability = lowest_of(limit / scale, 1.0);
      outcome.difference = after.energy - before.energy + bonds + static_cast<double>(rest);
      if (mul_rn(uniform(word[3]), scale) < limit) {
        const int last = s.counts[from] - 1;
        if (stays) {
          store_chain(s, from, slot, after.pose);
        } else {
          if (come && !has_slot(s, to, moves)) return false;
          if (come) {
            const int n = s.counts[to];
            store_chain(s, to, s.m.first_slot[to] + n, after.pose);
            s.set_count(to, n + 1);
          }
          if (gone) {  // the last molecule takes the slot
            const int other = s.m.first_slot[from] + last;
            load_shape(s, other);
            store_chain(s, from, slot, s.pose(other));
            s.set_count(from, last);
          }
          ++moves.accepted_exchanges;
        }
        s.energy += outcome.difference;
        outcome.accepted = true;
      }
    }
  }
  if (here) count_move(s, kIdentities, outcome.accepted);
  if (stays) {
    if (!single) count_move(s, reinsert ? kReinsertions : kRegrowths, outcome.accepted);
    if (s.w.measure && s.m.bins && slot >= 0 && s.team.leads()) count_place(s, s.centers[slot], 1);
  }
  return true;
}

// ---- starts and test molecules ----

// Each chain grows until its energy with the framework, the others and itself is below the hill.
template <class System>
MM_TEAM bool place_chains(System& s) {
  std::int32_t wanted[kMostSpecies];
  for (int b = 0; b < s.m.species; ++b) wanted[b] = s.counts[b];
  for (int b = 0; b < s.m.species; ++b) s.set_count(b, 0);
  std::uint64_t molecule = 0;
  for (int b = 0; b < s.m.species; ++b)
    for (int i = 0; i < wanted[b]; ++i, ++molecule) {
      Grown grown{0, 0, {}};
      for (std::uint32_t round = 0; round < kPlaceRounds; ++round) {
        const std::uint64_t step = molecule * kPlaceRounds + round;
        grown = grow(s, {step, 3, b, false, false, false, kWidth, kWidth, -1});
        if (grown.weight > 0 && grown.energy < static_cast<double>(s.w.hill)) break;
        grown.weight = 0;
      }
      if (!(grown.weight > 0)) return false;
      store_chain(s, b, s.m.first_slot[b] + i, grown.pose);
      s.set_count(b, i + 1);
    }
  s.energy = s.total_energy();
  if (s.team.leads()) s.w.energies[s.id] = s.energy;
  return true;
}

// By growth, with kWidth trials of each bead. Energies are those relative to an ideal chain's.
template <class Test, class System>
MM_TEAM void insert_test_chains(const Test& t, System& s) {
  using F = typename System::Real;
  const ChainBody& chain = s.w.chains.of[t.species];
  const F rest = t.empty ? s.r.body[t.species].with_framework : s.tail_with_others(t.species, 0);
  const double factor = static_cast<double>(weight(s.m.beta, rest)) / chain.weight;
  double sum = 0, product = 0;
  for (std::uint64_t i = 0; i < t.count; ++i) {
    const Grown grown =
        grow(s, {t.first + i, 2, t.species, false, false, t.empty, kWidth, kWidth, -1});
    if (!(grown.weight > 0)) continue;
    const double w = factor * grown.weight;
    const double energy =
        grown.energy + static_cast<double>(rest) + bonds_of_shape(s, t.species) - chain.energy;
    sum += w;
    product = fused(w, energy, product);
  }
  if (s.team.leads()) {
    t.sums[2 * static_cast<std::size_t>(s.id)] = sum;
    t.sums[2 * static_cast<std::size_t>(s.id) + 1] = product;
  }
}

}  // namespace manymove::adsorption
