// SPDX-License-Identifier: BSD-3-Clause
// Compiled without contraction of products and sums, as its operations are for CPUs.
#include "device_charges.cuh"

#include "../../cuda/sort.h"

namespace manymove::dpd {

namespace {

using Counter = unsigned long long;
constexpr int kDipole = 14;  // of DeviceChargeArrays::sums

__device__ void add_integer(Counter* to, std::int64_t value) {
  atomicAdd(to, static_cast<Counter>(value));
}

// ---- particles and cells ----

// One thread per particle.
template <Precision P>
__global__ void follow_kernel(int count, const typename P::Velocity* velocity,
                              const __grid_constant__ DeviceChargeArrays<P> a) {
  const int i = index_of_thread();
  if (i >= count) return;
  a.force[i] = {0, 0, 0};
  const std::uint32_t tag = velocity[i].tag;
  int number = 0;
  for (int end = a.charges; number < end;) {
    const int middle = number + (end - number) / 2;
    if (a.charge[middle].tag < tag)
      number = middle + 1;
    else
      end = middle;
  }
  if (number == a.charges || a.charge[number].tag != tag) return;
  a.carrier[number] = i;
  a.own[atomicAdd(a.owned, 1)] = number;
}

template <Precision P>
__device__ void enter_cell(const DeviceChargeArrays<P>& a, const ChargedPlace& place) {
  if (a.law.slab_force != 0) add_integer(&a.sums[kDipole], dipole_of(a.law, place));
  atomicAdd(&a.filling[cell_of(a.law, place)], 1u);
}
// One thread per charge of this rank: where it is, and how many there are in each cell.
template <Precision P>
__global__ void locate_kernel(int owned, const __grid_constant__ DeviceChargeArrays<P> a) {
  const int k = index_of_thread();
  if (k >= owned || a.step.is_stale()) return;
  const int number = a.own[k];
  const typename P::Position p = a.position[a.carrier[number]];
  const ChargedPlace place{high_word(p.x), high_word(p.y), high_word(p.z),
                           static_cast<std::uint32_t>(number), a.charge[number].charge};
  a.found[number] = place;
  if (a.tail) a.tail[number] = {low_word(p.x), low_word(p.y), low_word(p.z)};
  if (a.alone) enter_cell(a, place);
}
// One thread per charge of all ranks.
template <Precision P>
__global__ void enter_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int k = index_of_thread();
  if (k < a.charges && !a.step.is_stale()) enter_cell(a, a.found[k]);
}

// One thread per charge: to its cell, in any order. All numbers of cells are 0 again.
template <Precision P>
__global__ void place_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int k = index_of_thread();
  if (k >= a.charges || a.step.is_stale()) return;
  const ChargedPlace p = a.found[k];
  const int cell = cell_of(a.law, p);
  a.place[a.start[cell] + atomicSub(&a.filling[cell], 1u) - 1] = p;
}

// ---- the mesh ----

// One thread per charge and column of its points, so that neighbors in memory are of neighboring
// threads.
template <Precision P, int order>
__global__ void spread_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int thread = index_of_thread(), k = thread / order;
  if (k >= a.charges || a.step.is_stale()) return;
  const ChargedPlace p = a.place[k];
  const double units = p.charge / a.mesh.charge_unit;
  const MeshStencil<order> stencil(a.mesh, p);
  int point;
  double weight;
  stencil.x.choose(thread % order, point, weight);
  auto* const charge = reinterpret_cast<Counter*>(a.mesh.charge) + point;
  stencil.for_rows(a.mesh, [&](int row, double across_x) {
    add_integer(charge + row * a.mesh.points[0], share_of(units, across_x * weight));
  });
}

// One thread per value.
__global__ void influence_kernel(int count, const __grid_constant__ ChargeMesh mesh) {
  const int k = index_of_thread();
  if (k < count) fill_influence(mesh, k);
}

// ---- waves one by one ----

