// SPDX-License-Identifier: BSD-3-Clause
// The resident engine's work on a chunk of particles, for kernels.cpp alone: pairs within the
// cutoff are collected in batches, whose forces are then computed side by side in SIMD registers.
// Each particle has a full list and adds up its own forces, in the order of the GPU's threads.
#pragma once

#include "row_sums.h"
#include "scalar_batch.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

// The purpose of a pass over the pairs: forces (plain: as in is_plain()), or densities.
enum class Pass { plain, general, many_body, transverse, potential, scalars, density };

template <Precision P, Pass pass, bool reading>
class StepLoop {
  using Real = typename P::Real;
  static constexpr bool plain = pass == Pass::plain, many_body = pass == Pass::many_body,
                        transverse = pass == Pass::transverse, potential = pass == Pass::potential,
                        scalars = pass == Pass::scalars, density = pass == Pass::density;
  static constexpr int kHits = 128;  // of a batch
  static_assert(kHits <= kBatch && kHits % kLanes == 0);
  // Forces are added up by add_rows().
  static constexpr bool in_rows = sizeof(Real) == 4 && !density && !transverse && !scalars;
#if defined(__AVX2__)
  static constexpr int kTested = 2 * kGroup;  // entries at a time
#else
  static constexpr int kTested = kGroup;
#endif
  static constexpr int kAhead = kReadAhead - kTested;  // entries whose particles are fetched
  // Entries of plain pairs are indices without a kind.
  static constexpr std::uint32_t kIndex = plain ? ~0u : kIndexBits;

 public:
  StepLoop(const StepArguments<P>& arguments, Chunk& chunk) : s_(arguments), chunk_(chunk) {
    simple_ = is_simple();
    limit_ = density ? s_.density_limit : s_.limit;
    lengths_ = {s_.cells.edges, s_.forces.frame.tilted != 0};
  }

  void run(const std::uint32_t* list) {
    for (int i = chunk_.first; i < chunk_.last; list += s_.number[i], ++i) {
      collect(i, list, s_.number[i]);
      close(i, true);
    }
    flush();
  }

 private:
  // Hits from where the last segment ends are of one particle, perhaps not yet all.
  struct Segment {
    int i, end;
    bool complete;
  };

  void close(int i, bool complete) {
    segment_[segments_++] = {i, count_, complete};
    if (segments_ == kChunk || !complete) flush();
  }

  // Those of the list that may be within the cutoff, by the upper 32 bits of their positions: the
  // limit is longer than the cutoff by more than the rounding.
  void collect(int i, const std::uint32_t* list, int number) {
    const Lengths lengths = lengths_;
    const std::uint32_t* const near = s_.near;
    const auto* const velocity = s_.velocity;
    const std::uint32_t last_lane = static_cast<std::uint32_t>(s_.lanes - 1);
    const FourWords own = four_at(near + 4 * static_cast<std::int64_t>(i));
#if defined(__AVX2__)
    const EightWords mine = twice(own);  // eight differences r_i - r_j at a time
#endif
    int count = count_;
    for (int k = 0; k < number; k += kTested) {
      // Without room for all of the next ones, those that are there are computed first.
      if (count > kHits - kTested) {
        count_ = count;
        close(i, false);
        count = 0;
      }
      const auto place = [&](int q) {
        return near + 4 * static_cast<std::int64_t>(list[k + q] & kIndex);
      };
      for (int q = 0; q < kTested; q += 2) {  // two of them are often in one cache line
        const std::uint32_t j = list[k + kAhead + q] & kIndex;
        __builtin_prefetch(near + 4 * static_cast<std::int64_t>(j));
        __builtin_prefetch(velocity + j);
      }
#if defined(__AVX2__)
      const auto from = [&](int q) {
        return reinterpret_cast<EightInts>(mine - two_rows(place(q), place(q + 4)));
      };
      EightInts a = from(0), b = from(1), c = from(2);
      transpose_halves(a, b, c, from(3));
      unsigned bits = bits_of_eight(lengths.squares<EightFloats>(a, b, c) < limit_);
#else
      const auto from = [&](int q) { return reinterpret_cast<FourInts>(own - four_at(place(q))); };
      FourInts a = from(0), b = from(1), c = from(2), d = from(3);
      transpose(a, b, c, d);
      unsigned bits = bits_of_four(lengths.squares<FourFloats>(a, b, c) < limit_);
#endif
      // What is read beyond the list's end does not count.
      if (number - k < kTested) bits &= (1u << (number - k)) - 1;
      for (int q = 0; q < kTested; q += kGroup) {
        // Which of the GPU's `lanes` threads would have this group, four bytes at a time.
        const std::uint32_t lanes =
            (static_cast<std::uint32_t>((k + q) / kGroup) & last_lane) * 0x01010101u;
        std::memcpy(lane_ + count, &lanes, sizeof lanes);
        count += store_some(four_at(list + k + q), bits >> q & 0xfu, hit_ + count);
      }
    }
    count_ = count;
  }

