// SPDX-License-Identifier: BSD-3-Clause
// The kernels that build neighbor lists on a GPU, and what these look like.
#pragma once

#include "../engine_base.h"
#include "../link_rows.h"
#include "engine_stream.cuh"

namespace manymove::dpd {

// ---- particles ----

template <Precision P>
struct ParticleArrays {  // by index in the order of particles
  typename P::Position* position;
  typename P::Velocity* velocity;
  unsigned* slot;
};
// Particles in the order of cells, as the lists are built from them.
template <Precision P>
struct SortedArrays {
  ParticleArrays<P> particles;
  ShortPosition* shorts;
  BoundingSphere* sphere;
  unsigned* tag;  // null on one rank

  // A particle at its place, without slot and tag.
  __device__ void put(unsigned i, const typename P::Position& p, const typename P::Velocity& v,
                      const ShortFormat& format, const Cells& cells,
                      const Motion<P>& motion) const {
    particles.position[i] = p;
    particles.velocity[i] = v;
    shorts[i] = short_of(format, p);
    sphere[i] = bounding_sphere_of<P>(cells, motion, p, v);
  }
};

struct NeighborLists {
  unsigned* entry;  // groups of kGroup: [capacity / kGroup][stride][kGroup]
  int* number;      // of entries
  int capacity, stride;
  // Half lists within tiles of `tile` particles, those of a block in a step: of two of them, only
  // one has the other in its list. A power of two; 0: full lists.
  int tile = 0;
};

// The lowest k bits of 32.
__device__ inline unsigned low_bits(int k) { return k >= 32 ? ~0u : (1u << max(k, 0)) - 1u; }

// Bit q is set if particle j is not to be in the list of particle first + q: it is this particle,
// or of the same tile, and has the pair in its own list. Of two particles of a tile, the one with
// the larger index has the pair if the difference of their indices is odd, else the other one.
__device__ inline unsigned left_out(const NeighborLists& lists, unsigned first, unsigned j) {
  const auto ahead = static_cast<int>(j - first);
  const unsigned itself = static_cast<unsigned>(ahead) < 32 ? 1u << ahead : 0u;
  if (!lists.tile) return itself;
  // The first particle of j's tile, relative to `first`.
  const int begin = static_cast<int>((j & ~static_cast<unsigned>(lists.tile - 1)) - first);
  const unsigned in_tile = low_bits(begin + lists.tile) & ~low_bits(begin),
                 // Particles first + q with an odd difference to j: q has the other parity than
                 // `ahead`.
      odd = ahead & 1 ? 0x55555555u : 0xaaaaaaaau, smaller = low_bits(ahead);
  return itself | (in_tile & ((odd & smaller) | (~odd & ~smaller)));
}

// ---- building lists ----

// One warp per cell, or several that share its particles. Of the particles in the cells around it,
// those in reach of the box that bounds its own are collected; then its own go through them, four
// at a time (append()). Lists have the order of the candidates (section 3.3 of the paper).
struct ListMemory {
  static constexpr int kMost = 160;  // candidates whose places are kept in registers
  float4 candidate[kMost + 32];      // position and index
  float radius[kMost + 32];
  alignas(16) unsigned row[2][kMost + 2 * kGroup];
  float4 own[32];  // ListCenter without its limit
  float limit[32];

  // The first two of four rows, or the others, which lie where candidates were.
  __device__ unsigned* row_of(int k) {
    static_assert(sizeof row <= kMost * sizeof(float4));
    unsigned* const others = reinterpret_cast<unsigned*>(candidate);
    return (k < 2 ? row[0] : others) + k % 2 * (kMost + 2 * kGroup);
  }
};

struct alignas(8) CellIndex {
  unsigned short x, y, z, unused;
};

struct ListArguments {
  Cells cells;
  bool upright;
  StepStatus status;
  const int2* range;  // of each cell
  NeighborLists lists;
  LinkedParticles links;
  unsigned excluded;  // bit k: special neighbors of kind k are left out
  const BoundingSphere* sphere;
  // Where there are several ranks: the cells whose lists these are, and ghosts of each cell, or
  // null where none are needed.
  int number = 0;
  const CellIndex* cell = nullptr;
  const int2* ghosts = nullptr;
  // On one rank: warps among which the particles of a cell are shared.
  int shares = 1;
};

// Compares the candidates of all lanes with the special neighbors of four particles, of which this
// lane's quarter of the warp has `mine`, or -1. Candidates of excluded kinds leave `in`, and the
// others get their kind. Each lane reads one special neighbor, the others ask it for that.
template <int batches>
__device__ __forceinline__ void leave_out_specials(const ListArguments& a, int mine, int lane,
                                                   const unsigned (&tag)[batches],
                                                   unsigned (&in)[4], unsigned (&kinds)[4]) {
  LinkSpan specials{};
  if (mine >= 0) specials = a.links.specials_of(mine);
  const unsigned place = static_cast<unsigned>(lane % 8);
  for (unsigned first = 0; __any_sync(kWholeWarp, first < specials.count); first += 8) {
    LinkWord read = 0;
    if (first + place < specials.count) read = specials.first[first + place];
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const unsigned count = value_of_lane(specials.count, 8 * p);
      const int some = static_cast<int>(min(count, first + 8)) - static_cast<int>(first);
#pragma unroll 1
      for (int s = 0; s < some; ++s) {
        const LinkWord link = value_of_lane(read, 8 * p + s);
        const unsigned kind = kind_of(link);
#pragma unroll
        for (int b = 0; b < batches; ++b) {
          if (!(in[p] >> b & 1u) || partner_of(link) != tag[b]) continue;
          if (a.excluded >> kind & 1u) in[p] &= ~(1u << b);
          kinds[p] = (kinds[p] & ~(3u << 2 * b)) | kind << 2 * b;
        }
      }
    }
  }
}

