// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine of point particles; the kernels are in kernels.cuh and pmc.cuh.
#include "engine_base.cuh"
#include "kernels.cuh"
#include "pmc.cuh"

namespace manymove::adsorption {
namespace {

template <class F>
class CudaEngine final : public CudaEngineBase<F, State> {
  using Base = CudaEngineBase<F, State>;
  using Base::state_, Base::stream_, Base::grid_, Base::move_counts_, Base::threads_, Base::shared_,
      Base::blocks, Base::device_limit;

 public:
  CudaEngine(State state, const Adopt<State>& molecules, int device)
      : Base(std::move(state), device) {
    const DeviceGuard here = this->use();
    fill_grid();
    grid_ = this->uploaded(host_grid<F>(state_), state_.info.bytes / sizeof(F));
    pack_corners();
    if (state_.parameters.method == Method::pmc) choose_memory();
    this->start(molecules);
  }

 private:
  void launch_steps(const PointArrays<F>& w) override {
    DeviceMoveCounts* const moves = move_counts_.data();
    if (w.method == Method::pmc) {
      const Planes<F> planes{planes_.data(), coordinates_.data()};
      single()<<<(w.systems + kPmcThreads - 1) / kPmcThreads, kPmcThreads, pmc_shared_, stream_>>>(
          w, planes, moves);
    } else {
      steps()<<<blocks(), threads_, shared_, stream_>>>(w, moves);
    }
  }
  void launch_placing(const PointArrays<F>& w) override {
    place_kernel<F><<<blocks(), threads_, shared_, stream_>>>(w, move_counts_.data());
  }
  void launch_energies(const PointArrays<F>& w) override {
    energy_kernel<F><<<blocks(), threads_, shared_, stream_>>>(w);
  }
  void launch_tests(const TestInsertions<PointArrays<F>>& t) override {
    test_kernel<F><<<blocks(), threads_, shared_, stream_>>>(t);
  }
  void set_tables(PointArrays<F>& w) const override { w.m.corners = corners_.data(); }

  auto single() const { return pmc_shared_ ? &pmc_kernel<F, true> : &pmc_kernel<F, false>; }

  // pmc keeps coordinates in shared memory where that leaves the multiprocessors busy.
  void choose_memory() {
    constexpr int kFewest = 4;  // warps of a multiprocessor
    const std::size_t numbers = state_.data.sites.size();
    planes_ = DeviceBuffer<std::uint32_t>(numbers);
    const std::size_t bytes = 3 * sizeof(F) * static_cast<std::size_t>(state_.slots * kPmcThreads);
    int warps = 0;
    if (bytes <= device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin)) {
      const auto kernel = &pmc_kernel<F, true>;
      allow_shared_memory(kernel, bytes, "shared memory of a kernel");
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&warps, kernel, kPmcThreads, bytes),
            "occupancy");
    }
    if (warps >= kFewest)
      pmc_shared_ = bytes;
    else
      coordinates_ = DeviceBuffer<F>(numbers);
  }

  auto steps() const {
    if (state_.parameters.method == Method::plj || state_.parameters.method == Method::pmc)
      return &points_kernel<Steps::one, 1, F>;
    switch (state_.parameters.proposals) {
      case 32:
        return &points_kernel<Steps::several, 1, F>;
      case 64:
        return &points_kernel<Steps::several, 2, F>;
      case 128:
        return &points_kernel<Steps::several, 4, F>;
      case 256:
        return &points_kernel<Steps::several, 8, F>;
      default:
        return &points_kernel<Steps::several, 16, F>;
    }
  }

  // As many warps in a block as the shared memory holds.
  void choose_warps() override {
    const std::size_t each = warp_bytes<F>(state_.slots, state_.parameters.bins);
    const std::size_t most = device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const auto warps = std::min<std::size_t>(kThreads / 32, most / each);
    if (warps == 0)
      throw std::invalid_argument(text_of(state_.slots,
                                          " molecules in a system are too many for this GPU's "
                                          "shared memory of ",
                                          most, " bytes"));
    threads_ = static_cast<int>(warps) * 32;
    shared_ = warps * each;
    this->allow_memory(steps(), &place_kernel<F>, &energy_kernel<F>, &test_kernel<F>);
  }

  void fill_grid() {
    const std::size_t values = state_.grid_values();
    const auto species = static_cast<int>(state_.parameters.species.size());
    DeviceBuffer<Image> images(state_.images.size());
    if (images.size()) images.upload(state_.images.data(), stream_);
    DeviceBuffer<double> device(values);
    std::vector<double> energies(species * values);
    for (int b = 0; b < species; ++b) {
      GridSum g = grid_sum(state_, b);
      g.images = images.data();
      grid_kernel<<<static_cast<unsigned>(blocks_for(values, kThreads)), kThreads, 0, stream_>>>(
          g, device.data());
      check_launch();
      device.download(energies.data() + b * values, stream_);
    }
    finish_grid(state_, std::move(energies));
  }
  // Eight values for one, which all lie in one sector: if memory is plenty.
  void pack_corners() {
    const auto species = state_.parameters.species.size();
    const std::size_t values = 8 * species * state_.grid_values();
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "memory");
    if (state_.parameters.cubic || values * sizeof(F) > free / 8) return;
    corners_ = DeviceBuffer<F>(values);
    corners_kernel<F>
        <<<static_cast<unsigned>(blocks_for(values / 8, kThreads)), kThreads, 0, stream_>>>(
            make_model(state_, static_cast<const F*>(grid_.data())), corners_.data());
    check_launch();
  }

  DeviceBuffer<F> corners_, coordinates_;
  DeviceBuffer<std::uint32_t> planes_;
  std::size_t pmc_shared_ = 0;
  OnDevice::BetweenCalls between_calls_{*this};
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(State state, const Adopt<State>& molecules, int device,
                                         int) {
  if (state.parameters.method == Method::metropolis)
    throw std::invalid_argument("method metropolis is the reference on a CPU; pmc is the same");
  if (state.parameters.double_precision)
    return std::make_unique<CudaEngine<double>>(std::move(state), molecules, device);
  return std::make_unique<CudaEngine<float>>(std::move(state), molecules, device);
}

}  // namespace manymove::adsorption
