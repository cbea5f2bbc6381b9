// SPDX-License-Identifier: BSD-3-Clause
// Transfer of positions from a divided engine to a host program whose domains are not the engine's
// strips (docs/theory/hard_disks.md, section 9.2).
//
// A rank of the host program keeps a particle until the next migration, also outside of its domain.
// The rank that has the particle in its strip writes it to the host program's array if no other
// rank can hold it there. Otherwise it sends the particle to all ranks whose domains are within
// reach: one of them holds the particle, and one will hold it after the host program's next
// migration. Both get the same bits, so that positions need no second exchange after
// a migration, which rounds those that cross the box's edges.
//
// On GPUs the positions stay in the memory of the devices, and travel as the engine's rows do
// (parallel/transport.cuh).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"

namespace manymove::hard_particles {

// Division of the box among the ranks of a host program, the same on all ranks.
struct MANYMOVE_API Domains {
  // Along each axis: the lower borders of the domains in ascending order, and the upper edge of the
  // box. An axis that is not divided, or does not exist, has two entries.
  std::array<std::vector<double>, 3> borders;
  std::vector<std::int32_t> ranks;  // [x][y][z], by the domain's place along each axis

  bool divided(std::size_t axis) const { return borders[axis].size() > 2; }
  // Index of the domain of a rank along each axis.
  std::array<std::size_t, 3> place_of(std::int32_t rank) const;
  bool operator==(const Domains& other) const {
    return borders == other.borders && ranks == other.ranks;
  }
};

// This rank's particles in a host program.
struct HeldParticles {
  // Arrays in the memory of the engine's device, with this rank's particles first. The `index` of
  // all others is not below `count`.
  HostParticles arrays;
  std::size_t count;
};

// Counts of this rank since the start.
struct HandOverCounts {
  std::uint64_t messages = 0, bytes = 0;  // sent
  std::uint64_t migrated = 0;             // particles that came with the host program's migration
  // From begin() to the end of the cycles that write() hands over, and from there to the last
  // position. On a GPU these are times of the device.
  double sweep_seconds = 0, exchange_seconds = 0;
};

// What all ranks together find in the particles that they hold.
struct Look {
  // Checksums of the positions now and when they were written, as in Engine::same_positions(). They
  // do not depend on the ranks that hold the particles.
  std::uint64_t trace = 0, written = 0;
  // Along each axis, how far the farthest particle is outside of the domain of its rank.
  std::array<double, 3> outside{};

  bool same() const { return trace == written; }
};

// To be used by one thread at a time. Work on a GPU is ordered with the legacy default stream of
// its device, as an engine's is; an error of the device is a std::runtime_error. Except for found()
// and counts(), no call waits for the GPU to reach the end of its work.
class MANYMOVE_API HandOver {
 public:
  virtual ~HandOver() = default;
  // Before the look and the cycles, in either order, that lead to the next write(): from here on
  // their time is taken. Without this call it is not counted. Local.
  virtual void begin() = 0;
  // Collective. Leaves the positions, in the host program's precision, in the arrays of the ranks
  // that hold the particles, and their images, as write_positions() of an undivided engine does.
  // `reach`: along each axis, how far a particle may be outside of the domain of the rank that
  // holds it, and may have moved since the last call. look() must come before each call, and the
  // particles must still be held at the same places. `types`: types of particles change, and the
  // engine has them. `all`: see look(). The engine is one of these ranks, on this device.
  virtual void write(const Engine& engine, const Domains& domains,
                     const std::array<double, 3>& reach, bool types, bool all,
                     const HeldParticles& held) = 0;
  // Before the host program migrates particles: puts those that have crossed the box's edge along a
  // divided axis beyond this edge, so that they are known to have left the domain there. The
  // migration changes their images back. Local, as the calls below are except for found().
  virtual void put_beyond_edges(const Domains& domains, const HeldParticles& held) = 0;
  // After the migration: restores the last bits of positions that it has rounded. Particles that
  // another has moved since write() are left alone.
  virtual void restore(const HeldParticles& held) = 0;
  // Begins a look at the particles. `all`: whether the trace includes the type; it always includes
  // the coordinates, that beyond the dimensions too.
  virtual void look(const Domains& domains, const HeldParticles& held, bool all) = 0;
  // Collective. What the last look finds. Throws std::runtime_error if one of this rank's particles
  // had not arrived after the last write(), or has arrived twice.
  virtual Look found() = 0;
  // The box has changed, and positions with it: multiplies coordinates by these factors, inside of
  // the present edges.
  virtual void scale(const std::array<double, 3>& factors, const std::array<double, 3>& edges,
                     const HeldParticles& held) = 0;

  virtual HandOverCounts counts() const = 0;  // waits for a GPU
};

// Collective. device: that of this rank's engine, "cpu" or "cuda:<index>". The communicator must
// outlive the object. Throws what make_engine() throws for a device.
MANYMOVE_API std::unique_ptr<HandOver> make_hand_over(Communicator& ranks,
                                                      const std::string& device);

}  // namespace manymove::hard_particles
