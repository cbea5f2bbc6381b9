// SPDX-License-Identifier: BSD-3-Clause
// The trial moves of the paper and of its Appendix B, with one proposal at a time on one core in
// double precision. The program shares nothing with the engine. It is an independent reference for
// the engine's averages, and has variants that the engine lacks because they are wrong or
// expensive.
//
// A system has molecules of one kind, single sites or chains of up to four united atoms, in a rigid
// framework whose energies come from a grid by linear interpolation (section 3.2). A proposal moves
// the center of a molecule; a chain gets a new conformation from the ideal gas and a new
// orientation, so that its weight is exp(-beta E) without the energy of bends and torsions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace {

constexpr int most_beads = 4;
using Vector = std::array<double, 3>;

enum Scheme : std::int32_t { metropolis, walks, naive, gaussian, corrected, biased };

struct Setup {
  std::int32_t scheme, proposals, molecules, beads;
  std::int32_t type[most_beads];  // of each bead, 0 or 1
  std::int32_t nodes[3], images[3];
  double cell[3];  // angstrom
  double temperature, cutoff, displacement;
  double pair[2][2][2];  // (epsilon in kelvin, sigma in angstrom) of two bead types
  double bond, bend[2], torsion[4];
  std::uint64_t seed, stream, equilibrate, steps;
};

struct Molecule {
  std::array<Vector, most_beads> bead;
  Vector center;
  double internal = 0;  // energy of bends and torsions
};

double shifted(double epsilon, double sigma, double r2, double cutoff) {
  const auto value = [&](double square) {
    const double s = sigma * sigma / square, s6 = s * s * s;
    return 4 * epsilon * (s6 * s6 - s6);
  };
  return value(r2) - value(cutoff * cutoff);
}

