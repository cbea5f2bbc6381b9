// SPDX-License-Identifier: BSD-3-Clause
// What systems of rigid molecules do in a step: one proposal, an insertion or a deletion, or
// several proposals; and how they start. Written once for CPU and GPU, see steps.h.
#pragma once

#include "../molecules/mesh_steps.h"
#include "chain_regrowth.h"
#include "growth_with_trials.h"

namespace manymove::adsorption {

// ---- one proposal ----

// A molecule is either displaced or rotated; a coin decides for all systems together.
template <class F>
MM_HD Pose small_move(const MoleculeModel<F>& r, const Body<F>& body, bool rotate, const Pose& old,
                      const std::uint32_t* word) {
  if (rotate && body.count > 1)
    return {old.center, normalized(product(small_rotation(word, body.twist), old.turn))};
  return {moved(old.center, step_of(r.m, word)), old.turn};
}

template <class System, class Counts>
MM_TEAM void move_one(System& s, std::uint64_t step, const CommonDraw& draw, Counts& moves) {
  using F = typename System::Real;
  const int n = s.molecules();
  if (n == 0) return;
  int species;
  const int slot = s.find(
      static_cast<int>(uniform_below(draw.molecule, static_cast<std::uint32_t>(n))), species);
  const auto& body = s.body_of(species, slot);
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::propose);
  const Pose old = s.pose(slot), fresh = small_move(s.r, body, draw.kind & 1, old, word);
  const F slack = square_root(squared_distance(s.r, fresh.center, old.center));
  s.gather(old.center, {0, 0, 0}, body.reach + slack, slot, false);
  typename System::template Lane<F> part;
  s.team.each([&](int l) { part[l] = 0; });
  s.add_pairs(body, fresh, F(1), part);
  s.add_pairs(body, old, F(-1), part);
  s.add_field(body, fresh, F(1), part);
  s.add_field(body, old, F(-1), part);
  if (s.r.charged) {
    s.add_waves(body, old, F(-1), true);
    s.add_waves(body, fresh, F(1), false);
    s.add_wave_energy(part);
  }
  const F difference = lowest_of(s.team.sum(part), F(kForbidden));
  const bool accept = metropolis(s.m.beta, difference, word[3]);
  if (accept) {
    s.put(species, slot, fresh);
    s.accept_waves();
    s.energy += static_cast<double>(difference);
    ++moves.accepted;
  }
  if (s.w.measure && s.m.bins && s.team.leads())
    count_place(s, accept ? fresh.center : old.center, 1);
}

