// SPDX-License-Identifier: BSD-3-Clause
// Compiled without contraction of products and sums, as its operations are for CPUs.
#include "device_charges.cuh"

#include "../../../runtime/text.h"
#include "../../cuda/sort.h"
#include "mesh_kernels.cuh"
#include "pair_kernel.cuh"

namespace manymove::dpd {

namespace {

// ---- particles and cells ----

// One thread per particle.
template <Precision P>
__global__ void follow_kernel(int count, const typename P::Velocity* velocity,
                              const __grid_constant__ DeviceChargeArrays<P> a) {
  const int i = index_of_thread();
  if (i >= count) return;
  a.force[i] = {0, 0, 0};
  const int number = number_of(a.charge, a.charges, velocity[i].tag);
  if (number < 0) return;
  a.carrier[number] = i;
  a.own[atomicAdd(a.owned, 1)] = number;
}

template <Precision P>
__device__ void enter_cell(const DeviceChargeArrays<P>& a, const ChargedPlace& place) {
  if (a.law.slab_force != 0) add_integer(&a.sums[kDipole], dipole_of(a.law, place));
  atomicAdd(&a.filling[cell_of(a.law, place)], 1u);
  if (a.mesh.order) atomicAdd(&a.filling[a.cells + a.mesh.row_before(place)], 1u);
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

// One thread per charge: to its cell and to the row of points before it, in any order. All numbers
// of cells and rows are 0 again.
template <Precision P, int order>
__global__ void place_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int k = index_of_thread();
  if (k >= a.charges || a.step.is_stale()) return;
  const ChargedPlace p = a.found[k];
  const auto place_in = [&](int bin) {
    return static_cast<int>(a.start[bin] + atomicSub(&a.filling[bin], 1u)) - 1;
  };
  const int at = place_in(cell_of(a.law, p));
  a.place[at] = p;
  for (int axis = 0; axis < 3; ++axis) a.pairs[kOfCharge * at + axis] = 0;
  if constexpr (order > 0) {
    const MeshStencil<order, typename P::Real> stencil(a.mesh, p);
    const int in_row = place_in(a.cells + a.mesh.row_before(p)) - a.charges;
    a.spread[in_row] = {stencil.x.point[0], stencil.y.point[0], p.charge / a.mesh.charge_unit};
    auto* const weight = a.weight + 3 * order * in_row;
#pragma unroll
    for (int j = 0; j < order; ++j) {
      weight[j] = stencil.x.weight[j];
      weight[order + j] = stencil.y.weight[j];
      weight[2 * order + j] = stencil.z.weight[j];
      if (a.wanted && a.carrier[k] >= 0) a.wanted[stencil.z.point[j]] = 1;
    }
  }
}

// ---- the mesh ----

// Rows of points along x that a block has in shared memory.
template <int order>
constexpr int kRowsOfBlock = 32 / order;

// One warp per block: `order` lanes for each of its rows, one for each point along x of a charge.
// The charges with points in a row lie behind `order` rows in each of as many planes, and those of
// a plane follow each other in memory. Each number has one lane at a time: there are no atomic
// sums.
template <Precision P, int order>
__global__ void __launch_bounds__(32)
    spread_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  extern __shared__ std::int64_t units[];
  if (a.step.is_stale()) return;
  using Real = typename P::Real;
  const ChargeMesh& mesh = a.mesh;
  const int lane = static_cast<int>(threadIdx.x), own = lane / order, column = lane % order,
            length = mesh.points[0], width = mesh.points[1],
            begin = kRowsOfBlock<order> * static_cast<int>(blockIdx.x),
            some = min(kRowsOfBlock<order>, mesh.rows() - begin), y = (begin + own) % width,
            z = (begin + own) / width, beyond = max(y + order - width, 0);
  for (int k = lane; k < some * length; k += 32) units[k] = 0;
  // All numbers are 0 before a lane adds to one.
  __syncwarp();
  for (int part = 0; part < 2 * order; ++part) {
    int first = 0, last = 0;
    if (own < some) {
      // Rows that follow this one along y, or, where these end, the first ones of the plane.
      const unsigned* const start = a.start + a.cells + mesh.wrapped(z + part / 2, 2) * width;
      first = static_cast<int>(start[part % 2 ? 0 : y]) - a.charges;
      last = static_cast<int>(start[part % 2 ? beyond : y + order - beyond]) - a.charges;
    }
    const int most = __reduce_max_sync(kWholeWarp, last - first);
    SpreadCharge next{};
    Real next_x = 0, next_y = 0, next_z = 0;
    // A charge is read while the one before it is added.
    const auto read = [&](int k) {
      if (k >= last) return;
      next = a.spread[k];
      const Real* const weight = a.weight + 3 * order * k;
      next_x = weight[column];
      next_y = weight[order + column];
      next_z = weight[2 * order + part / 2];
    };
    read(first);
    for (int k = 0; k < most; ++k) {
      const SpreadCharge charge = next;
      const Real of_x = next_x, of_lane = next_y, of_z = next_z;
      read(first + k + 1);
      const int behind = charge.y < y ? charge.y + width - y : charge.y - y;
      // The lanes of the row have the weights along y.
      const Real across_x = of_z * value_of_lane(of_lane, own * order + behind);
      if (first + k < last)
        units[own * length + mesh.wrapped(charge.x - column, 0)] +=
            share_of(charge.units, across_x * of_x);
      // Another lane may add to the same point next.
      __syncwarp();
    }
  }
  Real* const charge =
      reinterpret_cast<Real*>(mesh.charge) + static_cast<std::int64_t>(begin) * length;
  for (int k = lane; k < some * length; k += 32) charge[k] = charge_of<Real>(mesh, units[k]);
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
    const std::int64_t value = warp_sum(sum[part]);
    if (threadIdx.x % 32 == 0) add_integer(&sums[part], value);
  }
}

