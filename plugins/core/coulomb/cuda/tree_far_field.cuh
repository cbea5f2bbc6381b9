// SPDX-License-Identifier: BSD-3-Clause
// A far field in the memory of a GPU: buffers and launches; the kernels are in tree_mesh.cuh and
// tree_estimates.cuh.
#pragma once

#include <cub/device/device_scan.cuh>
#include <utility>

#include "tree_estimates.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kReachCells = 3;  // cells of sources along an axis within reach, on either side

// Cells of the system with an edge of about `edge`, and what is sorted into them. The counts are 0
// before a sort, which takes them back to that.
class DeviceCells {
 public:
  DeviceCells(const State& state, double edge, cudaStream_t stream)
      : cells_{SourceCells(state.rules, edge), nullptr, nullptr},
        count_(cells_.cells.count() + 1),
        first_(count_.size()) {
    count_.clear(stream);
    cells_.count = count_.data();
    cells_.first = first_.data();
    scan_ = DeviceBuffer<char>(add_up(nullptr, 0, stream));
  }
  operator const CellArrays&() const { return cells_; }

  void sort(const CellItems auto& items, auto* sorted, cudaStream_t stream) {
    const int blocks = blocks_for(items.count, kThreads);
    // A counting sort: numbers by cell, exclusive sums of these, places.
    count_kernel<<<blocks, kThreads, 0, stream>>>(cells_, items);
    add_up(scan_.data(), scan_.size(), stream);
    sort_kernel<<<blocks, kThreads, 0, stream>>>(cells_, items, sorted);
    check_launch();
  }

 private:
  std::size_t add_up(void* memory, std::size_t bytes, cudaStream_t stream) {
    check(cub::DeviceScan::ExclusiveSum(memory, bytes, count_.data(), first_.data(),
                                        static_cast<int>(count_.size()), stream),
          "scan");
    return bytes;
  }

  CellArrays cells_;
  DeviceBuffer<std::uint32_t> count_, first_;
  DeviceBuffer<char> scan_;
};

// A far field in a device's memory: charges and potential on the mesh, and what they stand for,
// sorted into cells for the sums at short range.
template <Space B>
class DeviceField {
 public:
  // sources: at most so many. What is done to the mesh goes into a stream of its own, which may be
  // the other one too.
  DeviceField(FarField field, const State& state, std::size_t sources, cudaStream_t stream,
              cudaStream_t mesh_stream)
      : field_(std::move(field)),
        stream_(stream),
        mesh_stream_(mesh_stream),
        cells_(state, field_.mesh.reach / kReachCells, stream),
        source_(sources) {
    make_mesh();
    for_window(field_.mesh, [&](auto window) {
      constexpr int W = window();
      spread_threads_ = spread_threads(W);
      fill_ = &fill_kernel<W>;
      follow_ = &follow_mesh_kernel<W>;
      potential_ = &potential_kernel<B, W, false>;
      more_potential_ = &potential_kernel<B, W, true>;
    });
  }

  const FarField& field() const { return field_; }
  const MeshArrays& mesh() const { return mesh_; }

  void clear() { charge_.clear(mesh_stream_); }
  void fill(const Site* site, int ions) {
    clear();
    fill_<<<std::min(ions, 65535), spread_threads_, 0, mesh_stream_>>>(mesh_, site, ions);
    check_launch();
  }
  // The charges of accepted moves go with them.
  void follow(const TrialSites& trials, const std::int32_t* sorted, const std::uint8_t* accepted) {
    // Not so many blocks that they keep off the kernels of the other stream
    follow_<<<std::min(2 * trials.count, follow_blocks_), spread_threads_, 0, mesh_stream_>>>(
        mesh_, trials, sorted, accepted);
    check_launch();
  }

