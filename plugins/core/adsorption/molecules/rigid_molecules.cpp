// SPDX-License-Identifier: BSD-3-Clause
#include "rigid_molecules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../../runtime/text.h"
#include "cell.h"

namespace manymove::adsorption {

namespace {

using Vector3 = std::array<double, 3>;

constexpr char kAlike[] =
    "; all molecules of the group must be alike, or their kinds counted (keyword species)";

long long whole(double number) { return static_cast<long long>(number); }

Vector3 rotated(const double* q, const Vector3& d) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  // q d q* = d + w t + v x t with t = 2 v x d and q = (w, v).
  const Vector3 t{2 * (y * d[2] - z * d[1]), 2 * (z * d[0] - x * d[2]), 2 * (x * d[1] - y * d[0])};
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
    // Off-diagonal elements below the rounding of the diagonal ones.
    if (off <= 1e-32 * all) break;
    for (int p = 0; p < 3; ++p)
      for (int q = p + 1; q < 4; ++q) {
        if (m[p][q] == 0) continue;
        // The rotation by the smaller angle that makes m_pq zero: t = tan of it, from t^2 + 2 theta
        // t - 1 = 0.
        const double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto turn = [&](double& of_p, double& of_q) {
          const double a = of_p, b = of_q;
          of_p = c * a - s * b, of_q = s * a + c * b;
        };
        // M' = J^T M J has zeros at (p, q) and (q, p); V' = V J collects the rotations, so that its
        // columns become the eigenvectors.
        for (int k = 0; k < 4; ++k) turn(m[k][p], m[k][q]);
        for (int k = 0; k < 4; ++k) turn(m[p][k], m[q][k]);
        for (int k = 0; k < 4; ++k) turn(v[k][p], v[k][q]);
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
std::array<double, 4> best_rotation(const std::vector<Vector3>& shape,
                                    const std::vector<Vector3>& places) {
  double s[3][3] = {};
  for (std::size_t i = 0; i < shape.size(); ++i)
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) s[a][b] += shape[i][a] * places[i][b];
  // Horn's matrix N: the unit quaternion of the largest q^T N q makes sum_i places_i . (R shape_i)
  // largest.
  double m[4][4] = {
      {s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]},
      {s[1][2] - s[2][1], s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]},
      {s[2][0] - s[0][2], s[0][1] + s[1][0], s[1][1] - s[0][0] - s[2][2], s[1][2] + s[2][1]},
      {s[0][1] - s[1][0], s[2][0] + s[0][2], s[1][2] + s[2][1], s[2][2] - s[0][0] - s[1][1]}};
  return largest_eigenvector(m);
}

// The places of a molecule's atoms from their mean, which is `mean` from the first atom. By the
// nearest images of the first atom, so that a molecule across a face of the box is whole.
std::vector<Vector3> from_mean(const HostBox& box, const std::vector<HostAtom>& atoms,
                               const std::vector<std::size_t>& molecule, Vector3& mean) {
  std::vector<Vector3> places;
  mean = {};
  for (const std::size_t i : molecule) {
    Vector3 d;
    for (int a = 0; a < 3; ++a) d[a] = atoms[i].x[a] - atoms[molecule[0]].x[a];
    box.shorten(d.data());
    for (int a = 0; a < 3; ++a) mean[a] += d[a] / static_cast<double>(molecule.size());
    places.push_back(d);
  }
  for (Vector3& place : places)
    for (int a = 0; a < 3; ++a) place[a] -= mean[a];
  return places;
}

}  // namespace

void HostBox::shorten(double* d) const {
  double f[3], whole[3];
  to_fractions(d, f);
  for (double& component : f) component = std::nearbyint(component);
  from_fractions(f, whole);
  for (int a = 0; a < 3; ++a) d[a] -= whole[a];
}

double HostBox::width(int axis) const {
  double inverse[6];
  invert(h, inverse);
  return adsorption::width(inverse, axis);
}

