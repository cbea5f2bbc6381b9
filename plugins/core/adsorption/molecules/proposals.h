// SPDX-License-Identifier: BSD-3-Clause
// Many poses of a molecule at a time and their energies, in the memory of a team.
#pragma once

#include "mesh_steps.h"

namespace manymove::adsorption {

// Poses 1 ... P - 1 along two random walks from the old one, or anywhere:
// docs/theory/adsorption.md, section 3. Composed by a scan in a fixed order, since products of
// quaternions round. Returns the buffer that they are in.
template <MoleculesOfTeam System>
MM_TEAM TeamPointer<const Pose> draw_poses(System& s, int species, std::uint64_t step,
                                           const Pose& old, std::uint32_t split_word, bool rotate) {
  using F = typename System::Real;
  const int P = s.w.proposals;
  const bool anywhere = uniform_proposals(s.w, step);
  const Body<F>& body = s.r.body[species];
  // Steps are drawn from the identity, and composed with the old pose in the end.
  const Pose start{{0, 0, 0}, {1, 0, 0, 0}};
  const bool turned = rotate && body.count > 1;
  // l of section 4.4: the first walk has P - l - 1 steps, the second one l.
  const auto split = static_cast<int>(uniform_below(split_word, static_cast<std::uint32_t>(P)));
  TeamPointer<Pose> from = s.scratch.walk[0], to = s.scratch.walk[1];
  s.team.share(P, [&](int i) {
    std::uint32_t word[4], turn[4];
    random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id),
                 static_cast<std::uint32_t>(i), Purpose::propose);
    if (i == 0) {
      from[i] = anywhere ? old : start;
    } else if (anywhere) {
      random_words(turn, s.m.key, step, static_cast<std::uint32_t>(s.id),
                   static_cast<std::uint32_t>(i + P), Purpose::propose);
      from[i] = {{word[0], word[1], word[2]}, any_rotation(turn)};
    } else {
      // One step d_i or one small rotation, from the identity.
      from[i] = s.small_move(body, rotate, start, word);
    }
  });
  // The scan adds steps of other lanes.
  s.team.sync();
  if (anywhere) return from;
  // Sums of displacements or products of rotations, of each walk on its own.
  // An inclusive scan (W. D. Hillis, G. L. Steele Jr., Commun. ACM 29, 1170 (1986)): after the pass
  // with distance `off` each pose is the product of 2 off steps at most.
  for (int off = 1; off < P; off *= 2) {
    s.team.share(P, [&](int i) {
      // The second walk begins at proposal P - split, as section 4.4 of the paper has it.
      const int first = i >= P - split ? P - split : 0;
      const bool joins = i - off >= first;
      if (turned)
        to[i].turn = joins ? normalized(product(from[i].turn, from[i - off].turn)) : from[i].turn;
      else
        to[i].center = joins ? moved(from[i].center, from[i - off].center) : from[i].center;
    });
    // A pass reads what the one before it has left, from one array into the other.
    s.team.sync();
    const TeamPointer<Pose> other = from;
    from = to;
    to = other;
  }
  s.team.share(P, [&](int i) {
    if (i == 0)
      from[i] = old;
    else if (turned)
      from[i] = {old.center, normalized(product(from[i].turn, old.turn))};
    else
      from[i] = {moved(from[i].center, old.center), old.turn};
  });
  s.team.sync();
  return from;
}

// How the waves' part of proposals' energies is found.
enum class Waves { none, direct, mesh };

// Proposal i is that of lane i / own.
template <class F>
struct PoseBatch {
  TeamPointer<const Pose> poses;
  TeamPointer<Pose> spare;  // with the mesh: the waves' part of the energies
  TeamPointer<F> energy, weight;
  int own;
  Waves waves = Waves::none;
  bool rotated = false;
  MeshRegion region{};

  MM_HD F first_energy() const { return energy[0]; }
  // Calls f(energy, weight) for all proposals; a lane takes its own in the order of its sums.
  MM_TEAM void each_item(const auto& one, const auto& f) const {
    one.each([&](int l) { each_of(l, f); });
  }
  MM_TEAM void each_of(int l, const auto& f) const {
    for (int i = l * own; i < (l + 1) * own; ++i) f(energy[i], weight[i]);
  }
  MM_HD int choose(F rest, int lane) const {
    return lane * own + choose_own(rest, (weight + lane * own).get(), own);
  }
  template <LaneTeam Team, class Function>
  MM_TEAM void each_center(const Team& team, const Function& f) const {
    team.share(own * Team::width, [&](int i) { f(poses[i].center, weight[i]); });
  }
};

