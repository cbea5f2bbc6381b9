// SPDX-License-Identifier: BSD-3-Clause
// Kernels of the mesh of charges: from the charges at its points to waves, and back to fields.
#pragma once

#include "../../../runtime/fft.cuh"
#include "device_charges.cuh"

namespace manymove::dpd {

namespace {

// ChargeMesh::waves and twiddle in the precision of the mesh.
template <class Real>
__device__ Complex<Real>* waves_of(const ChargeMesh& mesh, int which) {
  return reinterpret_cast<Complex<Real>*>(mesh.waves[which]);
}
template <class Real>
__device__ const Complex<Real>* twiddle_of(const ChargeMesh& mesh, int axis) {
  return reinterpret_cast<const Complex<Real>*>(mesh.twiddle[axis]);
}

// The pair of rows of a thread among those of a block along x. A thread has the same pair in all
// stages (fft_stage()).
template <class Real>
struct RowsOfThread {
  static constexpr int kLines = kLinesOf<Real>;
  const int pair, row;
  const bool there, paired;
  const std::int64_t begin, waves;  // of their points, of their waves

  __device__ explicit RowsOfThread(const ChargeMesh& mesh)
      : pair(kLines * static_cast<int>(blockIdx.x) + static_cast<int>(threadIdx.x) % kLines),
        row(mesh.first_row(pair)),
        there(pair < mesh.pairs_of_rows()),
        paired(there && mesh.has_partner(pair)),
        begin(static_cast<std::int64_t>(row) * mesh.points[0]),
        waves(static_cast<std::int64_t>(row) * mesh.pitch()) {}
};

// Whether this rank has charges that take fields from one of these planes of the mesh.
__device__ bool any_wanted(const std::uint8_t* wanted, int first, int last) {
  bool any = !wanted;
  for (int plane = first; !any && plane <= last; ++plane) any = wanted[plane];
  return any;
}

// One block for kLinesOf<Real> pairs of rows: from charges to waves along x.
template <class Real>
__global__ void __launch_bounds__(kMostFftThreads)
    charges_to_waves_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ double2 memory[];
  if (step.is_stale()) return;
  constexpr int lines = kLinesOf<Real>;
  const int length = mesh.points[0], half = mesh.half(),
            first = lines * static_cast<int>(blockIdx.x);
  auto a = shared_lines<Real>(memory, length, 0), b = shared_lines<Real>(memory, length, 1);
  const RowsOfThread<Real> own(mesh);
  const Real* const charge = reinterpret_cast<const Real*>(mesh.charge) + own.begin;
  const auto load = [&](int x, int) {
    return Complex<Real>{own.there ? charge[x] : 0, own.paired ? charge[length + x] : 0};
  };
  // The last stage does not read this memory, so that its result can be there.
  const auto store = [&](int k, int line, const Complex<Real>& value) { b(k, line, value); };
  transform_lines(mesh.plan[0], twiddle_of<Real>(mesh, 0), load, store, a, b);
  for (int item = static_cast<int>(threadIdx.x); item < half * lines;
       item += static_cast<int>(blockDim.x)) {
    const int k = item % half, line = item / half, pair = first + line;
    if (pair >= mesh.pairs_of_rows()) return;
    Complex<Real> one, two;
    apart(b(k, line), b(k == 0 ? 0 : length - k, line), one, two);
    auto* const waves =
        waves_of<Real>(mesh, 0) + static_cast<std::int64_t>(mesh.first_row(pair)) * mesh.pitch();
    waves[k] = one;
    if (mesh.has_partner(pair)) waves[mesh.pitch() + k] = two;
  }
}

// The reverse, of all fields in the planes that are wanted. A thread has the three of its points in
// turn, and writes all at once.
template <class Real>
__global__ void __launch_bounds__(kMostFftThreads)
    waves_to_fields_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step,
                           const std::uint8_t* wanted, PointField<Real>* field) {
  extern __shared__ double2 memory[];
  const int lines = kLinesOf<Real>, begin = lines * static_cast<int>(blockIdx.x),
            last = min(begin + lines, mesh.pairs_of_rows()) - 1;
  if (step.is_stale() ||
      !any_wanted(wanted, begin / mesh.pairs_of_plane(), last / mesh.pairs_of_plane()))
    return;
  const int length = mesh.points[0], half = mesh.half(), pitch = mesh.pitch();
  auto a = shared_lines<Real>(memory, length, 0), b = shared_lines<Real>(memory, length, 3);
  const RowsOfThread<Real> own(mesh);
  field += own.begin;
#pragma unroll 1
  for (int axis = 0; axis < 3; ++axis) {
    const auto* const waves = waves_of<Real>(mesh, axis) + own.waves;
    const auto load = [&](int k, int) {
      const int at = k < half ? k : length - k;
      const Complex<Real> one = own.there ? waves[at] : Complex<Real>{0, 0},
                          two = own.paired ? waves[pitch + at] : Complex<Real>{0, 0};
      return k < half ? together(one, two) : together(conjugate(one), conjugate(two));
    };
    const auto store = [&](int k, int line, const Complex<Real>& value) {
      if (axis < 2) return shared_lines<Real>(memory, length, 1 + axis)(k, line, value);
      const Complex<Real> x = shared_lines<Real>(memory, length, 1)(k, line),
                          y = shared_lines<Real>(memory, length, 2)(k, line);
      if (own.there) field[k] = {x.re, y.re, value.re, 0};
      if (own.paired) field[length + k] = {x.im, y.im, value.im, 0};
    };
    transform_lines(mesh.plan[0], twiddle_of<Real>(mesh, 0), load, store, a, b);
  }
}

