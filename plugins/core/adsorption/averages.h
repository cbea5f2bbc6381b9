// SPDX-License-Identifier: BSD-3-Clause
// The averages of a system, written once for CPU and GPU.
#pragma once

#include "team.h"

namespace manymove::adsorption {

// The sums of a system of point particles to which every step adds, in registers while a kernel
// runs. Its loops are so short that the sums in memory would take a good part of the time.
struct Averages {
  double plain, squared, waste, waste_squared, jump, drift;

  MM_HD void measure(double energy) {
    plain += energy;
    squared = fused(energy, energy, squared);
  }
  MM_HD void renew(double fresh, double& energy) {
    drift = max_of(drift, abs_of(fresh - energy));
    energy = fresh;
  }
};
// visit(sum in memory, sum in a register) for all of a system.
template <class F, class Visit>
MM_HD void each_average(const PointArrays<F>& w, int system, Averages& a, const Visit& visit) {
  const auto at = [&](int sum) -> double& { return sum_of(w, system, sum); };
  visit(at(kPlain), a.plain);
  visit(at(kEnergySquared), a.squared);
  visit(at(kWaste), a.waste);
  visit(at(kWasteSquared), a.waste_squared);
  visit(at(kJump), a.jump);
  visit(at(kDrift), a.drift);
}
template <class F>
MM_HD Averages load_averages(const PointArrays<F>& w, int system) {
  Averages a;
  each_average(w, system, a, [](double& memory, double& kept) { kept = memory; });
  return a;
}
template <class F>
MM_HD void store_averages(const PointArrays<F>& w, int system, Averages a) {
  each_average(w, system, a, [](double& memory, double& kept) { memory = kept; });
}

// Open: whether the numbers of molecules may change, which they do in steps of one proposal only.
template <bool Open, MoleculesOfTeam System>
MM_TEAM void measure_state(System& s) {
  if (!s.team.leads()) return;
  s.measure_energy();
  if (!Open || !s.m.exchange) return;
  double n = 0;
  for (int b = 0; b < s.m.species; ++b) {
    n += s.counts[b];
    sum_of(s, kOfSpecies + b) += s.counts[b];
  }
  sum_of(s, kNumber) += n;
  // <N>, <N^2> and <U N>: the fluctuations give the isosteric heat of adsorption.
  sum_of(s, kNumberSquared) += mul_rn(n, n);
  s.add_product(kEnergyNumber, s.energy, n);
  if (s.m.species > 1) add_mixture(s.w.sums + s.id, s.w.systems, s.m.species, s.energy, s.counts);
}

// Eq. 4: the probability of a place along the direction of the profile.
MM_TEAM void count_in_profile(const MoleculesOfTeam auto& s, const Site& center,
                              double probability) {
  const std::uint64_t q = quantum(probability);
  if (q) s.team.add(s.profile() + profile_bin(s.m, center), q);
}

// The possible changes by an insertion, deletion, reinsertion or identity change, and their
// probability given its trials: docs/theory/open_systems.md, section 4.
struct TrialOutcome {
  double probability = 0, difference = 0;  // of the energy
  bool accepted = false;
  int gains = -1, loses = -1;    // species with a molecule more or less
  int inserted = -1, tried = 0;  // species; 1 for an insertion, -1 for a deletion
  double test = 0;               // beta f V W of an insertion
  int present = 0;               // molecules of the species then
};
MM_TEAM void measure_outcome(const MoleculesOfTeam auto& s, const TrialOutcome& o) {
  if (!s.team.leads()) return;
  // Waste recycling: the expected change less the actual one has the mean zero, so that adding it
  // keeps the average and reduces its variance.
  const double more = o.probability - (o.accepted ? 1 : 0);
  if (o.gains >= 0) sum_of(s, kExpected + o.gains) += more;
  if (o.loses >= 0) sum_of(s, kExpected + o.loses) += -more;
  if (more != 0) sum_of(s, kExpectedEnergy) += more * o.difference;
  if (o.inserted < 0) return;
  sum_of(s, kChoice + o.inserted) += o.tried;
  if (o.tried < 0) return;
  sum_of(s, kTest + o.inserted) += o.test;
  sum_of(s, kTested + o.inserted) += 1;
  sum_of(s, kPresent + o.inserted) += o.present;
}
MM_TEAM void count_move(const MoleculesOfTeam auto& s, int tries, bool accepted) {
  if (!s.w.measure || !s.team.leads()) return;
  sum_of(s, tries) += 1;
  if (accepted) sum_of(s, tries + 1) += 1;
}

}  // namespace manymove::adsorption
