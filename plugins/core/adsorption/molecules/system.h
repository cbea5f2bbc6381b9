// SPDX-License-Identifier: BSD-3-Clause
// A system of rigid molecules or chains, whose work a team of lanes shares: team.h.
#pragma once

#include "../team.h"
#include "arrays.h"
#include "waves.h"

namespace manymove::adsorption {

// Lennard-Jones energy of bead s of a chain with those of its beads from low to high that are four
// or more bonds away.
template <MoleculesOfTeam System, class SiteAt>
MM_TEAM auto chain_energy(const System& s, int species, int bead, int low, int high, const Site& at,
                          const SiteAt& site_at) {
  using F = typename System::Real;
  const Body<F>& body = s.r.body[species];
  F sum = 0;
  for (int i = low; i <= high; ++i) {
    // Beads that are up to three bonds apart interact by bonds, bends and torsions only.
    if (i > bead - 4 && i < bead + 4) continue;
    const PairLaw<F> law = s.r.laws[body.type[bead] * s.r.types + body.type[i]];
    if (law.repulsion > F(0))
      sum += site_energy<false>(s.r, law, F(0), squared_distance(s.r, at, site_at(i)));
  }
  return sum;
}

// With a system of its own, so that the compiler keeps the members of the other in registers.
template <MoleculesOfTeam System, class Arrays, class Scratch, class Team>
MM_TEAM_CALL double energy_from_scratch(const Arrays& arrays, int id, const Team team,
                                        const Scratch scratch) {
  return System(arrays, id, team, scratch).total_energy();
}

// Chains: whether the molecules are flexible chains; see moves/chain_regrowth.h.
template <LaneTeam TeamOf, class F, bool Chains = false>
class MoleculeSystem {
 public:
  using Team = TeamOf;
  using Real = F;
  using Draws = EachDraw;
  static constexpr bool kChains = Chains, kRecordsOutcomes = true;
  static constexpr bool kCharges = !Chains;  // the beads of chains have none
  template <class Others>
  using With = MoleculeSystem<Others, F, Chains>;
  template <class T>
  using Lane = typename Team::template Lane<T>;
  static constexpr int kLanes = Team::width;

  const MoleculeArrays<F>& w;
  const MoleculeModel<F>& r;
  const Model<F>& m;
  const Team& team;
  const MoleculeScratch<F>& scratch;
  int id;
  Site* centers;
  Quaternion* turns;
  std::int32_t* counts;
  double* waves;
  double* shapes;
  double energy;

  MM_TEAM MoleculeSystem(const MoleculeArrays<F>& work, int system, const Team& lanes,
                         const MoleculeScratch<F>& memory)
      : w(work),
        r(work.r),
        m(work.r.m),
        team(lanes),
        scratch(memory),
        id(system),
        centers(work.sites + static_cast<std::size_t>(system) * work.slots),
        turns(work.turns + static_cast<std::size_t>(system) * work.slots),
        counts(work.counts + static_cast<std::size_t>(system) * work.r.m.species),
        waves(work.waves + static_cast<std::size_t>(system) * 2 * work.r.waves),
        shapes(Chains ? work.shapes +
                            static_cast<std::size_t>(system) * work.slots * 3 * work.chains.sites
                      : nullptr),
        energy(work.energies[system]) {
    // A worker's memory has the sites of all molecules, the arrays above their poses only.
    for (int b = 0; b < m.species; ++b)
      for (int i = 0; i < counts[b]; ++i) place_sites(b, m.first_slot[b] + i);
    team.sync();
  }

  MM_TEAM Pose placed(int slot) const { return {centers[slot], turns[slot]}; }
  // Offsets of the beads of a slot's chain, [chains.sites][3].
  MM_TEAM double* shape_of(int slot) const {
    return shapes + static_cast<std::size_t>(slot) * 3 * w.chains.sites;
  }
  // The body of the molecule of a slot; that of a chain has its own shape.
  MM_TEAM decltype(auto) body_of(int species, [[maybe_unused]] int slot) const {
    if constexpr (Chains) {
      Body<F> own = r.body[species];
      const double* const shape = shape_of(slot);
      for (int s = 0; s < own.count; ++s)
        for (int a = 0; a < 3; ++a) own.offset[s][a] = shape[3 * s + a];
      return own;
    } else {
      return (r.body[species]);
    }
  }