// ---- forces ----

// The field at a charge, which all of its lanes have: each column of points is the work of a lane.
template <int order, class Real>
__device__ Vector<Real> field_of_lanes(const ChargeMesh& mesh, const PointField<Real>* field_at,
                                       const ChargedPlace& p, int lane) {
  Vector<Real> own{0, 0, 0}, field{0, 0, 0};
  if (lane < order) {
    const MeshStencil<order, Real> stencil(mesh, p);
    int point;
    Real weight;
    stencil.x.choose(lane, point, weight);
    stencil.for_rows(mesh, [&](int row, Real across_x) {
      const PointField<Real> at = field_at[row * mesh.points[0] + point];
      add_field(across_x * weight, at.along[0], at.along[1], at.along[2], own);
    });
  }
  const auto of_column = [&](Real value, int k) { return value_of_lane(value, k, kLanesOfCharge); };
#pragma unroll
  for (int k = 0; k < order; ++k)
    field = field + Vector<Real>{of_column(own.x, k), of_column(own.y, k), of_column(own.z, k)};
  return field;
}

// Cells along each edge whose charges a block takes: they have many points in common.
constexpr int kBrickX = 8, kBrickY = 2, kBrickZ = 4;
static_assert(kBrickY * kBrickZ == kThreads / 32);

// One warp per row of cells of a brick, kLanesOfCharge threads per charge: the whole force.
template <Precision P, int order>
__global__ void __launch_bounds__(kThreads, sizeof(typename P::Real) == 4 && order <= 5 ? 4 : 2)
    force_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  if (a.step.is_stale()) return;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanesOfCharge,
            x = kBrickX * static_cast<int>(blockIdx.x),
            y = kBrickY * static_cast<int>(blockIdx.y) + thread / 32 % kBrickY,
            z = kBrickZ * static_cast<int>(blockIdx.z) + thread / 32 / kBrickY;
  const auto& cells = a.law.cells;
  if (y >= cells[1] || z >= cells[2]) return;
  const unsigned* const start = a.start + (z * cells[1] + y) * cells[0];
  const int last = static_cast<int>(start[min(x + kBrickX, cells[0])]);
  for (int first = static_cast<int>(start[x]); first < last; first += 32 / kLanesOfCharge) {
    const int k = first + thread % 32 / kLanesOfCharge;
    const ChargedPlace p = a.place[min(k, last - 1)];
    const int carrier = k < last ? a.carrier[p.number] : -1;
    if (!__any_sync(kWholeWarp, carrier >= 0)) continue;
    Vector<double> field{0, 0, 0};
    if constexpr (order > 0)
      field = vector_of<double>(field_of_lanes<order>(a.mesh, a.field, p, lane));
    if (lane > 0 || carrier < 0) continue;
    const auto of_pairs = [&](int axis) {
      return static_cast<double>(static_cast<std::int64_t>(a.pairs[kOfCharge * k + axis])) *
             a.law.force_unit;
    };
    a.force[carrier] = vector_of<typename P::Real>(
        Vector<double>{of_pairs(0), of_pairs(1), of_pairs(2)} +
        force_in(a.law, field, static_cast<std::int64_t>(a.sums[kDipole]), p));
  }
}