// Appends those of 32 x batches candidates that are in reach to the lists of particles i, i + 1,
// ..., which have `number` entries (each lane knows one of them); fresh: none. Four particles are
// taken at a time, whose lists are written by eight lanes each. Each lane has successive
// candidates: a sum over the lanes of how many it appends, of all four particles in one word, tells
// where they go, so that lists have the order of the candidates. velocity: of all particles, whose
// tags are those of special neighbors.
template <Precision P, bool special, bool narrow, bool fresh, int batches>
__device__ void append(const ListArguments& a, ListMemory& m, int lane, int i, int owned, int some,
                       int& number, [[maybe_unused]] const typename P::Velocity* velocity) {
  static_assert(32 * batches < 256);  // bits of a number in the word
  Vector<float> position[batches];
  float square[batches], radius[batches];
  unsigned index[batches], out[batches];  // bit q of out: not in the list of particle i + q
  [[maybe_unused]] unsigned tag[batches];
#pragma unroll
  for (int b = 0; b < batches; ++b) {
    // Lane l has candidates l batches + b, so that a prefix sum over lanes keeps their order.
    const int k = lane * batches + b;
    const bool there = k < some;
    const float4 c = m.candidate[k];
    index[b] = static_cast<unsigned>(there ? __float_as_int(c.w) : i);
    position[b] = there ? Vector<float>{c.x, c.y, c.z} : Vector<float>{0, 0, 0};
    radius[b] = there ? m.radius[k] : 0;
    square[b] = narrow ? 0 : list_square(position[b], radius[b]);
    out[b] = there ? left_out(a.lists, static_cast<unsigned>(i), index[b]) | ~low_bits(owned) : ~0u;
    if constexpr (special) tag[b] = velocity[index[b]].tag;
  }
  __syncwarp();  // rows come to where candidates were
  const int quarter = lane / 8;
  const auto apart = static_cast<std::size_t>(static_cast<unsigned>(a.lists.stride));
  // entry[group][particle][kGroup]: lane l of a quarter writes its particle's groups l, l + 8, ...
  uint4* mine = reinterpret_cast<uint4*>(a.lists.entry) + static_cast<unsigned>(lane % 8) * apart +
                i + quarter;
  uint4* const row = reinterpret_cast<uint4*>(m.row_of(quarter));
#pragma unroll 1
  for (int q = 0; q < owned; q += 4, i += 4, mine += 4) {
    unsigned in[4], numbers = 0;  // bit b of in: candidate b of this lane is in the list
    // Special kinds of candidates, 0 for none: candidate b has the bits 2 b and 2 b + 1.
    [[maybe_unused]] unsigned kinds[4] = {};
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float4 own = m.own[q + p];
      const ListCenter here = {own.x, own.y, own.z, own.w, m.limit[q + p]};
      in[p] = 0;
#pragma unroll
      for (int b = 0; b < batches; ++b) {
        if (out[b] & 1u << (q + p)) continue;
        bool near;
        if constexpr (narrow) {
          // Differences of integers, which wrap to the nearest image.
          const auto difference = [](float j, float i) {
            return __float_as_uint(j) - __float_as_uint(i);
          };
          near = within_reach(a.cells, difference(position[b].x, here.x),
                              difference(position[b].y, here.y), difference(position[b].z, here.z),
                              here.reach, radius[b]);
        } else {
          near = within_reach(here, position[b], radius[b], square[b]);
        }
        if (near) in[p] |= 1u << b;
      }
    }
    if constexpr (special)
      leave_out_specials<batches>(a, q + quarter < owned ? i + quarter : -1, lane, tag, in, kinds);
#pragma unroll
    for (int p = 0; p < 4; ++p)  // Sums over the warp are at most 32 batches, which fit 8 bits.
      numbers |= static_cast<unsigned>(__popc(in[p])) << 8 * p;
    unsigned before = warp_prefix_sum(numbers, lane);
    const unsigned all = value_of_lane(before, 31);
    // From the inclusive prefix sum to what lower lanes append.
    before -= numbers;
    const auto of = [](unsigned word, int p) { return static_cast<int>(word >> 8 * p & 0xffu); };
    // What the list of this quarter's particle has, of which an unfinished group is continued.
    const int had = fresh ? 0 : __shfl_sync(kWholeWarp, number, q + quarter);
    uint4* groups = mine + static_cast<std::size_t>(had / kGroup) * apart;
    if (!fresh) {
      // An unfinished group is read back: new entries go on behind its own.
      if (lane % 8 == 0 && had % kGroup > 0 && had < a.lists.capacity) row[0] = *groups;
      __syncwarp();
    }
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const int begun = fresh ? 0 : __shfl_sync(kWholeWarp, number, q + p) % kGroup;
      unsigned* const its = m.row_of(p) + begun;
      unsigned at = shared_address(its + of(before, p));
#pragma unroll
      for (int b = 0; b < batches; ++b)
        if (in[p] & 1u << b) {
          unsigned entry = index[b];
          if constexpr (special) entry |= (kinds[p] >> 2 * b & 3u) << 30;
          store_shared(at, entry);
          at += sizeof(unsigned);
        }
      // What the last group has room for is the particle itself: an index that can be read.
      if (lane < kGroup - 1) its[of(all, p) + lane] = static_cast<unsigned>(i + p);
    }
    // Lanes copy whole groups, whose entries come from several lanes.
    __syncwarp();
    const int room = min(had % kGroup + of(all, quarter), a.lists.capacity - had / kGroup * kGroup);
