// SPDX-License-Identifier: BSD-3-Clause
// Transforms of lines on a GPU: a block has kLines of them in shared memory, twice.
#pragma once

#include "device.cuh"
#include "fft.h"

namespace manymove {
namespace {

constexpr int kLines = 4, kMostFftThreads = 192;
// The number of threads of a block that has the fewest idle threads in all stages, and the largest
// of those numbers: long lines leave room for few blocks on a multiprocessor.
inline int fft_threads(const FftPlan& plan) {
  int best = 0, least = 0;
  for (int threads = kMostFftThreads; threads >= 64; threads -= 32) {
    int taken = 0;
    for (int s = 0; s < plan.stages; ++s)
      taken += blocks_for(kLines * plan.length / plan.radix[s], threads) * threads;
    if (best == 0 || taken < least) {
      best = threads;
      least = taken;
    }
  }
  return best;
}

// A stage of the transform (butterfly()) of kLines lines by all threads of a block. In the last
// stage all factors are 1. Numbers come from load(index, line) and go to store(index, line,
// number).
template <int R, class Load, class Store>
__device__ void fft_stage(int length, int done, const Complex<double>* twiddle, const Load& load,
                          const Store& store) {
  // Butterfly t takes t + k length / R; four threads in a row take the four lines of one butterfly.
  const int apart = length / R;
  const bool last = done == apart;
  // t / done as a product: exact for t and done below 2^16.
  const unsigned inverse =
      0xffffffffu / static_cast<unsigned>(done) + 1;  // 2^32 / done, rounded up
  for (int item = threadIdx.x; item < apart * kLines; item += blockDim.x) {
    const int line = item % kLines, t = item / kLines;
    Complex<double> a[R];
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
__device__ void fft_stage(int radix, int length, int done, const Complex<double>* twiddle,
                          const auto& load, const auto& store) {
  for_constant<2, 3, 4, 5, 6, 8>(
      radix, [&](auto R) { fft_stage<R()>(length, done, twiddle, load, store); });
}

// Lines in shared memory, from which a stage takes and to which it gives.
struct SharedLines {
  Complex<double>* number;

  __device__ Complex<double> operator()(int index, int line) const {
    return number[index * kLines + line];
  }
  __device__ void operator()(int index, int line, const Complex<double>& value) const {
    number[index * kLines + line] = value;
  }
};
// All threads. The first stage takes from `load`, the last one gives to `store`, those between use
// `a` and `b`, of which `a` is free in the end unless it is `load`'s. All numbers of a line are
// loaded before the first one is stored.
__device__ void transform_lines(const FftPlan& plan, const Complex<double>* twiddle,
                                const auto& load, const auto& store, SharedLines& a,
                                SharedLines& b) {
  if (plan.stages == 1) return fft_stage(plan.radix[0], plan.length, 1, twiddle, load, store);
  fft_stage(plan.radix[0], plan.length, 1, twiddle, load, a);
  int done = plan.radix[0];
  for (int s = 1; s + 1 < plan.stages; ++s) {
    fft_stage(plan.radix[s], plan.length, done, twiddle, a, b);
    done *= plan.radix[s];
    const SharedLines other = a;
    a = b;
    b = other;
  }
  fft_stage(plan.radix[plan.stages - 1], plan.length, done, twiddle, a, store);
}
__device__ SharedLines shared_lines(double2* memory, int length, int which) {
  return {reinterpret_cast<Complex<double>*>(memory) + which * length * kLines};
}

}  // namespace
}  // namespace manymove