// One thread per wave.
__global__ void fill_waves_kernel(const __grid_constant__ ChargeWaves waves) {
  const int k = index_of_thread();
  if (k < waves.count) fill_wave(waves, k);
}

// One block per wave. All sums are 0 before it.
template <Precision P>
__global__ void __launch_bounds__(kThreads)
    wave_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  if (a.step.is_stale()) return;
  const int wave = static_cast<int>(blockIdx.x);
  std::int64_t sum[2] = {};
  for (int k = static_cast<int>(threadIdx.x); k < a.charges; k += kThreads)
    add_to_wave(a.waves, wave, a.found[k],
                [&](int part, std::int64_t units) { sum[part] += units; });
  auto* const sums = reinterpret_cast<Counter*>(a.waves.sum) + 2 * wave;
  for (int part = 0; part < 2; ++part) {
    auto value = static_cast<long long>(sum[part]);
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(kWholeWarp, value, d);
    if (threadIdx.x % 32 == 0) add_integer(&sums[part], value);
  }
}

__host__ __device__ int lines_along(const ChargeMesh& mesh, int axis) {
  return axis == 0 ? mesh.pairs_of_rows() : WaveLines(mesh, axis).count;
}

// `some` lines along an axis, which a block has in shared memory: of waves along y or z; along x,
// of pairs of rows.
template <int some>
struct BlockLines {
  static constexpr int kPitch = some == 1 ? 1 : some + 1;  // spreads lines over banks
  const ChargeMesh& mesh;
  const int axis, length, first, here;

  __device__ BlockLines(const ChargeMesh& mesh, int axis)
      : mesh(mesh),
        axis(axis),
        length(mesh.points[axis]),
        first(static_cast<int>(blockIdx.x) * some),
        here(min(some, lines_along(mesh, axis) - first)) {}

  static __device__ int at(int k, int line) { return k * kPitch + line; }
  // Calls visit(k, line, index of the wave). Neighbors in memory are of different lines.
  template <class Visit>
  __device__ void for_waves(const Visit& visit) const {
    const WaveLines along(mesh, axis);
    const int thread = static_cast<int>(threadIdx.x), line = thread % some;
    if (line >= here) return;
    const std::int64_t begin = along.begin(first + line);
    for (int k = thread / some; k < length; k += kThreads / some)
      visit(k, line, begin + static_cast<std::int64_t>(k) * along.stride);
  }
  // Calls visit(k, line, row, whether there is a second row) for k below `end`.
  template <class Visit>
  __device__ void for_rows(int end, const Visit& visit) const {
    const int thread = static_cast<int>(threadIdx.x);
    for (int line = thread / 32; line < here; line += kThreads / 32) {
      const int row = 2 * (first + line);
      for (int k = thread % 32; k < end; k += 32) visit(k, line, row, row + 1 < mesh.rows());
    }
  }

  template <int R>
  __device__ void stage(int done, const Wave* from, Wave* to) const {
    const int apart = length / R, line = static_cast<int>(threadIdx.x) % some;
    const Wave* const twiddle = mesh.twiddle[axis];
    for (int t = static_cast<int>(threadIdx.x) / some; t < apart; t += kThreads / some) {
      Wave a[R];
      MM_UNROLL for (int j = 0; j < R; ++j) a[j] = from[at(t + j * apart, line)];
      butterfly(a, done, t, twiddle);
      const int place = fft_place(R, done, t);
      MM_UNROLL for (int j = 0; j < R; ++j) to[at(place + j * done, line)] = a[j];
    }
  }
  // All threads of the block, after a barrier; the result is in `from`.
  __device__ void transform(Wave*& from, Wave*& to) const {
    const FftPlan& plan = mesh.plan[axis];
    int done = 1;
    for (int s = 0; s < plan.stages; ++s) {
      for_constant<2, 3, 4, 5>(plan.radix[s], [&](auto radix) { stage<radix()>(done, from, to); });
      done *= plan.radix[s];
      __syncthreads();
      Wave* const other = from;
      from = to;
      to = other;
    }
  }
};