#pragma unroll 1
    for (int group = lane % 8; kGroup * group < room; group += 8, groups += 8 * apart)
      *groups = row[group];
    if (lane >= q && lane < q + 4) number += of(all, lane - q);
    // The next four particles use the same rows of shared memory.
    __syncwarp();
  }
}

// The particles in the cells around a cell, numbered one after the other: each lane has one of the
// cells that are not empty.
struct Surroundings {
  int first;       // first particle of this lane's cell, less those of the cells before it
  int before;      // particles of the cells before it
  int candidates;  // particles in all of them

  // cell: of this lane, or -1. memory: for 32 cells.
  __device__ __forceinline__ Surroundings(const int2* range, int cell, int lane, unsigned* memory) {
    first = 0;
    int number = 0;
    if (cell >= 0) {
      first = range[cell].x;
      number = range[cell].y - first;
    }
    const unsigned vote = __ballot_sync(kWholeWarp, number > 0);
    int2* filled = reinterpret_cast<int2*>(memory);
    if (number > 0) filled[lanes_before(vote, lane)] = {first, number};
    // A lane reads the cell that another one has packed,
    __syncwarp();
    // Cells that are not empty are packed into the lower lanes, in the order of cells.
    const bool taken = lane < __popc(vote);
    first = taken ? filled[lane].x : 0;
    number = taken ? filled[lane].y : 0;
    // and `memory` may be used again.
    __syncwarp();
    before = warp_prefix_sum(number, lane);
    candidates = value_of_lane(before, 31);
    before -= number;
    // Particle number n of all lies at first + n in memory while n is within this cell.
    first -= before;
  }
  __device__ Surroundings() : first(0), before(0), candidates(0) {}
  // Particle base + lane. begun: cells that begin before base, which is increased by those that
  // begin in the 32 particles from there.
  __device__ __forceinline__ int particle(int base, int lane, int& begun) const {
    // Bit n: a cell begins at particle base + n. Lane l is in the last cell that begins at or
    // before l.
    const auto after = static_cast<unsigned>(before - base);
    const unsigned begins = __reduce_or_sync(kWholeWarp, after < 32 ? 1u << after : 0u);
    const int j =
        value_of_lane(first, begun + __popc(begins & ((2u << lane) - 1u)) - 1) + base + lane;
    begun += __popc(begins);
    return j;
  }
};

