// SPDX-License-Identifier: BSD-3-Clause
#include "plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "../../runtime/logarithm.h"
#include "../../runtime/text.h"
#include "../settings.h"

namespace manymove::dpd {

namespace {

constexpr double kPi = 3.14159265358979323846, kRootOfPi = 1.77245385090551602730;

// The sum of y^(2 n) 2^n / (2 n + 1)!! from n = first on, times 2 y exp(-y^2) / sqrt(pi): the error
// function for first = 0. All terms are positive.
double error_function_from(int first, double y) {
  double term = 1, sum = 0;
  for (int n = 0; n < first || term > 1e-18 * sum; ++n) {
    if (n >= first) sum += term;
    term *= 2 * y * y / (2 * n + 3);
  }
  return 2 / kRootOfPi * y * exponential(-y * y) * sum;
}
// exp(-a) times the sum of a^n / n! from n = 2 or 3 on.
double exponential_from(int first, double a) {
  if (a > 600) return 1;
  double term = 1, sum = 0;
  for (int n = 0; n < first || term > 1e-18 * sum; ++n) {
    if (n >= first) sum += term;
    term *= a / (n + 1);
  }
  return exponential(-a) * sum;
}

// Two unit charges at a distance r, without what the mesh has, with y = alpha r and x = r / lambda:
// u = (erfc(y) - (1 + x) exp(-2 x)) / r, and -u' / r = (B - A) / r^3 with A = erf(y) - 2 y
// exp(-y^2) / sqrt(pi) and B = 1 - (1 + 2 x + 2 x^2) exp(-2 x), which are both of order r^3.
double force_of(double r, double splitting, double smearing) {
  if (r == 0)
    return 4 / (3 * smearing * smearing * smearing) -
           4 * splitting * splitting * splitting / (3 * kRootOfPi);
  return (exponential_from(3, 2 * r / smearing) - error_function_from(1, splitting * r)) /
         (r * r * r);
}
double energy_of(double r, double splitting, double smearing) {
  if (r == 0) return 1 / smearing - 2 * splitting / kRootOfPi;
  const double x = r / smearing,
               slater = x > 300 ? 1 : exponential_from(2, 2 * x) + x * exponential(-2 * x);
  return (slater - error_function_from(0, splitting * r)) / r;
}

// A table of cubics through the values at the thirds of each interval of [0, cutoff].
std::vector<Cubic<double>> table_of(const auto& function, double cutoff) {
  std::vector<Cubic<double>> table;
  for (int k = 0; k <= kTableIntervals; ++k) {
    double f[4];
    for (int j = 0; j < 4; ++j) f[j] = function((k + j / 3.0) * cutoff / kTableIntervals);
    // Newton's divided differences at 0, 1/3, 2/3 and 1.
    const double d1 = 3 * (f[1] - f[0]), d2 = 4.5 * (f[2] - 2 * f[1] + f[0]),
                 d3 = 4.5 * (f[3] - 3 * f[2] + 3 * f[1] - f[0]);
    table.push_back({{f[0], d1 - d2 / 3 + d3 * 2 / 9, d2 - d3, d3}});
  }
  return table;
}

// The power of two that is at least a, times 2^-bits.
double unit_of(double a, int bits) { return std::ldexp(1.0, std::ilogb(a) + 1 - bits); }

// sin(a) / a to the power n.
double power_of_sinc(double a, int n) { return a == 0 ? 1 : std::pow(std::sin(a) / a, n); }

// The sum over all aliases k + 2 pi m of the squared transform of the B-spline of an order, which
// is the Fourier series of the B-spline of twice the order at integers.
double sum_of_squares(double k, int order) {
  const int n = 2 * order;
  std::vector<double> spline(static_cast<std::size_t>(n) + 1, 0.0);  // M_m(j)
  spline[1] = 1;                                                     // of order 2
  for (int m = 3; m <= n; ++m)
    for (int j = m - 1; j > 0; --j) spline[j] = (j * spline[j] + (m - j) * spline[j - 1]) / (m - 1);
  double sum = spline[order];
  for (int j = 1; j < order; ++j) sum += 2 * spline[order + j] * std::cos(k * j);
  return sum;
}

constexpr double kMostWaves = 1e7;
// The cutoff over the distance of points below which their force is linear.
constexpr double kNearest = 2048;

// The length of the box along an axis, in which waves are periodic.
double period_of(const Settings& s, int a) {
  return s.box.extent[a] * (a == 2 ? s.charges.slab : 1);
}

// Distances between opposite faces.
std::array<double, 3> exact_widths_of(const Box& box) {
  std::array<double, 3> width;
  if (is_upright(box))
    std::copy_n(box.extent, 3, width.begin());
  else
    widths_of(box, width.data());
  return width;
}

// Vectors of the periodic box.
ReciprocalLattice lattice_of(const Settings& s) {
  const double x = period_of(s, 0), y = period_of(s, 1), z = period_of(s, 2), xy = s.box.tilt[0],
               xz = s.box.tilt[1], yz = s.box.tilt[2], turn = 2 * kPi;
  return {{turn / x, turn / y, turn / z, -turn * xy / (x * y),
           turn * (xy * yz - xz * y) / (x * y * z), -turn * yz / (y * z)},
          !is_upright(s.box)};
}

// Of the waves up to the largest one, the most periods along each edge.
std::array<double, 3> most_periods_of(const Settings& s) {
  const auto& [xy, xz, yz] = s.box.tilt;
  const double edge[3] = {period_of(s, 0), std::hypot(xy, period_of(s, 1)),
                          std::hypot(xz, yz, period_of(s, 2))};
  std::array<double, 3> most;
  for (int a = 0; a < 3; ++a) most[a] = s.charges.largest_wave_number * edge[a] / (2 * kPi);
  return most;
}

void check_waves(const Settings& s) {
  double waves = 2 * kPi / 3;  // half of a sphere
  for (const double periods : most_periods_of(s)) waves *= periods + 1;
  if (!(s.charges.largest_wave_number > 0) || !(waves < kMostWaves))
    refuse("the sum over waves has about ", waves, " waves, but at most ", kMostWaves,
           " are possible: use kspace_style pppm or a lower accuracy");
}

// The wave numbers of all points along an edge.
std::vector<InfluenceLine> influence_lines(int points, int order) {
  std::vector<InfluenceLine> lines;
  for (int p = 0; p < points; ++p) {
    const int n = 2 * p <= points ? p : p - points;
    InfluenceLine line{static_cast<double>(n), sum_of_squares(2 * kPi * n / points, order), {}, {}};
    for (int m = -kAliases; m <= kAliases; ++m) {
      line.alias[m + kAliases] = n + m * points;
      line.weight[m + kAliases] = power_of_sinc(kPi * n / points + kPi * m, 2 * order);
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

void check_charges(const Settings& s) {
  const ChargeSettings& c = s.charges;
  if (!c.any()) return;
  if (!std::isfinite(c.cutoff) || !(c.smearing >= 0) || !std::isfinite(c.smearing) ||
      !(c.screening >= 0) || !std::isfinite(c.screening) || !(c.coupling > 0) ||
      !std::isfinite(c.coupling) || !(c.splitting >= 0) || !std::isfinite(c.splitting))
    refuse("coefficients of charges are out of range");
  if (c.are_points() && c.has_waves()) refuse("a sum over waves of charges without a decay length");
  const Box most_tilted = most_tilted_box(s);
  const std::array<double, 3> width = exact_widths_of(most_tilted);
  for (int a = 0; a < 3; ++a)
    if (s.box.periodic[a] && width[a] < 2 * c.cutoff)
      refuse("the periodic box is ", width[a], " wide along ", "xyz"[a],
             ", less than twice the cutoff of charges ", c.cutoff);
  for (const double factor : c.special)
    if (!std::isfinite(factor)) refuse("the Coulomb factors of special neighbors must be finite");
  if (!c.has_waves()) return;
  const bool slab = c.slab != 1;
  if (!s.box.periodic[0] || !s.box.periodic[1] || s.box.periodic[2] == slab)
    refuse("waves of charges need a box that is periodic, or, with a slab, along x and y only");
  if (slab && !is_upright(most_tilted)) refuse("a slab of charges in a tilted box");
  if (!(c.slab >= 1) || !std::isfinite(c.slab)) refuse("the slab is out of range: ", c.slab);
  if (!c.has_mesh()) return check_waves(s);
  if (c.order < 2 || c.order > kMostOrder)
    refuse("the order of the mesh of charges must be from 2 to ", kMostOrder, ", got ", c.order);
  for (int a = 0; a < 3; ++a)
    if (c.mesh[a] < c.order || c.mesh[a] > 1024 || !fft_length(c.mesh[a]))
      refuse("the mesh of charges has ", c.mesh[a], " points along ", "xyz"[a],
             "; the number must be a product of 2, 3 and 5, from the order ", c.order, " to 1024");
}

ChargePlan::ChargePlan(const Settings& s)
    : has_tails(s.charges.are_points() && s.pairs.double_precision),
      cutoff_(s.charges.cutoff),
      splitting_(s.charges.splitting),
      points_(s.charges.are_points()),
      shear_(s.shear) {
  const ChargeSettings& c = s.charges;
  const std::array<double, 3> width = exact_widths_of(s.box);
  double unit[3];  // of the frame, in edges of the box
  for (int a = 0; a < 3; ++a) {
    const double span = s.box.periodic[a] ? 1 : 2;
    frame_[a] = s.box.extent[a] * span;
    frame_widths_[a] = width[a] * span;
    unit[a] = span * 0x1p-32;
  }
  law.edges = {s.box.extent[0] * unit[0], s.box.extent[1] * unit[1], s.box.extent[2] * unit[2],
               s.box.tilt[0] * unit[1],   s.box.tilt[1] * unit[2],   s.box.tilt[2] * unit[2]};
  law.tilted = !is_upright(s.box);
  const auto single = [](double edge) { return static_cast<float>(edge); };
  law.near_edges = {single(law.edges.xx), single(law.edges.yy), single(law.edges.zz),
                    single(law.edges.xy), single(law.edges.xz), single(law.edges.yz)};
  const double longest = frame_[0] + frame_[1] + frame_[2] + std::fabs(s.box.tilt[0]) +
                         std::fabs(s.box.tilt[1]) + std::fabs(s.box.tilt[2]),
               near = (1 + 1e-6) * cutoff_ + 0x1p-21 * longest;
  law.near_squared = single(near * near);
  law.cutoff_squared = cutoff_ * cutoff_;
  law.intervals = kTableIntervals / cutoff_;
  law.coupling = c.coupling;
  for (int kind = 1; kind < 4; ++kind) left_out_[kind] = 1 - c.special[kind];
  if (points_) {
    law.screening = c.screening;
    law.least_squared = law.cutoff_squared / (kNearest * kNearest);
    largest_force_ = 16 / law.cutoff_squared;
    largest_energy_ = 1 / cutoff_;
    return;
  }
  const auto make_tables = [&](double splitting, std::vector<Cubic<double>>& forces,
                               std::vector<Cubic<double>>& energies) {
    forces = table_of([&](double r) { return force_of(r, splitting, c.smearing); }, cutoff_);
    energies = table_of([&](double r) { return energy_of(r, splitting, c.smearing); }, cutoff_);
  };
  make_tables(splitting_, force, energy);
  for (const auto& [c] : force)
    if (!s.pairs.double_precision)
      single_force.push_back({{single(c[0]), single(c[1]), single(c[2]), single(c[3])}});
  if (std::any_of(left_out_, left_out_ + 4, [](double share) { return share != 0; }))
    make_tables(0, whole_force, whole_energy);
  for (const auto* tables : {&force, &whole_force})
    for (std::size_t k = 0; k + 1 < tables->size(); ++k) {
      const double r = (k + 1) * cutoff_ / kTableIntervals, f = std::fabs((*tables)[k].c[0]) * r;
      largest_force_ = std::max(largest_force_, f);
      const double u = (tables == &force ? energy : whole_energy)[k].c[0];
      largest_energy_ = std::max({largest_energy_, f * r, std::fabs(u)});
    }
  if (!c.has_waves()) return;
  slab_ = c.slab != 1;
  quarter_ = 0.25 / (splitting_ * splitting_);
  for (int a = 0; a < 3; ++a) period_[a] = period_of(s, a);
  lattice_ = lattice_of(s);
  per_volume_ = c.coupling / (period_[0] * period_[1] * period_[2]);
  if (c.has_mesh())
    make_mesh(s);
  else
    make_waves(s);
}

void ChargePlan::make_mesh(const Settings& s) {
  const ChargeSettings& c = s.charges;
  mesh.order = c.order;
  mesh.single = !s.pairs.double_precision;
  for (int a = 0; a < 3; ++a) {
    const int n = mesh.points[a] = c.mesh[a];
    const double periods = frame_[a] / period_[a];
    mesh.scale[a] = n * periods * 0x1p-32;
    // The box is the middle half of the frame where it is not periodic.
    mesh.shift[a] = 0.5 * c.order - (s.box.periodic[a] ? 0 : 0.25 * n * periods);
    mesh.plan[a] = wide_fft_plan(n, mesh.single);
    twiddle[a] = fft_twiddles(n);
  }
  mesh.per_volume = per_volume_;
  mesh.quarter = quarter_;
  mesh.lattice = lattice_;
  for (int a = 0; a < 3; ++a) line[a] = influence_lines(c.mesh[a], c.order);
}

void ChargePlan::make_waves(const Settings& s) {
  int most[3];
  waves.lattice = lattice_;
  waves.per_volume = per_volume_;
  waves.quarter = quarter_;
  for (int a = 0; a < 3; ++a) {
    most[a] = static_cast<int>(most_periods_of(s)[a]);
    waves.turn[a] = frame_[a] / period_[a];
  }
  const double largest = s.charges.largest_wave_number;
  // Under shear, whether the wave is short enough in a box between this one and that of the
  // opposite tilt.
  ReciprocalLattice other = lattice_;
  if (s.shear.rate != 0) sheared(other.to) = -sheared(other.to);
  const int g = s.shear.gradient;
  for (int z = 0; z <= most[2]; ++z)
    for (int y = z ? -most[1] : 0; y <= most[1]; ++y)
      for (int x = z || y ? -most[0] : 1; x <= most[0]; ++x) {
        const double n[3] = {1.0 * x, 1.0 * y, 1.0 * z};
        double k[3], l[3];
        lattice_.wave(n, k);
        other.wave(n, l);
        const double least = k[g] * l[g] <= 0 ? 0.0 : std::min(std::fabs(k[g]), std::fabs(l[g]));
        k[g] = least;
        if (k[0] * k[0] + k[1] * k[1] + k[2] * k[2] <= largest * largest)
          wave.push_back({{x, y, z}, {}});
      }
  waves.count = static_cast<int>(wave.size());
}

void ChargePlan::set_tilt(double tilt) {
  sheared(law.edges) = tilt * 0x1p-32;
  sheared(law.near_edges) = static_cast<float>(sheared(law.edges));
  if (splitting_ > 0)
    sheared(lattice_.to) =
        -(shear_.flow == 0 ? lattice_.to.xx : lattice_.to.yy) * tilt / period_[shear_.gradient];
  mesh.lattice = waves.lattice = lattice_;
}

// With factors other than 1.
std::vector<SpecialLink> ChargePlan::links_of(int count, const Topology& t) const {
  std::vector<SpecialLink> links;
  for (int i = 0; t.charge && t.first_special && i < count; ++i)
    for (int k = t.first_special[i]; t.charge[i] != 0 && k < t.first_special[i + 1]; ++k)
      if (const double share = left_out_[t.special_kind[k]]; share != 0)
        links.push_back({t.tag[i], t.special_partner[k], share});
  return links;
}

void ChargePlan::take(int count, const Topology& topology, Communicator* communicator) {
  charge.clear();
  for (int i = 0; topology.charge && i < count; ++i)
    if (topology.charge[i] != 0) charge.push_back({topology.tag[i], topology.charge[i]});
  std::vector<SpecialLink> links = links_of(count, topology);
  if (communicator) {
    charge = collect(*communicator, std::move(charge));
    links = collect(*communicator, std::move(links));
  }
  std::sort(charge.begin(), charge.end(),
            [](const TaggedCharge& a, const TaggedCharge& b) { return a.tag < b.tag; });
  double largest = 0, second = 0, sum = 0;
  squares_ = 0;
  for (const TaggedCharge& each : charge) {
    const double size = std::fabs(each.charge);
    second = std::max(second, std::min(size, largest));
    largest = std::max(largest, size);
    sum += each.charge;
    squares_ += each.charge * each.charge;
  }
  // What LAMMPS takes for rounding.
  if (splitting_ > 0 && std::fabs(sum) > 1e-5)
    refuse("the net charge is ", sum, ", and must be 0 for a sum over all periodic images");
  if (largest == 0) largest = 1;
  const double product = largest * (points_ && second > 0 ? second : largest);
  law.force_unit = unit_of(law.coupling * product * largest_force_, 44);
  law.energy_unit = unit_of(law.coupling * product * largest_energy_, points_ ? 44 : 34);
  law.force_scale = law.coupling / law.force_unit;
  law.energy_scale = law.coupling / law.energy_unit;
  mesh.charge_unit = waves.unit = unit_of(largest, 40);
  law.dipole_unit = unit_of(largest, 8);
  // F_z = -4 pi q M / V (Yeh and Berkowitz).
  if (slab_) law.slab_force = -4 * kPi * per_volume_ * law.dipole_unit * law.edges.zz;
  waves.force_scale = 1 / law.force_unit;
  // Cells of half the cutoff, but not many more than charges.
  const double most = std::cbrt(4.0 * static_cast<double>(charge.size()) + 64),
               mean = std::cbrt(frame_[0] * frame_[1] * frame_[2]);
  for (int a = 0; a < 3; ++a)
    law.cells[a] = std::clamp(
        static_cast<int>(std::min(2 * frame_widths_[a] / cutoff_, most * frame_[a] / mean)), 1,
        1000);
  take_links(links);
}

void ChargePlan::take_links(const std::vector<SpecialLink>& links) {
  first_special.clear();
  special.clear();
  if (links.empty()) return;
  std::vector<std::pair<int, SpecialCharge>> pairs;  // without neutral partners
  first_special.assign(charge.size() + 1, 0);
  for (const SpecialLink& link : links) {
    const int i = number_of(link.tag), j = number_of(link.partner);
    if (i < 0 || j < 0) continue;
    pairs.push_back({i, {static_cast<std::uint32_t>(j), link.left_out}});
    ++first_special[static_cast<std::size_t>(i) + 1];
  }
  std::partial_sum(first_special.begin(), first_special.end(), first_special.begin());
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::pair{a.first, a.second.number} < std::pair{b.first, b.second.number};
  });
  for (const auto& [i, j] : pairs) special.push_back(j);
}

EnergySum ChargePlan::of_pairs(const ChargeTotals& sums) const {
  // Each pair counts at both ends.
  const double unit = 0.5 * law.energy_unit;
  EnergySum all{unit * sums[0], {}};
  for (int a = 0; a < 6; ++a) all.virial[a] = unit * sums[1 + a];
  return all;
}

WaveSums ChargePlan::add_waves(const std::int64_t* sum) const {
  WaveSums all;
  for (int n = 0; n < waves.count; ++n) {
    double k[3];
    const double g = weight_of(waves, wave[n], k),
                 re = static_cast<double>(sum[2 * n]) * waves.unit,
                 im = static_cast<double>(sum[2 * n + 1]) * waves.unit;
    add_energy(g * (re * re + im * im), k, quarter_, all);
  }
  return all;
}

EnergySum ChargePlan::of_waves(const WaveSums& sums, std::int64_t dipole) const {
  if (splitting_ == 0) return {};
  EnergySum all;
  const double half = 0.5 * per_volume_, units = static_cast<double>(dipole);
  all.energy = half * sums.energy - law.coupling * splitting_ * squares_ / kRootOfPi -
               0.5 * law.slab_force * units * units * (law.dipole_unit * law.edges.zz);
  // As in LAMMPS, the correction of a slab has no virial.
  for (int a = 0; a < 6; ++a) all.virial[a] = half * sums.virial[a];
  return all;
}

}  // namespace manymove::dpd