  // ---- averages ----

  MM_TEAM void add_product(int sum, double a, double b) const {
    sum_of(*this, sum) += mul_rn(a, b);
  }
  MM_TEAM void measure_energy() const {
    sum_of(*this, kPlain) += energy;
    add_product(kEnergySquared, energy, energy);
  }
  MM_TEAM void measure_waste(double mean) const { sum_of(*this, kWaste) += mean; }
  MM_TEAM void measure_moments(double jump, double squared) const {
    sum_of(*this, kJump) += jump;
    sum_of(*this, kWasteSquared) += squared;
  }
  MM_TEAM std::uint64_t* profile() const {
    return w.profile + static_cast<std::size_t>(id % w.groups) * m.bins;
  }
  // Whether a step is a translation or rotation, by the kind that all systems draw.
  MM_TEAM bool moves_one(std::uint32_t kind) const {
    return kind >= m.exchange && kind >= w.identity_below && (!Chains || kind >= w.regrow_below);
  }
  MM_TEAM void store(std::uint64_t step) const {
    if (!team.leads()) return;
    w.energies[id] = energy;
    if (w.reached) w.reached[id] = step;
  }

  // ---- sites ----

  // Where site s of a slot's molecule is in scratch.sites.
  MM_TEAM int place_of(int species, int s, int slot) const {
    // [site][slot]: sites of one type side by side, as the loops over neighbors read them.
    const int room = m.first_slot[species + 1] - m.first_slot[species];
    return r.body[species].first_site + s * room + slot - m.first_slot[species];
  }
  // r_s = r_center + R(q) d_s, rounded to integers of the box: every energy is a function of
  // integers.
  MM_TEAM void place_sites(int species, int slot) {
    const Body<F>& body = r.body[species];
    const Matrix turn = matrix_of(turns[slot]);
    team.share(body.count, [&](int s) {
      const double* const offset = Chains ? shape_of(slot) + 3 * s : body.offset[s];
      const Site at = site_from(r, centers[slot], turn, offset);
      const int place = place_of(species, s, slot);
      scratch.sites[0][place] = at.x;
      scratch.sites[1][place] = at.y;
      scratch.sites[2][place] = at.z;
    });
  }
  MM_TEAM Site site_in(int species, int s, int slot) const {
    const int place = place_of(species, s, slot);
    return {scratch.sites[0][place], scratch.sites[1][place], scratch.sites[2][place]};
  }
  // The barriers are needed on either side: other lanes may still read the old pose, and then read
  // the new one.
  MM_TEAM void put(int species, int slot, const Pose& p) {
    team.sync();
    if (team.leads()) {
      centers[slot] = p.center;
      turns[slot] = p.turn;
    }
    team.sync();
    place_sites(species, slot);
    team.sync();
  }

  // The shape of a chain, to scratch.shape.
  MM_TEAM void load_shape(int slot) const {
    const double* const from = shape_of(slot);
    // The shape that was there before has been read.
    team.sync();
    team.share(3 * w.chains.sites, [&](int i) { scratch.shape[i] = from[i]; });
    team.sync();
  }
  // A new molecule; a chain has the shape in scratch.shape, where coordinates of beads that it does
  // not have are zero.
  MM_TEAM void place_new(int species, int slot, const Pose& p) {
    if constexpr (Chains) {
      double* const to = shape_of(slot);
      // scratch.shape is complete.
      team.sync();
      const int used = 3 * r.body[species].count;
      team.share(3 * w.chains.sites, [&](int i) { to[i] = i < used ? scratch.shape[i] : 0; });
    }
    put(species, slot, p);
  }
  // The chain's shape goes through scratch memory, since the slots may be the same.
  MM_TEAM void relocate(int species, int from, int to) {
    if constexpr (Chains) load_shape(from);
    place_new(species, to, placed(from));
  }

