// SPDX-License-Identifier: BSD-3-Clause
#include "edges.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../../runtime/errors.h"
#include "../../runtime/logarithm.h"
#include "../grid.h"
#include "../steps.h"
#include "volume.h"

namespace manymove::hard_particles {
namespace {

// A cell is 4 m units wide with m >= kFinest, where 4 kFinest units are as far as particles
// interact. With three cells m is below 4/3 of that, and half a cell is 2 m units.
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

// The edge of the ladder next to a length in units, within those of as many cells; 0 beyond the
// ends.
std::int64_t nearest_edge(double length) {
  if (!(length < 4.0 * kFinest * kMostCells)) return 0;
  const std::int64_t n = cells_of_edge(static_cast<std::int64_t>(length));
  if (n < 3) return 0;
  const auto m = static_cast<std::int64_t>(std::nearbyint(length / (4.0 * static_cast<double>(n))));
  return 4 * n * std::clamp(m, kFinest, kFinest + rungs_of(n) - 1);
}

// The box and the grid of the state's extents; false if there are too many cells.
bool set_edges(State& s) {
  double all = 1;
  int cells[3] = {1, 1, 1};
  for (int a = 0; a < s.dimensions(); ++a)
    all *= cells[a] = static_cast<int>(cells_of_edge(s.extent[a]));
  set_cells(s, cells);
  s.data.volume = box_volume(s);
  if (s.parameters.several_box_moves()) {
    s.data.volume = exponential(log_volume(s));
    for (int a = 0; a < s.dimensions(); ++a) s.data.volume *= s.unit;
  }
  return all <= 1e9;
}

// W = N ln V - beta P V + sum_a ln n_a (section 7). The sum has the distances between rungs, which
// are 4 n_a units. With several kinds of box moves, W = (N + 1) ln V - beta P V (section 8).
double log_weight(const State& s) {
  if (s.parameters.several_box_moves())
    return (static_cast<double>(s.particles) + 1) * log_volume(s) -
           s.parameters.beta_pressure * s.data.volume;
  double sum = static_cast<double>(s.particles) * logarithm(s.data.volume) -
               s.parameters.beta_pressure * s.data.volume;
  for (int a = 0; a < s.dimensions(); ++a)
    sum += logarithm(static_cast<double>(s.geometry.cells[a]));
  return sum;
}

// Positions as fractions of the edge, with random digits behind those of the lattice, on a lattice
// of another edge (section 7).
void round_along(const State& s, Snapshot& now, int axis, std::int64_t from, int trial) {
  const std::int64_t to = s.extent[static_cast<std::size_t>(axis)];
  // Several axes have digits of their own.
  const int digit = s.parameters.several_box_moves() ? axis : 0;
  const auto D = static_cast<std::size_t>(s.dimensions());
  for (std::size_t i = 0; i < now.places.size() / D; ++i) {
    std::uint32_t word[4];
    random_words(word, s.geometry, now.index(i), now.counters.cycles, Purpose::offset, 0, trial);
    std::int64_t& place = now.places[i * D + static_cast<std::size_t>(axis)];
    // k' = floor((k + r) M' / M), with 32 random digits r behind the lattice of M points.
    const auto point = static_cast<std::uint64_t>(place / 2);
    const unsigned __int128 digits = static_cast<unsigned __int128>(point) << 32 | word[digit];
    const auto there = static_cast<std::uint64_t>(
        digits * static_cast<std::uint64_t>(to / 2) / static_cast<std::uint64_t>(from / 2) >> 32);
    place = 2 * static_cast<std::int64_t>(there) + 1;
  }
  std::int64_t& origin = now.origin[static_cast<std::size_t>(axis)];
  while (origin >= to) origin -= to;  // the next cycle draws a new origin
}

// The largest steps of one kind of several, relative to a volume or a length, with the default
// `share`.
double relative_delta(State& s, BoxMove kind, double size, double share) {
  static constexpr const char* kNames[] = {"box_volume_delta", "box_length_delta",
                                           "box_aspect_delta"};
  const auto k = static_cast<std::size_t>(kind);
  Parameters& p = s.parameters;
  if (p.box_weights[k] == 0) return 0;
  const double most = largest_box_deltas(s)[k];
  double& delta = p.box_deltas[k];
  if (delta == 0) delta = std::min(most, size * relative_step(s, box_volume(s), share));
  if (!(delta > 0) || delta > most)
    refuse(Parameter{kNames[k]}, "must be positive and at most ", most, ", got ", delta);
  return delta / size;
}

// The logarithms of the first edges, and their box.
void begin_logarithms(State& s) {
  for (int a = 0; a < s.dimensions(); ++a)
    s.data.logarithms[static_cast<std::size_t>(a)] = static_cast<std::int64_t>(std::nearbyint(
        logarithm(std::max(s.parameters.box[a] / s.unit, 12.0 * kFinest * (1 + 1e-11))) /
        kLogarithmQuantum));
  if (!set_logarithms(s))
    refuse("the box has an edge of more than 30000 cells, or more than 1e9 cells");
}

// The largest steps of the edges that change: step_of(share, axis), at least 1.
void choose_edge_steps(State& s, bool volume_moves, const auto& step_of) {
  bool moves = volume_moves;
  for (int a = 0; a < s.dimensions(); ++a) {
    const double share = s.parameters.edge_shares[a];
    if (!(share >= 0) || share > 1)
      refuse(Parameter{"edge_shares"}, "must be from 0 to 1, got ", share);
    moves |= share > 0;
    s.lattice.steps[a] = share > 0 ? std::max<std::int64_t>(1, step_of(share, a)) : 0;
  }
  if (!moves) refuse("at least one edge must change: all edge_shares are 0");
}

void choose_kinds(State& s) {
  Parameters& p = s.parameters;
  const int D = s.dimensions();
  for (const double weight : p.box_weights)
    if (!(weight >= 0) || !std::isfinite(weight))
      refuse(Parameter{"box_weights"}, "must be finite and not negative, got ", weight);
  choose_repeats(s, 1);
  const auto quanta = [](double step) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(step / kLogarithmQuantum));
  };
  const double shortest = *std::min_element(p.box, p.box + D);
  const double of_volume = relative_delta(s, BoxMove::volume, 1, 0.1),
               of_length = relative_delta(s, BoxMove::length, shortest, 0.03),
               of_aspect = relative_delta(s, BoxMove::aspect, 1, 0.03);
  s.lattice.volume_step = quanta(of_volume / D);
  s.lattice.aspect_step = quanta(logarithm(1 + of_aspect) / (D - 1));
  choose_edge_steps(s, of_length == 0, [&](double share, int a) {
    return quanta(of_length * share * shortest / p.box[a]);
  });
  begin_logarithms(s);
}

}  // namespace

