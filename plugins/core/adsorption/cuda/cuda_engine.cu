// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine: device memory, launches and what comes back; the kernels are in kernels.cuh
// and pmc.cuh.
#include <algorithm>

#include "../../runtime/device.cuh"
#include "../../runtime/text.h"
#include "../engine_base.h"
#include "kernels.cuh"
#include "pmc.cuh"

namespace manymove::adsorption {
namespace {

template <class F>
class CudaEngine final : OnDevice, public EngineBase<State> {
 public:
  CudaEngine(State state, const Adopt& molecules, int device)
      : OnDevice(device), EngineBase(std::move(state)), move_counts_(1) {
    const Snapshot& d = state_.data;
    fill_grid();
    upload_grid();
    choose_warps();
    sites_ = DeviceBuffer<Site>(d.sites.size() / 3);
    counts_ = DeviceBuffer<std::int32_t>(d.counts.size());
    energies_ = DeviceBuffer<double>(d.energies.size());
    sums_ = DeviceBuffer<double>(d.sums.size());
    profile_ = DeviceBuffer<std::uint64_t>(d.profile.size());
    if (state_.parameters.exchange > 0)
      reached_ = DeviceBuffer<std::uint64_t>(state_.parameters.systems);
    if (state_.parameters.method == Method::pmc) {
      choose_memory();
      planes_ = DeviceBuffer<std::uint32_t>(d.sites.size());
      if (!pmc_shared_) coordinates_ = DeviceBuffer<F>(d.sites.size());
    }
    if (molecules) molecules(state_);
    upload();
    if (!molecules) {
      move_counts_.clear(stream_);
      place_kernel<F><<<blocks(), threads_, shared_, stream_>>>(work(), move_counts_.data());
      check_placed(state_, fetch_counts());
    } else if (state_.data.counters.steps == 0) {
      sum_energies();
    }
    state_.data = {state_.data.counters, state_.data.max_displacement, {}, {}, {}, {}, {}};
    made();
  }
  ~CudaEngine() override { destroy(); }

  void run(std::uint64_t steps, bool measure) override {
    const DeviceGuard here = use();
    const auto start = [&](bool again) {
      move_counts_.clear(stream_);
      PointArrays<F> w = work();
      w.measure = measure;
      w.steps = steps;
      w.again = again;
      launch(w);
      return fetch_counts();
    };
    run_whole(state_, steps, measure, start, [&](unsigned full) { enlarge(full); });
  }

  void set_positions(const double* positions, const double*) override {
    const DeviceGuard here = use();
    state_.data.sites.assign(3 * sites_.size(), 0);
    state_.data.counts.resize(counts_.size());
    adopt(state_, positions);
    sites_.upload(reinterpret_cast<const Site*>(state_.data.sites.data()), stream_);
    counts_.upload(state_.data.counts.data(), stream_);
    state_.data.sites = {};
    state_.data.counts = {};
    sum_energies();
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
    const TestInsertions<F> t{
        work(), state_.data.counters.insertions, insertions, species, empty, sums.data()};
    test_kernel<F><<<blocks(), threads_, shared_, stream_>>>(t);
    check_launch();
    sums.download(host.data(), stream_);
    state_.data.counters.insertions += insertions;
    return host;
  }

  Snapshot snapshot() const override {
    const DeviceGuard here = use();
    check_whole(state_);
    Snapshot s = state_.data;
    s.sites.resize(3 * sites_.size());
    s.counts.resize(counts_.size());
    s.energies.resize(energies_.size());
    s.sums.resize(sums_.size());
    s.profile.resize(profile_.size());
    sites_.download(reinterpret_cast<Site*>(s.sites.data()), stream_);
    counts_.download(s.counts.data(), stream_);
    energies_.download(s.energies.data(), stream_);
    sums_.download(s.sums.data(), stream_);
    if (profile_.size()) profile_.download(s.profile.data(), stream_);
    return s;
  }

  void framework_energies(const double* xyz, std::size_t count, int species, bool direct,
                          double* energies) const override {
    adsorption::framework_energies<F>(state_, xyz, count, species, direct, energies);
  }

 private:
  void sum_energies() {
    energy_kernel<F><<<blocks(), threads_, shared_, stream_>>>(work());
    check_launch();
    check(cudaStreamSynchronize(stream_), "kernel");
  }

  PointArrays<F> work() const {
    PointArrays<F> w = make_arrays(state_, static_cast<const F*>(grid_.data()));
    w.m.corners = corners_.data();
    w.sites = sites_.data();
    w.counts = counts_.data();
    w.energies = energies_.data();
    w.sums = sums_.data();
    w.profile = profile_.data();
    w.reached = reached_.data();
    return w;
  }