  // ---- proposals ----

  // A small move is either a displacement or a rotation; a coin decides for all systems together.
  MM_TEAM Pose small_move(const Body<F>& body, bool rotate, const Pose& old,
                          const std::uint32_t* word) const {
    if (rotate && body.count > 1)
      return {old.center, normalized(product(small_rotation(word, body.twist), old.turn))};
    return {moved(old.center, step_of(m, word)), old.turn};
  }
  // A center that is uniform in the box, and a rotation that is uniform over all.
  MM_TEAM Pose anywhere(std::uint64_t step) const {
    std::uint32_t place[4], turn[4];
    random_words(place, m.key, step, static_cast<std::uint32_t>(id), 0u, Purpose::propose);
    random_words(turn, m.key, step, static_cast<std::uint32_t>(id), 1u, Purpose::propose);
    return {{place[0], place[1], place[2]}, any_rotation(turn)};
  }
  // Changes of the energy if a molecule moves, or if there is one more or one less. The changes of
  // the structure factors are in scratch.change afterwards.
  MM_TEAM F change_of_move(const Body<F>& body, int slot, const Pose& fresh, const Pose& old) {
    // The sites of both poses are within this distance of the old center.
    // |r' - r_center| <= reach + |r'_center - r_center| for the sites of the new pose.
    const F slack = square_root(squared_distance(r, fresh.center, old.center));
    gather(old.center, {0, 0, 0}, body.reach + slack, slot, false);
    Lane<F> part;
    team.each([&](int l) { part[l] = 0; });
    // dU = sum over the sites of u(r'_s) - u(r_s), with the other molecules and with the framework.
    add_pairs(body, fresh, F(1), part);
    add_pairs(body, old, F(-1), part);
    add_field(body, fresh, F(1), part);
    add_field(body, old, F(-1), part);
    // dS(k) = sum_s q_s (e^(i k r'_s) - e^(i k r_s)).
    if (charged()) change_waves<MoleculeSystem>(*this, {{&body, &body}, {old, fresh}}, part);
    return team.sum(part);
  }
  MM_TEAM F change_of_insertion(int species, const Pose& fresh) {
    return change_of_number(species, fresh, F(1), -1) + tail_with_others(species, 0);
  }
  MM_TEAM F change_of_deletion(int species, int slot) {
    return change_of_number(species, placed(slot), F(-1), slot) - tail_with_others(species, 1);
  }

  // ---- pairs ----

  // Collects the sites of all molecules but one whose centers are so close to a center that they
  // may be within the cutoff of sites that are at most `reach` away from a place near the center:
  // at most `half` away along each axis.
  MM_TEAM void gather(const Site& center, const Site& half, F reach, int except, bool all) {
    runs_ = 0;
    int used = 0;
    // No lane reads the sites of the last call any more.
    team.sync();
    for (int b = 0; b < m.species; ++b) {
      const Body<F>& body = r.body[b];
      // Sites are within R_c of each other only if the centers are closer than R_c plus both
      // reaches.
      const int first = m.first_slot[b];
      // More than rounding: of the sites to integers, and of distances.
      // |c_i - c_j| < R_c + reach_i + reach_j.
      const F limit = r.cutoff + reach + body.reach + F(1e-3);
      if (team.first_warp()) {
        const int count = team.compact(
            counts[b],
            [&](int i) {
              return first + i != except &&
                     (all || may_be_within(r, limit, centers[first + i], center, half));
            },
            [&](int i, int place) {
              for (int s = 0; s < body.count; ++s) {
                // Each site of the body has a run of its own, with room for all molecules of the
                // species.
                const int from = place_of(b, s, first + i), to = used + s * counts[b] + place;
                for (int a = 0; a < 3; ++a) scratch.near[a][to] = scratch.sites[a][from];
              }
            });
        if (team.leads())
          for (int s = 0; s < body.count; ++s)
            scratch.runs[runs_ + s] = {body.type[s], used + s * counts[b], count};
      }
      runs_ += body.count;
      used += body.count * counts[b];
    }
    // The first warp has collected for all.
    team.sync();
  }