  void flush() {
    if constexpr (plain && sizeof(typename P::Position) == 16)
      // Positions and velocities of 16 bytes are loaded whole and transposed.
      gather_four();
    else
      gather();
    separate();
    if constexpr (density) {
      weigh();
    } else {
      if constexpr (scalars)
        draw_vectors(s_.forces.noise, count_, tag_i_, tag_j_, scalars_.noise[0], scalars_.noise[1],
                     scalars_.noise[2], noise_);
      else if constexpr (transverse)
        draw_vectors(s_.forces.noise, count_, tag_i_, tag_j_, noise_, across_.y_noise,
                     across_.z_noise);
      else
        // xi_ij of Eq. 5 for all pairs of the batch.
        draw(s_.forces.noise, count_, tag_i_, tag_j_, noise_);
      if (!plain && s_.forces.general_exponent)
        evaluate<true>();
      else
        evaluate<false>();
    }
    int n = 0;
    for (int k = 0; k < segments_; ++k) {
      const Segment& segment = segment_[k];
      if (s_.lanes == 1)
        n = add_up<true>(n, segment.end);
      else
        n = add_up<false>(n, segment.end);
      if (segment.complete) finish(segment.i);
    }
    count_ = segments_ = 0;
  }

  // r_i - r_j in the frame's integers, which wrap to the nearest image, and v_i - v_j.
  void gather() {
    int n = 0;
    for (int k = 0; k < segments_; ++k) {
      const int i = segment_[k].i;
      const typename P::Position r = s_.position[i];
      const typename P::Velocity v = s_.velocity[i];
      for (; n < segment_[k].end; ++n) {
        const std::uint32_t j = hit_[n] & kIndexBits;
        const typename P::Position& other = s_.position[j];
        const typename P::Velocity& moves = s_.velocity[j];
        a_[n] = static_cast<typename P::Signed>(r.x - other.x);
        b_[n] = static_cast<typename P::Signed>(r.y - other.y);
        c_[n] = static_cast<typename P::Signed>(r.z - other.z);
        if constexpr (density || many_body) {
          const Real factor = s_.forces.special.factor[hit_[n] >> 30];
          density_.factor[n] = factor;
          if constexpr (many_body) density_.sum[n] = (s_.density[i] + s_.density[j]) * factor;
        }
        if constexpr (!density) {
          u_[n] = v.x - moves.x;
          v_[n] = v.y - moves.y;
          w_[n] = v.z - moves.z;
          tag_i_[n] = v.tag;
          tag_j_[n] = moves.tag;
          if constexpr (transverse) {
            TransverseLaw<Real> across;
            law_.set(n, law_of_pair(s_.forces, r.kind, other.kind, hit_[n], &across));
            across_.law.set(n, across);
          } else if constexpr (!plain) {
            law_.set(n, law_of_pair(s_.forces, r.kind, other.kind, hit_[n]));
            if constexpr (scalars) {
              scalars_.set(n, v.scalars_of_pair(), moves.scalars_of_pair());
              types_[n] = types_of(s_.forces.types, r.kind, other.kind);
            }
            if constexpr (potential) {
              types_[n] = types_of(s_.forces.types, r.kind, other.kind);
              if (s_.forces.lennard_jones)
                potentials_.set(n, s_.forces.potentials[types_[n]],
                                s_.forces.special.factor[hit_[n] >> 30]);
            }
          }
        }
      }
    }
  }