Vector operator-(const Vector& a, const Vector& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Vector operator+(const Vector& a, const Vector& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
Vector operator*(double f, const Vector& a) { return {f * a[0], f * a[1], f * a[2]}; }
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vector unit(const Vector& a) { return (1 / std::sqrt(dot(a, a))) * a; }

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq words{seed, seed >> 32, stream, stream >> 32};
    engine_.seed(words);
  }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  int below(int n) { return std::min(n - 1, static_cast<int>(uniform() * n)); }
  double normal() { return normal_(engine_); }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

class System {
 public:
  System(const Setup& setup, const double* grid, const double* sites)
      : setup_(setup), grid_(grid), random_(setup.seed, setup.stream) {
    for (int k = 0; k < 3; ++k) box_[k] = setup.cell[k] * setup.images[k];
    molecules_.resize(static_cast<std::size_t>(setup.molecules));
    for (Molecule& m : molecules_) {
      for (int b = 0; b < setup.beads; ++b, sites += 3) {
        m.bead[b] = {sites[0], sites[1], sites[2]};
        if (b > 0) m.bead[b] = m.bead[b - 1] + nearest(m.bead[b] - m.bead[b - 1]);  // made whole
      }
      settle(m);
    }
    energy_ = 0;
    for (std::size_t k = 0; k < molecules_.size(); ++k) {
      energy_ += field(molecules_[k]) + molecules_[k].internal;
      for (std::size_t j = 0; j < k; ++j) energy_ += pair(molecules_[k], molecules_[j]);
    }
  }

  // A step: the states of a set, their energies and their probabilities; the old one is the first.
  void step(double* recycled, double* plain) {
    moved_ = random_.below(setup_.molecules);
    const Molecule old = molecules_[static_cast<std::size_t>(moved_)];
    states_.assign(1, old);
    external_.assign(1, external(old));
    probability_.assign(1, 1.0);
    switch (setup_.scheme) {
      case metropolis:
        propose_one();
        break;
      case biased:
        propose_biased();
        break;
      default:
        propose_many();
        break;
    }
    double drawn = random_.uniform();
    std::size_t chosen = 0;
    while (chosen + 1 < states_.size() && drawn >= probability_[chosen])
      drawn -= probability_[chosen++];
    if (probability_[chosen] <= 0) chosen = 0;
    const double before = energy_;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const double jump = external_[i] - external_[0] + states_[i].internal - old.internal;
      if (probability_[i] <= 0) continue;
      const double e = before + jump;
      recycled[0] += probability_[i] * e;
      recycled[1] += probability_[i] * (e - origin_) * (e - origin_);
      recycled[2] += probability_[i] * 0.5 * jump * jump;
      if (i == chosen) energy_ = e;
    }
    molecules_[static_cast<std::size_t>(moved_)] = states_[chosen];
    plain[0] += energy_;
    plain[1] += (energy_ - origin_) * (energy_ - origin_);
    plain[2] += 0.5 * (energy_ - before) * (energy_ - before);
    accepted_ += chosen != 0;
  }

  double energy() const { return energy_; }
  void measure_from(double origin) {
    origin_ = origin;
    accepted_ = evaluations_ = 0;
  }
  std::uint64_t accepted() const { return accepted_; }
  std::uint64_t evaluations() const { return evaluations_; }

 private:
  Vector nearest(Vector d) const {
    for (int k = 0; k < 3; ++k) d[k] -= box_[k] * std::rint(d[k] / box_[k]);
    return d;
  }

  // Center of a molecule, and the energy of its bends and torsions.
  void settle(Molecule& m) const {
    m.center = {0, 0, 0};
    for (int b = 0; b < setup_.beads; ++b) m.center = m.center + (1.0 / setup_.beads) * m.bead[b];
    m.internal = 0;
    for (int b = 2; b < setup_.beads; ++b) {
      const Vector u = unit(m.bead[b - 2] - m.bead[b - 1]), v = unit(m.bead[b] - m.bead[b - 1]);
      const double off = std::acos(std::clamp(dot(u, v), -1.0, 1.0)) - setup_.bend[1];
      m.internal += 0.5 * setup_.bend[0] * off * off;
    }
    for (int b = 3; b < setup_.beads; ++b) {
      const Vector axis = m.bead[b - 1] - m.bead[b - 2];
      const Vector a = cross(m.bead[b - 2] - m.bead[b - 3], axis);
      const Vector c = cross(axis, m.bead[b] - m.bead[b - 1]);
      m.internal += torsion(std::acos(std::clamp(dot(unit(a), unit(c)), -1.0, 1.0)));
    }
  }

  double torsion(double phi) const {
    const double* c = setup_.torsion;
    return c[0] + c[1] * (1 + std::cos(phi)) + c[2] * (1 - std::cos(2 * phi)) +
           c[3] * (1 + std::cos(3 * phi));
  }

  // A conformation of the ideal gas with its center there.
  Molecule placed(const Vector& center) {
    Molecule m;
    m.bead[0] = center;
    if (setup_.beads > 1) {
      const double z = 2 * random_.uniform() - 1, turn = 2 * std::numbers::pi * random_.uniform();
      const double r = std::sqrt(1 - z * z);
      m.bead[1] = m.bead[0] + setup_.bond * Vector{r * std::cos(turn), r * std::sin(turn), z};
    }
    double phi = 2 * std::numbers::pi * random_.uniform();  // the first angle is any
    for (int b = 2; b < setup_.beads; ++b) {
      double theta;
      do {
        theta = setup_.bend[1] + std::sqrt(setup_.temperature / setup_.bend[0]) * random_.normal();
      } while (theta <= 0 || theta >= std::numbers::pi || random_.uniform() >= std::sin(theta));
      if (b > 2) {
        do {
          phi = 2 * std::numbers::pi * random_.uniform();
        } while (random_.uniform() >= std::exp(-torsion(phi) / setup_.temperature));
      }
      const Vector back = unit(m.bead[b - 2] - m.bead[b - 1]);
      const Vector help = b > 2 ? m.bead[b - 3] - m.bead[b - 2]
                                : (std::fabs(back[0]) < 0.9 ? Vector{1, 0, 0} : Vector{0, 1, 0});
      const Vector normal = unit(cross(help, back)), side = cross(back, normal);
      // At phi = 0, the cis state, the new bead is on the side of the first one.
      m.bead[b] = m.bead[b - 1] +
                  setup_.bond * (std::cos(theta) * back +
                                 std::sin(theta) * (std::cos(phi) * side + std::sin(phi) * normal));
    }
    Vector middle{0, 0, 0};
    for (int b = 0; b < setup_.beads; ++b) middle = middle + (1.0 / setup_.beads) * m.bead[b];
    for (int b = 0; b < setup_.beads; ++b) m.bead[b] = m.bead[b] + (center - middle);
    settle(m);
    return m;
  }

  double field(const Molecule& m) const {
    double sum = 0;
    const std::int32_t* n = setup_.nodes;
    for (int b = 0; b < setup_.beads; ++b) {
      int low[3], high[3];
      double f[3];
      for (int k = 0; k < 3; ++k) {
        double x = m.bead[b][k] / setup_.cell[k];
        x = (x - std::floor(x)) * n[k];
        low[k] = std::min(static_cast<int>(x), n[k] - 1);
        f[k] = x - low[k];
        high[k] = (low[k] + 1) % n[k];
      }
      const double* g = grid_ + static_cast<std::size_t>(setup_.type[b]) *
                                    static_cast<std::size_t>(n[0]) *
                                    static_cast<std::size_t>(n[1]) * static_cast<std::size_t>(n[2]);
      const auto at = [&](int i, int j, int k) {
        return g[(static_cast<std::size_t>(i) * static_cast<std::size_t>(n[1]) +
                  static_cast<std::size_t>(j)) *
                     static_cast<std::size_t>(n[2]) +
                 static_cast<std::size_t>(k)];
      };
      const auto along = [&](int i, int j) {
        return (1 - f[2]) * at(i, j, low[2]) + f[2] * at(i, j, high[2]);
      };
      sum += (1 - f[0]) * ((1 - f[1]) * along(low[0], low[1]) + f[1] * along(low[0], high[1])) +
             f[0] * ((1 - f[1]) * along(high[0], low[1]) + f[1] * along(high[0], high[1]));
    }
    return sum;
  }

  double pair(const Molecule& a, const Molecule& b) const {
    double sum = 0;
    const double limit = setup_.cutoff * setup_.cutoff;
    for (int i = 0; i < setup_.beads; ++i)
      for (int j = 0; j < setup_.beads; ++j) {
        const Vector d = nearest(a.bead[i] - b.bead[j]);
        const double r2 = dot(d, d);
        const double* law = setup_.pair[setup_.type[i]][setup_.type[j]];
        if (r2 < limit) sum += shifted(law[0], law[1], r2, setup_.cutoff);
      }
    return sum;
  }

  // Energy with the framework and the other molecules.
  double external(const Molecule& m) {
    ++evaluations_;
    double sum = field(m);
    for (int j = 0; j < setup_.molecules; ++j)
      if (j != moved_) sum += pair(m, molecules_[static_cast<std::size_t>(j)]);
    return sum;
  }

  double weight(double energy) const {
    return std::exp(-(energy - external_[0]) / setup_.temperature);
  }

  Vector step_from(const Vector& place) {
    Vector moved = place;
    for (double& x : moved) x += setup_.displacement * (2 * random_.uniform() - 1);
    return moved;
  }
  Vector normal_from(const Vector& place) {
    Vector moved = place;
    for (double& x : moved) x += setup_.displacement * random_.normal();
    return moved;
  }

  void propose_one() {
    states_.push_back(placed(step_from(states_[0].center)));
    external_.push_back(external(states_[1]));
    const double accept = std::min(1.0, weight(external_[1]));
    probability_ = {1 - accept, accept};
  }

  // One molecule out of the set with probability proportional to its weight (section 4.3).
  void propose_many() {
    const int others = setup_.proposals - 1;
    const Vector start = states_[0].center;
    const int second = random_.below(setup_.proposals);  // length l of the second walk, 4.4
    Vector place = start;
    for (int i = 0; i < others; ++i) {
      switch (setup_.scheme) {
        case walks:
          if (i == others - second) place = start;
          place = step_from(place);
          break;
        case naive:
          place = step_from(start);
          break;
        default:
          place = normal_from(start);
          break;
      }
      states_.push_back(placed(place));
      external_.push_back(external(states_.back()));
    }
    logs_.clear();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      double log_weight = -(external_[i] - external_[0]) / setup_.temperature;
      if (setup_.scheme == corrected) {
        // Density with which state i generates all others.
        double squares = 0;
        for (const Molecule& other : states_) {
          const Vector d = other.center - states_[i].center;
          squares += dot(d, d);
        }
        log_weight -= squares / (2 * setup_.displacement * setup_.displacement);
      }
      logs_.push_back(log_weight);
    }
    const double largest = *std::max_element(logs_.begin(), logs_.end());
    double sum = 0;
    probability_.clear();
    for (const double log_weight : logs_) {
      probability_.push_back(std::exp(log_weight - largest));
      sum += probability_.back();
    }
    for (double& p : probability_) p /= sum;
  }

  // Configurational bias with the weight of every trial's own old set, Eqs. 9 to 11.
  void propose_biased() {
    const int trials = setup_.proposals;
    const Vector start = states_[0].center;
    std::vector<double> w;
    double total = 0;
    for (int i = 0; i < trials; ++i) {
      states_.push_back(placed(step_from(start)));
      external_.push_back(external(states_.back()));
      w.push_back(weight(external_.back()));
      total += w.back();
    }
    double left = 1;
    for (int i = 0; i < trials; ++i) {
      double back = 1;  // the weight of the old state, relative to itself
      const Vector from = states_[static_cast<std::size_t>(i) + 1].center;
      for (int j = 1; j < trials; ++j) back += weight(external(placed(step_from(from))));
      const double accept = std::min(1.0, total / back);
      const double p = total > 0 ? w[static_cast<std::size_t>(i)] / total * accept : 0.0;
      probability_.push_back(p);
      left -= p;
    }
    probability_[0] = std::max(0.0, left);
  }

  const Setup& setup_;
  const double* grid_;
  Random random_;
  Vector box_;
  std::vector<Molecule> molecules_, states_;
  std::vector<double> external_, probability_, logs_;
  double energy_ = 0, origin_ = 0;
  int moved_ = 0;
  std::uint64_t accepted_ = 0, evaluations_ = 0;
};

}  // namespace