  MM_TEAM void forget_near() { runs_ = 0; }

  // Energy of a site at a place with sites from..., lane by lane: sum[l] += sign * energy.
  template <bool Skewed, bool Charged>
  MM_TEAM void add_run(const PairLaw<F>& law, F qq, const Site& at, const NearRun& run, F sign,
                       Lane<F>& sum) const {
    const TeamPointer<std::uint32_t> x = scratch.near[0] + run.begin,
                                     y = scratch.near[1] + run.begin,
                                     z = scratch.near[2] + run.begin;
    for (int base = 0; base < run.count; base += kLanes) {
      const int some = run.count - base < kLanes ? run.count - base : kLanes;
      team.first_lanes(some, [&](int l) {
        const int j = base + l;
        // Differences of integers wrap around the box: they are those to the nearest image.
        const F r2 = squared_distance<Skewed>(r, at.x - x[j], at.y - y[j], at.z - z[j]);
        sum[l] += sign * site_energy<Charged>(r, law, qq, r2);
      });
    }
  }
  template <bool Skewed>
  MM_TEAM void add_pairs_as(const Body<F>& body, const Pose& p, F sign, Lane<F>& sum) const {
    const Matrix turn = matrix_of(p.turn);
    for (int s = 0; s < body.count; ++s) {
      const Site at = site_of(r, body, p.center, turn, s);
      const int type = body.type[s];
      for (int k = 0; k < runs_; ++k) {
        const NearRun& run = scratch.runs[k];
        const PairLaw<F> law = r.laws[type * r.types + run.type];
        // q_i q_j; a pair may have charges, a Lennard-Jones law, or both.
        // Pairs without charges skip Ewald's part, which costs most of the time.
        const F qq = r.charge[type] * r.charge[run.type];
        if (kCharges && qq != F(0))
          add_run<Skewed, true>(law, qq, at, run, sign, sum);
        else if (law.repulsion > F(0))
          add_run<Skewed, false>(law, qq, at, run, sign, sum);
      }
    }
  }
  // Adds the pairs of a site at each lane's place; the lanes have the same neighbors.
  template <bool Skewed>
  MM_TEAM void add_lane_pairs_of(int type, const Lane<Site>& at, Lane<F>& sum) const {
    const F cutoff2 = r.cutoff2;
    MM_NO_UNROLL
    for (int k = 0; k < runs_; ++k) {
      // A run: the gathered sites of one type and of one place in the molecule, side by side.
      const NearRun run = scratch.runs[k];
      const PairLaw<F> law = r.laws[type * r.types + run.type];
      const F qq = kCharges ? r.charge[type] * r.charge[run.type] : F(0);
      const TeamPointer<std::uint32_t> x = scratch.near[0] + run.begin,
                                       y = scratch.near[1] + run.begin,
                                       z = scratch.near[2] + run.begin;
      const bool pull = kCharges && qq != F(0);
      if (!pull && !(law.repulsion > F(0))) continue;
      // Several neighbors at a time, whose energies do not depend on each other: a GPU computes
      // them in the cycles in which one alone would wait. They are added in their order.
      constexpr int kSome = sizeof(F) == 4 ? Team::neighbors : 1;
      for (int first = 0; first < run.count; first += kSome) {
        Lane<F> r2[kSome];
        Lane<bool> near;
        team.each([&](int l) { near[l] = false; });
        MM_UNROLL
        for (int c = 0; c < kSome; ++c) {
          const bool some = first + c < run.count;  // those beyond the end are too far away
          const int j = some ? first + c : first;
          team.each([&](int l) {
            const F square =
                squared_distance<Skewed>(r, at[l].x - x[j], at[l].y - y[j], at[l].z - z[j]);
            r2[c][l] = some ? square : cutoff2;
            near[l] |= r2[c][l] < cutoff2;
          });
        }
        // A vote of the warp: where no lane is within the cutoff, every term is zero.
        if (!team.any(near)) continue;
        const auto add = [&](auto charged) {
          MM_UNROLL
          for (int c = 0; c < kSome; ++c)
            team.each([&](int l) { sum[l] += site_energy<charged()>(r, law, qq, r2[c][l]); });
        };
        if (pull)
          add(std::bool_constant<kCharges>{});
        else
          add(std::false_type{});
      }
    }
  }
  MM_TEAM void add_lane_pairs(int type, const Lane<Site>& at, Lane<F>& sum) const {
    r.skewed ? add_lane_pairs_of<true>(type, at, sum) : add_lane_pairs_of<false>(type, at, sum);
  }
  // The same of all sites of a molecule.
  MM_TEAM void add_lane_pairs(const Body<F>& body, const Lane<Site>* at, Lane<F>& sum) const {
    MM_NO_UNROLL
    for (int s = 0; s < body.count; ++s) add_lane_pairs(body.type[s], at[s], sum);
  }
  // Whether a site is so close to a gathered one that no trial has a weight there.
  MM_TEAM bool is_covered(int type, const Site& at) const {
    for (int k = 0; k < runs_; ++k) {
      const NearRun run = scratch.runs[k];
      const F closest2 = r.laws[type * r.types + run.type].closest2;
      for (int j = run.begin; j < run.begin + run.count; ++j)
        if (squared_distance(r, at, {scratch.near[0][j], scratch.near[1][j], scratch.near[2][j]}) <
            closest2)
          return true;
    }
    return false;
  }
  // Adds the pairs of a molecule at a pose with the gathered sites.
  MM_TEAM void add_pairs(const Body<F>& body, const Pose& p, F sign, Lane<F>& sum) const {
    r.skewed ? add_pairs_as<true>(body, p, sign, sum) : add_pairs_as<false>(body, p, sign, sum);
  }

