// SPDX-License-Identifier: BSD-3-Clause
// The kernels with which ranks exchange particles and copies of them.
#pragma once

#include "decomposition.h"
#include "kernels.cuh"

namespace manymove::dpd {

constexpr int kSorters = 256;  // threads of a block

// Records on their way to or from other ranks, the first[b]-th and those after it at data[b]. A row
// of blocks, blockIdx.y, is for each.
template <class T>
struct Places {
  static constexpr int kMost = 32;
  int count;
  unsigned first[kMost + 1];
  T* data[kMost];

  // Of this thread, in all; beyond the last of its row there is none.
  __device__ int index() const {
    const unsigned k = first[blockIdx.y] + blockIdx.x * kSorters + threadIdx.x;
    return k < first[blockIdx.y + 1] ? static_cast<int>(k) : -1;
  }
  __device__ T& mine() const { return data[blockIdx.y][blockIdx.x * kSorters + threadIdx.x]; }
  // The same for records that are followed by more: `apart` bytes lie from one to the next.
  __device__ T& mine(std::size_t apart) const {
    char* const first = reinterpret_cast<char*>(data[blockIdx.y]);
    return *reinterpret_cast<T*>(first + apart * (blockIdx.x * kSorters + threadIdx.x));
  }
};

// Between the records of a block in shared memory and their places, in words that follow each
// other: other GPUs and hosts are far.
template <bool out, class T>
__device__ void carry(const Places<T>& places, T* record) {
  using Word = unsigned long long;
  static_assert(sizeof(T) % sizeof(Word) == 0);
  const unsigned first = blockIdx.x * kSorters,
                 all = places.first[blockIdx.y + 1] - places.first[blockIdx.y];
  if (first >= all) return;
  const unsigned words = min(all - first, unsigned(kSorters)) * (sizeof(T) / sizeof(Word));
  auto* here = reinterpret_cast<Word*>(record);
  auto* there = reinterpret_cast<Word*>(places.data[blockIdx.y] + first);
  for (unsigned w = threadIdx.x; w < words; w += kSorters)
    if (out)
      there[w] = here[w];
    else
      here[w] = there[w];
}

// ---- who goes where: lists for several boxes, each in the order of particles ----

// One thread per particle; test(b, i) tells whether particle i belongs in list b. The numbers of
// each block, [boxes][blocks].
template <class Test>
__global__ void count_kernel(int count, int boxes, Test test, unsigned* number) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  for (int b = 0; b < boxes; ++b) {
    const int sum = __syncthreads_count(i < count && test(b, i));
    if (threadIdx.x == 0)
      number[static_cast<unsigned>(b) * gridDim.x + blockIdx.x] = static_cast<unsigned>(sum);
  }
}

// One thread per box; offset: sums of the numbers before each, one more than there are numbers.
__global__ void totals_kernel(int boxes, unsigned blocks, const unsigned* offset, unsigned* total) {
  const unsigned b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b < static_cast<unsigned>(boxes)) total[b] = offset[(b + 1) * blocks] - offset[b * blocks];
}

template <class Test>
__global__ void pick_kernel(int count, int boxes, Test test, const unsigned* offset,
                            unsigned* picked) {
  __shared__ unsigned of_warp[kSorters / 32];
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int b = 0; b < boxes; ++b) {
    const unsigned* first = offset + static_cast<unsigned>(b) * gridDim.x + blockIdx.x;
    if (first[0] == first[1]) continue;  // nobody in this block
    const bool in = i < count && test(b, i);
    const unsigned vote = __ballot_sync(kWarp, in);
    if (lane == 0) of_warp[warp] = static_cast<unsigned>(__popc(vote));
    __syncthreads();
    unsigned at = first[0];
    for (unsigned w = 0; w < warp; ++w) at += of_warp[w];
    if (in) picked[at + static_cast<unsigned>(__popc(vote & ((1u << lane) - 1u)))] = i;
    __syncthreads();
  }
}