// One block for `some` pairs of rows: from charges, which are 0 afterwards, to waves along x.
template <int some>
__global__ void __launch_bounds__(kThreads)
    charges_to_waves_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ Wave memory[];
  if (step.is_stale()) return;
  const BlockLines<some> lines(mesh, 0);
  const int length = lines.length, half = mesh.half();
  Wave *from = memory, *to = memory + length * lines.kPitch;
  lines.for_rows(length, [&](int k, int line, int row, bool second) {
    const auto take = [&](int which) {
      std::int64_t& charge = mesh.charge[static_cast<std::int64_t>(which) * length + k];
      const double value = static_cast<double>(charge) * mesh.charge_unit;
      charge = 0;
      return value;
    };
    from[lines.at(k, line)] = {take(row), second ? take(row + 1) : 0.0};
  });
  __syncthreads();
  lines.transform(from, to);
  lines.for_rows(half, [&](int k, int line, int row, bool second) {
    Wave a, b;
    apart(from[lines.at(k, line)], from[lines.at(k == 0 ? 0 : length - k, line)], a, b);
    Wave* const waves = mesh.waves[0] + static_cast<std::int64_t>(row) * half + k;
    waves[0] = a;
    if (second) waves[half] = b;
  });
}

// The reverse, of the field along the axis blockIdx.y.
template <int some>
__global__ void __launch_bounds__(kThreads)
    waves_to_fields_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ Wave memory[];
  if (step.is_stale()) return;
  const BlockLines<some> lines(mesh, 0);
  const int length = lines.length, half = mesh.half(), axis = static_cast<int>(blockIdx.y);
  Wave *from = memory, *to = memory + length * lines.kPitch;
  lines.for_rows(half, [&](int k, int line, int row, bool second) {
    const Wave* const waves = mesh.waves[axis] + static_cast<std::int64_t>(row) * half + k;
    const Wave a = waves[0], b = second ? waves[half] : Wave{0, 0};
    from[lines.at(k, line)] = together(a, b);
    if (k > 0 && 2 * k < length)
      from[lines.at(length - k, line)] = together(conjugate(a), conjugate(b));
  });
  __syncthreads();
  lines.transform(from, to);
  lines.for_rows(length, [&](int k, int line, int row, bool second) {
    const Wave both = from[lines.at(k, line)];
    mesh.field(axis, row, k) = both.re;
    if (second) mesh.field(axis, row + 1, k) = both.im;
  });
}

// One block for `some` lines of waves along an axis, y or z, of the field along the axis
// blockIdx.y.
template <int some>
__global__ void __launch_bounds__(kThreads)
    fft_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step, int axis) {
  extern __shared__ Wave memory[];
  if (step.is_stale()) return;
  const BlockLines<some> lines(mesh, axis);
  Wave *from = memory, *to = memory + lines.length * lines.kPitch;
  Wave* const waves = mesh.waves[blockIdx.y];
  lines.for_waves(
      [&](int k, int line, std::int64_t index) { from[lines.at(k, line)] = waves[index]; });
  __syncthreads();
  lines.transform(from, to);
  lines.for_waves(
      [&](int k, int line, std::int64_t index) { waves[index] = from[lines.at(k, line)]; });
}

// One block for `some` lines along z: from the transform of the charges along x and y to the fields
// whose inverse transforms along y and x are left.
template <int some>
__global__ void __launch_bounds__(kThreads)
    solve_lines_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step) {
  extern __shared__ Wave memory[];
  if (step.is_stale()) return;
  const BlockLines<some> lines(mesh, 2);
  const int size = lines.length * lines.kPitch;
  Wave *rho = memory, *to = memory + size, *field = memory + 2 * size;
  lines.for_waves(
      [&](int k, int line, std::int64_t index) { rho[lines.at(k, line)] = mesh.waves[0][index]; });
  __syncthreads();
  lines.transform(rho, to);
  for (int axis = 0; axis < 3; ++axis) {
    lines.for_waves([&](int k, int line, std::int64_t) {
      const int xy = lines.first + line;
      WaveSums none;
      const WaveFields fields = solve_wave<false>(mesh, xy % mesh.half(), xy / mesh.half(), k,
                                                  rho[lines.at(k, line)], none);
      field[lines.at(k, line)] = fields.along(axis);
    });
    __syncthreads();
    lines.transform(field, to);
    lines.for_waves([&](int k, int line, std::int64_t index) {
      mesh.waves[axis][index] = field[lines.at(k, line)];
    });
  }
}

