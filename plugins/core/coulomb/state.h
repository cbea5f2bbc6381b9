// SPDX-License-Identifier: BSD-3-Clause
// What the two engines share on the host: input to integers, integers to output.
#pragma once

#include <memory>
#include <vector>

#include "engine.h"
#include "model.h"

namespace manymove::coulomb {

struct State {
  Parameters parameters;
  Rules rules{};
  double unit = 0;             // length of one integer unit
  double axis_unit[3] = {};    // the same along each axis of a box, to 2^-24
  std::shared_ptr<const EwaldBox> ewald;
  double self_energy = 0;      // in kT, of the ions with their own images
  std::vector<Site> sites;     // where the ions are
  std::vector<double> radius;  // in units
  std::vector<std::int32_t> species;
  std::vector<std::int64_t> atom_id;  // empty: messages count ions from 0
  Counters counters;
  __int128 change = 0;  // of the energy since the start, in quanta
};

// Checks everything and puts the ions on the grid of integers.
State make_state(const Ions& ions, const Parameters& parameters);
State make_state(const Snapshot& snapshot, const Ions& ions, const Parameters& parameters);
// Other positions of the same ions; throws and changes nothing if they are bad.
void place(State& state, const double* xyz);

// Ions by cell.
struct CellLists {
  std::vector<std::int32_t> head, next;
  Lists view() const { return {head.data(), next.data()}; }
};
void make_lists(const State& state, CellLists& lists);

Snapshot snapshot_of(const State& state);
void export_positions(const State& state, double* xyz);
double deepest_overlap(const State& state);
std::uint64_t hash_of(const State& state);
Bins bins_of(const State& state, const Histogram& histogram);

// ---- the engines of each backend, of which make_engine() of engine.h chooses one ----

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, int threads);
// One chain on one or several devices. Throws std::invalid_argument for a device that does not
// exist, and in a
// build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, const std::vector<int>& devices);

}  // namespace manymove::coulomb
