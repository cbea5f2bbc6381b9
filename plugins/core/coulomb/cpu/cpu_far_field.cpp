// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_far_field.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace manymove::coulomb {
CpuFarField::CpuFarField(FarField field, CpuSweep& sweep)
    : field_(std::move(field)),
      kernels_(sweep.kernels),
      pool_(sweep.pool),
      shares_(sweep.shares),
      cells_(sweep.state.rules, field_.mesh.reach / kReachCells) {
  const MeshRules& m = field_.mesh;
  for (int a = 0; a < 3; ++a) {
    points_ *= static_cast<std::size_t>(m.points[a]);
    mesh_.plan[a] = fft_plan(m.length[a]);
    mesh_.longest = std::max(mesh_.longest, m.length[a]);
    twiddle_[a] = fft_twiddles(m.length[a]);
    mesh_.twiddle[a] = twiddle_[a].data();
  }
  arrays_.make(points_, mesh_.charge, mesh_.potential);
  // Waves of one x: rows of half the wave numbers along z for each of the padded length along y.
  // Padding along x is in the buffers of threads only.
  arrays_.make(static_cast<std::size_t>(m.points[0]) * m.length[1] * field_.half[2], mesh_.re,
               mesh_.im);
  memory_.resize(pool_.size());
  for (double*& memory : memory_) arrays_.make(4 * 8 * std::size_t(mesh_.longest), memory);
  first_.resize(cells_.count() + 1);
  mesh_.rules = &field_.mesh;
  mesh_.factor = field_.factor.data();
  mesh_.stride = field_.half[2];
  mesh_.half_y = field_.half[1];
}

// Calls add(first, end) for planes of the mesh, some at a time for each thread: the charges are
// integers, so that their sums do not depend on how many.
void CpuFarField::for_planes(IndexRange planes, auto add) {
  const int first = static_cast<int>(planes.begin), end = static_cast<int>(planes.end),
            threads = pool_.size();
  const int some = std::max(1, threads == 1 ? end - first : (end - first) / (3 * threads));
  for_each_item(pool_, (end - first + some - 1) / some, [&](int item, int) {
    add(first + item * some, std::min(end, first + (item + 1) * some));
  });
}

void CpuFarField::fill(std::span<const Site> sites) {
  std::fill_n(mesh_.charge, points_, 0);
  for_planes(planes(), [&](int first, int end) {
    for (const Site& site : sites) kernels_.add_charge(mesh_, site, 1, first, end);
  });
}

void CpuFarField::follow(std::span<const Move> moves) {
  for_planes(shares_.mine(planes()), [&](int first, int end) {
    for (const Move& move : moves) {
      kernels_.add_charge(mesh_, move.from, -1, first, end);
      kernels_.add_charge(mesh_, move.to, 1, first, end);
    }
  });
  shares_.gather_rows(planes(), points_ / planes().end, mesh_.charge);
}

void CpuFarField::refresh(std::span<const Site> sites) {
  const MeshRules& m = field_.mesh;
  std::vector<double> squares(static_cast<std::size_t>(m.points[0]));
  for_each_item(pool_, m.points[0], [&](int x, int thread) {
    // Along z and y within a plane of one x, then along x there and back with phi_k = G_k rho_k
    // between, and back within the planes.
    squares[static_cast<std::size_t>(x)] = kernels_.forward_z(mesh_, x, memory_[thread]);
    kernels_.along_y(mesh_, x, false, memory_[thread]);
  });
  for_each_item(pool_, m.length[1],
                [&](int ky, int thread) { kernels_.along_x(mesh_, ky, memory_[thread]); });
  for_each_item(pool_, m.points[0], [&](int x, int thread) {
    kernels_.along_y(mesh_, x, true, memory_[thread]);
    kernels_.inverse_z(mesh_, x, memory_[thread]);
  });
  // Plane by plane in one thread: the sum does not depend on the number of threads.
  double sum = 0;
  for (const double s : squares) sum += s;
  norm_ = std::sqrt(sum);
  make_cells(sites);
}

void CpuFarField::make_cells(std::span<const Site> sites) {
  // Sorts sources by cell: cell c has those from first_[c] to before first_[c + 1].
  std::fill(first_.begin(), first_.end(), 0);
  for (const Site& s : sites) ++first_[cells_.at(s) + 1];
  for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
  constexpr std::size_t kBeyond = 16;  // what SIMD registers read beyond the last one
  sources_.resize(sites.size() + kBeyond);
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const Site& s : sites) sources_.put(next[cells_.at(s)]++, s);
}

int CpuFarField::ranges_near(const Site& at, IndexRange* ranges, double& sources) const {
  const RowsNearby rows(cells_, at, field_.mesh.reach);
  int count = 0;
  for (int row = 0; row < rows.count(); ++row)
    // Cells of a row are consecutive, and so are their sources: one range, or two across a face.
    rows.for_pieces(row, [&](int, std::size_t first, std::size_t end) {
      const IndexRange range{first_[first], first_[end]};
      if (range.begin == range.end) return;
      ranges[count++] = range;
      sources += static_cast<double>(range.end - range.begin);
    });
  return count;
}

double CpuFarField::near_potential(const State& state, const Site& at, double& sources,
                                   int& coincident) const {
  IndexRange ranges[kMostRanges];
  const int count = ranges_near(at, ranges, sources);
  return kernels_.near_potential(state.rules, field_.mesh, sources_.partners(), ranges, count, at,
                                 coincident);
}

CpuFarField::Potentials CpuFarField::potentials(const State& state, const Move& move) const {
  Potentials p{};
  p.there = near_potential(state, move.to, p.sources, p.at_there) +
            kernels_.far_potential(mesh_, move.to);
  p.here = near_potential(state, move.from, p.sources, p.at_here) +
           kernels_.far_potential(mesh_, move.from);
  return p;
}

CpuFarField::Change CpuFarField::change(const State& state, const Move& move, double later,
                                        const CpuFarField* moves) const {
  const Site &from = move.from, &to = move.to;
  Potentials p = potentials(state, move);
  double error_of_moves = 0;
  if (moves) {
    const Potentials more = moves->potentials(state, move);
    p = {p.here + more.here, p.there + more.there, p.sources + more.sources,
         p.at_here + more.at_here, p.at_there + more.at_there};
    error_of_moves = error_of(moves->field_.bound, moves->norm_, 0, 0);
  }
  // A trial that rounds to no displacement changes nothing.
  const bool rests = from.x == to.x && from.y == to.y && from.z == to.z;
  // Only the ion itself may stand at one of the places; else the trial is decided by a direct sum.
  if (p.at_here != 1 || (!rests && p.at_there != 0)) return {std::nan(""), 0};
  if (rests) return {0, 0};
  // Without the ion's own potential z psi(r), r from one place to the other: where it is now, only
  // the far part of that is in the estimate.
  const double own = for_space(state.rules, [&](auto space) {
    return unit_potential<space()>(state.rules, state.rules.rest,
                                   separation<space()>(state.rules, to, from));
  });
  const double change = p.there - p.here - double{from.charge} * (own - field_.mesh.at_zero);
  // The error's bound of docs/theory/coulomb.md, section 8: of the far field, and 16 u (n + 64) of
  // the sums' magnitudes.
  const double terms = later + p.sources;
  return {change * field_.quanta,
          error_of(field_.bound, norm_, terms, 16 * (terms + 64)) + error_of_moves};
}

}  // namespace manymove::coulomb
