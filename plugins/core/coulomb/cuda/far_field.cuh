// SPDX-License-Identifier: BSD-3-Clause
// The far field of the method "tree" on a GPU: kernels that put charges on the mesh, transform it,
// and estimate what a move of each trial would change.
#pragma once

#include <cooperative_groups.h>

#include "../../runtime/device.cuh"
#include "../far_field.h"
#include "pairs.cuh"

namespace manymove::coulomb {
namespace {

__device__ Site site_at(const Site* sites, std::size_t k) {
  const float4 v = reinterpret_cast<const float4*>(sites)[k];
  return {v.x, v.y, v.z, v.w};
}

struct Mesh {
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

__device__ std::size_t mesh_row(const Mesh& m, int x, int y) {
  return (static_cast<std::size_t>(x) * m.rules.points[1] + y) * m.rules.points[2];
}
__device__ Complex<double>* spectrum_row(const Mesh& m, int x, int y) {
  return m.spectrum + (static_cast<std::size_t>(x) * m.rules.length[1] + y) * m.stride;
}

// ---- charges ----

constexpr int kSpreadThreads = 16 * kWindow;

// A block per ion and place: what `move` names, or all ions where they are.
__device__ void spread(const Mesh& m, const Site& at, int sign) {
  __shared__ double weight[3][kWindow];
  __shared__ int first[3];
  if (threadIdx.x < 3 * kWindow) {
    const int axis = threadIdx.x / kWindow, l = threadIdx.x % kWindow;
    const double x = axis == 0 ? at.x : axis == 1 ? at.y : at.z;
    double lag;
    const int begin = window_at(m.rules, axis, x, lag);
    weight[axis][l] = window_weight(m.rules, lag, l);
    if (l == 0) first[axis] = begin;
  }
  __syncthreads();
  const int c = threadIdx.x % 16, b = threadIdx.x / 16;
  if (c < kWindow) {
    const int y = wrapped_point(m.rules, 1, first[1] + b),
              z = wrapped_point(m.rules, 2, first[2] + c);
    for (int a = 0; a < kWindow; ++a) {
      const int x = wrapped_point(m.rules, 0, first[0] + a);
      const std::int64_t share =
          charge_share(m.rules, at.charge, weight[0][a] * weight[1][b] * weight[2][c]);
      atomicAdd(m.charge + mesh_row(m, x, y) + z, static_cast<unsigned long long>(sign * share));
    }
  }
  __syncthreads();
}
__global__ void __launch_bounds__(kSpreadThreads)
    fill_kernel(const __grid_constant__ Mesh m, const Site* site, int ions) {
  for (int i = blockIdx.x; i < ions; i += gridDim.x) spread(m, site[i], 1);
}

// ---- transforms: a block has kLines lines in shared memory, twice ----

constexpr int kLines = 4, kFftThreads = 256;

template <int R>
__device__ void fft_stage(int length, int done, const Complex<double>* twiddle,
                          const Complex<double>* from, Complex<double>* to) {
  const int apart = length / R;
  for (int item = threadIdx.x; item < apart * kLines; item += kFftThreads) {
    const int line = item % kLines, t = item / kLines;
    Complex<double> a[R];
    for (int k = 0; k < R; ++k) a[k] = from[(t + k * apart) * kLines + line];
    butterfly(a, done, t, twiddle);
    const int place = fft_place(R, done, t);
    for (int k = 0; k < R; ++k) to[(place + k * done) * kLines + line] = a[k];
  }
  __syncthreads();
}
// All threads; begins after a barrier, ends with one. Returns where the result is.
__device__ Complex<double>* transform_lines(const FftPlan& plan, const Complex<double>* twiddle,
                                            Complex<double>* a, Complex<double>* b) {
  int done = 1;
  for (int s = 0; s < plan.stages; ++s) {
    const int radix = plan.radix[s];
    if (radix == 4)
      fft_stage<4>(plan.length, done, twiddle, a, b);
    else if (radix == 5)
      fft_stage<5>(plan.length, done, twiddle, a, b);
    else if (radix == 3)
      fft_stage<3>(plan.length, done, twiddle, a, b);
    else
      fft_stage<2>(plan.length, done, twiddle, a, b);
    done *= radix;
    Complex<double>* const other = a;
    a = b;
    b = other;
  }
  return a;
}

// blockIdx: x, and a group of lines along z, of which two make one of complex numbers.
__global__ void __launch_bounds__(kFftThreads) forward_z_kernel(const __grid_constant__ Mesh m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[2], points = m.rules.points[2], lines = m.rules.points[1];
  auto* const a = reinterpret_cast<Complex<double>*>(shared);
  auto* const b = a + length * kLines;
  const int x = blockIdx.y, first = blockIdx.x * 2 * kLines;
  double squares = 0;
  for (int item = threadIdx.x; item < length * 2 * kLines; item += kFftThreads) {
    const int z = item % length, real = item / length;
    double q = 0;
    if (z < points && first + real < lines)
      q = static_cast<double>(
              static_cast<std::int64_t>(m.charge[mesh_row(m, x, first + real) + z])) *
          m.rules.charge_unit;
    squares += q * q;
    Complex<double>& to = a[z * kLines + real / 2];
    (real % 2 ? to.im : to.re) = q;
  }
  for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, step);
  if (threadIdx.x % 32 == 0 && squares != 0) atomicAdd(m.squares, squares);
  __syncthreads();
  const Complex<double>* const c = transform_lines(m.plan[2], m.twiddle[2], a, b);
  for (int item = threadIdx.x; item < length / 2 * 2 * kLines; item += kFftThreads) {
    const int k = item % (length / 2), real = item / (length / 2);
    if (first + real >= lines) continue;
    const Complex<double> p = c[k * kLines + real / 2],
                          q = c[(k ? length - k : 0) * kLines + real / 2];
    spectrum_row(m, x, first + real)[k] =
        real % 2 ? Complex<double>{(p.im + q.im) * 0.5, (q.re - p.re) * 0.5}
                 : Complex<double>{(p.re + q.re) * 0.5, (p.im - q.im) * 0.5};
  }
}
__global__ void __launch_bounds__(kFftThreads) inverse_z_kernel(const __grid_constant__ Mesh m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[2], points = m.rules.points[2], lines = m.rules.points[1];
  auto* const a = reinterpret_cast<Complex<double>*>(shared);
  auto* const b = a + length * kLines;
  const int x = blockIdx.y, first = blockIdx.x * 2 * kLines;
  for (int item = threadIdx.x; item < length * kLines; item += kFftThreads) {
    const int k = item % length, line = item / length, one = first + 2 * line;
    const int fold = k < length - k ? k : length - k;
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
    a[k * kLines + line] = {p.im + q.re, p.re - q.im};
  }
  __syncthreads();
  const Complex<double>* const c = transform_lines(m.plan[2], m.twiddle[2], a, b);
  for (int item = threadIdx.x; item < points * 2 * kLines; item += kFftThreads) {
    const int z = item % points, real = item / points;
    if (first + real >= lines) continue;
    const Complex<double> v = c[z * kLines + real / 2];
    m.potential[mesh_row(m, x, first + real) + z] = static_cast<float>(real % 2 ? v.re : v.im);
  }
}

// blockIdx: a group of wave numbers along z, and x.
template <bool Inverse>
__global__ void __launch_bounds__(kFftThreads) along_y_kernel(const __grid_constant__ Mesh m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[1], points = m.rules.points[1];
  auto* const a = reinterpret_cast<Complex<double>*>(shared);
  auto* const b = a + length * kLines;
  const int k = blockIdx.x * kLines, x = blockIdx.y;
  const int given = Inverse ? length : points, wanted = Inverse ? points : length;
  for (int item = threadIdx.x; item < length * kLines; item += kFftThreads) {
    const int y = item / kLines;
    Complex<double> v{0, 0};
    if (y < given) v = spectrum_row(m, x, y)[k + item % kLines];
    a[item] = Inverse ? Complex<double>{v.im, v.re} : v;
  }
  __syncthreads();
  const Complex<double>* const c = transform_lines(m.plan[1], m.twiddle[1], a, b);
  for (int item = threadIdx.x; item < wanted * kLines; item += kFftThreads) {
    const Complex<double> v = c[item];
    spectrum_row(m, x, item / kLines)[k + item % kLines] =
        Inverse ? Complex<double>{v.im, v.re} : v;
  }
}
// blockIdx: a group of wave numbers along z, and the wave number along y.
__global__ void __launch_bounds__(kFftThreads) along_x_kernel(const __grid_constant__ Mesh m) {
  extern __shared__ double2 shared[];
  const int length = m.rules.length[0], points = m.rules.points[0];
  auto* const a = reinterpret_cast<Complex<double>*>(shared);
  auto* const b = a + length * kLines;
  const int k = blockIdx.x * kLines, ky = blockIdx.y, other = m.rules.length[1] - ky;
  const int fold_y = ky < other ? ky : other;
  for (int item = threadIdx.x; item < length * kLines; item += kFftThreads) {
    const int x = item / kLines;
    a[item] = x < points ? spectrum_row(m, x, ky)[k + item % kLines] : Complex<double>{0, 0};
  }
  __syncthreads();
  Complex<double>* const c = transform_lines(m.plan[0], m.twiddle[0], a, b);
  for (int item = threadIdx.x; item < length * kLines; item += kFftThreads) {
    const int kx = item / kLines, fold_x = kx < length - kx ? kx : length - kx;
    const double factor =
        m.factor[(static_cast<std::size_t>(fold_x) * m.half_y + fold_y) * m.stride + k +
                 item % kLines];
    c[item] = {c[item].im * factor, c[item].re * factor};
  }
  __syncthreads();
  const Complex<double>* const back = transform_lines(m.plan[0], m.twiddle[0], c, c == a ? b : a);
  for (int item = threadIdx.x; item < points * kLines; item += kFftThreads) {
    const Complex<double> v = back[item];
    spectrum_row(m, item / kLines, ky)[k + item % kLines] = {v.im, v.re};
  }
}

// ---- sources of the short-ranged sums, by cell ----

struct SourceCells {
  int cells[3];
  double edge[3], per_edge[3];  // of a cell, and cells in one unit of length
  double half[3];               // half the edge of the system
  bool periodic;
  std::uint32_t* count;  // [cells + 1]: how many, then where the next goes
  std::uint32_t* first;  // [cells + 1]
  Site* source;          // [N]
};

__device__ int cell_at(const SourceCells& s, int axis, double x) {
  const int cell = static_cast<int>((x + s.half[axis]) * s.per_edge[axis]);
  return min(max(cell, 0), s.cells[axis] - 1);
}
__device__ std::size_t cell_at(const SourceCells& s, const Site& at) {
  return (static_cast<std::size_t>(cell_at(s, 2, at.z)) * s.cells[1] + cell_at(s, 1, at.y)) *
             s.cells[0] +
         cell_at(s, 0, at.x);
}
__global__ void count_cells_kernel(SourceCells s, const Site* site, int ions) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < ions) atomicAdd(s.count + cell_at(s, site[i]), 1u);
}
__global__ void sort_cells_kernel(SourceCells s, const Site* site, int ions) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= ions) return;
  const std::size_t cell = cell_at(s, site[i]);
  s.source[s.first[cell] + atomicSub(s.count + cell, 1u) - 1] = site[i];
}

