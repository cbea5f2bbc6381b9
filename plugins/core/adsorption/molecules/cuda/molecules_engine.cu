// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine for rigid molecules: a warp has a system, or several warps where a step has
// several proposals. The steps are those of moves/; this file is compiled without contraction into
// fma, as those sources are on a CPU.
#include <algorithm>

#include "../../../runtime/device.cuh"
#include "../../../runtime/text.h"
#include "../../cuda/kernels.cuh"
#include "../../engine_base.h"
#include "../../moves/starts.h"
#include "../../moves/steps.h"
#include "../../moves/test_insertions.h"
#include "../fill_grid.h"

namespace manymove::adsorption {
namespace {

struct Warp {
  using One = Warp;
  static constexpr int width = 32;
  template <class T>
  struct Lane {
    T value;
    __device__ T& operator[](int) { return value; }
    __device__ const T& operator[](int) const { return value; }
  };
  template <class T>
  struct Levels {
    T level[6];
    __device__ T partial(int n, int l) const { return __shfl_sync(kAll, level[n], l); }
    __device__ T total() const { return level[5]; }
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  template <class Function>
  __device__ static void each(const Function& f) {
    f(lane());
  }
  template <class Function>
  __device__ static void share(int count, const Function& f) {
    MM_NO_UNROLL
    for (int i = lane(); i < count; i += 32) f(i);
  }
  template <class Function>
  __device__ static void tasks(TeamPointer<TeamCounters>, int count, const Function& f) {
    MM_NO_UNROLL
    for (int t = 0; t < count; ++t) f(t);
  }
  template <class F>
  __device__ static void bring(const F* from, int count, TeamPointer<F> to) {
    share(count, [&](int i) { to[i] = from[i]; });
    sync();
  }
  __device__ static bool first_warp() { return true; }
  __device__ static One one() { return {}; }
  template <class Function>
  __device__ static void first_lanes(int some, const Function& f) {
    if (lane() < some) f(lane());
  }
  template <class T>
  __device__ static T sum(const Lane<T>& values) {
    return butterfly(values.value);
  }
  __device__ static float lowest(const Lane<float>& values) {
    float low = values.value;
    MM_UNROLL
    for (int off = 16; off > 0; off /= 2) low = lowest_of(low, __shfl_xor_sync(kAll, low, off));
    return low;
  }
  __device__ static double lowest(const Lane<double>& values) {
    double low = values.value;
    MM_UNROLL
    for (int off = 16; off > 0; off /= 2) low = lowest_of(low, __shfl_xor_sync(kAll, low, off));
    return low;
  }
  __device__ static std::int32_t lowest(const Lane<std::int32_t>& values) {
    return __reduce_min_sync(kAll, values.value);
  }
  __device__ static std::int32_t highest(const Lane<std::int32_t>& values) {
    return __reduce_max_sync(kAll, values.value);
  }
  template <class T>
  __device__ static Levels<T> levels(const Lane<T>& values) {
    Levels<T> all;
    all.level[0] = values.value;
    MM_UNROLL
    for (int n = 0; n < 5; ++n)
      all.level[n + 1] = all.level[n] + __shfl_xor_sync(kAll, all.level[n], 16 >> n);
    return all;
  }
  template <class Test, class Store>
  __device__ static int compact(int count, const Test& test, const Store& store) {
    int place = 0;
    for (int base = 0; base < count; base += 32) {
      const int i = base + lane();
      const bool keep = i < count && test(i);
      const unsigned kept = __ballot_sync(kAll, keep);
      if (keep) store(i, place + __popc(kept & ((1u << lane()) - 1)));
      place += __popc(kept);
    }
    return place;
  }
  __device__ static bool any(const Lane<bool>& values) { return __any_sync(kAll, values.value); }
  __device__ static bool leads() { return lane() == 0; }
  __device__ static void sync() { __syncwarp(); }
  __device__ static void add(std::uint64_t* to, std::uint64_t amount) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(amount));
  }
};

// The warps of a block.
struct Warps : Warp {
  template <class Function>
  __device__ static void share(int items, const Function& f) {
    MM_NO_UNROLL
    for (int i = static_cast<int>(threadIdx.x); i < items; i += static_cast<int>(blockDim.x)) f(i);
  }
  template <class Function>
  __device__ static void tasks(TeamPointer<TeamCounters> together, int count, const Function& f) {
    MM_NO_UNROLL
    while (true) {
      int task = 0;
      if (lane() == 0) task = atomicAdd(&together[0].task, 1);
      task = __shfl_sync(kAll, task, 0);
      if (task >= count) break;
      f(task);
    }
  }
  __device__ static void reset(TeamPointer<TeamCounters> together) {
    if (leads()) together[0] = {0, 0};
  }
  __device__ static std::int64_t total(TeamPointer<TeamCounters> together, std::int64_t amount) {
    auto sum = static_cast<unsigned long long>(amount);
    MM_UNROLL
    for (int off = 16; off > 0; off /= 2) sum += __shfl_xor_sync(kAll, sum, off);
    if (lane() == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&together[0].sum), sum);
    sync();
    return together[0].sum;
  }
  template <class F>
  __device__ static void bring(const F* from, int count, TeamPointer<F> to) {
    share(count, [&](int i) { to[i] = from[i]; });
    sync();
  }
  __device__ static bool first_warp() { return threadIdx.x < 32; }
  __device__ static bool leads() { return threadIdx.x == 0; }
  __device__ static void sync() { __syncthreads(); }
};