  // The same for four pairs at a time, whose places and velocities have four words each. What it
  // writes behind the end of a segment, the next one overwrites.
  void gather_four() {
    const auto* const position = reinterpret_cast<const std::uint32_t*>(s_.position);
    const auto* const velocity = reinterpret_cast<const std::uint32_t*>(s_.velocity);
    const auto store = [](auto* to, auto four) { std::memcpy(to, &four, sizeof four); };
    int n = 0;
    for (int k = 0; k < segments_; ++k) {
      const std::int64_t own = 4 * static_cast<std::int64_t>(segment_[k].i);
      const FourWords r = four_at(position + own), v = four_at(velocity + own);
      // Differences modulo 2^32, which are signed numbers to the nearest images.
      const auto minus_place = [&](int axis, FourInts others) {
        return (FourWords{} + r[axis]) - reinterpret_cast<FourWords>(others);
      };
      const FourFloats speeds = reinterpret_cast<FourFloats>(v);
      const auto minus_velocity = [&](int axis, FourInts others) {
        const FourFloats mine = {speeds[axis], speeds[axis], speeds[axis], speeds[axis]};
        return mine - reinterpret_cast<FourFloats>(others);
      };
      for (; n < segment_[k].end; n += kGroup) {
        // Rows (x, y, z, kind) and (v_x, v_y, v_z, tag) of four partners; transposed, each register
        // has one component of all four.
        FourInts p[kGroup], w[kGroup];
        for (int q = 0; q < kGroup; ++q) {
          const std::int64_t j = 4 * static_cast<std::int64_t>(hit_[n + q] & kIndex);
          p[q] = reinterpret_cast<FourInts>(four_at(position + j));
          w[q] = reinterpret_cast<FourInts>(four_at(velocity + j));
        }
        transpose(p[0], p[1], p[2], p[3]);
        transpose(w[0], w[1], w[2], w[3]);
        store(a_ + n, minus_place(0, p[0]));
        store(b_ + n, minus_place(1, p[1]));
        store(c_ + n, minus_place(2, p[2]));
        store(u_ + n, minus_velocity(0, w[0]));
        store(v_ + n, minus_velocity(1, w[1]));
        store(w_ + n, minus_velocity(2, w[2]));
        store(tag_i_ + n, FourWords{} + v[3]);
        store(tag_j_ + n, w[3]);
      }
      n = segment_[k].end;
    }
  }

  void separate() {
    if (s_.forces.frame.tilted)
      separate_in<false>();
    else
      separate_in<true>();
  }
  // r_ij and r_ij . v_ij of Eqs. 3 to 5, with the difference of the flow.
  template <bool upright>
  void separate_in() {
    const CoordinateFrame<P> frame = s_.forces.frame;
    [[maybe_unused]] const FlowGradient<Real> shear = s_.forces.shear;
    for (int n = 0; n < count_; ++n) {
      const Vector<Real> r = length_of<upright>(frame, a_[n], b_[n], c_[n]);
      x_[n] = r.x;
      y_[n] = r.y;
      z_[n] = r.z;
      squared_[n] = dot(r, r);
      if constexpr (!density) {
        Vector<Real> v{u_[n], v_[n], w_[n]};
        if constexpr (!upright) shear.add_at(r, v), u_[n] = v.x, v_[n] = v.y;
        approach_[n] = dot(r, v);
      }
    }
  }

  // w_d(r), whose squares add up to the local density.
  void weigh() {
    const ManyBody<Real> law = s_.forces.many_body;
    for (int n = 0; n < count_; ++n)
      energy_[n] = linear_weight(square_root(squared_[n]), law.inverse_cutoff);
  }

