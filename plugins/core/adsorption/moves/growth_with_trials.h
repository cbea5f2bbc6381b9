// SPDX-License-Identifier: BSD-3-Clause
// Moves of rigid molecules that choose one of several trial poses by its Rosenbluth weight:
// insertions, deletions, reinsertions and changes of identity. The weights have the energies in the
// framework and with the other molecules in real space; the acceptance has the rest, which is
// Ewald's sum over the waves and the tail corrections. The proofs are in
// docs/theory/open_systems.md.
#pragma once

#include "../averages.h"

namespace manymove::adsorption {

// Trial poses of a molecule: `positions` places of its center, with `orientations` at each. They
// are functions of the step, computed where they are needed.
struct Trials {
  std::uint64_t step;
  std::uint32_t stream;  // 0, or 1 for the second set of a step
  int positions, orientations;
  bool has_old, here;  // the first trial is `old`; all centers are that of `old`
  Pose old;

  MM_HD int count() const { return positions * orientations; }
};

template <class System>
MM_TEAM Pose trial_pose(const System& s, const Trials& t, int i) {
  if (t.has_old && i == 0) return t.old;
  const int place = i / t.orientations;
  const auto system = static_cast<std::uint32_t>(s.id);
  std::uint32_t word[4], turn[4];
  Site center = t.old.center;
  if (!(place == 0 && (t.has_old || t.here))) {
    random_words(word, s.m.key, t.step, system, static_cast<std::uint32_t>(place),
                 Purpose::trial_place);
    center = {word[0], word[1], word[2]};
  }
  random_words(turn, s.m.key, t.step, system, static_cast<std::uint32_t>(i) | t.stream << 31,
               Purpose::trial_turn);
  return {center, any_rotation(turn)};
}

// Rosenbluth weights of trials.
template <class F>
struct Bias {
  double mean;               // W, of all trials; without a molecule's interactions it is 1
  int chosen;                // a trial, drawn by its weight; meaningless where W is zero
  F energy;                  // of the chosen one, as in the weights
  F old_weight, old_energy;  // of the first trial
};

// Of trials 0 to all - 1. field(i) is the energy of trial i in the framework; add_pairs(trial_of,
// pairs) sets the energies pairs[l] with other molecules of the trials trial_of(l), a trial a lane.
// The weight is zero where the framework's energy is not below `most_of_trials`, so that only the
// other trials need the energies with other molecules.
template <class System, class Field, class AddPairs>
MM_TEAM Bias<typename System::Real> weigh_trials(const System& s, int all, std::uint32_t word,
                                                 const Field& field, const AddPairs& add_pairs) {
  using F = typename System::Real;
  const TeamPointer<F> energy = s.scratch.energy, weights = s.scratch.weight;
  const TeamPointer<std::int32_t> open = s.scratch.open;
  s.team.each([&](int l) {
    for (int i = l; i < all; i += System::kLanes) energy[i] = field(i);
  });
  s.team.sync();
  const int count = s.team.compact(
      all, [&](int i) { return energy[i] < s.w.most_of_trials; },
      [&](int i, int p) { open[p] = i; });
  s.team.sync();
  if (count == 0) return {0, 0, F(0), F(0), F(0)};
  const int own = (count + System::kLanes - 1) / System::kLanes;
  typename System::template Lane<F> sum;
  s.team.each([&](int l) { sum[l] = 0; });
  for (int c = 0; c < own; ++c) {
    typename System::template Lane<F> pairs;
    const auto trial_of = [&](int l) {
      const int p = l * own + c;
      return open[p < count ? p : 0];
    };
    add_pairs(trial_of, pairs);
    s.team.each([&](int l) {
      const int p = l * own + c;
      weights[p] = 0;
      if (p < count) {
        F& u = energy[open[p]];
        u = lowest_of(u + pairs[l], F(kForbidden));
        weights[p] = weight(s.m.beta, u);
      }
      sum[l] += weights[p];
    });
  }
  s.team.sync();
  F total = 0;
  int p = 0;
  if constexpr (System::kLanes == kWidth) {
    const auto levels = s.team.levels(sum);
    total = levels.total();
    F rest = static_cast<F>(uniform(word)) * total;
    const int lane = choose_lane(rest, [&](int level, int l) { return levels.partial(level, l); });
    p = lane * own + choose_own(rest, (weights + lane * own).get(), own);
  } else {
    total = s.team.sum(sum);
    p = choose_own(static_cast<F>(uniform(word)) * total, weights.get(), count);
  }
  const int chosen = open[p < count ? p : 0];
  const bool first = open[0] == 0;
  const Bias<F> bias{static_cast<double>(total) / all, chosen, energy[chosen],
                     first ? weights[0] : F(0), first ? energy[0] : F(0)};
  s.team.sync();  // the memory is used again
  return bias;
}

// With what is gathered.
template <class System>
MM_TEAM Bias<typename System::Real> weigh(const System& s, int species, const Trials& t,
                                          std::uint32_t word) {
  using F = typename System::Real;
  const Body<F>& body = s.r.body[species];
  return weigh_trials(
      s, t.count(), word, [&](int i) { return s.field(body, trial_pose(s, t, i)); },
      [&](const auto& trial_of, auto& pairs) {
        typename System::template Lane<Site> at[kMostSites];
        s.team.each([&](int l) {
          const Pose pose = trial_pose(s, t, trial_of(l));
          const Matrix turn = matrix_of(pose.turn);
          pairs[l] = 0;
          for (int i = 0; i < body.count; ++i) at[i][l] = site_of(s.r, body, pose.center, turn, i);
        });
        s.add_lane_pairs(body, at, pairs);
      });
}

template <class F>
MM_HD bool has_charges(const MoleculeModel<F>& r, const Body<F>& body) {
  bool some = false;
  for (int i = 0; i < body.count; ++i) some |= r.charge[body.type[i]] != F(0);
  return some;
}
template <class System>
MM_TEAM void words_of(const System& s, std::uint64_t step, std::uint32_t number,
                      std::uint32_t word[4]) {
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), number, Purpose::exchange);
}

