// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine for rigid molecules: a warp has a system, or several warps where a step has
// several proposals. The steps are those of moves/; this file is compiled without contraction into
// fma, as those sources are on a CPU.
#include "../../cuda/engine_base.cuh"
#include "../../cuda/fill_grid.cuh"

namespace manymove::adsorption {
namespace {

template <class F>
__device__ F* changes_of(const MoleculeArrays<F>& w, int system) {
  return w.changes + static_cast<std::size_t>(system) * MoleculeScratch<F>::slow(w);
}

// A warp has its share of the block's shared memory, and its system's changes of structure factors.
template <bool Chains>
struct MoleculesOfWarp {
  template <class F, class Work>
  __device__ static void make(const MoleculeArrays<F>& w, int system, const Work& work) {
    const TeamPointer<char> memory(0u);
    const MoleculeScratch<F> scratch{
        memory + static_cast<int>(threadIdx.x / 32 * MoleculeScratch<F>::bytes(w)), w,
        changes_of(w, system)};
    const Warp warp;
    MoleculeSystem<Warp, F, Chains> s(w, system, warp, scratch);
    work(s);
  }
};

// Steps of several proposals: a block has a system. In float, an H200 is fastest with registers
// for 4 blocks on a multiprocessor: 4 % compared with 5, and 7 % compared with 6.
template <class F>
__global__ void __launch_bounds__(kThreads, sizeof(F) == 4 ? 4 : 2)
    run_several_kernel(const __grid_constant__ MoleculeArrays<F> w, DeviceMoveCounts* moves) {
  const auto system = static_cast<int>(blockIdx.x);
  const MoleculeScratch<F> scratch{TeamPointer<char>(0u), w, changes_of(w, system)};
  const Warps lanes;
  MoleculeSystem<Warps, F> s(w, system, lanes, scratch);
  LaneMoveCounts counted;
  run_steps<Steps::several>(s, counted);
  Warps::sync();
  if (Warps::leads()) add_counts(moves, counted);
}

template <class F>
class MoleculeCudaEngine final : public CudaEngineBase<MoleculeArrays<F>> {
  using Arrays = MoleculeArrays<F>;
  using Rigid = MoleculesOfWarp<false>;
  using Chains = MoleculesOfWarp<true>;
  using Base = CudaEngineBase<Arrays>;
  using Base::state_, Base::stream_, Base::move_counts_, Base::threads_, Base::shared_,
      Base::blocks;

 public:
  MoleculeCudaEngine(State state, const Start& start, int device)
      : Base(std::move(state), device,
             state.chains.empty() ? WarpKernels<Arrays>::template with<Rigid>()
                                  : WarpKernels<Arrays>::template with<Chains>()) {
    const DeviceGuard here = this->use();
    fill_grid_on_device(state_, stream_, start.poll);
    const InPrecision<F>& own = state_.template in<F>();
    this->copy_grid();
    laws_ = this->copy(own.laws);
    rows_ = this->copy(state_.rows);
    weights_ = this->copy(own.wave_weights);
    const MeshTables& mesh = state_.mesh;
    mesh_quads_ = this->copy(mesh.quads);
    mesh_rows_ = this->copy(mesh.rows);
    mesh_layers_ = this->copy(mesh.layer);
    mesh_weights_ = this->copy(mesh.weights);
    mesh_alone_ = this->copy(mesh.alone);
    tables_ = this->copy(state_.tables);
    changes_ = this->template array<F>(std::max<std::size_t>(
        MoleculeScratch<F>::slow(this->arrays()) * state_.parameters.systems, 2));
    this->begin(start);
  }

 private:
  void launch_steps(const Arrays& w) override {
    DeviceMoveCounts* const moves = move_counts_.data();
    if (steps_of(w) == Steps::several)
      run_several_kernel<F>
          <<<w.systems, 32 * warps_of_block_, shared_of_block_, stream_>>>(w, moves);
    else
      steps(w)<<<blocks(), threads_, shared_, stream_>>>(w, moves);
  }
  // Those that are not of several proposals.
  static auto steps(const Arrays& w) {
    return steps_of(w) == Steps::chains   ? &run_kernel<Chains, Steps::chains, Arrays>
           : steps_of(w) == Steps::trials ? &run_kernel<Rigid, Steps::trials, Arrays>
                                          : &run_kernel<Rigid, Steps::one, Arrays>;
  }
  void set_mesh_tables(MeshModel<float>& m) const {
    m.quad = mesh_quads_.data();
    m.row = mesh_rows_.data();
    m.layer = mesh_layers_.data();
    m.weight = mesh_weights_.data();
    m.alone = mesh_alone_.data();
  }
  void set_mesh_tables(MeshModel<double>&) const {}
  void set_tables(Arrays& w) const override {
    w.changes = changes_.data();
    w.r.laws = laws_.data();
    w.chains.table = tables_.data();
    w.r.row = rows_.data();
    w.r.wave_weight = weights_.data();
    set_mesh_tables(w.r.mesh);
  }

  // So many warps in a block that most of them fit into a multiprocessor's shared memory.
  void choose_warps() override {
    const Arrays w = this->arrays();
    const std::size_t each = MoleculeScratch<F>::bytes(w);
    const std::size_t most = most_shared_memory(),
                      all = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    constexpr std::size_t kReserved = 1024;  // of each block
    std::size_t warps = 0, resident = 0;
    for (std::size_t n = 1; n <= kThreads / 32 && n * each <= most; ++n) {
      // Warps that are resident with n of them in a block; more warps in a block share its reserved
      // memory.
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
    this->allow_memory(steps(w));
    if (steps_of(w) != Steps::several) return;
    // With the mesh there is work for three warps or four besides that of the proposals: up to 64
    // of these, more systems with three warps fit into a multiprocessor.
    const int teams = w.proposals > 64 ? 4 : 3;
    warps_of_block_ = w.meshes ? teams : std::min(w.proposals, kThreads) / 32;
    allow_shared_memory(&run_several_kernel<F>, each, "shared memory of a kernel");
    shared_of_block_ = each;
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

std::unique_ptr<Engine> make_cuda_engine_of_molecules(State state, const Start& start, int device) {
  if (state.parameters.double_precision)
    return std::make_unique<MoleculeCudaEngine<double>>(std::move(state), start, device);
  return std::make_unique<MoleculeCudaEngine<float>>(std::move(state), start, device);
}

}  // namespace manymove::adsorption
