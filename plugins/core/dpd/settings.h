// SPDX-License-Identifier: BSD-3-Clause
// Settings in the form that a step wants them.
#pragma once

#include <vector>

#include "../parallel/bricks.h"
#include "../runtime/text.h"
#include "bonded_terms.h"
#include "cells.h"
#include "step.h"

namespace manymove::dpd {

// Throws std::invalid_argument that names what is wrong.
MANYMOVE_API void check_settings(const Settings& settings);

// The same of a periodic box that is narrower than twice the cutoff.
void check_widths(const Settings& settings);
// The same of a box that replaces that of the settings during a run (Engine::set_box).
MANYMOVE_API void check_dilation(const Settings& settings, const Box& box);

// The same for a rank's particles. Local: partners of bonds may be on other ranks.
void check_topology(const Settings& settings, int count, const Topology& topology);
// List entries have 30 bits for an index: of a rank's own particles and its ghosts together.
inline int checked_count(std::int64_t particles) {
  if (particles < 0 || particles > kIndexBits)
    refuse("at most ", kIndexBits, " particles, ghosts included, on one rank, not ", particles);
  return static_cast<int>(particles);
}

// Distances between opposite faces of the box.
MANYMOVE_API void widths_of(const Box& box, double width[3]);
bool is_upright(const Box& box);
// By how much shear tilts the box in a step.
double tilt_of_step(const Settings& settings);
// Under shear, the box that is tilted most; otherwise the box.
Box most_tilted_box(const Settings& settings);

// Particles of all ranks are expected to number `count`; empty cells are not let outnumber them by
// much. here: what of the frame this rank has to do with, null for all.
Cells cells_of(const Settings& settings, double count, const Brick* here);

// The box shared among ranks: each has the particles in its part and copies of those in reach of
// it, ghosts. A position is an integer of the whole frame on every rank, so that a ghost is a plain
// copy and belongs to its nearest image by itself. Parts are bricks of the frame, in high words of
// positions. Each rank has copies of what is within cutoff + skin + ahead of its part. Throws
// std::invalid_argument for a grid that does not fit the communicator.
BrickDecomposition decomposition_of(const Settings& settings, Communicator& communicator,
                                    double ahead = 0);

// A sphere's center is ahead of its particle by at most this share of half the skin.
constexpr float kFarthestAhead = 0.8f;
// The largest radius of spheres that do not use this share of the skin.
float largest_radius_of(const Settings& settings, double left_out);
// Lists of these cells reach beyond the cutoff and the spheres by this share of the skin.
void lengthen_reach(Cells& cells, const Settings& settings, double share);
// Spheres for lists that hold about as many steps as the last ones did; zero: not known.
void look_ahead(Cells& cells, double time_step, std::int64_t steps);

// It excludes neighbors that are beyond this cutoff.
ShortFormat shorts_of(const Settings& settings, double cutoff);

// Entries of a neighbor list are read in groups of this size. Lane l of a particle takes the groups
// l, l + lanes, l + 2 lanes, ..., and the sums of its lanes are added pairwise.
constexpr int kGroup = 4;
// Lanes (threads) that share the list of one particle. It is a function of the number of particles
// alone, because it determines the order of the sums and therefore their rounding.
int lanes_of(int count);

// Entries for which the list of a particle should have room at first, where `particles` of all
// ranks are in the box.
int expected_entries(const Settings& settings, double particles);
// Bit k: pairs of special kind k have no forces, and are left out of the lists.
unsigned excluded_kinds(const PairTable& table);

template <Precision P>
CoordinateFrame<P> frame_of(const Box& box);

// Coefficients by types in the precision of a step, in arrays of the host or of a device.
template <class T>
using HostArray = std::vector<T>;
template <Precision P, template <class> class Array = HostArray>
struct Laws {
  using Real = typename P::Real;
  Array<PairLaw<Real>> pairs;                 // [types + 1][types + 1]
  Array<TransverseLaw<Real>> across;          // the same; empty without transverse forces
  Array<PotentialLaw<Real>> potentials;       // the same; empty without potentials
  Array<ScalarLaw<Real>> scalars;             // the same; empty without scalars
  Array<BondLaw<Real>> harmonic;              // by type of bonds, for add_bond()
  Array<BondedLaw> bonds, angles, impropers;  // by type, for bonded_sum()
  Array<DihedralLaw> dihedrals;
  Array<TableNode> nodes;  // of all tables of pairs and bonds
  Forces<P> forces{};      // after find_laws(), with the laws of pairs of this object
  Real unit{};             // of forces of pairs

  void find_laws() {
    forces.laws = pairs.data();
    forces.laws_across = across.data();
    forces.potentials = potentials.size() ? potentials.data() : nullptr;
    forces.nodes = nodes.data();
    if constexpr (has_scalars<P>) forces.scalars.laws = scalars.data();
  }
  void give_laws_to(BondedTerms& terms) const {
    terms.bonds = bonds.data();
    terms.angles = angles.data();
    terms.impropers = impropers.data();
    terms.dihedrals = dihedrals.data();
    terms.nodes = nodes.data();
  }
};
// unit: forces of pairs are in multiples of it. `forces` of the result has the laws of the result.
template <Precision P>
Laws<P> laws_of(const Settings& settings, double unit = 1);
// In mixed precision forces are multiples of this, a power of two: 2^-23 of what the strongest pair
// with a noise of 7 feels, or of a slow pair's friction if that is more.
double force_unit(const Settings& settings);
// One pair of types with weight exponent 1 and a constant temperature in an upright box, without
// potentials, scalars, special neighbors, thermostats and limits of speeds. With Extra::potential,
// the pair may have a potential of Lennard-Jones; with Extra::shear, the box may be tilted or
// sheared.
bool is_plain(const Settings& settings, bool has_special, Extra extra = Extra::none);

template <Precision P>
std::vector<typename P::Real> half_kicks_of(const Settings& settings);
// Friction by type, then noise by type, for each thermostat.
template <Precision P>
std::vector<typename P::Real> thermostat_coefficients_of(const Settings& settings);
// half_kicks and thermostats are results of the functions above, in whatever memory the engine
// works on.
template <Precision P>
Motion<P> motion_of(const Settings& settings, const typename P::Real* half_kicks,
                    const typename P::Real* thermostats);
// Gives a surface its center and its radius.
template <Precision P>
void place_surface(const Box& box, const double center[3], double radius,
                   SurfaceOfStep<P>& surface);
// Whether bonded terms are summed by bonded_sum() before the pairs, because there are more than
// harmonic bonds. Otherwise add_bond() adds them to the pairs.
bool has_bonded_terms(const Settings& settings);
// Without laws.
template <Precision P>
BondedTerms bonded_terms_of(const Box& box);

}  // namespace manymove::dpd
