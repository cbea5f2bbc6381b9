// SPDX-License-Identifier: BSD-3-Clause
#include "edges.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../../runtime/errors.h"
#include "../../runtime/logarithm.h"
#include "../grid.h"
#include "volume.h"

namespace manymove::hard_particles {
namespace {

// A cell is 4 m units wide with m >= kFinest, where 4 kFinest units are the largest contact
// distance. With three cells m is below 4/3 of that, and half a cell is 2 m units.
constexpr std::int64_t kFinest = 370080;
static_assert(2 * (4 * kFinest / 3 + 1) <= kMaxHalfWidth);
constexpr int kMostCells = 30000;  // along an edge

// The edges of n cells are 4 n m units with kFinest <= m < kFinest (n + 1) / n.
std::int64_t rungs_of(std::int64_t n) { return (kFinest + n - 1) / n; }
std::int64_t cells_of_edge(std::int64_t extent) { return extent / (4 * kFinest); }

bool is_edge(std::int64_t extent) {
  const std::int64_t n = cells_of_edge(extent);
  // extent = 4 n m with kFinest <= m < kFinest + rungs_of(n).
  return extent > 0 && n >= 3 && n <= kMostCells && extent % (4 * n) == 0 &&
         extent / (4 * n) - kFinest < rungs_of(n);
}

// All edges in their order are a ladder; the first has three cells of the least width.
std::int64_t ladder_to(std::int64_t n) {
  std::int64_t below = 0;
  for (std::int64_t k = 3; k < n; ++k) below += rungs_of(k);
  return below;
}
std::int64_t rung_of(std::int64_t extent) {
  const std::int64_t n = cells_of_edge(extent);
  return ladder_to(n) + extent / (4 * n) - kFinest;
}
// 0 beyond the ends of the ladder.
std::int64_t edge_at(std::int64_t rung) {
  if (rung < 0) return 0;
  for (std::int64_t n = 3; n <= kMostCells; rung -= rungs_of(n), ++n)
    if (rung < rungs_of(n)) return 4 * n * (kFinest + rung);
  return 0;
}

// The box and the grid of the state's extents; false if there are too many cells.
bool set_edges(State& s) {
  double all = 1;
  int cells[3] = {1, 1, 1};
  for (int a = 0; a < s.dimensions(); ++a)
    all *= cells[a] = static_cast<int>(cells_of_edge(s.extent[a]));
  set_cells(s, cells);
  s.data.volume = box_volume(s);
  return all <= 1e9;
}

// W = N ln V - beta P V + sum_a ln n_a (section 7). The sum has the distances between rungs, which
// are 4 n_a units.
double log_weight(const State& s) {
  double sum = static_cast<double>(s.particles) * logarithm(s.data.volume) -
               s.parameters.beta_pressure * s.data.volume;
  for (int a = 0; a < s.dimensions(); ++a)
    sum += logarithm(static_cast<double>(s.geometry.cells[a]));
  return sum;
}

// Positions as fractions of the edge, with random digits behind those of the lattice, on a lattice
// of another edge (section 7).
void round_places(const State& s, Snapshot& now, int axis, std::int64_t from, std::int64_t to,
                  int trial) {
  const auto D = static_cast<std::size_t>(s.dimensions());
  for (std::size_t i = 0; i < now.places.size() / D; ++i) {
    std::uint32_t word[4];
    random_words(word, s.geometry, now.index(i), now.counters.cycles, Purpose::offset, 0, trial);
    std::int64_t& place = now.places[i * D + static_cast<std::size_t>(axis)];
    // k' = floor((k + r) M' / M), with 32 random digits r behind the lattice of M points.
    const auto point = static_cast<std::uint64_t>(place / 2);
    const unsigned __int128 digits = static_cast<unsigned __int128>(point) << 32 | word[0];
    const auto there = static_cast<std::uint64_t>(
        digits * static_cast<std::uint64_t>(to / 2) / static_cast<std::uint64_t>(from / 2) >> 32);
    place = 2 * static_cast<std::int64_t>(there) + 1;
  }
  std::int64_t& origin = now.origin[static_cast<std::size_t>(axis)];
  while (origin >= to) origin -= to;  // the next cycle draws a new origin
}

}  // namespace

void choose_edges(State& s) {
  Parameters& p = s.parameters;
  const double sigma = s.distances.largest;
  p.ln_volume = false;  // the coordinate of the volume is V itself
  s.unit = sigma / (4.0 * kFinest) * (1 + 1e-12);
  const double volume = box_volume(s);
  double shortest = p.box[0];
  s.extent = {2, 2, 2};
  for (int a = 0; a < s.dimensions(); ++a) {
    const double edge = p.box[a] / s.unit;
    if (edge >= 4.0 * kFinest * kMostCells)
      refuse("box edge ", "xyz"[a], " holds more than 30000 cells: use a smaller box");
    const auto cells = std::max<std::int64_t>(3, cells_of_edge(static_cast<std::int64_t>(edge)));
    const auto m = static_cast<std::int64_t>(std::nearbyint(edge / (4.0 * cells)));
    // E_a = 4 n_a m_a with n_a cells: half a cell, H = 2 m_a, is an even number of units.
    s.extent[a] = 4 * cells * std::clamp(m, kFinest, kFinest + rungs_of(cells) - 1);
    shortest = std::min(shortest, p.box[a]);
  }
  choose_steps(s, volume, 1, shortest, 0.03);
  if (!set_edges(s)) refuse("the box holds more than 1e9 cells");
  double most = 0;
  for (int a = 0; a < s.dimensions(); ++a) {
    const double share = p.edge_shares[a];
    if (!(share >= 0) || share > 1)
      refuse(Parameter{"edge_shares"}, "must be from 0 to 1, got ", share);
    most = std::max(most, share);
    const double delta = p.volume_delta * share;
    s.lattice.steps[a] = 0;
    if (delta > 0)
      // In rungs of the ladder, which are 4 n_a units apart.
      s.lattice.steps[a] = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(delta / s.unit) / (4 * s.geometry.cells[a]));
  }
  if (most == 0) refuse("at least one edge must change: all edge_shares are 0");
}

