// SPDX-License-Identifier: BSD-3-Clause
// What is done with each particle when positions are handed over (hand_over.h), on the host and on
// a GPU: loops of the host and kernels call the same functions, in any order of the particles.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hand_over.h"
#include "host_particles.h"

namespace manymove::hard_particles {

using Tag = std::uint32_t;
using Count = unsigned long long;

// ---- what threads share; on the host there is one ----

// The next free place of a list, or of one of several lists, by its counter.
MM_HD Count take_place(Count* counter) {
#if defined(__CUDA_ARCH__)
  // The threads of a warp that want places of the same list get theirs by one addition.
  const auto same = __match_any_sync(__activemask(), reinterpret_cast<unsigned long long>(counter));
  const int leader = __ffs(static_cast<int>(same)) - 1, lane = static_cast<int>(threadIdx.x % 32);
  Count first = 0;
  if (lane == leader) first = atomicAdd(counter, static_cast<Count>(__popc(same)));
  return __shfl_sync(same, first, leader) + static_cast<Count>(__popc(same & ((1u << lane) - 1)));
#else
  return (*counter)++;
#endif
}
// ---- domains ----

// An interval of an axis on which the box is periodic.
struct Interval {
  double middle, half, box;

  // Number of boxes to add to a coordinate in the box, so that it is nearest to the middle.
  MM_HD int turns(double r) const {
    return r - middle > 0.5 * box ? -1 : r - middle < -0.5 * box ? 1 : 0;
  }
  // Distance of a coordinate from the interval; negative inside.
  MM_HD double outside(double r) const {
    const double way = abs_of(r - middle);
    return min_of(way, box - way) - half;
  }
};

// Domains, with arrays where the passes run, and that of this rank.
struct DomainsView {
  const double* borders[3];   // [number + 1] of an axis
  const std::int32_t* ranks;  // [x][y][z]
  int number[3];
  Interval own[3];  // it may end or begin at the other edge of the box
  int rank;

  MM_HD bool divided(int axis) const { return number[axis] > 1; }
};

// The domains along an axis within reach of a coordinate, around the box: `number` from `first` on.
struct Near {
  int first, number;
};
MM_HD Near near_along(const double* borders, int domains, double r, double reach) {
  const double lower = borders[0], length = borders[domains] - lower;
  if (domains == 1 || 2 * reach >= length) return {0, domains};
  double begin = r - reach;
  if (begin < lower) begin += length;
  Near near{0, 1};
  // The last domain that begins at or below it.
  for (int above = domains; above - near.first > 1;) {
    const int half = (near.first + above) / 2;
    (borders[half] <= begin ? near.first : above) = half;
  }
  int domain = near.first;
  double left = 2 * reach - (borders[domain + 1] - begin);
  for (; left >= 0 && near.number < domains; ++near.number) {
    domain = (domain + 1) % domains;
    left -= borders[domain + 1] - borders[domain];
  }
  return near;
}

#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
// Calls visit(rank) for each rank whose domain is within reach of a place.
template <class Visitor>
MM_HD void for_ranks_near(const DomainsView& domains, const double r[3], const double reach[3],
                          const Visitor& visit) {
  Near near[3];
  for (int a = 0; a < 3; ++a)
    near[a] = near_along(domains.borders[a], domains.number[a], r[a], reach[a]);
  const int* const number = domains.number;
  for (int i = 0; i < near[0].number; ++i)
    for (int j = 0; j < near[1].number; ++j)
      for (int k = 0; k < near[2].number; ++k) {
        const int x = (near[0].first + i) % number[0], y = (near[1].first + j) % number[1],
                  z = (near[2].first + k) % number[2];
        visit(domains.ranks[(x * number[1] + y) * number[2] + z]);
      }
}

// ---- particles ----

// A particle on its way to the host program's arrays.
struct Traveler {
  Tag particle;
  std::int32_t type;  // -1: types do not change
  double r[3];        // in the host program's precision
  bool stays;         // this rank may have it after a migration
  bool was_here;      // this rank has had it since it was written
};

// Sums over particles that a rank holds, or that have arrived there: their traces, their number,
// and hashes of their tags. The hashes show a particle that has arrived twice instead of another.
struct Arrivals {
  Count trace = 0, particles = 0, tags = 0;