  void launch(const PointArrays<F>& w) {
    DeviceMoveCounts* const moves = move_counts_.data();
    if (w.method == Method::pmc) {
      const Planes<F> planes{planes_.data(), coordinates_.data()};
      single()<<<(w.systems + kPmcThreads - 1) / kPmcThreads, kPmcThreads, pmc_shared_, stream_>>>(
          w, planes, moves);
    } else if (w.method == Method::plj) {
      points_kernel<Steps::one, 1, F><<<blocks(), threads_, shared_, stream_>>>(w, moves);
    } else {
      multiple()<<<blocks(), threads_, shared_, stream_>>>(w, moves);
    }
    check_launch();
  }

  void enlarge(unsigned full) {
    state_.data.sites.resize(3 * sites_.size());
    sites_.download(reinterpret_cast<Site*>(state_.data.sites.data()), stream_);
    grow(state_, full);
    choose_warps();
    sites_ = DeviceBuffer<Site>(state_.data.sites.size() / 3);
    sites_.upload(reinterpret_cast<const Site*>(state_.data.sites.data()), stream_);
    state_.data.sites = {};
  }

  auto single() const { return pmc_shared_ ? &pmc_kernel<F, true> : &pmc_kernel<F, false>; }

  // pmc keeps coordinates in shared memory where that leaves the multiprocessors busy.
  void choose_memory() {
    constexpr int kFewest = 4;  // warps of a multiprocessor
    int most = 0, warps = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_),
          "device");
    const std::size_t bytes = 3 * sizeof(F) * static_cast<std::size_t>(state_.slots * kPmcThreads);
    if (bytes > static_cast<std::size_t>(most)) return;
    const auto kernel = &pmc_kernel<F, true>;
    allow_shared_memory(kernel, bytes, "shared memory of a kernel");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&warps, kernel, kPmcThreads, bytes),
          "occupancy");
    if (warps >= kFewest) pmc_shared_ = bytes;
  }

  auto multiple() const {
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
  void choose_warps() {
    const std::size_t each = warp_bytes<F>(state_.slots, state_.parameters.bins);
    int most = 0;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_),
          "device");
    const auto warps = std::min<std::size_t>(kThreads / 32, most / each);
    if (warps == 0)
      throw std::invalid_argument(text_of(state_.slots,
                                          " molecules in a system are too many for this GPU's "
                                          "shared memory of ",
                                          most, " bytes"));
    threads_ = static_cast<int>(warps) * 32;
    shared_ = warps * each;
    allow_shared_memory(&points_kernel<Steps::one, 1, F>, shared_, "shared memory of a kernel");
    allow_shared_memory(multiple(), shared_, "shared memory of a kernel");
    allow_shared_memory(&place_kernel<F>, shared_, "shared memory of a kernel");
    allow_shared_memory(&energy_kernel<F>, shared_, "shared memory of a kernel");
    allow_shared_memory(&test_kernel<F>, shared_, "shared memory of a kernel");
  }
  int blocks() const {
    const int warps = threads_ / 32;
    return (state_.parameters.systems + warps - 1) / warps;
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
  void upload_grid() {
    const std::size_t values = state_.info.bytes / sizeof(F);
    grid_ = DeviceBuffer<F>(values);
    grid_.upload(host_grid<F>(state_), stream_);
    pack_corners();
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

  // Puts state_.data on the device.
  void upload() {
    const Snapshot& d = state_.data;
    sites_.upload(reinterpret_cast<const Site*>(d.sites.data()), stream_);
    counts_.upload(d.counts.data(), stream_);
    energies_.upload(d.energies.data(), stream_);
    sums_.upload(d.sums.data(), stream_);
    if (profile_.size()) profile_.upload(d.profile.data(), stream_);
  }

  MoveCounts fetch_counts() {
    check_launch();
    DeviceMoveCounts t;
    move_counts_.download(&t, stream_);
    return {t.accepted, t.exchanges, t.accepted_exchanges, t.full, t.stuck != 0};
  }

  Stream stream_;
  DeviceBuffer<F> grid_, corners_, coordinates_;
  DeviceBuffer<Site> sites_;
  DeviceBuffer<std::int32_t> counts_;
  DeviceBuffer<double> energies_, sums_;
  DeviceBuffer<std::uint64_t> profile_, reached_;
  DeviceBuffer<std::uint32_t> planes_;
  DeviceBuffer<DeviceMoveCounts> move_counts_;
  int threads_ = 0;
  std::size_t shared_ = 0, pmc_shared_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(State state, const Adopt& molecules, int device) {
  if (state.parameters.method == Method::metropolis)
    throw std::invalid_argument("method metropolis is the reference on a CPU; pmc is the same");
  if (state.parameters.double_precision)
    return std::make_unique<CudaEngine<double>>(std::move(state), molecules, device);
  return std::make_unique<CudaEngine<float>>(std::move(state), molecules, device);
}

}  // namespace manymove::adsorption
