// SPDX-License-Identifier: BSD-3-Clause
// What a thread of the resident engine on the CPU does at a time: a chunk of particles, moved,
// sorted into cells, given lists. step_kernels.h and list_kernels.h have the code, compiled once
// per SIMD level by kernels.cpp; cpu_engine.cpp has the schedule.
#pragma once

#include <vector>

#include "../../runtime/simd.h"
#include "../bonded_terms.h"
#include "../cells.h"
#include "../link_rows.h"
#include "../particle_records.h"
#include "../settings.h"

namespace manymove::dpd {

constexpr int kChunk = 256;  // particles that a thread takes at a time

struct alignas(16) CoarsePosition {  // high words of a position
  std::uint32_t x, y, z, unused;
};
struct CellRange {  // the first particle of a cell and that behind the last one
  int first, last;
};

// Particles from first to before last, and what came of them.
struct Chunk {
  Chunk() = default;
  Chunk(int first, int last) : first(first), last(last) {}

  int first = 0, last = 0;
  bool expired = false;                     // a particle has left its sphere
  std::uint32_t lost = 0;                   // the largest tag of those that are
  std::uint32_t stretched = 0, broken = 0;  // the largest tags of those with such FENE bonds
  std::int64_t entries = 0;                 // of its lists
  EnergyAndVirial energy_and_virial;
};

template <Precision P>
struct StepArguments {
  Cells cells;
  Forces<P> forces;
  Motion<P> motion;
  bool plain, transverse;
  bool rests;                    // the step ends with velocities of its own time, and no motion
  int lanes;                     // of lanes_of()
  const BoundingSphere* sphere;  // null in steps when lists have expired anyway
  const int* cell;
  const CellRange* range[2];  // of each cell: of the rank, and ghosts; null where there are none
  LinkedParticles links;      // without rows if there are no special neighbors
  unsigned excluded;          // bit k: special neighbors of kind k are left out of lists
  const typename P::Position* position;
  const typename P::Velocity* velocity;
  const std::uint32_t* near;  // high words of positions, one place in four words
  typename P::Real* density;  // of each particle and ghost; null without many-body forces
  // Within these squared distances of places there may be pairs with forces, and with densities.
  float limit, density_limit;
  int* number;  // of entries in lists
  Partners bonds;
  const BondLaw<typename P::Real>* bond_laws;  // of harmonic bonds, if terms is null
  const BondedTerms* terms;
  const Vector<typename P::Real>* charged;  // forces of charges; null if there are none
  typename P::Position* next_position;
  typename P::Velocity* next_velocity;
  std::uint32_t* next_near;  // null where near are the positions themselves
  Image* image;
  Vector<typename P::Real>* force;
  Vector<double>* flux;             // of scalars
  Vector<typename P::Real>* total;  // forces on particles that are not integrated; null: not wanted
};

// The laws of a table of coefficients, which must live as long as steps use them.
template <Precision P>
void set_laws(StepArguments<P>& arguments, BondedTerms& terms, const Laws<P>& laws) {
  arguments.forces = laws.forces;
  arguments.bond_laws = laws.harmonic.data();
  laws.give_laws_to(terms);
}

// StepArguments::limit for a cutoff. Lists reach farther than the cutoff under shear, because pairs
// come closer until the next ones.
inline float limit_of(const Cells& cells, double cutoff) {
  const float reach = static_cast<float>(cutoff * (1 + 3e-5));
  // Beyond all cutoffs where the nearest image of a place may not be that of the particle.
  const bool all = cells.cutoff > 1e14f;
  return all ? cells.cutoff * cells.cutoff : reach * reach;
}

// Room for the candidates of a cell's lists.
struct Candidates {  // a multiple of 8
  float *x, *y, *z, *radius, *square;
  std::uint32_t* index;
  std::uint8_t* in;
};

constexpr int kReadAhead = 64;  // entries behind a chunk's lists that must be valid indices

template <Precision P>
struct StepKernels {
  // From rest: half a kick and the way to the next step's positions, in place.
  void (*begin)(const StepArguments<P>& arguments, Chunk& chunk);
  // Forces, then to rest or on to the next step's positions; reading: to rest, with sums.
  void (*step)(const StepArguments<P>& arguments, bool reading, const std::uint32_t* entries,
               Chunk& chunk);
  // The densities of the chunk's particles.
  void (*density)(const StepArguments<P>& arguments, const std::uint32_t* entries, Chunk& chunk);
  // Spheres, cells and places in memory.
  void (*place)(const StepArguments<P>& arguments, int first, int last, BoundingSphere* sphere,
                std::uint32_t* key);
  // Lists one after the other. Returns how many entries there are; more than `room`: they do not
  // fit, and are at least so many.
  std::int64_t (*list)(const StepArguments<P>& arguments, int first, int last,
                       const Candidates& candidates, std::uint32_t* entries, std::int64_t room);
};

MANYMOVE_KERNELS(StepKernels<Mixed>)
MANYMOVE_KERNELS(StepKernels<Double>)
MANYMOVE_KERNELS(StepKernels<MixedWithScalars>)
MANYMOVE_KERNELS(StepKernels<DoubleWithScalars>)

// Memory of one thread for the candidates of a cell.
class CandidateMemory {
 public:
  Candidates with_room_for(int number) {
    const auto room = static_cast<std::size_t>((number + 7) / 8 * 8);
    if (index_.size() < room) {
      for (auto& values : values_) values.resize(room);
      index_.resize(room);
      in_.resize(room);
    }
    return {values_[0].data(), values_[1].data(), values_[2].data(), values_[3].data(),
            values_[4].data(), index_.data(),     in_.data()};
  }

 private:
  std::vector<float> values_[5];
  std::vector<std::uint32_t> index_;
  std::vector<std::uint8_t> in_;
};

}  // namespace manymove::dpd
