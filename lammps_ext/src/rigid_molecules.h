// SPDX-License-Identifier: GPL-2.0-or-later
// The rigid molecules of the atoms of a group: which atoms each has, the shape that all share, the
// poses that the present positions are, and the way back. No calls of LAMMPS or MPI.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace LAMMPS_NS {

// An atom on its way between the ranks.
struct MonteCarloAtom {
  double tag, type, molecule, charge, mass, x[3], v[3];
  int rank, moved;
  int image[3];
};

class RigidMolecules {
 public:
  // atoms: those of the group, in the order of their tags. box: edges of the periodic box. The
  // molecule with the lowest ID is the shape that all have. Throws std::invalid_argument for atoms
  // without a molecule, and for molecules with other atoms.
  RigidMolecules(const std::vector<MonteCarloAtom>& atoms, const double (&box)[3]);

  // Finds the pose of each molecule. Throws std::invalid_argument, naming molecule and atom, if the
  // atoms are others than before or farther than `tolerance` from the places of the shape.
  void fit(const std::vector<MonteCarloAtom>& atoms, double tolerance);

  // Moves the atoms to new poses: centers between 0 and the box, and unit quaternions. Images keep
  // molecules whole, and velocities relative to the center of mass turn with the molecule.
  void move(std::vector<MonteCarloAtom>& atoms, const std::vector<double>& centers,
            const double* turns, const double (&origin)[3]) const;

  int molecules() const { return static_cast<int>(of_molecule_.size() / sites()); }
  std::size_t sites() const { return shape_.size(); }
  // Type and charge of a site's atom.
  int type(std::size_t site) const { return types_[site]; }
  double charge(std::size_t site) const { return charges_[site]; }
  const std::array<double, 3>& offset(std::size_t site) const { return shape_[site]; }
  // Index in `atoms` of a molecule's first atom.
  std::size_t first_atom(int molecule) const { return of_molecule_[molecule * sites()]; }
  // Poses that fit() has found, in the coordinates of the atoms: [molecules][3], [molecules][4].
  const std::vector<double>& centers() const { return centers_; }
  const std::vector<double>& turns() const { return turns_; }

 private:
  double box_[3];
  std::vector<std::size_t> of_molecule_;  // [molecules][sites], indices in `atoms`
  std::vector<double> tags_;              // [atoms]
  std::vector<int> types_;                // [sites]
  std::vector<double> charges_;
  std::vector<std::array<double, 3>> shape_;  // from the mean of the sites
  std::vector<double> centers_, turns_;
};

}  // namespace LAMMPS_NS