  MM_HD void add(const Arrivals& other) {
    trace += other.trace;
    particles += other.particles;
    tags += other.tags;
  }
  MM_HD void add(Tag tag, Count its_trace) {
    const std::uint32_t key = tag + 1;
    trace += its_trace;
    ++particles;
    tags += Count{key * 0x9e3779b1u} * (key * 0x85ebca77u);
  }
};

// What a look finds in addition. Bit 0 of `others` is set if the third component of a position has
// any bit, and bit 1 if the fourth component has any.
struct Glance : Arrivals {
  unsigned others = 0;
  double outside[3] = {0, 0, 0};  // of Look

  MM_HD void add(const Glance& other) {
    Arrivals::add(other);
    others |= other.others;
    for (int a = 0; a < 3; ++a)
      if (other.outside[a] > outside[a]) outside[a] = other.outside[a];
  }
};

// The sum of glances. The bits of positive floating-point numbers have the order of the numbers.
struct Tally {
  Count trace, particles, tags, others, outside[3];
};

// What the passes of a rank have found.
struct Findings {
  Tally seen;     // by the last look
  Tally written;  // and since the last write() began
  Count border;   // particles near the borders of its domain, in the order in which they are found
  Count unknown;  // one more than the tag of a particle that does not exist
};

// Which of the engine's particles a pass hands over: those that no other rank can hold, the others,
// or both.
enum class Part { inner, border, both };

struct HandOverWork {
  HeldParticles held;
  DomainsView domains;
  double reach[3], box[3];
  int dimensions;
  Part part;
  bool all;  // of look()
  Traveler* border;
  Count room;  // of `border`
  Findings* findings;
  Count* outgoing;  // [ranks], numbers of particles that go there

