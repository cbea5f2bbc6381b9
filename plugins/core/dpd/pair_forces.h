// SPDX-License-Identifier: BSD-3-Clause
// DPD forces along a neighbor list that a host program keeps in its own memory, on the CPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "../runtime/api.h"
#include "force_tables.h"

namespace manymove::dpd {

// A potential E(r) of a pair in addition to the forces of DPD, as LAMMPS' pair styles have it, used
// by engines only. kLennardJones (lj/cut): 4 strength [(length / r)^12 - (length / r)^6]. kMorse:
// strength [e^(-2 x) - 2 e^(-x)] with x = steepness (r - length). kSoft: strength [1 + cos(pi r /
// cutoff)]. Of the first two, `shift` is subtracted. kTabulated: `table`. Zero from the cutoff on.
// The factors of special neighbors multiply it.
enum PotentialForm : int { kNoPotential, kLennardJones, kMorse, kSoft, kTabulated };
struct PairPotential {
  PotentialForm form = kNoPotential;
  double cutoff = 0, strength = 0, length = 0, steepness = 0, shift = 0;
  std::shared_ptr<const ForceTable> table = {};
};

// Scalars that particles carry and exchange in pairs (scalar_transport.h). kTemperature: the
// temperature and the heat capacity, which stays; kConcentrations: those of up to kScalars species.
enum ScalarKind : int { kNoScalars, kTemperature, kConcentrations };
constexpr int kScalars = 3;
struct ScalarCoefficients {
  double inverse_cutoff = 1;
  // Of the exchange of each scalar; weight_exponent: s of (1 - r / cutoff)^s. Noise is over the
  // root of the time step; noise[0] of kTemperature is this factor alone.
  double weight_exponent[kScalars] = {}, conductance[kScalars] = {}, noise[kScalars] = {};
  // Of kTemperature: coefficients c_k of 1 + sum_k c_k (T - 1)^k, k from 1 to 4, which multiplies
  // the weight exponent of forces, or the conductance; and the mean of 1 / mass of both particles.
  double series_of_exponent[4] = {}, series_of_conductance[4] = {}, inverse_mass = 1;
};

// Coefficients of the forces between particles of one pair of types. With kTemperature, a is over
// the temperature, and sigma is 1 over the root of the time step.
struct PairCoefficients {
  double a, gamma, sigma;  // Eqs. 3 to 5 of the paper; sigma is over the root of the time step
  double inverse_cutoff;
  double weight_exponent;  // s of Eq. 8
  // Friction and noise across the line of centers, used if PairTable::transverse is set.
  double transverse_gamma = 0, transverse_sigma = 0, transverse_exponent = 1;
  PairPotential potential = {};
  ScalarCoefficients scalars = {};
};

// A temperature that changes from step to step: at time step t both sigmas are those of the
// coefficients times the square root of first + (last - first) (t - begin) / (end - begin).
struct NoiseRamp {
  double first = 1, last = 1;
  std::int64_t begin = 0, end = 0;

  bool is_constant() const { return first == 1 && last == 1; }
  double factor(std::int64_t step) const {
    const auto passed = static_cast<double>(step - begin), all = static_cast<double>(end - begin);
    return std::sqrt(first + (last - first) * (passed == 0 ? 0 : passed / all));
  }
};

// Many-body DPD (many_body.h), the same for all pairs. The factors of special neighbors multiply
// the densities as they multiply the forces.
struct ManyBodyCoefficients {
  double b = 0;
  double cutoff = 0;  // r_d, at most the cutoff of any pair; 0: no many-body forces
};

struct PairTable {
  int types;                             // numbered from 1
  const PairCoefficients* coefficients;  // [types + 1][types + 1]
  double largest_cutoff;
  // Factors of the conservative and the dissipative force for each of the four kinds of neighbors;
  // the random force is multiplied by the root. The first is 1.
  double special[4];
  bool double_precision;  // else float32 for pairs; sums are float64 always
  ManyBodyCoefficients many_body = {};
  bool transverse = false;
  ScalarKind scalars = kNoScalars;  // PairForces computes them in double precision
  NoiseRamp ramp = {};              // used by engines only; PairForces has no time

  bool has_densities() const { return many_body.cutoff > 0; }
  bool has_potentials() const {
    for (int k = types + 1; k < (types + 1) * (types + 1); ++k)
      if (k % (types + 1) != 0 && coefficients[k].potential.form != kNoPotential) return true;
    return false;
  }
};

struct Particles {
  int owned;  // the first ones; ghosts follow
  const double (*position)[3];
  const double (*velocity)[3];
  const int* type;
  const std::uint32_t* tag;
  // Periods of the box from the particle with this tag to a ghost of it, along each edge; 0 for
  // owned particles and along edges of at least twice the cutoff. Null if all edges are so long.
  const int (*image)[3];
  const double* density = nullptr;  // of owned particles and ghosts, if the table has densities
  const double (*scalars)[kScalars] = nullptr;  // the same, of PairTable::scalars
};

// For k below count: first[i][0 .. number[i]) are the neighbors of i = particle[k], each i once;
// bits 30 and 31 are the kind of neighbor, the low 29 bits its index.
struct NeighborList {
  int count;
  const int* particle;
  const int* number;
  const int* const* first;
};

// Called for each pair within the cutoff: energy, force over distance, r_ij.
struct PairCallback {
  // force: the force on i, [3], if it is not along r_ij; otherwise null.
  void (*call)(void* context, int i, int j, double energy, double force_over_distance,
               const double* force, double dx, double dy, double dz);
  void* context;
};

// Where PairForces puts what it computes.
struct PairResult {
  int reacting;        // only particles j below it (all or the owned) feel the reaction
  double (*force)[3];  // is added to
  double* energy;      // of all pairs, half of it for those with j >= reacting; may be null
  const PairCallback* callback;        // may be null; with it there is one thread
  double (*flux)[kScalars] = nullptr;  // like force, of scalars
};

class MANYMOVE_API PairForces {
 public:
  // Throws std::runtime_error if the system does not give so many threads.
  explicit PairForces(int threads);
  ~PairForces();

  // Adds the forces to result.force in an order that does not depend on the number of threads.
  // draw: as in noise_key().
  void add(const PairTable& table, const Particles& particles, const NeighborList& list,
           std::uint64_t seed, std::uint64_t draw, const PairResult& result);

  // Writes density[i], the local density of each i = particle[k], k below list.count. The list must
  // contain all neighbors of i (a full list). The result does not depend on the number of threads.
  void find_densities(const PairTable& table, const Particles& particles, const NeighborList& list,
                      double* density);

  double bytes() const;  // of memory

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// xi of Eq. 5 for pairs of tags, at the SIMD level of the forces.
MANYMOVE_API void draw_noise(std::uint64_t seed, std::uint64_t step, int count,
                             const std::uint32_t* tag_i, const std::uint32_t* tag_j, float* noise);

}  // namespace manymove::dpd
