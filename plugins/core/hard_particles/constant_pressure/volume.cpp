// SPDX-License-Identifier: BSD-3-Clause
#include "volume.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "../../runtime/errors.h"
#include "../../runtime/logarithm.h"
#include "../grid.h"

namespace manymove::hard_particles {

namespace {

// From IEEE operations alone, as logarithm(): the cube root of the C library differs from machine
// to machine.
double root(double a, int dimensions) {
  if (dimensions == 2) return std::sqrt(a);
  double x = exponential(logarithm(a) / 3);
  for (int k = 0; k < 2; ++k) x -= (x - a / (x * x)) / 3;  // Newton's method for x^3 = a
  return x;
}

constexpr int kBase = 360;          // an edge of `base` cells may also have these numbers of cells:
constexpr int kCoarsest = 8;        // 8, 10, 12, 15, 18, 20, 24, 30, ... times the base
constexpr double kFinest = 8;       // the range of an edge, as a ratio
constexpr double kSmallest = 0.3;   // the smallest edge, of the first one
constexpr double kExact = 0x1p-44;  // of the ratios, beyond their rounding (section 3)

double volume_in_units(const State& s) {
  return std::accumulate(s.extent.begin(), s.extent.begin() + s.dimensions(), 1.0,
                         [](double n, std::int64_t e) { return n * static_cast<double>(e); });
}

// The cells along an axis for an edge: as many as fit, of the numbers that divide the lattice. 0 if
// there are none.
int cells_for(const State& s, int axis, double edge) {
  const double reach = s.distances.reach;
  const std::vector<int>& counts = s.lattice.cells[axis];
  for (auto n = counts.rbegin(); n != counts.rend(); ++n)
    // A cell is at least as wide as particles interact, and at most kWidestCell times that.
    if (*n * reach <= edge) return edge < kWidestCell * reach * *n * (1 + 1e-12) ? *n : 0;
  return 0;
}

// Whether no pair overlaps in a box with a unit of length u, which is u^2 q (1 - 2^-44) >= 1 with
// the least ratio q (section 3), and the smallest ratio for which that is so.
bool legal_at(double unit, double least_ratio) {
  return unit * unit * (least_ratio * (1 - kExact)) >= 1;
}
double least_legal(double unit) {
  double ratio = 1 / (unit * unit) / (1 - kExact);
  while (legal_at(unit, ratio)) ratio = std::nextafter(ratio, 0.0);
  while (!legal_at(unit, ratio)) ratio = std::nextafter(ratio, HUGE_VAL);
  return ratio;
}

// The logarithm W of the weight of a volume (section 1): (N + 1) ln V - beta P V for steps in ln V,
// N ln V - beta P V for steps in V.
double log_weight(const State& s, double coordinate) {
  const auto n = static_cast<double>(s.particles);
  const double volume = volume_of(s, coordinate), pressure = s.parameters.beta_pressure;
  return s.parameters.ln_volume ? (n + 1) * coordinate - pressure * volume
                                : n * logarithm(volume) - pressure * volume;
}

// The unit of length at a volume, u = (V / prod_a E_a)^(1/D) with the edges E_a in units (section
// 2).
double unit_of(const State& s, double volume) {
  return root(volume / volume_in_units(s), s.dimensions());
}

// The smallest volume that the lattice has a grid for.
double smallest_volume(const State& s) {
  double unit = 0;
  for (int a = 0; a < s.dimensions(); ++a)
    unit = std::max(
        unit, s.lattice.cells[a].front() * s.distances.reach / static_cast<double>(s.extent[a]));
  double volume = volume_in_units(s);
  for (int a = 0; a < s.dimensions(); ++a) volume *= unit;
  return volume;
}

}  // namespace

double largest_volume_delta(const State& s) {
  const Parameters& p = s.parameters;
  if (p.edges_apart) return s.distances.largest;
  return (p.ln_volume ? 0.69 * p.dimensions
                      : (p.dimensions == 2 ? 0.75 : 0.87) * smallest_volume(s)) /
         p.volume_repeats;
}

double volume_of(const State& s, double coordinate) {
  return s.parameters.ln_volume ? exponential(coordinate) : coordinate;
}

void check_cell_width(const State& s) {
  if (s.parameters.cell_width != s.distances.reach)
    refuse(Parameter{"cell_width"},
           "must be left to its default where the volume changes and cells follow the box, got ",
           s.parameters.cell_width);
}

void choose_repeats(State& s, int repeats) {
  Parameters& p = s.parameters;
  if (!std::isfinite(p.beta_pressure))
    refuse("the pressure must be positive and finite, got ", p.beta_pressure);
  check_cell_width(s);
  if (p.volume_every == 0) p.volume_every = 1;
  if (p.volume_repeats == 0) p.volume_repeats = repeats;
  if (p.volume_repeats < 1 || p.volume_repeats > 1000)
    refuse(Parameter{"volume_repeats"}, "must be from 1 to 1000, got ", p.volume_repeats);
}

double relative_step(const State& s, double volume, double share) {
  // A compression by d ln V makes (beta P V - N) d ln V overlaps on average, and the fluctuations
  // of an ideal gas are N^(-1/2): steps are 1.5 over the larger of these (section 4).
  const auto n = static_cast<double>(s.particles);
  const double stiffness = std::max(s.parameters.beta_pressure * volume - n, std::sqrt(n));
  return std::min(share, 1.5 / stiffness);
}

void choose_steps(State& s, double volume, int repeats, double size, double share) {
  choose_repeats(s, repeats);
  Parameters& p = s.parameters;
  const double most = largest_volume_delta(s);
  if (p.volume_delta == 0) p.volume_delta = std::min(most, size * relative_step(s, volume, share));
  if (!(p.volume_delta > 0) || p.volume_delta > most)
    refuse(Parameter{"volume_delta"}, "must be positive and at most ", most, ", got ",
           p.volume_delta);
}

void choose_lattice(State& s) {
  Parameters& p = s.parameters;
  const int D = s.dimensions();
  std::int64_t factor[3] = {1, 1, 1}, most[3] = {1, 1, 1};
  int widest = 0;
  for (int a = 0; a < D; ++a) {
    const double edge = p.box[a] / s.distances.reach;
    if (edge > 30000)
      refuse("box edge ", "xyz"[a], " holds more than 30000 cells: use a smaller box");
    const auto base =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(kSmallest * edge / kCoarsest));
    factor[a] = kBase * base;
    std::vector<int>& counts = s.lattice.cells[a];
    for (int n = 3; n <= std::min<std::int64_t>(factor[a], 30000); ++n)
      if (factor[a] % n == 0) counts.push_back(n);
    // From the largest number that fits the smallest edge, if there is one.
    auto first = std::upper_bound(counts.begin(), counts.end(), kSmallest * edge);
    if (first != counts.begin()) --first;
    counts.erase(counts.begin(), first);
    while (counts.back() > kFinest * counts.front()) counts.pop_back();
    most[a] = kMaxHalfWidth * counts.front() / (2 * factor[a]);
    if (p.box[a] > p.box[widest]) widest = a;
  }
  // E_a = 4 * 360 b_a m_a (section 2): multiples of four factors whose ratios are those of the
  // edges.
  double error;
  const auto m = nearest_ratios(D, widest, most, error, [&](std::int64_t of_widest, int a) {
    return static_cast<double>(of_widest * factor[widest]) / static_cast<double>(factor[a]) *
           (p.box[a] / p.box[widest]);
  });
  for (int a = 0; a < 3; ++a) s.extent[a] = a < D ? 4 * factor[a] * m[a] : 2;
  if (error > 1e-4) refuse("no lattice has the shape of this box; choose a less elongated one");
  for (const double contact : p.contacts) s.lattice.contacts.push_back(contact * contact);
  const double volume = box_volume(s);
  int exponent;
  std::frexp(volume, &exponent);
  // Volumes are multiples of a power of two, of which sums are exact in a double.
  s.lattice.quantum = p.ln_volume ? 0x1p-46 : std::ldexp(1.0, exponent - 48);
  const double start = p.ln_volume ? logarithm(volume) : volume;
  s.data.volume = std::nearbyint(start / s.lattice.quantum) * s.lattice.quantum;
  choose_steps(s, volume, 10, p.ln_volume ? 1.0 : volume, 0.1);
}