// Energies of a molecule at poses, each lane its own, with what is gathered. The structure factors
// of a molecule that is not to be counted are in change, with the other sign; or the mesh has the
// potential of the others. With the mesh the pairs of some poses are a task, and the rest is
// another one, and spare has room for an energy of each pose.
template <MoleculesOfTeam System, class F>
MM_TEAM void pose_energies(const System& s, int species, const PoseBatch<F>& b) {
  using LaneSites = typename System::template Lane<Site>;
  const Body<F>& body = s.r.body[species];
  const int own = b.own;
  const bool mesh = b.waves == Waves::mesh;
  const TeamPointer<F> energy = b.energy, of_pairs = b.weight, by_mesh = b.spare.template as<F>();
  s.team.tasks(s.scratch.counters, mesh ? 2 * own : own, [&](int task) {
    // With the mesh, task c < own has the pairs of pose c of each lane, task own + c the
    // framework's and the mesh's part of the same poses.
    const bool second = task >= own;
    const int c = second ? task - own : task;
    typename System::template Lane<F> sum, pairs;
    LaneSites at[kMostSites];
    s.team.each([&](int l) {
      const Pose& p = b.poses[l * own + c];
      const Matrix turn = matrix_of(p.turn);
      sum[l] = pairs[l] = 0;
      MM_NO_UNROLL
      for (int i = 0; i < body.count; ++i) {
        at[i][l] = site_of(s.r, body, p.center, turn, i);
        if (s.r.framework && second == mesh) sum[l] += s.site_field(body, at[i][l], i);
      }
    });
    if (second) {
      s.team.each([&](int l) {
        energy[l * own + c] = sum[l];
        by_mesh[l * own + c] =
            mesh_energy(s, body, b.region, at, b.poses[l * own + c].center, l, b.rotated);
      });
      return;
    }
    s.add_lane_pairs(body, at, pairs);
    if (mesh) {
      s.team.each([&](int l) { of_pairs[l * own + c] = pairs[l]; });
      return;
    }
    // In a blocked pocket the weight is zero whatever the pairs are, and a finite sum stays finite.
    s.team.each([&](int l) { sum[l] += sum[l] < F(0.5 * kForbidden) ? pairs[l] : F(0); });
    // sum_k w(k) (|S_rest + S_i|^2 - |S_rest|^2), Ewald's sum with and without the molecule.
    if (b.waves == Waves::direct) add_wave_energies(s, body, b.poses + c, own, sum);
    s.team.each([&](int l) { energy[l * own + c] = sum[l]; });
  });
  // Warps have taken proposals in turn; the energies of all are there now.
  s.team.sync();
  if (!mesh) return;
  s.team.share(own * System::kLanes, [&](int i) {
    const F framework = energy[i], others = of_pairs[i] + by_mesh[i];
    // E_i = E_framework + E_pairs + E_waves, in this order for every team.
    energy[i] = framework + (framework < F(0.5 * kForbidden) ? others : F(0));
  });
  s.team.sync();
}

// The box around the proposals: its middle and half of its extent along each axis, and how far it
// reaches from the old center.
struct Around {
  Site middle, half;
  double low[3], high[3];
};
template <MoleculesOfTeam System>
MM_TEAM Around around_proposals(const System& s, TeamPointer<const Pose> poses, const Site& old) {
  Around a;
  std::uint32_t middle[3], half[3];
  for (int e = 0; e < 3; ++e) {
    typename System::template Lane<std::int32_t> low, high;
    s.team.each([&](int l) {
      low[l] = high[l] = 0;
      for (int i = l; i < s.w.proposals; i += System::kLanes) {
        const Site& p = poses[i].center;
        const std::uint32_t d = e == 0 ? p.x - old.x : e == 1 ? p.y - old.y : p.z - old.z;
        const auto by = static_cast<std::int32_t>(d);
        low[l] = by < low[l] ? by : low[l];
        high[l] = by > high[l] ? by : high[l];
      }
    });
    a.low[e] = s.team.lowest(low);
    a.high[e] = s.team.highest(high);
    // The box from low to high: (low + high) / 2 and (high - low) / 2, rounded outwards.
    middle[e] = nearest_word(0.5 * (a.low[e] + a.high[e]));
    half[e] = nearest_word(0.5 * (a.high[e] - a.low[e])) + 1;
  }
  a.middle = moved(old, {middle[0], middle[1], middle[2]});
  a.half = {half[0], half[1], half[2]};
  return a;
}

// Proposals of a molecule and their energies with the others.
template <LaneTeam Team, class F, bool Chains>
MM_TEAM PoseBatch<F> propose(MoleculeSystem<Team, F, Chains>& s, int species, int slot,
                             std::uint64_t step, const StepWords& words) {
  const Body<F>& body = s.r.body[species];
  const Pose old = s.placed(slot);
  const bool rotate = words.common.kind & 1;
  s.team.reset(s.scratch.counters);
  const TeamPointer<Pose> first = s.scratch.walk[0];
  PoseBatch<F> b{draw_poses(s, species, step, old, words.split, rotate), first, s.scratch.energy,
                 s.scratch.weight, s.w.proposals / Team::width};
  if (b.poses == first) b.spare = s.scratch.walk[1];
  b.rotated = rotate && body.count > 1;
  const bool charged = has_charges(s.r, body);
  if (charged) b.waves = Waves::direct;
  if (uniform_proposals(s.w, step)) {
    s.gather(old.center, {0, 0, 0}, F(0), slot, true);
  } else {
    const Around near = around_proposals(s, b.poses, old.center);
    s.gather(near.middle, near.half, body.reach, slot, false);
    if (charged && s.w.meshes &&
        fit_mesh(s, body, old.center, near.low, near.high, b.rotated, b.region))
      b.waves = Waves::mesh;
  }
  if (b.waves == Waves::mesh) {
    set_mesh(s, body, old, b.rotated, b.region, b.spare);
  } else if (b.waves == Waves::direct) {
    // The waves of the others alone: 2 (S(k) - S_own(k)).
    add_waves(s, body, old, F(-1), true);
    // E_waves(i) = sum_k w (|S_rest + S_i|^2 - |S_rest|^2) with the structure factors of the rest.
    set_others(s);
  }
  pose_energies(s, species, b);
  return b;
}

