// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine for rigid molecules: a warp has a system, or several warps where a step has
// several proposals. The steps are those of moves/; this file is compiled without contraction into
// fma, as those sources are on a CPU.
#include "../../cuda/engine_base.cuh"
#include "../../fill_grid.h"
#include "../../moves/starts.h"
#include "../../moves/steps.h"
#include "../../moves/test_insertions.h"

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
  if (!place_molecules(s, [&] { return is_stuck(moves, Warp::lane()); }) && Warp::leads())
    atomicOr(&moves->stuck, 1u);
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
    test_molecules_kernel(const __grid_constant__ TestInsertions<MoleculeArrays<F>> t, F* changes) {
  const MoleculeArrays<F>& w = t.arrays;
  const int system = system_of_warp();
  if (system >= w.systems) return;
  const Warp warp;
  const MoleculeScratch<F> scratch = scratch_of(w, system, changes);
  WarpSystemOf<F, Chains> s(w, system, warp, scratch);
  insert_tests(t, s);
}

template <class F>
class MoleculeCudaEngine final : public CudaEngineBase<F, MoleculeState> {
  using Base = CudaEngineBase<F, MoleculeState>;
  using Base::state_, Base::stream_, Base::grid_, Base::move_counts_, Base::threads_, Base::shared_,
      Base::blocks, Base::device_limit, Base::uploaded;

 public:
  MoleculeCudaEngine(MoleculeState state, const Adopt<MoleculeState>& molecules, int device,
                     int threads)
      : Base(std::move(state), device) {
    const DeviceGuard here = this->use();
    {
      ThreadPool pool(threads);
      adsorption::fill_grid(state_, pool);
    }
    grid_ = uploaded(host_grid<F>(state_), state_.info.bytes / sizeof(F));
    laws_ = uploaded(state_.laws(F{}), state_.double_laws.size());
    rows_ = uploaded(state_.rows);
    weights_ = uploaded(state_.weights(F{}), state_.double_weights.size());
    const MeshTables& mesh = state_.mesh;
    mesh_quads_ = uploaded(mesh.quads);
    mesh_rows_ = uploaded(mesh.rows);
    mesh_layers_ = uploaded(mesh.layer);
    mesh_weights_ = uploaded(mesh.weights);
    mesh_alone_ = uploaded(mesh.alone);
    tables_ = uploaded(state_.tables);
    changes_ = DeviceBuffer<F>(std::max<std::size_t>(
        MoleculeScratch<F>::slow(this->arrays()) * state_.parameters.systems, 2));
    this->start(molecules);
  }

 private:
  bool chains() const { return !state_.chains.empty(); }
  void launch_steps(const MoleculeArrays<F>& w) override {
    DeviceMoveCounts* const moves = move_counts_.data();
    if (steps_of(w) == Steps::several) {
      run_several_kernel<F><<<w.systems, 32 * warps_of_block_, shared_of_block_, stream_>>>(
          w, changes_.data(), moves);
      return;
    }
    const auto kernel = chains()                       ? &run_kernel<Steps::chains, F>
                        : steps_of(w) == Steps::trials ? &run_kernel<Steps::trials, F>
                                                       : &run_kernel<Steps::one, F>;
    kernel<<<blocks(), threads_, shared_, stream_>>>(w, changes_.data(), moves);
  }
  void launch_placing(const MoleculeArrays<F>& w) override {
    const auto kernel =
        chains() ? &place_molecules_kernel<true, F> : &place_molecules_kernel<false, F>;
    kernel<<<blocks(), threads_, shared_, stream_>>>(w, changes_.data(), move_counts_.data());
  }
  void launch_energies(const MoleculeArrays<F>& w) override {
    const auto kernel =
        chains() ? &energy_molecules_kernel<true, F> : &energy_molecules_kernel<false, F>;
    kernel<<<blocks(), threads_, shared_, stream_>>>(w, changes_.data());
  }
  void launch_tests(const TestInsertions<MoleculeArrays<F>>& t) override {
    const auto kernel =
        chains() ? &test_molecules_kernel<true, F> : &test_molecules_kernel<false, F>;
    kernel<<<blocks(), threads_, shared_, stream_>>>(t, changes_.data());
  }
  void set_mesh_tables(MeshModel<float>& m) const {
    m.quad = mesh_quads_.data();
    m.row = mesh_rows_.data();
    m.layer = mesh_layers_.data();
    m.weight = mesh_weights_.data();
    m.alone = mesh_alone_.data();
  }
  void set_mesh_tables(MeshModel<double>&) const {}
  void set_tables(MoleculeArrays<F>& w) const override {
    w.r.laws = laws_.data();
    w.chains.table = tables_.data();
    w.r.row = rows_.data();
    w.r.wave_weight = weights_.data();
    set_mesh_tables(w.r.mesh);
  }

  // So many warps in a block that most of them fit into a multiprocessor's shared memory.
  void choose_warps() override {
    const MoleculeArrays<F> w = this->arrays();
    const std::size_t each = MoleculeScratch<F>::bytes(w);
    const std::size_t most = device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                      all = device_limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    constexpr std::size_t kReserved = 1024;  // of each block
    std::size_t warps = 0, resident = 0;
    for (std::size_t n = 1; n <= kThreads / 32 && n * each <= most; ++n) {
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
    if constexpr (Chains)
      this->allow_memory(&run_kernel<Steps::chains, F>);
    else
      this->allow_memory(&run_kernel<Steps::one, F>, &run_kernel<Steps::trials, F>);
    this->allow_memory(&place_molecules_kernel<Chains, F>, &energy_molecules_kernel<Chains, F>,
                       &test_molecules_kernel<Chains, F>);
  }

  DeviceBuffer<F> weights_, changes_;
  DeviceBuffer<PairLaw<F>> laws_;
  DeviceBuffer<WaveRow> rows_;
  DeviceBuffer<MeshQuad> mesh_quads_;
  DeviceBuffer<MeshRow> mesh_rows_;
  DeviceBuffer<std::int32_t> mesh_layers_;
  DeviceBuffer<MeshWeights<float>> mesh_weights_;
  DeviceBuffer<float> mesh_alone_;
  DeviceBuffer<AngleTable> tables_;
  int warps_of_block_ = 0;  // and its shared memory, in steps of several proposals
  std::size_t shared_of_block_ = 0;
  OnDevice::BetweenCalls between_calls_{*this};
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(MoleculeState state, const Adopt<MoleculeState>& molecules,
                                         int device, int threads) {
  if (state.parameters.method == Method::metropolis)
    throw std::invalid_argument("method metropolis is the reference on a CPU; pmc is the same");
  if (state.parameters.double_precision)
    return std::make_unique<MoleculeCudaEngine<double>>(std::move(state), molecules, device,
                                                        threads);
  return std::make_unique<MoleculeCudaEngine<float>>(std::move(state), molecules, device, threads);
}

}  // namespace manymove::adsorption