bool set_box(State& s, double coordinate) {
  const double unit = unit_of(s, volume_of(s, coordinate));
  double all = 1;
  int cells[3] = {1, 1, 1};
  for (int a = 0; a < s.dimensions(); ++a) {
    cells[a] = cells_for(s, a, static_cast<double>(s.extent[a]) * unit);
    if (cells[a] == 0) return false;
    all *= cells[a];
  }
  if (all > 1e9) return false;
  s.data.volume = coordinate;
  s.unit = unit;
  set_cells(s, cells);
  return true;
}

LeastRatio least_ratio_wanted(const State& s) {
  const Parameters& p = s.parameters;
  const double reach = p.volume_repeats * p.volume_delta;
  // The smallest box that all trials together can reach, one step after the other downwards.
  const double least_unit = unit_of(s, volume_of(s, s.data.volume - reach)) * (1 - 1e-12);
  const double sigma = s.distances.largest;
  LeastRatio wanted{};
  // Pairs with r^2 >= sigma^2 / u_0^2 overlap at no volume that these trials can reach (section 3).
  wanted.most = (1 + 1e-12) / (least_unit * least_unit);
  wanted.farthest2 = static_cast<float>(wanted.most * sigma * sigma * (1 + 1e-5));
  wanted.range = 2 * static_cast<double>(s.narrowest_half()) * least_unit >= sigma ? 1 : 2;
  return wanted;
}