double log_volume(const State& s) {
  const auto& l = s.data.logarithms;
  return static_cast<double>(l[0] + l[1] + l[2]) * kLogarithmQuantum;
}

bool set_logarithms(State& s) {
  for (std::size_t a = 0; a < static_cast<std::size_t>(s.dimensions()); ++a) {
    const double logarithm = static_cast<double>(s.data.logarithms[a]) * kLogarithmQuantum;
    s.extent[a] = std::abs(logarithm) < 40 ? nearest_edge(exponential(logarithm)) : 0;
    if (s.extent[a] == 0) return false;
  }
  return set_edges(s);
}

void round_places(const State& s, Snapshot& now, const std::array<std::int64_t, 3>& from,
                  int trial) {
  for (int a = 0; a < s.dimensions(); ++a)
    if (s.extent[static_cast<std::size_t>(a)] != from[static_cast<std::size_t>(a)])
      round_along(s, now, a, from[static_cast<std::size_t>(a)], trial);
}

std::array<double, 3> largest_box_deltas(const State& s) {
  return {0.69 * s.dimensions(), s.distances.largest, 1};
}

void choose_edges(State& s) {
  Parameters& p = s.parameters;
  p.ln_volume = false;  // the coordinate of the volume is V itself
  s.unit = s.distances.reach / (4.0 * kFinest) * (1 + 1e-12);
  s.extent = {2, 2, 2};
  if (p.gibbs) {
    p.edges_apart = true;
    check_cell_width(s);
    begin_logarithms(s);
    return;
  }
  if (p.several_box_moves()) {
    choose_kinds(s);
    return;
  }
  const double volume = box_volume(s);
  double shortest = p.box[0];
  for (int a = 0; a < s.dimensions(); ++a) {
    s.extent[a] = nearest_edge(std::max(p.box[a] / s.unit, 12.0 * kFinest));
    if (s.extent[a] == 0)
      refuse("box edge ", "xyz"[a], " holds more than 30000 cells: use a smaller box");
    shortest = std::min(shortest, p.box[a]);
  }
  choose_steps(s, volume, 1, shortest, 0.03);
  if (!set_edges(s)) refuse("the box holds more than 1e9 cells");
  // In rungs of the ladder, which are 4 n_a units apart.
  choose_edge_steps(s, false, [&](double share, int a) {
    return static_cast<std::int64_t>(p.volume_delta * share / s.unit) / (4 * s.geometry.cells[a]);
  });
}

void adopt_edges(State& s, const Snapshot& data) {
  for (int a = 0; a < s.dimensions(); ++a) {
    if (!is_edge(data.extent[a]))
      refuse("checkpoint: ", data.extent[a], " is not an edge of a box");
    s.extent[a] = data.extent[a];
  }
  bool fits = true;
  if (s.parameters.several_box_moves()) {
    s.data.logarithms = data.logarithms;
    fits = set_logarithms(s);
    for (int a = 0; a < s.dimensions(); ++a) fits = fits && s.extent[a] == data.extent[a];
  }
  if (!fits) refuse("checkpoint: the logarithms of the edges are not those of the box");
  if (!set_edges(s)) refuse("checkpoint: the box holds more than 1e9 cells");
  follow_box(s);
}