extern "C" {

// Runs a system.
//   grid: energies of a bead of each type at the nodes of the unit cell, (types, n_x, n_y, n_z), K.
//   sites: positions of the beads at the start, (molecules, beads, 3), angstrom.
//   result: waste-recycled means of E, (E - origin)^2 and (Delta E)^2 / 2, the same of the states
//     after each step, the accepted share of steps, energies calculated in a step, and the origin.
const char* serial_proposals(const Setup* setup, const double* grid, const double* sites,
                             double* result) {
  if (setup->beads < 1 || setup->beads > most_beads) return "a molecule has one to four beads";
  if (setup->scheme < metropolis || setup->scheme > biased) return "no such scheme";
  System system(*setup, grid, sites);
  double ignored[3] = {}, more[3] = {};
  for (std::uint64_t k = 0; k < setup->equilibrate; ++k) system.step(ignored, more);
  const double origin = system.energy();
  system.measure_from(origin);
  std::fill(result, result + 9, 0.0);
  for (std::uint64_t k = 0; k < setup->steps; ++k) system.step(result, result + 3);
  const auto steps = static_cast<double>(setup->steps);
  for (int k = 0; k < 6; ++k) result[k] /= steps;
  result[6] = static_cast<double>(system.accepted()) / steps;
  result[7] = static_cast<double>(system.evaluations()) / steps;
  result[8] = origin;
  return nullptr;
}

// Fills one plane x = i of the grid of a bead type.
//   atoms: positions (count, 3) of all atoms and images within the cutoff of the unit cell.
//   laws: (epsilon in kelvin, sigma in angstrom) of the bead type with each atom, (count, 2).
void serial_grid_plane(const Setup* setup, int i, int count, const double* atoms,
                       const double* laws, double* plane) {
  constexpr double highest = 1e7;  // kelvin, inside of atoms
  const double limit = setup->cutoff * setup->cutoff;
  const double x = i * setup->cell[0] / setup->nodes[0];
  std::vector<int> near;
  for (int a = 0; a < count; ++a)
    if (std::fabs(atoms[3 * a] - x) < setup->cutoff) near.push_back(a);
  for (int j = 0; j < setup->nodes[1]; ++j) {
    const double y = j * setup->cell[1] / setup->nodes[1];
    for (int k = 0; k < setup->nodes[2]; ++k, ++plane) {
      const double z = k * setup->cell[2] / setup->nodes[2];
      double sum = 0;
      for (const int a : near) {
        const double dx = atoms[3 * a] - x, dy = atoms[3 * a + 1] - y, dz = atoms[3 * a + 2] - z;
        const double r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < limit && laws[2 * a] > 0)
          sum += shifted(laws[2 * a], laws[2 * a + 1], std::max(r2, 0.01), setup->cutoff);
      }
      *plane = std::min(sum, highest);
    }
  }
}

