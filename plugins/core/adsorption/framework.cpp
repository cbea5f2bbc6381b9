// SPDX-License-Identifier: BSD-3-Clause
// The framework: its atoms, its potential, and the grids.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "../runtime/text.h"
#include "molecules/cell.h"
#include "state.h"

namespace manymove::adsorption {

constexpr double kScreened = 4.3;  // alpha times the cutoff for the framework: erfc is 1e-9

// Images of atoms that are at most the cutoff away from the unit cell along the normals of its
// faces, of which the rest adds nothing.
void collect_atoms(State& s) {
  const Parameters& p = s.parameters;
  const Framework& f = p.framework;
  double h[6], inverse[6], margin[3];
  cell_matrix(p, {1, 1, 1}, h);
  invert(h, inverse);
  int reach[3];
  for (int a = 0; a < 3; ++a) {
    // In fractions of the edge: R_c over the distance of the two faces, 1 / |row a of H^-1|.
    margin[a] = p.cutoff / width(inverse, a);
    reach[a] = static_cast<int>(std::ceil(margin[a])) + 1;
    if (!s.molecules()) margin[a] += 1e-9;  // the bounds of their rows round otherwise
  }
  for (std::size_t i = 0; i < f.kind.size(); ++i) {
    // q sqrt(e^2 / 4 pi epsilon_0 k_B): the energy of a pair is q_i q_j / r in kelvin.
    const double charge =
        s.felt_charges ? p.force_field->framework_charge[i] * std::sqrt(kCoulomb) : 0;
    // Atoms that act on no type of site are left out of all sums.
    bool felt = charge != 0;
    for (int t = 0; t < s.types(); ++t) felt |= s.with_framework(t)[f.kind[i]].epsilon > 0;
    if (!felt) continue;
    for (int nz = -reach[2]; nz <= reach[2]; ++nz)
      for (int ny = -reach[1]; ny <= reach[1]; ++ny)
        for (int nx = -reach[0]; nx <= reach[0]; ++nx) {
          const int n[3] = {nx, ny, nz};
          double u[3], in_cell[3];
          bool near = true;
          for (int a = 0; a < 3; ++a) {
            const double x = f.fractional[3 * i + a];
            in_cell[a] = x - std::floor(x);
            // Kept if within the cutoff of the unit cell: -R_c / w_a < u_a < 1 + R_c / w_a.
            u[a] = in_cell[a] + n[a];
            near &= u[a] > -margin[a] && u[a] < 1 + margin[a];
          }
          if (!near) continue;
          // The order of the roundings is a part of the grid of either kind of adsorbates.
          if (s.molecules())
            // r = H u with the upper triangular matrix of the cell's edges.
            s.atoms.push_back({h[0] * u[0] + h[1] * u[1] + h[2] * u[2], h[3] * u[1] + h[4] * u[2],
                               h[5] * u[2], charge, f.kind[i]});
          else
            s.atoms.push_back({in_cell[0] * h[0] + n[0] * h[0], in_cell[1] * h[3] + n[1] * h[3],
                               in_cell[2] * h[5] + n[2] * h[5], 0, f.kind[i]});
        }
  }
}

// The framework's potential by waves: amplitudes of cos and sin of k r.
void make_potential(State& s) {
  const Parameters& p = s.parameters;
  const Framework& f = p.framework;
  double h[6], inverse[6];
  cell_matrix(p, {1, 1, 1}, h);
  invert(h, inverse);
  const double alpha = s.framework_alpha = kScreened / p.cutoff;
  // The last wave has exp(-k^2 / 4 alpha^2) = exp(-kScreened^2) = 1e-8.
  each_row(h, inverse, 2 * alpha * kScreened, [&](int x, int y, int z, const double*, double k2) {
    // 4 pi / V exp(-k^2 / 4 alpha^2) / k^2, twice for -k, which is not among the waves.
    const double weight =
        8 * kPi / volume(h) / k2 * std::exp(-k2 / (4 * alpha * alpha)) * std::sqrt(kCoulomb);
    // The structure factor of the framework, S(k) = sum_j q_j exp(i k r_j), with k r_j = 2 pi n u_j
    // for integers n and fractions u_j.
    double c = 0, sn = 0;
    for (std::size_t i = 0; i < f.kind.size(); ++i) {
      const double* u = f.fractional.data() + 3 * i;
      const double phase = 2 * kPi * (x * u[0] + y * u[1] + z * u[2]);
      c += p.force_field->framework_charge[i] * std::cos(phase);
      sn += p.force_field->framework_charge[i] * std::sin(phase);
    }
    s.potential.push_back({double(x), double(y), double(z), weight * c, weight * sn});
  });
}

FrameworkAtoms framework_atoms(const State& s) {
  double cutoff2 = s.parameters.cutoff * s.parameters.cutoff;
  if (!s.molecules()) cutoff2 *= 1 + 1e-12;  // the laws have the cutoff itself
  return {s.atoms.data(), s.atoms.size(),    s.atom_laws.data(), s.types(),
          cutoff2,        s.framework_alpha, s.felt_charges};
}

GridRow grid_row(const State& s, int row, int layer) {
  const Parameters& p = s.parameters;
  double h[6];
  cell_matrix(p, {1, 1, 1}, h);
  // A row of the grid runs along x; `row` counts along y, `layer` along z.
  const double spacing = h[0] / p.grid[0];
  GridRow g{p.grid[0], 0, spacing, row * (h[3] / p.grid[1]), layer * (h[5] / p.grid[2])};
  if (!s.molecules()) return g;
  // r = H (u, v, w) at u = 0: in a skewed cell each row starts elsewhere along x.
  const double v = static_cast<double>(row) / p.grid[1], w = static_cast<double>(layer) / p.grid[2];
  g.start = h[1] * v + h[2] * w, g.y = h[3] * v + h[4] * w, g.z = h[5] * w;
  return g;
}

namespace {

// Adds the waves at all points of the grid, one axis after the other.
void add_waves(const State& s, std::vector<double>& potential, const Poll& poll) {
  const std::array<int, 3>& n = s.parameters.grid;
  int most[3] = {0, 0, 0};
  for (const auto& k : s.potential)
    for (int a = 0; a < 3; ++a) most[a] = std::max(most[a], static_cast<int>(std::abs(k[a])));
  // exp(i k r) = exp(2 pi i n_x u) exp(2 pi i n_y v) exp(2 pi i n_z w) at grid points: the sum over
  // the waves costs one axis at a time, of which `plane` has the sums over z and `line` those over
  // y.
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
    poll();
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
      // line(n_x) = sum over n_y of plane(n_x, n_y) exp(2 pi i n_y v), a complex product.
      for (int i = 0; i < nx; ++i) line[i] = {0, 0};
      for (int j = 0; j < ny; ++j) {
        const auto& e = cy[static_cast<std::size_t>(j) * n[1] + y];
        const auto* from = plane.data() + static_cast<std::size_t>(j) * nx;
        for (int i = 0; i < nx; ++i) {
          line[i][0] += from[i][0] * e[0] - from[i][1] * e[1];
          line[i][1] += from[i][0] * e[1] + from[i][1] * e[0];
        }
      }
      // phi(u) += Re sum over n_x of line(n_x) exp(2 pi i n_x u).
      double* out = potential.data() + (static_cast<std::size_t>(z) * n[1] + y) * n[0];
      for (int i = 0; i < nx; ++i) {
        const auto* e = cx.data() + static_cast<std::size_t>(i) * n[0];
        for (int x = 0; x < n[0]; ++x) out[x] += line[i][0] * e[x][0] - line[i][1] * e[x][1];
      }
    }
  }
}