float pair_reach(const State& s) {
  const Parameters& p = s.parameters;
  const double reach = p.volume_repeats * p.volume_delta, before = s.data.volume - reach;
  if (!p.ln_volume && before - reach < 0.5 * s.data.volume) return 0;
  const double unit = unit_of(s, volume_of(s, before)),
               least_unit = unit_of(s, volume_of(s, before - reach)) * (1 - 1e-12);
  if (2 * static_cast<double>(s.narrowest_half()) * least_unit < s.distances.largest) return 0;
  // Lengths in units grow by u / u_0 when the box shrinks from u to u_0.
  const double ratio = unit / least_unit;
  return static_cast<float>(ratio * ratio * (1 + 1e-5));
}

CrossingsWanted crossings_wanted(const State& s) {
  const Parameters& p = s.parameters;
  const double reach = p.volume_repeats * p.volume_delta;
  // Squared ranges in units are in inverse proportion to that of the unit, which grows and shrinks
  // with the volume.
  const auto ratio = [&](double coordinate) {
    const double of_unit = s.unit / unit_of(s, volume_of(s, coordinate));
    return of_unit * of_unit;
  };
  CrossingsWanted wanted{};
  wanted.least = ratio(s.data.volume + reach) * (1 - 1e-9);
  wanted.most = ratio(s.data.volume - reach) * (1 + 1e-9);
  const double farthest = s.distances.reach / s.unit * std::sqrt(wanted.most);
  wanted.farthest2 = static_cast<float>(farthest * farthest * (1 + 1e-5));
  wanted.range = farthest <= 2 * static_cast<double>(s.narrowest_half()) ? 1 : 2;
  return wanted;
}

std::vector<Crossing> crossings_of_ranks(const State& s, std::vector<Crossing> mine) {
  return s.ranks ? collect(*s.ranks, std::move(mine)) : mine;
}

double least_of_ranks(const State& s, double least) {
  if (!s.ranks) return least;
  // The least of positive numbers is the largest of their negative bits.
  auto bits = -static_cast<std::int64_t>(bits_of(least));  // positive numbers are in their order
  s.ranks->maximum(&bits, 1);
  return as_double(static_cast<std::uint64_t>(-bits));
}

BoxTrial draw_box_trial(const Geometry& g, std::uint64_t cycle, int trial, std::uint64_t most) {
  std::uint32_t word[4];
  random_words(word, g, 0u, cycle, Purpose::volume, 0, trial);
  BoxTrial draw;
  draw.magnitude = uniform_below_wide(word, most + 1);
  draw.grows = word[2] & 1u;
  // 53 random bits and half a bit: never 0 or 1.
  draw.uniform =
      (static_cast<double>(static_cast<std::uint64_t>(word[3]) << 21 | word[2] >> 11) + 0.5) *
      0x1p-53;
  return draw;
}

