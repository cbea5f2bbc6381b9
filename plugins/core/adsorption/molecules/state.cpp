// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../../runtime/errors.h"
#include "cell.h"

namespace manymove::adsorption {
namespace {

constexpr double kMostNet = 1e-3;  // e: charges of files are rounded
constexpr double kInner = 0.5;     // angstrom, inner cutoff of opposite charges
constexpr double kQuarterTurn = 0.5;
constexpr int kFirstRoom = 64;  // molecules of an open system, to begin with

void check_types(const Parameters& p) {
  const Rigid& r = *p.rigid;
  const std::size_t types = r.types.size();
  if (types < 1 || types > kMostTypes)
    refuse("the number of types of sites must be from 1 to ", kMostTypes, ", got ", types);
  if (r.pairs.size() != types * types) refuse("pairs need a law for each two types of sites");
  for (const LennardJones& law : r.pairs) check_law(law);
  const std::size_t kinds = r.types[0].with_framework.size();
  for (const SiteType& t : r.types) {
    if (t.with_framework.size() != kinds)
      refuse("each type of site needs parameters with each kind of framework atom");
    if (!std::isfinite(t.charge)) refuse("a charge is not finite: ", t.charge);
    for (const LennardJones& law : t.with_framework) check_law(law);
  }
  const Framework& f = p.framework;
  if (f.fractional.size() != 3 * f.kind.size()) refuse("framework atoms need three coordinates");
  for (const auto kind : f.kind)
    if (kind < 0 || static_cast<std::size_t>(kind) >= kinds)
      refuse("a framework atom is of a kind without parameters");
  if (!r.framework_charge.empty() && r.framework_charge.size() != f.kind.size())
    refuse("the framework needs a charge of each atom, or none");
  const double net = std::accumulate(r.framework_charge.begin(), r.framework_charge.end(), 0.0);
  if (!(std::abs(net) <= kMostNet))
    refuse("the framework has a net charge of ", net, " e per unit cell; it must be neutral");
}

void check_bodies(const Parameters& p) {
  const Rigid& r = *p.rigid;
  const std::size_t count = p.species.size();
  if (r.bodies.size() != count) refuse("each species needs its sites");
  for (std::size_t b = 0; b < count; ++b) {
    const auto& sites = r.bodies[b];
    if (sites.empty() || sites.size() > kMostSites)
      refuse("a molecule has from 1 to ", kMostSites, " sites, got ", sites.size());
    double net = 0;
    for (const BodySite& s : sites) {
      if (s.type < 0 || static_cast<std::size_t>(s.type) >= r.types.size())
        refuse("a site is of an unknown type");
      for (const double x : s.offset)
        if (!std::isfinite(x)) refuse("the position of a site is not finite");
      net += r.types[s.type].charge;
    }
    if (!(std::abs(net) <= 1e-9))
      refuse("a molecule of species ", b, " has a net charge of ", net, " e; it must be neutral");
  }
}

void check_cell(const MoleculeState& s) {
  const Parameters& p = s.parameters;
  constexpr const char* kEdge[3] = {"a", "b", "c"};
  for (int a = 0; a < 3; ++a) {
    if (!positive(p.framework.cell[a]) || !std::isfinite(p.rigid->tilt[a]))
      refuse("the cell's edges must be positive and finite");
    if (p.cells[a] < 1 || p.cells[a] > 1000)
      refuse(Parameter{"cells"}, "must be from 1 to 1000 along each axis, got ", p.cells[a],
             " along ", kEdge[a]);
    const double wide = width(s.inverse, a);
    if (wide < 2 * p.cutoff * (1 - 1e-12))
      refuse("the box is ", wide, " angstrom wide along ", kEdge[a],
             ", less than twice the cutoff of ", p.cutoff, ": more unit cells are needed");
  }
  for (const double x : p.framework.fractional)
    if (!std::isfinite(x)) refuse("a coordinate of the framework is not finite");
}

// The energies have no terms between a molecule and its own periodic images, which are therefore
// kept beyond the cutoff. The center counts as a site, because rotations turn about it.
void check_lengths(const MoleculeState& s) {
  const Parameters& p = s.parameters;
  if (!p.rigid->chains.empty()) return;  // check_chain() has a stricter bound
  double least = width(s.inverse, 0);
  for (int a = 1; a < 3; ++a) least = std::min(least, width(s.inverse, a));
  for (std::size_t b = 0; b < p.rigid->bodies.size(); ++b) {
    std::vector<BodySite> sites = p.rigid->bodies[b];
    sites.push_back({});
    double length = 0;
    for (const BodySite& i : sites)
      for (const BodySite& j : sites)
        length = std::max(length, std::hypot(i.offset[0] - j.offset[0], i.offset[1] - j.offset[1],
                                             i.offset[2] - j.offset[2]));
    if (length > least - p.cutoff)
      refuse("adsorbate ", b + 1, ": a molecule is ", length,
             " angstrom long, its center included, more than the width of the box, ", least,
             ", minus the cutoff of ", p.cutoff,
             ": it would meet its own periodic image; more unit cells are needed");
  }
}

// ---- waves ----

void make_waves(MoleculeState& s) {
  const Rigid& r = *s.parameters.rigid;
  if (!(r.alpha > 0) || !(r.alpha * s.parameters.cutoff <= 7) || !positive(r.wave_cutoff))
    refuse(
        "Ewald's alpha must be positive and at most 7 / cutoff, and its largest wave number "
        "positive, got ",
        r.alpha, " and ", r.wave_cutoff);
  const double v = volume(s.edges);
  if (v * std::pow(r.wave_cutoff, 3) > 1e8)
    refuse("Ewald's sum has more than 10^6 waves: the largest wave number, ", r.wave_cutoff,
           ", must be lower");
  each_row(s.edges, s.inverse, r.wave_cutoff, [&](int x, int y, int z, const double*, double k2) {
    if (s.rows.empty() || s.rows.back().y != y || s.rows.back().z != z ||
        s.rows.back().x + s.rows.back().count != x)
      s.rows.push_back({x, y, z, 0, s.waves()});
    ++s.rows.back().count;
    s.double_weights.push_back(4 * kPi / v / k2 * std::exp(-k2 / (4 * r.alpha * r.alpha)));
  });
  s.float_weights.assign(s.double_weights.begin(), s.double_weights.end());
}

double tail_of(const LennardJones& law, double cutoff, double v) {
  const double s3 = std::pow(law.sigma, 3), q3 = std::pow(law.sigma / cutoff, 3);
  return 16 * kPi / v * law.epsilon * s3 * (q3 * q3 * q3 / 9 - q3 / 3);
}

template <class F>
void set_body(const MoleculeState& s, int b, Body<F>& body) {
  const Parameters& p = s.parameters;
  const Rigid& r = *p.rigid;
  const auto& sites = r.bodies[b];
  body.count = static_cast<int>(sites.size());
  double reach = 0, own = 0, tail = 0;
  const double v = volume(s.edges);
  for (int i = 0; i < body.count; ++i) {
    const BodySite& a = sites[i];
    body.type[i] = a.type;
    for (int c = 0; c < 3; ++c) body.offset[i][c] = a.offset[c];
    reach = std::max(reach, std::hypot(a.offset[0], a.offset[1], a.offset[2]));
    if (s.charged) {
      const double qi = r.types[a.type].charge;
      own -= kCoulomb * qi * qi * r.alpha / std::sqrt(kPi);
      for (int j = 0; j < i; ++j) {
        const BodySite& o = sites[j];
        const double d = std::hypot(a.offset[0] - o.offset[0], a.offset[1] - o.offset[1],
                                    a.offset[2] - o.offset[2]);
        const double screen =
            d > 0 ? (1 - erfc_of(std::min(r.alpha * d, 7.0))) / d : 2 * r.alpha / std::sqrt(kPi);
        own -= kCoulomb * qi * r.types[o.type].charge * screen;
      }
    }
    if (r.tail)
      for (const auto kind : p.framework.kind) {
        const int copies = p.cells[0] * p.cells[1] * p.cells[2];
        tail += copies * tail_of(r.types[a.type].with_framework[kind], p.cutoff, v);
      }
  }
  if (!s.chains.empty()) reach = chain_reach(s.chains[b], body.count);
  body.reach = static_cast<F>(reach);
  body.with_framework = static_cast<F>(tail);
  body.own = own + tail;
  const double d = s.data.max_displacement;
  body.twist = reach > 0 ? std::min(kQuarterTurn * d / reach, 1.0) : 1.0;
}

}  // namespace

int MoleculeState::places() const {
  int sum = 0;
  for (std::size_t b = 0; b < parameters.species.size(); ++b)
    sum += parameters.species[b].capacity * static_cast<int>(parameters.rigid->bodies[b].size());
  return sum;
}

MoleculeState make_molecule_state(const Parameters& parameters) {
  MoleculeState s;
  s.parameters = parameters;
  Parameters& p = s.parameters;
  check_molecules(p);
  check_types(p);
  check_bodies(p);
  check_method(p);
  cell_matrix(p, p.cells, s.edges);
  invert(s.edges, s.inverse);
  check_cell(s);
  check_lengths(s);
  if (s.has_framework()) check_grid(p);
  s.edge[0] = s.edges[0], s.edge[1] = s.edges[3], s.edge[2] = s.edges[5];
  check_displacement(s, p.max_displacement);
  for (const SiteType& t : p.rigid->types) s.charged |= t.charge != 0;
  for (const double q : p.rigid->framework_charge) s.felt_charges |= s.charged && q != 0;
  if (s.charged) make_waves(s);
  const bool several = p.method == Method::mdp || p.method == Method::mup;
  if (s.charged && several && !p.double_precision && waves_decay(*p.rigid)) make_mesh(s);
  if (s.felt_charges) make_potential(s);
  collect_atoms(s);
  for (const LennardJones& law : p.rigid->pairs) {
    s.double_laws.push_back(make_law<double>(law, p));
    s.float_laws.push_back(make_law<float>(law, p));
  }
  for (std::size_t k = 0; k < p.rigid->types[0].with_framework.size(); ++k)
    for (const SiteType& t : p.rigid->types)
      s.atom_laws.push_back(make_law<double>(t.with_framework[k], p));
  make_chains(s);
  clear_data(s);
  s.data.waves.assign(static_cast<std::size_t>(p.systems) * 2 * s.waves(), 0);
  for (Species& b : p.species)
    if (b.capacity == 0 && p.exchange > 0) b.capacity = std::max(b.molecules, kFirstRoom);
  if (!s.has_framework()) {
    s.info = {{0, 0, 0}, 0, 0, 0, 1};
    make_room(s);
  }
  return s;
}

// ---- molecules ----

void make_room(MoleculeState& s) {
  make_room(static_cast<State&>(s));
  s.data.orientations.assign(4 * static_cast<std::size_t>(s.parameters.systems) * s.slots, 0);
  for (std::size_t i = 0; i < s.data.orientations.size(); i += 4) s.data.orientations[i] = 1;
  s.data.shapes.assign(s.shape_size() * s.parameters.systems * s.slots, 0);
}

void grow(MoleculeState& s, unsigned full) {
  const std::vector<int> before = capacities(s);
  const int slots = s.slots;
  grow(static_cast<State&>(s), full);
  // Arrays with some numbers of each slot.
  const auto enlarge = [&](std::vector<double>& now, std::size_t width) {
    const std::vector<double> old = now;
    now.assign(width * static_cast<std::size_t>(s.parameters.systems) * s.slots, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.parameters.systems); ++i) {
      const double* from = old.data() + width * i * slots;
      double* to = now.data() + width * i * s.slots;
      for (std::size_t b = 0; b < before.size(); ++b) {
        std::copy_n(from, width * before[b], to);
        from += width * before[b];
        to += width * s.parameters.species[b].capacity;
      }
    }
  };
  enlarge(s.data.orientations, 4);
  enlarge(s.data.shapes, s.shape_size());
}

