// SPDX-License-Identifier: BSD-3-Clause
// The growth of chains bead by bead. Each bead is chosen among several trials by its Rosenbluth
// weight; trials are drawn by the bends and torsions, so that the weights have the other energies
// alone. The proofs are in docs/theory/open_systems.md, section 7.
#pragma once

#include "rosenbluth.h"

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
  double weight;  // W = prod_j W_j, the product of the mean weights of the trials of each bead
  double energy;  // of the chain with the framework, the other molecules and itself; without bonds
  Pose pose;
};

// Of a bead whose trial places are in scratch.beads. The beads of the chain from low to high are in
// scratch.grown.
template <MoleculesOfTeam System>
MM_TEAM Bias<typename System::Real> weigh_bead(const System& s, int species, int bead, int low,
                                               int high, int all, std::uint32_t word) {
  const int type = s.r.body[species].type[bead];
  const TeamPointer<Site> beads = s.scratch.beads, grown = s.scratch.grown;
  return weigh_trials(
      s, {all, 1, false}, word, [](int) { return true; },
      [&](int i) { return field_of_site(s.r, type, beads[i]); },
      [&](const auto& trial_of, auto& pairs) {
        typename System::template Lane<Site> at;
        s.team.each([&](int l) {
          at[l] = beads[trial_of(l)];
          pairs[l] =
              chain_energy(s, species, bead, low, high, at[l], [&](int i) { return grown[i]; });
        });
        s.add_lane_pairs(type, at, pairs);
      },
      [](int) { return false; }, [](int) { return typename System::Real(0); });
}

// Grows a chain into scratch.shape, first the beads above those that are there, then those below.
// The weight is zero where no trial of a bead has one, or where an old bead has none.
template <MoleculesOfTeam System>
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
    // Eq. 13 of the theory: W = prod_j 1 / k_j sum_i w_ji.
    result.weight *= bias.mean;
    result.energy += static_cast<double>(g.old ? bias.old_energy : bias.energy);
    return g.old ? bias.old_weight > F(0) : bias.mean > 0;
  };
  // No lane reads the beads and the shape of the last growth any more.
  s.team.sync();
  if (low > high) {
    // No bead is there: the middle one has trial places anywhere in the box.
    const int places = g.here ? 1 : g.places;
    s.gather(g.pose.center, {0, 0, 0}, body.reach, g.except, !g.here);
    if (g.alone) s.forget_near();
    s.team.share(places, [&](int i) {
      std::uint32_t word[4];
      random_words(word, s.m.key, g.step, system,
                   draw_number(g.stream, chain.middle, Draw::place, i), Purpose::chain);
      beads[i] = i == 0 && (g.old || g.here) ? g.pose.center : Site{word[0], word[1], word[2]};
    });
    // Each lane weighs places that others have drawn.
    s.team.sync();
    const Bias<F> bias =
        weigh_bead(s, g.species, chain.middle, 0, -1, places, draw_choice(chain.middle));
    if (!take(bias)) return none;
    if (!g.old) result.pose.center = beads[bias.chosen];
    low = high = chain.middle;
    // The former shape has been read before the middle bead changes it,
    s.team.sync();
    if (s.team.leads())
      for (int a = 0; a < 3 && !g.old; ++a) shape[3 * low + a] = 0;
    // and the new one is there before beads are placed by it.
    s.team.sync();
  }
  s.team.share(high - low + 1, [&](int i) {
    // r_i = r_center + R(q) d_i for the beads that stay.
    grown[low + i] = site_from(s.r, result.pose.center, turn, (shape + 3 * (low + i)).get());
  });
  // All molecules that any bead can meet: the chain reaches no farther than its bonds from the
  // center.
  s.gather(result.pose.center, {0, 0, 0}, body.reach, g.except, false);
  if (g.alone) s.forget_near();
  while (high < body.count - 1 || low > 0) {
    // Beads above the middle grow first, then those below it: consecutive ones in either direction.
    const int side = high < body.count - 1 ? 1 : -1, j = side > 0 ? high + 1 : low - 1;
    const BeadFrame frame = frame_of(chain, shape, j, side, high - low + 1);
    s.team.share(g.turns, [&](int i) {
      Vector at = bead_of(shape, j);
      // The first trial of an old chain is the bead itself.
      if (!(g.old && i == 0))
        at = draw_bead(s.w.chains, frame, s.m.key, g.step, system, g.stream, j, i);
      offsets[3 * i] = at.x, offsets[3 * i + 1] = at.y, offsets[3 * i + 2] = at.z;
      beads[i] = site_from(s.r, result.pose.center, turn, (offsets + 3 * i).get());
    });
    // Trials of the bead are weighed by other lanes than those that drew them.
    s.team.sync();
    const Bias<F> bias = weigh_bead(s, g.species, j, low, high, g.turns, draw_choice(j));
    if (!take(bias)) return none;
    // An old chain is followed along its own beads; their trials only give the weight.
    const int chosen = g.old ? 0 : bias.chosen;
    if (s.team.leads()) {
      for (int a = 0; a < 3; ++a) shape[3 * j + a] = offsets[3 * chosen + a];
      grown[j] = beads[chosen];
    }
    // The frame of the next bead is made of the one that has just been chosen.
    s.team.sync();
    (side > 0 ? high : low) = j;
  }
  return result;
}

// By bends and torsions, of the chain in scratch.shape.
MM_TEAM double bonds_of_shape(const MoleculesOfTeam auto& s, int species) {
  return bonded_energy(s.w.chains, species, s.r.body[species].count, s.scratch.shape);
}

}  // namespace manymove::adsorption