// The kind of a molecule, which is a new one if its atoms are unlike those of all others. lowest:
// IDs of the molecules that have the kinds' shapes.
std::size_t RigidMolecules::kind_of(const std::vector<HostAtom>& atoms,
                                    const std::vector<std::size_t>& molecule, int most,
                                    std::vector<double>& lowest) {
  std::vector<int> types;
  std::vector<double> charges;
  for (const std::size_t i : molecule) {
    types.push_back(static_cast<int>(atoms[i].type));
    charges.push_back(atoms[i].charge);
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    if (kinds_[k].type == types && kinds_[k].charge == charges) return k;
  const double id = atoms[molecule[0]].molecule;
  if (kinds_.size() == static_cast<std::size_t>(most)) {
    const Kind& first = kinds_[0];
    if (most > 1)
      refuse("molecule ", whole(id), " is unlike the molecules of the ", most,
             " kinds that keyword species allows");
    if (types.size() != first.type.size())
      refuse("molecule ", whole(id), " does not have the ", first.type.size(),
             " atoms of molecule ", whole(lowest[0]), kAlike);
    std::size_t i = 0;
    while (types[i] == first.type[i] && charges[i] == first.charge[i]) ++i;
    refuse("atom ", whole(atoms[molecule[i]].tag), " of molecule ", whole(id), " has type ",
           types[i], " and charge ", charges[i], ", but its counterpart in molecule ",
           whole(lowest[0]), " has type ", first.type[i], " and charge ", first.charge[i], kAlike);
  }
  Vector3 mean;
  kinds_.push_back({types, charges, from_mean(box_, atoms, molecule, mean), 0});
  lowest.push_back(id);
  return kinds_.size() - 1;
}

RigidMolecules::RigidMolecules(const std::vector<HostAtom>& atoms, const HostBox& box, int most)
    : box_(box) {
  std::vector<std::size_t> order(atoms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // By molecule; the atoms of one stay in the group's order, by which kinds are compared.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return atoms[i].molecule < atoms[j].molecule;
  });
  for (const HostAtom& a : atoms) {
    if (a.molecule <= 0) refuse("atom ", whole(a.tag), " of the group has no molecule");
    tags_.push_back(a.tag);
  }
  std::vector<double> lowest;
  for (std::size_t k = 0; k < order.size();) {
    Molecule molecule{{}, 0};
    const double id = atoms[order[k]].molecule;
    for (; k < order.size() && atoms[order[k]].molecule == id; ++k)
      molecule.atom.push_back(order[k]);
    molecule.kind = kind_of(atoms, molecule.atom, most, lowest);
    ++kinds_[molecule.kind].molecules;
    molecules_.push_back(std::move(molecule));
  }
  if (kinds_.size() < static_cast<std::size_t>(most))
    refuse("species is ", most, ", but the molecules of the group are of ", kinds_.size(),
           kinds_.size() == 1 ? " kind" : " kinds");
  // Kind by kind, by ID within a kind: the order of rows of centers_ and turns_.
  std::stable_sort(molecules_.begin(), molecules_.end(),
                   [](const Molecule& a, const Molecule& b) { return a.kind < b.kind; });
  centers_.assign(molecules_.size() * 3, 0);
  turns_.assign(molecules_.size() * 4, 0);
}

