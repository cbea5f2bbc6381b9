// SPDX-License-Identifier: BSD-3-Clause
// Constant pressure on a GPU: what a trial change of the volume needs of the particles, and their
// cells after it.
#pragma once

#include "../../runtime/device.cuh"
#include "../constant_pressure/volume.h"
#include "../state.h"
#include "launch_config.h"

namespace manymove::hard_particles {

// What the device has chosen.
struct BoxChoice {
  unsigned long long least;  // the bits of a positive float64, while kernels look for it
  unsigned int blocks;       // that have ended
  unsigned int for_host;
  Scale scale;
  unsigned long long found[3];  // like `least`, in turn: of searches by cycles
};

// The trial changes of the volume after a cycle. The host foretells their outcomes and the device
// chooses among them, so that the next cycle can be enqueued before the host knows the answer. All
// calls need the engine's device and work in the order of its stream.
class BoxMoves {
 public:
  BoxMoves(const State& state, cudaStream_t stream);

  // Enqueues the search for the least ratio, and what the answer changes on the device. Cells are
  // from this rank's first on, and after the last those of two rows of the next rank.
  // With `searched` the last cycle has looked for the least ratio, with search(); with `deferred`
  // the kernel of the next one chooses, with choice().
  void begin(State& state, const LawTables& tables, const Sphere* spheres,
             const std::uint32_t* counts, bool searched, bool deferred, cudaStream_t stream);
  PairSearch search(const State& state, const double* reference);
  bool begun() const { return begun_; }
  // What a cycle needs that is enqueued between begin() and end(): the scale that was chosen, and
  // whether the cycle must be left out, because something is left to the host.
  const Scale* scale() const { return deferred_ ? nullptr : &choice_.data()->scale; }
  const unsigned int* for_host() const { return deferred_ ? nullptr : &choice_.data()->for_host; }
  VolumeChoice choice() const { return begun_ && deferred_ ? next_ : VolumeChoice{}; }
  // Waits for the answer.
  BoxAnswer end(cudaStream_t stream);

  // With steps, the pairs of this rank that the trial changes may move across a range; begin() says
  // which cells. Waits for the device.
  std::vector<Crossing> crossings(const State& state, const Law& law, const StepView& steps,
                                  const Sphere* spheres, const std::uint32_t* counts,
                                  cudaStream_t stream);

  // The tables of the law in the integer units of the state's volume.
  Rescaling rescaling(const State& state, const LawTables& tables) const;
  // With a choice, in those of the one that the device has chosen, unless that is left to the host.
  static void rescale(const Rescaling& rescaling, const BoxChoice* choice, cudaStream_t stream);
  // Puts the particles of one grid into the cells of another with the same lattice, in any order
  // within a cell. A cell without room sets `corrupt`.
  static void change_cells(const Geometry& from, const Sphere* spheres, const std::uint32_t* counts,
                           const Geometry& to, Sphere* new_spheres, std::uint32_t* new_counts,
                           unsigned int* corrupt, cudaStream_t stream);

  // ---- many systems that share launches ----
  // The kernels of a search, with kLanes threads for each cell, and of changes of the tables, with
  // a thread for each value; with so many threads in a block.
  static constexpr unsigned kThreads = 128, kLanes = 4;
  static void (*search_of_systems(int dimensions, Contact contact))(const System*);
  static void (*rescale_of_systems())(const System*);
  // A search, after which this is the least ratio of all pairs that it looks at.
  RatioSearch search_of_all(const State& state, const LawTables& tables) const;
  double least_ratio() const { return answer_->least_ratio; }

 private:
  Law reference(const State& state, const LawTables& tables) const;

  DeviceBuffer<double> contacts_, sigmas_;  // of types, in the caller's unit; contacts squared
  DeviceBuffer<BoxChoice> choice_;
  MappedMemory<BoxAnswer> answer_;
  DeviceBuffer<Crossing> crossings_;
  DeviceBuffer<unsigned int> number_of_crossings_{1};
  unsigned int number_ = 0, searches_ = 0;
  bool begun_ = false, deferred_ = false;
  VolumeChoice next_{};
};

}  // namespace manymove::hard_particles
