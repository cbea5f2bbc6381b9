// SPDX-License-Identifier: BSD-3-Clause
// A system of point particles, whose work a team of lanes shares: team.h. Memory says where the
// particles are: in a GPU's shared memory, or on a CPU in the state, with a copy of the
// coordinates.
#pragma once

#include "averages.h"

namespace manymove::adsorption {

// A coordinate that is farther than the cutoff from all others: it adds nothing to any energy.
template <class F>
constexpr F kFar = F(1e18);

MM_HD Site center_of(const Site& s) { return s; }

template <LaneTeam TeamOf, class F, class Memory>
class PointSystem {
 public:
  using Team = TeamOf;
  using Real = F;
  using Draws = typename Team::Draws;
  static constexpr bool kChains = false, kRecordsOutcomes = false;
  template <class T>
  using Lane = typename Team::template Lane<T>;
  static constexpr int kLanes = Team::width;
  struct Body {
    int species;
  };

  const PointArrays<F>& w;
  const Model<F>& m;
  const Team& team;
  int id;
  Memory memory;
  std::int32_t* counts;
  double energy;
  Averages averages;

  MM_TEAM PointSystem(const PointArrays<F>& arrays, int system, const Team& lanes,
                      const Memory& points)
      : w(arrays),
        m(arrays.m),
        team(lanes),
        id(system),
        memory(points),
        counts(memory.counts),
        energy(arrays.energies[system]),
        averages(load_averages(arrays, system)) {
    for (int b = 0; b < m.species; ++b)
      team.strided(0, counts[b], [&](int, int i) {
        const int slot = m.first_slot[b] + i;
        // The integers are the state; coordinates follow from them and are never rounded twice.
        memory.set_point(slot, to_point(m, memory.site(slot)));
      });
    team.sync();
  }
  // `step`: the next one, from which a system goes on that has stopped for lack of a slot.
  MM_TEAM void store(std::uint64_t step) {
    team.sync();
    memory.store(w, id);
    if (!team.leads()) return;
    w.energies[id] = energy;
    if (w.reached) w.reached[id] = step;
    store_averages(w, id, averages);
  }

  MM_TEAM Site placed(int slot) const { return memory.site(slot); }
  MM_TEAM Body body_of(int species, int) const { return {species}; }
  MM_TEAM void put(int, int slot, const Site& s) {
    // Other lanes may still read the old place, and then read the new one.
    team.sync();
    if (team.leads()) put_by_one(slot, s);
    team.sync();
  }
  MM_TEAM void put_by_one(int slot, const Site& s) { memory.set(slot, s, to_point(m, s)); }
  MM_TEAM void place_new(int species, int slot, const Site& s) { put(species, slot, s); }
  MM_TEAM void relocate(int species, int from, int to) { put(species, to, placed(from)); }

  // ---- averages ----

  // Fused, as all sums of products of point particles are.
  MM_TEAM void add_product(int sum, double a, double b) const {
    double& to = sum_of(*this, sum);
    to = fused(a, b, to);
  }
  MM_TEAM void measure_energy() { averages.measure(energy); }
  MM_TEAM void measure_waste(double mean) { averages.waste += mean; }
  MM_TEAM void measure_moments(double jump, double squared) {
    averages.jump += jump;
    averages.waste_squared += squared;
  }
  MM_TEAM std::uint64_t* profile() const { return memory.profile; }
  MM_TEAM void renew_energy() { averages.renew(total_energy(), energy); }

  // ---- one proposal ----

