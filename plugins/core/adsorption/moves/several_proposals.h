// SPDX-License-Identifier: BSD-3-Clause
// A step with several proposals, one of which becomes the next state: sections 4.3 and 4.4 of the
// paper, methods mup and mdp. All proposals enter the averages, which is the waste recycling.
//
// A batch holds the proposals of a system, of which each lane has as many: for molecules
// molecules/proposals.h, in a GPU's registers cuda/warp_points.cuh, on a CPU cpu/loop_points.h.
#pragma once

#include "../point_proposals.h"

namespace manymove::adsorption {

// By one warp: the next state (section 4.3, step 5), from the energies of all proposals, which
// become differences; and what a measured step adds up over the proposals (step 4).
template <MoleculesOfTeam System, class Batch>
MM_TEAM Choice choose_one_of_many(System& s, Batch& batch, std::uint32_t choose_word,
                                  double before) {
  using F = typename System::Real;
  using Lane = typename System::template Lane<F>;
  const auto one = s.team.one();
  // Other lanes have written the energies of this lane's proposals.
  one.sync();
  const F old = batch.first_energy();  // E_o, of proposal 0
  Lane lowest, sw, first, second;
  typename System::template Lane<bool> deep;
  batch.each_item(one, [&](F& energy, F&) { energy = energy_difference(energy, old); });
  one.each([&](int l) {
    lowest[l] = 0;
    batch.each_of(l, [&](F& energy, F&) { lowest[l] = min_of(lowest[l], energy); });
    deep[l] = weight_shift(s.m.beta, lowest[l]) != F(0);
  });
  // A vote, because hardly any state is so much better that all lanes need the lowest energy.
  const F shift = one.any(deep) ? weight_shift(s.m.beta, one.lowest(lowest)) : F(0);
  // w_i = exp(-beta (E_i - E_o)), and the sums of w_i, w_i (E_i - E_o) and w_i (E_i - E_o)^2.
  batch.each_item(one,
                  [&](F& energy, F& boltzmann) { boltzmann = weight(s.m.beta, energy - shift); });
  one.each([&](int l) {
    sw[l] = first[l] = second[l] = 0;
    batch.each_of(l, [&](F& energy, F& boltzmann) {
      const F product = mul_rn(boltzmann, energy);
      sw[l] += boltzmann;
      first[l] += product;
      second[l] = fused(product, energy, second[l]);
    });
  });
  // The choice reads weights that other lanes have written.
  one.sync();
  // The partial sums of the reduction, which the choice walks down as Listing 1 does.
  const auto levels = one.levels(sw);
  F rest = mul_rn(static_cast<F>(uniform(choose_word)), levels.total());
  const int lane = choose_lane(rest, [&](int level, int l) { return levels.partial(level, l); });
  const Choice choice{static_cast<double>(levels.total()), batch.choose(rest, lane)};
  if (!s.w.measure) return choice;
  // sum_i p_i E_i = E_o + sum_i w_i (E_i - E_o) / sum_i w_i
  const double mean = static_cast<double>(one.sum(first)) / choice.total;
  const bool leads = s.team.leads();
  if (leads) s.measure_waste(before + mean);
  if (s.w.moments) {  // Eq. 8: sum_i p_i (E_i - E_o)^2 and sum_i p_i E_i^2
    // Eq. 8 is about E_i^2 = E_o^2 + 2 E_o (E_i - E_o) + (E_i - E_o)^2.
    const double square = static_cast<double>(one.sum(second)) / choice.total;
    if (leads) s.measure_moments(square, fused(before, before + 2 * mean, square));
  }
  return choice;
}

MM_TEAM void move_to_one_of_many(MoleculesOfTeam auto& s, std::uint64_t step,
                                 CountsMoves auto& moves) {
  const auto& w = s.w;
  const StepWords words = s.team.words_of_step(s.m.key, step, s.id);
  int species;
  // The same molecule in all systems: see common_draw().
  const auto all = static_cast<std::uint32_t>(count_molecules(s));
  const int slot =
      find_molecule(s, static_cast<int>(uniform_below(words.common.molecule, all)), species);
  auto batch = propose(s, species, slot, step, words);
  Choice choice{};
  if (s.team.first_warp()) choice = choose_one_of_many(s, batch, words.choice, s.energy);
  choice = shared_choice(s, choice);
  // p_acc(f) = w_f / sum_i w_i (section 4.3, step 5): nothing is rejected.
  move_to(s, batch, choice.proposal, species, slot);
  // Proposal 0 is the old state.
  if (choice.proposal != 0) ++moves.accepted;
  if (w.measure) {
    measure_state<false>(s);
    if (s.m.bins)
      batch.each_center(s.team, [&](const Site& center, auto boltzmann) {
        count_in_profile(s, center, static_cast<double>(boltzmann) / choice.total);
      });
  }
  // The next step overwrites the proposals that this one has read for the averages.
  s.team.sync();
}

}  // namespace manymove::adsorption
