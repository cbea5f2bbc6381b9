// SPDX-License-Identifier: BSD-3-Clause
// Methods with one proposal per step: what a trial draws and decides, written once for CPU and GPU.
// The system (System of system.h or WarpSystem of kernels.cuh) adds up energies and stores the
// result; on the GPU all lanes of a warp call these functions together. Besides its public members
// a system has
//   pair_change(species, to, from, slot): change of the pair energy when the molecule of this slot
//     moves between two places; `to` or `from` is null if it vanishes or appears
//   field_change(species, fresh, old): the change of the energy with the framework
//   move(slot, site), insert(species, site), remove(species, slot), count_place(site)
//   sync(): a barrier of the lanes, needed around move(), which is done by one lane
#pragma once

#include "model.h"

namespace manymove::adsorption {

template <class System, class Counts>
MM_HD void translate(System& s, std::uint64_t step, std::uint32_t which, Counts& moves) {
  using F = typename System::Real;
  const int n = s.molecules();
  if (n == 0) return;
  int species;
  const int slot =
      s.find(static_cast<int>(uniform_below(which, static_cast<std::uint32_t>(n))), species);
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::propose);
  const Site old = s.sites[slot], fresh = moved(old, step_of(s.m, word));
  const Point<F> to = to_point(s.m, fresh), from = to_point(s.m, old);
  const F pairs = s.pair_change(species, &to, &from, slot);
  const F difference = lowest_of(pairs + s.field_change(species, fresh, old), F(kForbidden));
  const bool accept = metropolis(s.m.beta, difference, word[3]);
  s.sync();
  if (accept) {
    s.move(slot, fresh);
    s.energy += static_cast<double>(difference);
    ++moves.accepted;
  }
  if (s.w.measure && s.m.bins) s.count_place(accept ? fresh : old);
  s.sync();
}

// An insertion or a deletion. Returns false and leaves the system unchanged if an accepted
// insertion finds no free slot.
template <class System, class Counts>
MM_HD bool exchange(System& s, std::uint64_t step, Counts& moves) {
  using F = typename System::Real;
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::exchange);
  const auto species =
      static_cast<int>(uniform_below(word[1], static_cast<std::uint32_t>(s.m.species)));
  const int n = s.counts[species], first = s.m.first_slot[species];
  const double activity = s.m.activity[species];
  ++moves.exchanges;
  if (word[0] >> 31) {
    std::uint32_t place[4];
    random_words(place, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::propose);
    const Site fresh{place[0], place[1], place[2]};
    const Point<F> to = to_point(s.m, fresh);
    const F pairs = s.pair_change(species, &to, nullptr, -1);
    const F difference = lowest_of(pairs + framework_energy(s.m, species, fresh), F(kForbidden));
    if (!accept_insertion(s.m.beta, difference, activity, n, word[3])) return true;
    if (first + n == s.m.first_slot[species + 1]) {
      moves.full |= 1u << species;
      --moves.exchanges;
      return false;
    }
    s.insert(species, fresh);
    s.energy += static_cast<double>(difference);
  } else {
    if (n == 0) return true;
    const int slot =
        first + static_cast<int>(uniform_below(word[2], static_cast<std::uint32_t>(n)));
    const Site old = s.sites[slot];
    const Point<F> from = to_point(s.m, old);
    const F lost =
        s.pair_change(species, nullptr, &from, slot) + framework_energy(s.m, species, old);
    if (!accept_deletion(s.m.beta, -lost, activity, n, word[3])) return true;
    s.remove(species, slot);
    s.energy -= static_cast<double>(lost);
  }
  ++moves.accepted_exchanges;
  return true;
}

}  // namespace manymove::adsorption
