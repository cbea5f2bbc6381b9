// SPDX-License-Identifier: BSD-3-Clause
// Kernels of the mesh of charges: from the charges at its points to waves, and back to fields.
#pragma once

#include "../../../runtime/fft.cuh"
#include "device_charges.cuh"

namespace manymove::dpd {

namespace {

template <class Real>
__device__ Wave as_stored(const Wave& wave) {
  return {static_cast<Real>(wave.re), static_cast<Real>(wave.im)};
}
// ChargeMesh::waves as they are stored.
template <class Real>
struct StoredWaves {
  struct alignas(2 * sizeof(Real)) Number {
    Real re, im;
  };
  Number* const number;

  __device__ StoredWaves(const ChargeMesh& mesh, int which, std::int64_t first = 0)
      : number(reinterpret_cast<Number*>(mesh.waves[which]) + first) {}
  __device__ Wave operator[](std::int64_t k) const {
    const Number wave = number[k];
    return {wave.re, wave.im};
  }
  __device__ void set(std::int64_t k, const Wave& wave) const {
    number[k] = {static_cast<Real>(wave.re), static_cast<Real>(wave.im)};
  }
};

// The pair of rows of a thread among kLines pairs of rows along x. A thread has the same pair in
// all stages (fft_stage()).
struct RowsOfThread {
  const int row;
  const bool there, paired;
  const std::int64_t begin, waves;  // of their points, of their waves

  __device__ explicit RowsOfThread(const ChargeMesh& mesh)
      : row(2 * (kLines * static_cast<int>(blockIdx.x) + static_cast<int>(threadIdx.x) % kLines)),
        there(row < mesh.rows()),
        paired(row + 1 < mesh.rows()),
        begin(static_cast<std::int64_t>(row) * mesh.points[0]),
        waves(static_cast<std::int64_t>(row) * mesh.pitch()) {}
};

// One block for kLines pairs of rows: from charges, which are 0 afterwards, to waves along x.
template <class Real>
__global__ void __launch_bounds__(kMostFftThreads)
    charges_to_waves_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ double2 memory[];
  if (step.is_stale()) return;
  const int length = mesh.points[0], half = mesh.half(),
            first = 2 * kLines * static_cast<int>(blockIdx.x);
  SharedLines a = shared_lines(memory, length, 0), b = shared_lines(memory, length, 1);
  const RowsOfThread own(mesh);
  const std::int64_t* const charge = mesh.charge + own.begin;
  const auto load = [&](int x, int) {
    return Wave{own.there ? static_cast<double>(charge[x]) * mesh.charge_unit : 0,
                own.paired ? static_cast<double>(charge[length + x]) * mesh.charge_unit : 0};
  };
  // The last stage does not read this memory, so that its result can be there.
  const auto store = [&](int k, int line, const Wave& value) { b(k, line, value); };
  transform_lines(mesh.plan[0], mesh.twiddle[0], load, store, a, b);
  // Not in load(), whose next number would wait for the one before it.
  for (int k = static_cast<int>(threadIdx.x); k < min(2 * kLines, mesh.rows() - first) * length;
       k += static_cast<int>(blockDim.x))
    mesh.charge[static_cast<std::int64_t>(first) * length + k] = 0;
  for (int item = static_cast<int>(threadIdx.x); item < half * kLines;
       item += static_cast<int>(blockDim.x)) {
    const int k = item % half, line = item / half, row = first + 2 * line;
    if (row >= mesh.rows()) return;
    Wave one, two;
    apart(b(k, line), b(k == 0 ? 0 : length - k, line), one, two);
    const StoredWaves<Real> waves(mesh, 0, static_cast<std::int64_t>(row) * mesh.pitch());
    waves.set(k, one);
    if (row + 1 < mesh.rows()) waves.set(mesh.pitch() + k, two);
  }
}

// The reverse, of all fields. A block has the three of its points in turn, so that the cache merges
// what it writes.
template <class Real>
__global__ void __launch_bounds__(kMostFftThreads)
    waves_to_fields_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step,
                           PointField<Real>* field) {
  extern __shared__ double2 memory[];
  if (step.is_stale()) return;
  const int length = mesh.points[0], half = mesh.half();
  SharedLines a = shared_lines(memory, length, 0), b = shared_lines(memory, length, 1);
  const RowsOfThread own(mesh);
  field += own.begin;
  for (int axis = 0; axis < 3; ++axis) {
    const StoredWaves<Real> waves(mesh, axis, own.waves);
    const auto load = [&](int k, int) {
      const int at = k < half ? k : length - k;
      const Wave one = own.there ? waves[at] : Wave{0, 0},
                 two = own.paired ? waves[mesh.pitch() + at] : Wave{0, 0};
      return k < half ? together(one, two) : together(conjugate(one), conjugate(two));
    };
    const auto store = [&](int x, int, const Wave& value) {
      if (own.there) field[x].along[axis] = static_cast<Real>(value.re);
      if (own.paired) field[length + x].along[axis] = static_cast<Real>(value.im);
    };
    transform_lines(mesh.plan[0], mesh.twiddle[0], load, store, a, b);
  }
}