double change_volume(State& s, double least_ratio, const std::vector<Crossing>& crossings,
                     double* decisive) {
  const Parameters& p = s.parameters;
  const int D = s.dimensions();
  if (decisive) *decisive = 0;
  const auto legal = [&](double unit) {
    const bool is = legal_at(unit, least_ratio);
    if (is && decisive) *decisive = std::max(*decisive, least_legal(unit));
    return is;
  };
  // min(1, exp(W' - W)), if the box is legal before and after the change.
  double now = s.data.volume, weight = log_weight(s, now), unit_now = s.unit;
  const bool at_rest = !legal(unit_of(s, volume_of(s, now)));  // symmetric: section 3
  // Steps are whole quanta, so that each is exactly as likely as its reverse.
  const auto quanta =
      static_cast<std::uint64_t>(std::max(1.0, std::floor(p.volume_delta / s.lattice.quantum)));
  for (int trial = 0; trial < p.volume_repeats; ++trial) {
    // |step| is uniform among 0 to floor(delta / quantum) quanta, in either direction.
    const BoxTrial draw = draw_box_trial(s.geometry, s.data.counters.cycles, trial, quanta);
    const auto by = static_cast<double>(draw.magnitude);
    const double to = now + (draw.grows ? by : -by) * s.lattice.quantum;
    ++s.data.volume_moves.trials;
    const double weight_to = log_weight(s, to);
    const double unit = unit_of(s, volume_of(s, to));
    const double rise = rise_of(s, crossings, unit_now, unit);
    // Rejected with the probability 1 - min(1, exp(W' - W - dU)).
    if (at_rest || logarithm(draw.uniform) >= weight_to - weight - rise) continue;
    bool wide = true;
    for (int a = 0; a < D; ++a)
      wide = wide && static_cast<double>(s.extent[a]) * unit >= 3 * s.distances.reach;
    if (!wide || !legal(unit)) continue;
    for (int a = 0; a < D; ++a)
      if (cells_for(s, a, static_cast<double>(s.extent[a]) * unit) == 0)
        throw OutgrownLattice(
            text_of("the box has become too ", to < now ? "small" : "large",
                    " for the lattice of its start; continue with a new simulation from the "
                    "present positions and box"));
    // u^2 q >= 1 with the least ratio q: the trial has needed no look at the particles.
    now = to;
    weight = weight_to;
    unit_now = unit;
    ++s.data.volume_moves.accepted;
  }
  return now;
}

void adopt_volume(State& s, double coordinate) {
  if (!(std::abs(coordinate / s.lattice.quantum) < 0x1p53) ||
      std::fmod(coordinate, s.lattice.quantum) != 0 || !set_box(s, coordinate))
    refuse("checkpoint: the lattice does not have the volume ", coordinate);
  set_volume(s, coordinate);
  fill_diameters(s);
}

Scale scale_of(const State& s) {
  const Law law = law_of(s);
  return {law.contact, law.largest, law.margin, s.geometry.step, s.unit};
}

VolumeOutcomes foretell_volume(State& s, double most) {
  const double now = s.data.volume;
  const Geometry before = s.geometry;
  const TrialCounters counts = s.data.volume_moves;
  VolumeOutcomes all{};
  double ratio = most;
  while (all.number < VolumeOutcomes::kMost && ratio > 0) {
    const int k = all.number++;
    try {
      const double to = change_volume(s, ratio, {}, &all.from[k]);
      set_volume(s, to);
      all.scale[k] = scale_of(s);
      all.host[k] = !same_cells(before, s.geometry);
    } catch (const std::exception&) {  // it will be thrown again if it comes to this
      all.host[k] = true;
      all.from[k] = 0;
    }
    set_volume(s, now);
    s.data.volume_moves = counts;
    // Outcome k holds for all least ratios down to from[k]; the next one is asked just below.
    ratio = std::nextafter(all.from[k], 0.0);
  }
  return all;
}

bool same_cells(const Geometry& a, const Geometry& b) {
  return std::equal(a.cells, a.cells + 3, b.cells) && a.slots == b.slots;
}

Law reference_law(const State& s) {
  Law law = law_of(s);
  law.contact = s.distances.largest * s.distances.largest;
  law.diameters = s.parameters.diameters.data();
  law.contacts = s.lattice.contacts.data();
  return law;
}

}  // namespace manymove::hard_particles
