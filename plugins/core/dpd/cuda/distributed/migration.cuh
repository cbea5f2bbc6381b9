// SPDX-License-Identifier: BSD-3-Clause
// Particles move to the ranks whose parts they have come to, and to their new places in memory.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "rank_context.cuh"
#include "record_exchange.cuh"

namespace manymove::dpd {

// migrate(), place(), sort() and settle(), in this order, are one migration. The particles are
// those of the present state, and afterwards those of State kBuilt.
template <class P>
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
    const unsigned* const total = c_.report.answers().total;
    const std::vector<std::int64_t> to(total, total + parts);
    std::vector<std::int64_t> from(to.size());
    c_.communicator().transpose(to.data(), from.data());
    leaving_ = static_cast<int>(std::accumulate(to.begin(), to.end(), std::int64_t(0)));
    arriving_ = checked_count(std::accumulate(from.begin(), from.end(), std::int64_t(0)));
    s_.ensure(picked_, leaving_);
    s_.reserve(s_.count + arriving_, 0);
    const auto here = s_.particles(s_.present(), s_.slot);
    const SlotArrays slot_arrays = s_.slot_arrays();
    const std::size_t apart = bytes_with_row(sizeof(Migrant<P>), s_.links);
    const auto t = place_records<Migrant<P>>(*c_.transport, to, from, apart);
    if (leaving_ > 0) {
      c_.selection.pick(suspects, parts, leaves(), picked_);
      pack_migrants_kernel<P>
          <<<grid_of(t.to), kSorters, 0, work>>>(picked_.data(), here, slot_arrays, apart, t.to);
      check_launch();
    }
    c_.transport->exchange(t.sent, t.received, work);
    if (arriving_ > 0) {
      unpack_migrants_kernel<P><<<grid_of(t.from), kSorters, 0, work>>>(
          t.from, apart, s_.count, FreeSlots{s_.left_slot.data(), s_.slots_left, s_.slots}, here,
          slot_arrays, c_.absent());
      check_launch();
    }
  }

  // Where each particle will be in memory; none is moved yet.
  // steps: since the last build, zero if there was none.
  void place(std::int64_t steps) {
    look_ahead(c_.cells, c_.settings.time_step, steps);
    c_.base.cells = c_.cells;
    const int present = s_.count + arriving_;
    if (present == 0) return;
    place_kernel<P><<<blocks_for(present, kSorters), kSorters, 0, c_.streams.main>>>(
        present, suspects_, c_.cells, c_.base.motion, c_.depths, c_.own(),
        s_.present().position.data(), s_.present().velocity.data(), s_.key[0].data(),
        s_.order[0].data(), c_.report.flags());
    check_launch();
  }
  void sort() {
    // By bytes: the two bits of the depth take the place of the least ones within cells.
    const int first_bit = 3 * c_.cells.bits == 24 && c_.cells.fine > 0 ? 2 : 0;
    if (const int present = s_.count + arriving_)
      s_.sort(present, first_bit, 3 * c_.cells.bits + 2);
  }

  // range: of each cell.
  void settle(DeviceBuffer<int2>& range) {
    const cudaStream_t main = c_.streams.main;
    const int taken = std::min(arriving_, s_.slots_left);
    s_.slots_left -= taken;
    s_.slots += arriving_ - taken;
    if (leaving_ > 0) {
      leave_slot_kernel<<<blocks_for(leaving_, kSorters), kSorters, 0, main>>>(
          leaving_, picked_.data(), s_.slot.data(), s_.left_slot.data() + s_.slots_left);
      check_launch();
      s_.slots_left += leaving_;
    }
    s_.count += arriving_ - leaving_;
    range.clear(main);
    auto& built = s_.state[ParticleStore<P>::kBuilt];
    if (s_.count > 0) {
      settle_kernel<P><<<blocks_for(s_.count, kSorters), kSorters, 0, main>>>(
          s_.count, c_.cells, c_.base.motion, c_.base.shorts, s_.sorted_key, s_.sorted,
          s_.particles(s_.present(), s_.slot), s_.particles(built, s_.slot_there),
          built.shorts.data(), s_.tag.data(), s_.ball.data(), range.data(),
          c_.report.bounds().data());
      check_launch();
    } else {
      c_.report.bounds().clear(main);
    }
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