  // ---- the framework ----

  MM_TEAM F site_field(const Body<F>& body, const Site& at, int s) const {
    return field_of_site(r, body.type[s], at);
  }
  // The energy of a trial. The sites that follow one inside an atom of the framework are left out,
  // because no site makes up for its energy, so that the trial has no weight.
  MM_TEAM F field(const Body<F>& body, const Pose& p) const {
    F sum = 0;
    if (!r.framework) return sum;
    const Matrix turn = matrix_of(p.turn);
    for (int s = 0; s < body.count && sum < w.most_of_trials + F(kInside); ++s)
      sum += site_field(body, site_of(r, body, p.center, turn, s), s);
    return sum;
  }
  // The sites shared by the lanes.
  MM_TEAM void add_field(const Body<F>& body, const Pose& p, F sign, Lane<F>& sum) const {
    if (!r.framework) return;
    const Matrix turn = matrix_of(p.turn);
    team.each([&](int l) {
      for (int s = l; s < body.count; s += kLanes)
        sum[l] += sign * site_field(body, site_of(r, body, p.center, turn, s), s);
    });
  }

  MM_TEAM bool charged() const { return kCharges && r.charged; }
  MM_TEAM bool has_framework() const { return r.framework; }
  MM_TEAM void accept_waves() const { adsorption::accept_waves(*this); }

  // ---- from scratch, by a team of one warp ----