// The line of a thread among those of a block along y or z. A thread has the same line in all
// stages (fft_stage()).
template <class Real>
struct WavesOfThread {
  static constexpr int kLines = kLinesOf<Real>;
  const WaveLines along;
  const int line;
  const bool there;
  const std::int64_t begin;

  __device__ WavesOfThread(const ChargeMesh& mesh, int axis)
      : along(mesh, axis),
        line(kLines * static_cast<int>(blockIdx.x) + static_cast<int>(threadIdx.x) % kLines),
        there(along.has(line)),
        begin(along.begin(line)) {}
  __device__ std::int64_t at(int k) const {
    return begin + static_cast<std::int64_t>(k) * along.stride;
  }
};

// Lines of waves along y or z, of the first waves and, for blockIdx.y = 1, of the last ones.
template <class Real>
__global__ void __launch_bounds__(kMostFftThreads)
    fft_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step, int axis) {
  extern __shared__ double2 memory[];
  if (step.is_stale()) return;
  const int length = mesh.points[axis];
  auto a = shared_lines<Real>(memory, length, 0), b = shared_lines<Real>(memory, length, 1);
  const WavesOfThread<Real> own(mesh, axis);
  auto* const waves = waves_of<Real>(mesh, 2 * static_cast<int>(blockIdx.y));
  const auto load = [&](int k, int) { return own.there ? waves[own.at(k)] : Complex<Real>{0, 0}; };
  const auto store = [&](int k, int, const Complex<Real>& value) {
    if (own.there) waves[own.at(k)] = value;
  };
  transform_lines(mesh.plan[axis], twiddle_of<Real>(mesh, axis), load, store, a, b);
}