// One thread per row of waves, with its sums.
__global__ void solve_rows_kernel(const __grid_constant__ ChargeMesh mesh, const ChargeStep step,
                                  WaveSums* of_row) {
  const int row = index_of_thread();
  if (row >= mesh.rows() || step.is_stale()) return;
  WaveSums sums;
  for (int x = 0; x < mesh.half(); ++x) {
    const std::int64_t k = static_cast<std::int64_t>(row) * mesh.half() + x;
    const WaveFields fields = solve_wave<true>(mesh, x, row % mesh.points[1], row / mesh.points[1],
                                               mesh.waves[0][k], sums);
    for (int axis = 0; axis < 3; ++axis) mesh.waves[axis][k] = fields.along(axis);
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

// ---- forces ----

constexpr int kLanesOfCharge = 8;
static_assert(kMostOrder <= kLanesOfCharge);

__device__ void add_over_lanes(std::int64_t& sum) {
  auto value = static_cast<long long>(sum);
#pragma unroll
  for (int d = kLanesOfCharge / 2; d > 0; d /= 2) value += __shfl_xor_sync(kWholeWarp, value, d);
  sum = value;
}

// The field at a charge, which all of its lanes have: each column of points is the work of a lane.
template <int order>
__device__ Vector<double> field_of_lanes(const ChargeMesh& mesh, const ChargedPlace& p, int lane) {
  Vector<double> own{0, 0, 0}, field{0, 0, 0};
  if (lane < order) {
    const MeshStencil<order> stencil(mesh, p);
    int point;
    double weight;
    stencil.x.choose(lane, point, weight);
    stencil.for_rows(mesh, [&](int row, double across_x) {
      add_field(mesh, row, point, across_x * weight, own);
    });
  }
  const auto of_column = [&](double value, int k) {
    return __shfl_sync(kWholeWarp, value, k, kLanesOfCharge);
  };
#pragma unroll
  for (int k = 0; k < order; ++k)
    field = field + Vector<double>{of_column(own.x, k), of_column(own.y, k), of_column(own.z, k)};
  return field;
}

// kLanesOfCharge threads per charge: forces in real space, and of waves one by one.
template <Precision P, bool reading>
__global__ void __launch_bounds__(kThreads)
    pair_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  if (a.step.is_stale()) return;
  const int thread = index_of_thread(), k = thread / kLanesOfCharge, lane = thread % kLanesOfCharge;
  const ChargedPlace p = a.place[min(k, a.charges - 1)];
  const bool here = k < a.charges && a.carrier[p.number] >= 0;
  if (!__any_sync(kWholeWarp, here)) return;
  // Where a tenth of the particles is charged, a lane has four of them in all.
  constexpr int kMostNear = 24;
  __shared__ int near[kMostNear * kThreads];
  ChargeSums sums = sums_of<reading, kMostNear>(
      a.law, reinterpret_cast<const int*>(a.start), a.place, p,
      {near + threadIdx.x, static_cast<int>(kThreads)}, lane, kLanesOfCharge);
  leave_out_specials<reading>(a.law, a.special, p, sums, lane, kLanesOfCharge);
  add_waves(a.waves, p, sums, lane, kLanesOfCharge);
  for (std::int64_t& sum : sums.force) add_over_lanes(sum);
  if (!here) return;
  if (lane == 0)
    a.pairs[k] = {static_cast<double>(sums.force[0]) * a.law.force_unit,
                  static_cast<double>(sums.force[1]) * a.law.force_unit,
                  static_cast<double>(sums.force[2]) * a.law.force_unit};
  if constexpr (reading) {
    ChargeTotals::split(sums, [&](int k, std::int64_t high, std::int64_t low) {
      add_integer(&a.sums[k], high);
      add_integer(&a.sums[7 + k], low);
    });
  }
}

// kLanesOfCharge threads per charge: the whole force.
template <Precision P, int order>
__global__ void __launch_bounds__(kThreads)
    force_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  if (a.step.is_stale()) return;
  const int thread = index_of_thread(), k = thread / kLanesOfCharge, lane = thread % kLanesOfCharge;
  const ChargedPlace p = a.place[min(k, a.charges - 1)];
  const int carrier = k < a.charges ? a.carrier[p.number] : -1;
  if (!__any_sync(kWholeWarp, carrier >= 0)) return;
  Vector<double> field{0, 0, 0};
  if constexpr (order > 0) field = field_of_lanes<order>(a.mesh, p, lane);
  if (lane > 0 || carrier < 0) return;
  a.force[carrier] = vector_of<typename P::Real>(
      a.pairs[k] + force_in(a.law, field, static_cast<std::int64_t>(a.sums[kDipole]), p));
}