template <class F, bool Chains = false>
using WarpSystemOf = MoleculeSystem<Warp, F, Chains>;

// Memory of a warp: its share of the block's, and its system's changes of structure factors.
template <class F>
__device__ MoleculeScratch<F> scratch_of(const MoleculeArrays<F>& w, int system, F* changes) {
  const TeamPointer<char> memory(0u);
  return {memory + static_cast<int>(threadIdx.x / 32 * MoleculeScratch<F>::bytes(w)), w,
          changes + static_cast<std::size_t>(system) * MoleculeScratch<F>::slow(w)};
}
__device__ int system_of_warp() {
  return static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
}

template <Steps Kind, class F>
__global__ void __launch_bounds__(kThreads)
    run_kernel(const __grid_constant__ MoleculeArrays<F> w, F* changes, DeviceMoveCounts* moves) {
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const MoleculeScratch<F> scratch = scratch_of(w, system, changes);
  const Warp warp;
  WarpSystemOf<F, Kind == Steps::chains> s(w, system, warp, scratch);
  LaneMoveCounts counted;
  run_steps<Kind>(s, counted);
  if (Warp::leads()) add_counts(moves, counted);
}

// Steps of several proposals: a block has a system. In float the registers suffice for as many
// warps of a multiprocessor as the shared memory does with the mesh.
template <class F>
__global__ void __launch_bounds__(kThreads, sizeof(F) == 4 ? 6 : 2)
    run_several_kernel(const __grid_constant__ MoleculeArrays<F> w, F* changes,
                       DeviceMoveCounts* moves) {
  const auto system = static_cast<int>(blockIdx.x);
  const MoleculeScratch<F> scratch{
      TeamPointer<char>(0u), w,
      changes + static_cast<std::size_t>(system) * MoleculeScratch<F>::slow(w)};
  const Warps lanes;
  MoleculeSystem<Warps, F> s(w, system, lanes, scratch);
  LaneMoveCounts counted;
  run_steps<Steps::several>(s, counted);
  if (Warps::leads()) add_counts(moves, counted);
}

template <bool Chains, class F>
__global__ void __launch_bounds__(kThreads)
    place_molecules_kernel(const __grid_constant__ MoleculeArrays<F> w, F* changes,
                           DeviceMoveCounts* moves) {
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const Warp warp;
  const MoleculeScratch<F> scratch = scratch_of(w, system, changes);
  WarpSystemOf<F, Chains> s(w, system, warp, scratch);
  bool placed;
  if constexpr (Chains)
    placed = place_chains(s);
  else
    placed = place_all(s);
  if (!placed && Warp::leads()) atomicOr(&moves->stuck, 1u);
}

template <bool Chains, class F>
__global__ void __launch_bounds__(kThreads)
    energy_molecules_kernel(const __grid_constant__ MoleculeArrays<F> w, F* changes) {
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const Warp warp;
  const MoleculeScratch<F> scratch = scratch_of(w, system, changes);
  WarpSystemOf<F, Chains> s(w, system, warp, scratch);
  const double energy = s.total_energy();
  if (Warp::leads()) w.energies[system] = energy;
}

template <bool Chains, class F>
__global__ void __launch_bounds__(kThreads)
    test_molecules_kernel(const __grid_constant__ MoleculeTestInsertions<F> t, F* changes) {
  const MoleculeArrays<F>& w = t.work;
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const Warp warp;
  const MoleculeScratch<F> scratch = scratch_of(w, system, changes);
  WarpSystemOf<F, Chains> s(w, system, warp, scratch);
  if constexpr (Chains)
    insert_test_chains(t, s);
  else
    insert_tests(t, s);
}

