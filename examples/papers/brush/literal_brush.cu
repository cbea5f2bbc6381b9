// SPDX-License-Identifier: BSD-3-Clause
// The kernel of the paper after its Algorithms 1 to 5, as a baseline for the kernel of the package.
// It has blocks of 1,024 threads, eta threads per particle, sums in double precision, no early
// rejection, a flag for each block, and sequential decisions with a barrier after each of them.
//
// Two things differ from the paper. First, blocks take their numbers from a ticket, because CUDA
// does not guarantee that blocks begin in the order of their indices, and a block must not wait for
// a block that has not begun. Second, a kernel computes the trials before each sweep, instead of
// the CPU. They are the trials of the package (model.h, Philox), so that both make the same chain.
//
// figure_8.py compiles this file with nvcc.
#include <cuda/atomic>

#include <cmath>
#include <cstdint>

#include "coulomb/model.h"

namespace manymove::coulomb {

struct Setup {
  std::uint32_t ions;  // N, a multiple of 1,024
  std::uint32_t step;  // largest displacement along an axis, units
  std::int32_t eta;    // threads per particle: 1, 2, 4, 8 or 16
  double contact;      // distance of two ions at contact, units
  double bjerrum;      // Bjerrum length, units
  std::uint64_t seed, first_cycle, cycles;
};

namespace {

constexpr int kBlock = 1024;
constexpr unsigned kAll = 0xffffffffu;

struct Arrays {
  float4* x;        // X_dev: coordinates and valences
  float4* trial;    // X': proposed coordinates; w is negative outside of the cell
  double* most;     // largest change of the potential, times the sign of the charge
  unsigned* state;  // BlockState
  unsigned* ticket;
  unsigned long long* accepted;
};

__global__ void propose_all(Rules r, Arrays a, unsigned ions, std::uint64_t cycle) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= ions) return;
  const float4 at = a.x[i];
  const Trial t = propose(r, i, cycle, {at.x, at.y, at.z, at.w});
  a.trial[i] = make_float4(t.x, t.y, t.z, t.inside ? 1.0f : -1.0f);
  a.most[i] = static_cast<double>(t.most);
}

// What a trial has summed: the change of its potential and the indicator of overlaps.
struct Sum {
  double change = 0;
  bool overlap = false;

  // The change of the pair with ion y, Delta U of Algorithm 2.
  __device__ void add(const float4& from, const float4& to, const float4& y, double contact2) {
    const double ax = double{from.x} - y.x, ay = double{from.y} - y.y, az = double{from.z} - y.z;
    const double bx = double{to.x} - y.x, by = double{to.y} - y.y, bz = double{to.z} - y.z;
    const double after = bx * bx + by * by + bz * bz;
    change += y.w * (rsqrt(after) - rsqrt(ax * ax + ay * ay + az * az));
    overlap = overlap || after < contact2;
  }
};

template <int Eta>
__global__ void __launch_bounds__(kBlock)
    brush(Arrays a, unsigned blocks, double contact2, double quanta) {
  constexpr int S = kBlock / Eta;  // particles of a group
  using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
  __shared__ float4 guest[S];  // Y
  __shared__ unsigned own;
  if (threadIdx.x == 0) own = atomicAdd(a.ticket, 1u);
  __syncthreads();
  const unsigned bid = own;
  const int k = threadIdx.x / Eta, e = threadIdx.x % Eta;
  // Algorithm 1.
  const unsigned i = bid * S + k;
  const float4 from = a.x[i], to = a.trial[i];
  const double most = a.most[i];
  Sum sum;
  sum.overlap = to.w < 0;
  const auto with_group = [&](unsigned group) {  // Algorithm 2, interleaved as in Fig. 7
    if (threadIdx.x < S) guest[threadIdx.x] = __ldcg(a.x + group * S + threadIdx.x);
    __syncthreads();
    for (int l = e; l < S; l += Eta) sum.add(from, to, guest[l], contact2);
    __syncthreads();
  };
  for (unsigned group = bid + 1; group < blocks; ++group) with_group(group);
  // Algorithm 3. All lanes of a warp begin at its first particle.
  if (e == 0) guest[k] = from;
  __syncthreads();
  for (int l = static_cast<int>(threadIdx.x) / 32 * 32 / Eta + e; l < S; l += Eta)
    if (l > k) sum.add(from, to, guest[l], contact2);
  __syncthreads();
  // Algorithm 5: groups before this one, when they are decided.
  for (unsigned group = 0; group < bid; ++group) {
    if (threadIdx.x == 0)
      while (Flag(a.state[group]).load(cuda::memory_order_acquire) == 0) {
      }
    __syncthreads();
    with_group(group);
  }
  for (int other = Eta / 2; other > 0; other /= 2) {
    sum.change += __shfl_xor_sync(kAll, sum.change, other);
    sum.overlap |= __shfl_xor_sync(kAll, static_cast<int>(sum.overlap), other) != 0;
  }
  // Algorithm 4, by one thread of each particle.
  if (e == 0) guest[k] = from;
  __syncthreads();
  bool moved = false;
  for (int l = 0; l < S; ++l) {
    if (e == 0 && k == l && !sum.overlap &&
        (from.w > 0 ? sum.change : -sum.change) * quanta <= most) {
      guest[l] = make_float4(to.x, to.y, to.z, from.w);
      moved = true;
    }
    __syncthreads();
    if (e == 0 && k > l) sum.add(from, to, guest[l], contact2);
  }
  if (e == 0) __stcg(a.x + i, guest[k]);
  __threadfence();
  const int accepted = __syncthreads_count(moved);
  if (threadIdx.x == 0) atomicAdd(a.accepted, static_cast<unsigned long long>(accepted));
  if (bid + 1 < blocks) {
    if (threadIdx.x == 0) Flag(a.state[bid]).store(1, cuda::memory_order_release);
    return;
  }
  // The last block resets the flags for the next launch: all blocks have announced themselves, and
  // none of the others reads a flag any more.
  for (unsigned b = threadIdx.x; b < blocks; b += kBlock) a.state[b] = 0;
  if (threadIdx.x == 0) *a.ticket = 0;
}

