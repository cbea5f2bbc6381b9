// SPDX-License-Identifier: BSD-3-Clause
// The rigid molecules among atoms of a host program: which atoms each of them has, the shape that
// all molecules of a kind share, the poses that fit the present positions, and the positions that
// follow from poses.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "../../runtime/api.h"

namespace manymove::adsorption {

// An atom of a host program, on its way between the ranks.
struct HostAtom {
  double tag, type, molecule, charge, mass, x[3], v[3];
  int rank, moved;
  std::array<int, 3> image;
};

// A periodic box: its edges are the columns of the matrix {xx, xy, xz, yy, yz, zz}.
struct MANYMOVE_API HostBox {
  double h[6];

  void to_fractions(const double* x, double* f) const {
    f[2] = x[2] / h[5];
    f[1] = (x[1] - h[4] * f[2]) / h[3];
    f[0] = (x[0] - h[1] * f[1] - h[2] * f[2]) / h[0];
  }
  void from_fractions(const double* f, double* x) const {
    x[0] = h[0] * f[0] + h[1] * f[1] + h[2] * f[2];
    x[1] = h[3] * f[1] + h[4] * f[2];
    x[2] = h[5] * f[2];
  }
  // Takes whole edges off a difference, so that its fractions are at most one half.
  void shorten(double* d) const;
  double width(int axis) const;  // between opposite faces
};

class MANYMOVE_API RigidMolecules {
 public:
  // atoms: those of the group, in the order of their tags. The molecules are of at most `most`
  // kinds; the shape of each kind is that of its molecule with the lowest ID. Molecules are
  // numbered kind by kind, and by their IDs within a kind. Throws std::invalid_argument for atoms
  // without a molecule, and for molecules of another number of kinds.
  RigidMolecules(const std::vector<HostAtom>& atoms, const HostBox& box, int most);

  // Finds the pose of each molecule. Throws std::invalid_argument, naming molecule and atom, if the
  // atoms are others than before or farther than `tolerance` from the places of the shape.
  void fit(const std::vector<HostAtom>& atoms, double tolerance);

  // Moves the atoms to new poses: centers from the corner of the box, and unit quaternions. Images
  // keep molecules whole, and velocities relative to the center of mass turn with the molecule.
  void move(std::vector<HostAtom>& atoms, const std::vector<double>& centers, const double* turns,
            const double (&origin)[3]) const;

  struct Kind {
    std::vector<int> type;                     // [sites], of the atoms
    std::vector<double> charge;                // [sites]
    std::vector<std::array<double, 3>> shape;  // [sites], from the mean of the sites
    int molecules;
  };
  const std::vector<Kind>& kinds() const { return kinds_; }
  // Index in `atoms` of a molecule's first atom.
  std::size_t first_atom(int molecule) const { return molecules_[molecule].atom[0]; }
  // Poses that fit() has found, in the coordinates of the atoms: [molecules][3], [molecules][4].
  const std::vector<double>& centers() const { return centers_; }
  const std::vector<double>& turns() const { return turns_; }

 private:
  struct Molecule {
    std::vector<std::size_t> atom;  // indices in `atoms`
    std::size_t kind;
  };

  std::size_t kind_of(const std::vector<HostAtom>& atoms, const std::vector<std::size_t>& molecule,
                      int most, std::vector<double>& lowest);

  HostBox box_;
  std::vector<Kind> kinds_;
  std::vector<Molecule> molecules_;
  std::vector<double> tags_;  // [atoms]
  std::vector<double> centers_, turns_;
};

}  // namespace manymove::adsorption