template <class F>
class MoleculeCudaEngine final : OnDevice, public EngineBase<MoleculeState> {
 public:
  MoleculeCudaEngine(MoleculeState state, const AdoptMolecules& molecules, int device, int threads)
      : OnDevice(device), EngineBase(std::move(state)), move_counts_(1) {
    {
      ThreadPool pool(threads);
      fill_molecule_grid(state_, pool);
    }
    grid_ = uploaded(host_grid<F>(state_), state_.info.bytes / sizeof(F));
    laws_ = uploaded(state_.laws(F{}), state_.double_laws.size());
    rows_ = uploaded(state_.rows.data(), state_.rows.size());
    weights_ = uploaded(state_.weights(F{}), state_.double_weights.size());
    const MeshTables& mesh = state_.mesh;
    mesh_quads_ = uploaded(mesh.quads.data(), mesh.quads.size());
    mesh_rows_ = uploaded(mesh.rows.data(), mesh.rows.size());
    mesh_layers_ = uploaded(mesh.layer.data(), mesh.layer.size());
    mesh_weights_ = uploaded(mesh.weights.data(), mesh.weights.size());
    tables_ = uploaded(state_.tables.data(), state_.tables.size());
    mesh_alone_ = uploaded(mesh.alone.data(), mesh.alone.size());
    changes_ = DeviceBuffer<F>(
        std::max<std::size_t>(MoleculeScratch<F>::slow(work()) * state_.parameters.systems, 2));
    choose_warps();
    if (molecules) molecules(state_);
    const Snapshot& d = state_.data;
    sites_ = uploaded(reinterpret_cast<const Site*>(d.sites.data()), d.sites.size() / 3);
    turns_ = uploaded(reinterpret_cast<const Quaternion*>(d.orientations.data()),
                      d.orientations.size() / 4);
    counts_ = uploaded(d.counts.data(), d.counts.size());
    energies_ = uploaded(d.energies.data(), d.energies.size());
    sums_ = uploaded(d.sums.data(), d.sums.size());
    profile_ = uploaded(d.profile.data(), d.profile.size());
    waves_ = uploaded(d.waves.data(), d.waves.size());
    shapes_ = uploaded(d.shapes.data(), d.shapes.size());
    if (state_.parameters.exchange > 0)
      reached_ = DeviceBuffer<std::uint64_t>(state_.parameters.systems);
    if (!molecules) {
      move_counts_.clear(stream_);
      const auto kernel =
          chains() ? &place_molecules_kernel<true, F> : &place_molecules_kernel<false, F>;
      kernel<<<blocks(), threads_, shared_, stream_>>>(work(), changes_.data(),
                                                       move_counts_.data());
      check_placed(state_, fetch_counts());
    } else if (d.counters.steps == 0) {
      sum_energies();
    }
    forget();
    made();
  }
  ~MoleculeCudaEngine() override { destroy(); }

  void run(std::uint64_t steps, bool measure) override {
    const DeviceGuard here = use();
    const auto launch = [&](bool again) {
      move_counts_.clear(stream_);
      MoleculeArrays<F> w = work();
      w.measure = measure;
      w.steps = steps;
      w.again = again;
      if (steps_of(w) == Steps::several) {
        run_several_kernel<F><<<w.systems, 32 * warps_of_block_, shared_of_block_, stream_>>>(
            w, changes_.data(), move_counts_.data());
      } else {
        const auto kernel = chains()                       ? &run_kernel<Steps::chains, F>
                            : steps_of(w) == Steps::trials ? &run_kernel<Steps::trials, F>
                                                           : &run_kernel<Steps::one, F>;
        kernel<<<blocks(), threads_, shared_, stream_>>>(w, changes_.data(), move_counts_.data());
      }
      return fetch_counts();
    };
    run_whole(state_, steps, measure, launch, [&](unsigned full) { enlarge(full); });
  }