  template <bool general_exponent>
  void evaluate() {
    if constexpr (transverse)
      evaluate_vectors<general_exponent>();
    else if constexpr (scalars)
      scalars_.evaluate(s_.forces, count_, law_, types_,
                        {squared_, approach_, noise_, force_, energy_});
    else
      evaluate_central<general_exponent>();
  }

  // Forces along and across the line of centers (transverse.h). The forces themselves come to where
  // the differences of velocities were.
  template <bool general_exponent>
  void evaluate_vectors() {
    const Real cutoff_squared = s_.forces.cutoff_squared;
    for (int n = 0; n < count_; ++n) {
      PairLaw<Real> law = law_.of(n);
      const TransverseLaw<Real> across = across_.law.of(n);
      if constexpr (!general_exponent) law = beyond_transverse(law, across);
      const VectorForce<Real> f = transverse_force<general_exponent>(
          law, across, {x_[n], y_[n], z_[n]}, {u_[n], v_[n], w_[n]},
          {noise_[n], across_.y_noise[n], across_.z_noise[n]});
      const bool within = squared_[n] < cutoff_squared;
      u_[n] = within ? f.force.x : Real(0);
      v_[n] = within ? f.force.y : Real(0);
      w_[n] = within ? f.force.z : Real(0);
      if constexpr (reading) energy_[n] = within ? f.energy : Real(0);
    }
  }

  // Eqs. 3 to 5 along the line of centers, as force over distance; zero beyond the cutoff (Eq. 6).
  template <bool general_exponent>
  void evaluate_central() {
    const Real cutoff_squared = s_.forces.cutoff_squared;
    const PairLaw<Real> only = s_.forces.law;
    for (int n = 0; n < count_; ++n) {
      PairLaw<Real> law = only;
      if constexpr (!plain) law = law_.of(n);
      PairForce<Real> f = pair_force<general_exponent>(law, squared_[n], approach_[n], noise_[n]);
      // B (rho_i + rho_j) w_d(r) e_ij in addition (many_body.h).
      if constexpr (many_body) add_many_body(s_.forces.many_body, squared_[n], density_.sum[n], f);
      const bool within = squared_[n] < cutoff_squared;
      force_[n] = within ? f.over_distance : Real(0);
      if constexpr (reading) energy_[n] = within ? f.energy : Real(0);
    }
    if constexpr (potential) add_potentials();
  }
  void add_potentials() {
    const auto for_all = [this](const auto& add) {
      for (int n = 0; n < count_; ++n) {
        PairForce<Real> f{force_[n], reading ? energy_[n] : Real(0)};
        add(n, f);
        force_[n] = f.over_distance;
        if constexpr (reading) energy_[n] = f.energy;
      }
    };
    if (s_.forces.lennard_jones)
      return for_all([this](int n, PairForce<Real>& f) { potentials_.add(n, squared_[n], f); });
    for_all([this](int n, PairForce<Real>& f) {
      add_potential(s_.forces.potentials[types_[n]], s_.forces.nodes, squared_[n],
                    s_.forces.special.factor[hit_[n] >> 30], f);
    });
  }

  // f_i += (f / r) r_ij for pairs of the present particle, in the lane that the GPU's thread would
  // be, because the order of the sums determines their rounding.
  template <bool one_lane>
  int add_up(int n, int end) {
    if constexpr (density) {
      for (; n < end; ++n) {
        Real& sum = sum_[one_lane ? 0 : lane_[n]].energy;  // rho_i += f w_d^2
        sum = fused(density_.factor[n] * energy_[n], energy_[n], sum);
      }
      return end;
    }
    if constexpr (transverse) {
      for (; n < end; ++n) {
        Sum<Real>& sum = sum_[one_lane ? 0 : lane_[n]];
        const Vector<Real> force = {u_[n], v_[n], w_[n]};
        sum.force = sum.force + force;
        if constexpr (reading) add_energy(sum, {x_[n], y_[n], z_[n]}, force, energy_[n]);
      }
      return end;
    }
    if constexpr (in_rows) return add_rows<one_lane>(n, end);
    if constexpr (one_lane && !reading && !scalars) {
      Sum<Real> sum = sum_[0];
      for (; n < end; ++n) add_scaled(sum.force, {x_[n], y_[n], z_[n]}, force_[n]);
      sum_[0].force = sum.force;
      return end;
    }
    for (; n < end; ++n) {
      SumOf<P>& sum = sum_[one_lane ? 0 : lane_[n]];
      const Vector<Real> r = {x_[n], y_[n], z_[n]};
      add_scaled(sum.force, r, force_[n]);
      if constexpr (scalars) sum.flux = sum.flux + scalars_.flux[n];
      if constexpr (reading) add_energy(sum, r, force_[n], energy_[n]);
    }
    return end;
  }

