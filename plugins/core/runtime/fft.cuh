// SPDX-License-Identifier: BSD-3-Clause
// Transforms of lines on a GPU: a block has some of them in shared memory, twice.
#pragma once

#include "device.cuh"
#include "fft.h"

namespace manymove {
namespace {

// As many lines as fill segments of 64 bytes.
template <class Real>
constexpr int kLinesOf = static_cast<int>(64 / sizeof(Complex<Real>));
constexpr int kLines = kLinesOf<double>, kMostFftThreads = 192;
// The number of threads of a block that has the fewest idle threads in all stages, and the largest
// of those numbers: long lines leave room for few blocks on a multiprocessor.
inline int fft_threads(const FftPlan& plan, int lines = kLines) {
  int best = 0, least = 0;
  for (int threads = kMostFftThreads; threads >= 64; threads -= 32) {
    int taken = 0;
    for (int s = 0; s < plan.stages; ++s)
      taken += blocks_for(lines * plan.length / plan.radix[s], threads) * threads;
    if (best == 0 || taken < least) {
      best = threads;
      least = taken;
    }
  }
  return best;
}

// A stage of the transform (butterfly()) of kLinesOf<Real> lines by all threads of a block. In the
// last stage all factors are 1. Numbers come from load(index, line) and go to store(index, line,
// number).
template <int R, class Real, class Load, class Store>
__device__ void fft_stage(int length, int done, const Complex<Real>* twiddle, const Load& load,
                          const Store& store) {
  // Butterfly t takes t + k length / R; threads in a row take the lines of one butterfly.
  constexpr int lines = kLinesOf<Real>;
  const int apart = length / R;
  const bool last = done == apart;
  // t / done as a product: exact for t and done below 2^16.
  const unsigned inverse =
      0xffffffffu / static_cast<unsigned>(done) + 1;  // 2^32 / done, rounded up
  for (int item = threadIdx.x; item < apart * lines; item += blockDim.x) {
    const int line = item % lines, t = item / lines;
    Complex<Real> a[R];
#pragma unroll
    for (int k = 0; k < R; ++k) a[k] = load(t + k * apart, line);
    const int step = done == 1 ? t : static_cast<int>(__umulhi(t, inverse)) * done,
              place = fft_place(R, step, t);
    if (last)
      dft_of<R>(twiddle, length, a);
    else
      butterfly(a, length, step, twiddle);
#pragma unroll
    for (int k = 0; k < R; ++k) store(place + k * done, line, a[k]);
  }
  // The next stage reads what all threads have stored.
  __syncthreads();
}
template <class Real>
__device__ void fft_stage(int radix, int length, int done, const Complex<Real>* twiddle,
                          const auto& load, const auto& store) {
  const auto stage = [&](auto R) { fft_stage<R()>(length, done, twiddle, load, store); };
  if constexpr (std::is_same_v<Real, float>)
    for_constant<2, 3, 4, 5, 6, 9, 10, 12, 8>(radix, stage);
  else
    for_constant<2, 3, 4, 5, 6, 8>(radix, stage);
}

// Lines in shared memory, from which a stage takes and to which it gives.
template <class Real>
struct SharedLines {
  Complex<Real>* number;

  __device__ Complex<Real> operator()(int index, int line) const {
    return number[index * kLinesOf<Real> + line];
  }
  __device__ void operator()(int index, int line, const Complex<Real>& value) const {
    number[index * kLinesOf<Real> + line] = value;
  }
};
// All threads. The first stage takes from `load`, the last one gives to `store`, those between use
// `a` and `b`, of which `a` is free in the end unless it is `load`'s. All numbers of a line are
// loaded before the first one is stored.
template <class Real>
__device__ void transform_lines(const FftPlan& plan, const Complex<Real>* twiddle, const auto& load,
                                const auto& store, SharedLines<Real>& a, SharedLines<Real>& b) {
  if (plan.stages == 1) return fft_stage(plan.radix[0], plan.length, 1, twiddle, load, store);
  fft_stage(plan.radix[0], plan.length, 1, twiddle, load, a);
  int done = plan.radix[0];
  for (int s = 1; s + 1 < plan.stages; ++s) {
    fft_stage(plan.radix[s], plan.length, done, twiddle, a, b);
    done *= plan.radix[s];
    const SharedLines<Real> other = a;
    a = b;
    b = other;
  }
  fft_stage(plan.radix[plan.stages - 1], plan.length, done, twiddle, a, store);
}
template <class Real = double>
__device__ SharedLines<Real> shared_lines(double2* memory, int length, int which) {
  return {reinterpret_cast<Complex<Real>*>(memory) + which * length * kLinesOf<Real>};
}

}  // namespace
}  // namespace manymove
