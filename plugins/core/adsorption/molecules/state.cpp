// SPDX-License-Identifier: BSD-3-Clause
#include "../state.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cell.h"

namespace manymove::adsorption {
namespace {

constexpr double kMostNet = 1e-3;  // e: charges of files are rounded
constexpr double kInner = 0.5;     // angstrom, inner cutoff of opposite charges
constexpr double kQuarterTurn = 0.5;
constexpr int kFirstRoom = 64;  // molecules of an open system, to begin with

void check_framework_charge(const Parameters& p) {
  const std::vector<double>& charge = p.force_field->framework_charge;
  if (!charge.empty() && charge.size() != p.framework.kind.size())
    refuse("the framework needs a charge of each atom, or none");
  const double net = std::accumulate(charge.begin(), charge.end(), 0.0);
  if (!(std::abs(net) <= kMostNet))
    refuse("the framework has a net charge of ", net, " e per unit cell; it must be neutral");
}

void check_bodies(const Parameters& p) {
  const ForceField& r = *p.force_field;
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

// The energies have no terms between a molecule and its own periodic images, which are therefore
// kept beyond the cutoff. The center counts as a site, because rotations turn about it.
void check_lengths(const State& s) {
  const Parameters& p = s.parameters;
  if (!p.force_field->chains.empty()) return;  // check_chain() has a stricter bound
  // l <= min_a width_a - R_c: a site and the image of another one of the same molecule are then at
  // least R_c apart.
  double least = width(s.inverse, 0);
  for (int a = 1; a < 3; ++a) least = std::min(least, width(s.inverse, a));
  for (std::size_t b = 0; b < p.force_field->bodies.size(); ++b) {
    std::vector<BodySite> sites = p.force_field->bodies[b];
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

void make_waves(State& s) {
  const ForceField& r = *s.parameters.force_field;
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
    // 2 pi / V exp(-k^2 / 4 alpha^2) / k^2, twice: half of the lattice stands for all waves.
    s.of_double.wave_weights.push_back(4 * kPi / v / k2 * std::exp(-k2 / (4 * r.alpha * r.alpha)));
  });
  const std::vector<double>& weights = s.of_double.wave_weights;
  s.of_float.wave_weights.assign(weights.begin(), weights.end());
}

double tail_of(const LennardJones& law, double cutoff, double v) {
  // 1 / V times the integral of u(r) 4 pi r^2 from R_c on, which is
  // 16 pi epsilon sigma^3 / V (q^9 / 9 - q^3 / 3) with q = sigma / R_c.
  const double s3 = std::pow(law.sigma, 3), q3 = std::pow(law.sigma / cutoff, 3);
  return 16 * kPi / v * law.epsilon * s3 * (q3 * q3 * q3 / 9 - q3 / 3);
}

template <class F>
void set_body(const State& s, int b, Body<F>& body) {
  const Parameters& p = s.parameters;
  const ForceField& r = *p.force_field;
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
      // The self-energy of Ewald's sum, -alpha / sqrt(pi) q_i^2: the third sum of section 5 of
      // docs/theory/molecules.md.
      own -= kCoulomb * qi * qi * r.alpha / std::sqrt(kPi);
      for (int j = 0; j < i; ++j) {
        const BodySite& o = sites[j];
        const double d = std::hypot(a.offset[0] - o.offset[0], a.offset[1] - o.offset[1],
                                    a.offset[2] - o.offset[2]);
        // erf(alpha d) / d, which is 2 alpha / sqrt(pi) for charges at one place.
        const double screen =
            d > 0 ? (1 - erfc_of(std::min(r.alpha * d, 7.0))) / d : 2 * r.alpha / std::sqrt(kPi);
        // The waves contain the pairs within a molecule, q_i q_j erf(alpha d) / d, which are no
        // interactions.
        own -= kCoulomb * qi * r.types[o.type].charge * screen;
      }
    }
    if (r.tail)
      for (const auto kind : p.framework.kind) {
        const int copies = p.cells[0] * p.cells[1] * p.cells[2];
        // Beyond the cutoff the atoms of the framework count as uniformly distributed.
        tail += copies * tail_of(r.types[a.type].with_framework[kind], p.cutoff, v);
      }
  }
  if (!s.chains.empty()) reach = chain_reach(s.chains[b], body.count);
  body.reach = static_cast<F>(reach);
  body.with_framework = static_cast<F>(tail);
  // What does not depend on the pose: no displacement or rotation changes it.
  body.own = own + tail;
  const double d = s.data.max_displacement;
  // tau = min(1, d / 2 l): the outermost site, at the distance l, moves by about d at most.
  body.twist = reach > 0 ? std::min(kQuarterTurn * d / reach, 1.0) : 1.0;
}

}  // namespace

void make_molecules(State& s) {
  Parameters& p = s.parameters;
  // Ewald's sum over periodic images converges for neutral cells alone.
  check_framework_charge(p);
  check_bodies(p);
  check_lengths(s);
  for (const SiteType& t : p.force_field->types) s.charged |= t.charge != 0;
  for (const double q : p.force_field->framework_charge) s.felt_charges |= s.charged && q != 0;
  if (s.charged) make_waves(s);
  if (s.charged && several_proposals(p.method) && !p.double_precision &&
      waves_decay(*p.force_field))
    make_mesh(s);
  if (s.felt_charges) make_potential(s);
  make_chains(s);
  s.data.waves.assign(static_cast<std::size_t>(p.systems) * 2 * s.waves(), 0);
  for (Species& b : p.species)
    if (b.capacity == 0 && p.exchange > 0) b.capacity = std::max(b.molecules, kFirstRoom);
}