// The last molecule of the species takes the slot.
template <class System>
MM_TEAM void take_out(System& s, int species, int slot) {
  const int last = s.counts[species] - 1;
  s.put(species, slot, s.pose(s.m.first_slot[species] + last));
  s.set_count(species, last);
}
template <class System>
MM_TEAM void put_in(System& s, int species, const Pose& fresh) {
  const int n = s.counts[species];
  s.put(species, s.m.first_slot[species] + n, fresh);
  s.set_count(species, n + 1);
}
template <class System, class Counts>
MM_TEAM bool has_slot(const System& s, int species, Counts& moves) {
  if (s.m.first_slot[species] + s.counts[species] < s.m.first_slot[species + 1]) return true;
  moves.full |= 1u << species;
  --moves.exchanges;
  return false;
}

// The kinds of moves with trials.
enum class Trial { insertion, deletion, reinsertion, identity };

// An insertion, a deletion, a reinsertion or an identity change. A reinsertion has a place more
// than the others, besides the old one. Returns false and leaves the system unchanged if an
// accepted molecule finds no free slot.
template <class System, class Counts>
MM_TEAM bool move_with_trials(System& s, std::uint64_t step, const CommonDraw& draw, Counts& moves,
                              TrialOutcome& outcome) {
  using F = typename System::Real;
  std::uint32_t word[4], more[4];
  words_of(s, step, 0u, word);
  words_of(s, step, 1u, more);
  const auto species = static_cast<std::uint32_t>(s.m.species);
  Trial kind = word[0] >> 31 ? Trial::insertion : Trial::deletion;
  if (draw.kind >= s.m.exchange)
    kind = draw.kind < s.w.reinsert_below ? Trial::reinsertion : Trial::identity;
  // Which species loses a molecule, and which gains one.
  int from = static_cast<int>(uniform_below(word[1], species)), to = from, slot = -1;
  bool some = true;
  if (kind == Trial::reinsertion) {
    const auto all = static_cast<std::uint32_t>(s.molecules());
    some = all > 0;
    if (some) slot = s.find(static_cast<int>(uniform_below(draw.molecule, all)), from);
    to = from;
  } else {
    ++moves.exchanges;
    if (kind == Trial::identity) {
      to = static_cast<int>(uniform_below(word[0], species - 1));
      to += to >= from;
    } else {
      outcome.inserted = from;
      outcome.tried = kind == Trial::insertion ? 1 : -1;
      outcome.present = s.counts[from];
    }
    if (kind != Trial::insertion) {
      const auto present = static_cast<std::uint32_t>(s.counts[from]);
      some = present > 0;
      slot = s.m.first_slot[from] + static_cast<int>(uniform_below(word[2], present));
    }
  }
  const bool gone = kind != Trial::insertion, come = kind != Trial::deletion,
             here = kind == Trial::identity;
  if (some) {
    const Body<F>&old_body = s.r.body[from], &new_body = s.r.body[to];
    const Pose old = gone ? s.pose(slot) : Pose{{0, 0, 0}, {1, 0, 0, 0}};
    s.gather(old.center, {0, 0, 0}, highest_of(old_body.reach, new_body.reach), slot, !here);
    Bias<F> before{}, after{};
    Trials trials{};
    MM_NO_UNROLL
    for (int pass = here ? 0 : 1; pass < 2; ++pass) {
      const int which = pass ? to : from;
      const int k = s.w.trial_positions, m = s.w.trial_orientations;
      const bool turns = s.r.body[which].count > 1;
      trials = {step,
                here && pass ? 1u : 0u,
                k + (kind == Trial::reinsertion),
                turns ? m : 1,
                gone && !(here && pass),
                here,
                old};
      if (here) trials.positions = 1, trials.orientations = turns ? k * m : 1;
      after = weigh(s, which, trials, more[pass]);
      if (!here || pass == 0) before = after;
    }
    const bool stays = kind == Trial::reinsertion && after.chosen == 0;
    if ((!gone || before.old_weight > F(0)) && (!come || after.mean > 0) && !stays) {
      const Pose fresh = come ? trial_pose(s, trials, after.chosen) : old;
      F rest = 0;
      if (kind == Trial::insertion) rest = s.tail_with_others(to, 0);
      if (kind == Trial::deletion) rest = -s.tail_with_others(from, 1);
      if (here)
        rest = s.tail_with_others(to, 0) - static_cast<F>(s.r.tail[to][from]) -
               s.tail_with_others(from, 1);
      const bool charged = has_charges(s.r, old_body) || has_charges(s.r, new_body);
      if (charged) {
        if (gone) s.add_waves(old_body, old, F(-1), true);
        if (come) s.add_waves(new_body, fresh, F(1), !gone);
        typename System::template Lane<F> part;
        s.team.each([&](int l) { part[l] = 0; });
        s.add_wave_energy(part);
        rest += s.team.sum(part);
      }
      rest = lowest_of(rest, F(kForbidden));
      // Accepted with the probability limit / scale.
      double limit = static_cast<double>(weight(s.m.beta, rest)), scale = 1;
      if (kind != Trial::reinsertion) {
        if (come) limit *= s.m.activity[to] * after.mean, scale *= s.counts[to] + 1;
        if (gone) limit *= s.counts[from], scale *= s.m.activity[from] * before.mean;
        if (come) outcome.gains = to;
        if (gone) outcome.loses = from;
      }
      if (kind == Trial::insertion) outcome.test = limit;
      outcome.probability = lowest_of(limit / scale, 1.0);
      outcome.difference = static_cast<double>(come ? after.energy : F(0)) -
                           static_cast<double>(gone ? before.old_energy : F(0)) +
                           static_cast<double>(rest);
      if (mul_rn(uniform(word[3]), scale) < limit) {
        if (kind == Trial::reinsertion) {
          s.put(from, slot, fresh);
        } else {
          if (come && !has_slot(s, to, moves)) return false;
          if (gone) take_out(s, from, slot);
          if (come) put_in(s, to, fresh);
          ++moves.accepted_exchanges;
        }
        if (charged) s.accept_waves();
        s.energy += outcome.difference;
        outcome.accepted = true;
      }
    }
  }
  if (kind == Trial::reinsertion) {
    count_move(s, kReinsertions, outcome.accepted);
    if (s.w.measure && s.m.bins && some && s.team.leads()) count_place(s, s.centers[slot], 1);
  }
  if (kind == Trial::identity) count_move(s, kIdentities, outcome.accepted);
  return true;
}

}  // namespace manymove::adsorption
