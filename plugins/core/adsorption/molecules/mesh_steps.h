// SPDX-License-Identifier: BSD-3-Clause
// What a team does with a mesh: the potential of all molecules but one around that one, its energy
// at a pose, and the structure factors after a move. See mesh.h.
#pragma once

#include "system.h"

namespace manymove::adsorption {

// The nodes around the poses of a molecule whose center moves from low to high along the axes.
template <MoleculesOfTeam System, class F>
MM_TEAM bool fit_mesh(const System& s, const Body<F>& body, const Site& old, const double* low,
                      const double* high, bool rotated, MeshRegion& region) {
  double from[3], to[3];
  for (int a = 0; a < 3; ++a) {
    const double reach =
        rotated ? (static_cast<double>(body.reach) + 1e-3) / static_cast<double>(s.r.widths[a]) : 0;
    from[a] = low[a] - static_cast<double>(static_cast<std::int64_t>(reach));
    to[a] = high[a] + static_cast<double>(static_cast<std::int64_t>(reach));
  }
  return region_of(s.r.mesh, old, from, to, region);
}

// Phases of a site, those along the z axis times its charge.
template <MoleculesOfTeam System, class F>
MM_TEAM void set_phases(const System& s, int point, const Site& at, F charge) {
  const MeshModel<F>& m = s.r.mesh;
  const int size = phases_of_point(m);
  const TeamPointer<MeshPhase<F>> to = s.scratch.mesh.phases + point * size;
  s.team.share(size, [&](int i) {
    // Phases of a point in one array: n_x = 0 ... highest, then n_y, then n_z.
    const int x = m.highest[0] + 1, y = x + m.highest[1] + 1;
    const int n = i < x ? i : i < y ? i - x : i - y;
    F c, sn;
    unit_circle(static_cast<std::uint32_t>(n) * (i < x ? at.x : i < y ? at.y : at.z), c, sn);
    to[i] = {i < y ? c : charge * c, i < y ? sn : charge * sn};
  });
}
// Those of a molecule's charges, one after the other; returns the number of them.
template <MoleculesOfTeam System, class F>
MM_TEAM int set_phases_of(const System& s, int first, const Body<F>& body, const Pose& p) {
  const Matrix turn = matrix_of(p.turn);
  int point = first;
  for (int i = 0; i < body.count; ++i) {
    const F q = s.r.charge[body.type[i]];
    if (q != F(0)) set_phases(s, point++, site_of(s.r, body, p.center, turn, i), q);
  }
  return point - first;
}

// Structure factors of the four waves of a quad, of the points with phases from first to end.
template <class F>
struct FourWaves {
  F c[4], s[4];
};
template <class F>
MM_TEAM FourWaves<F> four_waves(const MeshModel<F>& m, const TeamPointer<MeshPhase<F>>& phases,
                                const MeshQuad& quad, int first, int end) {
  const int size = phases_of_point(m), y = m.highest[0] + 1, z = y + m.highest[1] + 1;
  F t[8] = {};
  MM_NO_UNROLL
  for (int p = first; p < end; ++p) {
    const TeamPointer<MeshPhase<F>> from = phases + p * size;
    const MeshPhase<F> ex = from[quad.x], ey = from[y + quad.y], ez = from[z + quad.z];
    // cos and sin of x +- y by cos x cos y, sin x sin y, sin x cos y and cos x sin y, times e^(i
    // z).
    const F cc = ex.c * ey.c, ss = ex.s * ey.s, sc = ex.s * ey.c, cs = ex.c * ey.s;
    t[0] = fused(cc, ez.c, t[0]), t[1] = fused(ss, ez.c, t[1]);
    t[2] = fused(sc, ez.c, t[2]), t[3] = fused(cs, ez.c, t[3]);
    t[4] = fused(cc, ez.s, t[4]), t[5] = fused(ss, ez.s, t[5]);
    t[6] = fused(sc, ez.s, t[6]), t[7] = fused(cs, ez.s, t[7]);
  }
  FourWaves<F> w;
  MM_UNROLL
  for (int j = 0; j < 4; ++j) {
    const F sign_x = j & 1 ? F(-1) : F(1), sign_y = j & 2 ? F(-1) : F(1), both = sign_x * sign_y;
    // Re and Im of e^(i (+-x +- y + z)), by cos(a + b) and sin(a + b), with x and y of either sign.
    w.c[j] = fused(-both, t[1], t[0]) - fused(sign_x, t[6], sign_y * t[7]);
    w.s[j] = fused(-both, t[5], t[4]) + fused(sign_x, t[2], sign_y * t[3]);
  }
  return w;
}

// A structure factor in the state.
struct alignas(16) Wave {
  double c, s;
};

// Amplitude of a quad in the potential of all molecules but the one with the pose `old`; or, where
// that one is not rotated, in its energy as a function of its center.
template <MoleculesOfTeam System, class F>
MM_TEAM MeshAmplitude<F> amplitude_of(const System& s, int index, int charges, bool rotated) {
  const MeshModel<F>& m = s.r.mesh;
  const MeshQuad quad = m.quad[index];
  const MeshWeights<F> weights = m.weight[index];
  const Wave* const waves = reinterpret_cast<const Wave*>(s.waves);
  F c[4], sn[4];
  MM_UNROLL
  for (int j = 0; j < 4; ++j) {  // a wave that the sum does not have has no weight
    const Wave wave = waves[quad.wave[j] < 0 ? 0 : quad.wave[j]];
    c[j] = static_cast<F>(wave.c), sn[j] = static_cast<F>(wave.s);
  }
  const TeamPointer<MeshPhase<F>> phases = s.scratch.mesh.phases;
  const FourWaves<F> own = four_waves(m, phases, quad, 0, charges);
  MM_UNROLL
  for (int j = 0; j < 4; ++j) {
    // w(k) (S(k) - S_own(k)), and the complex conjugate: the potential is Re sum_k w conj(S) e^(i k
    // r).
    c[j] = weights.v[j] * (c[j] - own.c[j]);
    sn[j] = weights.v[j] * (own.s[j] - sn[j]);
  }
  if (!rotated) {
    const FourWaves<F> center = four_waves(m, phases, quad, charges, charges + 1);
    MM_UNROLL
    for (int j = 0; j < 4; ++j) {
      const F u = fused(own.c[j], center.c[j], own.s[j] * center.s[j]),
              v = fused(own.s[j], center.c[j], -(own.c[j] * center.s[j]));
      const F a = c[j], b = sn[j];
      c[j] = fused(a, u, -(b * v));
      sn[j] = fused(a, v, b * u);
    }
  }
  // Along x, for both signs of y: (sum) cos x + i (difference) sin x; along y likewise.
  // Wave j of a quad has the signs (+, +), (-, +), (+, -), (-, -) of x and y.
  const F plus_c = c[0] + c[1], plus_s = sn[0] + sn[1], plus_ic = sn[1] - sn[0],
          plus_is = c[0] - c[1];
  const F minus_c = c[2] + c[3], minus_s = sn[2] + sn[3], minus_ic = sn[3] - sn[2],
          minus_is = c[2] - c[3];
  return {{plus_c + minus_c, plus_s + minus_s, plus_ic + minus_ic, plus_is + minus_is,
           minus_s - plus_s, plus_c - minus_c, minus_is - plus_is, plus_ic - minus_ic}};
}

// The phase from one node to the next is 2^32 / points.
template <class F>
MM_HD std::uint32_t node_phase(const MeshModel<F>& m, const MeshRegion& g, int axis, int node) {
  return nearest_word((g.first[axis] - (kSpline / 2 - 1) + node) * (0x1p32 / m.points[axis]));
}

// i / divisor for i below 2^16 and divisors up to kMeshSide.
struct Divisor {
  unsigned by, factor;
  MM_HD explicit Divisor(int divisor)
      : by(static_cast<unsigned>(divisor)), factor((1u << 20) / by + 1) {}
  MM_HD int quotient(int i) const {
    return static_cast<int>(static_cast<unsigned>(i) * factor >> 20);
  }
};

// The sum over the waves at the nodes, one axis after the other: layer by layer of the waves, along
// x and then along y, and added to all nodes along z. plane: [rows of a layer][kMeshSide].
template <MoleculesOfTeam System, class F>
MM_TEAM void sum_on_mesh(const System& s, const MeshModel<F>& m, const MeshRegion& g, int charges,
                         bool rotated, TeamPointer<MeshSums<F>> plane) {
  const MeshScratch<F>& t = s.scratch.mesh;
  const int X = g.size[0], Y = g.size[1], Z = g.size[2];
  const Divisor by_x(X);
  const auto set_amplitudes = [&](int n) {
    // Quads of layer z = n: all its rows y, and of each row x = 0, 1, ...
    const int last = m.layer[n + 1] - 1, first = m.row[m.layer[n]].first;
    s.team.share(m.row[last].first + m.row[last].count - first, [&](int i) {
      t.amplitudes[i] = amplitude_of<System, F>(s, first + i, charges, rotated);
    });
  };
  s.team.share(m.layers * kMeshSide, [&](int i) {
    const int node = i % kMeshSide;
    if (node < Z)
      unit_circle(static_cast<std::uint32_t>(i / kMeshSide) * node_phase(m, g, 2, node),
                  t.circle[i].c, t.circle[i].s);
  });
  s.team.share(2 * kMeshSide, [&](int i) {  // the powers of e^(i phase) along the axes x and y
    const int axis = i / kMeshSide, node = i % kMeshSide;
    if (node >= g.size[axis]) return;
    const TeamPointer<MeshPhase<F>> to = t.turning[axis] + node;
    F step_c, step_s, c = 1, sn = 0;
    unit_circle(node_phase(m, g, axis, node), step_c, step_s);
    MM_NO_UNROLL
    for (int k = 0; k <= m.highest[axis]; ++k) {
      to[k * kMeshSide] = {c, sn};
      const F old = c;
      // e^(i (k + 1) phase) = e^(i k phase) e^(i phase).
      c = fused(c, step_c, -(sn * step_s));
      sn = fused(sn, step_c, old * step_s);
    }
  });
  set_amplitudes(0);
  // Powers and amplitudes are read by lanes that have not made them.
  s.team.sync();
  MM_NO_UNROLL
  for (int n = 0; n < m.layers; ++n) {
    const MeshRow* const rows = m.row + m.layer[n];
    const int count = m.layer[n + 1] - m.layer[n], start = rows[0].first;
    s.team.share(count * X, [&](int i) {
      // plane[row y][node x] = sum over x of the amplitudes times e^(i k_x x), as two complex
      // numbers.
      const int r = by_x.quotient(i), node = i - r * X;
      const MeshRow row = rows[r];
      const TeamPointer<MeshAmplitude<F>> from = t.amplitudes + (row.first - start);
      const TeamPointer<MeshPhase<F>> circle = t.turning[0] + node;
      F u = 0, iu = 0, v = 0, iv = 0;
      MM_UNROLL_BY_2
      for (int k = 0; k < row.count; ++k) {
        const MeshAmplitude<F> a = from[k];
        const MeshPhase<F> e = circle[k * kMeshSide];
        u = fused(a.v[0], e.c, fused(a.v[2], e.s, u));
        iu = fused(a.v[1], e.c, fused(a.v[3], e.s, iu));
        v = fused(a.v[4], e.c, fused(a.v[6], e.s, v));
        iv = fused(a.v[5], e.c, fused(a.v[7], e.s, iv));
      }
      plane[r * kMeshSide + node] = {{u, iu, v, iv}};
    });
    // A column along y needs the rows of all lanes.
    s.team.sync();
    s.team.share(X * Y, [&](int i) {
      const int y = by_x.quotient(i);
      const TeamPointer<MeshPhase<F>> circle = t.turning[1] + y;
      const TeamPointer<MeshSums<F>> from = plane + (i - y * X);
      // Then along y, for the node (x, y); its layer turns along z by e^(i n phase).
      F line = 0, iline = 0;
      MM_UNROLL_BY_2
      for (int k = 0; k < count; ++k) {
        const MeshSums<F> p = from[k * kMeshSide];
        const MeshPhase<F> e = circle[k * kMeshSide];
        line = fused(p.v[0], e.c, fused(p.v[2], e.s, line));
        iline = fused(p.v[1], e.c, fused(p.v[3], e.s, iline));
      }
      const TeamPointer<MeshPhase<F>> along = t.circle + n * kMeshSide;
      TeamPointer<F> to = t.values + i;
      MM_UNROLL_BY_2
      for (int z = 0; z < Z; ++z) {
        const MeshPhase<F> e = along[z];
        // Re[(line + i iline) e^(i k_z z)], added layer by layer.
        to[0] = fused(line, e.c, fused(-iline, e.s, n ? to[0] : F(0)));
        to = to + X * Y;
      }
    });
    if (n + 1 < m.layers) set_amplitudes(n + 1);
    // The next layer overwrites `plane`, and reads its own amplitudes.
    s.team.sync();
  }
}

// spare: memory of a walk.
template <MoleculesOfTeam System, class F>
MM_TEAM void set_mesh(const System& s, const Body<F>& body, const Pose& old, bool rotated,
                      const MeshRegion& region, TeamPointer<Pose> spare) {
  const int charges = set_phases_of(s, 0, body, old);
  if (!rotated) set_phases(s, charges, old.center, F(1));
  // Amplitudes are made of the phases of all charges.
  s.team.sync();
  // psi(node) = sum_k of the amplitudes times e^(i k r_node), by three sums in a row over x, y and
  // z.
  sum_on_mesh(s, s.r.mesh, region, charges, rotated, spare.template as<MeshSums<F>>());
  if (rotated)
    s.team.bring(s.r.mesh.alone, alone_nodes(s.r.mesh), s.scratch.mesh.amplitudes.template as<F>());
}

// Energy of a molecule with the others, and with its own images where they depend on the pose. Its
// order of terms is part of the result. One copy of mesh_value() for the charges: the code stays
// small.
template <MoleculesOfTeam System, class F>
MM_TEAM F mesh_energy(const System& s, const Body<F>& body, const MeshRegion& region,
                      const typename System::template Lane<Site>* at, const Site& center, int l,
                      bool rotated) {
  const MeshModel<F>& m = s.r.mesh;
  const TeamPointer<const F> values = s.scratch.mesh.values;
  MeshRegion alone;
  for (int a = 0; a < 3; ++a) {
    alone.first[a] = m.points[a] - m.alone_half[a] + kSpline / 2 - 1;
    alone.size[a] = 2 * m.alone_half[a] + 1;
  }
  F sum = 0;
  MM_NO_UNROLL
  for (int i = 0; i < (rotated ? body.count : 1); ++i) {
    const F q = rotated ? s.r.charge[body.type[i]] : F(1);
    if (q == F(0)) continue;
    // sum_i q_i psi(r_i); of a molecule that is not rotated the mesh has the energy itself.
    sum = fused(q, mesh_value(m, region, values, rotated ? at[i][l] : center), sum);
    MM_NO_UNROLL
    for (int j = 0; j < i; ++j) {
      // q_i q_j psi(r_i - r_j): with the images of the molecule itself, which a rotation changes.
      const F qq = q * s.r.charge[body.type[j]];
      const Site d{at[i][l].x - at[j][l].x, at[i][l].y - at[j][l].y, at[i][l].z - at[j][l].z};
      if (qq != F(0)) sum = fused(qq, mesh_value(m, alone, s.scratch.mesh.alone, d), sum);
    }
  }
  return sum;
}

// After set_mesh(): the structure factors of the system with the molecule at another pose. Returns
// the change of the waves' energy.
template <MoleculesOfTeam System, class F>
MM_TEAM double accept_by_quads(const System& s, const Body<F>& body, const Pose& fresh) {
  const MeshModel<F>& m = s.r.mesh;
  int charges = 0;
  for (int i = 0; i < body.count; ++i) charges += s.r.charge[body.type[i]] != F(0);
  // The counters of the last sum have been read.
  s.team.sync();
  s.team.reset(s.scratch.counters);
  set_phases_of(s, charges, body, fresh);
  // Phases at the new pose lie behind those at the old one, for all lanes.
  s.team.sync();
  std::int64_t change = 0;
  s.team.share(m.quads, [&](int i) {
    const MeshQuad quad = m.quad[i];
    Wave* const waves = reinterpret_cast<Wave*>(s.waves);
    const TeamPointer<MeshPhase<F>> phases = s.scratch.mesh.phases;
    // S changes by the molecule's structure factor at the new pose less that at the old one.
    const FourWaves<F> before = four_waves(m, phases, quad, 0, charges),
                       after = four_waves(m, phases, quad, charges, 2 * charges);
    double energy = 0;
    MM_UNROLL
    for (int j = 0; j < 4; ++j) {
      if (quad.wave[j] < 0) continue;
      Wave& wave = waves[quad.wave[j]];
      const Wave now = wave;
      const double c = static_cast<double>(after.c[j] - before.c[j]),
                   sn = static_cast<double>(after.s[j] - before.s[j]);
      // S' = S + dS, kept in doubles so that rounding does not accumulate.
      wave = {now.c + c, now.s + sn};
      // weight (|S + change|^2 - |S|^2)
      // dC (2 C + dC) + dS (2 S + dS), in which nothing large cancels.
      const double product = fused(c, fused(2.0, now.c, c), sn * fused(2.0, now.s, sn));
      energy = fused(static_cast<double>(s.r.wave_weight[quad.wave[j]]), product, energy);
    }
    // Integers of 2^-20 K: the sum over the quads does not depend on the order of the lanes.
    change += static_cast<std::int64_t>(energy * (1 / kQuantum));
  });
  return static_cast<double>(s.team.total(s.scratch.counters, change)) * kQuantum;
}

}  // namespace manymove::adsorption