// Shared memory of so many buffers of a block's lines, in either precision.
std::size_t line_memory(int length, int buffers) {
  return sizeof(Wave) * kLines * static_cast<std::size_t>(buffers * length);
}
template <int order>
std::size_t row_memory(int length) {
  return sizeof(std::int64_t) * static_cast<std::size_t>(kRowsOfBlock<order> * length);
}
void clear(auto* array, int count, cudaStream_t stream, int byte = 0) {
  check(cudaMemsetAsync(array, byte, static_cast<std::size_t>(count) * sizeof *array, stream),
        "clear");
}
static_assert(sizeof(Wave) * kLines == sizeof(Complex<float>) * kLinesOf<float>);

}  // namespace

template <Precision P>
DeviceCharges<P>::DeviceCharges(const Settings& settings, const EngineStream& stream,
                                Communicator* communicator)
    : stream_(stream),
      communicator_(communicator),
      head_(communicator ? cudaStream_t(stream) : cudaStream_t(mesh_)),
      plan_(settings) {
  ChargeMesh& mesh = plan_.mesh;
  of_settings_.load(plan_.force, plan_.law.force, stream);
  of_settings_.load(plan_.energy, plan_.law.energy, stream);
  of_settings_.load(plan_.whole_force, plan_.law.whole_force, stream);
  of_settings_.load(plan_.whole_energy, plan_.law.whole_energy, stream);
  of_settings_.load(plan_.single_force, plan_.law.single_force, stream);
  of_settings_.load(plan_.wave, plan_.waves.wave, stream);
  of_settings_.make(2 * plan_.wave.size(), plan_.waves.sum);
  of_settings_.make(kDipole + 1, arrays_.sums);
  if (!mesh.order) return;
  const auto allow = [](auto kernel, int points, std::size_t bytes) {
    if (bytes > most_shared_memory())
      refuse("the mesh of charges has ", points, " points along an edge, whose lines need ", bytes,
             " bytes of the GPU's shared memory, which has ", most_shared_memory());
    allow_shared_memory(kernel, bytes, "shared memory for lines of the mesh of charges");
  };
  const auto allow_lines = [&](auto kernel, int points, int buffers) {
    allow(kernel, points, line_memory(points, buffers));
  };
  using Real = typename P::Real;
  const auto& points = mesh.points;
  allow_lines(charges_to_waves_kernel<Real>, points[0], 3);
  allow_lines(waves_to_fields_kernel<Real>, points[0], 4);
  allow_lines(fft_kernel<Real>, std::max(points[1], points[2]), 2);
  allow_lines(fields_kernel<Real>, points[1], 2);
  allow_lines(solve_lines_kernel<Real>, points[2], 3);
  for_constant<5, 2, 3, 4, 6, 7>(mesh.order, [&](auto order) {
    allow(spread_kernel<P, order()>, points[0], row_memory<order()>(points[0]));
  });
  const auto size = static_cast<std::size_t>(mesh.size()),
             rows = static_cast<std::size_t>(mesh.rows()),
             planes = static_cast<std::size_t>(points[2]),
             waves = static_cast<std::size_t>(mesh.pitch()) * rows;
  for (int a = 0; a < 3; ++a) {
    of_settings_.load(plan_.line[a], mesh.line[a], stream);
    std::vector<Complex<Real>> twiddle;
    for (const Wave& w : plan_.twiddle[a])
      twiddle.push_back({static_cast<Real>(w.re), static_cast<Real>(w.im)});
    const Complex<Real>* on_device = nullptr;
    of_settings_.load(twiddle, on_device, stream);
    mesh.twiddle[a] = reinterpret_cast<const Wave*>(on_device);
    of_settings_.make(waves * sizeof(Real) / sizeof(double), mesh.waves[a]);
  }
  of_settings_.make(static_cast<std::size_t>(influences()), mesh.influence);
  of_settings_.make(size * sizeof(Real) / sizeof(std::int64_t) + 1, mesh.charge);
  of_settings_.make(size, arrays_.field);
  of_settings_.make(communicator_ || settings.charges.slab != 1 ? planes : 0, arrays_.wanted);
  of_settings_.make(planes, arrays_.of_plane);
  of_settings_.make(rows, arrays_.of_row);
}