  // The same with the components of a sum in registers.
  template <bool one_lane>
  int add_rows(int n, int end) {
    Rows only = row_[0];
    const auto add = [&](int pair, FourInts row) {
      (one_lane ? only : row_[lane_[pair]]).add(row, reading ? energy_[pair] : Real(0));
    };
    for (; n < end; n += kGroup) {
      const auto at = [n](const Real* from) {
        FourInts four;
        std::memcpy(&four, from + n, sizeof four);
        return four;
      };
      FourInts a = at(x_), b = at(y_), c = at(z_), d = at(force_);
      // Columns x, y, z and f / r of four pairs become one row of each pair.
      transpose(a, b, c, d);
      add(n, a);
      if (n + 1 < end) add(n + 1, b);
      if (n + 2 < end) add(n + 2, c);
      if (n + 3 < end) add(n + 3, d);
    }
    if (one_lane) row_[0] = only;
    return end;
  }

  static void add(SumOf<P>& a, const SumOf<P>& b) {
    a.force = a.force + b.force;
    if constexpr (scalars) a.flux = a.flux + b.flux;
    if constexpr (!reading && !density) return;
    a.energy += b.energy;
    for (int k = 0; k < 6; ++k) a.virial[k] += b.virial[k];
  }

  // All pairs of a particle are known. Lanes are added pairwise, as the threads of a warp do.
  void finish(int i) {
    if constexpr (in_rows) {
      // As __shfl_xor_sync adds them: the same pairs of sums in the same order.
      for (int distance = s_.lanes / 2; distance > 0; distance /= 2)
        for (int lane = 0; lane < distance; ++lane) row_[lane].add(row_[lane + distance]);
      const Rows sum = row_[0];
      for (int lane = 0; lane < s_.lanes; ++lane) row_[lane] = Rows{};
      if (simple_ && move_simply(i, sum.force)) return;
      sum.leave(sum_[0]);
      return move(i);
    }
    for (int distance = s_.lanes / 2; distance > 0; distance /= 2)
      for (int lane = 0; lane < distance; ++lane) add(sum_[lane], sum_[lane + distance]);
    if constexpr (density)
      s_.density[i] = s_.forces.many_body.density_scale * sum_[0].energy;
    else
      move(i);
    for (int lane = 0; lane < s_.lanes; ++lane) sum_[lane] = {};
  }