// ---- estimates ----

__device__ void copy_table(const NearTable& from, NearTable& to) {
  for (int n = threadIdx.x; n < kPieceTerms * kPieces; n += blockDim.x)
    to.coefficient[n / kPieces][n % kPieces] = from.coefficient[n / kPieces][n % kPieces];
  if (threadIdx.x == 0) to.error = from.error;
}

struct Span {
  int first, count;
};
// Places and distances in numbers of cells.
__device__ Span span_of(const SourceCells& s, int axis, double place, double reach) {
  int low = static_cast<int>(floor(place - reach)), high = static_cast<int>(floor(place + reach));
  if (!s.periodic) {
    low = max(low, 0);
    high = min(high, s.cells[axis] - 1);
  } else if (high - low + 1 >= s.cells[axis]) {
    low = 0;
    high = s.cells[axis] - 1;
  }
  return {low, high - low + 1};
}
__device__ double apart_of(const SourceCells& s, int axis, double place, int cell,
                           const Span& span) {
  if (s.periodic && span.count == s.cells[axis]) return 0;
  return fmax(0.0, fmax(cell - place, place - cell - 1)) * s.edge[axis];
}
__device__ int wrapped_cell(const SourceCells& s, int axis, int cell) {
  return cell < 0 ? cell + s.cells[axis] : cell >= s.cells[axis] ? cell - s.cells[axis] : cell;
}