// The center of a particle's sphere, relative to that of the first particle of its cell.
struct RelativeSphere {
  int x, y, z;
  float radius;
};
__device__ inline RelativeSphere relative_to(const BoundingSphere& origin,
                                             const BoundingSphere& sphere) {
  return {static_cast<int>(sphere.x - origin.x), static_cast<int>(sphere.y - origin.y),
          static_cast<int>(sphere.z - origin.z), sphere.radius};
}
__device__ inline Vector<float> position_of(const Cells& cells, int x, int y, int z) {
  return list_position(cells, static_cast<unsigned>(x), static_cast<unsigned>(y),
                       static_cast<unsigned>(z));
}

// Up to 32 particles of a cell, whose lists a warp makes at a time: the box that bounds them, and
// how far beyond it the center of a sphere may be, less its radius.
struct OwnBox {
  Vector<float> low, high;
  float reach;

  // Lanes beyond `owned` are at the place of the first particle of the cell.
  __device__ __forceinline__ OwnBox(const ListArguments& a, ListMemory& m,
                                    const BoundingSphere& origin, int first, int owned, int lane) {
    const Cells& cells = a.cells;
    RelativeSphere r{};
    if (lane < owned) {
      r = relative_to(origin, a.sphere[first + lane]);
      const ListCenter center =
          cells.narrow ? ListCenter{__int_as_float(r.x), __int_as_float(r.y), __int_as_float(r.z),
                                    r.radius, 0}
                       : list_center(cells, position_of(cells, r.x, r.y, r.z), r.radius);
      m.own[lane] = {center.x, center.y, center.z, center.reach};
      m.limit[lane] = center.limit;
    }
    // Least and largest integers first: the conversion to lengths is monotonic along each axis.
    low = position_of(cells, __reduce_min_sync(kWholeWarp, r.x), __reduce_min_sync(kWholeWarp, r.y),
                      __reduce_min_sync(kWholeWarp, r.z));
    high = position_of(cells, __reduce_max_sync(kWholeWarp, r.x),
                       __reduce_max_sync(kWholeWarp, r.y), __reduce_max_sync(kWholeWarp, r.z));
    // Radii are not negative, so that their bits are ordered as they are.
    const float widest = __uint_as_float(__reduce_max_sync(kWholeWarp, __float_as_uint(r.radius)));
    reach = a.upright && !cells.narrow ? (cells.cutoff + widest) * (1 + 3e-5f) : 1e18f;
  }
  __device__ bool reaches(const Vector<float>& p, float radius) const {
    // Along each axis a point is max(low - p, p - high, 0) away from the box.
    const Vector<float> beyond = {fmaxf(fmaxf(low.x - p.x, p.x - high.x), 0.0f),
                                  fmaxf(fmaxf(low.y - p.y, p.y - high.y), 0.0f),
                                  fmaxf(fmaxf(low.z - p.z, p.z - high.z), 0.0f)};
    return list_square(beyond) < (reach + radius) * (reach + radius);
  }
};

// The lists of up to 32 particles, which a warp makes at a time.
template <Precision P, bool special>
struct ListWarp {
  static constexpr int kMost = ListMemory::kMost;
  const ListArguments& a;
  ListMemory& m;
  const typename P::Velocity* velocity;
  int lane, first, owned;  // the particles are first .. first + owned
  int number = 0;          // entries of the particle of this lane
  int kept = 0;            // candidates in the memory
  bool fresh = true;       // no list has an entry yet

