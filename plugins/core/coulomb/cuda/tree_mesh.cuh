// SPDX-License-Identifier: BSD-3-Clause
// The far field of the method "tree" on a GPU: kernels that put charges on the mesh and transform
// it.
#pragma once

#include <cooperative_groups.h>

#include "../../runtime/device.cuh"
#include "../../runtime/fft.cuh"
#include "../far_field.h"
#include "chain_arrays.cuh"
#include "pairs.cuh"

namespace manymove::coulomb {
namespace {

struct MeshArrays {
  MeshRules rules;
  FftPlan plan[3];
  const Complex<double>* twiddle[3];
  unsigned long long* charge;  // [points[0]][points[1]][points[2]], two's complement
  float* potential;            // the same
  Complex<double>* spectrum;   // [points[0]][length[1]][stride]
  const double* factor;        // [][half_y][stride]
  double* squares;             // [1], of the charges on the mesh
  int stride, half_y;
};

__device__ std::size_t mesh_row(const MeshArrays& m, int x, int y) {
  return (static_cast<std::size_t>(x) * m.rules.points[1] + y) * m.rules.points[2];
}
__device__ Complex<double>* spectrum_row(const MeshArrays& m, int x, int y) {
  return m.spectrum + (static_cast<std::size_t>(x) * m.rules.length[1] + y) * m.stride;
}

// The two sites of each of `count` trials of a sweep, of which `first` is the place of the first
// one in the order: 2 k is where the ion of the kth is, 2 k + 1 where its trial would take it. They
// are sorted, so that sites side by side share what they read.
struct TrialSites {
  const Site* from;
  const Site* to;
  int first, count;