// A lane's share of a potential in float32, and a bound of its error.
struct Share {
  double sum = 0, error = 0;
};

// By a warp, each lane its share: potential at short range, sources, and those that stand there.
// First each lane finds the sources of a row of cells, then each half of the warp takes one row
// after the other.
template <Space B>
__device__ void add_near(const Rules& r, const Mesh& m, const NearTable& table,
                         const SourceCells& s, const Site& at, double sign, Share& share,
                         int& sources, int& coincident) {
  constexpr Space kNear = B == Space::ewald ? Space::nearest : B;
  const int lane = threadIdx.x % 32;
  const double place[3] = {(at.x + s.half[0]) * s.per_edge[0], (at.y + s.half[1]) * s.per_edge[1],
                           (at.z + s.half[2]) * s.per_edge[2]};
  const double reach = m.rules.reach * (1 + 1e-6);  // beyond the rounding of all this
  const auto per_reach2 = static_cast<float>(m.rules.inverse_reach2);
  const Span rows = span_of(s, 1, place[1], reach * s.per_edge[1]),
             planes = span_of(s, 2, place[2], reach * s.per_edge[2]);
  for (int first = 0; first < rows.count * planes.count; first += 32) {
    // In one piece, or in two where a row leaves the box.
    std::uint32_t begin[2] = {0, 0}, end[2] = {0, 0};
    const int number = first + lane;
    if (number < rows.count * planes.count) {
      const int y = rows.first + number % rows.count, z = planes.first + number / rows.count;
      const double dy = apart_of(s, 1, place[1], y, rows), dz = apart_of(s, 2, place[2], z, planes);
      const double left = reach * reach - dy * dy - dz * dz;
      if (left > 0) {
        const Span row = span_of(s, 0, place[0], sqrt(left) * s.per_edge[0]);
        const std::size_t start =
            (static_cast<std::size_t>(wrapped_cell(s, 2, z)) * s.cells[1] + wrapped_cell(s, 1, y)) *
            s.cells[0];
        int from = row.first, rest = row.count;
        for (int piece = 0; piece < 2 && rest > 0; ++piece) {
          const int low = wrapped_cell(s, 0, from), cells = min(rest, s.cells[0] - low);
          begin[piece] = s.first[start + low];
          end[piece] = s.first[start + low + cells];
          from += cells;
          rest -= cells;
        }
      }
    }
    float part = 0, size = 0, part_size = 0;
    int terms = 0;
    for (int piece = 0; piece < (s.periodic ? 2 : 1); ++piece) {
      unsigned pairs = __ballot_sync(0xffffffffu, begin[piece] < end[piece]);
      for (pairs = (pairs | pairs >> 1) & 0x55555555u; pairs; pairs &= pairs - 1) {
        const int source_lane = __ffs(static_cast<int>(pairs)) - 1 + lane / 16;
        const std::uint32_t low = __shfl_sync(0xffffffffu, begin[piece], source_lane),
                            high = __shfl_sync(0xffffffffu, end[piece], source_lane);
        for (std::uint32_t j = low + lane % 16; j < high; j += 16) {
          const Site g = site_at(s.source, j);
          const auto d = separation<kNear, float>(r, at.x - g.x, at.y - g.y, at.z - g.z);
          ++terms;
          coincident += d.squared == 0;
          const float v = d.squared * per_reach2;
          if (v < 1 && d.squared > 0) {
            const float inverse = inverse_root_single(d.squared);
            const float term = inverse - value_of(table, v);
            part = fused(g.charge, term, part);
            part_size = fused(abs_of(g.charge), abs_of(term), part_size);
            size = fused(abs_of(g.charge), inverse, size);
          }
        }
      }
    }
    share.sum += sign * part;
    share.error += table.error * size + 0x1p-24 * terms * part_size;
    sources += terms;
  }
}
// Of the potential on the mesh; two rows of the window at a time. A term has 26 roundings at most.
__device__ void add_far(const Mesh& m, const Site& at, double sign, float (*weight)[kWindow],
                        Share& share) {
  const int lane = threadIdx.x % 32;
  int first[3];
  for (int axis = 0; axis < 3; ++axis) {
    const double x = axis == 0 ? at.x : axis == 1 ? at.y : at.z;
    double lag;
    first[axis] = window_at(m.rules, axis, x, lag);
    if (lane < kWindow) weight[axis][lane] = static_cast<float>(window_weight(m.rules, lag, lane));
  }
  __syncwarp();
  const int c = lane % 16, odd = lane / 16;
  if (c < kWindow) {
    const int z = wrapped_point(m.rules, 2, first[2] + c);
    float sum = 0, size = 0;
    for (int a = 0; a < kWindow; ++a) {
      const int x = wrapped_point(m.rules, 0, first[0] + a);
      float plane = 0, plane_size = 0;
#pragma unroll
      for (int b = odd; b < kWindow; b += 2) {
        const float value =
            m.potential[mesh_row(m, x, wrapped_point(m.rules, 1, first[1] + b)) + z];
        plane = fused(weight[1][b], value, plane);
        plane_size = fused(abs_of(weight[1][b]), abs_of(value), plane_size);
      }
      sum = fused(weight[0][a], plane, sum);
      size = fused(abs_of(weight[0][a]), plane_size, size);
    }
    share.sum += sign * (weight[2][c] * sum);
    share.error += 32 * 0x1p-24 * abs_of(weight[2][c] * size);
  }
  __syncwarp();
}