// What one warp has chosen, for all warps.
template <LaneTeam Team, class F, bool Chains>
MM_TEAM Choice shared_choice(const MoleculeSystem<Team, F, Chains>& s, const Choice& choice) {
  if (s.team.leads()) s.scratch.choice[0] = choice;
  // Written by the first warp, read by all.
  s.team.sync();
  return s.scratch.choice[0];
}

template <LaneTeam Team, class F, bool Chains>
MM_TEAM void move_to(MoleculeSystem<Team, F, Chains>& s, const PoseBatch<F>& b, int chosen,
                     int species, int slot) {
  if (chosen == 0) return;
  const Body<F>& body = s.r.body[species];
  const Pose fresh = b.poses[chosen];
  s.energy += static_cast<double>(b.energy[chosen]);
  if (b.waves == Waves::mesh) {
    // The energy that is carried along has the waves' sum itself instead of the mesh.
    const TeamPointer<const F> by_mesh = b.spare.template as<F>();
    const double from_mesh = static_cast<double>(by_mesh[chosen]) - static_cast<double>(by_mesh[0]);
    s.energy += accept_by_quads(s, body, fresh) - from_mesh;
  } else if (b.waves == Waves::direct) {
    add_waves(s, body, fresh, F(1), false);
    s.accept_waves();
  }
  s.put(species, slot, fresh);
}

// ---- poses anywhere, for starts and test molecules: one for each lane ----

template <LaneTeam Team, class F, bool Chains>
MM_TEAM PoseBatch<F> poses_anywhere(const MoleculeSystem<Team, F, Chains>& s, std::uint64_t step,
                                    std::uint32_t first, Purpose purpose) {
  const TeamPointer<Pose> poses = s.scratch.walk[0];
  s.team.each([&](int l) {
    std::uint32_t word[4], turn[4];
    const std::uint32_t proposal = first + static_cast<std::uint32_t>(l);
    random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), proposal, purpose);
    // Numbers with the highest bit are for rotations.
    random_words(turn, s.m.key, step, static_cast<std::uint32_t>(s.id), proposal | 0x80000000u,
                 purpose);
    poses[l] = {{word[0], word[1], word[2]}, any_rotation(turn)};
  });
  s.team.sync();
  return {poses, {}, s.scratch.energy, s.scratch.weight, 1};
}
template <LaneTeam Team, class F, bool Chains>
MM_TEAM PoseBatch<F> tries_anywhere(MoleculeSystem<Team, F, Chains>& s, int species,
                                    std::uint64_t molecule, std::uint32_t first) {
  const PoseBatch<F> b = poses_anywhere(s, molecule, first, Purpose::place);
  s.gather(b.poses[0].center, {0, 0, 0}, F(0), -1, true);
  pose_energies(s, species, b);
  return b;
}
template <LaneTeam Team, class F, bool Chains>
MM_TEAM F field_of_try(const MoleculeSystem<Team, F, Chains>& s, int species,
                       const PoseBatch<F>& tries, int l) {
  return s.field(s.r.body[species], tries.poses[l]);
}
template <LaneTeam Team, class F, bool Chains>
MM_TEAM void put_try(MoleculeSystem<Team, F, Chains>& s, int species, int slot,
                     const PoseBatch<F>& tries, int winner) {
  s.put(species, slot, tries.poses[winner]);
}
template <LaneTeam Team, class F, bool Chains>
MM_TEAM void begin_tests(MoleculeSystem<Team, F, Chains>& s, bool empty) {
  if (!empty && s.r.charged) {
    clear_change(s);
    set_others(s);
  }
  s.gather({0, 0, 0}, {0, 0, 0}, F(0), -1, true);
  if (empty) s.forget_near();
}
template <LaneTeam Team, class F, bool Chains>
MM_TEAM PoseBatch<F> tests_anywhere(MoleculeSystem<Team, F, Chains>& s, int species,
                                    std::uint64_t first, bool empty) {
  PoseBatch<F> b =
      poses_anywhere(s, first, static_cast<std::uint32_t>(species) * kWidth, Purpose::widom);
  if (!empty && s.r.charged) b.waves = Waves::direct;
  pose_energies(s, species, b);
  return b;
}

}  // namespace manymove::adsorption