template <class T>
bool allocate(T*& pointer, std::size_t count) {
  return cudaMalloc(&pointer, count * sizeof(T)) == cudaSuccess &&
         cudaMemset(pointer, 0, count * sizeof(T)) == cudaSuccess;
}

void launch(int eta, unsigned ions, Arrays a, double contact2, double quanta) {
  const unsigned blocks = ions / (kBlock / eta);
  for_constant<1, 2, 4, 8, 16>(eta, [&](auto threads) {
    brush<threads()><<<blocks, kBlock>>>(a, blocks, contact2, quanta);
  });
}

}  // namespace
}  // namespace manymove::coulomb

// sites: [N][4], coordinates in units and valences, which follow the chain. seconds: of all sweeps.
// accepted: accepted moves. Returns null, or the text of an error.
extern "C" const char* literal_brush(const manymove::coulomb::Setup* setup, float* sites,
                                     double* seconds, std::uint64_t* accepted) {
  using namespace manymove::coulomb;
  const Setup& s = *setup;
  if (s.ions % kBlock) return "the number of ions must be a multiple of 1,024";
  if (s.eta < 1 || s.eta > 16 || (s.eta & (s.eta - 1))) return "eta must be 1, 2, 4, 8 or 16";
  Rules r{};
  r.space = Space::cell;
  r.wall2 = static_cast<double>(kHalf) * kHalf;
  r.step = s.step;
  r.key = {static_cast<std::uint32_t>(s.seed), static_cast<std::uint32_t>(s.seed >> 32)};
  // The unit of the largest change that is accepted; any power of two serves.
  const double quanta = std::ldexp(1.0, 60);
  r.strength = s.bjerrum / quanta;
  Arrays a{};
  const bool enough = allocate(a.x, s.ions) && allocate(a.trial, s.ions) &&
                      allocate(a.most, s.ions) && allocate(a.state, s.ions) &&
                      allocate(a.ticket, 1) && allocate(a.accepted, 1);
  cudaEvent_t begin{}, end{};
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  if (enough) {
    cudaMemcpy(a.x, sites, s.ions * sizeof(float4), cudaMemcpyHostToDevice);
    cudaEventRecord(begin);
    for (std::uint64_t n = 0; n < s.cycles; ++n) {
      propose_all<<<s.ions / kBlock, kBlock>>>(r, a, s.ions, s.first_cycle + n);
      launch(s.eta, s.ions, a, s.contact * s.contact, quanta);
    }
    cudaEventRecord(end);
    cudaMemcpy(sites, a.x, s.ions * sizeof(float4), cudaMemcpyDeviceToHost);
    cudaMemcpy(accepted, a.accepted, sizeof *accepted, cudaMemcpyDeviceToHost);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    *seconds = milliseconds * 1e-3;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  for (void* memory :
       {static_cast<void*>(a.x), static_cast<void*>(a.trial), static_cast<void*>(a.most),
        static_cast<void*>(a.state), static_cast<void*>(a.ticket), static_cast<void*>(a.accepted)})
    cudaFree(memory);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