  __device__ Site at(int site) const {
    return site_at(site % 2 ? to : from, static_cast<std::size_t>(site / 2));
  }
};

// ---- charges ----

// A thread for each point under the window in a plane; W points along an axis.
constexpr int spread_threads(int window) { return (window * window + 31) / 32 * 32; }

// By a block: the charge z of an ion at a place, or with the sign -1 away from it. Each point gets
// z w_x w_y w_z, rounded to an integer: however charges came to be there, the sums are the same.
template <int W>
__device__ void spread(const MeshArrays& m, const Site& at, int sign) {
  __shared__ double weight[3][W];
  __shared__ int first[3];
  if (threadIdx.x < 3 * W) {
    const int axis = threadIdx.x / W, l = threadIdx.x % W;
    const double x = axis == 0 ? at.x : axis == 1 ? at.y : at.z;
    double lag;
    const int begin = window_at(m.rules, axis, x, lag);
    weight[axis][l] = window_weight(m.rules, lag, l);
    if (l == 0) first[axis] = begin;
  }
  // A point needs the weights along all axes.
  __syncthreads();
  // Thread c + W b has the points (*, b, c) under the window: neighbors write along z.
  const int c = threadIdx.x % W, b = threadIdx.x / W;
  if (b < W) {
    const int y = wrapped_point(m.rules, 1, first[1] + b),
              z = wrapped_point(m.rules, 2, first[2] + c);
    for (int a = 0; a < W; ++a) {
      const int x = wrapped_point(m.rules, 0, first[0] + a);
      // z w(x) w(y) w(z) as an integer, in two's complement: atomic sums without an order.
      const std::int64_t share =
          charge_share(m.rules, at.charge, weight[0][a] * weight[1][b] * weight[2][c]);
      atomicAdd(m.charge + mesh_row(m, x, y) + z, static_cast<unsigned long long>(sign * share));
    }
  }
  // The weights of the next ion take the place of these.
  __syncthreads();
}
template <int W>
__global__ void __launch_bounds__(spread_threads(W))
    fill_kernel(const __grid_constant__ MeshArrays m, const Site* site, int ions) {
  // A block per ion; the barrier at the end of spread() keeps its shared memory until all have
  // read.
  for (int i = blockIdx.x; i < ions; i += gridDim.x) spread<W>(m, site[i], 1);
}
// The charges of an epoch's accepted moves go with them. A block per site, which come sorted, so
// that what is touched together lies together.
template <int W>
__global__ void __launch_bounds__(spread_threads(W))
    follow_mesh_kernel(const __grid_constant__ MeshArrays m, TrialSites trials,
                       const std::int32_t* sorted, const std::uint8_t* accepted) {
  for (int e = blockIdx.x; e < 2 * trials.count; e += gridDim.x) {
    const int site = sorted[e];
    if (accepted[site / 2]) spread<W>(m, trials.at(site), site % 2 ? 1 : -1);
  }
}

// ---- transforms ----

// On a multiprocessor. Without this number the compiler takes fewer registers, and spills.
constexpr int kFftBlocks = 4;

// From the charges to their spectrum along z. blockIdx: x, and a group of lines along z, of which
// two real ones p and q make one of complex numbers p + i q: with its transform F, that of p is
// (F(k) + F*(-k)) / 2, and that of q (F(k) - F*(-k)) / 2i.
__global__ void __launch_bounds__(kMostFftThreads, kFftBlocks)
    forward_z_kernel(const __grid_constant__ MeshArrays m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[2], points = m.rules.points[2], lines = m.rules.points[1];
  SharedLines a = shared_lines(shared, length, 0), b = shared_lines(shared, length, 1);
  const int x = blockIdx.y, first = blockIdx.x * 2 * kLines;
  double squares = 0;
  const auto charge = [&](int z, int line) {
    if (z >= points || line >= lines) return 0.0;
    const double q =
        static_cast<double>(static_cast<std::int64_t>(m.charge[mesh_row(m, x, line) + z])) *
        m.rules.charge_unit;
    squares += q * q;
    return q;
  };
  const auto load = [&](int z, int line) {
    return Complex<double>{charge(z, first + 2 * line), charge(z, first + 2 * line + 1)};
  };
  // The last stage does not read this memory, so that its result can be there.
  const auto store = [&](int k, int line, const Complex<double>& value) { b(k, line, value); };
  transform_lines(m.plan[2], m.twiddle[2], load, store, a, b);
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0 && squares != 0) atomicAdd(m.squares, squares);
  for (int item = threadIdx.x; item < length / 2 * 2 * kLines; item += blockDim.x) {
    // Wave numbers below length / 2 of 2 kLines real lines; consecutive threads store along k.
    const int k = item % (length / 2), real = item / (length / 2);
    if (first + real >= lines) continue;
    // F(k) and F(-k) of the complex line that has two real ones.
    const Complex<double> p = b(k, real / 2), q = b(k ? length - k : 0, real / 2);
    spectrum_row(m, x, first + real)[k] =
        real % 2 ? Complex<double>{(p.im + q.im) * 0.5, (q.re - p.re) * 0.5}
                 : Complex<double>{(p.re + q.re) * 0.5, (p.im - q.im) * 0.5};
  }
}
// Back to the potential on the mesh. The inverse of a transform is the transform with real and
// imaginary parts exchanged, before it and after it.
__global__ void __launch_bounds__(kMostFftThreads, kFftBlocks)
    inverse_z_kernel(const __grid_constant__ MeshArrays m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[2], points = m.rules.points[2], lines = m.rules.points[1];
  SharedLines a = shared_lines(shared, length, 0), b = shared_lines(shared, length, 1);
  const int x = blockIdx.y, first = blockIdx.x * 2 * kLines;
  const auto load = [&](int k, int line) {
    // Only half of a real line's spectrum is stored: S(-k) = S*(k).
    const int one = first + 2 * line, fold = k < length - k ? k : length - k;
    Complex<double> p{0, 0}, q{0, 0};
    if (fold < length / 2 && one < lines) {
      p = spectrum_row(m, x, one)[fold];
      if (one + 1 < lines) q = spectrum_row(m, x, one + 1)[fold];
      if (fold != k) {
        p.im = -p.im;
        q.im = -q.im;
      }
    }
    // One + i two, whose parts change places for the inverse.
    return Complex<double>{p.im + q.re, p.re - q.im};
  };
  const auto store = [&](int z, int line, const Complex<double>& value) {
    const int one = first + 2 * line;
    if (z >= points) return;
    if (one < lines) m.potential[mesh_row(m, x, one) + z] = static_cast<float>(value.im);
    if (one + 1 < lines) m.potential[mesh_row(m, x, one + 1) + z] = static_cast<float>(value.re);
  };
  transform_lines(m.plan[2], m.twiddle[2], load, store, a, b);
}

// blockIdx: a group of wave numbers along z, and x.
template <bool Inverse>
__global__ void __launch_bounds__(kMostFftThreads, kFftBlocks)
    along_y_kernel(const __grid_constant__ MeshArrays m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[1], points = m.rules.points[1];
  SharedLines a = shared_lines(shared, length, 0), b = shared_lines(shared, length, 1);
  const int k = blockIdx.x * kLines, x = blockIdx.y;
  const int given = Inverse ? length : points, wanted = Inverse ? points : length;
  const auto load = [&](int y, int line) {
    if (y >= given) return Complex<double>{0, 0};
    const Complex<double> v = spectrum_row(m, x, y)[k + line];
    return Inverse ? Complex<double>{v.im, v.re} : v;
  };
  // All of a line has been read when its last stage gives.
  const auto store = [&](int y, int line, const Complex<double>& v) {
    if (y < wanted) spectrum_row(m, x, y)[k + line] = Inverse ? Complex<double>{v.im, v.re} : v;
  };
  transform_lines(m.plan[1], m.twiddle[1], load, store, a, b);
}
// Along x forward, times the factors of the far field, and back. blockIdx: a group of wave numbers
// along z, and the wave number along y.
__global__ void __launch_bounds__(kMostFftThreads, kFftBlocks)
    along_x_kernel(const __grid_constant__ MeshArrays m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[0], points = m.rules.points[0];
  SharedLines a = shared_lines(shared, length, 0), b = shared_lines(shared, length, 1);
  const int k = blockIdx.x * kLines, ky = blockIdx.y, other = m.rules.length[1] - ky;
  const int fold_y = ky < other ? ky : other;
  const auto load = [&](int x, int line) {
    return x < points ? spectrum_row(m, x, ky)[k + line] : Complex<double>{0, 0};
  };
  const auto multiply = [&](int kx, int line, const Complex<double>& v) {
    // The factors are even in each wave number: they are stored for |k| alone.
    const int fold_x = kx < length - kx ? kx : length - kx;
    const double factor =
        m.factor[(static_cast<std::size_t>(fold_x) * m.half_y + fold_y) * m.stride + k + line];
    // The product with G(k) / (V w^2), and the exchange of parts that makes the next transform the
    // inverse one.
    b(kx, line, {v.im * factor, v.re * factor});
  };
  const auto store = [&](int x, int line, const Complex<double>& v) {
    if (x < points) spectrum_row(m, x, ky)[k + line] = {v.im, v.re};
  };
  transform_lines(m.plan[0], m.twiddle[0], load, multiply, a, b);
  SharedLines from = b, free = a;
  transform_lines(m.plan[0], m.twiddle[0], from, store, free, from);
}

}  // namespace
}  // namespace manymove::coulomb