// Which voxels of a grid are open: within reach below the barrier, or below the hill without one.
struct OpenVoxels {
  std::unique_ptr<Pockets> pockets;
  std::vector<bool> open;
  std::size_t blocked_count = 0, open_count = 0;
};
OpenVoxels open_voxels(const State& s, std::span<const double> energies, int type) {
  const Parameters& p = s.parameters;
  OpenVoxels v;
  v.open.resize(energies.size());
  if (p.barrier > 0) v.pockets = std::make_unique<Pockets>(energies, p.grid, p.barrier);
  for (std::size_t i = 0; i < v.open.size(); ++i) {
    v.open[i] = v.pockets ? v.pockets->open(i) : energies[i] < p.hill;
    v.blocked_count += v.pockets && v.pockets->blocked(i);
    v.open_count += v.open[i];
  }
  if (v.pockets && v.open_count == 0)
    throw NoChannelError(text_of("no channel for ", s.molecules() ? "sites of type " : "species ",
                                 type, " leads through the framework below ", p.barrier,
                                 " K: raise the barrier or block nothing"));
  return v;
}

void set_grid(const State& s, int type, std::span<const double> energies, const Pockets* pockets,
              Grids& g) {
  const Parameters& p = s.parameters;
  const std::size_t first = static_cast<std::size_t>(type) * s.grid_values(3);
  g.info.lowest = std::min(g.info.lowest, std::ranges::min(energies));
  const auto store = [&](auto& values) {
    store_grid(p.grid, p.cubic, energies, pockets, values.data() + first);
  };
  p.double_precision ? store(g.of_double) : store(g.of_float);
}

}  // namespace

