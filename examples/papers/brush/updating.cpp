// SPDX-License-Identifier: BSD-3-Clause
// The random and the sequential updating schemes of section 2. In each of the N steps of a cycle
// the tried ion is either chosen at random or the next one in order. The sequential chain is
// bitwise identical to `Electrolyte` in double precision (tests/electrolyte/test_updating.py).
//
// The coordinates, potentials and random numbers are the engine's (model.h). A step computes one
// pair term at a time, as the CPU program of section 4 does.
//
// figure_1.py compiles this file with the C++ compiler.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coulomb/model.h"

namespace manymove::coulomb {

struct Setup {
  std::int32_t random_order;  // whether the ion of a step is chosen at random
  std::uint32_t ions;         // N
  std::uint32_t step;         // largest displacement along an axis, units
  double contact;             // distance of two ions at contact, units
  double largest_charge;      // in elementary charges
  double bjerrum;             // Bjerrum length, units
  std::uint64_t seed, first_cycle, cycles;
};

namespace {

// Counter of the random numbers that choose the ion of a step; propose() uses 0 and 1.
constexpr std::uint32_t kChoice = 2;

Rules rules_of(const Setup& s) {
  Rules r{};
  r.space = Space::cell;
  r.wall2 = static_cast<double>(kHalf) * kHalf;
  r.step = s.step;
  r.key = {static_cast<std::uint32_t>(s.seed), static_cast<std::uint32_t>(s.seed >> 32)};
  // The quantum 2^-k of a potential is that of the engine (docs/theory/coulomb.md, section 2).
  const double sum = std::log2(2.75) + std::log2(static_cast<double>(s.ions)) * 2 / 3;
  const int bits = static_cast<int>(std::fmin(46.0, std::floor(61.5 - sum)));
  const int k = bits - static_cast<int>(std::ceil(std::log2(s.largest_charge / s.contact)));
  r.magic = std::ldexp(1.5, 52 - k);
  r.strength = s.bjerrum * std::ldexp(1.0, -k);
  return r;
}

// Columns of the ions, so that the loop over pairs fills the registers of the CPU.
struct Columns {
  std::vector<double> x, y, z, charge;
};

// What a trial changes: the sum of equation 2 in quanta, and whether the new place overlaps.
struct Change {
  std::int64_t potential = 0;
  int overlap = 0;
};

void add_pairs(const Rules& r, double contact2, const Columns& c, std::size_t begin,
               std::size_t end, const Site& from, const Trial& to, Change& change) {
  const double *const x = c.x.data(), *const y = c.y.data(), *const z = c.z.data(),
                      *const charge = c.charge.data();
  const double from_x = from.x, from_y = from.y, from_z = from.z, to_x = to.x, to_y = to.y,
               to_z = to.z, magic = r.magic;
  std::int64_t sum = 0;
  int overlap = 0;
  for (std::size_t j = begin; j < end; ++j) {
    const double ax = from_x - x[j], ay = from_y - y[j], az = from_z - z[j];
    const double bx = to_x - x[j], by = to_y - y[j], bz = to_z - z[j];
    const double before = fused(az, az, fused(ay, ay, ax * ax)),
                 after = fused(bz, bz, fused(by, by, bx * bx));
    overlap |= after < contact2;
    const double old_term = fixed_term(charge[j], inverse_root(before), magic),
                 new_term = fixed_term(charge[j], inverse_root(after), magic);
    sum = wrapping_sum(sum, static_cast<std::int64_t>(bits_of(new_term) - bits_of(old_term)));
  }
  change.potential = wrapping_sum(change.potential, sum);
  change.overlap |= overlap;
}

}  // namespace
}  // namespace manymove::coulomb

// sites: [N][4], coordinates in units and valences, which follow the chain. energies: [cycles], of
// the changes since the start in kT. counters: accepted moves and moves whose energy was computed.
extern "C" void updating(const manymove::coulomb::Setup* setup, manymove::coulomb::Site* sites,
                         double* energies, std::uint64_t* counters) {
  using namespace manymove::coulomb;
  const Setup& s = *setup;
  const Rules r = rules_of(s);
  const double contact2 = s.contact * s.contact;
  Columns c;
  for (std::size_t i = 0; i < s.ions; ++i) {
    c.x.push_back(sites[i].x);
    c.y.push_back(sites[i].y);
    c.z.push_back(sites[i].z);
    c.charge.push_back(sites[i].charge);
  }
  double energy = 0;
  for (std::uint64_t cycle = s.first_cycle; cycle < s.first_cycle + s.cycles; ++cycle) {
    for (std::uint32_t step = 0; step < s.ions; ++step) {
      std::uint32_t i = step;
      if (s.random_order) {
        std::uint32_t word[4] = {step, static_cast<std::uint32_t>(cycle),
                                 static_cast<std::uint32_t>(cycle >> 32), kChoice};
        manymove::philox(word, r.key);
        i = manymove::uniform_below(word[0], s.ions);
      }
      Site& site = sites[i];
      const Trial trial = propose(r, step, cycle, site);
      if (!trial.inside) continue;
      Change change;
      add_pairs(r, contact2, c, 0, i, site, trial, change);
      add_pairs(r, contact2, c, i + 1, s.ions, site, trial, change);
      ++counters[1];
      if (change.overlap || !accepts(change.potential, trial.most, site.charge)) continue;
      ++counters[0];
      energy += site.charge * static_cast<double>(change.potential) * r.strength;
      site.x = trial.x;
      site.y = trial.y;
      site.z = trial.z;
      c.x[i] = trial.x;
      c.y[i] = trial.y;
      c.z[i] = trial.z;
    }
    *energies++ = energy;
  }
}