  MM_TEAM bool moves_one(std::uint32_t kind) const { return kind >= m.exchange; }
  MM_TEAM Site small_move(const Body&, bool, const Site& old, const std::uint32_t* word) const {
    return moved(old, step_of(m, word));
  }
  MM_TEAM Site anywhere(std::uint64_t step) const {
    std::uint32_t word[4];
    random_words(word, m.key, step, static_cast<std::uint32_t>(id), 0u, Purpose::propose);
    return {word[0], word[1], word[2]};
  }
  // Eq. 5.
  MM_TEAM F change_of_move(const Body& body, int slot, const Site& fresh, const Site& old) {
    const Point<F> to = to_point(m, fresh), from = to_point(m, old);
    // One loop over the others computes both ends of the move.
    const F pairs = add_pairs(body.species, slot, [&](const PairLaw<F>& law, const Point<F>& q) {
      return pair_energy(m, law, to, q.x, q.y, q.z) - pair_energy(m, law, from, q.x, q.y, q.z);
    });
    // E_grid(r') - E_grid(r).
    return pairs + team.difference([&](bool second) {
      return framework_energy(m, body.species, second ? old : fresh);
    });
  }
  // U(N + 1) - U(N) = sum_j u(r_j) + E_grid of the molecule that comes, and minus that of one that
  // goes.
  MM_TEAM F change_of_insertion(int species, const Site& fresh) {
    return energy_at(species, fresh, -1);
  }
  MM_TEAM F change_of_deletion(int species, int slot) {
    return -energy_at(species, placed(slot), slot);
  }
  MM_TEAM void accept_waves() const {}
  MM_TEAM static bool has_framework() { return true; }
  MM_TEAM static F rest_of_test(int, bool) { return F(0); }

  // ---- from scratch ----

  MM_TEAM double total_energy() const {
    using Whole = typename Team::Whole;
    // kWidth sums for every team, lane l with particles l, l + kWidth, ...: the order of the sum,
    // and so its bits, is the same for all methods.
    typename Whole::template Lane<double> sum;
    Whole::each([&](int l) { sum[l] = 0; });
    for (int a = 0; a < m.species; ++a)
      Whole::strided(0, counts[a], [&](int l, int i) {
        // Slots of a species follow each other; i is the molecule's number in it.
        const int slot = m.first_slot[a] + i;
        const Point<F> p = memory.point(slot);
        // U = sum_i E_grid(r_i) + sum_(i < j) u(r_ij), in doubles of terms that are rounded as in
        // the moves.
        double part = sum[l] + static_cast<double>(framework_energy(m, a, memory.site(slot)));
        for (int b = a; b < m.species; ++b) {
          const PairLaw<F> law = m.law[a][b];
          const int begin = m.first_slot[b], end = begin + counts[b];
          // Each pair once.
          for (int j = a == b ? slot + 1 : begin; j < end; ++j) {
            const Point<F> q = memory.point(j);
            part += static_cast<double>(pair_energy(m, law, p, q.x, q.y, q.z));
          }
        }
        sum[l] = part;
      });
    return Whole::sum(sum);
  }

  // The numbers in the state stay what they are.
  MM_TEAM void forget_molecules() {
    memory.forget_molecules(m.species);
    counts = memory.counts;
  }

  // Lists the molecules from begin on that may be within the cutoff of some place there, in their
  // order, and returns their number. The others would add zero to the energies of all places.
  MM_TEAM int gather_near(const Surroundings<F>& around, F cutoff2, int begin, int count) {
    team.sync();  // the last list has been read
    const int near = team.compact(
        count,
        [&](int i) {
          const Point<F> q = memory.point(begin + i);
          // Within the cutoff of the box around the places, not of a place: no pair is missed.
          return may_feel(m, around, cutoff2, q.x, q.y, q.z);
        },
        [&](int i, int place) { memory.set_near(place, begin + i); });
    // Every lane reads the whole list.
    team.sync();
    return near;
  }

 private:
  // The sum over all molecules but that of a slot.
  MM_TEAM F add_pairs(int species, int slot, const auto& energy) {
    Lane<F> part;
    team.each([&](int l) { part[l] = 0; });
    // For the lanes of a SIMD register it is faster to add zero than to skip a molecule.
    const bool hides = Memory::kHides && slot >= 0;
    if (hides) memory.put_far(slot);
    for (int b = 0; b < m.species; ++b) {
      const PairLaw<F> law = m.law[species][b];
      const int begin = m.first_slot[b];
      team.strided(begin, begin + counts[b], [&](int l, int j) {
        if (!Memory::kHides && j == slot) return;
        part[l] += energy(law, memory.point(j));
      });
    }
    if (hides) memory.set_point(slot, to_point(m, memory.site(slot)));
    return team.sum(part);
  }
  MM_TEAM F energy_at(int species, const Site& s, int slot) {
    const Point<F> p = to_point(m, s);
    return add_pairs(species, slot,
                     [&](const PairLaw<F>& law, const Point<F>& q) {
                       return pair_energy(m, law, p, q.x, q.y, q.z);
                     }) +
           framework_energy(m, species, s);
  }
};

}  // namespace manymove::adsorption
