// SPDX-License-Identifier: BSD-3-Clause
// The neighbor lists of a rank's particles, and the partners of their bonds.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "../../link_rows.h"
#include "rank_context.cuh"

namespace manymove::dpd {

// Takes an empty entry of a TagIndex, for which many threads compete.
struct ClaimEntry {
  __device__ bool operator()(std::uint64_t* entry, std::uint64_t value) const {
    static_assert(sizeof(unsigned long long) == sizeof *entry);
    return atomicCAS(reinterpret_cast<unsigned long long*>(entry), 0ull,
                     static_cast<unsigned long long>(value)) == 0;
  }
};

// One thread per particle of this rank. Only those with bonds of their own can be partners, since
// bonds are in the rows of both ends.
static __global__ void know_bonded_kernel(int count, LinkedParticles links, const unsigned* tag,
                                          TagIndex known) {
  const int i = index_of_thread();
  if (i < count && links.bonds_of(i).count > 0)
    known.add(tag[i], static_cast<unsigned>(i), ClaimEntry{});
}
// One thread per ghost; the rows of ghosts are elsewhere.
template <Precision P>
__global__ void know_ghosts_kernel(int first, int number, const typename P::Velocity* velocity,
                                   TagIndex known) {
  const int k = index_of_thread(), i = first + k;
  if (k < number) known.add(velocity[i].tag, static_cast<unsigned>(i), ClaimEntry{});
}
// One thread per particle of this rank, when all are known. A partner that this rank lacks is
// reported, and no step is taken then.
static __global__ void partner_kernel(int count, LinkedParticles links, const unsigned* tag,
                                      TagIndex known, Partners to, RebuildFlags* flags,
                                      StepStatus status, long long step) {
  const int i = index_of_thread();
  if (i >= count) return;
  const unsigned lacks = find_partners(links, i, known, to);
  for (int k = 0; k < 2; ++k)
    if (lacks >> k & 1u) atomicMax(&flags->missing[k], tag[i]);
  if (lacks) expire(status, step);
}

template <Precision P>
class RankLists {
  static constexpr int kBuilt = ParticleStore<P>::kBuilt;

 public:
  explicit RankLists(RankContext<P>& context) : c_(context), s_(context.store) {}

  // Cells of the box of these settings, with so many particles of all ranks.
  void set_cells(const Settings& settings, double particles) {
    const Cells before = std::exchange(c_.cells, cells_of(settings, particles, &c_.ranks.here()));
    const Core core = c_.depths.core;
    const Cells& cells = c_.cells;
    c_.base.cells = cells;
    c_.depths = depths_of(cells, c_.own(), c_.ranks.here());
    const auto same = [](const int (&a)[3], const int (&b)[3]) { return std::equal(a, a + 3, b); };
    if (same(cells.count, before.count) && same(cells.first, before.first) &&
        same(cells.here, before.here) && c_.depths.core == core)
      return;
    // Inner ones have lists without ghosts.
    std::vector<CellIndex> inner, outer;
    const auto along = [&](int c, int a) { return (c + cells.first[a]) % cells.count[a]; };
    for (int z = 0; z < cells.here[2]; ++z)
      for (int y = 0; y < cells.here[1]; ++y)
        for (int x = 0; x < cells.here[0]; ++x) {
          const auto small = [](int c) { return static_cast<unsigned short>(c); };
          const CellIndex cell{small(x), small(y), small(z), 0};
          const int at[3] = {along(x, 0), along(y, 1), along(z, 2)};
          (is_core_cell(c_.depths.core, at) ? inner : outer).push_back(cell);
        }
    inner_cells_ = on_device(inner, c_.streams.main);
    outer_cells_ = on_device(outer, c_.streams.main);
    const std::size_t all = static_cast<std::size_t>(cells.here[0]) * cells.here[1] * cells.here[2];
    for (auto* each : {&range, &ghost_range}) *each = DeviceBuffer<int2>(all);
  }

  // Lists particles of inner cells or of the others, in streams.work.
  void list(bool inner) {
    s_.lists_lost = false;
    const auto& cells = inner ? inner_cells_ : outer_cells_;
    if (s_.count == 0 || cells.size() == 0) return;
    const ListArguments arguments{c_.cells,
                                  !c_.base.motion.frame.tilted,
                                  c_.base.status,
                                  range.data(),
                                  s_.lists(),
                                  s_.linked(),
                                  excluded_kinds(c_.settings.pairs),
                                  s_.sphere.data(),
                                  static_cast<int>(cells.size()),
                                  cells.data(),
                                  inner ? nullptr : ghost_range.data()};
    const auto kernel =
        s_.links.specials > 0 ? &list_kernel<P, true, true> : &list_kernel<P, false, true>;
    kernel<<<blocks_for(static_cast<int>(cells.size()), kThreads / 32), kThreads, 0,
             c_.streams.work>>>(arguments, s_.state[kBuilt].velocity.data());
    check_launch();
  }

  // Called when all particles and ghosts are in their places, at this step.
  void find_partners(std::int64_t step) {
    if (s_.links.bonds == 0 || s_.count == 0) return;
    const cudaStream_t main = c_.streams.main;
    const TagIndex known = tag_index(std::int64_t{s_.count} + s_.ghosts);
    // Tags of own particles with bonds and of all ghosts go into one hash table.
    launch_each(s_.count, main, &know_bonded_kernel, s_.count, s_.linked(), s_.tag.data(), known);
    launch_each(s_.ghosts, main, &know_ghosts_kernel<P>, s_.first_ghost(s_.count), s_.ghosts,
                s_.state[kBuilt].velocity.data(), known);
    launch_each(s_.count, main, &partner_kernel, s_.count, s_.linked(), s_.tag.data(), known,
                s_.bonds(), c_.report.flags(), c_.report.status(), step);
  }

  DeviceBuffer<int2> range, ghost_range;  // of each cell

 private:
  // An empty table with room for this many particles.
  TagIndex tag_index(std::int64_t particles) {
    const int bits = TagIndex::bits_for(particles);
    const auto entries = static_cast<std::size_t>(1) << bits;
    s_.ensure(known_tag_, entries);
    check(cudaMemsetAsync(known_tag_.data(), 0, entries * sizeof(std::uint64_t), c_.streams.main),
          "clear");
    return {known_tag_.data(), bits};
  }

  RankContext<P>& c_;
  ParticleStore<P>& s_;
  DeviceBuffer<CellIndex> inner_cells_, outer_cells_;
  DeviceBuffer<std::uint64_t> known_tag_;
};

}  // namespace manymove::dpd
