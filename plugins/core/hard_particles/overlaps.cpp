// SPDX-License-Identifier: BSD-3-Clause
// Overlaps in float64, independent of the engine's grid, the repair of shallow ones, and the
// energies of pairs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "external_fields.h"
#include "grid.h"
#include "state.h"

namespace manymove::hard_particles {
namespace {

constexpr std::size_t kCrowd = 2000;  // far above the particles that fit a cell of the list

// Calls pair(i, j) for all pairs within `reach` and some beyond. Where more than kCrowd particles
// share a cell it stops, because the time for all of their pairs grows with the square of their
// number.
void for_close_pairs(const State& s, const double* r, double reach, auto&& pair) {
  const int D = s.dimensions();
  const std::size_t n = s.particles;
  const double* box = s.parameters.box;
  // Wider cells list the same pairs; they keep the cells of a large dilute box few.
  double volume = 1;
  for (int a = 0; a < D; ++a) volume *= box[a];
  // At most about four cells for each particle.
  const double width = std::max(reach, std::pow(volume / (4.0 * static_cast<double>(n)), 1.0 / D));
  std::size_t cells[3] = {1, 1, 1};
  for (int a = 0; a < D; ++a)
    cells[a] = static_cast<std::size_t>(std::max(1.0, std::floor(box[a] / width)));
  const std::size_t all = cells[0] * cells[1] * cells[2];
  std::vector<std::size_t> head(all, n), next(n);
  std::vector<std::uint16_t> crowd(all);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t at[3] = {0, 0, 0}, neighbors[3] = {1, 1, 1}, offset[3];
    for (int a = 0; a < D; ++a) {
      const double f = r[D * i + a] / box[a] + 0.5;
      // floor((f - floor f) n), below n even where f - floor f rounds to 1.
      at[a] = std::min(cells[a] - 1, static_cast<std::size_t>((f - std::floor(f)) *
                                                              static_cast<double>(cells[a])));
      neighbors[a] = std::min<std::size_t>(3, cells[a]);
    }
    for (offset[2] = 0; offset[2] < neighbors[2]; ++offset[2])
      for (offset[1] = 0; offset[1] < neighbors[1]; ++offset[1])
        for (offset[0] = 0; offset[0] < neighbors[0]; ++offset[0]) {
          std::size_t c = 0;
          for (int a = 2; a >= 0; --a)
            c = c * cells[a] +
                (at[a] + cells[a] - (neighbors[a] > 1 ? 1 : 0) + offset[a]) % cells[a];
          // Only particles before i are in the lists yet: each pair comes once.
          for (std::size_t j = head[c]; j != n; j = next[j]) pair(j, i);
        }
    const std::size_t here = (at[2] * cells[1] + at[1]) * cells[0] + at[0];
    next[i] = head[here];
    head[here] = i;
    if (++crowd[here] > kCrowd) break;
  }
}

// The vector from particle i to j (nearest images) and its squared length.
struct Separation {
  double d[3], square;
};
Separation separation(const State& s, const double* r, std::size_t i, std::size_t j) {
  const int D = s.dimensions();
  Separation v{};
  for (int a = 0; a < D; ++a) {
    const double edge = s.parameters.box[a];
    double d = r[D * j + a] - r[D * i + a];  // d - L round(d / L)
    d -= edge * std::nearbyint(d / edge);
    v.d[a] = d;
    v.square += d * d;
  }
  return v;
}

}  // namespace

ClosePair closest_pair(const State& s, const double* r) {
  ClosePair best{0, 0, std::numeric_limits<double>::infinity()};
  for_close_pairs(s, r, s.distances.largest, [&](std::size_t i, std::size_t j) {
    const double ratio = std::sqrt(separation(s, r, i, j).square) / contact_distance(s, i, j);
    if (ratio < best.ratio) best = {i, j, ratio};
  });
  return best;
}

std::size_t count_overlaps(const double* coordinates, std::size_t particles,
                           const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  check_sizes(s);
  std::size_t count = 0;
  for_close_pairs(s, coordinates, s.distances.largest, [&](std::size_t i, std::size_t j) {
    const double contact = contact_distance(s, i, j);
    count += separation(s, coordinates, i, j).square < contact * contact * (1 - 1e-12);
  });
  return count;
}

namespace {

// Of all events of a particle in one direction.
struct NearestEvent {
  double x = std::numeric_limits<double>::infinity(), weight = 0;

  void add(double at, double its) {
    if (at >= 0 && at < x) *this = {at, its};
  }
};

std::vector<double> histogram_of(const std::vector<NearestEvent>& events, double width, int bins) {
  std::vector<double> sums(static_cast<std::size_t>(bins));
  for (const NearestEvent& event : events)
    if (event.x / width < bins) sums[static_cast<std::size_t>(event.x / width)] += event.weight;
  return sums;
}

}  // namespace