  void set_positions(const double* positions, const double* orientations) override {
    const DeviceGuard here = use();
    adopt_poses(state_, positions, orientations);
    upload_poses();
    counts_.upload(state_.data.counts.data(), stream_);
    sum_energies();
    forget();
  }
  void reset_averages() override {
    const DeviceGuard here = use();
    sums_.clear(stream_);
    if (profile_.size()) profile_.clear(stream_);
    state_.data.counters.samples = 0;
  }
  std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                            bool empty) override {
    const DeviceGuard here = use();
    check_species(state_, species);
    std::vector<double> host(2 * static_cast<std::size_t>(state_.parameters.systems));
    DeviceBuffer<double> sums(host.size());
    const MoleculeTestInsertions<F> t{
        work(), state_.data.counters.insertions, insertions, species, empty, sums.data()};
    const auto kernel =
        chains() ? &test_molecules_kernel<true, F> : &test_molecules_kernel<false, F>;
    kernel<<<blocks(), threads_, shared_, stream_>>>(t, changes_.data());
    check_launch();
    sums.download(host.data(), stream_);
    state_.data.counters.insertions += insertions;
    return host;
  }

  std::vector<double> energies() override {
    check_whole(state_);
    const DeviceGuard here = use();
    DeviceBuffer<double> sums(energies_.size()), waves(waves_.size());
    MoleculeArrays<F> w = work();
    w.energies = sums.data();
    w.waves = waves.data();
    sum_energies(w);
    std::vector<double> host;
    fetch(sums, host);
    return host;
  }
  std::vector<IdealChain> ideal_chains() const override { return state_.ideal; }
  Snapshot snapshot() const override {
    const DeviceGuard here = use();
    check_whole(state_);
    Snapshot s = state_.data;
    s.sites.resize(3 * sites_.size());
    s.orientations.resize(4 * turns_.size());
    download(sites_, reinterpret_cast<Site*>(s.sites.data()));
    download(turns_, reinterpret_cast<Quaternion*>(s.orientations.data()));
    fetch(counts_, s.counts);
    fetch(energies_, s.energies);
    fetch(sums_, s.sums);
    fetch(profile_, s.profile);
    fetch(waves_, s.waves);
    fetch(shapes_, s.shapes);
    return s;
  }
  void framework_energies(const double* xyz, std::size_t count, int type, bool direct,
                          double* energies) const override {
    site_framework_energies<F>(state_, xyz, count, type, direct, energies);
  }

 private:
  template <class T>
  DeviceBuffer<T> uploaded(const T* host, std::size_t count) {
    DeviceBuffer<T> buffer(count);
    if (count) buffer.upload(host, stream_);
    return buffer;
  }
  template <class T>
  void download(const DeviceBuffer<T>& from, T* to) const {
    if (from.size()) from.download(to, stream_);
  }
  template <class T>
  void fetch(const DeviceBuffer<T>& from, std::vector<T>& to) const {
    to.resize(from.size());
    download(from, to.data());
  }
  // The device has what the state would hold.
  void forget() {
    Snapshot& d = state_.data;
    d = {d.counters, d.max_displacement, {}, {}, {}, {}, {}, {}, {}, {}};
  }
  void upload_poses() {
    const Snapshot& d = state_.data;
    sites_ = uploaded(reinterpret_cast<const Site*>(d.sites.data()), d.sites.size() / 3);
    turns_ = uploaded(reinterpret_cast<const Quaternion*>(d.orientations.data()),
                      d.orientations.size() / 4);
    shapes_ = uploaded(d.shapes.data(), d.shapes.size());
  }
  bool chains() const { return !state_.chains.empty(); }
  void sum_energies(const MoleculeArrays<F>& w) {
    const auto kernel =
        chains() ? &energy_molecules_kernel<true, F> : &energy_molecules_kernel<false, F>;
    kernel<<<blocks(), threads_, shared_, stream_>>>(w, changes_.data());
    check_launch();
  }
  void sum_energies() {
    sum_energies(work());
    check(cudaStreamSynchronize(stream_), "kernel");
  }
  void set_mesh_tables(MeshModel<float>& m) const {
    m.quad = mesh_quads_.data();
    m.row = mesh_rows_.data();
    m.layer = mesh_layers_.data();
    m.weight = mesh_weights_.data();
    m.alone = mesh_alone_.data();
  }
  void set_mesh_tables(MeshModel<double>&) const {}
  MoleculeArrays<F> work() const {
    MoleculeArrays<F> w = make_molecule_arrays(state_, static_cast<const F*>(grid_.data()));
    w.r.laws = laws_.data();
    w.chains.table = tables_.data();
    w.r.row = rows_.data();
    w.r.wave_weight = weights_.data();
    set_mesh_tables(w.r.mesh);
    w.centers = sites_.data();
    w.turns = turns_.data();
    w.counts = counts_.data();
    w.energies = energies_.data();
    w.sums = sums_.data();
    w.profile = profile_.data();
    w.waves = waves_.data();
    w.shapes = shapes_.data();
    w.reached = reached_.data();
    return w;
  }
  void enlarge(unsigned full) {
    Snapshot& d = state_.data;
    d.sites.resize(3 * sites_.size());
    d.orientations.resize(4 * turns_.size());
    download(sites_, reinterpret_cast<Site*>(d.sites.data()));
    download(turns_, reinterpret_cast<Quaternion*>(d.orientations.data()));
    fetch(shapes_, d.shapes);
    grow_molecules(state_, full);
    choose_warps();
    upload_poses();
    forget();
  }

  // So many warps in a block that most of them fit into a multiprocessor's shared memory.
  void choose_warps() {
    const MoleculeArrays<F> w = work();
    const std::size_t each = MoleculeScratch<F>::bytes(w);
    int most = 0, all = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_),
          "device");
    check(cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device_),
          "device");
    constexpr std::size_t kReserved = 1024;  // of each block
    const auto fits = [&](std::size_t bytes) { return bytes <= static_cast<std::size_t>(most); };
    std::size_t warps = 0, resident = 0;
    for (std::size_t n = 1; n <= kThreads / 32 && fits(n * each); ++n) {
      const std::size_t fit = all / (n * each + kReserved) * n;
      if (fit >= resident) warps = n, resident = fit;
    }
    if (warps == 0)
      throw std::invalid_argument(text_of(
          state_.slots, " molecules in a system with ", w.trial_positions, " trial positions and ",
          w.trial_orientations, " trial orientations are too many for this GPU's shared memory of ",
          most, " bytes"));
    threads_ = static_cast<int>(warps) * 32;
    shared_ = warps * each;
    chains() ? allow_kernels<true>() : allow_kernels<false>();
    if (steps_of(w) != Steps::several) return;
    // With the mesh there is work for three warps or four besides that of the proposals: up to 64
    // of these, more systems with three warps fit into a multiprocessor.
    const int teams = w.proposals > 64 ? 4 : 3;
    warps_of_block_ = w.meshes ? teams : std::min(w.proposals, kThreads) / 32;
    allow_shared_memory(&run_several_kernel<F>, each, "shared memory of a kernel");
    shared_of_block_ = each;
  }
  template <bool Chains>
  void allow_kernels() {
    const auto allow = [&](auto kernel) {
      allow_shared_memory(kernel, shared_, "shared memory of a kernel");
    };
    if constexpr (Chains) {
      allow(&run_kernel<Steps::chains, F>);
    } else {
      allow(&run_kernel<Steps::one, F>);
      allow(&run_kernel<Steps::trials, F>);
    }
    allow(&place_molecules_kernel<Chains, F>);
    allow(&energy_molecules_kernel<Chains, F>);
    allow(&test_molecules_kernel<Chains, F>);
  }
  int blocks() const {
    const int warps = threads_ / 32;
    return (state_.parameters.systems + warps - 1) / warps;
  }
  MoveCounts fetch_counts() {
    check_launch();
    DeviceMoveCounts t;
    move_counts_.download(&t, stream_);
    return {t.accepted, t.exchanges, t.accepted_exchanges, t.full, t.stuck != 0};
  }

  Stream stream_;
  DeviceBuffer<F> grid_, weights_, changes_;
  DeviceBuffer<PairLaw<F>> laws_;
  DeviceBuffer<WaveRow> rows_;
  DeviceBuffer<MeshQuad> mesh_quads_;
  DeviceBuffer<MeshRow> mesh_rows_;
  DeviceBuffer<std::int32_t> mesh_layers_;
  DeviceBuffer<MeshWeights<float>> mesh_weights_;
  DeviceBuffer<float> mesh_alone_;
  DeviceBuffer<Site> sites_;
  DeviceBuffer<Quaternion> turns_;
  DeviceBuffer<std::int32_t> counts_;
  DeviceBuffer<double> energies_, sums_, waves_, shapes_;
  DeviceBuffer<AngleTable> tables_;
  DeviceBuffer<std::uint64_t> profile_, reached_;
  DeviceBuffer<DeviceMoveCounts> move_counts_;
  int threads_ = 0;
  std::size_t shared_ = 0;
  int warps_of_block_ = 0;  // and its shared memory, in steps of several proposals
  std::size_t shared_of_block_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_molecule_cuda_engine(MoleculeState state,
                                                  const AdoptMolecules& molecules, int device,
                                                  int threads) {
  if (state.parameters.method == Method::metropolis)
    throw std::invalid_argument("method metropolis is the reference on a CPU; pmc is the same");
  if (state.parameters.double_precision)
    return std::make_unique<MoleculeCudaEngine<double>>(std::move(state), molecules, device,
                                                        threads);
  return std::make_unique<MoleculeCudaEngine<float>>(std::move(state), molecules, device, threads);
}

}  // namespace manymove::adsorption