namespace {

// Of one edge alone, by a number of rungs on the ladder of edges, as many up as down: a step and
// its reverse are equally likely. Returns whether there is such a box.
bool step_of_edge(State& s, const BoxTrial& draw, int axis) {
  const auto by = static_cast<std::int64_t>(draw.magnitude);
  const std::int64_t to = edge_at(rung_of(s.extent[axis]) + (draw.grows ? by : -by));
  if (to == 0) return false;
  s.extent[axis] = to;
  return set_edges(s);
}

// Sums of integers: a step and its reverse are equally likely, and steps of `aspect` keep the sum
// of the logarithms, which is ln V.
bool step_of_kind(State& s, const BoxTrial& draw, BoxMove kind, int axis) {
  const auto size = static_cast<std::int64_t>(draw.magnitude), by = draw.grows ? size : -size;
  const int D = s.dimensions();
  for (int a = 0; a < D; ++a) {
    std::int64_t& logarithm = s.data.logarithms[static_cast<std::size_t>(a)];
    if (kind == BoxMove::volume)
      logarithm += by;
    else if (kind == BoxMove::length)
      logarithm += a == axis ? by : 0;
    else
      logarithm += a == axis ? (D - 1) * by : -by;
  }
  return set_logarithms(s);
}

// The kind of a trial by its weight, from 32 random bits.
BoxMove kind_of(const Parameters& p, std::uint32_t word) {
  const double all = p.box_weights[0] + p.box_weights[1] + p.box_weights[2];
  double rest = (static_cast<double>(word) + 0.5) * 0x1p-32 * all;
  for (const BoxMove kind : {BoxMove::volume, BoxMove::length}) {
    const double weight = p.box_weights[static_cast<std::size_t>(kind)];
    if (rest < weight) return kind;
    rest -= weight;
  }
  return p.box_weights[2] > 0   ? BoxMove::aspect
         : p.box_weights[1] > 0 ? BoxMove::length
                                : BoxMove::volume;
}

std::optional<std::uint64_t> energy_of(const State& s, const Snapshot& data) {
  return s.ranks ? legal_energy_on_ranks(s, data) : legal_energy(s, data);
}

// Whether the box that has just been set is accepted, with the positions in it: with the
// probability min(1, exp(by - dU)), where `energy` is that of the positions `now`.
bool accepts(State& s, Snapshot& now, const std::array<std::int64_t, 3>& from, int trial,
             const BoxTrial& draw, double by, std::uint64_t& energy) {
  const double limit = logarithm(draw.uniform);
  const bool steps = !s.parameters.steps.empty();
  if (!steps && limit >= by) return false;
  follow_box(s);
  Snapshot moved = now;
  round_places(s, moved, from, trial);
  const auto there = energy_of(s, moved);
  if (!there) return false;
  const auto rise = static_cast<std::int64_t>(*there - energy);
  if (steps && limit >= by - kQuantum * static_cast<double>(rise)) return false;
  energy = *there;
  now.places = std::move(moved.places);
  now.origin = moved.origin;
  return true;
}

}  // namespace

bool change_edges(State& s, Snapshot& now) {
  const Parameters& p = s.parameters;
  const bool several = p.several_box_moves();
  bool changed = false;
  std::uint64_t energy = p.steps.empty() ? 0 : energy_of(s, now).value();
  std::vector<int> moving;
  for (int a = 0; a < s.dimensions(); ++a)
    if (s.lattice.steps[a] > 0) moving.push_back(a);
  for (int trial = 0; trial < p.volume_repeats; ++trial) {
    std::uint32_t word[4];
    random_words(word, s.geometry, 0u, now.counters.cycles, Purpose::volume, 1, trial);
    const BoxMove kind = several ? kind_of(p, word[1]) : BoxMove::length;
    const int axis =
        kind == BoxMove::length
            ? moving[uniform_below(word[0], static_cast<std::uint32_t>(moving.size()))]
            : static_cast<int>(uniform_below(word[0], static_cast<std::uint32_t>(s.dimensions())));
    const std::int64_t most = kind == BoxMove::volume   ? s.lattice.volume_step
                              : kind == BoxMove::length ? s.lattice.steps[axis]
                                                        : s.lattice.aspect_step;
    const BoxTrial draw =
        draw_box_trial(s.geometry, now.counters.cycles, trial, static_cast<std::uint64_t>(most));
    std::uint64_t* const counts = &s.data.box_moves[2 * static_cast<std::size_t>(kind)];
    if (several) ++counts[0];
    if (kind != BoxMove::aspect) ++s.data.volume_moves.trials;
    const auto extent = s.extent, logarithms = s.data.logarithms;
    const double before = log_weight(s);
    const bool fits = several ? step_of_kind(s, draw, kind, axis) : step_of_edge(s, draw, axis);
    // Rejected with the probability 1 - min(1, exp(W' - W - dU)), or because particles would
    // overlap.
    if (!fits || !accepts(s, now, extent, trial, draw, log_weight(s) - before, energy)) {
      s.extent = extent;
      s.data.logarithms = logarithms;
      set_edges(s);
      follow_box(s);
      continue;
    }
    if (several) ++counts[1];
    if (kind != BoxMove::aspect) ++s.data.volume_moves.accepted;
    changed = true;
  }
  return changed;
}

}  // namespace manymove::hard_particles