namespace {

template <class F>
double pose_energy(const MoleculeState& s, const F* grid, int species, const Pose& pose) {
  const MoleculeArrays<F> w = make_arrays(s, grid);
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

Pose checked_pose(const MoleculeState& s, const double* xyz, const double* turn, int species,
                  int molecule, int system) {
  Pose pose{{}, {1, 0, 0, 0}};
  check_finite(xyz, molecule, system);
  if (turn) {
    const Quaternion q{turn[0], turn[1], turn[2], turn[3]};
    const double norm = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (!(std::abs(norm - 1) < 1e-6))
      refuse("the orientation of molecule ", molecule, " of system ", system,
             " is not a unit quaternion");
    pose.turn = normalized(q);
  }
  const double* f = s.inverse;
  const double u[3] = {f[0] * xyz[0] + f[1] * xyz[1] + f[2] * xyz[2], f[3] * xyz[1] + f[4] * xyz[2],
                       f[5] * xyz[2]};
  std::uint32_t part[3];
  for (int a = 0; a < 3; ++a)
    part[a] = static_cast<std::uint32_t>(
        static_cast<std::uint64_t>(std::llround((u[a] - std::floor(u[a])) * 0x1p32)));
  pose.center = {part[0], part[1], part[2]};
  const double energy = s.parameters.double_precision
                            ? pose_energy(s, s.double_grid.data(), species, pose)
                            : pose_energy(s, s.grid.data(), species, pose);
  check_place(s, xyz, molecule, system, energy, energy == kForbidden);
  return pose;
}

}  // namespace

void adopt(MoleculeState& s, const double* positions, const double* orientations) {
  const Parameters& p = s.parameters;
  if (!s.chains.empty())
    refuse("positions of chains cannot be given: they start at random or from a checkpoint");
  const std::size_t all = static_cast<std::size_t>(p.systems) * s.slots;
  std::vector<std::uint32_t> sites(3 * all);
  std::vector<double> turns(4 * all);
  std::vector<std::int32_t> counts;
  for (std::size_t i = 0; i < all; ++i) turns[4 * i] = 1;
  for (int i = 0; i < p.systems; ++i) {
    std::size_t slot = static_cast<std::size_t>(i) * s.slots;
    int molecule = 0;
    for (std::size_t b = 0; b < p.species.size(); ++b) {
      for (int k = 0; k < p.species[b].molecules; ++k, positions += 3, ++molecule) {
        const Pose pose =
            checked_pose(s, positions, orientations, static_cast<int>(b), molecule, i);
        if (orientations) orientations += 4;
        const std::size_t at = slot + k;
        sites[3 * at] = pose.center.x, sites[3 * at + 1] = pose.center.y,
                  sites[3 * at + 2] = pose.center.z;
        turns[4 * at] = pose.turn.w, turns[4 * at + 1] = pose.turn.x,
                  turns[4 * at + 2] = pose.turn.y, turns[4 * at + 3] = pose.turn.z;
      }
      counts.push_back(p.species[b].molecules);
      slot += p.species[b].capacity;
    }
  }
  s.data.sites = std::move(sites);
  s.data.orientations = std::move(turns);
  s.data.counts = std::move(counts);
}

void adopt(MoleculeState& s, const Snapshot& snapshot) {
  check_counts(s, snapshot);
  if (snapshot.orientations.size() != s.data.orientations.size() ||
      snapshot.waves.size() != s.data.waves.size())
    refuse("checkpoint: the arrays do not fit the parameters");
  each_molecule(s, snapshot.counts, [&](std::size_t slot, std::size_t) {
    const double* q = snapshot.orientations.data() + 4 * slot;
    if (!(std::abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1) < 1e-6))
      refuse("checkpoint: an orientation is not a unit quaternion");
  });
  check_shapes(s, snapshot);
  for (const double wave : snapshot.waves)
    if (!std::isfinite(wave)) refuse("checkpoint: a structure factor is not finite");
  adopt(static_cast<State&>(s), snapshot);
}

