// SPDX-License-Identifier: BSD-3-Clause
// Moves of rigid molecules that choose one of several trial poses by its Rosenbluth weight:
// insertions, deletions, reinsertions and changes of identity. The weights have the energies in the
// framework and with the other molecules in real space; the acceptance has the rest, which is
// Ewald's sum over the waves and the tail corrections. The proofs are in
// docs/theory/open_systems.md.
#pragma once

#include "averages.h"

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

// Those of an insertion; of a deletion, with the molecule that is there as the first one.
template <class System>
MM_TEAM Trials trials_anywhere(const System& s, int species, std::uint64_t step) {
  const bool turns = s.r.body[species].count > 1;
  return {step, 0u, s.w.trial_positions, turns ? s.w.trial_orientations : 1, false, false, {}};
}
// Orientations at a molecule's center.
template <class System>
MM_TEAM Trials trials_here(const System& s, int species, std::uint64_t step, const Pose& old,
                           bool has_old) {
  const bool turns = s.r.body[species].count > 1;
  const int all = s.w.trial_positions * s.w.trial_orientations;
  return {step, has_old ? 0u : 1u, 1, turns ? all : 1, has_old, true, old};
}

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

// With what is gathered. The weight is zero where the framework's energy is not below the hill, so
// that only the other trials need the energies with other molecules.
template <class System>
MM_TEAM_CALL Bias<typename System::Real> weigh(const System& s, int species, const Trials& t,
                                               std::uint32_t word) {
  using F = typename System::Real;
  const Body<F>& body = s.r.body[species];
  F *const energy = s.scratch.energy, *const weights = s.scratch.weight;
  std::int32_t* const open = s.scratch.open;
  const int all = t.count();
  s.team.each([&](int l) {
    for (int i = l; i < all; i += System::kLanes) energy[i] = s.field(body, trial_pose(s, t, i));
  });
  s.team.sync();
  const int count = s.team.compact(
      all, [&](int i) { return energy[i] < s.w.hill; }, [&](int i, int p) { open[p] = i; });
  s.team.sync();
  if (count == 0) return {0, 0, F(0), F(0), F(0)};
  const int own = (count + System::kLanes - 1) / System::kLanes;
  typename System::template Lane<F> sum;
  s.team.each([&](int l) { sum[l] = 0; });
  for (int c = 0; c < own; ++c) {
    typename System::template Lane<F> pairs;
    typename System::template Lane<Site> at[kMostSites];
    s.team.each([&](int l) {
      const int p = l * own + c;
      const Pose pose = trial_pose(s, t, open[p < count ? p : 0]);
      const Matrix turn = matrix_of(pose.turn);
      pairs[l] = 0;
      for (int i = 0; i < body.count; ++i) at[i][l] = site_of(s.r, body, pose.center, turn, i);
    });
    s.add_lane_pairs(body, at, pairs);
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
    p = lane * own + choose_own(rest, weights + lane * own, own);
  } else {
    total = s.team.sum(sum);
    p = choose_own(static_cast<F>(uniform(word)) * total, weights, count);
  }
  const int chosen = open[p < count ? p : 0];
  const bool first = open[0] == 0;
  const Bias<F> bias{static_cast<double>(total) / all, chosen, energy[chosen],
                     first ? weights[0] : F(0), first ? energy[0] : F(0)};
  s.team.sync();  // the memory is used again
  return bias;
}

