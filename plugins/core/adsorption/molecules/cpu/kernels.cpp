// SPDX-License-Identifier: BSD-3-Clause
// Rigid molecules on a core. Compiled once per SIMD level; nothing here may instantiate what other
// sources also instantiate.
#include "loop_molecules.h"
//
#include "../../cpu/run_systems.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

// Sums over the atoms at all points of a row, as far as these are within the cutoff of an atom.
void fill_row(const FrameworkAtoms& g, const GridRow& r, double* energies, double* potential) {
  const int n = r.points;
  for (int i = 0; i < g.types * n; ++i) energies[i] = 0;
  for (int i = 0; g.charged && i < n; ++i) potential[i] = 0;
  for (std::size_t i = 0; i < g.count; ++i) {
    const ChargedImage a = g.images[i];
    const double dy = r.y - a.y, dz = r.z - a.z, across = dz * dz + dy * dy;
    if (!(across < g.cutoff2)) continue;
    // The points of the row within the cutoff are a chord, half as long as sqrt(R_c^2 - d_y^2 -
    // d_z^2).
    const double half = square_root(g.cutoff2 - across), middle = a.x - r.start;
    const auto bound = [&](double x) {  // a point not after x
      const double p = x / r.spacing;
      return p < 0 ? 0 : p > n ? n : static_cast<int>(p);
    };
    // With the point after the chord, since the distances decide about points on its ends.
    const int first = bound(middle - half), last = bound(middle + half) + 2;
    const int end = last < n ? last : n;
    for (int t = 0; t < g.types; ++t) {
      const PairLaw<double> law = g.laws[static_cast<std::size_t>(a.kind) * g.types + t];
      if (law.repulsion == 0) continue;
      double* out = energies + t * n;
      for (int p = first; p < end; ++p)
        out[p] += image_energy(law, a.x, a.y, a.z, r.start + p * r.spacing, r.y, r.z);
    }
    if (a.charge == 0) continue;
    for (int p = first; p < end; ++p) {
      const double dx = r.start + p * r.spacing - a.x, r2 = dx * dx + across;
      potential[p] += r2 < g.cutoff2 ? a.charge * image_potential(g.alpha, r2) : 0;
    }
  }
}

}  // namespace

void use(Kernels<MoleculeArrays<float>>& kernels) {
  kernels = kernels_of(&run_system<MoleculeArrays<float>>);
}
void use(Kernels<MoleculeArrays<double>>& kernels) {
  kernels = kernels_of(&run_system<MoleculeArrays<double>>);
}
void use(GridKernels& kernels) { kernels = {&fill_row}; }

}  // namespace manymove::adsorption::MANYMOVE_SIMD
