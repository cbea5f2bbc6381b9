// SPDX-License-Identifier: BSD-3-Clause
// The waves of Ewald's sum: the structure factors S(k) = sum_j q_j exp(i k r_j) of a system, their
// change by a molecule, and what it costs, sum_k w(k) (|S + change|^2 - |S|^2):
// docs/theory/molecules.md.
#pragma once

#include "../team.h"
#include "arrays.h"

namespace manymove::adsorption {

// e^(i k r) of the waves of a row, one after the other.
template <class F>
struct Turning {
  F c, s, step_c, step_s;
  MM_HD Turning(const WaveRow& row, const Site& at) {
    // k r = 2 pi (n_x u_x + n_y u_y + n_z u_z) is an integer modulo 2^32 in units of 2 pi / 2^32,
    // so that the phase has no rounding error.
    unit_circle(static_cast<std::uint32_t>(row.x) * at.x +
                    static_cast<std::uint32_t>(row.y) * at.y +
                    static_cast<std::uint32_t>(row.z) * at.z,
                c, s);
    unit_circle(at.x, step_c, step_s);
  }
  MM_HD void next() {
    // From wave x to wave x + 1 of a row: e^(i (k + a*) r) = e^(i k r) e^(i a* r).
    const F old = c;
    c = fused(c, step_c, -(s * step_s));
    s = fused(s, step_c, old * step_s);
  }
};

// With at most Charges charges, so that their phases stay in registers; others are zero.
template <int Charges, MoleculesOfTeam System, class F>
MM_TEAM void add_wave_energies_of(const System& s, const Body<F>& body,
                                  TeamPointer<const Pose> poses, int own,
                                  typename System::template Lane<F>& energy) {
  typename System::template Lane<Site> at[Charges];
  typename System::template Lane<F> step_c[Charges], step_s[Charges], c[Charges], sn[Charges];
  F q[Charges];
  int site = 0;
  MM_UNROLL_ON_GPU
  for (int j = 0; j < Charges; ++j) {
    while (site < body.count && s.r.charge[body.type[site]] == F(0)) ++site;
    const bool some = site < body.count;
    q[j] = some ? s.r.charge[body.type[site]] : F(0);
    const int which = some ? site++ : 0;
    s.team.each([&](int l) {
      const Pose p = poses[l * own];
      at[j][l] = site_of(s.r, body, p.center, matrix_of(p.turn), which);
      // exp(2 pi i x), from one wave of a row to the next.
      unit_circle(at[j][l].x, step_c[j][l], step_s[j][l]);
    });
  }
  for (int k = 0; k < s.r.rows; ++k) {
    const WaveRow row = s.r.row[k];
    const auto x = static_cast<std::uint32_t>(row.x), y = static_cast<std::uint32_t>(row.y),
               z = static_cast<std::uint32_t>(row.z);
    MM_UNROLL_ON_GPU
    for (int j = 0; j < Charges; ++j)
      s.team.each([&](int l) {
        // n . u in 2^-32 of a turn: products of integers wrap as phases do.
        unit_circle(x * at[j][l].x + y * at[j][l].y + z * at[j][l].z, c[j][l], sn[j][l]);
      });
    for (int i = row.first; i < row.first + row.count; ++i) {
      // w (|S + dS|^2 - |S|^2) = w (dc (2 c + dc) + ds (2 s + ds)) with the structure factor S = c
      // + i s of the others, which is stored twice as large.
      const F twice_c = s.scratch.others[2 * i], twice_s = s.scratch.others[2 * i + 1],
              weight = s.r.wave_weight[i];
      s.team.each([&](int l) {
        F dc = 0, ds = 0;
        MM_UNROLL
        for (int j = 0; j < Charges; ++j) {
          const F old_c = c[j][l], old_s = sn[j][l];
          dc = fused(q[j], old_c, dc);
          ds = fused(q[j], old_s, ds);
          c[j][l] = fused(old_c, step_c[j][l], -(old_s * step_s[j][l]));
          sn[j][l] = fused(old_s, step_c[j][l], old_c * step_s[j][l]);
        }
        const F product = fused(dc, twice_c + dc, ds * (twice_s + ds));
        energy[l] = fused(weight, product, energy[l]);
      });
    }
  }
}
// change[wave] += sign times the molecule's structure factor; the lanes share the rows.
template <MoleculesOfTeam System, class F>
MM_TEAM void add_waves(const System& s, const Body<F>& body, const Pose& p,
                       typename System::Real sign, bool clear) {
  const Matrix turn = matrix_of(p.turn);
  s.team.share(s.r.rows, [&](int n) {
    const WaveRow row = s.r.row[n];
    F* to = s.scratch.change + 2 * static_cast<std::size_t>(row.first);
    for (int i = 0; clear && i < 2 * row.count; ++i) to[i] = 0;
    for (int k = 0; k < body.count; ++k) {
      const F q = sign * s.r.charge[body.type[k]];
      // Sites without a charge add nothing to S(k) = sum_j q_j exp(i k r_j).
      if (q == F(0)) continue;
      const Site at = site_of(s.r, body, p.center, turn, k);
      Turning<F> wave(row, at);
      for (int i = 0; i < row.count; ++i) {
        to[2 * i] = fused(q, wave.c, to[2 * i]);
        to[2 * i + 1] = fused(q, wave.s, to[2 * i + 1]);
        wave.next();
      }
    }
  });
  // Accepted moves share the waves out otherwise than the rows here.
  s.team.sync();
}
// The charges of a molecule that goes and of one that comes, one after the other. A body that is
// null stands for no molecule.
template <MoleculesOfTeam System, class F>
struct ChangedCharges {
  const Body<F>* body[2];
  Pose pose[2];
  int which = 0, site = 0;