  // The potential of the charges on the mesh.
  void transform() {
    const MeshRules& m = field_.mesh;
    squares_.clear(mesh_stream_);
    // Forward along z (real to half a complex spectrum), y and x, times the factors, and back.
    const dim3 z(static_cast<unsigned>(blocks_for(m.points[1], 2 * kLines)),
                 static_cast<unsigned>(m.points[0]));
    const auto waves = static_cast<unsigned>(blocks_for(m.length[2] / 2, kLines));
    const dim3 y(waves, static_cast<unsigned>(m.points[0])),
        x(waves, static_cast<unsigned>(m.length[1]));
    const auto along = [&](int axis) { return fft_threads(mesh_.plan[axis]); };
    forward_z_kernel<<<z, along(2), line_memory_[2], mesh_stream_>>>(mesh_);
    along_y_kernel<false><<<y, along(1), line_memory_[1], mesh_stream_>>>(mesh_);
    along_x_kernel<<<x, along(0), line_memory_[0], mesh_stream_>>>(mesh_);
    along_y_kernel<true><<<y, along(1), line_memory_[1], mesh_stream_>>>(mesh_);
    inverse_z_kernel<<<z, along(2), line_memory_[2], mesh_stream_>>>(mesh_);
    check_launch();
  }

  // The sources by cell: ions, or what accepted moves have left and reached.
  void sort(const CellItems auto& items) { cells_.sort(items, source_.data(), stream_); }

  // At the sites of trials; `more`: in addition to what is there.
  void estimate(const Rules& r, const TrialSites& trials, const Deal& deal,
                const std::int32_t* sorted, SiteEstimate* estimate, bool more) {
    const Sources sources{cells_, source_.data(), near_table_.data()};
    (more ? more_potential_ : potential_)<<<blocks_for(2 * trials.count, kEstimateThreads / 32),
                                            kEstimateThreads, 0, stream_>>>(
        r, mesh_, sources, trials, deal, sorted, estimate);
    check_launch();
  }

 private:
  void make_mesh() {
    const MeshRules& m = field_.mesh;
    std::size_t points = 1;
    mesh_.rules = m;
    for (int a = 0; a < 3; ++a) {
      points *= static_cast<std::size_t>(m.points[a]);
      mesh_.plan[a] = wide_fft_plan(m.length[a]);
      twiddle_[a] = on_device(fft_twiddles(m.length[a]), stream_);
      mesh_.twiddle[a] = twiddle_[a].data();
      // Two buffers of kLines lines, between which the stages go back and forth.
      line_memory_[a] =
          2 * sizeof(Complex<double>) * kLines * static_cast<std::size_t>(m.length[a]);
    }
    const auto allow = [](auto kernel, std::size_t bytes) {
      allow_shared_memory(kernel, bytes, "shared memory for the transform's lines");
    };
    allow(forward_z_kernel, line_memory_[2]);
    allow(inverse_z_kernel, line_memory_[2]);
    allow(along_y_kernel<false>, line_memory_[1]);
    allow(along_y_kernel<true>, line_memory_[1]);
    allow(along_x_kernel, line_memory_[0]);
    charge_ = DeviceBuffer<unsigned long long>(points);
    on_mesh_ = DeviceBuffer<float>(points);
    near_table_ = on_device(&field_.near_table, 1, stream_);
    // Half of the wave numbers along z: the charges are real.
    spectrum_ = DeviceBuffer<Complex<double>>(static_cast<std::size_t>(m.points[0]) * m.length[1] *
                                              field_.half[2]);
    spectrum_.clear(stream_);
    factor_ = on_device(field_.factor, stream_);
    field_.factor = {};
    squares_ = DeviceBuffer<double>(1);
    mesh_.charge = charge_.data();
    mesh_.potential = on_mesh_.data();
    mesh_.spectrum = spectrum_.data();
    mesh_.factor = factor_.data();
    mesh_.squares = squares_.data();
    mesh_.stride = field_.half[2];
    mesh_.half_y = field_.half[1];
  }

  using Potential = void (*)(Rules, MeshArrays, Sources, TrialSites, Deal, const std::int32_t*,
                             SiteEstimate*);
  FarField field_;
  cudaStream_t stream_, mesh_stream_;
  MeshArrays mesh_{};
  DeviceCells cells_;
  std::size_t line_memory_[3];
  int spread_threads_, follow_blocks_ = 8 * multiprocessors();
  void (*fill_)(MeshArrays, const Site*, int);
  void (*follow_)(MeshArrays, TrialSites, const std::int32_t*, const std::uint8_t*);
  Potential potential_, more_potential_;
  DeviceBuffer<Complex<double>> twiddle_[3], spectrum_;
  DeviceBuffer<unsigned long long> charge_;
  DeviceBuffer<float> on_mesh_;
  DeviceBuffer<NearTable> near_table_;
  DeviceBuffer<double> factor_, squares_;
  DeviceBuffer<Site> source_;
};

}  // namespace
}  // namespace manymove::coulomb