template <Precision P>
void DeviceCharges<P>::take(int count, const Topology& topology) {
  plan_.take(count, topology, communicator_);
  const std::size_t charges = plan_.charge.size();
  DeviceChargeArrays<P>& a = arrays_;
  a.law = plan_.law;
  a.mesh = plan_.mesh;
  a.waves = plan_.waves;
  a.special = {};
  a.charges = static_cast<int>(charges);
  a.cells = plan_.cells();
  a.alone = !communicator_;
  bins_ = a.cells + (a.mesh.order ? a.mesh.rows() : 0);
  of_charges_ = {};
  of_charges_.load(plan_.charge, a.charge, stream_);
  of_charges_.make(charges, a.carrier, a.own, a.found, a.place);
  of_charges_.make(kOfCharge * charges, a.pairs);
  const auto particles = static_cast<std::size_t>(a.alone ? count : 0);
  of_charges_.make(particles, a.force);
  of_charges_.make(plan_.has_tails ? charges : 0, a.tail);
  of_charges_.make(1, a.owned);
  of_charges_.make(static_cast<std::size_t>(bins_) + 1, a.filling, a.start);
  of_charges_.make(a.mesh.order ? charges : 0, a.spread);
  of_charges_.make(3 * static_cast<std::size_t>(a.mesh.order) * charges, a.weight);
  clear(a.filling, bins_ + 1, stream_);
  clear(a.found, a.charges, stream_);
  clear(a.tail, plan_.has_tails ? a.charges : 0, stream_);
  clear(a.sums, kDipole + 1, stream_);
  exclusive_sum(nullptr, sum_bytes_, a.filling, a.start, bins_ + 1, stream_);
  of_charges_.make(sum_bytes_, sum_memory_);
  a.law.tail = a.tail;
  if (plan_.special.empty()) return;
  of_charges_.load(plan_.first_special, a.special.first, stream_);
  of_charges_.load(plan_.special, a.special.neighbor, stream_);
  a.special.place = a.found;
}

template <Precision P>
void DeviceCharges<P>::follow(int count, const typename P::Velocity* velocity,
                              Vector<typename P::Real>* force) {
  if (force) arrays_.force = force;
  clear(arrays_.owned, 1, stream_);
  clear(arrays_.carrier, arrays_.charges, stream_, 0xff);
  launch_each(count, stream_, &follow_kernel<P>, count, velocity, arrays_);
}

template <Precision P>
void DeviceCharges<P>::set_tilt(double tilt) {
  plan_.set_tilt(tilt);
  arrays_.law.edges = plan_.law.edges;
  arrays_.law.near_edges = plan_.law.near_edges;
  arrays_.mesh.lattice = arrays_.waves.lattice = plan_.mesh.lattice;
  filled_ = false;
}

template <Precision P>
void DeviceCharges<P>::fill() {
  if (std::exchange(filled_, true)) return;
  if (arrays_.mesh.order)
    launch_each(influences(), head_, &influence_kernel, influences(), arrays_.mesh);
  launch_each(arrays_.waves.count, head_, &fill_waves_kernel, arrays_.waves);
}

template <Precision P>
void DeviceCharges<P>::locate(const typename P::Position* position, const ChargeStep& step,
                              int owned, bool reading) {
  arrays_.position = position;
  arrays_.step = step;
  begun_.record(stream_);
  begun_.hold(head_);
  if (reading || arrays_.law.slab_force != 0) clear(arrays_.sums, kDipole + 1, head_);
  launch_each(owned, head_, &locate_kernel<P>, owned, arrays_);
}

template <Precision P>
const Vector<typename P::Real>* DeviceCharges<P>::launch(bool reading) {
  fill();
  if (!arrays_.alone) launch_each(arrays_.charges, head_, &enter_kernel<P>, arrays_);
  exclusive_sum(sum_memory_, sum_bytes_, arrays_.filling, arrays_.start, bins_ + 1, head_);
  if (arrays_.wanted) clear(arrays_.wanted, arrays_.mesh.points[2], head_);
  for_constant<5, 2, 3, 4, 6, 7, 0>(plan_.mesh.order, [&](auto order) {
    launch_each(arrays_.charges, head_, &place_kernel<P, order()>, arrays_);
    if (order() == 0 && plan_.waves.count) {
      clear(arrays_.waves.sum, 2 * arrays_.waves.count, head_);
      wave_kernel<P><<<static_cast<unsigned>(plan_.waves.count), kThreads, 0, head_>>>(arrays_);
      check_launch();
    }
    placed_.record(head_);
    if constexpr (order() > 0) {
      placed_.hold(mesh_);
      spread_kernel<P, order()><<<blocks_for(plan_.mesh.rows(), kRowsOfBlock<order()>), 32,
                                  row_memory<order()>(plan_.mesh.points[0]), mesh_>>>(arrays_);
      check_launch();
      solve(reading);
    }
    solved_.record(mesh_);
  });
  finish(reading);
  return arrays_.force;
}

