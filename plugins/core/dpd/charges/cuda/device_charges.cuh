// SPDX-License-Identifier: BSD-3-Clause
// Electrostatic forces on a GPU, with the operations of the CPU in another order where the order
// does not matter: the forces are the same bits. Of several ranks each knows the places of all
// charges and has the whole mesh, as on CPUs (cuda/distributed/charge_exchange.cuh).
#pragma once

#include <optional>

#include "../../cuda/engine_stream.cuh"
#include "../plan.h"

namespace manymove::dpd {

// The step whose forces are computed. Kernels are launched ahead: where lists have expired before
// this step, none of them does anything, because it will be launched again.
struct ChargeStep {
  StepStatus status;
  long long number;

  __device__ bool is_stale() const { return stale(status, number); }
};

// The field at a point of the mesh: one access reads all of it.
template <class Real>
struct alignas(4 * sizeof(Real)) PointField {
  Real along[4];  // the last one is unused
};

// What a charge has on the mesh: the last of its points along x and y, and its charge in units.
struct alignas(16) SpreadCharge {
  int x, y;
  double units;
};

constexpr int kOfCharge = 4;  // numbers of pairs for each charge, which fill a sector of memory

// What the kernels take; arrays are in the memory of the device.
template <Precision P>
struct DeviceChargeArrays {
  ChargeStep step;
  ChargeLaw law;
  ChargeMesh mesh;    // of order 0: none
  ChargeWaves waves;  // without a mesh
  SpecialCharges special;
  int charges, cells;  // numbers of them
  bool alone;          // without other ranks
  const typename P::Position* position;
  const TaggedCharge* charge;   // by number
  int* carrier;                 // by number: the particle, or -1 if another rank has it
  int *own, *owned;             // numbers of this rank's charges in any order; how many
  ChargedPlace *found, *place;  // by number, and in the order of cells
  // [charges][kOfCharge]: forces in units, in the order of cells; the last number is unused.
  unsigned long long* pairs;
  PlaceTail* tail;                      // by number; null: none
  unsigned *filling, *start;            // by cell, and behind these by row of the mesh
  SpreadCharge* spread;                 // in the order of rows
  typename P::Real* weight;             // [charges][3][order], the same: of splines along each edge
  unsigned long long* sums;             // [15]: ChargeTotals, then the dipole moment
  WaveSums *of_row, *of_plane;          // of the mesh
  PointField<typename P::Real>* field;  // the same, [z][y][x]
  // By plane z of the mesh: whether own charges take fields there; null: in all.
  std::uint8_t* wanted;
  Vector<typename P::Real>* force;  // by particle
};

template <Precision P>
class DeviceCharges {
 public:
  // settings and set_tilt(): as of ChargePlan. communicator: null for one rank.
  DeviceCharges(const Settings& settings, const EngineStream& stream, Communicator* communicator);

  void set_tilt(double tilt);
  // Throws std::invalid_argument for a net charge. Collective.
  void take(int count, const Topology& topology);
  // After a sort: the particles of this rank. force: with other ranks, room for their forces.
  void follow(int count, const typename P::Velocity* velocity,
              Vector<typename P::Real>* force = nullptr);
  // Launches the forces of a step: first finds the places of own charges; then, when those of all
  // ranks are there, the mesh beside the pairs, and the sum of both, by particle.
  void locate(const typename P::Position* position, const ChargeStep& step, int owned,
              bool reading);
  const Vector<typename P::Real>* launch(bool reading);
  // Waits for the sums of the last launch that was reading.
  void set_sums(EnergyAndVirial& sums) const;

  const DeviceChargeArrays<P>& arrays() const { return arrays_; }

 private:
  int influences() const {
    return plan_.mesh.half() * plan_.mesh.influences(1) * plan_.mesh.influences(2);
  }
  void fill();
  void solve(bool reading) const;
  void finish(bool reading) const;

  const EngineStream& stream_;
  Communicator* const communicator_;
  // The stream of the mesh, whose short kernels start first, and that of the places, which is the
  // same on one rank.
  const Stream mesh_{Priority::highest};
  const cudaStream_t head_;
  Event begun_, placed_, solved_;
  ChargePlan plan_;
  DeviceChargeArrays<P> arrays_{};
  DeviceArrays of_settings_, of_charges_;  // memory whose sizes follow from these
  bool filled_ = false;                    // whether the influence function or the waves are
  int bins_ = 0;                           // cells and rows of the mesh
  char* sum_memory_ = nullptr;
  std::size_t sum_bytes_ = 0;
};

}  // namespace manymove::dpd