  // Collects candidates from number `base` on, until there are enough for the registers.
  __device__ __forceinline__ void collect(const Surroundings& around, const OwnBox& box,
                                          const BoundingSphere& origin, int& base, int& begun) {
    while (base < around.candidates && kept < kMost) {
      bool near = base + lane < around.candidates;
      const int j = around.particle(base, lane, begun);
      RelativeSphere q{};
      Vector<float> p{};
      if (near) {
        q = relative_to(origin, a.sphere[j]);
        p = position_of(a.cells, q.x, q.y, q.z);
        near = box.reaches(p, q.radius);
        // In narrow boxes distances come from differences of the integers, which wrap.
        if (a.cells.narrow) p = {__int_as_float(q.x), __int_as_float(q.y), __int_as_float(q.z)};
      }
      const unsigned vote = __ballot_sync(kWholeWarp, near);
      if (near) {
        const int k = kept + lanes_before(vote, lane);
        m.candidate[k] = {p.x, p.y, p.z, __int_as_float(j)};
        m.radius[k] = q.radius;
      }
      kept += __popc(vote);
      base += 32;
    }
    // Candidates of all lanes are there to be tested.
    __syncwarp();
  }
  // Appends the candidates that registers hold; what was collected beyond them is for the next
  // time.
  __device__ __forceinline__ void append_kept() {
    const int some = min(kept, kMost);
    if (a.cells.narrow)
      append<P, special, true, false, kMost / 32>(a, m, lane, first, owned, some, number, velocity);
    else if (some > 128)
      append_batches<5>(some);
    else if (some > 96)
      append_batches<4>(some);
    else if (some > 64)
      append_batches<3>(some);
    else if (some > 32)
      append_batches<2>(some);
    else
      append_batches<1>(some);
    // At most 32 candidates are beyond kMost: all lanes read theirs before one is written.
    const float4 rest = m.candidate[kMost + lane];
    const float rest_radius = m.radius[kMost + lane];
    __syncwarp();
    kept -= some;
    if (lane < kept) {
      m.candidate[lane] = rest;
      m.radius[lane] = rest_radius;
    }
    // The next candidates are collected behind these.
    __syncwarp();
    fresh = false;
  }
  template <int batches>
  __device__ __forceinline__ void append_batches(int some) {
    if (fresh)
      append<P, special, false, true, batches>(a, m, lane, first, owned, some, number, velocity);
    else
      append<P, special, false, false, batches>(a, m, lane, first, owned, some, number, velocity);
  }
  __device__ __forceinline__ void write_numbers() const {
    if (lane >= owned) return;
    a.lists.number[first + lane] = number;
    if (number <= a.lists.capacity) return;
    // The host makes room for the longest list and builds again; until then no step begins.
    atomicMax(&a.status.device->wanted, static_cast<unsigned>(number));
    a.status.host->wanted = static_cast<unsigned>(number);
  }
};

// The cell of a warp, and those of its particles whose lists the warp makes; empty if there is
// nothing to do.
template <bool ranks>
__device__ __forceinline__ int2 own_range(const ListArguments& a, int lane, int3& cell,
                                          int2& cell_range) {
  cell = {static_cast<int>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32),
          static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
  int share = 0;
  if constexpr (ranks) {
    if (cell.x >= a.number) return {0, 0};
    const CellIndex index = a.cell[cell.x];
    cell = {index.x, index.y, index.z};
  } else {
    share = cell.x % a.shares;
    cell.x /= a.shares;
    // One thread of the grid: the new lists hold until a step finds that they do not.
    if (cell.x + cell.y + cell.z + lane == 0 && !a.status.device->lost)
      a.status.device->expired = kNever;
    if (cell.x >= a.cells.here[0]) return {0, 0};
  }
  cell_range = a.range[(cell.z * a.cells.here[1] + cell.y) * a.cells.here[0] + cell.x];
  if constexpr (ranks) return cell_range;
  const int number = cell_range.y - cell_range.x;
  // Warp s of S that share a cell has particles floor(n s / S) to before floor(n (s + 1) / S).
  return {cell_range.x + number * share / a.shares, cell_range.x + number * (share + 1) / a.shares};
}

template <Precision P, bool special, bool ranks = false>
__global__ void __launch_bounds__(kThreads, 3)
    list_kernel(const __grid_constant__ ListArguments a, const typename P::Velocity* velocity) {
  __shared__ ListMemory memory[kThreads / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  int3 cell;
  int2 cell_range;
  int2 own = own_range<ranks>(a, lane, cell, cell_range);
  if (own.x == own.y) return;
  ListMemory& m = memory[threadIdx.x / 32];

  const int other = lane < 27 ? neighbor_cell(a.cells, cell.x, cell.y, cell.z, lane) : -1;
  Surroundings around;
  if constexpr (!ranks) around = Surroundings(a.range, other, lane, m.row[0]);
  const BoundingSphere origin = a.sphere[cell_range.x];
  for (; own.x < own.y; own.x += 32) {
    const int owned = min(32, own.y - own.x);
    const OwnBox box(a, m, origin, own.x, owned, lane);
    ListWarp<P, special> lists{a, m, velocity, lane, own.x, owned};
#pragma unroll 1
    for (int part = ranks && a.ghosts ? 1 : 0; part >= 0; --part) {  // of the rank, then ghosts
      if constexpr (ranks)
        around = Surroundings(a.ghosts && part == 0 ? a.ghosts : a.range, other, lane, m.row[0]);
      int begun = 0;  // cells that begin before base
      for (int base = 0; base < around.candidates || (lists.kept > 0 && part == 0);) {
        lists.collect(around, box, origin, base, begun);
        if (ranks && part > 0 && lists.kept < ListMemory::kMost) break;
        lists.append_kept();
      }
    }
    lists.write_numbers();
  }
}

}  // namespace manymove::dpd
