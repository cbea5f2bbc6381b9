// SPDX-License-Identifier: BSD-3-Clause
// Compiled without contraction of products and sums, as its operations are for CPUs.
#include "device_charges.cuh"

#include "../../cuda/sort.h"

namespace manymove::dpd {

namespace {

using Counter = unsigned long long;

__device__ void add_integer(Counter* to, std::int64_t value) {
  atomicAdd(to, static_cast<Counter>(value));
}

// ---- particles and cells ----

// One thread per particle.
template <Precision P>
__global__ void follow_kernel(int count, const unsigned* slot, DeviceChargeArrays<P> a) {
  const int i = index_of_thread();
  if (i >= count) return;
  a.force[i] = {0, 0, 0};
  const int number = a.number[slot[i]];
  if (number >= 0) a.carrier[number] = i;
}

// One thread per charge: where it is, and how many there are in each cell.
template <Precision P>
__global__ void locate_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int k = index_of_thread();
  if (k >= a.charges) return;
  const typename P::Position p = a.position[a.carrier[k]];
  const ChargedPlace place{high_word(p.x), high_word(p.y), high_word(p.z),
                           static_cast<std::uint32_t>(k), a.charge[k]};
  a.found[k] = place;
  atomicAdd(&a.filling[cell_of(a.law, place)], 1u);
}

// One thread per charge: to its cell, in any order. All numbers of cells are 0 again.
template <Precision P>
__global__ void place_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int k = index_of_thread();
  if (k >= a.charges) return;
  const ChargedPlace p = a.found[k];
  const int cell = cell_of(a.law, p);
  a.place[a.start[cell] + atomicSub(&a.filling[cell], 1u) - 1] = p;
}

// ---- the mesh ----

// One thread per charge and plane of its points.
template <Precision P, int order>
__global__ void spread_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int thread = index_of_thread(), k = thread / order, plane = thread % order;
  if (k >= a.charges) return;
  const ChargedPlace p = a.place[k];
  auto* const charge = reinterpret_cast<Counter*>(a.mesh.charge);
  spread_charge<order>(a.mesh, p, plane, plane + 1,
                       [&](int index, std::int64_t units) { add_integer(charge + index, units); });
  if (plane == 0 && a.mesh.slab_force != 0) add_integer(&a.sums[7], dipole_of(a.mesh, p));
}

// One thread per point.
__global__ void convert_kernel(const __grid_constant__ ChargeMesh mesh) {
  const int k = index_of_thread();
  if (k < mesh.size())
    mesh.first[k] = {static_cast<double>(mesh.charge[k]) * mesh.charge_unit, 0.0};
}

template <int R>
__device__ void fft_stage(int length, int done, int some, const Wave* twiddle, const Wave* from,
                          Wave* to) {
  const int apart = length / R;
  for (int k = static_cast<int>(threadIdx.x); k < apart * some; k += kThreads) {
    const int t = k / some, line = k % some;
    Wave a[R];
    for (int j = 0; j < R; ++j) a[j] = from[(t + j * apart) * some + line];
    butterfly(a, done, t, twiddle);
    const int place = fft_place(R, done, t);
    for (int j = 0; j < R; ++j) to[(place + j * done) * some + line] = a[j];
  }
}

// One block for `some` lines of a mesh along an axis, in shared memory.
__global__ void __launch_bounds__(kThreads)
    fft_kernel(const __grid_constant__ ChargeMesh mesh, int axis, int some, Wave* values) {
  extern __shared__ Wave memory[];
  const int length = mesh.points[axis], lines = mesh.size() / length,
            first = static_cast<int>(blockIdx.x) * some, here = min(some, lines - first);
  const MeshLines along(mesh.points, axis);
  Wave *from = memory, *to = memory + length * some;
  // Neighbors in memory are those of a line along x, and otherwise of different lines.
  const auto for_each = [&](const auto& visit) {
    for (int t = static_cast<int>(threadIdx.x); t < length * some; t += kThreads) {
      const int k = axis == 0 ? t % length : t / some, line = axis == 0 ? t / length : t % some;
      if (line < here)
        visit(k * some + line,
              along.begin(first + line) + static_cast<std::int64_t>(k) * along.stride);
    }
  };
  for_each([&](int shared, std::int64_t global) { from[shared] = values[global]; });
  __syncthreads();
  const FftPlan& plan = mesh.plan[axis];
  int done = 1;
  for (int s = 0; s < plan.stages; ++s) {
    for_constant<2, 3, 4, 5>(plan.radix[s], [&](auto radix) {
      fft_stage<radix()>(length, done, some, mesh.twiddle[axis], from, to);
    });
    done *= plan.radix[s];
    __syncthreads();
    Wave* const other = from;
    from = to;
    to = other;
  }
  for_each([&](int shared, std::int64_t global) { values[global] = from[shared]; });
}