// The number of lines of which `arrays` fit into 48 KB of shared memory.
int lines_of_block(int length, int arrays) {
  for (const int some : {16, 8, 4, 2})
    if (arrays * (some + 1) * length * static_cast<int>(sizeof(Wave)) <= 48 * 1024) return some;
  return 1;
}

}  // namespace

template <Precision P>
DeviceCharges<P>::DeviceCharges(const Settings& settings, const EngineStream& stream,
                                Communicator* communicator)
    : stream_(stream),
      communicator_(communicator),
      plan_(settings),
      force_table_(on_device(plan_.force, stream)),
      energy_table_(on_device(plan_.energy, stream)),
      whole_force_(on_device(plan_.whole_force, stream)),
      whole_energy_(on_device(plan_.whole_energy, stream)),
      wave_(on_device(plan_.wave, stream)),
      wave_sum_(2 * plan_.wave.size()),
      sums_(kDipole + 1) {
  if (!plan_.mesh.order) return;
  for (int a = 0; a < 3; ++a) {
    line_[a] = on_device(plan_.line[a], stream);
    twiddle_[a] = on_device(plan_.twiddle[a], stream);
  }
  allocate_each(static_cast<std::size_t>(plan_.mesh.half()) *
                    static_cast<std::size_t>(plan_.mesh.influences(1) * plan_.mesh.influences(2)),
                influence_);
  allocate_each(static_cast<std::size_t>(plan_.mesh.size()), mesh_charge_);
  allocate_each(static_cast<std::size_t>(plan_.mesh.half() * plan_.mesh.rows()), waves_[0],
                waves_[1], waves_[2]);
  const auto planes = static_cast<std::size_t>(plan_.mesh.points[2]);
  of_plane_ = DeviceBuffer<WaveSums>(planes);
  of_row_ = DeviceBuffer<WaveSums>(planes * static_cast<std::size_t>(plan_.mesh.points[1]));
}