// Lines of waves along y: from the transforms along z to the fields along x and y, or, for
// blockIdx.y = 1, along z.
template <class Real>
__global__ void __launch_bounds__(kMostFftThreads)
    fields_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step,
                  const std::uint8_t* wanted) {
  extern __shared__ double2 memory[];
  // A block has lines of one plane.
  const int plane = kLinesOf<Real> * static_cast<int>(blockIdx.x) / mesh.pitch();
  if (step.is_stale() || !any_wanted(wanted, plane, plane)) return;
  const int length = mesh.points[1];
  auto a = shared_lines<Real>(memory, length, 0), b = shared_lines<Real>(memory, length, 1);
  const WavesOfThread<Real> own(mesh, 1);
  const int x = own.line % mesh.pitch();
  const auto* const waves = waves_of<Real>(mesh, 2 * static_cast<int>(blockIdx.y));
  // The field along x is the last one, because it takes the place of the potential.
  for (int axis = blockIdx.y == 0 ? 1 : 2; axis >= 2 * static_cast<int>(blockIdx.y); --axis) {
    const auto load = [&](int k, int) {
      return own.there ? waves[own.at(k)] * slope<Real>(mesh, axis, x, k) : Complex<Real>{0, 0};
    };
    const auto store = [&](int k, int, const Complex<Real>& value) {
      if (own.there) waves_of<Real>(mesh, axis)[own.at(k)] = value;
    };
    transform_lines(mesh.plan[1], twiddle_of<Real>(mesh, 1), load, store, a, b);
  }
}

// Lines of waves along z: from the transform of the charges along x and y to those of potential and
// field along z.
// With kMostFftThreads as the bound, the compiler takes fewer registers, and spills.
template <class Real>
__global__ void __launch_bounds__(256)
    solve_lines_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ double2 memory[];
  if (step.is_stale()) return;
  const int length = mesh.points[2];
  auto a = shared_lines<Real>(memory, length, 0), b = shared_lines<Real>(memory, length, 2);
  const auto potential = shared_lines<Real>(memory, length, 1);
  const WavesOfThread<Real> own(mesh, 2);
  const int x = own.line % mesh.pitch(), y = own.line / mesh.pitch();
  const auto* const waves = waves_of<Real>(mesh, 0);
  const auto load = [&](int k, int) { return own.there ? waves[own.at(k)] : Complex<Real>{0, 0}; };
  transform_lines(mesh.plan[2], twiddle_of<Real>(mesh, 2), load, potential, a, b);
  // Not in stages, which would need many more registers.
  for (int item = static_cast<int>(threadIdx.x); own.there && item < length * kLinesOf<Real>;
       item += static_cast<int>(blockDim.x)) {
    const int k = item / kLinesOf<Real>, line = item % kLinesOf<Real>;
    WaveSums none;
    potential(k, line, potential_of<false>(mesh, x, y, k, potential(k, line), none));
  }
  __syncthreads();
#pragma unroll 1
  for (int axis = 0; axis < 3; axis += 2) {
    const auto field = [&](int k, int line) {
      return axis == 0 ? potential(k, line)
                       : potential(k, line) * slope_along_z<Real>(mesh, x, y, k);
    };
    const auto store = [&](int k, int, const Complex<Real>& value) {
      if (own.there) waves_of<Real>(mesh, axis)[own.at(k)] = value;
    };
    transform_lines(mesh.plan[2], twiddle_of<Real>(mesh, 2), field, store, a, b);
  }
}

// One thread per row of waves, with its sums.
template <class Real>
__global__ void solve_rows_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step,
                                  WaveSums* of_row) {
  const int row = index_of_thread();
  if (row >= mesh.rows() || step.is_stale()) return;
  WaveSums sums;
  const std::int64_t begin = static_cast<std::int64_t>(row) * mesh.pitch();
  auto *const waves = waves_of<Real>(mesh, 0) + begin, *const last =
                                                           waves_of<Real>(mesh, 2) + begin;
  for (int x = 0; x < mesh.half(); ++x) {
    const int y = row % mesh.points[1], z = row / mesh.points[1];
    waves[x] = potential_of<true>(mesh, x, y, z, waves[x], sums);
    last[x] = waves[x] * slope_along_z<Real>(mesh, x, y, z);
  }
  of_row[row] = sums;
}
// One thread per plane.
__global__ void add_rows_kernel(int rows, int planes, const WaveSums* of_row, WaveSums* of_plane) {
  const int plane = index_of_thread();
  if (plane >= planes) return;
  WaveSums sums;
  for (int y = 0; y < rows; ++y) sums.add(of_row[plane * rows + y]);
  of_plane[plane] = sums;
}

}  // namespace

}  // namespace manymove::dpd
