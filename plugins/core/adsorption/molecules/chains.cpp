// SPDX-License-Identifier: BSD-3-Clause
// Chains on the host: checks, the tables by which angles are drawn, and the ideal chain.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../../runtime/errors.h"
#include "../state.h"
#include "cell.h"

namespace manymove::adsorption {
namespace {

constexpr int kPointsOfCell = 16;  // at which the density is computed for its bound
constexpr int kShifts = 16, kPointsOfShift = 4096;  // of the lattice of ideal chains
constexpr double kMostError = 0.02;                 // of the weight of an ideal chain
// Curvature of the energy of an angle over the temperature. The width of the distribution is then
// at least two of the distances at which its density is computed.
constexpr double kStiffest = 1e6;

std::uint32_t cell_bits(const AngleTable& t) { return t.torsion ? 22 : 21; }

double density(const AngleTable& t, double beta, std::uint32_t phase) {
  double c, s;
  return angle_density(t, beta, phase, c, s);
}

// Upper bounds of the density in each cell, and the aliases by M. D. Vose's algorithm.
void fill_table(AngleTable& t, double beta) {
  const std::uint32_t bits = cell_bits(t);
  const auto phase = [&](int cell, int point) {
    // Cells divide half a turn for bends (21 bits each) and a whole one for torsions (22 bits).
    return (static_cast<std::uint32_t>(cell) << bits) +
           static_cast<std::uint32_t>(point) * ((1u << bits) / kPointsOfCell);
  };
  t.lowest = t.torsion ? 1e300 : 0;
  for (int i = 0; i < kAngleCells && t.torsion; ++i) {
    double c, s;
    unit_circle(phase(i, 0), c, s);
    // The density is exp(-beta (u - u_lowest)), so that its maximum is 1 whatever the scale of u.
    t.lowest = std::min(t.lowest, polynomial(c, t.law[0], t.law[1], t.law[2], t.law[3]));
  }
  double sum = 0;
  for (int i = 0; i < kAngleCells; ++i) {
    // The bound of a cell is the largest density at kPointsOfCell points plus the largest change
    // from one of them to the next.
    double high = 0, change = 0, before = density(t, beta, phase(i, 0));
    for (int k = 1; k <= kPointsOfCell; ++k) {
      // The last point of a cell is the one before the next cell's first, which may wrap to 0.
      const double p = density(t, beta, phase(i, k) - (k == kPointsOfCell));
      high = std::max({high, p, before});
      change = std::max(change, std::abs(p - before));
      before = p;
    }
    t.cell[i].bound = high + change;  // a maximum between two points
    sum += t.cell[i].bound;
  }
  // Vose: cell i is drawn with the probability `below`, and its alias otherwise, such that cell j
  // has the probability bound_j / sum of the bounds (IEEE Trans. Softw. Eng. 17, 972 (1991)).
  std::vector<double> share(kAngleCells);
  std::vector<int> small, large;
  for (int i = 0; i < kAngleCells; ++i) {
    // Of the probability of a cell, relative to the mean.
    share[i] = t.cell[i].bound * kAngleCells / sum;
    (share[i] < 1 ? small : large).push_back(i);
  }
  const auto set = [&](int i, double part, int alias) {
    t.cell[i].below = part < 1 ? static_cast<std::uint32_t>(part * 0x1p32) : 0xffffffffu;
    t.cell[i].alias = static_cast<std::uint32_t>(alias);
  };
  while (!small.empty() && !large.empty()) {
    const int i = small.back(), j = large.back();
    small.pop_back();
    set(i, share[i], j);
    // A small cell is filled up to the mean by a large one, its alias.
    share[j] -= 1 - share[i];
    // The remainder of a large cell may be small.
    if (share[j] < 1) {
      large.pop_back();
      small.push_back(j);
    }
  }
  for (const auto& rest : {small, large})
    for (const int i : rest) set(i, 1, i);
}

double energy_at(const AngleTable& t, std::uint32_t phase) {
  double c, s;
  unit_circle(phase, c, s);
  if (t.torsion) return polynomial(c, t.law[0], t.law[1], t.law[2], t.law[3]);
  // k / 2 (theta - theta_0)^2, where law[0] is k / 2 and law[1] is theta_0.
  const double beyond = phase * (2 * kPi * 0x1p-32) - t.law[1];
  return t.law[0] * beyond * beyond;
}

// The distribution of an angle, by cells that are finer than those of its table.
class Distribution {
 public:
  Distribution(const AngleTable& t, double beta) : bits_(cell_bits(t) - kFiner), sums_{0} {
    for (std::uint32_t i = 0; i < kAngleCells << kFiner; ++i) {
      const std::uint32_t middle = (i << bits_) + (1u << (bits_ - 1));
      // The midpoint rule: the mean energy is sum_i p_i u_i / sum_i p_i.
      const double p = density(t, beta, middle);
      sums_.push_back(sums_.back() + p);
      energy_ += p * energy_at(t, middle);
    }
    energy_ /= sums_.back();
  }
  double energy() const { return energy_; }  // the mean
  // The inverse of the distribution function.
  std::uint32_t phase(double share) const {
    const double wanted = share * sums_.back();
    const auto after = std::upper_bound(sums_.begin() + 1, sums_.end() - 1, wanted);
    // P(phase_i) <= share < P(phase_(i + 1)); between the two the distribution is linear.
    const auto i = static_cast<std::size_t>(after - sums_.begin()) - 1;
    const double part = (wanted - sums_[i]) / (sums_[i + 1] - sums_[i]);
    const auto width = static_cast<double>(1u << bits_);
    return (static_cast<std::uint32_t>(i) << bits_) +
           static_cast<std::uint32_t>(std::min(std::max(part, 0.0) * width, width - 1));
  }