// Particles in the part of another rank.
template <class P>
struct Leaves {
  Part own;
  const Part* part;  // by rank
  const typename P::Position* position;
  __device__ bool operator()(int rank, int i) const {
    const typename P::Position p = position[i];
    const unsigned x = high_word(p.x), y = high_word(p.y), z = high_word(p.z);
    return !is_in(own, x, y, z) && is_in(part[rank], x, y, z);
  }
};

// Outer particles come first in memory, near ones next: how many there are of the former, and of
// both.
struct Bounds {
  unsigned outer, near;
};

// Particles that another rank knows: all of them are outer ones.
struct IsKnown {
  const Part* reached;  // by neighbour
  const Bounds* bounds;
  const Ball* ball;
  __device__ bool operator()(int neighbour, int i) const {
    if (static_cast<unsigned>(i) >= bounds->outer) return false;
    const Ball b = ball[i];
    return is_in(reached[neighbour], b.x, b.y, b.z);
  }
};

// What a step seldom needs has a seat, where it stays while particles are sorted: homes, images.
struct Homes {
  const unsigned* seat;  // by index in the order of particles
  const Home* home;      // by seat
  __device__ const Home& of(int i) const { return home[seat[i]]; }
};

// Particles of another host program.
struct LivesAt {
  int self;
  Homes homes;
  __device__ bool operator()(int rank, int i) const {
    return rank != self && homes.of(i).rank == rank;
  }
};

// ---- building lists ----

// Steps that a particle stays in its ball if it keeps its velocity.
template <class P>
__device__ float steps_in_ball(const Cells& cells, const Ball& ball, float time_step,
                               const typename P::Position& r,
                               const typename P::Velocity& velocity) {
  const ListPlace d = list_place(cells, high_word(r.x) - ball.x, high_word(r.y) - ball.y,
                                 high_word(r.z) - ball.z),
                  v = {static_cast<float>(velocity.x) * time_step,
                       static_cast<float>(velocity.y) * time_step,
                       static_cast<float>(velocity.z) * time_step};
  const float square = list_square(v), along = fused(d.x, v.x, fused(d.y, v.y, d.z * v.z)),
              room = fused(ball.radius, ball.radius, -list_square(d));
  if (!(room > 0)) return 0;
  return (sqrtf(fused(along, along, square * room)) - along) / fmaxf(square, 1e-20f);
}
// The fewest of a warp's, as bits; all lanes call it.
__device__ inline void note_soonest(float steps, unsigned* soonest) {
  const unsigned least = __reduce_min_sync(kWarp, __float_as_uint(fmaxf(steps, 0.0f)));
  if (threadIdx.x % 32 == 0 && least < *static_cast<volatile unsigned*>(soonest))
    atomicMin(soonest, least);
}
constexpr float kForGood = 3e38f;

// What the ranks have to agree on before they build.
struct Census {
  unsigned soonest;  // steps until somebody leaves the ball, bits of a float
  unsigned beyond;   // tag of a particle outside the box
  unsigned missing;  // tag of a particle whose bond has no partner here
  unsigned strayed;  // whether somebody has left who was not expected to
};

// One thread per particle.
template <class P>
__global__ void census_kernel(int count, Cells cells, unsigned open,
                              const typename P::Position* position,
                              const typename P::Velocity* velocity, const Ball* ball,
                              float time_step, Census* census) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  float steps = kForGood;
  if (i < count) {
    const typename P::Position p = position[i];
    if (outside(open, high_word(p.x), high_word(p.y), high_word(p.z)))
      atomicMax(&census->beyond, velocity[i].tag);
    steps = steps_in_ball<P>(cells, ball[i], time_step, p, velocity[i]);
  }
  note_soonest(steps, &census->soonest);
}

// What a particle takes along to another rank. Its row of links follows where there are links.
template <class P>
struct alignas(16) Traveller {
  typename P::Position position;
  typename P::Velocity velocity;
  int3 image;
  Home home;
};