// One thread per wave.
__global__ void solve_kernel(const __grid_constant__ ChargeMesh mesh) {
  const int k = index_of_thread();
  if (k >= mesh.size()) return;
  const int x = k % mesh.points[0], row = k / mesh.points[0];
  WaveSums none;
  solve_wave<false>(mesh, x, row % mesh.points[1], row / mesh.points[1], none);
}
// One thread per row, with its sums.
__global__ void solve_rows_kernel(const __grid_constant__ ChargeMesh mesh, WaveSums* of_row) {
  const int row = index_of_thread();
  if (row >= mesh.points[1] * mesh.points[2]) return;
  WaveSums sums;
  for (int x = 0; x < mesh.points[0]; ++x)
    solve_wave<true>(mesh, x, row % mesh.points[1], row / mesh.points[1], sums);
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

// One thread per charge.
template <Precision P, int order, bool reading>
__global__ void force_kernel(const __grid_constant__ DeviceChargeArrays<P> a) {
  const int k = index_of_thread();
  if (k >= a.charges) return;
  const ChargedPlace p = a.place[k];
  const ChargeSums sums =
      sums_of<reading>(a.law, reinterpret_cast<const int*>(a.start), a.place, p);
  Vector<double> force{static_cast<double>(sums.force[0]) * a.law.force_unit,
                       static_cast<double>(sums.force[1]) * a.law.force_unit,
                       static_cast<double>(sums.force[2]) * a.law.force_unit};
  if constexpr (order > 0)
    force = force + force_on<order>(a.mesh, static_cast<std::int64_t>(a.sums[7]), p);
  a.force[a.carrier[p.number]] = vector_of<typename P::Real>(force);
  if constexpr (reading) {
    add_integer(&a.sums[0], sums.energy);
    for (int w = 0; w < 6; ++w) add_integer(&a.sums[1 + w], sums.virial[w]);
  }
}

}  // namespace

template <Precision P>
DeviceCharges<P>::DeviceCharges(const Settings& settings, const EngineStream& stream)
    : stream_(stream),
      plan_(settings),
      force_table_(on_device(plan_.force, stream)),
      energy_table_(on_device(plan_.energy, stream)),
      influence_(on_device(plan_.influence, stream)),
      sums_(8) {
  if (!plan_.mesh.order) return;
  const auto size = static_cast<std::size_t>(plan_.mesh.size());
  for (int a = 0; a < 3; ++a) twiddle_[a] = on_device(plan_.twiddle[a], stream);
  allocate_each(size, first_, second_, mesh_charge_);
  const auto planes = static_cast<std::size_t>(plan_.mesh.points[2]);
  of_plane_ = DeviceBuffer<WaveSums>(planes);
  of_row_ = DeviceBuffer<WaveSums>(planes * static_cast<std::size_t>(plan_.mesh.points[1]));
}

template <Precision P>
void DeviceCharges<P>::take(int count, const double* charge) {
  std::vector<double> charges;
  std::vector<int> number(static_cast<std::size_t>(count), -1);
  for (int i = 0; charge && i < count; ++i) {
    if (charge[i] == 0) continue;
    number[static_cast<std::size_t>(i)] = static_cast<int>(charges.size());
    charges.push_back(charge[i]);
  }
  plan_.take(charges);
  charge_ = on_device(charges, stream_);
  number_ = on_device(number, stream_);
  allocate_each(charges.size(), carrier_, found_, place_);
  allocate_each(static_cast<std::size_t>(count), force_);
  allocate_each(static_cast<std::size_t>(plan_.cells()) + 1, filling_, start_);
  filling_.clear(stream_);
  exclusive_sum(nullptr, sum_bytes_, filling_.data(), start_.data(), plan_.cells() + 1, stream_);
  allocate_each(sum_bytes_, sum_memory_);
  DeviceChargeArrays<P>& a = arrays_;
  a = {plan_.law,       plan_.mesh,      static_cast<int>(charges.size()),
       plan_.cells(),   nullptr,         charge_.data(),
       carrier_.data(), number_.data(),  found_.data(),
       place_.data(),   filling_.data(), start_.data(),
       sums_.data(),    of_row_.data(),  of_plane_.data(),
       force_.data()};
  a.law.force = force_table_.data();
  a.law.energy = energy_table_.data();
  a.mesh.influence = influence_.data();
  a.mesh.charge = mesh_charge_.data();
  a.mesh.first = first_.data();
  a.mesh.second = second_.data();
  for (int axis = 0; axis < 3; ++axis) a.mesh.twiddle[axis] = twiddle_[axis].data();
}