  // What move() does without bonds, walls and body forces in an upright box with one mass, for the
  // three components at a time, with the same operations. False if the particle has not been moved
  // because it is one of the rare ones that need more: it does not move, or it is lost.
  bool move_simply(int i, FourFloats force) {
    constexpr FourWords kThree = {~0u, ~0u, ~0u, 0u};
    const auto words = [](FourFloats a) { return reinterpret_cast<FourWords>(a); };
    const auto floats = [](FourWords a) { return reinterpret_cast<FourFloats>(a); };
    const std::int64_t at = 4 * static_cast<std::int64_t>(i);
    const FourWords r = four_at(reinterpret_cast<const std::uint32_t*>(s_.position) + at),
                    v = four_at(reinterpret_cast<const std::uint32_t*>(s_.velocity) + at);
    if (!(r[3] >> 16 & kIntegrated)) return false;
    force = floats(words(force) & kThree);
    const Motion<P>& m = s_.motion;
    const FourFloats half = FourFloats{} + m.half_kick;
    // v(t + dt/2) = v(t - dt/2) + 2 f dt / 2m, as two kicks, and r(t + dt) = r(t) + v dt.
    const FourFloats speed = fused(half, force, fused(half, force, floats(v & kThree)));
    const FourFloats to = {m.frame.to.xx, m.frame.to.yy, m.frame.to.zz, 0};
    const FourFloats by = (speed * m.time_step) * to;
    if (bits_of_four(floats(words(by) & 0x7fffffffu) < m.too_far) != 0xfu) return false;
    const FourInts d = nearest_integers(by);
    const FourWords place = r + reinterpret_cast<FourWords>(d);
    // As in advance_coordinate(): each is -1 where it is true.
    // Wrapped on the way up, or not wrapped on the way down: no crossing when both agree.
    const FourInts wrapped = place < r, down = d < 0;
    if (bits_of_four(wrapped ^ down))
      s_.image[i].add(down[0] - wrapped[0], down[1] - wrapped[1], down[2] - wrapped[2]);
    if (s_.sphere) {
      const BoundingSphere& sphere = s_.sphere[i];
      const FourWords center = four_at(&sphere.x);
      const FourFloats apart =
          __builtin_convertvector(reinterpret_cast<FourInts>(place - center), FourFloats) *
          FourFloats{s_.cells.edges.xx, s_.cells.edges.yy, s_.cells.edges.zz, 0};
      if (list_square({apart[0], apart[1], apart[2]}) > sphere.radius * sphere.radius)
        chunk_.expired = true;
    }
    const FourWords next = words(speed) | (v & ~kThree);
    std::memcpy(s_.next_position + i, &place, sizeof place);
    std::memcpy(s_.next_velocity + i, &next, sizeof next);
    return true;
  }
  bool is_simple() const {
    return plain && !reading && !s_.rests && !s_.motion.walls && !s_.motion.body_forces &&
           !s_.motion.surfaces && !s_.motion.half_kicks && !s_.motion.frame.tilted &&
           !s_.forces.shear.any() && !s_.bonds.entry && !s_.charged && !s_.next_near;
  }

  // The particle whose force is the first sum: adds bonds, thermostats and body forces, then
  // v(t) = v(t - dt/2) + f dt / 2m, where it comes to rest, or v(t + dt/2) and the next position.
  void move(int i) {
    const typename P::Position r = s_.position[i];
    typename P::Velocity v = s_.velocity[i];
    Sum<Real> bonded;
    bonded.force = sum_[0].force;
    Partner bond = s_.bonds.of(i, 0);
    if (s_.terms && bond.kind)
      add_terms(i, v.tag, bonded.force);
    else
      for (int k = 1; bond.kind; bond = s_.bonds.of(i, k++))
        add_bond<P>(bonded, s_.forces.frame, r, s_.position[bond.index], s_.bond_laws[bond.kind],
                    reading);
    if (s_.charged) bonded.force = bonded.force + s_.charged[i];
    if constexpr (!plain) add_thermostats(s_.motion, r, v, bonded.force);
    const Vector<Real> force = with_body_forces(s_.motion, r, bonded.force);
    if (s_.total) s_.total[i] = force;
    kick<!plain>(s_.motion, r, v, force);
    if constexpr (scalars) step_scalars<reading>(s_.motion, r, v, sum_[0].flux, s_.flux[i]);
    if constexpr (reading) {
      add_half(sum_[0], sums_.pairs);
      add_half(bonded, sums_.bonds);
    }
    if (reading || s_.rests) {
      s_.force[i] = bonded.force;
      s_.next_velocity[i] = v;
    } else {
      kick<!plain>(s_.motion, r, v, force);
      move_on(s_, i, r, v, chunk_);
    }
  }