// The trials of an epoch by place in the order of a sweep. Their batches are dealt out in turn to
// the devices that share the chain.
struct Deal {
  int begin, end, batch, own, devices;

  // Trials in this device's batches that begin at `from`, itself the beginning of a batch, or
  // later.
  __host__ __device__ int trials(int from) const {
    const int first = first_batch(from), last = batch_of(end) - 1;
    if (first > last) return 0;
    const int whole = ((last - first) / devices + 1) * batch;
    return (last - first) % devices == 0 ? whole - ((last + 1) * batch - (end - begin)) : whole;
  }
  // Place of the n-th of them; with a larger n, possibly beyond the end.
  __host__ __device__ int place(int from, int n) const {
    return begin + (first_batch(from) + n / batch * devices) * batch + n % batch;
  }

 private:
  __host__ __device__ int batch_of(int place) const { return (place - begin + batch - 1) / batch; }
  __host__ __device__ int first_batch(int from) const {
    const int next = batch_of(from);
    return next + (own - next % devices + devices) % devices;
  }
};

constexpr int kEstimateThreads = 128;

// A warp per trial: what its move would change as things stand, and a bound of the error.
template <Space B>
__global__ void __launch_bounds__(kEstimateThreads)
    estimate_kernel(const __grid_constant__ Rules r, const __grid_constant__ Mesh m,
                    const __grid_constant__ SourceCells s, const NearTable* near_table,
                    ErrorBound bound, double least, const Site* from, const Site* to, Deal deal,
                    double later, double* change, double* error) {
  __shared__ float weights[kEstimateThreads / 32][3][kWindow];
  __shared__ NearTable table;
  copy_table(*near_table, table);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int k = deal.place(deal.begin, blockIdx.x * (kEstimateThreads / 32) + warp);
  if (k >= deal.end) return;
  const Site here = from[k], there = to[k];
  int sources = 0, at_here = 0, at_there = 0;
  Share share;
  add_near<B>(r, m, table, s, there, 1, share, sources, at_there);
  add_near<B>(r, m, table, s, here, -1, share, sources, at_here);
  add_far(m, there, 1, weights[warp], share);
  add_far(m, here, -1, weights[warp], share);
  double sum = share.sum, single = share.error;
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
    single += __shfl_xor_sync(0xffffffffu, single, step);
    sources += __shfl_xor_sync(0xffffffffu, sources, step);
    at_here += __shfl_xor_sync(0xffffffffu, at_here, step);
    at_there += __shfl_xor_sync(0xffffffffu, at_there, step);
  }
  if (lane != 0) return;
  const bool rests = here.x == there.x && here.y == there.y && here.z == there.z;
  const bool defined = at_here == 1 && (rests || at_there == 0);
  if (rests) {
    sum = 0;
  } else {
    const double own =
        unit_potential<B>(r, r.rest, separation<B>(r, there.x, there.y, there.z, here));
    sum -= here.charge * (own - m.rules.at_zero);
  }
  change[k] = defined ? sum : as_double(0x7ff8000000000000ull);
  const double proven = error_of(bound, sqrt(*m.squares), later + sources);
  const double quanta = 6755399441055744.0 / r.magic;
  error[k] = fmax(proven + 1.01 * quanta * single, least / abs_of(here.charge));
}

}  // namespace
}  // namespace manymove::coulomb
