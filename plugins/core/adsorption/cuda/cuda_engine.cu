// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine of point particles; the kernels are in kernels.cuh and pmc.cuh.
#include "engine_base.cuh"
#include "fill_grid.cuh"
#include "pmc.cuh"

namespace manymove::adsorption {
namespace {

template <class F>
class CudaEngine final : public CudaEngineBase<PointArrays<F>> {
  using Arrays = PointArrays<F>;
  using Base = CudaEngineBase<Arrays>;
  using Base::state_, Base::stream_, Base::grid_, Base::move_counts_, Base::threads_, Base::shared_,
      Base::blocks;

 public:
  CudaEngine(State state, const Start& start, int device)
      : Base(std::move(state), device, WarpKernels<Arrays>::template with<PointsOfWarp<>>()) {
    const DeviceGuard here = this->use();
    fill_grid_on_device(state_, stream_, start.poll);
    this->copy_grid();
    pack_corners();
    if (state_.parameters.method == Method::pmc) choose_memory();
    this->begin(start);
  }

 private:
  void launch_steps(const Arrays& w) override {
    DeviceMoveCounts* const moves = move_counts_.data();
    if (w.method == Method::pmc) {
      const Planes<F> planes{planes_.data(), coordinates_.data()};
      single()<<<(w.systems + kPmcThreads - 1) / kPmcThreads, kPmcThreads, pmc_shared_, stream_>>>(
          w, planes, moves);
    } else {
      steps()<<<blocks(), threads_, shared_, stream_>>>(w, moves);
    }
  }
  void set_tables(Arrays& w) const override { w.m.corners = corners_.data(); }

  auto single() const { return pmc_shared_ ? &pmc_kernel<F, true> : &pmc_kernel<F, false>; }

  // pmc keeps coordinates in shared memory where that leaves the multiprocessors busy.
  void choose_memory() {
    // Below this the latency of the other memory is no longer hidden, and the second-level cache
    // serves better.
    constexpr int kFewest = 4;  // warps of a multiprocessor
    const std::size_t numbers = state_.data.sites.size();
    planes_ = this->template array<std::uint32_t>(numbers);
    const std::size_t bytes = 3 * sizeof(F) * static_cast<std::size_t>(state_.slots * kPmcThreads);
    int warps = 0;
    // x, y and z of all slots for each of the threads.
    if (bytes <= most_shared_memory()) {
      const auto kernel = &pmc_kernel<F, true>;
      allow_shared_memory(kernel, bytes, "shared memory of a kernel");
      warps = blocks_side_by_side(kernel, kPmcThreads, bytes);
    }
    if (warps >= kFewest)
      pmc_shared_ = bytes;
    else
      coordinates_ = this->template array<F>(numbers);
  }

  // Each lane has as many of the proposals as the others.
  auto steps() const {
    const Parameters& p = state_.parameters;
    if (p.method == Method::plj || p.method == Method::pmc)
      return &run_kernel<PointsOfWarp<1>, Steps::one, Arrays>;
    // PointsOfWarp<k>: a lane has k of the 32 k proposals.
    return for_constant<1, 2, 4, 8, 16>(p.proposals / 32, [](auto own) {
      return &run_kernel<PointsOfWarp<own()>, Steps::several, Arrays>;
    });
  }

  // As many warps in a block as the shared memory holds.
  void choose_warps() override {
    const std::size_t each = warp_bytes<F>(state_.slots, state_.parameters.bins);
    const std::size_t most = most_shared_memory();
    // A warp has a system.
    const auto warps = std::min<std::size_t>(kThreads / 32, most / each);
    if (warps == 0)
      throw std::invalid_argument(text_of(state_.slots,
                                          " molecules in a system are too many for this GPU's "
                                          "shared memory of ",
                                          most, " bytes"));
    threads_ = static_cast<int>(warps) * 32;
    shared_ = warps * each;
    this->allow_memory(steps());
  }

  // Eight values for one, which all lie in one sector: if memory is plenty.
  void pack_corners() {
    const auto species = state_.parameters.species.size();
    const std::size_t values = 8 * species * state_.grid_values();
    // A spline reads 64 values, which no packing brings into one sector.
    if (state_.parameters.cubic || values * sizeof(F) > free_for_pool() / 8) return;
    corners_ = this->template array<F>(values);
    corners_kernel<F>
        <<<static_cast<unsigned>(blocks_for(values / 8, kThreads)), kThreads, 0, stream_>>>(
            make_model(state_, static_cast<const F*>(grid_->data())), corners_.data());
    check_launch();
    stream_.wait();
  }

  DeviceBuffer<F> corners_, coordinates_;
  DeviceBuffer<std::uint32_t> planes_;
  std::size_t pmc_shared_ = 0;
  OnDevice::BetweenCalls between_calls_{*this};
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine_of_points(State state, const Start& start, int device) {
  if (state.parameters.double_precision)
    return std::make_unique<CudaEngine<double>>(std::move(state), start, device);
  return std::make_unique<CudaEngine<float>>(std::move(state), start, device);
}

}  // namespace manymove::adsorption
