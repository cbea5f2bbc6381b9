// SPDX-License-Identifier: BSD-3-Clause
// Electrostatics of DPD: charges smeared out with an exponential decay, of which the density of a
// unit charge is exp(-2 r / lambda) / (pi lambda^3), as LAMMPS' styles coul/slater/long and
// coul/slater/cut have them (M. Gonzalez-Melchor et al., J. Chem. Phys. 125, 224107 (2006)); or
// points, whose energy is exp(-kappa r) / r up to the cutoff, where it is not shifted, as in
// coul/cut and coul/debye.
#pragma once

namespace manymove::dpd {

struct ChargeSettings {
  double cutoff = 0;     // of the real-space part; 0: there are no charges
  double smearing = 0;   // lambda, a length; 0: points
  double screening = 0;  // kappa of points, an inverse length
  double coupling = 1;   // energy times length over charge squared (LAMMPS' qqrd2e)
  // Factors of the forces of pairs, by kind of special neighbors (Topology::special_kind).
  double special[4] = {1, 1, 1, 1};
  double splitting = 0;  // alpha of Ewald's sum, an inverse length; 0: the sum of pairs alone
  // Largest wave number of a sum over waves one by one; 0: the sum is on the mesh.
  double largest_wave_number = 0;
  int mesh[3] = {};  // points along each edge, products of 2, 3 and 5
  int order = 5;     // points along each edge that a charge is spread over, 2 to 7
  // Along z, where the box is not periodic, the period of the waves is this many edges, and the
  // dipole moment is corrected for (I.-C. Yeh, M. L. Berkowitz, J. Chem. Phys. 111, 3155 (1999)).
  double slab = 1;

  bool any() const { return cutoff > 0; }
  bool are_points() const { return smearing == 0; }
  bool has_waves() const { return splitting > 0; }
  bool has_mesh() const { return has_waves() && largest_wave_number == 0; }
};

struct Settings;
// Throws std::invalid_argument that names what is wrong.
void check_charges(const Settings& settings);

}  // namespace manymove::dpd