template <class P>
struct Travellers {  // by index in the order of particles
  typename P::Position* position;
  typename P::Velocity* velocity;
  unsigned* seat;
};
struct Seated {  // by seat
  int3* image;
  Home* home;
  LinkRows links;
};
// Seats for those that come: those that were left last, then new ones.
struct FreeSeats {
  const unsigned* left;
  int number, beyond;
  __device__ unsigned of(int k) const {
    return k < number ? left[number - 1 - k] : static_cast<unsigned>(beyond + k - number);
  }
};

template <class P>
__global__ void travel_kernel(const unsigned* who, Travellers<P> from, Seated seated,
                              std::size_t apart, const __grid_constant__ Places<Traveller<P>> to) {
  const int k = to.index();
  if (k < 0) return;
  const unsigned i = who[k], seat = from.seat[i];
  Traveller<P>& traveller = to.mine(apart);
  traveller = {from.position[i], from.velocity[i], seated.image[seat], seated.home[seat]};
  copy_row(seated.links.row(seat), seated.links.words(),
           row_behind(&traveller, sizeof(Traveller<P>)));
}
__global__ void leave_seat_kernel(int count, const unsigned* who, const unsigned* seat,
                                  unsigned* left) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (k < count) left[k] = seat[who[k]];
}

// What stands for records that have not come because the host has given up: particles at rest in
// the corner of this rank's part. Their cells, types and seats exist, so that the kernels that are
// already in the streams end without a fault.
struct Absent {
  const Control* control;
  Part own;

  __device__ bool are_all() const { return given_up(*control); }
  template <class P>
  __device__ void take_place_of(int k, typename P::Position& position,
                                typename P::Velocity& velocity) const {
    constexpr int shift = 8 * sizeof(typename P::Unsigned) - 32;
    const auto word = [&](int a) {
      return static_cast<typename P::Unsigned>(static_cast<typename P::Unsigned>(own.low[a])
                                               << shift);
    };
    position.x = word(0);
    position.y = word(1);
    position.z = word(2);
    position.kind = 1;
    velocity = {0, 0, 0, static_cast<std::uint32_t>(k + 1)};
  }
};

template <class P>
__global__ void arrive_kernel(const __grid_constant__ Places<Traveller<P>> from, std::size_t apart,
                              int first, FreeSeats seats, Travellers<P> to, Seated seated,
                              Absent absent) {
  const int k = from.index();
  if (k < 0) return;
  Traveller<P>& record = from.mine(apart);
  Traveller<P> traveller = record;
  LinkWord* const row = row_behind(&record, sizeof(Traveller<P>));
  if (absent.are_all()) {
    absent.take_place_of<P>(k, traveller.position, traveller.velocity);
    if (seated.links.words()) row[0] = 0;
  }
  const unsigned seat = seats.of(k);
  to.position[first + k] = traveller.position;
  to.velocity[first + k] = traveller.velocity;
  to.seat[first + k] = seat;
  seated.image[seat] = traveller.image;
  seated.home[seat] = traveller.home;
  copy_row(row, seated.links.words(), seated.links.row(seat));
}

// Cells all of whose particles are farther than the reach of lists from other ranks' parts, from
// first to last along each edge of the frame.
struct Core {
  int first[3], last[3];
};
// Of a cell that is here.
inline bool is_core_cell(const Cells& cells, const Core& core, const CellPlace& cell) {
  const auto inside = [&](int c, int a) {
    const int along = c + cells.first[a] < cells.count[a] ? c + cells.first[a]
                                                          : c + cells.first[a] - cells.count[a];
    return along >= core.first[a] && along <= core.last[a];
  };
  return inside(cell.x, 0) && inside(cell.y, 1) && inside(cell.z, 2);
}
__device__ inline bool is_inner(const Cells& cells, const Core& core, unsigned x, unsigned y,
                                unsigned z) {
  const auto inside = [&](unsigned u, int a) {
    const int c = static_cast<int>(bin_of(u, static_cast<unsigned>(cells.count[a])));
    return c >= core.first[a] && c <= core.last[a];
  };
  return inside(x, 0) && inside(y, 1) && inside(z, 2);
}