// An insertion or a deletion with a single trial. Returns false and leaves the system unchanged if
// an accepted insertion finds no free slot.
template <class System, class Counts>
MM_TEAM bool exchange_one(System& s, std::uint64_t step, Counts& moves, TrialOutcome& outcome) {
  using F = typename System::Real;
  std::uint32_t word[4];
  random_words(word, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::exchange);
  const auto species =
      static_cast<int>(uniform_below(word[1], static_cast<std::uint32_t>(s.m.species)));
  const int n = s.counts[species], first = s.m.first_slot[species];
  const Body<F>& body = s.r.body[species];
  const double activity = s.m.activity[species];
  typename System::template Lane<F> part;
  s.team.each([&](int l) { part[l] = 0; });
  ++moves.exchanges;
  outcome.inserted = species;
  outcome.present = n;
  if (word[0] >> 31) {
    std::uint32_t place[4], turn[4];
    random_words(place, s.m.key, step, static_cast<std::uint32_t>(s.id), 0u, Purpose::propose);
    random_words(turn, s.m.key, step, static_cast<std::uint32_t>(s.id), 1u, Purpose::propose);
    const Pose fresh{{place[0], place[1], place[2]}, any_rotation(turn)};
    s.gather(fresh.center, {0, 0, 0}, body.reach, -1, false);
    s.add_pairs(body, fresh, F(1), part);
    s.add_field(body, fresh, F(1), part);
    if (s.r.charged) {
      s.add_waves(body, fresh, F(1), true);
      s.add_wave_energy(part);
    }
    const F difference =
        lowest_of(s.team.sum(part) + s.tail_with_others(species, 0), F(kForbidden));
    outcome.tried = 1;
    outcome.gains = species;
    outcome.test = activity * static_cast<double>(weight(s.m.beta, difference));
    outcome.probability = lowest_of(outcome.test / (n + 1), 1.0);
    outcome.difference = static_cast<double>(difference);
    if (!accept_insertion(s.m.beta, difference, activity, n, word[3])) return true;
    if (!has_slot(s, species, moves)) return false;
    put_in(s, species, fresh);
  } else {
    outcome.tried = -1;
    if (n == 0) return true;
    const int slot =
        first + static_cast<int>(uniform_below(word[2], static_cast<std::uint32_t>(n)));
    const Pose old = s.pose(slot);
    s.gather(old.center, {0, 0, 0}, body.reach, slot, false);
    s.add_pairs(body, old, F(-1), part);
    s.add_field(body, old, F(-1), part);
    if (s.r.charged) {
      s.add_waves(body, old, F(-1), true);
      s.add_wave_energy(part);
    }
    const F gained = s.team.sum(part) - s.tail_with_others(species, 1);
    outcome.loses = species;
    outcome.probability =
        lowest_of(n * static_cast<double>(weight(s.m.beta, gained)) / activity, 1.0);
    outcome.difference = static_cast<double>(gained);
    if (!accept_deletion(s.m.beta, gained, activity, n, word[3])) return true;
    take_out(s, species, slot);
  }
  s.accept_waves();
  s.energy += outcome.difference;
  outcome.accepted = true;
  ++moves.accepted_exchanges;
  return true;
}

// ---- several proposals ----

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
      from[i] = small_move(s.r, body, rotate, start, word);
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
  const Pose old = s.pose(slot);
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
        count_place(s, poses[i].center, static_cast<double>(weights[i]) / choice.total);
      });
  }
  s.team.sync();
}

// A step of the methods with one proposal per step. Returns false if it has to wait for a free
// slot.
template <Steps Kind, class System, class Counts>
MM_TEAM bool one_proposal(System& s, std::uint64_t step, Counts& moves) {
  const auto& w = s.w;
  const CommonDraw draw = common_draw(s.m.key, step);
  TrialOutcome outcome;
  if (draw.kind >= s.m.exchange && draw.kind >= w.identity_below &&
      (!System::kChains || draw.kind >= w.regrow_below)) {
    move_one(s, step, draw, moves);
  } else {
    if constexpr (Kind == Steps::chains) {
      if (!move_chain(s, step, draw, moves, outcome)) return false;
    } else if constexpr (Kind == Steps::trials) {
      if (!move_with_trials(s, step, draw, moves, outcome)) return false;
    } else {
      if (!exchange_one(s, step, moves, outcome)) return false;
    }
  }
  if (w.measure) {
    measure_state(s);
    measure_outcome(s, outcome);
  }
  return true;
}

// Kind: steps_of(s.w), so that a GPU has a kernel for each.
template <Steps Kind, class System, class Counts>
MM_TEAM void run_steps(System& s, Counts& moves) {
  const auto& w = s.w;
  std::uint64_t t = w.again ? w.reached[s.id] : w.first_step;
  for (; t < w.first_step + w.steps; ++t) {
    if constexpr (Kind == Steps::several)
      move_to_one_of_many(s, t, moves);
    else if (!one_proposal<Kind>(s, t, moves))
      break;
    if ((t + 1) % kRefresh == 0) renew_energy(s);
  }
  if (s.team.leads()) {
    w.energies[s.id] = s.energy;
    if (w.reached) w.reached[s.id] = t;
  }
}

// ---- starts ----

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