void adopt_edges(State& s, const std::array<std::int64_t, 3>& extent) {
  for (int a = 0; a < s.dimensions(); ++a) {
    if (!is_edge(extent[a])) refuse("checkpoint: ", extent[a], " is not an edge of a box");
    s.extent[a] = extent[a];
  }
  if (!set_edges(s)) refuse("checkpoint: the box holds more than 1e9 cells");
  follow_box(s);
}

bool change_edges(State& s, Snapshot& now) {
  const Parameters& p = s.parameters;
  bool changed = false;
  std::vector<int> moving;
  for (int a = 0; a < s.dimensions(); ++a)
    if (s.lattice.steps[a] > 0) moving.push_back(a);
  for (int trial = 0; trial < p.volume_repeats; ++trial) {
    std::uint32_t other[4];
    random_words(other, s.geometry, 0u, now.counters.cycles, Purpose::volume, 1, trial);
    const int axis = moving[uniform_below(other[0], static_cast<std::uint32_t>(moving.size()))];
    const BoxTrial draw = draw_box_trial(s.geometry, now.counters.cycles, trial,
                                         static_cast<std::uint64_t>(s.lattice.steps[axis]));
    const auto by = static_cast<std::int64_t>(draw.magnitude);
    ++s.data.volume_moves.trials;
    // One edge changes at a time, by a number of rungs on the ladder of edges.
    const std::int64_t from = s.extent[axis];
    // As many rungs up as down: a step and its reverse are equally likely.
    const std::int64_t to = edge_at(rung_of(from) + (draw.grows ? by : -by));
    if (to == 0) continue;
    const double before = log_weight(s);
    const auto back = [&] {
      s.extent[axis] = from;
      set_edges(s);
      follow_box(s);
    };
    s.extent[axis] = to;
    // Rejected with the probability 1 - min(1, exp(W' - W)).
    if (!set_edges(s) || logarithm(draw.uniform) >= log_weight(s) - before) {
      back();
      continue;
    }
    follow_box(s);
    Snapshot moved = now;
    round_places(s, moved, axis, from, to, trial);
    if (s.ranks ? !is_legal_on_ranks(s, moved) : !is_legal(s, moved)) {
      back();
      continue;
    }
    now.places = std::move(moved.places);
    now.origin = moved.origin;
    ++s.data.volume_moves.accepted;
    changed = true;
  }
  return changed;
}

}  // namespace manymove::hard_particles
