// SPDX-License-Identifier: BSD-3-Clause
// Particles move to the ranks whose parts they have come to, and to their new places in memory.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "../../link_rows.h"
#include "rank_context.cuh"

namespace manymove::dpd {

// Particles in the part of another rank.
template <Precision P>
struct Leaves {
  Brick own;
  const Brick* part;  // by rank
  const typename P::Position* position;
  __device__ bool operator()(int rank, int i) const {
    const typename P::Position p = position[i];
    const unsigned x = high_word(p.x), y = high_word(p.y), z = high_word(p.z);
    return !is_in(own, x, y, z) && is_in(part[rank], x, y, z);
  }
};

// Slots for those that come: those that were left last, then new ones.
struct FreeSlots {
  const unsigned* left;
  int number, beyond;
  __device__ unsigned of(int k) const {
    return k < number ? left[number - 1 - k] : static_cast<unsigned>(beyond + k - number);
  }
};

// The row of links of a particle follows its record where there are links.
template <Precision P>
__global__ void pack_migrants_kernel(const unsigned* who, ParticleArrays<P> from,
                                     SlotArrays slot_arrays, std::size_t apart,
                                     const __grid_constant__ Records<Migrant<P>> to) {
  const int k = to.index();
  if (k < 0) return;
  const unsigned i = who[k], slot = from.slot[i];
  Migrant<P>& migrant = to.mine(apart);
  migrant = {from.position[i], from.velocity[i], slot_arrays.image[slot], slot_arrays.origin[slot]};
  copy_row(slot_arrays.links.row(slot), slot_arrays.links.words(),
           row_behind(&migrant, sizeof(Migrant<P>)));
}
static __global__ void leave_slot_kernel(int count, const unsigned* who, const unsigned* slot,
                                         unsigned* left) {
  const int k = index_of_thread();
  if (k < count) left[k] = slot[who[k]];
}

template <Precision P>
__global__ void unpack_migrants_kernel(const __grid_constant__ Records<Migrant<P>> from,
                                       std::size_t apart, int first, FreeSlots slots,
                                       ParticleArrays<P> to, SlotArrays slot_arrays,
                                       Absent absent) {
  const int k = from.index();
  if (k < 0) return;
  Migrant<P>& record = from.mine(apart);
  Migrant<P> migrant = record;
  LinkWord* const row = row_behind(&record, sizeof(Migrant<P>));
  if (absent.are_all()) {
    absent.replace<P>(k, migrant.position, migrant.velocity);
    if (slot_arrays.links.words()) row[0] = 0;
  }
  // Slots of particles that have left are used first, then new ones behind all.
  const unsigned slot = slots.of(k);
  to.position[first + k] = migrant.position;
  to.velocity[first + k] = migrant.velocity;
  to.slot[first + k] = slot;
  slot_arrays.image[slot] = migrant.image;
  slot_arrays.origin[slot] = migrant.origin;
  copy_row(row, slot_arrays.links.words(), slot_arrays.links.row(slot));
}

// One thread per particle: outer ones come first, then the near, then the far, each in the order of
// cells; those that left for another rank are last. These should be among the first `suspects`.
template <Precision P>
__global__ void place_kernel(int count, int suspects, const __grid_constant__ CellOrder<P> to,
                             Depths depths, Brick own, ParticleArrays<P> from,
                             RebuildFlags* flags) {
  const int i = index_of_thread();
  if (i >= count) return;
  const typename P::Position p = from.position[i];
  const typename P::Velocity v = from.velocity[i];
  const unsigned x = high_word(p.x), y = high_word(p.y), z = high_word(p.z);
  if (outside(to.motion.frame.open, p)) atomicMax(&flags->beyond, v.tag);
  // Particles are sorted by the centers of their spheres, since lists are built from these.
  const BoundingSphere b = bounding_sphere_of<P>(to.cells, to.motion, p, v);
  const bool stays = is_in(own, x, y, z);
  if (!stays && i >= suspects) flags->strayed = 1;
  // The depth comes before the Morton key in the order, and the key of those that left is last.
  const unsigned depth = depths.of(to.cells, b.x, b.y, b.z);
  to.key[i] = stays ? morton_key(to.cells, b.x, b.y, b.z) | depth << 3 * to.cells.bits : ~0u;
  to.order[i] = static_cast<unsigned>(i);
}

// One thread per particle: takes it to its new place.
template <Precision P>
__global__ void settle_kernel(int count, const __grid_constant__ CellOrder<P> sorted,
                              ParticleArrays<P> from, SortedArrays<P> to, int2* range,
                              Bounds* bounds) {
  const int i = index_of_thread();
  if (i >= count) return;
  const unsigned old = sorted.order[i];
  const typename P::Velocity v = from.velocity[old];
  to.put(static_cast<unsigned>(i), from.position[old], v, sorted.shorts, sorted.cells,
         sorted.motion);
  to.particles.slot[i] = from.slot[old];
  to.tag[i] = v.tag;
  mark_cell(sorted.cells, i, 0, count, sorted.key, range);
  const int bits = 3 * sorted.cells.bits;
  const unsigned depth = sorted.key[i] >> bits, before = i > 0 ? sorted.key[i - 1] >> bits : 0;
  const auto here = static_cast<unsigned>(i), all = static_cast<unsigned>(count);
  // Depths ascend with i: 0 outer, 1 near, 2 far. One thread sees each boundary.
  if (before < 1 && depth >= 1) bounds->outer = here;
  if (before < 2 && depth == 2) bounds->near = here;
  if (i < count - 1) return;
  if (depth < 1) bounds->outer = all;
  if (depth < 2) bounds->near = all;
}

// migrate(), place(), sort() and settle(), in this order, are one migration. The particles are
// those of the present state, and afterwards those of State kBuilt.
template <Precision P>
class Migration {
 public:
  explicit Migration(RankContext<P>& context) : c_(context), s_(context.store) {}