// Each molecule goes to the best of kWidth random poses where the framework's energy is below the
// hill, of as many rounds as it takes to find one where it is bound at all. The long-range part of
// the molecules' own interaction does not count here.
template <class System>
MM_TEAM bool place_all(System& s) {
  using F = typename System::Real;
  std::int32_t wanted[kMostSpecies];
  for (int b = 0; b < s.m.species; ++b) wanted[b] = s.counts[b];
  for (int b = 0; b < s.m.species; ++b) s.set_count(b, 0);
  std::uint64_t molecule = 0;
  const TeamPointer<Pose> poses = s.scratch.walk[0];
  const TeamPointer<F> energy = s.scratch.energy;
  for (int b = 0; b < s.m.species; ++b)
    for (int i = 0; i < wanted[b]; ++i, ++molecule) {
      F best = F(kForbidden);
      for (std::uint32_t round = 0; round < kPlaceRounds && !(best < F(0)); ++round) {
        draw_anywhere(s, molecule, round * kWidth, Purpose::place, poses);
        s.gather(poses[0].center, {0, 0, 0}, F(0), -1, true);
        proposal_energies(s, b, poses, kWidth, Waves::none, false, {}, energy, {});
        int winner = -1;
        for (int k = 0; k < kWidth; ++k)
          if (energy[k] < best && s.field(s.r.body[b], poses[k]) < s.w.hill) {
            best = energy[k];
            winner = k;
          }
        s.team.sync();
        if (winner >= 0) s.put(b, s.m.first_slot[b] + i, poses[winner]);
        if (!s.r.framework && best < s.w.hill) break;  // an ideal gas is not bound at all
      }
      if (!(best < s.w.hill)) return false;
      s.set_count(b, i + 1);
    }
  s.energy = s.total_energy();
  if (s.team.leads()) s.w.energies[s.id] = s.energy;
  return true;
}

// ---- test molecules ----

// In the empty framework a molecule is alone: without images of itself, and without corrections
// for the others' tails.
template <class Test, class System>
MM_TEAM void insert_tests(const Test& t, System& s) {
  using F = typename System::Real;
  const TeamPointer<Pose> poses = s.scratch.walk[0];
  const TeamPointer<F> energy = s.scratch.energy;
  const Waves waves = !t.empty && s.r.charged ? Waves::direct : Waves::none;
  if (waves == Waves::direct) {
    s.clear_change();
    s.set_others();
  }
  s.gather({0, 0, 0}, {0, 0, 0}, F(0), -1, true);
  if (t.empty) s.forget_near();
  const F rest = t.empty ? s.r.body[t.species].with_framework : s.tail_with_others(t.species, 0);
  typename System::template Lane<double> factors, energies;
  s.team.each([&](int l) { factors[l] = energies[l] = 0; });
  for (std::uint64_t base = 0; base < t.count; base += kWidth) {
    draw_anywhere(s, t.first + base, static_cast<std::uint32_t>(t.species) * kWidth, Purpose::widom,
                  poses);
    proposal_energies(s, t.species, poses, kWidth, waves, false, {}, energy, {});
    s.team.each([&](int l) {
      for (int i = l; i < kWidth; i += System::kLanes) {
        if (base + static_cast<std::uint64_t>(i) >= t.count) continue;
        const F total = lowest_of(energy[i] + rest, F(kForbidden));
        const double factor = static_cast<double>(weight(s.m.beta, total));
        factors[l] += factor;
        energies[l] = fused(factor, static_cast<double>(total), energies[l]);
      }
    });
    s.team.sync();
  }
  const double sum = s.team.sum(factors), product = s.team.sum(energies);
  if (s.team.leads()) {
    t.sums[2 * static_cast<std::size_t>(s.id)] = sum;
    t.sums[2 * static_cast<std::size_t>(s.id) + 1] = product;
  }
}

}  // namespace manymove::adsorption
