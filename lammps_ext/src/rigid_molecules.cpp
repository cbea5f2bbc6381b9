// SPDX-License-Identifier: GPL-2.0-or-later
#include "rigid_molecules.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/runtime/text.h"

using namespace LAMMPS_NS;
using manymove::text_of;

namespace {

using Vector = std::array<double, 3>;

long long whole(double number) { return static_cast<long long>(number); }

Vector rotated(const double* q, const Vector& d) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const Vector t{2 * (y * d[2] - z * d[1]), 2 * (z * d[0] - x * d[2]), 2 * (x * d[1] - y * d[0])};
  return {d[0] + w * t[0] + y * t[2] - z * t[1], d[1] + w * t[1] + z * t[0] - x * t[2],
          d[2] + w * t[2] + x * t[1] - y * t[0]};
}

// The unit quaternion that belongs to the largest eigenvalue of a symmetric matrix, by Jacobi
// rotations.
std::array<double, 4> largest_eigenvector(double (&m)[4][4]) {
  double v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  for (int sweep = 0; sweep < 50; ++sweep) {
    double off = 0, all = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) (i == j ? all : off) += m[i][j] * m[i][j];
    if (off <= 1e-32 * all) break;
    for (int p = 0; p < 3; ++p)
      for (int q = p + 1; q < 4; ++q) {
        if (m[p][q] == 0) continue;
        const double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 4; ++k) {
          const double a = m[k][p], b = m[k][q];
          m[k][p] = c * a - s * b, m[k][q] = s * a + c * b;
        }
        for (int k = 0; k < 4; ++k) {
          const double a = m[p][k], b = m[q][k];
          m[p][k] = c * a - s * b, m[q][k] = s * a + c * b;
        }
        for (int k = 0; k < 4; ++k) {
          const double a = v[k][p], b = v[k][q];
          v[k][p] = c * a - s * b, v[k][q] = s * a + c * b;
        }
      }
  }
  int best = 0;
  for (int k = 1; k < 4; ++k)
    if (m[k][k] > m[best][best]) best = k;
  std::array<double, 4> q{v[0][best], v[1][best], v[2][best], v[3][best]};
  const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (double& component : q) component /= norm;
  return q;
}

// The rotation that brings the shape closest to the places (B. K. P. Horn, J. Opt. Soc. Am. A 4,
// 629 (1987)); both have their mean at the origin. For a linear
// molecule there are several, which are equally good.
std::array<double, 4> best_rotation(const std::vector<Vector>& shape,
                                    const std::vector<Vector>& places) {
  double s[3][3] = {};
  for (std::size_t i = 0; i < shape.size(); ++i)
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) s[a][b] += shape[i][a] * places[i][b];
  double m[4][4] = {
      {s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]},
      {s[1][2] - s[2][1], s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]},
      {s[2][0] - s[0][2], s[0][1] + s[1][0], s[1][1] - s[0][0] - s[2][2], s[1][2] + s[2][1]},
      {s[0][1] - s[1][0], s[2][0] + s[0][2], s[1][2] + s[2][1], s[2][2] - s[0][0] - s[1][1]}};
  return largest_eigenvector(m);
}

}  // namespace

RigidMolecules::RigidMolecules(const std::vector<MonteCarloAtom>& atoms, const double (&box)[3]) {
  std::copy_n(box, 3, box_);
  of_molecule_.resize(atoms.size());
  std::iota(of_molecule_.begin(), of_molecule_.end(), std::size_t{0});
  std::stable_sort(of_molecule_.begin(), of_molecule_.end(), [&](std::size_t i, std::size_t j) {
    return atoms[i].molecule < atoms[j].molecule;
  });
  const double lowest = atoms[of_molecule_[0]].molecule;
  for (const MonteCarloAtom& a : atoms) {
    if (a.molecule <= 0)
      throw std::invalid_argument(text_of("atom ", whole(a.tag), " of the group has no molecule"));
    tags_.push_back(a.tag);
    if (a.molecule == lowest) {
      types_.push_back(static_cast<int>(a.type));
      charges_.push_back(a.charge);
    }
  }
  const std::size_t n = types_.size();
  for (std::size_t k = 0; k < of_molecule_.size(); k += n)
    for (std::size_t i = 0; i < n; ++i) {
      const bool ended = k + i >= of_molecule_.size();
      const MonteCarloAtom& head = atoms[of_molecule_[k]];
      const MonteCarloAtom& a = atoms[of_molecule_[ended ? k : k + i]];
      if (ended || a.molecule != head.molecule ||
          (i == 0 && k > 0 && a.molecule == atoms[of_molecule_[k - 1]].molecule))
        throw std::invalid_argument(text_of(
            "molecule ", whole(i == 0 ? a.molecule : head.molecule), " does not have the ", n,
            " atoms of molecule ", whole(lowest), "; all molecules of the group must be alike"));
      if (static_cast<int>(a.type) != types_[i] || a.charge != charges_[i])
        throw std::invalid_argument(
            text_of("atom ", whole(a.tag), " of molecule ", whole(a.molecule), " has type ",
                    whole(a.type), " and charge ", a.charge, ", but its counterpart in molecule ",
                    whole(lowest), " has type ", types_[i], " and charge ", charges_[i]));
    }
  shape_.assign(n, {});
  centers_.assign(of_molecule_.size() / n * 3, 0);
  turns_.assign(of_molecule_.size() / n * 4, 0);
  Vector mean{};
  const MonteCarloAtom& first = atoms[of_molecule_[0]];
  for (std::size_t i = 0; i < n; ++i)
    for (int a = 0; a < 3; ++a) {
      double d = atoms[of_molecule_[i]].x[a] - first.x[a];
      d -= box_[a] * std::nearbyint(d / box_[a]);
      shape_[i][a] = d;
      mean[a] += d / static_cast<double>(n);
    }
  for (Vector& site : shape_)
    for (int a = 0; a < 3; ++a) site[a] -= mean[a];
}