// Mean energy of a single site at the temperature on the interpolated grid (bead type 0), by
// Gauss's rule with four places along each edge of a cell, in which the energy has no kinks.
double serial_exact_energy(const Setup* setup, const double* grid) {
  constexpr double place[4] = {0.069431844202973712, 0.330009478207571868, 0.669990521792428132,
                               0.930568155797026288};
  constexpr double share[4] = {0.173927422568726929, 0.326072577431273071, 0.326072577431273071,
                               0.173927422568726929};
  double weights = 0, sum = 0;
  const std::int32_t* n = setup->nodes;
  const auto at = [&](int i, int j, int k) {
    return grid[(static_cast<std::size_t>(i % n[0]) * static_cast<std::size_t>(n[1]) +
                 static_cast<std::size_t>(j % n[1])) *
                    static_cast<std::size_t>(n[2]) +
                static_cast<std::size_t>(k % n[2])];
  };
  for (int i = 0; i < n[0]; ++i)
    for (int j = 0; j < n[1]; ++j)
      for (int k = 0; k < n[2]; ++k) {
        double corner[2][2][2], lowest = INFINITY;
        for (int c = 0; c < 8; ++c) {
          const double u = at(i + (c >> 2), j + (c >> 1 & 1), k + (c & 1));
          corner[c >> 2][c >> 1 & 1][c & 1] = u;
          lowest = std::min(lowest, u);
        }
        if (lowest > 20 * setup->temperature) continue;
        for (int a = 0; a < 4; ++a)
          for (int b = 0; b < 4; ++b)
            for (int c = 0; c < 4; ++c) {
              const double f[3] = {place[a], place[b], place[c]};
              double u = 0;
              for (int d = 0; d < 8; ++d)
                u += (d >> 2 ? f[0] : 1 - f[0]) * (d >> 1 & 1 ? f[1] : 1 - f[1]) *
                     (d & 1 ? f[2] : 1 - f[2]) * corner[d >> 2][d >> 1 & 1][d & 1];
              const double w =
                  share[a] * share[b] * share[c] * std::exp(-(u + 3000) / setup->temperature);
              weights += w;
              sum += w * u;
            }
      }
  return sum / weights;
}

}  // extern "C"