template <class F>
MM_HD bool has_charges(const RigidModel<F>& r, const Body<F>& body) {
  bool some = false;
  for (int i = 0; i < body.count; ++i) some |= r.charge[body.type[i]] != F(0);
  return some;
}
// The change of the energy of the waves when a molecule vanishes, or appears, or both.
template <class System, class F>
MM_TEAM F wave_change(const System& s, const Body<F>* gone, const Pose& old, const Body<F>* come,
                      const Pose& fresh) {
  if (gone) s.add_waves(*gone, old, F(-1), true);
  if (come) s.add_waves(*come, fresh, F(1), !gone);
  typename System::template Lane<F> part;
  s.team.each([&](int l) { part[l] = 0; });
  s.add_wave_energy(part);
  return s.team.sum(part);
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
template <class System, class Tally>
MM_TEAM bool has_slot(const System& s, int species, Tally& tally) {
  if (s.m.first_slot[species] + s.counts[species] < s.m.first_slot[species + 1]) return true;
  tally.full |= 1u << species;
  --tally.exchanges;
  return false;
}

// An insertion or a deletion. Returns false and leaves the system unchanged if an accepted
// insertion finds no free slot.
template <class System, class Tally>
MM_TEAM_CALL bool exchange_biased(System& s, std::uint64_t step, Tally& tally, Outcome& outcome) {
  using F = typename System::Real;
  std::uint32_t word[4], more[4];
  words_of(s, step, 0u, word);
  words_of(s, step, 1u, more);
  const auto species =
      static_cast<int>(uniform_below(word[1], static_cast<std::uint32_t>(s.m.species)));
  const int n = s.counts[species], first = s.m.first_slot[species];
  const Body<F>& body = s.r.body[species];
  const double activity = s.m.activity[species];
  const bool charged = has_charges(s.r, body);
  Trials trials = trials_anywhere(s, species, step);
  ++tally.exchanges;
  outcome.inserted = species;
  outcome.present = n;
  if (word[0] >> 31) {
    outcome.tried = 1;
    s.gather({0, 0, 0}, {0, 0, 0}, F(0), -1, true);
    const Bias<F> bias = weigh(s, species, trials, more[0]);
    if (!(bias.mean > 0)) return true;
    const Pose fresh = trial_pose(s, trials, bias.chosen);
    F rest = s.tail_with_others(species, 0);
    if (charged) rest += wave_change<System, F>(s, nullptr, {}, &body, fresh);
    rest = lowest_of(rest, F(kForbidden));
    const double limit = activity * bias.mean * static_cast<double>(weight(s.m.beta, rest));
    outcome.test = limit;
    outcome.gains = species;
    outcome.probability = lowest_of(limit / (n + 1), 1.0);
    outcome.difference = static_cast<double>(bias.energy) + static_cast<double>(rest);
    if (!(mul_rn(uniform(word[3]), static_cast<double>(n + 1)) < limit)) return true;
    if (!has_slot(s, species, tally)) return false;
    put_in(s, species, fresh);
  } else {
    outcome.tried = -1;
    if (n == 0) return true;
    const int slot =
        first + static_cast<int>(uniform_below(word[2], static_cast<std::uint32_t>(n)));
    trials.has_old = true;
    trials.old = s.pose(slot);
    s.gather({0, 0, 0}, {0, 0, 0}, F(0), slot, true);
    const Bias<F> bias = weigh(s, species, trials, more[0]);
    if (!(bias.old_weight > F(0))) return true;
    F rest = -s.tail_with_others(species, 1);
    if (charged) rest += wave_change<System, F>(s, &body, trials.old, nullptr, {});
    const double limit =
        mul_rn(static_cast<double>(n), static_cast<double>(weight(s.m.beta, rest)));
    const double scale = activity * bias.mean;
    outcome.loses = species;
    outcome.probability = lowest_of(limit / scale, 1.0);
    outcome.difference = static_cast<double>(rest) - static_cast<double>(bias.old_energy);
    if (!(mul_rn(uniform(word[3]), scale) < limit)) return true;
    take_out(s, species, slot);
  }
  if (charged) s.accept_waves();
  s.energy += outcome.difference;
  outcome.accepted = true;
  ++tally.accepted_exchanges;
  return true;
}

// A molecule goes to one of the trials or stays. Returns where its center is.
template <class System, class Tally>
MM_TEAM_CALL Site reinsert_one(System& s, std::uint64_t step, const CommonDraw& draw, Tally& tally,
                               Outcome& outcome) {
  using F = typename System::Real;
  std::uint32_t word[4];
  words_of(s, step, 0u, word);
  int species;
  const int slot = s.find(
      static_cast<int>(uniform_below(draw.molecule, static_cast<std::uint32_t>(s.molecules()))),
      species);
  const Body<F>& body = s.r.body[species];
  Trials trials = trials_anywhere(s, species, step);
  ++trials.positions;
  trials.has_old = true;
  trials.old = s.pose(slot);
  s.gather({0, 0, 0}, {0, 0, 0}, F(0), slot, true);
  const Bias<F> bias = weigh(s, species, trials, word[0]);
  if (bias.old_weight > F(0) && bias.chosen != 0) {
    const Pose fresh = trial_pose(s, trials, bias.chosen);
    const bool charged = has_charges(s.r, body);
    const F rest = charged ? wave_change<System, F>(s, &body, trials.old, &body, fresh) : F(0);
    outcome.probability = lowest_of(static_cast<double>(weight(s.m.beta, rest)), 1.0);
    outcome.difference = static_cast<double>(bias.energy) - static_cast<double>(bias.old_energy) +
                         static_cast<double>(rest);
    outcome.accepted = metropolis(s.m.beta, rest, word[3]);
    if (outcome.accepted) {
      s.put(species, slot, fresh);
      if (charged) s.accept_waves();
      s.energy += outcome.difference;
      ++tally.accepted;
    }
  }
  count_move(s, kReinsertions, outcome.accepted);
  return s.centers[slot];
}

// A molecule becomes one of another species at the same center. Returns false and leaves the
// system unchanged if there is no free slot for it.
template <class System, class Tally>
MM_TEAM_CALL bool change_identity(System& s, std::uint64_t step, Tally& tally, Outcome& outcome) {
  using F = typename System::Real;
  std::uint32_t word[4], more[4];
  words_of(s, step, 0u, word);
  words_of(s, step, 1u, more);
  const auto kinds = static_cast<std::uint32_t>(s.m.species);
  const auto from = static_cast<int>(uniform_below(word[1], kinds));
  auto to = static_cast<int>(uniform_below(word[0], kinds - 1));
  to += to >= from;
  const int n = s.counts[from];
  ++tally.exchanges;
  if (n > 0) {
    const int slot = s.m.first_slot[from] +
                     static_cast<int>(uniform_below(word[2], static_cast<std::uint32_t>(n)));
    const Body<F>&gone = s.r.body[from], &come = s.r.body[to];
    const Pose old = s.pose(slot);
    s.gather(old.center, {0, 0, 0}, highest_of(gone.reach, come.reach), slot, false);
    const Bias<F> before = weigh(s, from, trials_here(s, from, step, old, true), more[1]);
    const Trials trials = trials_here(s, to, step, old, false);
    const Bias<F> after = weigh(s, to, trials, more[0]);
    if (before.old_weight > F(0) && after.mean > 0) {
      const Pose fresh = trial_pose(s, trials, after.chosen);
      const bool charged = has_charges(s.r, gone) || has_charges(s.r, come);
      F rest = s.tail_with_others(to, 0) - static_cast<F>(s.r.tail[to][from]) -
               s.tail_with_others(from, 1);
      if (charged) rest += wave_change<System, F>(s, &gone, old, &come, fresh);
      rest = lowest_of(rest, F(kForbidden));
      const double limit =
          s.m.activity[to] * after.mean * n * static_cast<double>(weight(s.m.beta, rest));
      const double scale = s.m.activity[from] * before.mean * (s.counts[to] + 1);
      outcome.gains = to;
      outcome.loses = from;
      outcome.probability = lowest_of(limit / scale, 1.0);
      outcome.difference = static_cast<double>(after.energy) -
                           static_cast<double>(before.old_energy) + static_cast<double>(rest);
      if (mul_rn(uniform(word[3]), scale) < limit) {
        if (!has_slot(s, to, tally)) return false;
        take_out(s, from, slot);
        put_in(s, to, fresh);
        if (charged) s.accept_waves();
        s.energy += outcome.difference;
        outcome.accepted = true;
        ++tally.accepted_exchanges;
      }
    }
  }
  count_move(s, kIdentities, outcome.accepted);
  return true;
}

}  // namespace manymove::adsorption