// The line of a thread among kLines lines of waves along y or z. A thread has the same line in all
// stages (fft_stage()).
struct WavesOfThread {
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
  SharedLines a = shared_lines(memory, length, 0), b = shared_lines(memory, length, 1);
  const WavesOfThread own(mesh, axis);
  const StoredWaves<Real> waves(mesh, 2 * static_cast<int>(blockIdx.y));
  const auto load = [&](int k, int) { return own.there ? waves[own.at(k)] : Wave{0, 0}; };
  const auto store = [&](int k, int, const Wave& value) {
    if (own.there) waves.set(own.at(k), value);
  };
  transform_lines(mesh.plan[axis], mesh.twiddle[axis], load, store, a, b);
}

// Lines of waves along y: from the transforms of WaveFields along z to the fields along x and y,
// or, for blockIdx.y = 1, along z.
template <class Real>
__global__ void __launch_bounds__(kMostFftThreads)
    fields_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ double2 memory[];
  if (step.is_stale()) return;
  const int length = mesh.points[1];
  SharedLines a = shared_lines(memory, length, 0), b = shared_lines(memory, length, 1);
  const WavesOfThread own(mesh, 1);
  const int x = own.line % mesh.pitch();
  const StoredWaves<Real> waves(mesh, 2 * static_cast<int>(blockIdx.y));
  // The field along x is the last one, because it takes the place of the potential.
  for (int axis = blockIdx.y == 0 ? 1 : 2; axis >= 2 * static_cast<int>(blockIdx.y); --axis) {
    const auto load = [&](int k, int) {
      return own.there ? waves[own.at(k)] * slope(mesh, axis, x, k) : Wave{0, 0};
    };
    const auto store = [&](int k, int, const Wave& value) {
      if (own.there) StoredWaves<Real>(mesh, axis).set(own.at(k), value);
    };
    transform_lines(mesh.plan[1], mesh.twiddle[1], load, store, a, b);
  }
}

// Lines of waves along z: from the transform of the charges along x and y to that of WaveFields
// along z.
// With kMostFftThreads as the bound, the compiler takes fewer registers, and spills.
template <class Real>
__global__ void __launch_bounds__(256)
    solve_lines_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ double2 memory[];
  if (step.is_stale()) return;
  const int length = mesh.points[2];
  SharedLines a = shared_lines(memory, length, 0), b = shared_lines(memory, length, 1);
  const SharedLines rho = shared_lines(memory, length, 2);
  const WavesOfThread own(mesh, 2);
  const int x = own.line % mesh.pitch(), y = own.line / mesh.pitch();
  const StoredWaves<Real> waves(mesh, 0);
  const auto load = [&](int k, int) { return own.there ? waves[own.at(k)] : Wave{0, 0}; };
  const auto keep = [&](int k, int line, const Wave& value) {
    rho(k, line, as_stored<Real>(value));
  };
  transform_lines(mesh.plan[2], mesh.twiddle[2], load, keep, a, b);
  for (int axis = 0; axis < 3; axis += 2) {
    const auto field = [&](int k, int line) {
      if (!own.there) return Wave{0, 0};
      WaveSums none;
      const WaveFields fields = solve_wave<false>(mesh, x, y, k, rho(k, line), none);
      return as_stored<Real>(axis == 0 ? fields.potential : fields.along_z);
    };
    const auto store = [&](int k, int, const Wave& value) {
      if (own.there) StoredWaves<Real>(mesh, axis).set(own.at(k), value);
    };
    transform_lines(mesh.plan[2], mesh.twiddle[2], field, store, a, b);
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
  const StoredWaves<Real> waves(mesh, 0, begin), last(mesh, 2, begin);
  for (int x = 0; x < mesh.half(); ++x) {
    const WaveFields fields =
        solve_wave<true>(mesh, x, row % mesh.points[1], row / mesh.points[1], waves[x], sums);
    waves.set(x, fields.potential);
    last.set(x, fields.along_z);
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