template <Precision P>
void DeviceCharges<P>::take(int count, const Topology& topology) {
  plan_.take(count, topology, communicator_);
  first_special_ = on_device(plan_.first_special, stream_);
  special_ = on_device(plan_.special, stream_);
  charge_ = on_device(plan_.charge, stream_);
  allocate_each(plan_.charge.size(), carrier_, own_, found_, place_, pairs_);
  if (plan_.has_tails) allocate_each(plan_.charge.size(), tail_);
  allocate_each(1, owned_);
  allocate_each(static_cast<std::size_t>(plan_.cells()) + 1, filling_, start_);
  filling_.clear(stream_);
  found_.clear(stream_);
  tail_.clear(stream_);
  sums_.clear(stream_);
  if (plan_.mesh.order) mesh_charge_.clear(stream_);
  exclusive_sum(nullptr, sum_bytes_, filling_.data(), start_.data(), plan_.cells() + 1, stream_);
  allocate_each(sum_bytes_, sum_memory_);
  DeviceChargeArrays<P>& a = arrays_;
  a = {};
  a.law = plan_.law;
  a.mesh = plan_.mesh;
  a.waves = plan_.waves;
  a.charges = static_cast<int>(plan_.charge.size());
  a.cells = plan_.cells();
  a.alone = !communicator_;
  a.charge = charge_.data();
  a.carrier = carrier_.data();
  a.own = own_.data();
  a.owned = owned_.data();
  a.found = found_.data();
  a.place = place_.data();
  a.pairs = pairs_.data();
  a.law.tail = a.tail = tail_.data();
  a.filling = filling_.data();
  a.start = start_.data();
  a.sums = sums_.data();
  a.of_row = of_row_.data();
  a.of_plane = of_plane_.data();
  a.law.force = force_table_.data();
  a.law.energy = energy_table_.data();
  a.law.whole_force = whole_force_.data();
  a.law.whole_energy = whole_energy_.data();
  a.waves.wave = wave_.data();
  a.waves.sum = wave_sum_.data();
  if (!plan_.special.empty()) a.special = {first_special_.data(), special_.data(), found_.data()};
  a.mesh.influence = influence_.data();
  a.mesh.charge = mesh_charge_.data();
  for (int axis = 0; axis < 3; ++axis) {
    a.mesh.line[axis] = line_[axis].data();
    a.mesh.waves[axis] = waves_[axis].data();
    a.mesh.twiddle[axis] = twiddle_[axis].data();
  }
}

template <Precision P>
void DeviceCharges<P>::follow(int count, const typename P::Velocity* velocity,
                              Vector<typename P::Real>* force) {
  arrays_.force = force;
  owned_.clear(stream_);
  carrier_.clear(stream_, 0xff);
  launch_each(count, stream_, &follow_kernel<P>, count, velocity, arrays_);
}

template <Precision P>
void DeviceCharges<P>::set_tilt(double xy) {
  plan_.set_tilt(xy);
  arrays_.law.edges = plan_.law.edges;
  arrays_.law.near_edges = plan_.law.near_edges;
  arrays_.mesh.lattice = arrays_.waves.lattice = plan_.mesh.lattice;
  filled_ = false;
}

template <Precision P>
void DeviceCharges<P>::fill() {
  if (std::exchange(filled_, true)) return;
  const auto influences = static_cast<int>(influence_.size());
  launch_each(influences, stream_, &influence_kernel, influences, arrays_.mesh);
  launch_each(arrays_.waves.count, stream_, &fill_waves_kernel, arrays_.waves);
}

template <Precision P>
void DeviceCharges<P>::locate(const typename P::Position* position, const ChargeStep& step,
                              int owned, bool reading) {
  arrays_.position = position;
  arrays_.step = step;
  if (reading || arrays_.law.slab_force != 0) sums_.clear(stream_);
  launch_each(owned, stream_, &locate_kernel<P>, owned, arrays_);
}

template <Precision P>
void DeviceCharges<P>::launch(bool reading) {
  const int charges = arrays_.charges;
  fill();
  if (!arrays_.alone) launch_each(charges, stream_, &enter_kernel<P>, arrays_);
  exclusive_sum(sum_memory_.data(), sum_bytes_, filling_.data(), start_.data(), plan_.cells() + 1,
                stream_);
  launch_each(charges, stream_, &place_kernel<P>, arrays_);
  const auto launch_pairs = [&](cudaStream_t stream) {
    launch_each(charges * kLanesOfCharge, stream,
                reading ? &pair_kernel<P, true> : &pair_kernel<P, false>, arrays_);
  };
  for_constant<5, 2, 3, 4, 6, 7, 0>(plan_.mesh.order, [&](auto order) {
    if constexpr (order() > 0) {
      placed_.record(stream_);
      placed_.hold(beside_);
      launch_pairs(beside_);
      paired_.record(beside_);
      launch_each(charges * order(), stream_, &spread_kernel<P, order()>, arrays_);
      solve(reading);
      paired_.hold(stream_);
    } else {
      if (plan_.waves.count) {
        wave_sum_.clear(stream_);
        wave_kernel<P><<<static_cast<unsigned>(plan_.waves.count), kThreads, 0, stream_>>>(arrays_);
        check_launch();
      }
      launch_pairs(stream_);
    }
    launch_each(charges * kLanesOfCharge, stream_, &force_kernel<P, order()>, arrays_);
  });
}

