// SPDX-License-Identifier: BSD-3-Clause
// Electrostatic forces on the GPUs of several ranks: the places of all charges come to each rank,
// which then has the mesh of one GPU and computes the forces on its own charges. Sums are integers:
// the forces are the same bits on any number of ranks.
#pragma once

#include <algorithm>
#include <vector>

#include "../../charges/cuda/device_charges.cuh"
#include "rank_context.cuh"

namespace manymove::dpd {

// number: of the charge, among those of all ranks.
struct PlaceRecord {
  std::uint32_t x, y, z, number;
  PlaceTail tail;
};

// All records for a rank are those of the `owned` charges.
static __global__ void pack_places_kernel(int owned, const int* own, const ChargedPlace* found,
                                          const PlaceTail* tail,
                                          const __grid_constant__ Records<PlaceRecord> to) {
  const int k = to.index();
  if (k < 0) return;
  const ChargedPlace& p = found[own[k % owned]];
  const auto number = static_cast<std::uint32_t>(own[k % owned]);
  to.mine() = {p.x, p.y, p.z, number, tail ? tail[number] : PlaceTail{0, 0, 0}};
}
static __global__ void unpack_places_kernel(const __grid_constant__ Records<PlaceRecord> from,
                                            int charges, const TaggedCharge* charge,
                                            ChargedPlace* found, PlaceTail* tail) {
  if (from.index() < 0) return;
  const PlaceRecord p = from.mine();
  // What has not come, because the host has given up, is undefined.
  if (p.number >= static_cast<std::uint32_t>(charges)) return;
  found[p.number] = {p.x, p.y, p.z, p.number, charge[p.number].charge};
  if (tail) tail[p.number] = p.tail;
}

template <Precision P>
class ChargeExchange {
 public:
  ChargeExchange(const Settings& settings, RankContext<P>& context)
      : c_(context), charges_(settings, context.streams.main, &context.communicator()) {}

  void set_tilt(double tilt) { charges_.set_tilt(tilt); }
  // Collective.
  void take(int count, const Topology& topology) { charges_.take(count, topology); }
  // In streams.main, after a migration.
  void follow() {
    const ParticleStore<P>& s = c_.store;
    s.ensure(force_, s.owned_capacity);
    charges_.follow(s.count, s.present().velocity.data(), force_.data());
    copy_out(owned_.get(), charges_.arrays().owned, sizeof(int), c_.streams.main);
  }
  // Collective. After follow(), when the host has waited for it.
  void count() {
    const auto ranks = static_cast<std::size_t>(c_.ranks.ranks());
    const auto self = static_cast<std::size_t>(c_.ranks.rank());
    const std::int64_t own = *owned_;
    from_ = c_.communicator().gathered(own);
    const std::int64_t most = *std::max_element(from_.begin(), from_.end());
    to_.assign(ranks, own);
    to_[self] = from_[self] = 0;
    c_.transport->expect(static_cast<std::size_t>(most) * sizeof(PlaceRecord));
  }
  // Collective: launches the forces of a step in streams.main, and the exchange in streams.ahead().
  void launch(const typename P::Position* position, const ChargeStep& step, bool reading) {
    const cudaStream_t main = c_.streams.main, stream = c_.streams.ahead();
    const DeviceChargeArrays<P>& a = charges_.arrays();
    charges_.locate(position, step, *owned_, reading);
    located_.record(main);
    located_.hold(stream);
    const auto t = place_records<PlaceRecord>(*c_.transport, to_, from_);
    launch_records(t.to, stream, &pack_places_kernel, *owned_, a.own, a.found, a.tail, t.to);
    c_.transport->exchange(t.sent, t.received, stream);
    launch_records(t.from, stream, &unpack_places_kernel, t.from, a.charges, a.charge, a.found,
                   a.tail);
    there_.record(stream);
    there_.hold(main);
    charges_.launch(reading);
  }
  const Vector<typename P::Real>* forces() const { return force_.data(); }
  void set_sums(EnergyAndVirial& sums) const { charges_.set_sums(sums); }

 private:
  RankContext<P>& c_;
  DeviceCharges<P> charges_;
  DeviceBuffer<Vector<typename P::Real>> force_;  // by particle
  MappedMemory<int> owned_;                       // charges of this rank
  std::vector<std::int64_t> to_, from_;           // how many, by rank
  Event located_, there_;
};

}  // namespace manymove::dpd