ScaleDistribution nearest_contacts(const double* coordinates, std::size_t particles,
                                   const Parameters& parameters, double bin_width, int bins) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  check_sizes(s);
  const double most = bin_width * bins;
  if (!(bin_width > 0) || bins < 1 || !(most < 1.0 / 3))
    throw std::invalid_argument(text_of(
        "contacts need bins of positive width that end below 1/3, got ", bins, " of ", bin_width));
  const double reach = settle_steps(s);
  const Parameters& p = s.parameters;
  std::vector<NearestEvent> closer(particles), farther(particles);
  for_close_pairs(s, coordinates, reach / (1 - most), [&](std::size_t i, std::size_t j) {
    const double r = std::sqrt(separation(s, coordinates, i, j).square);
    NearestEvent compression, expansion;
    compression.add(1 - contact_distance(s, i, j) / r, 1);
    const std::size_t types = s.distances.of_types.size();
    for (const PairStep& step : p.steps) {
      const std::size_t pair =
          static_cast<std::size_t>(p.types[i]) * types + static_cast<std::size_t>(p.types[j]);
      if (step.energies[pair] == 0) continue;
      const double range = step.ranges[pair];
      double energy = 0;  // of all steps at this range
      for (const PairStep& each : p.steps)
        if (each.ranges[pair] == range) energy += each.energies[pair];
      // A rise counts: that of a shoulder which the pair enters, or of a well which it leaves.
      if (r >= range)
        compression.add(1 - range / r, std::max(0.0, 1 - std::exp(-energy)));
      else
        expansion.add(range / r - 1, std::max(0.0, 1 - std::exp(energy)));
    }
    for (const std::size_t k : {i, j}) {
      closer[k].add(compression.x, compression.weight);
      farther[k].add(expansion.x, expansion.weight);
    }
  });
  return {histogram_of(closer, bin_width, bins), histogram_of(farther, bin_width, bins)};
}

std::vector<double> step_energies_at(const State& state, const double* coordinates) {
  std::vector<double> energies(state.particles, 0.0);
  if (state.parameters.steps.empty()) return energies;
  const StepView view = step_view(state);
  const auto D = static_cast<std::size_t>(state.dimensions());
  std::vector<std::int64_t> places(state.particles * D);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::size_t a = k % D;
    // Coordinates are those of integers, in which distances are exact.
    places[k] = std::llround((coordinates[k] / state.parameters.box[a] + 0.5) *
                             static_cast<double>(state.extent[a]));
  }
  for_close_pairs(
      state, coordinates, state.distances.reach * (1 + 1e-5), [&](std::size_t i, std::size_t j) {
        double square = 0;
        for (std::size_t a = 0; a < D; ++a) {
          const std::int64_t edge = state.extent[a];
          std::int64_t d = std::abs(places[i * D + a] - places[j * D + a]);
          d = std::min(d, edge - d);
          // Beyond 2^25 pairs are farther apart than any range.
          square += static_cast<double>(d) * static_cast<double>(d);
        }
        for (int k = 0; k < view.number; ++k) {
          const std::size_t at =
              static_cast<std::size_t>((k * view.types + state.parameters.types[i]) * view.types +
                                       state.parameters.types[j]);
          if (!(square < view.squares[at])) continue;
          const double energy = kQuantum * static_cast<double>(view.energies[at]);
          energies[i] += energy;
          energies[j] += energy;
        }
      });
  return energies;
}

bool push_apart(const State& s, std::vector<double>& r, double margin) {
  const int D = s.dimensions();
  const double skin = std::max(4 * s.parameters.repair_depth, 1e-3) * s.distances.largest;
  struct Pair {
    std::size_t i, j;
    double contact;
  };
  std::vector<Pair> near;
  const std::vector<std::uint8_t>& pinned = s.parameters.pinned;
  const auto stays = [&](std::size_t k) { return !pinned.empty() && pinned[k]; };
  const FieldView fields = field_view(s);
  for (int list = 0; list < 20; ++list) {
    near.clear();
    for_close_pairs(s, r.data(), s.distances.largest + skin, [&](std::size_t i, std::size_t j) {
      const double contact = contact_distance(s, i, j) * (1 + margin);
      if (separation(s, r.data(), i, j).square < (contact + skin) * (contact + skin))
        near.push_back({i, j, contact});
    });
    std::vector<double> moved(s.particles);
    double farthest = 0;
    for (int pass = 0; pass < 2000 && farthest < 0.5 * skin; ++pass) {
      bool overlap = false;
      for (const Pair& pair : near) {
        const Separation v = separation(s, r.data(), pair.i, pair.j);
        if (v.square >= pair.contact * pair.contact) continue;
        overlap = true;
        // Next to a pinned particle the other one goes all the way.
        const bool both = stays(pair.i) == stays(pair.j);
        if (both && stays(pair.i)) return false;
        const double distance = std::sqrt(v.square);
        // A little farther than contact, so that a chain of pushes ends after finitely many.
        const double push =
            (both ? 0.5 : 1.0) * (1.2 * (pair.contact - distance) + 1e-8 * pair.contact);
        for (int a = 0; a < D; ++a) {
          const double by = distance > 0 ? push * v.d[a] / distance : (a == 0 ? push : 0);
          if (!stays(pair.i)) r[D * pair.i + a] -= by;
          if (!stays(pair.j)) r[D * pair.j + a] += by;
        }
        for (const std::size_t k : {pair.i, pair.j})
          farthest = std::max(farthest, moved[k] += push);
      }
      for (std::size_t k = 0; fields.number && k < s.particles; ++k) {
        const WallContact wall = wall_contact(s, fields, k, &r[D * k]);
        const double push = wall.depth + margin * s.distances.largest;
        if (!(push > 0)) continue;
        overlap = true;
        if (stays(k)) return false;
        for (int a = 0; a < D; ++a) r[D * k + a] += 1.2 * push * wall.out[a];
        farthest = std::max(farthest, moved[k] += 1.2 * push);
      }
      if (!overlap) {
        if (farthest >= 0.5 * skin) break;  // the list may miss pairs: once more
        for (std::size_t k = 0; k < r.size(); ++k) {
          const double edge = s.parameters.box[k % D];
          r[k] -= edge * std::floor(r[k] / edge + 0.5);
        }
        return true;
      }
    }
    if (farthest < 0.5 * skin) return false;  // many passes were not enough
  }
  return false;
}

}  // namespace manymove::hard_particles
