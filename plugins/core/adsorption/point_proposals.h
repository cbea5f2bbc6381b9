// SPDX-License-Identifier: BSD-3-Clause
// Many places of a point particle at a time and their energies. A batch has them where its team
// wants them: in registers, or in memory.
#pragma once

#include "point_system.h"

namespace manymove::adsorption {

// The proposals of section 4.3, uniform in the box, or the walks of section 4.4: the first goes
// from the old state over proposals 1 ... P - 1 - l, the second over P - l ... P - 1. A proposal is
// the old place plus the sum of the steps up to it, less those of the first walk on the second.
MM_TEAM void draw_proposals(const MoleculesOfTeam auto& s, auto& b, std::uint64_t step,
                            const Site& old, std::uint32_t split_word) {
  const bool anywhere = uniform_proposals(s.w, step);
  b.draw(s.m.key, step, s.id, [&](const std::uint32_t* word) {
    return anywhere ? Site{word[0], word[1], word[2]} : step_of(s.m, word);
  });
  // The old state is a proposal too; in the walks its step is zero.
  b.set_first(anywhere ? old : Site{0, 0, 0});
  if (anywhere) return;
  // Prefix sums of the steps: place i of a random walk is the old one plus steps 1 to i.
  b.add_up();
  // l of section 4.4, uniform in 0 ... P - 1: each proposal may have been the generating point.
  const auto split =
      static_cast<int>(uniform_below(split_word, static_cast<std::uint32_t>(b.count())));
  // The walks: proposals 1 ... last, and last + 1 ... P - 1.
  const int last = b.count() - split - 1;  // of the first walk
  const Site end = b.site_at(last);
  b.each([&](int i, Site& site) {
    // The prefix sum runs over both walks; the second one starts from the old place again.
    if (i > last) site = {site.x - end.x, site.y - end.y, site.z - end.z};
    site = moved(site, old);
  });
}

// Energies of a molecule of a species at all places of a batch, with all others. together: the
// places are close to each other, so that many molecules are too far from all.
template <MoleculesOfTeam System, class Batch>
MM_TEAM void proposal_energies(System& s, Batch& b, int species, bool together) {
  using F = typename System::Real;
  b.each_part([&](auto part) {  // by value: what no other function sees stays in registers
    part.begin(s.m, species);
    Surroundings<F> around{};
    // The box around the places grows with sqrt(P) d, and leaves out most molecules of a large
    // system.
    if (together) around = part.surroundings(s.m);
    for (int other = 0; other < s.m.species; ++other) {
      const PairLaw<F> law = s.m.law[species][other];
      const int first = s.m.first_slot[other];
      int count = s.counts[other];
      auto list = s.memory.list_from(first);
      if (together) {
        count = s.gather_near(around, law.cutoff2, first, count);
        list = s.memory.near_list();
      }
      // sum_j u(r_ij) of all places at a time, so that each molecule is read once.
      MM_UNROLL_BY_2
      for (int j = 0; j < count; ++j) {
        const auto q = list[j];
        part.each(
            [&](const Point<F>& p, F& sum) { sum += pair_energy(s.m, law, p, q.x, q.y, q.z); });
      }
    }
    part.end(s.m, species);  // plus E_grid
  });
}

template <LaneTeam Team, class F, class Memory>
MM_TEAM auto propose(PointSystem<Team, F, Memory>& s, int species, int slot, std::uint64_t step,
                     const StepWords& words) {
  auto batch = s.memory.batch();
  draw_proposals(s, batch, step, s.placed(slot), words.split);
  s.team.sync();
  if (s.team.leads()) s.memory.put_far(slot);  // out of its own reach
  s.team.sync();
  // E_i of all proposals with the other molecules; the molecule itself is out of reach.
  proposal_energies(s, batch, species, !uniform_proposals(s.w, step));
  return batch;
}

template <LaneTeam Team, class F, class Memory>
MM_TEAM Choice shared_choice(const PointSystem<Team, F, Memory>&, const Choice& choice) {
  return choice;
}

template <LaneTeam Team, class F, class Memory, class Batch>
MM_TEAM void put_try(PointSystem<Team, F, Memory>& s, int, int slot, const Batch& tries,
                     int winner) {
  // Tries have been compared with all molecules before one of them joins these.
  s.team.sync();
  tries.by_owner(winner, [&](const Site& site) { s.put_by_one(slot, site); });
  s.team.sync();
}
template <LaneTeam Team, class F, class Memory, class Batch>
MM_TEAM void move_to(PointSystem<Team, F, Memory>& s, const Batch& b, int chosen, int species,
                     int slot) {
  // The energies of the batch are differences E_i - E_o since choose_one_of_many().
  s.energy += static_cast<double>(b.energy_at(chosen));
  put_try(s, species, slot, b, chosen);
}

// ---- places anywhere, for starts and test molecules: one for each lane ----

// draw(word, i) draws the place of lane i.
template <LaneTeam Team, class F, class Memory, class Draw>
MM_TEAM auto places_anywhere(PointSystem<Team, F, Memory>& s, int species, const Draw& draw) {
  auto batch = s.memory.tries();
  batch.each([&](int i, Site& site) {
    std::uint32_t word[4];
    draw(word, static_cast<std::uint32_t>(i));
    site = {word[0], word[1], word[2]};
  });
  proposal_energies(s, batch, species, false);
  return batch;
}
template <LaneTeam Team, class F, class Memory>
MM_TEAM auto tries_anywhere(PointSystem<Team, F, Memory>& s, int species, std::uint64_t molecule,
                            std::uint32_t first) {
  return places_anywhere(s, species, [&](std::uint32_t* word, std::uint32_t i) {
    random_words<std::uint32_t>(word, s.m.key, molecule, static_cast<std::uint32_t>(s.id),
                                first + i, Purpose::place);
  });
}
template <LaneTeam Team, class F, class Memory, class Batch>
MM_TEAM F field_of_try(const PointSystem<Team, F, Memory>& s, int species, const Batch& tries,
                       int l) {
  return framework_energy(s.m, species, tries.site_of(l));
}
template <LaneTeam Team, class F, class Memory>
MM_TEAM void begin_tests(PointSystem<Team, F, Memory>& s, bool empty) {
  if (empty) s.forget_molecules();
}
template <LaneTeam Team, class F, class Memory>
MM_TEAM auto tests_anywhere(PointSystem<Team, F, Memory>& s, int species, std::uint64_t first,
                            bool) {
  return places_anywhere(s, species, [&](std::uint32_t* word, std::uint32_t i) {
    random_words<std::uint32_t>(word, s.m.key, first + i, static_cast<std::uint32_t>(s.id),
                                static_cast<std::uint32_t>(species), Purpose::widom);
  });
}

}  // namespace manymove::adsorption
