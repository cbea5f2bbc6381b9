// SPDX-License-Identifier: BSD-3-Clause
// A far field of the method "tree" on a CPU: charges and potential on the mesh, and what they stand
// for, sorted into cells for the sums at short range.
#pragma once

#include <span>
#include <vector>

#include "../../runtime/host_arrays.h"
#include "../source_cells.h"
#include "sweep.h"

namespace manymove::coulomb {

class CpuFarField {
 public:
  CpuFarField(FarField field, CpuSweep& sweep);

  const FarField& field() const { return field_; }

  // The charges on the mesh: all of them, or of ions that have moved. Integers: however they came
  // to be there, they are the same. Several ranks share the planes of the mesh: follow() is
  // collective then.
  void fill(std::span<const Site> sites);
  void follow(std::span<const Move> moves);
  // The potential of the charges on the mesh, which belong to `sites`.
  void refresh(std::span<const Site> sites);

  // Change of the potential of the other ions for an ion that would move, without what has moved
  // since refresh(), and a bound of its error, both in quanta; `later` terms will be added to it.
  // NaN where another ion stands exactly at either place.
  struct Change {
    double estimate, bound;
  };
  // moves: the field of what has moved since then, whose potential is added; null: nothing has.
  Change change(const State& state, const Move& move, double later,
                const CpuFarField* moves = nullptr) const;

 private:
  IndexRange planes() const { return {0, static_cast<std::size_t>(field_.mesh.points[0])}; }
  void for_planes(IndexRange planes, auto add);
  void make_cells(std::span<const Site> sites);
  // Around a place: returns how many ranges of sources may lie within reach.
  int ranges_near(const Site& at, IndexRange* ranges, double& sources) const;
  double near_potential(const State& state, const Site& at, double& sources, int& coincident) const;
  // The potential at the two places of a trial, sources and those that stand exactly there.
  struct Potentials {
    double here, there, sources;
    int at_here, at_there;
  };
  Potentials potentials(const State& state, const Move& move) const;

  // Cells along an axis within reach on either side, and ranges of a place: rows that are cut where
  // the box begins again.
  static constexpr int kReachCells = 4,
                       kMostRanges = 3 * (2 * kReachCells + 2) * (2 * kReachCells + 2);

  FarField field_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  Shares& shares_;
  SourceCells cells_;
  MeshArrays mesh_{};
  double norm_ = 0;
  HostArrays arrays_;  // of mesh_, and of memory_ for each thread
  std::size_t points_ = 1;
  std::vector<Complex<double>> twiddle_[3];
  std::vector<double*> memory_;
  std::vector<std::size_t> first_;  // of each cell, and the end
  Columns sources_;                 // sorted into these
};

}  // namespace manymove::coulomb
