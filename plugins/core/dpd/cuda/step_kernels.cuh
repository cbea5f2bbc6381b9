// SPDX-License-Identifier: BSD-3-Clause
// The kernels of a time step on a GPU.
#pragma once

#include "../../runtime/launch.cuh"
#include "pair_sums.cuh"

namespace manymove::dpd {

// One thread per particle: from rest, the first half of a step.
template <Precision P, bool sheared = false>
__global__ void first_kernel(Step<P> s) {
  const int i = index_of_thread();
  if (i >= s.count) return;
  if (sheared && i == 0 && s.ends_lists) expire(s.status, s.number + 1);
  typename P::Position r = s.position[i];
  typename P::Velocity v = s.velocity[i];
  kick<true>(s.motion, r, v, with_body_forces(s.motion, r, s.force[i]));
  if constexpr (has_scalars<P>) kick_scalars(s.motion, r, v, s.flux[i]);
  move<sheared>(s, i, r, v, s.sphere[i], s.number + 1);
  write_next(s, i, r, v);
}

// Adds the sums of the threads of one particle, so that all of them have the total.
template <bool forces_known, class SomeSum>
__device__ void add_over(SomeSum& sum, int lanes, bool with_energy) {
  for (int d = lanes / 2; d > 0; d /= 2) {
    if (!forces_known) {
      sum.force.x += __shfl_xor_sync(kWholeWarp, sum.force.x, d);
      sum.force.y += __shfl_xor_sync(kWholeWarp, sum.force.y, d);
      sum.force.z += __shfl_xor_sync(kWholeWarp, sum.force.z, d);
    }
    if constexpr (requires { sum.flux; }) {
      sum.flux.x += __shfl_xor_sync(kWholeWarp, sum.flux.x, d);
      sum.flux.y += __shfl_xor_sync(kWholeWarp, sum.flux.y, d);
      sum.flux.z += __shfl_xor_sync(kWholeWarp, sum.flux.z, d);
    }
    if (!with_energy) continue;
    sum.energy += __shfl_xor_sync(kWholeWarp, sum.energy, d);
    // The exchange by xor leaves the same total, with the same rounding, in all `lanes` threads.
    for (auto& v : sum.virial) v += __shfl_xor_sync(kWholeWarp, v, d);
  }
}

// Sums over the threads of a block, which has so many warps: within each warp pairwise, then warp
// after warp, so that their rounding is always the same.
__device__ inline void add_over_block(double (&value)[kStepSums], int warps, double* total) {
  __shared__ double of_warp[kThreads / 32][kStepSums];
  const int thread = static_cast<int>(threadIdx.x);
  for (int a = 0; a < kStepSums; ++a) {
    value[a] = warp_sum(value[a]);
    if (thread % 32 == 0) of_warp[thread / 32][a] = value[a];
  }
  __syncthreads();
  if (thread >= kStepSums) return;
  double sum = 0;
  for (int k = 0; k < warps; ++k) sum += of_warp[k][thread];
  total[thread] = sum;
}

// The fewest blocks of a step that a multiprocessor shall hold at a time; 0: as many as registers
// permit. Six need at most 40 registers each thread, which the plain step of many particles has.
template <Precision P, bool plain, bool reading, int lanes, ParticleRange Who, Extra extra>
constexpr int kBlocksAtATime = kIntegers<P> && plain && !reading && lanes == 1 &&
                                       std::is_same_v<Who, AllParticles> && extra == Extra::none
                                   ? 6
                                   : 0;

// The force on particle k of the block: f = unit (n + 2^20 m), with the sums n and m of integers
// (BlockForces).
template <Precision P>
__device__ __forceinline__ Vector<typename P::Real> force_of(const BlockForces& block, int k,
                                                             typename P::Real unit) {
  const auto both = [&](int units, int many) {
    return unit *
           __fmaf_rn(BlockForces::kMany, static_cast<float>(many), static_cast<float>(units));
  };
  return {both(block.units.x[k], block.many.x[k]), both(block.units.y[k], block.many.y[k]),
          both(block.units.z[k], block.many.z[k])};
}

// Adds the forces of bonds, angles and charges to those of pairs, in `bonded`.
template <Precision P>
__device__ __forceinline__ void add_bonded(const Step<P>& s, const OwnParticle<P>& own,
                                           bool with_energy, Sum<typename P::Real>& bonded) {
  // Two at a time, which is all of them in linear chains.
  for (int k = 0; k < s.bonds.most; k += 2) {
    const Partner two[2] = {s.bonds.of(own.i, k), s.bonds.of(own.i, k + 1)};
    for (const Partner& bond : two)
      if (bond.kind)
        add_bond<P>(bonded, s.forces.frame, own.r, s.position[bond.index], s.bond_laws[bond.kind],
                    with_energy);
    if (!two[1].kind) break;
  }
  if (s.added) bonded.force = bonded.force + s.added[own.i];
  if (s.charged) bonded.force = bonded.force + s.charged[own.i];
}

// Velocity Verlet (section 2 of the paper): v(t) = v(t - dt/2) + f(t) dt / 2m is where a particle
// comes to rest; otherwise v(t + dt/2) and r(t + dt) follow. Returns v.
template <class V, ParticleRange Who>
__device__ typename V::Precision::Velocity finish_step(const Step<typename V::Precision>& s, int i,
                                                       typename V::Precision::Position r,
                                                       typename V::Precision::Velocity v,
                                                       const Vector<typename V::Real>& bonded_force,
                                                       BoundingSphere sphere) {
  const auto force = with_body_forces(s.motion, r, bonded_force);
  kick<!V::plain>(s.motion, r, v, force);
  if constexpr (Who::with_moments || V::reading) {
    if constexpr (Who::with_moments) s.force[i] = force;
    s.next_velocity[i] = v;
  } else {
    kick<!V::plain>(s.motion, r, v, force);
    if constexpr (!V::early_sphere) sphere = s.sphere[i];
    move<V::sheared>(s, i, r, v, sphere, s.number + 1);
    write_next(s, i, r, v);
  }
  return v;
}

// Energies and virials of the block; each pair counts at both ends.
template <Precision P>
__device__ __forceinline__ void write_energies(const Step<P>& s, bool mine,
                                               const Sum<typename P::Real>& pairs,
                                               const Sum<typename P::Real>& bonded) {
  double value[kStepSums];
  // E = 1/2 sum_i sum_j E_ij and W = 1/2 sum_i sum_j r_ij f_ij.
  const double share = mine ? 0.5 : 0.0;
  const double unit = share * static_cast<double>(s.unit);
  value[0] = unit * static_cast<double>(pairs.energy);
  value[7] = share * static_cast<double>(bonded.energy);
  for (int a = 0; a < 6; ++a) {
    value[1 + a] = unit * static_cast<double>(pairs.virial[a]);
    value[8 + a] = share * static_cast<double>(bonded.virial[a]);
  }
  add_over_block(value, kThreads / 32,
                 s.partial + static_cast<std::size_t>(blockIdx.x) * kStepSums);
}

// `lanes` threads per particle. Pairs within the cutoff are collected first, then computed: threads
// of a warp find different ones of their neighbors there. After that the particle moves on, or,
// when the state is read next, comes to rest.
template <Precision P, bool plain, bool reading, int lanes, ParticleRange Who = AllParticles,
          Extra extra = Extra::none>
__global__ void __launch_bounds__(kThreads, (kBlocksAtATime<P, plain, reading, lanes, Who, extra>))
    step_kernel(const __grid_constant__ Step<P> s, const Who who) {
  using V = StepVariant<P, plain, reading, lanes, Who, extra>;
  __shared__ unsigned hit[V::kHits * kThreads];
  __shared__ typename V::BlockSums block;
  __shared__ typename V::Hits sharing;
  const int thread = static_cast<int>(threadIdx.x);
  OwnParticle<P> own;
  own.first = who.first + static_cast<int>(blockIdx.x) * (kThreads / lanes);
  own.i = own.first + thread / lanes;
  own.here = own.i < s.count;
  OwnGroups<V> groups(s.lists, own.i);
  if constexpr (kIntegers<P>) {
    // All sums begin at 0 before a thread of the block adds to one.
    for (Triplets* t : {&block.units, &block.many}) t->x[thread] = t->y[thread] = t->z[thread] = 0;
    if constexpr (V::may_be_forbidden)
      if (thread < kThreads / 32) block.forbidden[thread] = 0;
    __syncthreads();
  }
  const int readable = own.here ? own.i : 0;
  BoundingSphere sphere{};
  if constexpr (V::early) {
    groups.number = own.here ? s.lists.number[own.i] : 0;
    groups.read_ahead();
    if constexpr (V::early_sphere) sphere = s.sphere[readable];
  }
  // Programmatic dependent launch: what lies before this line runs while the step before ends.
  if constexpr (Who::follows_a_step) {
    wait_for_former_kernel();
    let_next_kernel_start();
  }
  own.r = s.position[readable];
  own.v = s.velocity[readable];
  own.about = s.short_position[readable];
  if constexpr (!V::early) groups.number = own.here ? s.lists.number[own.i] : 0;
  // The whole block or none of it: a kernel of the step before may end lists meanwhile.
  const bool skipped = stale(s.status, s.number);
  if (Who::follows_a_step ? skipped : __syncthreads_or(skipped)) return;
  if (blockIdx.x == 0 && thread == 0) {
    s.status.host->started = s.number;
    if constexpr (V::sheared && !reading)
      if (s.ends_lists) expire(s.status, s.number + 1);
  }

  SumOf<P> sum;
  const PairSums<V> sums{s, own, block};
  if constexpr (V::shared_hits)
    add_pairs_of_warp<V>(sums, groups, sharing, hit);
  else
    add_pairs_of_thread<V>(sums, groups, sum, hit);
  if constexpr (kIntegers<P>) {
    // Pairs within the tile have given their reaction to particles of other warps.
    __syncthreads();
    sum.force = force_of<P>(block, own.i - own.first, s.unit);
    if constexpr (V::may_be_forbidden)
      if (block.is_forbidden(static_cast<unsigned>(own.i - own.first)))
        sum.force.x = sum.force.y = sum.force.z = static_cast<typename P::Real>(kForbidden);
  }
  add_over<kIntegers<P>>(sum, lanes, reading);

  Sum<typename P::Real> bonded;
  bonded.force = sum.force;
  const bool mine = own.here && thread % lanes == 0;
  [[maybe_unused]] typename P::Velocity at_rest;  // of AllWithMoments
  if (mine) {
    add_bonded(s, own, reading, bonded);
    if constexpr (!plain) add_thermostats(s.motion, own.r, own.v, bonded.force);
    if constexpr (reading) s.force[own.i] = bonded.force;
    if constexpr (has_scalars<P>)
      step_scalars<reading>(s.motion, own.r, own.v, sum.flux, s.flux[own.i]);
    at_rest = finish_step<V, Who>(s, own.i, own.r, own.v, bonded.force, sphere);
  }
  if constexpr (Who::with_moments) s.moments.add(mine, own.r, at_rest);
  if constexpr (reading) write_energies(s, mine, sum, bonded);
}

// One block of kStepSums x 64 threads: sums over blocks, in an order that the number of blocks
// fixes.
static __global__ void total_kernel(int blocks, const double* partial, double* total) {
  __shared__ double part[kStepSums][64];
  // Thread (a, t) has sum a of the blocks t, t + 64, ...
  const int a = static_cast<int>(threadIdx.x / 64), t = static_cast<int>(threadIdx.x % 64);
  double sum = 0;
  for (int b = t; b < blocks; b += 64) sum += partial[static_cast<std::size_t>(b) * kStepSums + a];
  part[a][t] = sum;
  __syncthreads();
  if (t != 0) return;
  for (int k = 1; k < 64; ++k) sum += part[a][k];
  total[a] = sum;
}

// ---- which kernel ----

template <Precision P, ParticleRange Who>
using StepKernel = void (*)(const Step<P>, const Who);

// In double precision the arithmetic of an extra takes so much longer that plain systems have no
// kernels of their own. Kernels that add moments are for states that are not read.
template <Precision P, ParticleRange Who, Extra extra = Extra::none>
StepKernel<P, Who> kernel_of_step(bool plain, bool reading, int lanes) {
  return for_constant<1, 2, 4>(lanes, [=](auto per_particle) {
    return for_constant<false, true>(plain, [=](auto is_plain) {
      return for_constant<false, true>(reading, [=](auto is_reading) -> StepKernel<P, Who> {
        constexpr bool plain_kernel =
            is_plain && (kIntegers<P> || extra == Extra::none) && !has_scalars<P>;
        constexpr bool reading_kernel = is_reading && !Who::with_moments;
        return &step_kernel<P, plain_kernel, reading_kernel, per_particle, Who, extra>;
      });
    });
  });
}

// The kernels with an extra, which are compiled in sources of their own (extra_kernels.cuh). Who:
// AllParticles or ParticlesFrom.
template <Precision P, ParticleRange Who, Extra extra>
StepKernel<P, Who> step_kernel_with(bool plain, bool reading, int lanes);

inline Extra extra_of(const Settings& settings) {
  return settings.pairs.scalars == kTemperature      ? Extra::temperature
         : settings.pairs.scalars == kConcentrations ? Extra::concentrations
         : settings.pairs.has_densities()            ? Extra::many_body
         : settings.pairs.transverse                 ? Extra::transverse
         : settings.pairs.has_potentials()           ? Extra::potential
         : settings.shear.rate != 0                  ? Extra::shear
                                                     : Extra::none;
}
// plain: is_plain() with this extra.
template <Precision P, ParticleRange Who>
StepKernel<P, Who> step_kernel_of(Extra extra, bool plain, bool reading, int lanes) {
  if constexpr (has_scalars<P>) {
    return for_constant<Extra::temperature, Extra::concentrations>(
        extra, [=](auto kind) { return kernel_of_step<P, Who, kind()>(plain, reading, lanes); });
  } else {
    if (extra != Extra::none)
      return for_constant<Extra::many_body, Extra::transverse, Extra::potential, Extra::shear>(
          extra,
          [=](auto with) { return step_kernel_with<P, Who, with()>(plain, reading, lanes); });
    return kernel_of_step<P, Who>(plain, reading, lanes);
  }
}

}  // namespace manymove::dpd