template <Precision P>
void DeviceCharges<P>::follow(int count, const unsigned* slot) {
  launch_each(count, stream_, &follow_kernel<P>, count, slot, arrays_);
}

template <Precision P>
const Vector<typename P::Real>* DeviceCharges<P>::launch(const typename P::Position* position,
                                                         bool reading) {
  arrays_.position = position;
  const int charges = arrays_.charges;
  sums_.clear(stream_);
  launch_each(charges, stream_, &locate_kernel<P>, arrays_);
  exclusive_sum(sum_memory_.data(), sum_bytes_, filling_.data(), start_.data(), plan_.cells() + 1,
                stream_);
  launch_each(charges, stream_, &place_kernel<P>, arrays_);
  for_constant<5, 2, 3, 4, 6, 7, 0>(plan_.mesh.order, [&](auto order) {
    if constexpr (order() > 0) {
      mesh_charge_.clear(stream_);
      launch_each(charges * order(), stream_, &spread_kernel<P, order()>, arrays_);
      solve(reading);
    }
    launch_each(charges, stream_,
                reading ? &force_kernel<P, order(), true> : &force_kernel<P, order(), false>,
                arrays_);
  });
  return force_.data();
}

template <Precision P>
void DeviceCharges<P>::solve(bool reading) const {
  const ChargeMesh& mesh = arrays_.mesh;
  const int rows = mesh.points[1] * mesh.points[2];
  launch_each(mesh.size(), stream_, &convert_kernel, mesh);
  for (int axis = 0; axis < 3; ++axis) transform(mesh.first, axis);
  if (reading) {
    launch_each(rows, stream_, &solve_rows_kernel, mesh, arrays_.of_row);
    launch_each(mesh.points[2], stream_, &add_rows_kernel, mesh.points[1], mesh.points[2],
                arrays_.of_row, arrays_.of_plane);
  } else {
    launch_each(mesh.size(), stream_, &solve_kernel, mesh);
  }
  for (Wave* const values : {mesh.first, mesh.second})
    for (int axis = 2; axis >= 0; --axis) transform(values, axis);
}

// So many lines in a block that both of their arrays fit into 48 KB of shared memory.
template <Precision P>
void DeviceCharges<P>::transform(Wave* values, int axis) const {
  const ChargeMesh& mesh = arrays_.mesh;
  const int length = mesh.points[axis], lines = mesh.size() / length,
            some = std::clamp(1024 / length, 1, 16);
  const auto bytes = 2 * sizeof(Wave) * static_cast<std::size_t>(some * length);
  fft_kernel<<<static_cast<unsigned>((lines + some - 1) / some), kThreads, bytes, stream_>>>(
      mesh, axis, some, values);
  check_launch();
}

template <Precision P>
void DeviceCharges<P>::set_sums(EnergyAndVirial& sums) const {
  std::int64_t integers[8];
  stream_.fetch(sums_.data(), reinterpret_cast<unsigned long long*>(integers), 8);
  ChargeSums of_pairs;
  of_pairs.energy = integers[0];
  std::copy_n(integers + 1, 6, of_pairs.virial);
  sums.charges = plan_.of_pairs(of_pairs);
  if (!plan_.mesh.order) return;
  std::vector<WaveSums> of_plane(of_plane_.size());
  stream_.fetch(of_plane_.data(), of_plane.data(), of_plane.size());
  WaveSums waves;
  for (const WaveSums& part : of_plane) waves.add(part);
  sums.mesh = plan_.of_mesh(waves, integers[7]);
}

template class DeviceCharges<Mixed>;
template class DeviceCharges<Double>;

}  // namespace manymove::dpd