// How far from other ranks' parts a particle is: 0 outer, 1 near, with outer ones among its
// neighbours perhaps, 2 far.
struct Depths {
  Core core, deep;
  __device__ unsigned of(const Cells& cells, unsigned x, unsigned y, unsigned z) const {
    return !is_inner(cells, core, x, y, z) ? 0 : is_inner(cells, deep, x, y, z) ? 2 : 1;
  }
};

// The core: cells whose particles have no neighbors in other parts and are not within the reach of
// particles there. Deep: cells that are surrounded by such cells only. here: the part, grown by the
// reach of lists.
inline Depths depths_of(const Cells& cells, const Part& own, const Part& here) {
  Depths depths;
  auto& [core, deep] = depths;
  for (int a = 0; a < 3; ++a) {
    deep.first[a] = core.first[a] = 0;
    deep.last[a] = core.last[a] = cells.count[a] - 1;
    if (own.beyond[a] == 0xffffffffu) continue;
    // The reach of lists on one side, from the part that is grown by it on both.
    const std::uint64_t reach =
        here.beyond[a] == 0xffffffffu ? 0xffffffffu : own.low[a] - here.low[a];
    if (own.beyond[a] < 2 * reach) {
      deep.last[a] = core.last[a] = -1;
      continue;
    }
    const auto along = static_cast<std::uint32_t>(cells.count[a]);
    const auto low = own.low[a] + static_cast<std::uint32_t>(reach),
               high = own.low[a] + own.beyond[a] - static_cast<std::uint32_t>(reach);
    core.first[a] = static_cast<int>(bin_of(low, along)) + 1;
    core.last[a] = static_cast<int>(bin_of(high, along)) - 1;
    deep.first[a] = core.first[a] + 1;
    deep.last[a] = core.last[a] - 1;
  }
  return depths;
}
// One thread per particle: outer ones come first, then the near, then the far, each in the order of
// cells; those that left for another rank are last. These should be among the first `suspects`.
template <class P>
__global__ void place_kernel(int count, int suspects, Cells cells,
                             const __grid_constant__ Motion<P> motion, Depths depths, Part own,
                             const typename P::Position* position,
                             const typename P::Velocity* velocity, unsigned* key, unsigned* order,
                             Census* census) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const typename P::Position p = position[i];
  const typename P::Velocity v = velocity[i];
  const unsigned x = high_word(p.x), y = high_word(p.y), z = high_word(p.z);
  if (outside(motion.frame.open, x, y, z)) atomicMax(&census->beyond, v.tag);
  const Ball b = ball_of<P>(cells, motion, p, v);
  const bool stays = is_in(own, x, y, z);
  if (!stays && i >= suspects) census->strayed = 1;
  key[i] = stays ? morton_key(cells, b.x, b.y, b.z) | depths.of(cells, b.x, b.y, b.z)
                                                          << 3 * cells.bits
                 : ~0u;
  order[i] = static_cast<unsigned>(i);
}

// One thread per particle, the i-th of those from the first on: marks where its cell begins and the
// one before ends.
__device__ inline void mark_cell(const Cells& cells, int i, int first, int count,
                                 const unsigned* key, int2* range) {
  const unsigned mask = (1u << 3 * cells.bits) - 1u;
  const int cell = cell_of_key(cells, key[i] & mask),
            before = i > 0 ? cell_of_key(cells, key[i - 1] & mask) : -1;
  if (cell != before) {
    range[cell].x = first + i;
    if (before >= 0) range[before].y = first + i;
  }
  if (i == count - 1) range[cell].y = first + count;
}

