// SPDX-License-Identifier: BSD-3-Clause
// The number of molecules for which a system has room: an initial estimate, and growth.
#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "../runtime/text.h"
#include "state.h"

namespace manymove::adsorption {
namespace {

constexpr double kScan = 0.4;  // approximate distance of two points of the scan in angstrom
// Largest estimate for all species together, which limits the memory; systems may grow beyond it.
constexpr int kMostGuessed = 2048;

}  // namespace

int estimated_capacity(const State& s, int species, const std::vector<bool>& open) {
  const Parameters& p = s.parameters;
  const std::size_t kinds = p.species.size();
  // Spheres of this diameter are about as dense as molecules in full pores.
  const double sigma = p.pairs[species * kinds + species].sigma;
  const int most = kMostGuessed / static_cast<int>(kinds);
  const int cells = p.cells[0] * p.cells[1] * p.cells[2];
  int stride[3];
  double spacing[3];
  for (int a = 0; a < 3; ++a) {
    spacing[a] = p.framework.cell[a] / p.grid[a];
    stride[a] = std::max(1, static_cast<int>(kScan / spacing[a]));
  }
  std::vector<std::array<double, 3>> spheres;
  // Greedy: a sphere is placed at the first point of the scan that is far enough from the others.
  const auto fits = [&](const std::array<double, 3>& at) {
    return std::none_of(spheres.rbegin(), spheres.rend(), [&](const std::array<double, 3>& other) {
      double squared = 0;
      for (int a = 0; a < 3; ++a) {
        const double d = apart(at[a], other[a], p.framework.cell[a]);
        squared += d * d;
      }
      return squared < sigma * sigma;
    });
  };
  for (int z = 0; z < p.grid[2]; z += stride[2])
    for (int y = 0; y < p.grid[1]; y += stride[1])
      for (int x = 0; x < p.grid[0]; x += stride[0]) {
        if (!open[(static_cast<std::size_t>(z) * p.grid[1] + y) * p.grid[0] + x]) continue;
        const std::array<double, 3> at{x * spacing[0], y * spacing[1], z * spacing[2]};
        if (!fits(at)) continue;
        spheres.push_back(at);
        // Each unit cell holds the same number of spheres.
        if (static_cast<std::int64_t>(spheres.size()) * cells >= most) return most;
      }
  return std::max(1, static_cast<int>(spheres.size()) * cells);
}

namespace {

// Calls visit(array, width) for the arrays of a snapshot with `width` numbers for each slot.
void each_slot_array(State& s, const auto& visit) {
  visit(s.data.sites, std::size_t{3});
  visit(s.data.orientations, std::size_t{s.molecules() ? 4u : 0u});
  visit(s.data.shapes, s.shape_size());
}

}  // namespace

// A capacity grows by half and 16 slots.
static int growth(int capacity) { return capacity / 2 + 16; }

void make_room(State& s) {
  const std::vector<int> all = capacities(s);
  s.slots = std::accumulate(all.begin(), all.end(), 0);
  each_slot_array(s, [&](auto& array, std::size_t width) {
    array.assign(width * static_cast<std::size_t>(s.parameters.systems) * s.slots, 0);
  });
  for (std::size_t i = 0; i < s.data.orientations.size(); i += 4) s.data.orientations[i] = 1;
}

void if_grown(State& s, const std::function<void()>& visit) {
  const auto restore = [&s, before = s.parameters.species, slots = s.slots] {
    s.parameters.species = before;
    s.slots = slots;
  };
  for (Species& b : s.parameters.species) {
    const int more = growth(b.capacity);
    b.capacity += more;
    s.slots += more;
  }
  try {
    if (s.slots <= kMostSlots) visit();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

void grow(State& s, unsigned full) {
  const std::vector<int> before = capacities(s);
  const int slots = s.slots;
  std::int64_t wanted = 0;
  // Bit b of `full`: species b needs room.
  for (std::size_t b = 0; b < before.size(); ++b)
    wanted += before[b] + (full >> b & 1u ? growth(before[b]) : 0);
  if (wanted > kMostSlots)
    throw std::runtime_error(text_of("a system needs room for more than ", kMostSlots,
                                     " molecules: take fewer unit cells"));
  for (std::size_t b = 0; b < before.size(); ++b)
    if (full >> b & 1u) s.parameters.species[b].capacity += growth(before[b]);
  s.slots = static_cast<int>(wanted);
  each_slot_array(s, [&](auto& array, std::size_t width) {
    const auto old = array;
    array.assign(width * static_cast<std::size_t>(s.parameters.systems) * s.slots, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.parameters.systems); ++i) {
      auto from = old.begin() + static_cast<std::ptrdiff_t>(width * i * slots);
      auto to = array.begin() + static_cast<std::ptrdiff_t>(width * i * s.slots);
      for (std::size_t b = 0; b < before.size(); ++b) {
        // The molecules of a species keep their slots; the new ones lie behind them.
        std::copy_n(from, width * before[b], to);
        from += static_cast<std::ptrdiff_t>(width * before[b]);
        to += static_cast<std::ptrdiff_t>(width * s.parameters.species[b].capacity);
      }
    }
  });
}

std::vector<int> capacities(const State& s) {
  std::vector<int> all;
  for (const Species& b : s.parameters.species) all.push_back(b.capacity);
  return all;
}

// ---- runs, whose systems stop when they have no room ----

namespace {

// Tried reinsertions and partial regrowths of a system in the next steps: the kind of a step is
// that of all systems.
std::uint64_t reinsertions_in(const State& s, std::uint64_t steps) {
  const Parameters& p = s.parameters;
  if (!(p.reinsertion > 0) && !(p.regrowth > 0)) return 0;
  const PhiloxKey key{static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)};
  const MoveLimits below = move_limits(p);
  std::uint64_t count = 0;
  for (std::uint64_t t = s.data.counters.steps; t < s.data.counters.steps + steps; ++t) {
    // The kind of a step is a function of the seed and of its number, so that the engine need not
    // count.
    const std::uint32_t kind = common_draw(key, t).kind;
    count += (kind >= below.exchange && kind < below.reinsertion) ||
             (kind >= below.identity && kind < below.regrowth);
  }
  return count;
}

void count_steps(State& s, std::uint64_t steps, bool measure, const MoveCounts& moves) {
  const Parameters& p = s.parameters;
  Counters& c = s.data.counters;
  // A step that is no exchange looks at the proposals besides the old state.
  const std::uint64_t trials = steps * static_cast<std::uint64_t>(p.systems) - moves.exchanges;
  c.reinsertions += reinsertions_in(s, steps) * static_cast<std::uint64_t>(p.systems);
  c.steps += steps;
  c.trial_states +=
      trials * static_cast<std::uint64_t>(several_proposals(p.method) ? p.proposals - 1 : 1);
  c.accepted += moves.accepted;
  c.exchanges += moves.exchanges;
  c.accepted_exchanges += moves.accepted_exchanges;
  if (measure) c.samples += steps;
}

}  // namespace

void run_whole(State& s, std::uint64_t steps, bool measure,
               const std::function<MoveCounts(bool)>& launch,
               const std::function<void(unsigned)>& enlarge) {
  check_whole(s);
  MoveCounts sum;
  for (bool again = false;; again = true) {
    const MoveCounts part = launch(again);
    sum += part;
    s.torn = part.full != 0;
    if (!s.torn) break;
    // The systems that have stopped repeat their last step, with the same random numbers.
    enlarge(part.full);
  }
  count_steps(s, steps, measure, sum);
}

void check_whole(const State& s) {
  if (s.torn)
    throw std::runtime_error(
        "some systems stopped before the end of a run for lack of memory: go back to a checkpoint");
}

}  // namespace manymove::adsorption