void finish_grid(State& s, std::vector<double>&& lj, std::vector<double>&& potential,
                 const Poll& poll) {
  const Parameters& p = s.parameters;
  const auto g = std::make_shared<Grids>();
  const std::size_t values = s.grid_values(),
                    all = s.grid_values(3) * static_cast<std::size_t>(s.types());
  if (s.felt_charges) add_waves(s, potential, poll);
  p.double_precision ? g->of_double.resize(all) : g->of_float.resize(all);
  g->info = {p.grid,
             all * (p.double_precision ? 8 : 4),
             s.molecules() ? 0 : std::numeric_limits<double>::max(),
             0,
             0,
             {}};
  int solid = 0;
  for (int t = 0; t < s.types(); ++t) {
    const std::span e(lj.data() + static_cast<std::size_t>(t) * values, values);
    const auto& laws = s.with_framework(t);
    const bool core = !s.molecules() || std::any_of(laws.begin(), laws.end(), [](const auto& law) {
      return law.epsilon > 0;
    });
    OpenVoxels v;
    poll();
    if (core) v = open_voxels(s, e, t);
    solid += core;
    g->info.blocked_share += static_cast<double>(v.blocked_count) / static_cast<double>(values);
    g->info.open_share += static_cast<double>(v.open_count) / static_cast<double>(values);
    if (v.pockets) std::ranges::copy(v.pockets->blocked(t), std::back_inserter(g->info.pockets));
    // The grid of a type is its energy, u_LJ + q phi; the pockets are those of u_LJ alone.
    if (const double charge = s.felt_charges ? s.charge(t) * std::sqrt(kCoulomb) : 0; charge != 0)
      for (std::size_t i = 0; i < values; ++i) e[i] += charge * potential[i];
    set_grid(s, t, e, v.pockets.get(), *g);
    if (!s.molecules()) g->open.push_back(std::move(v.open));
  }
  g->info.blocked_share /= std::max(1, solid);
  g->info.open_share = solid ? g->info.open_share / solid : 1;
  enter_grid(s, g);
}

Site to_site(const State& s, const double* xyz) {
  const double* const f = s.inverse;
  double u[3] = {f[0] * xyz[0] + f[1] * xyz[1] + f[2] * xyz[2], f[3] * xyz[1] + f[4] * xyz[2],
                 f[5] * xyz[2]};
  for (int a = 0; a < 3 && !s.molecules(); ++a) u[a] = xyz[a] / s.edge(a);
  std::uint32_t part[3];
  for (int a = 0; a < 3; ++a)
    // The fraction u - floor(u) in units of 2^-32; 1 wraps around to 0.
    part[a] = static_cast<std::uint32_t>(
        static_cast<std::uint64_t>(std::llround((u[a] - std::floor(u[a])) * 0x1p32)));
  return {part[0], part[1], part[2]};
}