  // The lanes' parts are float sums of one molecule, added up in doubles: errors do not grow with
  // the number of molecules.
  MM_TEAM double total_energy() {
    const int n = count_molecules(*this);
    Lane<double> sum;
    team.each([&](int l) { sum[l] = 0; });
    double rest = 0;
    const auto take = [&](const Lane<F>& part) {
      team.each([&](int l) { sum[l] += static_cast<double>(part[l]); });
    };
    if (charged()) {
      team.share(2 * r.waves, [&](int i) { waves[i] = 0; });
      team.sync();
    }
    // U = 1/2 sum of the pairs of each molecule + framework + waves + rest, molecule by molecule.
    for (int k = 0; k < n; ++k) {
      int b;
      const int slot = find_molecule(*this, k, b);
      const auto& body = body_of(b, slot);
      const Pose p = placed(slot);
      place_sites(b, slot);
      team.sync();
      // Twice each pair, of which half is taken.
      Lane<F> part;
      gather(p.center, {0, 0, 0}, body.reach, slot, false);
      team.each([&](int l) { part[l] = 0; });
      add_pairs(body, p, F(0.5), part);
      take(part);
      team.each([&](int l) { part[l] = 0; });
      add_field(body, p, F(1), part);
      take(part);
      if (charged()) {
        // S(k) is the sum of the molecules' structure factors.
        add_waves(*this, body, p, F(1), true);
        adsorption::accept_waves(*this);
      }
      rest += body.own;
      if constexpr (Chains) {
        rest += bonded_energy(w.chains, b, body.count, &body.offset[0][0]);
        for (int s = 4; s < body.count; ++s)
          rest += static_cast<double>(chain_energy(*this, b, s, 0, s - 1, site_in(b, s, slot),
                                                   [&](int i) { return site_in(b, i, slot); }));
      }
    }
    if (charged())
      team.each([&](int l) {
        for (int i = l; i < r.waves; i += kLanes)
          sum[l] += static_cast<double>(r.wave_weight[i]) *
                    // sum_k w(k) |S(k)|^2.
                    (waves[2 * i] * waves[2 * i] + waves[2 * i + 1] * waves[2 * i + 1]);
      });
    for (int a = 0; a < m.species; ++a) {
      // The tail correction of N (N - 1) / 2 pairs; that of a molecule with itself is in body.own.
      rest += 0.5 * r.tail[a][a] * counts[a] * (counts[a] - 1);
      for (int b = a + 1; b < m.species; ++b) rest += r.tail[a][b] * counts[a] * counts[b];
    }
    return team.sum(sum) + rest;
  }
  // What a test molecule's energy has besides the pairs and the waves.
  MM_TEAM F rest_of_test(int species, bool empty) const {
    return empty ? r.body[species].with_framework : tail_with_others(species, 0);
  }
  MM_TEAM void renew_energy() {
    using One = typename Team::One;
    // One warp adds up what all have left: the molecules and the structure factors.
    team.sync();
    if (team.first_warp()) {
      // Rounding of the energy that was carried along ends here; the largest error is kept.
      const double fresh = energy_from_scratch<With<One>>(w, id, team.one(), scratch);
      if (team.leads()) {
        double& drift = sum_of(*this, kDrift);
        drift = max_of(drift, abs_of(fresh - energy));
        w.energies[id] = fresh;
      }
    }
    // All warps continue with the energy that the first one has stored.
    team.sync();
    energy = w.energies[id];
  }
  // Energy of one molecule more with those that are there.
  MM_TEAM F tail_with_others(int species, int without) const {
    // Self, intramolecular and framework terms, plus the tails sum_b tail(species, b) N_b.
    double sum = r.body[species].own;
    for (int b = 0; b < m.species; ++b)
      sum += r.tail[species][b] * (counts[b] - (b == species ? without : 0));
    return static_cast<F>(sum);
  }

 private:
  // Of one molecule more (sign 1) or less (-1), besides its own energy and the tail corrections.
  MM_TEAM F change_of_number(int species, const Pose& p, F sign, int slot) {
    const Body<F>& body = r.body[species];
    Lane<F> part;
    team.each([&](int l) { part[l] = 0; });
    // sign times [sum_s u(r_s) + u_framework(r_s)], and the waves with dS(k) = sign times
    // S_molecule(k).
    gather(p.center, {0, 0, 0}, body.reach, slot, false);
    add_pairs(body, p, sign, part);
    add_field(body, p, sign, part);
    const Body<F>* const none = nullptr;
    if (charged())
      change_waves<MoleculeSystem>(
          *this, {{sign < F(0) ? &body : none, sign < F(0) ? none : &body}, {p, p}}, part);
    return team.sum(part);
  }

  int runs_ = 0;  // in scratch: an array here would keep all members out of a GPU's registers
};

}  // namespace manymove::adsorption
