// SPDX-License-Identifier: BSD-3-Clause
// The framework: its atoms, its potential, and the grids.
#include <algorithm>
#include <cmath>

#include "../runtime/text.h"
#include "molecules/cell.h"
#include "state.h"

namespace manymove::adsorption {

constexpr double kScreened = 4.3;  // alpha times the cutoff for the framework: erfc is 1e-9

void collect_atoms(MoleculeState& s) {
  const Parameters& p = s.parameters;
  const Framework& f = p.framework;
  double h[6], inverse[6];
  cell_matrix(p, {1, 1, 1}, h);
  invert(h, inverse);
  int reach[3];
  double margin[3];
  for (int a = 0; a < 3; ++a) {
    margin[a] = p.cutoff / width(inverse, a);
    reach[a] = static_cast<int>(std::ceil(margin[a])) + 1;
  }
  for (std::size_t i = 0; i < f.kind.size(); ++i) {
    const double charge = s.felt_charges ? p.rigid->framework_charge[i] * std::sqrt(kCoulomb) : 0;
    bool felt = charge != 0;
    for (const SiteType& t : p.rigid->types) felt |= t.with_framework[f.kind[i]].epsilon > 0;
    if (!felt) continue;
    for (int nz = -reach[2]; nz <= reach[2]; ++nz)
      for (int ny = -reach[1]; ny <= reach[1]; ++ny)
        for (int nx = -reach[0]; nx <= reach[0]; ++nx) {
          const int n[3] = {nx, ny, nz};
          double u[3];
          bool near = true;
          for (int a = 0; a < 3; ++a) {
            const double x = f.fractional[3 * i + a];
            u[a] = x - std::floor(x) + n[a];
            near &= u[a] > -margin[a] && u[a] < 1 + margin[a];
          }
          if (near)
            s.atoms.push_back({h[0] * u[0] + h[1] * u[1] + h[2] * u[2], h[3] * u[1] + h[4] * u[2],
                               h[5] * u[2], charge, f.kind[i]});
        }
  }
}

// The framework's potential by waves: amplitudes of cos and sin of k r.
void make_potential(MoleculeState& s) {
  const Parameters& p = s.parameters;
  const Framework& f = p.framework;
  double h[6], inverse[6];
  cell_matrix(p, {1, 1, 1}, h);
  invert(h, inverse);
  const double alpha = s.framework_alpha = kScreened / p.cutoff;
  each_row(h, inverse, 2 * alpha * kScreened, [&](int x, int y, int z, const double*, double k2) {
    const double weight =
        8 * kPi / volume(h) / k2 * std::exp(-k2 / (4 * alpha * alpha)) * std::sqrt(kCoulomb);
    double c = 0, sn = 0;
    for (std::size_t i = 0; i < f.kind.size(); ++i) {
      const double* u = f.fractional.data() + 3 * i;
      const double phase = 2 * kPi * (x * u[0] + y * u[1] + z * u[2]);
      c += p.rigid->framework_charge[i] * std::cos(phase);
      sn += p.rigid->framework_charge[i] * std::sin(phase);
    }
    s.potential.push_back({double(x), double(y), double(z), weight * c, weight * sn});
  });
}

GridRow grid_row(const MoleculeState& s, int row, int layer) {
  const Parameters& p = s.parameters;
  double h[6];
  cell_matrix(p, {1, 1, 1}, h);
  const double v = static_cast<double>(row) / p.grid[1], w = static_cast<double>(layer) / p.grid[2];
  return {s.atoms.data(), s.atoms.size(),      s.atom_laws.data(), s.types(),
          p.grid[0],      h[1] * v + h[2] * w, h[0] / p.grid[0],   h[3] * v + h[4] * w,
          h[5] * w,       p.cutoff * p.cutoff, s.framework_alpha,  s.felt_charges};
}

namespace {

// Adds the waves at all points of the grid, one axis after the other.
void add_waves(const MoleculeState& s, std::vector<double>& potential) {
  const std::array<int, 3>& n = s.parameters.grid;
  int most[3] = {0, 0, 0};
  for (const auto& k : s.potential)
    for (int a = 0; a < 3; ++a) most[a] = std::max(most[a], static_cast<int>(std::abs(k[a])));
  const int nx = 2 * most[0] + 1, ny = 2 * most[1] + 1;
  const auto circle = [&](int a) {  // [wave from -most to most][point]: cos, sin
    std::vector<std::array<double, 2>> table;
    for (int k = -most[a]; k <= most[a]; ++k)
      for (int i = 0; i < n[a]; ++i) {
        const double phase = 2 * kPi * static_cast<double>(k) * i / n[a];
        table.push_back({std::cos(phase), std::sin(phase)});
      }
    return table;
  };
  const auto cx = circle(0), cy = circle(1), cz = circle(2);
  std::vector<std::array<double, 2>> plane(static_cast<std::size_t>(nx) * ny), line(nx);
  for (int z = 0; z < n[2]; ++z) {
    std::fill(plane.begin(), plane.end(), std::array<double, 2>{0, 0});
    for (const auto& k : s.potential) {
      // Re[(c - i s) e^(i k r)]
      const auto& e = cz[(static_cast<std::size_t>(k[2]) + most[2]) * n[2] + z];
      auto& to = plane[static_cast<std::size_t>(static_cast<int>(k[1]) + most[1]) * nx +
                       static_cast<int>(k[0]) + most[0]];
      to[0] += k[3] * e[0] + k[4] * e[1];
      to[1] += k[3] * e[1] - k[4] * e[0];
    }
    for (int y = 0; y < n[1]; ++y) {
      for (int i = 0; i < nx; ++i) line[i] = {0, 0};
      for (int j = 0; j < ny; ++j) {
        const auto& e = cy[static_cast<std::size_t>(j) * n[1] + y];
        const auto* from = plane.data() + static_cast<std::size_t>(j) * nx;
        for (int i = 0; i < nx; ++i) {
          line[i][0] += from[i][0] * e[0] - from[i][1] * e[1];
          line[i][1] += from[i][0] * e[1] + from[i][1] * e[0];
        }
      }
      double* out = potential.data() + (static_cast<std::size_t>(z) * n[1] + y) * n[0];
      for (int i = 0; i < nx; ++i) {
        const auto* e = cx.data() + static_cast<std::size_t>(i) * n[0];
        for (int x = 0; x < n[0]; ++x) out[x] += line[i][0] * e[x][0] - line[i][1] * e[x][1];
      }
    }
  }
}

}  // namespace

void finish_grid(MoleculeState& s, std::vector<double>&& lj, std::vector<double>&& potential) {
  const Parameters& p = s.parameters;
  const std::size_t values = s.grid_values();
  if (s.felt_charges) add_waves(s, potential);
  make_grid(s, static_cast<std::size_t>(s.types()), 0);
  int solid = 0;
  std::vector<double> total(values);
  for (int t = 0; t < s.types(); ++t) {
    const double* e = lj.data() + static_cast<std::size_t>(t) * values;
    const SiteType& type = p.rigid->types[t];
    const bool core = std::any_of(type.with_framework.begin(), type.with_framework.end(),
                                  [](const LennardJones& law) { return law.epsilon > 0; });
    OpenVoxels v;
    if (core) v = open_voxels(s, e, text_of("sites of type ", t));
    solid += core;
    s.info.blocked_share += static_cast<double>(v.blocked_count) / static_cast<double>(values);
    s.info.open_share += static_cast<double>(v.open_count) / static_cast<double>(values);
    const double charge = s.felt_charges ? type.charge * std::sqrt(kCoulomb) : 0;
    for (std::size_t i = 0; i < values; ++i)
      total[i] = e[i] + (charge != 0 ? charge * potential[i] : 0);
    set_grid(s, static_cast<std::size_t>(t), total.data(), v.pockets.get());
  }
  s.info.blocked_share /= std::max(1, solid);
  s.info.open_share = solid ? s.info.open_share / solid : 1;
  make_room(s);
}

double direct_site_energy(const MoleculeState& s, int type, const double* xyz) {
  const Parameters& p = s.parameters;
  double h[6], inverse[6];
  cell_matrix(p, {1, 1, 1}, h);
  invert(h, inverse);
  double u[3] = {inverse[0] * xyz[0] + inverse[1] * xyz[1] + inverse[2] * xyz[2],
                 inverse[3] * xyz[1] + inverse[4] * xyz[2], inverse[5] * xyz[2]};
  for (double& x : u) x -= std::floor(x);
  const double x = h[0] * u[0] + h[1] * u[1] + h[2] * u[2], y = h[3] * u[1] + h[4] * u[2],
               z = h[5] * u[2];
  const double charge = s.felt_charges ? p.rigid->types[type].charge * std::sqrt(kCoulomb) : 0;
  double sum = 0;
  for (const ChargedImage& i : s.atoms) {
    const double dx = x - i.x, dy = y - i.y, dz = z - i.z;
    const double r2 = dx * dx + dy * dy + dz * dz;
    const PairLaw<double>& law = s.atom_laws[static_cast<std::size_t>(i.kind) * s.types() + type];
    if (!(r2 < law.cutoff2)) continue;
    if (law.repulsion > 0) sum += lennard_jones(law, r2);
    if (charge != 0) sum += charge * i.charge * image_potential(s.framework_alpha, r2);
  }
  for (const auto& k : s.potential) {
    const double phase = 2 * kPi * (k[0] * u[0] + k[1] * u[1] + k[2] * u[2]);
    sum += charge * (k[3] * std::cos(phase) + k[4] * std::sin(phase));
  }
  return sum;
}

template <class F>
void framework_energies(const MoleculeState& s, const double* xyz, std::size_t count, int type,
                        bool direct, double* energies) {
  if (type < 0 || type >= s.types()) refuse("there is no type of sites ", type);
  const MoleculeArrays<F> w = make_arrays(s, host_grid<F>(s));
  const double* f = s.inverse;
  for (std::size_t i = 0; i < count; ++i, xyz += 3) {
    energies[i] = 0;
    if (!w.r.framework || !w.r.felt[type]) continue;
    if (direct) {
      energies[i] = direct_site_energy(s, type, xyz);
      continue;
    }
    double u[3] = {f[0] * xyz[0] + f[1] * xyz[1] + f[2] * xyz[2], f[3] * xyz[1] + f[4] * xyz[2],
                   f[5] * xyz[2]};
    for (double& x : u) x = (x - std::floor(x)) * 0x1p32;
    const Site site{nearest_word(u[0]), nearest_word(u[1]), nearest_word(u[2])};
    energies[i] = static_cast<double>(framework_energy(w.r.m, type, site));
  }
}
template void framework_energies<float>(const MoleculeState&, const double*, std::size_t, int, bool,
                                        double*);
template void framework_energies<double>(const MoleculeState&, const double*, std::size_t, int,
                                         bool, double*);

}  // namespace manymove::adsorption