  // Whether a position can be written without the former one: the last look has found only zeros
  // in the components that are not coordinates. A write of a part of a memory sector (32 bytes)
  // would make the memory read the rest of it.
  MM_HD bool writes_whole() const {
    return (findings->seen.others & (dimensions == 2 ? 3u : 2u)) == 0;
  }
  // Whether no other rank can hold a particle at most `slack` from a place along each axis.
  MM_HD bool is_inner(const double r[3], const double slack[3]) const {
    bool inner = true;
    MM_UNROLL
    for (int a = 0; a < 3; ++a)
      if (a < dimensions && domains.divided(a))
        inner &= domains.own[a].outside(r[a]) < -(reach[a] + slack[a]);
    return inner;
  }
};

// Moves the particle at a place in the arrays of the host program; its image follows.
template <class Real>
MM_HD void move_to(const HostParticles& host, std::size_t at, const Traveler& particle,
                   const double box[3], int dimensions) {
  auto& there = static_cast<HostPosition<Real>*>(host.position)[at];
  for (int a = 0; a < dimensions; ++a) {
    const auto r = static_cast<Real>(particle.r[a]);
    const int n = crossings(there.r[a], r, box[a]);
    if (n && host.image) host.image[3 * at + static_cast<std::size_t>(a)] += n;
    there.r[a] = r;
  }
}

// The trace of a particle that a rank holds. z belongs to it in two dimensions as well, where an
// engine of disks has none.
template <class Real>
MM_HD Count trace_of_held(Tag tag, HostPosition<Real> position, bool all) {
  if (!all) position.r[3] = 0;
  return trace_of(tag, position, true);
}

// Writes a particle at index `at` of this rank's arrays. whole: see HandOverWork. The former
// position is read if the image can have changed.
template <class Real>
MM_HD void arrive(const HandOverWork& work, const Traveler& particle, std::size_t at, bool whole,
                  Arrivals& sums) {
  const HostParticles& host = work.held.arrays;
  auto& there = static_cast<HostPosition<Real>*>(host.position)[at];
  HostPosition<Real> now{};
  bool crosses = false;
  MM_UNROLL
  for (int a = 0; a < 3; ++a) {
    if (a >= work.dimensions) break;
    now.r[a] = static_cast<Real>(particle.r[a]);
    crosses |= abs_of(particle.r[a]) + work.reach[a] >= 0.5 * work.box[a];
  }
  if (!whole || (crosses && host.image)) {
    const HostPosition<Real> before = there;
    MM_UNROLL
    for (int a = 0; a < 4; ++a) {
      if (a >= work.dimensions) {
        if (!whole) now.r[a] = before.r[a];
      } else if (const int n = crossings(before.r[a], now.r[a], work.box[a]); n && host.image) {
        host.image[3 * at + static_cast<std::size_t>(a)] += n;
      }
    }
  }
  if (particle.type >= 0) now.r[3] = type_as_real<Real>(particle.type);
  there = now;
  sums.add(particle.particle, trace_of_held(particle.particle, now, work.all));
}

// Lists one of the engine's own particles for the ranks near it; at: its index in this rank's
// arrays. Returns whether this rank holds it.
MM_HD bool list_border(const HandOverWork& work, Traveler particle, std::size_t at) {
  const DomainsView& domains = work.domains;
  for_ranks_near(domains, particle.r, work.reach, [&](std::int32_t rank) {
    particle.stays |= rank == domains.rank;
    if (rank != domains.rank) take_place(&work.outgoing[rank]);
  });
  particle.was_here = particle.stays && at < work.held.count;
  const Count place = take_place(&work.findings->border);
  if (place < work.room) work.border[place] = particle;
  return particle.was_here;
}

// Hands over one of the engine's own particles, if it belongs to the part. at: its index in the
// host program's arrays.
template <class Real, Part kPart>
MM_HD void hand_over(const HandOverWork& work, Traveler particle, std::size_t at, bool whole,
                     Arrivals& sums) {
  MM_UNROLL
  for (int a = 0; a < 3; ++a)
    if (a < work.dimensions)
      particle.r[a] = static_cast<double>(below_edge<Real>(particle.r[a], work.box[a]));
  const double none[3] = {0, 0, 0};
  const bool inner = work.is_inner(particle.r, none);
  if (kPart == (inner ? Part::border : Part::inner)) return;
  bool here = at < work.held.count;
  if constexpr (kPart != Part::inner) here = inner ? here : list_border(work, particle, at);
  if (here) arrive<Real>(work, particle, at, whole, sums);
}

// ---- messages ----

// A particle in a message: its tag, its coordinates in the host program's precision and, where
// types change, its type, in words of 32 bits.
template <class Real>
struct Records {
  int dimensions;
  bool types;

  static constexpr int kReal = sizeof(Real) / sizeof(std::uint32_t);
  MM_HD std::size_t words() const {
    return static_cast<std::size_t>(1 + dimensions * kReal + types);
  }
  std::size_t bytes() const { return words() * sizeof(std::uint32_t); }

  MM_HD void write(std::uint32_t* at, const Traveler& particle) const {
    *at++ = particle.particle;
    for (int a = 0; a < dimensions; ++a, at += kReal) {
      const auto r = static_cast<Real>(particle.r[a]);
      std::memcpy(at, &r, sizeof r);
    }
    if (types) std::memcpy(at, &particle.type, sizeof particle.type);
  }
  MM_HD Traveler read(const std::uint32_t* at) const {
    Traveler particle{*at++, -1, {}, true, false};
    for (int a = 0; a < dimensions; ++a, at += kReal) {
      Real r;
      std::memcpy(&r, at, sizeof r);
      particle.r[a] = static_cast<double>(r);
    }
    if (types) std::memcpy(&particle.type, at, sizeof particle.type);
    return particle;
  }
};

// ---- passes: the i-th item of an array ----

// Puts a particle near a border into the messages to other ranks.
template <class Real>
struct PackPass {
  HandOverWork work;
  Records<Real> records;
  std::uint32_t* const* messages;  // [ranks]
  Count* packed;                   // [ranks]

  MM_HD void operator()(std::size_t i) const {
    const Traveler& particle = work.border[i];
    for_ranks_near(work.domains, particle.r, work.reach, [&](std::int32_t rank) {
      if (rank != work.domains.rank)
        records.write(messages[rank] + take_place(&packed[rank]) * records.words(), particle);
    });
  }
};

// A particle of a message comes here, and to the list of those near a border.
template <class Real>
struct UnpackPass {
  HandOverWork work;
  Records<Real> records;
  const std::uint32_t* message;
  Count particles;   // of the system
  Traveler* border;  // for the first of the message