namespace {

// The framework's energy at a site's place, summed over the atoms and the waves.
double direct_site_energy(const State& s, int type, const double* xyz) {
  const Parameters& p = s.parameters;
  double h[6], inverse[6];
  cell_matrix(p, {1, 1, 1}, h);
  invert(h, inverse);
  double u[3] = {inverse[0] * xyz[0] + inverse[1] * xyz[1] + inverse[2] * xyz[2],
                 inverse[3] * xyz[1] + inverse[4] * xyz[2], inverse[5] * xyz[2]};
  for (double& x : u) x -= std::floor(x);
  const double x = h[0] * u[0] + h[1] * u[1] + h[2] * u[2], y = h[3] * u[1] + h[4] * u[2],
               z = h[5] * u[2];
  const double charge = s.felt_charges ? s.charge(type) * std::sqrt(kCoulomb) : 0;
  double sum = 0;
  for (const ChargedImage& i : s.atoms) {
    const double dx = x - i.x, dy = y - i.y, dz = z - i.z;
    const double r2 = dx * dx + dy * dy + dz * dz;
    const PairLaw<double>& law = s.atom_laws[static_cast<std::size_t>(i.kind) * s.types() + type];
    if (!(r2 < law.cutoff2)) continue;
    // Eq. 1, over all images within the cutoff.
    if (law.repulsion > 0) sum += lennard_jones(law, r2);
    if (charge != 0) sum += charge * i.charge * image_potential(s.framework_alpha, r2);
  }
  // q sum_k [a_k cos(k r) + b_k sin(k r)], the long-range part of the potential.
  for (const auto& k : s.potential) {
    const double phase = 2 * kPi * (k[0] * u[0] + k[1] * u[1] + k[2] * u[2]);
    sum += charge * (k[3] * std::cos(phase) + k[4] * std::sin(phase));
  }
  return sum;
}

template <class F>
double energy_on_grid(const State& s, const F* grid, int species, const Pose& pose) {
  if (!s.molecules()) {
    const F e = framework_energy(make_model(s, grid), species, pose.center);
    return e == F(kForbidden) ? kForbidden : static_cast<double>(e);
  }
  const auto w = make_arrays<MoleculeArrays<F>>(s, grid);
  const Body<F>& body = w.r.body[species];
  const Matrix turn = matrix_of(pose.turn);
  double sum = 0;
  for (int i = 0; i < body.count && w.r.framework; ++i) {
    const int type = body.type[i];
    if (!w.r.felt[type]) continue;
    const F e = framework_energy(w.r.m, type, site_of(w.r, body, pose.center, turn, i));
    if (e == F(kForbidden)) return kForbidden;
    sum += static_cast<double>(e);
  }
  return sum;
}

}  // namespace

double framework_energy_at(const State& s, int species, const Pose& pose) {
  return s.with_grid(
      [&](const auto& grid) { return energy_on_grid(s, grid.data(), species, pose); });
}

void framework_energies(const State& s, const double* xyz, std::size_t count, int type, bool direct,
                        double* energies) {
  if (type < 0 || type >= s.types())
    refuse("there is no ", s.molecules() ? "type of sites " : "species ", type);
  const bool felt = s.has_framework() && s.felt(type);
  s.with_grid([&](const auto& grid) {
    const auto m = make_model(s, grid.data());
    for (std::size_t i = 0; i < count; ++i, xyz += 3)
      energies[i] = !felt    ? 0
                    : direct ? direct_site_energy(s, type, xyz)
                             : static_cast<double>(framework_energy(m, type, to_site(s, xyz)));
  });
}

}  // namespace manymove::adsorption