void RigidMolecules::fit(const std::vector<HostAtom>& atoms, double tolerance) {
  if (atoms.size() != tags_.size())
    refuse("the number of atoms in the group has changed from ", tags_.size(), " to ",
           atoms.size());
  for (std::size_t k = 0; k < molecules_.size(); ++k) {
    const Molecule& molecule = molecules_[k];
    const Kind& kind = kinds_[molecule.kind];
    const HostAtom& first = atoms[molecule.atom[0]];
    for (std::size_t i = 0; i < molecule.atom.size(); ++i) {
      const HostAtom& atom = atoms[molecule.atom[i]];
      if (atom.tag != tags_[molecule.atom[i]] || atom.molecule != first.molecule ||
          static_cast<int>(atom.type) != kind.type[i] || atom.charge != kind.charge[i])
        refuse("atom ", whole(atom.tag),
               " of the group has changed its molecule, type or charge, or is another one");
      for (const double x : atom.x)
        if (!std::isfinite(x)) refuse("the position of atom ", whole(atom.tag), " is not finite");
    }
    Vector3 mean;
    const std::vector<Vector3> places = from_mean(box_, atoms, molecule.atom, mean);
    const std::array<double, 4> q = best_rotation(kind.shape, places);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Vector3 at = rotated(q.data(), kind.shape[i]);
      // |R d_i - (r_i - mean)|, the deviation of an atom from the rigid shape.
      double squared = 0;
      for (int a = 0; a < 3; ++a) squared += (at[a] - places[i][a]) * (at[a] - places[i][a]);
      if (!(squared <= tolerance * tolerance))
        refuse("molecule ", whole(first.molecule), " is not rigid: atom ",
               whole(atoms[molecule.atom[i]].tag), " is ", std::sqrt(squared),
               " away from its place in the shape of the first molecule",
               kinds_.size() > 1 ? " of its kind" : "");
    }
    for (int a = 0; a < 3; ++a) centers_[k * 3 + a] = first.x[a] + mean[a];
    std::copy(q.begin(), q.end(), turns_.begin() + static_cast<std::ptrdiff_t>(k * 4));
  }
}

void RigidMolecules::move(std::vector<HostAtom>& atoms, const std::vector<double>& centers,
                          const double* turns, const double (&origin)[3]) const {
  for (std::size_t k = 0; k < molecules_.size(); ++k) {
    const Molecule& molecule = molecules_[k];
    const Kind& kind = kinds_[molecule.kind];
    const double* old = turns_.data() + k * 4;
    const double* turn = turns + k * 4;
    // The conjugate of a unit quaternion is its inverse.
    const double back[4] = {old[0], -old[1], -old[2], -old[3]};
    Vector3 shift{}, velocity{};
    double mass = 0;
    for (int a = 0; a < 3; ++a) shift[a] = origin[a] + centers[k * 3 + a] - centers_[k * 3 + a];
    // The nearest way, so that images change by what the molecule has crossed.
    box_.shorten(shift.data());
    for (const std::size_t i : molecule.atom) {
      mass += atoms[i].mass;
      for (int a = 0; a < 3; ++a) velocity[a] += atoms[i].mass * atoms[i].v[a];
    }
    // The velocity of the center of mass does not change; those relative to it turn with the
    // molecule.
    for (double& component : velocity) component /= mass;
    for (std::size_t i = 0; i < molecule.atom.size(); ++i) {
      HostAtom& atom = atoms[molecule.atom[i]];
      // R d_i and R' d_i, from the center.
      const Vector3 from = rotated(old, kind.shape[i]), to = rotated(turn, kind.shape[i]);
      const Vector3 relative{atom.v[0] - velocity[0], atom.v[1] - velocity[1],
                             atom.v[2] - velocity[2]};
      // R_new R_old^-1 of the velocity relative to the center of mass.
      const Vector3 turned = rotated(turn, rotated(back, relative));
      double x[3], inside[3], crossed[3], edges[3];
      for (int a = 0; a < 3; ++a) {
        // r' = r + (c' - c) + R' d - R d.
        x[a] = atom.x[a] + shift[a] + to[a] - from[a];
        inside[a] = x[a] - origin[a];
      }
      // Atoms that leave the box enter it on the other side, and their images say so.
      box_.to_fractions(inside, crossed);
      for (double& component : crossed) component = std::floor(component);
      box_.from_fractions(crossed, edges);
      for (int a = 0; a < 3; ++a) {
        atom.x[a] = x[a] - edges[a];
        atom.image[a] += static_cast<int>(crossed[a]);
        atom.v[a] = velocity[a] + turned[a];
      }
      atom.moved = 1;
    }
  }
}

}  // namespace manymove::adsorption