  MM_HD Arrivals operator()(std::size_t i) const {
    Traveler particle = records.read(message + i * records.words());
    Arrivals sums;
    particle.stays = particle.particle < particles;
    if (particle.stays) {
      const std::size_t at = work.held.arrays.index[particle.particle];
      particle.was_here = at < work.held.count;
      if (particle.was_here) arrive<Real>(work, particle, at, work.writes_whole(), sums);
    } else {
      work.findings->unknown = Count{particle.particle} + 1;
    }
    border[i] = particle;
    return sums;
  }
};

template <class Real>
struct LookPass {
  HeldParticles held;
  DomainsView domains;
  bool all;

  MM_HD Glance operator()(std::size_t i) const {
    const auto position = static_cast<const HostPosition<Real>*>(held.arrays.position)[i];
    Glance glance;
    glance.Arrivals::add(held.arrays.tag[i], trace_of_held(held.arrays.tag[i], position, all));
    glance.others =
        (bits_of(position.r[2]) != 0 ? 1u : 0u) | (bits_of(position.r[3]) != 0 ? 2u : 0u);
    for (int a = 0; a < 3; ++a) {
      if (!domains.divided(a)) continue;
      const double outside = domains.own[a].outside(static_cast<double>(position.r[a]));
      if (outside > 0) glance.outside[a] = outside;
    }
    return glance;
  }
};

// The host program's precision may round a coordinate up to the edge, which is outside.
template <class Real>
struct ScalePass {
  HostParticles host;
  double factors[3], edges[3];

  MM_HD void operator()(std::size_t i) const {
    for (int a = 0; a < 3; ++a) {
      Real& r = static_cast<HostPosition<Real>*>(host.position)[i].r[a];
      const auto edge = static_cast<Real>(0.5 * edges[a]);
      r = static_cast<Real>(static_cast<double>(r) * factors[a]);
      if (r >= edge) r = std::nextafter(edge, Real(0));
    }
  }
};

template <class Real>
struct PutBeyondPass {
  HeldParticles held;
  DomainsView domains;

  MM_HD void operator()(std::size_t i) const {
    for (int a = 0; a < 3; ++a) {
      Real& r = static_cast<HostPosition<Real>*>(held.arrays.position)[i].r[a];
      const Interval& own = domains.own[a];
      const int n = domains.divided(a) ? own.turns(static_cast<double>(r)) : 0;
      if (!n) continue;
      const auto edge = static_cast<Real>(0.5 * own.box);
      const Real below = std::nextafter(-edge, -2 * edge);
      r += static_cast<Real>(n * own.box);
      // Rounding could leave it at the edge; therefore it is put beyond the edge.
      r = n > 0 ? (r > edge ? r : edge) : (r < below ? r : below);
      if (held.arrays.image) held.arrays.image[3 * i + static_cast<std::size_t>(a)] -= n;
    }
  }
};

template <class Real>
struct RestorePass {
  HeldParticles held;
  Traveler* border;
  double box[3];
  int dimensions;
  Count* migrated;

  static constexpr double kRounding = 4.0 * std::numeric_limits<Real>::epsilon();
  MM_HD void operator()(std::size_t i) const {
    Traveler& particle = border[i];
    if (!particle.stays) return;
    const std::size_t at = held.arrays.index[particle.particle];
    if (at >= held.count) return;
    const auto& there = static_cast<const HostPosition<Real>*>(held.arrays.position)[at];
    bool rounded = true;
    for (int a = 0; a < dimensions; ++a) {
      const double way = static_cast<double>(there.r[a]) - particle.r[a];
      rounded &= abs_of(std::remainder(way, box[a])) <= kRounding * box[a];
    }
    // Otherwise another operation has moved it.
    if (rounded) move_to<Real>(held.arrays, at, particle, box, dimensions);
    if (!particle.was_here) take_place(migrated);
    particle.was_here = true;
  }
};

}  // namespace manymove::hard_particles