void check_poses(const State& s, const Snapshot& snapshot) {
  const std::vector<Species>& species = s.parameters.species;
  std::size_t slot = 0;
  // The slots without a molecule may have any content.
  for (std::size_t i = 0; i < snapshot.counts.size(); ++i) {
    const std::size_t b = i % species.size();
    for (int k = 0; k < snapshot.counts[i]; ++k) {
      const double* q = snapshot.orientations.data() + 4 * (slot + k);
      if (!(std::abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1) < 1e-6))
        refuse("checkpoint: an orientation is not a unit quaternion");
      if (!s.chains.empty())
        check_shape(s, b, snapshot.shapes.data() + s.shape_size() * (slot + k));
    }
    slot += species[b].capacity;
  }
}

template <class F>
void set_model(const State& s, const F* grid, MoleculeArrays<F>& w) {
  const Parameters& p = s.parameters;
  MoleculeModel<F>& r = w.r;
  r.m = make_model(s, grid);
  for (int i = 0; i < 6; ++i) {
    // Sites are fractions in 2^-32: H 2^-32 leads to angstrom, and H^-1 2^32 back.
    r.edges[i] = static_cast<F>(s.edges[i] * 0x1p-32);
    r.to_fractions[i] = s.inverse[i] * 0x1p32;
  }
  for (int a = 0; a < 3; ++a) r.widths[a] = static_cast<F>(width(s.inverse, a) * 0x1p-32);
  for (int a = 0; a < 3; ++a)
    // Displacements are along the edges of the cell, whose lengths scale them.
    r.m.reach[a] = static_cast<std::uint32_t>(
        std::max(1.0, 2 * s.data.max_displacement / length(s.edges, a) * 0x1p32));
  r.skewed = s.edges[1] != 0 || s.edges[2] != 0 || s.edges[4] != 0;
  r.charged = s.charged;
  r.framework = s.has_framework();
  r.types = s.types();
  for (int t = 0; t < r.types; ++t) {
    // q sqrt(e^2 / 4 pi epsilon_0 k_B): the product of two, over r, is an energy in kelvin.
    static_assert(kElementary * kElementary > 0.999 * kCoulomb);
    static_assert(kElementary * kElementary < 1.001 * kCoulomb);
    r.charge[t] = static_cast<F>(s.charge(t) * std::sqrt(kCoulomb));
    r.felt[t] = s.felt(t);
  }
  int places = 0;
  for (int b = 0; b < r.m.species; ++b) {
    set_body(s, b, r.body[b]);
    r.body[b].first_site = places;
    places += r.body[b].count * p.species[b].capacity;
    for (int c = 0; c < r.m.species && p.force_field->tail; ++c)
      for (const BodySite& i : p.force_field->bodies[b])
        for (const BodySite& j : p.force_field->bodies[c])
          // sum_ij of the tail corrections of all pairs of sites of two molecules.
          r.tail[b][c] +=
              tail_of(p.force_field->pairs[static_cast<std::size_t>(i.type) * r.types + j.type],
                      p.cutoff, volume(s.edges));
    // A molecule and its own images beyond the cutoff: N^2 / 2 pairs in place of N (N - 1) / 2.
    r.body[b].own += 0.5 * r.tail[b][b];
  }
  fill_chain_model(s, s.tables.data(), w.chains);
  for (int b = 0; b < r.m.species && w.chains.sites; ++b)
    r.m.activity[b] /= w.chains.of[b].weight;  // relative to chains without interactions
  r.laws = s.in<F>().laws.data();
  r.cutoff = static_cast<F>(p.cutoff);
  r.cutoff2 = static_cast<F>(p.cutoff * p.cutoff);
  // Opposite charges without a core would have no lowest energy.
  r.inner2 = static_cast<F>(kInner * kInner);
  r.alpha = static_cast<F>(p.force_field->alpha);
  r.rows = static_cast<int>(s.rows.size());
  r.waves = s.waves();
  r.row = s.rows.data();
  r.wave_weight = s.in<F>().wave_weights.data();
  fill_mesh_model(s.mesh, r.mesh);
  w.meshes = r.mesh.quads > 0;
  for (const auto& sites : p.force_field->bodies)
    w.most_sites = std::max(w.most_sites, static_cast<int>(sites.size()));
  w.trial_positions = p.trial_positions;
  w.trial_orientations = p.trial_orientations;
  const MoveLimits below = move_limits(p);
  // Limits of successive shares of the range of the word that draws the kind of a move.
  w.reinsert_below = below.reinsertion;
  w.identity_below = below.identity;
  w.regrow_below = below.regrowth;
  w.places = places;
  // Weights of insertions are averages as well, and must not depend on a low barrier.
  w.most_of_trials = static_cast<F>(std::max(p.hill, 20 * p.temperature));
}
template void set_model(const State&, const float*, MoleculeArrays<float>&);
template void set_model(const State&, const double*, MoleculeArrays<double>&);

}  // namespace manymove::adsorption
