// SPDX-License-Identifier: BSD-3-Clause
// The choice of one of several trials by its Rosenbluth weight, for rigid molecules and chains:
// J. I. Siepmann, D. Frenkel, Mol. Phys. 75, 59 (1992). The proofs are in
// docs/theory/open_systems.md.
#pragma once

#include "../averages.h"
#include "../molecules/system.h"

namespace manymove::adsorption {

// Rosenbluth weights of trials, W = sum_i exp(-beta u_i) / n.
template <class F>
struct Bias {
  double mean;               // W, of all trials; without a molecule's interactions it is 1
  int chosen;                // a trial, drawn by its weight; meaningless where W is zero
  F energy;                  // of the chosen one, as in the weights
  F old_weight, old_energy;  // of the first trial
};

struct TrialSet {
  int places, turns;
  bool excludes_places;
};

// The trials i are turns at places, i = place * turns + turn. field(i) is the energy of a trial in
// the framework, which is not below `most_of_trials` if the trial has no weight. If the set
// excludes places, is_open(i) is evaluated first, for turn 0 of each place: trials at places that
// are not open have no weight. Only trials with a weight need energies with other molecules:
// add_pairs(trial_of, pairs) sets the energies pairs[l] of the trials trial_of(l), a trial a lane.
// If apart(count) is true, count trials are weighed by all lanes together instead, one after the
// other: pairs_of(i) is then the energy of trial i with other molecules.
template <MoleculesOfTeam System>
MM_TEAM Bias<typename System::Real> weigh_trials(const System& s, const TrialSet& set,
                                                 std::uint32_t word, const auto& is_open,
                                                 const auto& field, const auto& add_pairs,
                                                 const auto& apart, const auto& pairs_of) {
  using F = typename System::Real;
  const TeamPointer<F> energy = s.scratch.energy, weights = s.scratch.weight;
  const TeamPointer<std::int32_t> open = s.scratch.open;
  const int turns = set.turns, all = set.places * turns;
  const auto list = [&](int items, const auto& test) {
    // The energies of all lanes are complete before the list is made, and the list afterwards.
    s.team.sync();
    const int listed = s.team.compact(items, test, [&](int i, int p) { open[p] = i; });
    s.team.sync();
    return listed;
  };
  int places = set.places;
  if (set.excludes_places) {
    s.team.share(all, [&](int i) { energy[i] = F(kForbidden); });
    places = list(places, [&](int place) { return is_open(place * turns); });
  }
  s.team.share(places * turns, [&](int p) {
    const int i = (set.excludes_places ? open[p / turns] : p / turns) * turns + p % turns;
    energy[i] = field(i);
  });
  const int count = list(all, [&](int i) { return energy[i] < s.w.most_of_trials; });
  // All trials have the weight zero, and so has the move.
  if (count == 0) return {0, 0, F(0), F(0), F(0)};
  // Trials of a lane follow one another, as proposals of a batch do.
  const int own = (count + System::kLanes - 1) / System::kLanes;
  typename System::template Lane<F> sum;
  s.team.each([&](int l) { sum[l] = 0; });
  const bool alone = apart(count);
  for (int p = 0; alone && p < count; ++p) {
    const F pairs = pairs_of(open[p]);
    if (s.team.leads()) energy[open[p]] += pairs;
  }
  if (alone) s.team.sync();
  for (int c = 0; c < own; ++c) {
    typename System::template Lane<F> pairs;
    s.team.each([&](int l) { pairs[l] = 0; });
    const auto trial_of = [&](int l) {
      const int p = l * own + c;
      return open[p < count ? p : 0];
    };
    if (!alone) add_pairs(trial_of, pairs);
    s.team.each([&](int l) {
      const int p = l * own + c;
      weights[p] = 0;
      if (p < count) {
        F& u = energy[open[p]];
        // The trial's energy u_i and its weight exp(-beta u_i).
        u = min_of(u + pairs[l], F(kForbidden));
        weights[p] = weight(s.m.beta, u);
      }
      sum[l] += weights[p];
    });
  }
  // All lanes walk down the weights of the lane that is chosen.
  s.team.sync();
  F total = 0;
  int p = 0;
  // The choice goes down the tree of the lanes' partial sums (section 4.3, step 5 of the paper).
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
  // W = sum_i w_i / n over all n trials, of which those that were not open add 0.
  const Bias<F> bias{static_cast<double>(total) / all, chosen, energy[chosen],
                     first ? weights[0] : F(0), first ? energy[0] : F(0)};
  s.team.sync();  // the memory is used again
  return bias;
}

}  // namespace manymove::adsorption