// One thread per particle: takes it to its new place.
template <class P>
__global__ void settle_kernel(int count, Cells cells, const __grid_constant__ Motion<P> motion,
                              Shorts shorts, const unsigned* key, const unsigned* order,
                              Travellers<P> from, Travellers<P> to, Short* short_position,
                              unsigned* tag, Ball* ball, int2* range, Bounds* bounds) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const unsigned old = order[i];
  const typename P::Position p = from.position[old];
  const typename P::Velocity v = from.velocity[old];
  to.position[i] = p;
  to.velocity[i] = v;
  to.seat[i] = from.seat[old];
  tag[i] = v.tag;
  short_position[i] = short_of(shorts, high_word(p.x), high_word(p.y), high_word(p.z));
  ball[i] = ball_of<P>(cells, motion, p, v);
  mark_cell(cells, i, 0, count, key, range);
  const unsigned depth = key[i] >> 3 * cells.bits,
                 before = i > 0 ? key[i - 1] >> 3 * cells.bits : 0;
  const auto here = static_cast<unsigned>(i), all = static_cast<unsigned>(count);
  if (before < 1 && depth >= 1) bounds->outer = here;
  if (before < 2 && depth == 2) bounds->near = here;
  if (i < count - 1) return;
  if (depth < 1) bounds->outer = all;
  if (depth < 2) bounds->near = all;
}

// A ghost when lists are built, and between builds.
template <class P>
struct alignas(16) Ghost {
  typename P::Position position;
  typename P::Velocity velocity;
};
template <class P>
struct Motionless {  // without what does not change
  typename P::Unsigned x, y, z;
  typename P::Real vx, vy, vz;
};

template <class P>
__global__ void show_kernel(const unsigned* who, const typename P::Position* position,
                            const typename P::Velocity* velocity,
                            const __grid_constant__ Places<Ghost<P>> to) {
  const int k = to.index();
  if (k >= 0) to.mine() = {position[who[k]], velocity[who[k]]};
}

template <class P>
__global__ void ghost_key_kernel(const __grid_constant__ Places<Ghost<P>> from, Cells cells,
                                 const __grid_constant__ Motion<P> motion, Ghost<P>* ghost,
                                 unsigned* key, unsigned* order, Absent absent) {
  const int k = from.index();
  if (k < 0) return;
  Ghost<P> g = from.mine();
  if (absent.are_all()) absent.take_place_of<P>(k, g.position, g.velocity);
  const Ball b = ball_of<P>(cells, motion, g.position, g.velocity);
  ghost[k] = g;
  key[k] = morton_key(cells, b.x, b.y, b.z);
  order[k] = static_cast<unsigned>(k);
}

// One thread per ghost, in the order of cells; they are kept behind the rank's own particles.
template <class P>
__global__ void see_kernel(int count, int first, Cells cells,
                           const __grid_constant__ Motion<P> motion, Shorts shorts,
                           const unsigned* key, const unsigned* order, const Ghost<P>* ghost,
                           typename P::Position* position, typename P::Velocity* velocity,
                           Short* short_position, Ball* ball, unsigned* place, int2* range) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (k >= count) return;
  const int i = first + k;
  const Ghost<P> g = ghost[order[k]];
  const typename P::Position p = g.position;
  position[i] = p;
  velocity[i] = g.velocity;
  short_position[i] = short_of(shorts, high_word(p.x), high_word(p.y), high_word(p.z));
  ball[i] = ball_of<P>(cells, motion, p, g.velocity);
  place[order[k]] = static_cast<unsigned>(i);
  mark_cell(cells, k, first, count, key, range);
}