template <Precision P>
void DeviceCharges<P>::solve(bool reading) const {
  const ChargeMesh& mesh = arrays_.mesh;
  // Calls launch(lines of a block, grid, bytes of shared memory); buffers: of a block's lines.
  const auto launch_lines = [&](int axis, int fields, int buffers, const auto& launch) {
    const int length = mesh.points[axis], lines = lines_along(mesh, axis);
    for_constant<16, 8, 4, 2, 1>(lines_of_block(length, buffers), [&](auto some) {
      launch(
          some,
          dim3(static_cast<unsigned>((lines + some() - 1) / some()), static_cast<unsigned>(fields)),
          sizeof(Wave) * static_cast<std::size_t>(buffers * length * BlockLines<some()>::kPitch));
    });
    check_launch();
  };
  const auto transform = [&](int axis, int fields) {
    launch_lines(axis, fields, 2, [&](auto some, dim3 grid, std::size_t bytes) {
      fft_kernel<some()><<<grid, kThreads, bytes, stream_>>>(mesh, arrays_.step, axis);
    });
  };
  launch_lines(0, 1, 2, [&](auto some, dim3 grid, std::size_t bytes) {
    charges_to_waves_kernel<some()><<<grid, kThreads, bytes, stream_>>>(mesh, arrays_.step);
  });
  transform(1, 1);
  if (reading) {
    // The sums over waves have an order.
    transform(2, 1);
    launch_each(mesh.rows(), stream_, &solve_rows_kernel, mesh, arrays_.step, arrays_.of_row);
    launch_each(mesh.points[2], stream_, &add_rows_kernel, mesh.points[1], mesh.points[2],
                arrays_.of_row, arrays_.of_plane);
    transform(2, 3);
  } else {
    launch_lines(2, 1, 3, [&](auto some, dim3 grid, std::size_t bytes) {
      solve_lines_kernel<some()><<<grid, kThreads, bytes, stream_>>>(mesh, arrays_.step);
    });
  }
  transform(1, 3);
  launch_lines(0, 3, 2, [&](auto some, dim3 grid, std::size_t bytes) {
    waves_to_fields_kernel<some()><<<grid, kThreads, bytes, stream_>>>(mesh, arrays_.step);
  });
}

template <Precision P>
void DeviceCharges<P>::set_sums(EnergyAndVirial& sums) const {
  std::int64_t integers[kDipole + 1];
  stream_.fetch(sums_.data(), reinterpret_cast<unsigned long long*>(integers), kDipole + 1);
  ChargeTotals of_pairs;
  std::copy_n(integers, 7, of_pairs.high);
  std::copy_n(integers + 7, 7, of_pairs.low);
  sums.charges = plan_.of_pairs(of_pairs);
  WaveSums waves;
  if (plan_.mesh.order) {
    std::vector<WaveSums> of_plane(of_plane_.size());
    stream_.fetch(of_plane_.data(), of_plane.data(), of_plane.size());
    for (const WaveSums& part : of_plane) waves.add(part);
  } else if (plan_.waves.count) {
    std::vector<std::int64_t> of_waves(wave_sum_.size());
    stream_.fetch(wave_sum_.data(), of_waves.data(), of_waves.size());
    waves = plan_.add_waves(of_waves.data());
  }
  sums.mesh = plan_.of_waves(waves, integers[kDipole]);
}

template class DeviceCharges<Mixed>;
template class DeviceCharges<Double>;
template class DeviceCharges<DoubleWithScalars>;

}  // namespace manymove::dpd