template <class F>
MoleculeArrays<F> make_arrays(const MoleculeState& s, const F* grid) {
  const Parameters& p = s.parameters;
  MoleculeArrays<F> w{};
  MoleculeModel<F>& r = w.r;
  r.m = make_model(s, grid);
  for (int i = 0; i < 6; ++i) {
    r.edges[i] = static_cast<F>(s.edges[i] * 0x1p-32);
    r.to_fractions[i] = s.inverse[i] * 0x1p32;
  }
  for (int a = 0; a < 3; ++a) r.widths[a] = static_cast<F>(width(s.inverse, a) * 0x1p-32);
  for (int a = 0; a < 3; ++a)
    r.m.reach[a] = static_cast<std::uint32_t>(
        std::max(1.0, 2 * s.data.max_displacement / length(s.edges, a) * 0x1p32));
  r.skewed = s.edges[1] != 0 || s.edges[2] != 0 || s.edges[4] != 0;
  r.charged = s.charged;
  r.framework = s.has_framework();
  r.types = s.types();
  for (int t = 0; t < r.types; ++t) {
    const SiteType& type = p.rigid->types[t];
    r.charge[t] = static_cast<F>(type.charge * std::sqrt(kCoulomb));
    r.felt[t] = s.felt_charges && type.charge != 0;
    for (const LennardJones& law : type.with_framework) r.felt[t] |= law.epsilon > 0;
  }
  int places = 0;
  for (int b = 0; b < r.m.species; ++b) {
    set_body(s, b, r.body[b]);
    r.body[b].first_site = places;
    places += r.body[b].count * p.species[b].capacity;
    for (int c = 0; c < r.m.species && p.rigid->tail; ++c)
      for (const BodySite& i : p.rigid->bodies[b])
        for (const BodySite& j : p.rigid->bodies[c])
          r.tail[b][c] +=
              tail_of(p.rigid->pairs[static_cast<std::size_t>(i.type) * r.types + j.type], p.cutoff,
                      volume(s.edges));
    r.body[b].own += 0.5 * r.tail[b][b];
  }
  fill_chain_model(s, s.tables.data(), w.chains);
  for (int b = 0; b < r.m.species && w.chains.sites; ++b)
    r.m.activity[b] /= w.chains.of[b].weight;  // relative to chains without interactions
  r.laws = s.laws(F{});
  r.cutoff = static_cast<F>(p.cutoff);
  r.cutoff2 = static_cast<F>(p.cutoff * p.cutoff);
  r.inner2 = static_cast<F>(kInner * kInner);
  r.alpha = static_cast<F>(p.rigid->alpha);
  r.rows = static_cast<int>(s.rows.size());
  r.waves = s.waves();
  r.row = s.rows.data();
  r.wave_weight = s.weights(F{});
  fill_mesh_model(s.mesh, r.mesh);
  w.meshes = r.mesh.quads > 0;
  for (const auto& sites : p.rigid->bodies)
    w.most_sites = std::max(w.most_sites, static_cast<int>(sites.size()));
  set_common(s, w);
  w.trial_positions = p.trial_positions;
  w.trial_orientations = p.trial_orientations;
  w.reinsert_below = static_cast<std::uint32_t>((p.exchange + p.reinsertion) * 0x1p32);
  w.identity_below =
      static_cast<std::uint32_t>((p.exchange + p.reinsertion + p.identity_change) * 0x1p32);
  w.regrow_below = static_cast<std::uint32_t>(
      (p.exchange + p.reinsertion + p.identity_change + p.regrowth) * 0x1p32);
  w.places = places;
  // Weights of insertions are averages as well, and must not depend on a low barrier.
  w.most_of_trials = static_cast<F>(std::max(p.hill, 20 * p.temperature));
  return w;
}
template MoleculeArrays<float> make_arrays(const MoleculeState&, const float*);
template MoleculeArrays<double> make_arrays(const MoleculeState&, const double*);

}  // namespace manymove::adsorption