// Takes an empty entry of a TagIndex, for which many threads compete.
struct ClaimEntry {
  __device__ bool operator()(std::uint64_t* entry, std::uint64_t value) const {
    static_assert(sizeof(unsigned long long) == sizeof *entry);
    return atomicCAS(reinterpret_cast<unsigned long long*>(entry), 0ull,
                     static_cast<unsigned long long>(value)) == 0;
  }
};
// Bonds as the steps read them: in the order of particles, with as much room for each particle as
// in the rows. Partners are indices here; in the rows they are tags.
struct BondsInOrder {
  int2* range;  // of each particle in the others
  unsigned* index;
  int* type;
};
// One thread per particle of this rank. Only those with bonds of their own can be partners, since
// bonds are in the rows of both ends.
__global__ void know_bonded_kernel(int count, LinkRows links, const unsigned* seat,
                                   const unsigned* tag, int2* range, TagIndex known) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const LinkSpan bonds = links.bonds_of(seat[i]);
  const int first = i * static_cast<int>(links.bonds);
  range[i] = {first, first + static_cast<int>(bonds.count)};
  if (bonds.count > 0) known.add(tag[i], static_cast<unsigned>(i), ClaimEntry{});
}
// One thread per ghost; the rows of ghosts are elsewhere.
template <class P>
__global__ void know_ghosts_kernel(int first, int number, const typename P::Velocity* velocity,
                                   TagIndex known) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x), i = first + k;
  if (k < number) known.add(velocity[i].tag, static_cast<unsigned>(i), ClaimEntry{});
}
// One thread per particle of this rank, when all are known. A partner that is not here is taken for
// the particle itself, and reported.
__global__ void partner_kernel(int count, LinkRows links, const unsigned* seat, const unsigned* tag,
                               TagIndex known, BondsInOrder to, Census* census) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const int2 range = to.range[i];
  if (range.x == range.y) return;
  const LinkWord* bond = links.bonds_of(seat[i]).first;
  for (int k = range.x; k < range.y; ++k, ++bond) {
    const unsigned j = known.find(partner_of(*bond));
    to.index[k] = j == TagIndex::kMissing ? static_cast<unsigned>(i) : j;
    to.type[k] = static_cast<int>(kind_of(*bond));
    if (j == TagIndex::kMissing) atomicMax(&census->missing, tag[i]);
  }
}

// ---- between builds ----

// One thread per particle: how many steps it takes until the first leaves its ball.
template <class P>
__global__ void soonest_kernel(int count, Cells cells, const Ball* ball, float time_step,
                               const typename P::Position* position,
                               const typename P::Velocity* velocity, unsigned* soonest) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  note_soonest(
      i < count ? steps_in_ball<P>(cells, ball[i], time_step, position[i], velocity[i]) : kForGood,
      soonest);
}

template <class P>
__global__ void pack_kernel(const unsigned* who, const typename P::Position* position,
                            const typename P::Velocity* velocity,
                            const __grid_constant__ Places<Motionless<P>> to) {
  __shared__ alignas(16) Motionless<P> record[kSorters];
  if (const int k = to.index(); k >= 0) {
    const typename P::Position p = position[who[k]];
    const typename P::Velocity v = velocity[who[k]];
    record[threadIdx.x] = {p.x, p.y, p.z, v.x, v.y, v.z};
  }
  __syncthreads();
  carry<true>(to, record);
}

// known: positions and velocities at the last build.
template <class P>
__global__ void unpack_kernel(Shorts shorts, const unsigned* place,
                              const __grid_constant__ Places<Motionless<P>> from,
                              const typename P::Position* known_position,
                              const typename P::Velocity* known_velocity,
                              typename P::Position* position, typename P::Velocity* velocity,
                              Short* short_position) {
  __shared__ alignas(16) Motionless<P> record[kSorters];
  carry<false>(from, record);
  __syncthreads();
  const int k = from.index();
  if (k < 0) return;
  const unsigned i = place[k];
  const Motionless<P> m = record[threadIdx.x];
  typename P::Position p = known_position[i];
  p.x = m.x;
  p.y = m.y;
  p.z = m.z;
  typename P::Velocity v = known_velocity[i];
  v.x = m.vx;
  v.y = m.vy;
  v.z = m.vz;
  position[i] = p;
  velocity[i] = v;
  short_position[i] = short_of(shorts, high_word(p.x), high_word(p.y), high_word(p.z));
}

// ---- what the host asks for ----

// A copy of what the device knows, for the host; and how many particles each box has.
struct Answers {
  Control control;
  Census census;
  Bounds bounds;
  unsigned soonest;  // as in Census
  unsigned* total;   // [ranks], host memory as well
};

__global__ void answer_kernel(const Control* control, const Census* census, const Bounds* bounds,
                              Answers* answers) {
  answers->control = *control;
  answers->census = *census;
  answers->bounds = *bounds;
}
__global__ void forget_kernel(Control* control, Census* census) {
  if (!given_up(*control)) *control = {kNever, 0, 0};
  *census = {__float_as_uint(kForGood), 0, 0, 0};
}

}  // namespace manymove::dpd