 private:
  static constexpr std::uint32_t kFiner = 4;
  std::uint32_t bits_;
  std::vector<double> sums_;  // of the densities of the cells before
  double energy_ = 0;
};

// Means over bends and torsions; by randomly shifted lattices of points where beads of the chain
// meet each other.
void set_ideal(const State& s, int species, const std::vector<Distribution>& angles,
               IdealChain& ideal) {
  const Parameters& p = s.parameters;
  const auto& sites = p.force_field->bodies[species];
  const ChainBody& body = s.chains[species];
  const int n = static_cast<int>(sites.size());
  ChainModel m{};
  fill_chain_model(s, s.tables.data(), m);
  ideal = {};
  // Without beads that are four bonds apart the weight is 1, and bends and torsions are independent
  // of each other.
  if (n < 5) {
    for (int k = 0; k + 2 < n; ++k) ideal.energy += angles[body.bend[k]].energy();
    for (int k = 0; k + 3 < n; ++k) ideal.energy += angles[body.torsion[k]].energy();
    return;
  }
  std::vector<double> weights, energies;
  // Of a lattice by N. M. Korobov: the generator's powers.
  constexpr std::uint64_t kGenerator = 1487;
  for (int shift = 0; shift < kShifts; ++shift) {
    double sum = 0, product = 0;
    for (int k = 0; k < kPointsOfShift; ++k) {
      double shape[3 * kMostSites] = {};
      std::uint64_t power = 1;
      int used = 0;
      const auto next = [&] {
        std::uint32_t word[4];
        random_words(word, PhiloxKey{0, 0}, static_cast<std::uint64_t>(shift), 0u,
                     static_cast<std::uint32_t>(used++), Purpose::chain);
        // A point of Korobov's lattice, shifted by a random vector modulo 1.
        const double x =
            static_cast<double>(power * static_cast<std::uint64_t>(k) % kPointsOfShift) /
                kPointsOfShift +
            uniform(word[0]);
        power = power * kGenerator % kPointsOfShift;
        return x - std::floor(x);
      };
      // Bead 0 is at the origin and bead 1 on the z axis, which by symmetry is no restriction.
      shape[5] = body.bond[0];
      double energy = 0;
      for (int j = 2; j < n; ++j) {
        const BeadFrame f = frame_of(body, shape, j, 1, j);
        double ct, st, cp = 1, sp = 0;
        unit_circle(angles[f.bend].phase(next()), ct, st);
        if (f.torsion >= 0) unit_circle(angles[f.torsion].phase(next()), cp, sp);
        const Vector at = bead_at(f, ct, st, cp, sp);
        shape[3 * j] = at.x, shape[3 * j + 1] = at.y, shape[3 * j + 2] = at.z;
        for (int i = 0; i + 4 <= j; ++i) {
          const PairLaw<double>& law =
              s.of_double.laws[static_cast<std::size_t>(sites[i].type) * s.types() + sites[j].type];
          const Vector d = between_beads(shape, i, j);
          if (law.repulsion > 0) energy += lennard_jones(law, dot(d, d));
        }
      }
      // W = <exp(-beta u_LJ)> over bends and torsions, and <u> = <u exp(-beta u_LJ)> / W.
      // exp(-beta u) of the pairs that are at least four bonds apart.
      const double w = exponential(-energy / p.temperature);
      sum += w;
      product += w * (energy + bonded_energy(m, species, n, shape));
    }
    weights.push_back(sum / kPointsOfShift);
    energies.push_back(product / kPointsOfShift);
  }
  // The mean over the shifts, and the unbiased variance of one of them.
  double mean = 0, energy = 0, variance = 0;
  for (int k = 0; k < kShifts; ++k) mean += weights[k] / kShifts, energy += energies[k] / kShifts;
  for (const double w : weights) variance += (w - mean) * (w - mean) / (kShifts - 1);
  // Each shift is an independent estimate, whose spread gives the error of the mean.
  ideal = {mean, std::sqrt(variance / kShifts), energy / mean};
}

int table_of(State& s, bool torsion, const std::array<double, 4>& law) {
  for (std::size_t k = 0; k < s.tables.size(); ++k)
    if (s.tables[k].torsion == torsion && std::equal(law.begin(), law.end(), s.tables[k].law))
      return static_cast<int>(k);
  AngleTable t{};
  t.torsion = torsion;
  std::copy(law.begin(), law.end(), t.law);
  fill_table(t, 1 / s.parameters.temperature);
  s.tables.push_back(t);
  return static_cast<int>(s.tables.size()) - 1;
}

void check_chain(const Parameters& p, std::size_t b) {
  const ChainLaws& c = p.force_field->chains[b];
  const std::size_t n = p.force_field->bodies[b].size();
  const auto below = [&](std::size_t k) { return n > k ? n - k : 0; };
  if (c.bonds.size() != below(1) || c.bends.size() != below(2) || c.torsions.size() != below(3))
    refuse("a chain of ", n, " sites needs ", below(1), " bonds, ", below(2), " bends and ",
           below(3), " torsions");
  double length = 0;
  for (const double bond : c.bonds) {
    if (!(bond > 0) || !std::isfinite(bond))
      refuse("the length of a bond must be positive, got ", bond);
    length += bond;
  }
  if (length > p.cutoff)
    refuse("a chain is up to ", length, " angstrom long, more than the cutoff of ", p.cutoff,
           ": it would meet its own periodic image");
  for (const Bend& bend : c.bends)
    if (!(bend.stiffness >= 0) || !std::isfinite(bend.stiffness) || !(bend.angle > 0) ||
        !(bend.angle <= kPi))
      refuse(
          "a bend needs a stiffness of at least 0 and an angle above 0, at most 180 degrees, got ",
          bend.stiffness, " K / rad^2 and ", bend.angle / kPi * 180, " degrees");
  for (const auto& torsion : c.torsions)
    for (const double x : torsion)
      if (!std::isfinite(x)) refuse("a coefficient of a torsion is not finite");
  const double most = kStiffest * p.temperature;
  for (const Bend& bend : c.bends)
    if (bend.stiffness > most)
      refuse("adsorbate ", b + 1, ": a bend has a stiffness of ", bend.stiffness,
             " K / rad^2; more than ", most, " is too narrow for its tables");
  for (const auto& t : c.torsions) {
    // A bound of |d^2 u / d phi^2|: 1, 4 and 9 are the squares of the multiples of phi.
    const double height = std::abs(t[0]) + std::abs(t[1]) + 4 * std::abs(t[2]) + 9 * std::abs(t[3]);
    if (height > most)
      refuse("adsorbate ", b + 1, ": |c_0| + |c_1| + 4 |c_2| + 9 |c_3| of a torsion is ", height,
             " K; more than ", most, " is too narrow for its tables");
  }
}

}  // namespace

void make_chains(State& s) {
  const Parameters& p = s.parameters;
  const ForceField& r = *p.force_field;
  if (r.chains.empty()) {
    if (p.regrowth > 0)
      refuse(Parameter{"regrowth"}, "is for chains, and there is none: leave it out");
    return;
  }
  if (r.chains.size() != r.bodies.size()) refuse("chains cannot be mixed with rigid molecules");
  if (p.method != Method::metropolis && p.method != Method::plj)
    refuse("chains need the method metropolis or plj");
  for (const SiteType& t : r.types)
    if (t.charge != 0) refuse("a site of a chain has a charge; chains must not have charges");
  for (std::size_t b = 0; b < r.chains.size(); ++b) {
    check_chain(p, b);
    const ChainLaws& c = r.chains[b];
    ChainBody body{};
    body.middle = static_cast<int>(r.bodies[b].size()) / 2;
    std::copy(c.bonds.begin(), c.bonds.end(), body.bond);
    for (std::size_t k = 0; k < c.bends.size(); ++k)
      body.bend[k] = table_of(s, false, {0.5 * c.bends[k].stiffness, c.bends[k].angle, 0, 0});
    for (std::size_t k = 0; k < c.torsions.size(); ++k) {
      // c_0 + c_1 (1 + cos phi) + c_2 (1 - cos 2 phi) + c_3 (1 + cos 3 phi), with cos 2 phi = 2 x^2
      // - 1 and cos 3 phi = 4 x^3 - 3 x for x = cos phi.
      const auto& t = c.torsions[k];  // as a polynomial of the cosine
      body.torsion[k] =
          table_of(s, true, {t[0] + t[1] + 2 * t[2] + t[3], t[1] - 3 * t[3], -2 * t[2], 4 * t[3]});
    }
    s.chains.push_back(body);
  }
  std::vector<Distribution> angles;
  for (const AngleTable& t : s.tables) angles.emplace_back(t, 1 / p.temperature);
  s.ideal.resize(s.chains.size());
  for (std::size_t b = 0; b < s.chains.size(); ++b) {
    set_ideal(s, static_cast<int>(b), angles, s.ideal[b]);
    const IdealChain& ideal = s.ideal[b];
    if (!(ideal.weight > 0) || !(ideal.weight_error <= kMostError * ideal.weight))
      refuse("adsorbate ", b + 1, ": the mean weight of an ideal chain is ", ideal.weight, " +- ",
             ideal.weight_error,
             ", which is not exact enough: its beads repel or attract each other too much");
    s.chains[b].weight = s.ideal[b].weight;
    s.chains[b].energy = s.ideal[b].energy;
  }
}

void fill_chain_model(const State& s, const AngleTable* tables, ChainModel& m) {
  m = {};
  m.table = tables;
  m.beta = 1 / s.parameters.temperature;
  for (std::size_t b = 0; b < s.chains.size(); ++b) {
    m.of[b] = s.chains[b];
    m.sites = std::max(m.sites, static_cast<int>(s.parameters.force_field->bodies[b].size()));
  }
}

double chain_reach(const ChainBody& body, int sites) {
  double below = 0, above = 0;
  // A straight chain reaches farthest: the sum of the bonds on the longer side of the center.
  for (int i = 0; i + 1 < sites; ++i) (i < body.middle ? below : above) += body.bond[i];
  return std::max(below, above);
}

void check_shape(const State& s, std::size_t species, const double* shape) {
  for (std::size_t j = 0; j + 1 < s.parameters.force_field->bodies[species].size(); ++j) {
    const Vector d = between_beads(shape, static_cast<int>(j), static_cast<int>(j) + 1);
    if (!(std::abs(std::sqrt(dot(d, d)) - s.chains[species].bond[j]) < 1e-6))
      refuse("checkpoint: a bond of a chain has the wrong length");
  }
}

}  // namespace manymove::adsorption