template <Precision P>
void DeviceCharges<P>::finish(bool reading) const {
  placed_.hold(stream_);
  using Real = typename P::Real;
  const auto single = reading ? &pair_kernel<P, Real, true> : &pair_kernel<P, Real, false>,
             whole = reading ? &pair_kernel<P, double, true> : &pair_kernel<P, double, false>;
  launch_each(arrays_.charges * kLanesOfCharge, stream_, arrays_.law.single_force ? single : whole,
              arrays_);
  solved_.hold(stream_);
  const auto bricks = [&](int axis, int cells) {
    return static_cast<unsigned>(blocks_for(plan_.law.cells[axis], cells));
  };
  for_constant<5, 2, 3, 4, 6, 7, 0>(plan_.mesh.order, [&](auto order) {
    if (arrays_.charges == 0) return;
    force_kernel<P, order()><<<dim3(bricks(0, kBrickX), bricks(1, kBrickY), bricks(2, kBrickZ)),
                               kThreads, 0, stream_>>>(arrays_);
    check_launch();
  });
}

template <Precision P>
void DeviceCharges<P>::solve(bool reading) const {
  using Real = typename P::Real;
  const ChargeMesh& mesh = arrays_.mesh;
  // kept: buffers that are no part of the transform, for which one is enough with two stages.
  const auto transform = [&](int axis, int lines, int fields, int kept, auto kernel, auto... more) {
    const dim3 grid(static_cast<unsigned>(blocks_for(lines, kLinesOf<Real>)),
                    static_cast<unsigned>(fields));
    const int length = mesh.points[axis], buffers = kept + (mesh.plan[axis].stages > 2 ? 2 : 1);
    kernel<<<grid, fft_threads(mesh.plan[axis], kLinesOf<Real>), line_memory(length, buffers),
             mesh_>>>(mesh, arrays_.step, more...);
    check_launch();
  };
  const auto along = [&](int axis, int fields) {
    transform(axis, WaveLines(mesh, axis).count, fields, 0, fft_kernel<Real>, axis);
  };
  transform(0, mesh.pairs_of_rows(), 1, 1, charges_to_waves_kernel<Real>);
  along(1, 1);
  if (reading) {
    // The sums over waves have an order.
    along(2, 1);
    launch_each(mesh.rows(), mesh_, &solve_rows_kernel<Real>, mesh, arrays_.step, arrays_.of_row);
    launch_each(mesh.points[2], mesh_, &add_rows_kernel, mesh.points[1], mesh.points[2],
                arrays_.of_row, arrays_.of_plane);
    along(2, 2);
  } else {
    transform(2, WaveLines(mesh, 2).count, 1, 1, solve_lines_kernel<Real>);
  }
  transform(1, WaveLines(mesh, 1).count, 2, 0, fields_kernel<Real>, arrays_.wanted);
  transform(0, mesh.pairs_of_rows(), 1, 2, waves_to_fields_kernel<Real>, arrays_.wanted,
            arrays_.field);
}

template <Precision P>
void DeviceCharges<P>::set_sums(EnergyAndVirial& sums) const {
  std::int64_t integers[kDipole + 1];
  stream_.fetch(arrays_.sums, reinterpret_cast<unsigned long long*>(integers), kDipole + 1);
  ChargeTotals of_pairs;
  std::copy_n(integers, 7, of_pairs.high);
  std::copy_n(integers + 7, 7, of_pairs.low);
  sums.charges = plan_.of_pairs(of_pairs);
  WaveSums waves;
  if (plan_.mesh.order) {
    std::vector<WaveSums> of_plane(static_cast<std::size_t>(plan_.mesh.points[2]));
    stream_.fetch(arrays_.of_plane, of_plane.data(), of_plane.size());
    for (const WaveSums& part : of_plane) waves.add(part);
  } else if (plan_.waves.count) {
    std::vector<std::int64_t> of_waves(2 * plan_.wave.size());
    stream_.fetch(arrays_.waves.sum, of_waves.data(), of_waves.size());
    waves = plan_.add_waves(of_waves.data());
  }
  sums.mesh = plan_.of_waves(waves, integers[kDipole]);
}

template class DeviceCharges<Mixed>;
template class DeviceCharges<Double>;
template class DeviceCharges<MixedWithScalars>;
template class DeviceCharges<DoubleWithScalars>;

}  // namespace manymove::dpd
