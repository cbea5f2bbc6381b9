// SPDX-License-Identifier: BSD-3-Clause
// Moves with configurational bias: insertions, deletions, reinsertions, changes of identity and
// partial regrowths, of which the new molecule is chosen among several trials by its Rosenbluth
// weight. A rigid molecule has trial poses; a chain grows bead by bead, see chain_regrowth.h. The
// weights have the energies in the framework and with the other molecules in real space; the
// acceptance has the rest, which is Ewald's sum over the waves and the tail corrections. The proofs
// are in docs/theory/open_systems.md.
#pragma once

#include "chain_regrowth.h"
#include "exchange.h"

namespace manymove::adsorption {

enum class Trial { insertion, deletion, reinsertion, identity, regrowth };

// What is tried, and with which molecule.
struct TrialMove {
  std::uint64_t step;
  Trial kind;
  int from, to;  // species that loses a molecule, and the one that gains one
  int slot;      // of the old molecule, or -1
  bool some;     // there is a molecule to begin with

  MM_HD bool gone() const { return kind != Trial::insertion; }
  MM_HD bool come() const { return kind != Trial::deletion; }
  // The new molecule has the center of the old one.
  MM_HD bool here() const { return kind == Trial::identity; }
  // The numbers of molecules stay what they are.
  MM_HD bool stays() const { return kind == Trial::reinsertion || kind == Trial::regrowth; }
};

// Rosenbluth weight and energy of the old or of the new molecule. The weight is a product of two
// factors, of which the first one multiplies the Boltzmann factor of the rest and the second one
// the activity: the order of the products is a part of the result.
struct GrowthWeight {
  double first = 1, second = 1;
  double energy = 0;  // as in the weights
};
struct GrowthResult {
  bool possible = false;  // neither weight is zero, and the new state is another one
  GrowthWeight before, after;
  double bonded = 0;  // change of the energy of bends and torsions
  Pose fresh{};       // of the new molecule; a chain's shape is in scratch.shape
};

// ---- rigid molecules ----

// Trial poses of a molecule: `positions` places of its center, with `orientations` at each. They
// are functions of the step, computed where they are needed.
struct TrialPoses {
  std::uint64_t step;
  std::uint32_t stream;  // 0, or 1 for the second set of a step
  int positions, orientations;
  bool has_old, here;  // the first trial is `old`; all centers are that of `old`
  Pose old;
};

// Trial i = place * orientations + turn.
MM_TEAM Site trial_center(const MoleculesOfTeam auto& s, const TrialPoses& t, int i) {
  const int place = i / t.orientations;
  if (place == 0 && (t.has_old || t.here)) return t.old.center;
  std::uint32_t word[4];
  random_words(word, s.m.key, t.step, static_cast<std::uint32_t>(s.id),
               static_cast<std::uint32_t>(place), Purpose::trial_place);
  return {word[0], word[1], word[2]};
}
MM_TEAM Pose trial_pose(const MoleculesOfTeam auto& s, const TrialPoses& t, int i) {
  if (t.has_old && i == 0) return t.old;
  std::uint32_t turn[4];
  // Bit 31 of the number is the stream: trials of both states draw different rotations.
  random_words(turn, s.m.key, t.step, static_cast<std::uint32_t>(s.id),
               static_cast<std::uint32_t>(i) | t.stream << 31, Purpose::trial_turn);
  return {trial_center(s, t, i), any_rotation(turn)};
}

// Whether trials at places of their own are weighed one after the other, each with the molecules
// near it, which takes fewer operations where many molecules are too far away from most of them.
// Operations are those of a lane, in energies of a pair of sites; a gathered molecule is assumed to
// be one of two. Integers, so that all devices decide the same.
MM_TEAM bool are_weighed_apart(const MoleculesOfTeam auto& s, int sites, int trials) {
  constexpr int kLanes = std::remove_cvref_t<decltype(s)>::kLanes;
  const int molecules = count_molecules(s), pairs = sites * sites;
  const int side_by_side = (trials + kLanes - 1) / kLanes * molecules * pairs;
  const int one = 8 + molecules / (2 * kLanes) + pairs * (1 + molecules / (2 * kLanes));
  return trials * one < side_by_side;
}

// Trials at one place have the molecules that are gathered. Where there are several orientations at
// a place, most places are excluded by the site at the center of the molecule, if there is one: in
// the framework, or too close to another molecule. This needs no orientation, and no energy of
// pairs. Near a cation other sites make up for the site's charge, but not for more than its energy
// 1 angstrom from a charge e.
template <MoleculesOfTeam System>
MM_TEAM Bias<typename System::Real> weigh_poses(System& s, int species, const TrialPoses& t,
                                                int except, std::uint32_t word) {
  using F = typename System::Real;
  const Body<F>& body = s.r.body[species];
  const int core = t.here || t.orientations == 1 ? -1 : site_at_center(body);
  if (!t.here) s.gather(t.old.center, {0, 0, 0}, body.reach, except, true);
  return weigh_trials(
      s, {t.positions, t.orientations, core >= 0}, word,
      [&](int i) {
        const Site center = trial_center(s, t, i);
        const F energy =
            s.site_field(body, center, core) - abs_of(s.r.charge[body.type[core]]) * F(kElementary);
        return energy < s.w.most_of_trials && !s.is_covered(body.type[core], center);
      },
      [&](int i) { return s.field(body, trial_pose(s, t, i)); },
      [&](const auto& trial_of, auto& pairs) {
        typename System::template Lane<Site> at[kMostSites];
        s.team.each([&](int l) {
          const Pose pose = trial_pose(s, t, trial_of(l));
          const Matrix turn = matrix_of(pose.turn);
          pairs[l] = 0;
          for (int i = 0; i < body.count; ++i) at[i][l] = site_of(s.r, body, pose.center, turn, i);
        });
        s.add_lane_pairs(body, at, pairs);
      },
      [&](int count) { return !t.here && are_weighed_apart(s, body.count, count); },
      [&](int i) {
        const Pose pose = trial_pose(s, t, i);
        s.gather(pose.center, {0, 0, 0}, body.reach, except, false);
        typename System::template Lane<F> part;
        s.team.each([&](int l) { part[l] = 0; });
        s.add_pairs(body, pose, F(1), part);
        return s.team.sum(part);
      });
}

// A reinsertion has a place more than the others, besides the old one: both states have the same
// set of trials then, and their weights cancel.
template <MoleculesOfTeam System>
MM_TEAM GrowthResult grow_rigid(System& s, const TrialMove& t) {
  using F = typename System::Real;
  std::uint32_t word[4];
  random_words(word, s.m.key, t.step, static_cast<std::uint32_t>(s.id), 1u, Purpose::exchange);
  const bool here = t.here(), gone = t.gone(), come = t.come();
  const Pose old = gone ? s.placed(t.slot) : Pose{{0, 0, 0}, {1, 0, 0, 0}};
  if (here)
    s.gather(old.center, {0, 0, 0}, max_of(s.r.body[t.from].reach, s.r.body[t.to].reach), t.slot,
             false);
  Bias<F> before{}, after{};
  TrialPoses trials{};
  MM_NO_UNROLL
  for (int pass = here ? 0 : 1; pass < 2; ++pass) {
    const int which = pass ? t.to : t.from;
    const int k = s.w.trial_positions, m = s.w.trial_orientations;
    const bool turns = s.r.body[which].count > 1;
    trials = {t.step,
              here && pass ? 1u : 0u,
              k + (t.kind == Trial::reinsertion),
              turns ? m : 1,
              gone && !(here && pass),
              here,
              old};
    // All k m trials of an identity change are orientations at the old center.
    if (here) trials.positions = 1, trials.orientations = turns ? k * m : 1;
    after = weigh_poses(s, which, trials, t.slot, word[pass]);
    if (!here || pass == 0) before = after;
  }
  GrowthResult result;
  // A reinsertion may choose the old pose itself; the state does not change then.
  // Trial 0 of a reinsertion is the old pose.
  const bool same = t.kind == Trial::reinsertion && after.chosen == 0;
  result.possible = (!gone || before.old_weight > F(0)) && (!come || after.mean > 0) && !same;
  if (!result.possible) return result;
  // W_old and W_new: sums of exp(-beta u_i) over the trials, divided by their number.
  result.before = {1, before.mean, static_cast<double>(gone ? before.old_energy : F(0))};
  result.after = {1, after.mean, static_cast<double>(come ? after.energy : F(0))};
  result.fresh = come ? trial_pose(s, trials, after.chosen) : old;
  return result;
}

// ---- chains ----

// A word decides which bond is cut in a partial regrowth, where the part without the center grows
// again.
MM_TEAM GrowthResult grow_chain(MoleculesOfTeam auto& s, const TrialMove& t, std::uint32_t word) {
  Growth g{t.step, 1, t.from, true, t.here(), false, s.w.trial_positions, s.w.trial_orientations,
           t.slot};
  Grown before{1, 0, {{0, 0, 0}, {1, 0, 0, 0}}}, after = before;
  GrowthResult result;
  if (t.kind == Trial::regrowth) {
    const int count = s.r.body[t.from].count, middle = s.w.chains.of[t.from].middle;
    // Bond `cut` joins beads cut and cut + 1; the part with the middle bead stays.
    const int cut = static_cast<int>(uniform_below(word, static_cast<std::uint32_t>(count - 1)));
    g.low = cut < middle ? cut + 1 : 0;
    g.high = cut < middle ? count - 1 : cut;
  }
  if (t.gone()) {
    s.load_shape(t.slot);
    g.pose = s.placed(t.slot);
    result.bonded -= bonds_of_shape(s, t.from);
    before = grow(s, g);
  }
  if (t.come() && before.weight > 0) {
    g.stream = 0;
    g.species = t.to;
    g.old = false;
    if (t.kind != Trial::regrowth) g.pose.turn = {1, 0, 0, 0};
    after = grow(s, g);
    if (after.weight > 0) result.bonded += bonds_of_shape(s, t.to);
  }
  result.possible = before.weight > 0 && after.weight > 0;
  result.before = {before.weight, 1, before.energy};
  result.after = {after.weight, 1, after.energy};
  result.fresh = after.pose;
  return result;
}

// ---- the move ----

template <MoleculesOfTeam System, CountsMoves Counts>
MM_TEAM TrialMove choose_trial(const System& s, std::uint64_t step, const CommonDraw& draw,
                               const std::uint32_t* word, Counts& moves, TrialOutcome& outcome) {
  const auto species = static_cast<std::uint32_t>(s.m.species);
  TrialMove t{step, word[0] >> 31 ? Trial::insertion : Trial::deletion, 0, 0, -1, true};
  if (draw.kind >= s.m.exchange)
    t.kind = draw.kind < s.w.reinsert_below                       ? Trial::reinsertion
             : !System::kChains || draw.kind < s.w.identity_below ? Trial::identity
                                                                  : Trial::regrowth;
  t.from = t.to = static_cast<int>(uniform_below(word[1], species));
  if (t.stays()) {
    const auto all = static_cast<std::uint32_t>(count_molecules(s));
    t.some = all > 0;
    if (t.some)
      t.slot = find_molecule(s, static_cast<int>(uniform_below(draw.molecule, all)), t.from);
    t.to = t.from;
    return t;
  }
  ++moves.exchanges;
  if (t.kind == Trial::identity) {
    // One of the other species: numbers from t.from on stand for the next one.
    t.to = static_cast<int>(uniform_below(word[0], species - 1));
    // Skips the species of the removed molecule.
    t.to += t.to >= t.from;
  } else {
    outcome.inserted = t.from;
    outcome.tried = t.kind == Trial::insertion ? 1 : -1;
    outcome.present = s.counts[t.from];
  }
  if (t.gone()) {
    // Every molecule of the species is equally likely, hence the N of the acceptance.
    const auto present = static_cast<std::uint32_t>(s.counts[t.from]);
    t.some = present > 0;
    t.slot = s.m.first_slot[t.from] + static_cast<int>(uniform_below(word[2], present));
  }
  return t;
}

// Accepts or rejects. Returns false and leaves the system unchanged if an accepted molecule finds
// no free slot.
template <MoleculesOfTeam System, CountsMoves Counts>
MM_TEAM bool decide_trial(System& s, const TrialMove& t, const GrowthResult& g, std::uint32_t word,
                          Counts& moves, TrialOutcome& outcome) {
  using F = typename System::Real;
  F rest = 0;
  if (t.kind == Trial::insertion) rest = s.tail_with_others(t.to, 0);
  if (t.kind == Trial::deletion) rest = -s.tail_with_others(t.from, 1);
  if (t.here())
    // The molecule that comes does not meet the one that goes, whose species still counts in N_b.
    rest = s.tail_with_others(t.to, 0) - static_cast<F>(s.r.tail[t.to][t.from]) -
           s.tail_with_others(t.from, 1);
  bool charged = false;
  if constexpr (!System::kChains) {
    const Body<F>&old_body = s.r.body[t.from], &new_body = s.r.body[t.to];
    charged = has_charges(s.r, old_body) || has_charges(s.r, new_body);
    if (charged) {
      typename System::template Lane<F> part;
      s.team.each([&](int l) { part[l] = 0; });
      ChangedCharges<System, F> charges{{nullptr, nullptr}, {g.fresh, g.fresh}};
      if (t.gone()) charges.body[0] = &old_body, charges.pose[0] = s.placed(t.slot);
      if (t.come()) charges.body[1] = &new_body;
      change_waves(s, charges, part);
      rest += s.team.sum(part);
    }
    // A sum of forbidden energies would overflow in the averages.
    rest = min_of(rest, F(kForbidden));
  }
  // Accepted with the probability limit / scale, where the rest of the energy is in the Boltzmann
  // factor: W_new exp(-beta dU) / W_old, times beta f V / (N + 1) for a new molecule and
  // N / (beta f V) for one that is gone.
  double limit = static_cast<double>(weight(s.m.beta, rest)) * g.after.first,
         scale = g.before.first;
  if (!t.stays()) {
    if (t.come()) limit *= s.m.activity[t.to] * g.after.second, scale *= s.counts[t.to] + 1;
    if (t.gone()) limit *= s.counts[t.from], scale *= s.m.activity[t.from] * g.before.second;
    if (t.come()) outcome.gains = t.to;
    if (t.gone()) outcome.loses = t.from;
  }
  if (t.kind == Trial::insertion) outcome.test = limit;
  outcome.probability = min_of(limit / scale, 1.0);
  outcome.difference = g.after.energy - g.before.energy + g.bonded + static_cast<double>(rest);
  if (!(mul_rn(uniform(word), scale) < limit)) return true;
  if (t.stays()) {
    s.place_new(t.from, t.slot, g.fresh);
  } else {
    // Tested only now: the step is repeated with the same random numbers when there is room.
    if (t.come() && !has_slot(s, t.to, moves)) return false;
    if (t.come()) put_in(s, t.to, g.fresh);
    if (t.gone()) take_out(s, t.from, t.slot);
    ++moves.accepted_exchanges;
  }
  if (charged) s.accept_waves();
  s.energy += outcome.difference;
  outcome.accepted = true;
  return true;
}

template <MoleculesOfTeam System, CountsMoves Counts>
MM_TEAM bool grow_with_trials(System& s, std::uint64_t step, const CommonDraw& draw, Counts& moves,
                              TrialOutcome& outcome) {
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::exchange);
  const TrialMove t = choose_trial(s, step, draw, word, moves, outcome);
  // Without a bond there is nothing to regrow.
  const bool tries = t.kind != Trial::regrowth || !t.some || s.r.body[t.from].count > 1;
  if (t.some && tries) {
    GrowthResult g;
    if constexpr (System::kChains)
      g = grow_chain(s, t, word[2]);
    else
      g = grow_rigid(s, t);
    if (g.possible && !decide_trial(s, t, g, word[3], moves, outcome)) return false;
  }
  if (t.here()) count_move(s, kIdentities, outcome.accepted);
  if (t.stays()) {
    if (tries)
      count_move(s, t.kind == Trial::regrowth ? kRegrowths : kReinsertions, outcome.accepted);
    if (s.w.measure && s.m.bins && t.slot >= 0 && s.team.leads())
      count_in_profile(s, s.centers[t.slot], 1);
  }
  return true;
}

}  // namespace manymove::adsorption