void RigidMolecules::fit(const std::vector<MonteCarloAtom>& atoms, double tolerance) {
  if (atoms.size() != tags_.size())
    throw std::invalid_argument(text_of("the number of atoms in the group has changed from ",
                                        tags_.size(), " to ", atoms.size()));
  const std::size_t n = sites();
  std::vector<Vector> places(n);
  for (std::size_t k = 0; k < of_molecule_.size(); k += n) {
    const MonteCarloAtom& first = atoms[of_molecule_[k]];
    Vector mean{};
    for (std::size_t i = 0; i < n; ++i) {
      const MonteCarloAtom& atom = atoms[of_molecule_[k + i]];
      if (atom.tag != tags_[of_molecule_[k + i]] || atom.molecule != first.molecule ||
          static_cast<int>(atom.type) != types_[i] || atom.charge != charges_[i])
        throw std::invalid_argument(text_of("atom ", whole(atom.tag),
                                            " of the group has changed its molecule, type or "
                                            "charge, or is another one"));
      for (int a = 0; a < 3; ++a) {
        if (!std::isfinite(atom.x[a]))
          throw std::invalid_argument(
              text_of("the position of atom ", whole(atom.tag), " is not finite"));
        double d = atom.x[a] - first.x[a];
        d -= box_[a] * std::nearbyint(d / box_[a]);
        places[i][a] = d;
        mean[a] += d / static_cast<double>(n);
      }
    }
    for (Vector& place : places)
      for (int a = 0; a < 3; ++a) place[a] -= mean[a];
    const std::array<double, 4> q = best_rotation(shape_, places);
    for (std::size_t i = 0; i < n; ++i) {
      const Vector at = rotated(q.data(), shape_[i]);
      double squared = 0;
      for (int a = 0; a < 3; ++a) squared += (at[a] - places[i][a]) * (at[a] - places[i][a]);
      if (!(squared <= tolerance * tolerance))
        throw std::invalid_argument(
            text_of("molecule ", whole(first.molecule), " is not rigid: atom ",
                    whole(atoms[of_molecule_[k + i]].tag), " is ", std::sqrt(squared),
                    " away from its place in the shape of the first molecule"));
    }
    for (int a = 0; a < 3; ++a) centers_[k / n * 3 + a] = first.x[a] + mean[a];
    std::copy(q.begin(), q.end(), turns_.begin() + static_cast<std::ptrdiff_t>(k / n * 4));
  }
}

void RigidMolecules::move(std::vector<MonteCarloAtom>& atoms, const std::vector<double>& centers,
                          const double* turns, const double (&origin)[3]) const {
  const std::size_t n = sites();
  for (std::size_t k = 0; k < of_molecule_.size(); k += n) {
    const double* old = turns_.data() + k / n * 4;
    const double* turn = turns + k / n * 4;
    const double back[4] = {old[0], -old[1], -old[2], -old[3]};
    Vector shift{}, velocity{};
    double mass = 0;
    for (int a = 0; a < 3; ++a) {
      shift[a] = origin[a] + centers[k / n * 3 + a] - centers_[k / n * 3 + a];
      shift[a] -= box_[a] * std::nearbyint(shift[a] / box_[a]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const MonteCarloAtom& atom = atoms[of_molecule_[k + i]];
      mass += atom.mass;
      for (int a = 0; a < 3; ++a) velocity[a] += atom.mass * atom.v[a];
    }
    for (double& component : velocity) component /= mass;
    for (std::size_t i = 0; i < n; ++i) {
      MonteCarloAtom& atom = atoms[of_molecule_[k + i]];
      const Vector from = rotated(old, shape_[i]), to = rotated(turn, shape_[i]);
      const Vector relative{atom.v[0] - velocity[0], atom.v[1] - velocity[1],
                            atom.v[2] - velocity[2]};
      const Vector turned = rotated(turn, rotated(back, relative));
      for (int a = 0; a < 3; ++a) {
        const double x = atom.x[a] + shift[a] + to[a] - from[a];
        const double crossed = std::floor((x - origin[a]) / box_[a]);
        atom.x[a] = x - crossed * box_[a];
        atom.image[a] += static_cast<int>(crossed);
        atom.v[a] = velocity[a] + turned[a];
      }
      atom.moved = 1;
    }
  }
}
