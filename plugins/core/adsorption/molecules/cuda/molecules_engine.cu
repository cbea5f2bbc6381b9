// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine for rigid molecules: a warp has a system, or several warps where a step has
// several proposals. The steps are those of moves/; this file is compiled without contraction into
// fma, as those sources are on a CPU.
#include <algorithm>

#include "../../../runtime/device.cuh"
#include "../../../runtime/text.h"
#include "../../cuda/warp_team.cuh"
#include "../../engine_base.h"
#include "../../moves/starts.h"
#include "../../moves/steps.h"
#include "../../moves/test_insertions.h"
#include "../fill_grid.h"

namespace manymove::adsorption {
namespace {

template <class F, bool Chains = false>
using WarpSystemOf = MoleculeSystem<Warp, F, Chains>;

// Memory of a warp: its share of the block's, and its system's changes of structure factors.
template <class F>
__device__ MoleculeScratch<F> scratch_of(const MoleculeArrays<F>& w, int system, F* changes) {
  const TeamPointer<char> memory(0u);
  return {memory + static_cast<int>(threadIdx.x / 32 * MoleculeScratch<F>::bytes(w)), w,
          changes + static_cast<std::size_t>(system) * MoleculeScratch<F>::slow(w)};
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
    placed = place_all(s, [&] { return is_stuck(moves, Warp::lane()); });
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