  // The charge and the place of the next one; zero after the last one.
  MM_TEAM F next(const System& s, Site& at) {
    for (; which < 2; ++which, site = 0) {
      const Body<F>* const own = body[which];
      for (; own && site < own->count; ++site) {
        const F q = s.r.charge[own->type[site]];
        if (q == F(0)) continue;
        at = site_of(s.r, *own, pose[which].center, matrix_of(pose[which].turn), site++);
        return which ? q : -q;
      }
    }
    at = {0, 0, 0};
    return 0;
  }
  MM_TEAM int count(const System& s) const {
    int sum = 0;
    for (int b = 0; b < 2; ++b)
      for (int i = 0; body[b] && i < body[b]->count; ++i)
        sum += s.r.charge[body[b]->type[i]] != F(0);
    return sum;
  }
};

// A structure factor in memory, which a GPU reads and writes as a whole.
template <class F>
struct alignas(2 * sizeof(F)) WavePair {
  F c, s;
};

// A pass of change_waves() over all waves, with the next charges.
template <int Charges, MoleculesOfTeam System, class F>
MM_TEAM void change_waves_by(const System& s, ChangedCharges<System, F>& charges, bool first,
                             bool last, typename System::template Lane<F>& sum) {
  F q[Charges], step_c[Charges], step_s[Charges];
  Site at[Charges];
  MM_UNROLL_ON_GPU
  for (int j = 0; j < Charges; ++j) {
    q[j] = charges.next(s, at[j]);
    unit_circle(at[j].x, step_c[j], step_s[j]);
  }
  auto* const change = reinterpret_cast<WavePair<F>*>(s.scratch.change);
  const auto* const waves = reinterpret_cast<const WavePair<double>*>(s.waves);
  s.team.each([&](int l) {
    for (int k = l; k < s.r.rows; k += System::kLanes) {
      const WaveRow row = s.r.row[k];
      const auto x = static_cast<std::uint32_t>(row.x), y = static_cast<std::uint32_t>(row.y),
                 z = static_cast<std::uint32_t>(row.z);
      F c[Charges], sn[Charges];
      MM_UNROLL
      for (int j = 0; j < Charges; ++j)
        unit_circle(x * at[j].x + y * at[j].y + z * at[j].z, c[j], sn[j]);
      for (int i = row.first; i < row.first + row.count; ++i) {
        F dc = first ? F(0) : change[i].c, ds = first ? F(0) : change[i].s;
        MM_UNROLL
        for (int j = 0; j < Charges; ++j) {
          const F old_c = c[j], old_s = sn[j];
          dc = fused(q[j], old_c, dc);
          ds = fused(q[j], old_s, ds);
          c[j] = fused(old_c, step_c[j], -(old_s * step_s[j]));
          sn[j] = fused(old_s, step_c[j], old_c * step_s[j]);
        }
        change[i] = {dc, ds};
        if (!last) continue;
        const WavePair<double> held = waves[i];
        const F of_c = static_cast<F>(held.c), of_s = static_cast<F>(held.s);
        const F product = fused(dc, fused(F(2), of_c, dc), ds * fused(F(2), of_s, ds));
        sum[l] = fused(s.r.wave_weight[i], product, sum[l]);
      }
    }
  });
}
// Sets the change of the structure factors if a molecule goes and another one comes, by a team of
// one warp, and adds what it costs: with S = c + i s, w (|S + dS|^2 - |S|^2) is
// w (dc (2 c + dc) + ds (2 s + ds)), in which nothing large cancels. All charges of common
// molecules are changed in one pass over the memory of the waves.
template <MoleculesOfTeam System, class F>
MM_TEAM void change_waves(const System& s, ChangedCharges<System, F> charges,
                          typename System::template Lane<F>& sum) {
  constexpr int kFew = 3, kMany = 6;
  const int count = charges.count(s);
  if (count <= kFew) {
    change_waves_by<kFew>(s, charges, true, true, sum);
  } else {
    for (int done = 0; done < count; done += kMany)
      change_waves_by<kMany>(s, charges, done == 0, done + kMany >= count, sum);
  }
  // An accepted move shares the waves out otherwise than the rows here.
  s.team.sync();
}
MM_TEAM void clear_change(const MoleculesOfTeam auto& s) {
  s.team.share(2 * s.r.waves, [&](int i) { s.scratch.change[i] = 0; });
  s.team.sync();
}
// Twice the structure factors of all molecules but the one that is in change, for
// add_wave_energies().
template <MoleculesOfTeam System>
MM_TEAM void set_others(const System& s) {
  using F = typename System::Real;
  s.team.share(2 * s.r.waves, [&](int i) {
    s.scratch.others[i] = F(2) * (static_cast<F>(s.waves[i]) + s.scratch.change[i]);
  });
  s.team.sync();
}
MM_TEAM void accept_waves(const MoleculesOfTeam auto& s) {
  if (!s.charged()) return;
  s.team.share(2 * s.r.waves,
               [&](int i) { s.waves[i] += static_cast<double>(s.scratch.change[i]); });
  s.team.sync();
}
// Each lane's molecule has the pose poses[lane * own]. The molecule whose structure factors are
// in change, with the other sign, does not count.
template <MoleculesOfTeam System, class F>
MM_TEAM void add_wave_energies(const System& s, const Body<F>& body, TeamPointer<const Pose> poses,
                               int own, typename System::template Lane<F>& energy) {
  // The common molecules have three charges at most; their phases stay in registers.
  int charges = 0;
  for (int k = 0; k < body.count; ++k) charges += s.r.charge[body.type[k]] != F(0);
  if (charges <= 3)
    add_wave_energies_of<3>(s, body, poses, own, energy);
  else
    add_wave_energies_of<kMostSites>(s, body, poses, own, energy);
}

}  // namespace manymove::adsorption
