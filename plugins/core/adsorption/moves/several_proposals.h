// SPDX-License-Identifier: BSD-3-Clause
// A step with several proposals, one of which becomes the next state: sections 4.3 and 4.4 of the
// paper, methods mup and mdp. All proposals enter the averages, which is the waste recycling.
#pragma once

#include "../molecules/mesh_steps.h"
#include "translation.h"

namespace manymove::adsorption {

template <class System>
MM_TEAM void draw_anywhere(const System& s, std::uint64_t step, std::uint32_t first,
                           Purpose purpose, TeamPointer<Pose> poses) {
  s.team.each([&](int l) {
    for (int i = l; i < kWidth; i += System::kLanes) {
      std::uint32_t word[4], turn[4];
      const std::uint32_t proposal = first + static_cast<std::uint32_t>(i);
      random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), proposal, purpose);
      random_words(turn, s.m.key, step, static_cast<std::uint32_t>(s.id), proposal | 0x80000000u,
                   purpose);
      poses[i] = {{word[0], word[1], word[2]}, any_rotation(turn)};
    }
  });
  s.team.sync();
}

// Poses 1 ... P - 1 along two random walks from the old one, or anywhere:
// docs/theory/adsorption.md, section 3. Composed by a scan in a fixed order, since products of
// quaternions round. Returns the buffer that they are in.
template <class System>
MM_TEAM TeamPointer<const Pose> draw_proposals(System& s, int species, std::uint64_t step,
                                               const Pose& old, std::uint32_t split_word,
                                               bool rotate) {
  using F = typename System::Real;
  const int P = s.w.proposals;
  const bool anywhere = uniform_proposals(s.w, step);
  const Body<F>& body = s.r.body[species];
  const Pose start{{0, 0, 0}, {1, 0, 0, 0}};
  const bool turned = rotate && body.count > 1;
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
      from[i] = s.small_move(body, rotate, start, word);
    }
  });
  s.team.sync();
  if (anywhere) return from;
  // Sums of displacements or products of rotations, of each walk on its own.
  for (int off = 1; off < P; off *= 2) {
    s.team.share(P, [&](int i) {
      const int first = i >= P - split ? P - split : 0;
      const bool joins = i - off >= first;
      if (turned)
        to[i].turn = joins ? normalized(product(from[i].turn, from[i - off].turn)) : from[i].turn;
      else
        to[i].center = joins ? moved(from[i].center, from[i - off].center) : from[i].center;
    });
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

// Energies of a molecule at poses, each lane its own, with what is gathered. The structure factors
// of a molecule that is not to be counted are in change, with the other sign; or the mesh has the
// potential of the others. With the mesh the pairs of some poses are a task, and the rest is
// another one, and spare has room for an energy of each pose.
template <class System, class F>
MM_TEAM void proposal_energies(const System& s, int species, TeamPointer<const Pose> poses,
                               int count, Waves waves, bool rotated, const MeshRegion& region,
                               TeamPointer<F> energy, TeamPointer<F> spare) {
  using LaneSites = typename System::template Lane<Site>;
  const Body<F>& body = s.r.body[species];
  const int own = count / System::kLanes;
  const bool mesh = waves == Waves::mesh;
  const TeamPointer<F> of_pairs = s.scratch.weight;
  s.team.tasks(s.scratch.together, mesh ? 2 * own : own, [&](int task) {
    const bool second = task >= own;
    const int c = second ? task - own : task;
    typename System::template Lane<F> sum, pairs;
    LaneSites at[kMostSites];
    s.team.each([&](int l) {
      const Pose& p = poses[l * own + c];
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
        spare[l * own + c] =
            mesh_energy(s, body, region, at, poses[l * own + c].center, l, rotated);
      });
      return;
    }
    s.add_lane_pairs(body, at, pairs);
    if (mesh) {
      s.team.each([&](int l) { of_pairs[l * own + c] = pairs[l]; });
      return;
    }
    s.team.each([&](int l) { sum[l] += sum[l] < F(0.5 * kForbidden) ? pairs[l] : F(0); });
    if (waves == Waves::direct) s.add_wave_energies(body, poses + c, own, sum);
    s.team.each([&](int l) { energy[l * own + c] = sum[l]; });
  });
  s.team.sync();
  if (!mesh) return;
  s.team.share(count, [&](int i) {
    const F framework = energy[i], others = of_pairs[i] + spare[i];
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
template <class System>
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
    middle[e] = nearest_word(0.5 * (a.low[e] + a.high[e]));
    half[e] = nearest_word(0.5 * (a.high[e] - a.low[e])) + 1;
  }
  a.middle = moved(old, {middle[0], middle[1], middle[2]});
  a.half = {half[0], half[1], half[2]};
  return a;
}

// By one warp: the next state, from the energies of all proposals, which become differences; and
// what a measured step adds up over the proposals.
template <class System>
MM_TEAM void choose_one_of_many(const System& s, std::uint32_t choose_word, double before) {
  using F = typename System::Real;
  using Lane = typename System::template Lane<F>;
  const auto& w = s.w;
  const int own = w.proposals / System::kLanes;
  const TeamPointer<F> energy = s.scratch.energy, weights = s.scratch.weight;
  const auto one = s.team.one();
  const F before_move = energy[0];
  Lane lowest, sw, first, second;
  one.sync();
  one.each([&](int l) {
    lowest[l] = 0;
    for (int i = l * own; i < (l + 1) * own; ++i) {
      energy[i] = energy_difference(energy[i], before_move);
      lowest[l] = lowest_of(lowest[l], energy[i]);
    }
  });
  const F shift = weight_shift(s.m.beta, one.lowest(lowest));
  one.each([&](int l) {
    sw[l] = first[l] = second[l] = 0;
    for (int i = l * own; i < (l + 1) * own; ++i) {
      weights[i] = weight(s.m.beta, energy[i] - shift);
      const F product = weights[i] * energy[i];
      sw[l] += weights[i];
      first[l] += product;
      second[l] = fused(product, energy[i], second[l]);
    }
  });
  one.sync();
  const auto levels = one.levels(sw);
  F rest = static_cast<F>(uniform(choose_word)) * levels.total();
  const int lane = choose_lane(rest, [&](int level, int l) { return levels.partial(level, l); });
  const int chosen = lane * own + choose_own(rest, (weights + lane * own).get(), own);
  const double total = static_cast<double>(levels.total());
  if (s.team.leads()) s.scratch.choice[0] = {total, chosen};
  if (!w.measure) return;
  const double mean = static_cast<double>(one.sum(first)) / total;
  const double square = static_cast<double>(one.sum(second)) / total;
  if (!s.team.leads()) return;
  add_to(s, kWaste, before + mean);
  if (w.moments) {
    add_to(s, kJump, square);
    add_to(s, kWasteSquared, fused(before, before + 2 * mean, square));
  }
}

template <class System, class Counts>
MM_TEAM void move_to_one_of_many(System& s, std::uint64_t step, Counts& moves) {
  using F = typename System::Real;
  const auto& w = s.w;
  const int n = s.molecules(), P = w.proposals;
  const CommonDraw draw = common_draw(s.m.key, step);
  int species;
  const int slot = s.find(
      static_cast<int>(uniform_below(draw.molecule, static_cast<std::uint32_t>(n))), species);
  const Body<F>& body = s.r.body[species];
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::choose);
  const Pose old = s.placed(slot);
  s.team.reset(s.scratch.together);
  const TeamPointer<const Pose> poses =
      draw_proposals(s, species, step, old, word[0], draw.kind & 1);
  const bool anywhere = uniform_proposals(w, step), rotated = (draw.kind & 1) && body.count > 1;
  bool charged = false;
  for (int i = 0; i < body.count; ++i) charged |= s.r.charge[body.type[i]] != F(0);
  Waves waves = charged ? Waves::direct : Waves::none;
  MeshRegion region{};
  if (anywhere) {
    s.gather(old.center, {0, 0, 0}, F(0), slot, true);
  } else {
    const Around near = around_proposals(s, poses, old.center);
    s.gather(near.middle, near.half, body.reach, slot, false);
    if (charged && w.meshes && fit_mesh(s, body, old.center, near.low, near.high, rotated, region))
      waves = Waves::mesh;
  }
  const TeamPointer<Pose> first = s.scratch.walk[0];
  const TeamPointer<Pose> spare = poses == first ? s.scratch.walk[1] : first;
  if (waves == Waves::mesh) {
    set_mesh(s, body, old, rotated, region, spare);
  } else if (waves == Waves::direct) {
    s.add_waves(body, old, F(-1), true);
    s.set_others();
  }
  const TeamPointer<F> energy = s.scratch.energy, weights = s.scratch.weight;
  proposal_energies(s, species, poses, P, waves, rotated, region, energy, spare.template as<F>());
  const double before = s.energy;
  if (s.team.first_warp()) choose_one_of_many(s, word[1], before);
  s.team.sync();
  const Choice<F> choice = s.scratch.choice[0];
  if (choice.proposal != 0) {
    s.energy = before + static_cast<double>(energy[choice.proposal]);
    const Pose fresh = poses[choice.proposal];
    if (waves == Waves::mesh) {
      // The energy that is carried along has the waves' sum itself instead of the mesh.
      const TeamPointer<const F> by_mesh = spare.template as<F>();
      const double from_mesh =
          static_cast<double>(by_mesh[choice.proposal]) - static_cast<double>(by_mesh[0]);
      s.energy += accept_by_quads(s, body, fresh) - from_mesh;
    } else if (waves == Waves::direct) {
      s.add_waves(body, fresh, F(1), false);
      s.accept_waves();
    }
    s.put(species, slot, fresh);
    ++moves.accepted;
  }
  if (w.measure) {
    measure_state(s);
    if (s.m.bins)
      s.team.share(P, [&](int i) {
        count_in_profile(s, poses[i].center, static_cast<double>(weights[i]) / choice.total);
      });
  }
  s.team.sync();
}

}  // namespace manymove::adsorption