  void add_terms(int i, std::uint32_t tag, Vector<Real>& force) {
    PartnersInOrder<P> partners(s_.bonds, i);
    partners.begin(s_.position);
    const BondedSum sum = bonded_sum(*s_.terms, s_.position, partners, i, reading);
    force = force + vector_of<Real>(sum.force);
    if (sum.stretch >= kStretched && tag > chunk_.stretched) chunk_.stretched = tag;
    if (sum.stretch == kBroken && tag > chunk_.broken) chunk_.broken = tag;
    if constexpr (reading) {
      add_half(sum.bonds, sums_.bonds);
      add_half(sum.angles, sums_.angles);
      add_half(sum.dihedrals, sums_.dihedrals);
      add_half(sum.impropers, sums_.impropers);
    }
  }

  // The share of one particle, because each pair is counted at both ends.
  template <class F>
  static void add_half(const Sum<F>& sum, EnergySum& all) {
    all.energy += 0.5 * static_cast<double>(sum.energy);
    for (int a = 0; a < 6; ++a) all.virial[a] += 0.5 * static_cast<double>(sum.virial[a]);
  }

  struct Densities {
    Real factor[kHits], sum[kHits];
  };
  struct Across {
    TransverseLawArrays<Real, kHits> law;
    Real y_noise[kHits], z_noise[kHits];
  };
  struct Nothing {};
  using Rows = RowSums<reading>;

  const StepArguments<P>& s_;
  Chunk& chunk_;
  EnergyAndVirial& sums_ = chunk_.energy_and_virial;
  float limit_;
  Lengths lengths_;
  int count_ = 0, segments_ = 0;
  Segment segment_[kChunk];
  bool simple_ = false;  // whether move_simply() serves
  SumOf<P> sum_[4];
  Rows row_[4] = {};                            // of add_rows()
  static constexpr int kRoom = kHits + kGroup;  // what gather_four() reads and writes
  std::uint32_t hit_[kRoom] = {};
  std::uint8_t lane_[kHits];
  typename P::Signed a_[kRoom], b_[kRoom], c_[kRoom];
  Real u_[kRoom], v_[kRoom], w_[kRoom], x_[kRoom] = {}, y_[kRoom] = {}, z_[kRoom] = {};
  std::uint32_t tag_i_[kRoom] = {}, tag_j_[kRoom] = {};
  Real squared_[kHits], approach_[kHits], noise_[kHits], force_[kRoom] = {}, energy_[kHits];
  std::conditional_t<plain || density, Nothing, LawArrays<Real, kHits>> law_;
  std::conditional_t<density || many_body, Densities, Nothing> density_;
  std::conditional_t<transverse, Across, Nothing> across_;
  std::conditional_t<scalars, ScalarBatch<P, kHits>, Nothing> scalars_;
  std::uint32_t types_[potential || scalars ? kHits : 1];  // places in tables of laws
  PotentialArrays<Real, potential ? kHits : 1> potentials_;
};

template <Precision P>
void step(const StepArguments<P>& arguments, bool reading, const std::uint32_t* entries,
          Chunk& chunk) {
  const auto take = [&](auto pass) {
    if (reading)
      StepLoop<P, pass(), true>(arguments, chunk).run(entries);
    else
      StepLoop<P, pass(), false>(arguments, chunk).run(entries);
  };
  if constexpr (has_scalars<P>)
    take(std::integral_constant<Pass, Pass::scalars>{});
  else if (arguments.density)
    take(std::integral_constant<Pass, Pass::many_body>{});
  else if (arguments.transverse)
    take(std::integral_constant<Pass, Pass::transverse>{});
  else if (arguments.forces.potentials)
    take(std::integral_constant<Pass, Pass::potential>{});
  else if (arguments.plain)
    take(std::integral_constant<Pass, Pass::plain>{});
  else
    take(std::integral_constant<Pass, Pass::general>{});
}

template <Precision P>
void find_densities(const StepArguments<P>& arguments, const std::uint32_t* entries, Chunk& chunk) {
  StepLoop<P, Pass::density, false>(arguments, chunk).run(entries);
}

}  // namespace
}  // namespace manymove::dpd::MANYMOVE_SIMD