  // Collective. Which of the first `suspects` particles have left goes to other ranks; those that
  // come are put behind the present ones. Outer ones can be asked while others are on their way:
  // no other comes so far in a few steps, and place() checks it. In streams.work, for which this
  // call waits.
  void migrate(int suspects) {
    suspects_ = suspects;
    const int parts = c_.ranks.ranks();
    const cudaStream_t work = c_.streams.work;
    c_.selection.count(suspects, parts, leaves());
    c_.streams.wait(work, "migration");
    // total[r]: those that go to rank r. What rank r sends here is column `rank` of all ranks'
    // rows.
    const unsigned* const total = c_.report.answers().total;
    const std::vector<std::int64_t> to(total, total + parts);
    std::vector<std::int64_t> from(to.size());
    c_.communicator().transpose(to.data(), from.data());
    leaving_ = static_cast<int>(std::accumulate(to.begin(), to.end(), std::int64_t(0)));
    arriving_ = checked_count(total_of(from, sizeof(Migrant<P>)));
    s_.ensure(picked_, leaving_);
    s_.reserve(s_.count + arriving_, 0);
    const auto here = s_.particles(s_.present(), s_.slot);
    const SlotArrays slot_arrays = s_.slot_arrays();
    // The particle's row of links, if there are any, follows it in its record.
    const std::size_t apart = bytes_with_row(sizeof(Migrant<P>), s_.links);
    const auto t = place_records<Migrant<P>>(*c_.transport, to, from, apart);
    if (leaving_ > 0) c_.selection.pick(suspects, parts, leaves(), picked_);
    launch_records(t.to, work, &pack_migrants_kernel<P>, picked_.data(), here, slot_arrays, apart,
                   t.to);
    c_.transport->exchange(t.sent, t.received, work);
    launch_records(t.from, work, &unpack_migrants_kernel<P>, t.from, apart, s_.count,
                   FreeSlots{s_.left_slot.data(), s_.slots_left, s_.slots}, here, slot_arrays,
                   c_.absent());
  }

  // Where each particle will be in memory, with the present cells and spheres; none is moved yet.
  void place() {
    c_.base.cells = c_.cells;
    const int present = s_.count + arriving_;
    launch_each(present, c_.streams.main, &place_kernel<P>, present, suspects_, c_.to_sort(),
                c_.depths, c_.own(), s_.particles(s_.present(), s_.slot), c_.report.flags());
  }
  void sort() {
    // The sort takes whole bytes: the two bits of the depth replace the lowest ones within cells.
    const int first_bit = 3 * c_.cells.bits == 24 && c_.cells.fine > 0 ? 2 : 0;
    if (const int present = s_.count + arriving_)
      s_.sort(present, first_bit, 3 * c_.cells.bits + 2);
  }

  // range: of each cell.
  void settle(DeviceBuffer<int2>& range) {
    const cudaStream_t main = c_.streams.main;
    // Particles that come fill the slots that were left before, then new ones; those that go leave
    // theirs for the next time.
    const int taken = std::min(arriving_, s_.slots_left);
    s_.slots_left -= taken;
    s_.slots += arriving_ - taken;
    launch_each(leaving_, main, &leave_slot_kernel, leaving_, picked_.data(), s_.slot.data(),
                s_.left_slot.data() + s_.slots_left);
    s_.slots_left += leaving_;
    s_.count += arriving_ - leaving_;
    range.clear(main);
    auto& built = s_.state[ParticleStore<P>::kBuilt];
    if (s_.count == 0) c_.report.bounds().clear(main);
    launch_each(s_.count, main, &settle_kernel<P>, s_.count, c_.sorted(),
                s_.particles(s_.present(), s_.slot), s_.sorted_arrays(built, s_.slot_there),
                range.data(), c_.report.bounds().data());
    s_.slot.swap(s_.slot_there);
    s_.now = ParticleStore<P>::kBuilt;
  }

 private:
  Leaves<P> leaves() const { return {c_.own(), c_.parts.data(), s_.present().position.data()}; }

  RankContext<P>& c_;
  ParticleStore<P>& s_;
  int suspects_ = 0, leaving_ = 0, arriving_ = 0;
  DeviceBuffer<unsigned> picked_;  // who leaves
};

}  // namespace manymove::dpd
