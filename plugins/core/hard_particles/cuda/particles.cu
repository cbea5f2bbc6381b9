// SPDX-License-Identifier: BSD-3-Clause
// The policy `Particles` on a GPU: memory, launches and transfers.
#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "../../runtime/launch.cuh"
#include "../constant_pressure/edges.h"
#include "../constant_pressure/volume.h"
#include "../grid.h"
#include "box_moves.h"
#include "engine.cuh"
#include "host_particles.cuh"
#include "plan.cuh"
#include "row_diameters.h"
#include "schedule.h"
#include "swaps.h"

namespace manymove::hard_particles {
namespace {

constexpr std::size_t kSharedLimit = 48 * 1024;  // of the histogram kernel

KernelsOfLaw choose_kernels(const State& state) {
  switch (state.distances.contact) {
    case Contact::one_size:
      return kernels_of<Contact::one_size>(state.dimensions());
    case Contact::additive:
      return kernels_of<Contact::additive>(state.dimensions());
    default:
      return state.radii.empty() ? kernels_of<Contact::table>(state.dimensions())
                                 : kernels_of<Contact::table, true>(state.dimensions());
  }
}

class CudaParticles final : public CudaEngine {
 public:
  CudaParticles(State state, int device)
      : CudaEngine(std::move(state), device, 256), kernels_(choose_kernels(state_)) {
    const Geometry& g = state_.geometry;
    const Cells cells = cells_of(state_, state_.data);
    for (int k = 0; k < 2; ++k) {
      spheres_[k] = DeviceBuffer<Sphere>(cells.spheres.size());
      counts_[k] = DeviceBuffer<std::uint32_t>(cells.counts.size());
    }
    spheres_[0].upload(cells.spheres.data(), stream_);
    counts_[0].upload(cells.counts.data(), stream_);
    upload_law();
    moves_ = DeviceBuffer<MoveCounts>(1);
    seen_ = {state_.data.counters.trial_moves, state_.data.counters.accepted_moves, 0};
    moves_.upload(&seen_, stream_);
    const auto first = cells.counts.begin() + static_cast<std::ptrdiff_t>(first_cell());
    const std::ptrdiff_t here = static_cast<std::ptrdiff_t>(state_.row_cells()) * state_.rows();
    choose_schedule(1 - static_cast<double>(std::count(first, first + here, 0u)) /
                            static_cast<double>(here));
    scratch_parts_ = std::min(g.tiles[0] * g.tiles[1] * g.tiles[2], 64);
    const std::size_t scratch = static_cast<std::size_t>(scratch_parts_) * most_in_tile(state_);
    scratch_spheres_ = DeviceBuffer<Sphere>(scratch);
    scratch_ids_ = DeviceBuffer<std::uint32_t>(scratch);
    locks_ = DeviceBuffer<unsigned int>(scratch_parts_);
    locks_.clear(stream_);
    if (state_.swaps() || state_.constant_pressure())
      reference_ = on_device(state_.parameters.diameters, stream_);
    if (state_.swaps()) {
      swap_counts_ = DeviceBuffer<unsigned long long>(2);
      const unsigned long long before[2] = {state_.data.swap_trials, state_.data.swap_accepted};
      swap_counts_.upload(before, stream_);
    }
    if (state_.constant_pressure() && !state_.parameters.edges_apart)
      box_moves_.emplace(state_, stream_);
    if (state_.strip && state_.swaps()) row_diameters_ = DeviceBuffer<double>(cells.spheres.size());
    if (state_.strip)
      halo_ =
          std::make_unique<HaloExchange>(*state_.ranks, state_.first_row(), rows_here(), stream_);
    state_.data.places = {};  // the device has them
    state_.data.indices = {};
    made();
  }
  ~CudaParticles() override { leave(); }

  using Engine::enqueue;
  void enqueue(std::uint64_t cycles) override {
    const DeviceGuard here = use();
    for (std::uint64_t i = 0; i < cycles; ++i) {
      const std::uint64_t cycle = next_cycle();
      if (state_.swaps() && cycle % state_.parameters.swap_every == 0) {
        look_at_neighbors(1);
        swap_diameters(state_, swap_rules(state_, cycle), own_spheres(), own_counts(),
                       swapped_diameters(), swap_counts_.data(), stream_);
      }
      if (box_moves_ && cycle % state_.parameters.volume_every == 0) {
        // Only the next cycle of an undivided system can do without the answer.
        const bool now = i + 1 == cycles || rows_.wants_sample(cycle) || state_.strip;
        begin_box_move(!now);
        if (now) end_box_move();
      } else if (state_.constant_pressure()) {
        if (!box_moves_ && cycle % state_.parameters.volume_every == 0) change_edges_here();
        volumes_.end_cycle(cycle, volume_of(state_, state_.data.volume));
      }
      if (rows_.wants_sample(cycle)) add_pairs(rows_.sampling(), rows_.row());
      rows_.end_cycle(cycle);
    }
    check_launch();
    finish();
  }

  bool same_positions(const HostParticles& host) const override {
    const DeviceGuard here = use();
    return host_.compare(state_.particles, host, stream_) && host_.same();
  }
  // Does not wait for the answer: without it, the cycles do nothing.
  bool enqueue_if_same(std::uint64_t cycles, const HostParticles& host) override {
    const DeviceGuard here = use();
    // What the host decides or counts is not undone.
    if (rows_.sampling().every || state_.strip || state_.constant_pressure() || state_.swaps())
      return Engine::enqueue_if_same(cycles, host);
    const auto before = std::make_tuple(state_.data.origin, state_.data.counters.cycles, now_);
    if (!host_.compare(state_.particles, host, stream_)) return false;
    skip_ = host_.differs();
    enqueue(cycles);
    write_positions(host);
    skip_ = nullptr;
    if (host_.same()) return true;
    std::tie(state_.data.origin, state_.data.counters.cycles, now_) = before;
    return false;
  }
  void write_positions(const HostParticles& host) override {
    const DeviceGuard here = use();
    Frame frame = host_frame(state_);
    frame.of_types = type_diameters_.data();
    frame.of_particles = reference_.data();
    host_.write(state_, frame, host, spheres_[now_].data(), counts_[now_].data(), skip_, stream_);
  }

  void set_volume_sampling(std::uint64_t record) override {
    volumes_.begin(record, state_.data.counters.cycles);
  }
  std::vector<double> take_volumes(std::vector<std::uint64_t>& cycles) override {
    return volumes_.take(cycles);
  }
  TrialCounters volume_counters() const override {
    return {state_.data.volume_trials, state_.data.volume_accepted};
  }
  TrialCounters swap_counters() const override {
    if (!state_.swaps()) return {};
    const DeviceGuard here = use();
    unsigned long long counts[2];
    swap_counts_.download(counts, stream_);
    return {counts[0], counts[1]};
  }

  void set_type_diameters(const std::vector<double>& diameters) override {
    const DeviceGuard here = use();
    state_.type_diameters = diameters;
    DeviceBuffer<double> on_this = on_device(diameters, stream_);
    type_diameters_.swap(on_this);
  }

  Counters counters() const override {
    const DeviceGuard here = use();
    check(cudaStreamSynchronize(stream_), "cycle");
    moves_.download(&seen_, stream_);
    if (seen_.corrupt)
      throw std::runtime_error("a cell holds more particles than fit: the state is corrupt");
    return {state_.data.counters.cycles, seen_.trial_moves, seen_.accepted_moves};
  }
  double occupied() const override { return occupied_share(state_, present_counts()); }
  Snapshot snapshot() const override {
    const DeviceGuard here = use();
    const Counters present = counters();
    std::vector<Sphere> spheres(spheres_[now_].size());
    spheres_[now_].download(spheres.data(), stream_);
    Snapshot data =
        snapshot_of(state_, present, state_.data.origin, spheres.data(), present_counts().data());
    copy_header(state_, data);
    if (state_.swaps()) {
      data.diameters = present_diameters(data);
      const TrialCounters swaps = swap_counters();
      data.swap_trials = swaps.trials;
      data.swap_accepted = swaps.accepted;
    }
    return data;
  }

 private:
  static constexpr int kHistogramThreads = 128;

  std::vector<std::uint32_t> present_counts() const {
    const DeviceGuard here = use();
    // After a change of the box there may be more room than cells; ranks have their own rows.
    std::vector<std::uint32_t> counts(state_.strip ? counts_[now_].size() : state_.cells());
    counts_[now_].download(counts.data(), stream_, counts.size());
    return counts;
  }

  // Index of the first cell of this rank's first row.
  std::size_t first_cell() const {
    return static_cast<std::size_t>(state_.first_row()) * state_.row_cells();
  }
  const Sphere* own_spheres() const {
    return spheres_[now_].data() + first_cell() * state_.geometry.slots;
  }
  const std::uint32_t* own_counts() const { return counts_[now_].data() + first_cell(); }
  SwappedDiameters swapped_diameters() const {
    return {reference_.data(), diameters_.data(), labels_.data()};
  }
  // The present diameters of a snapshot's particles.
  std::vector<double> present_diameters(const Snapshot& data) const {
    std::vector<double> all(reference_.size());
    reference_.download(all.data(), stream_);
    if (!state_.strip) return all;
    std::vector<double> own;
    for (const std::uint32_t id : data.indices) own.push_back(all[id]);
    return own;
  }

  // ---- several ranks (distributed/halo_exchange.cuh) ----
  RowArrays rows_here() const {
    const std::size_t cells = state_.row_cells();
    const std::size_t slots = cells * state_.geometry.slots;
    return {{{spheres_[now_].data(), slots * sizeof(Sphere)},
             {counts_[now_].data(), cells * sizeof(std::uint32_t)},
             {row_diameters_.data(), state_.swaps() ? slots * sizeof(double) : 0}}};
  }
  StoredCells stored_rows(int first) const {
    const StoredCells all{spheres_[now_].data(), counts_[now_].data(), row_diameters_.data(),
                          state_.geometry.slots};
    return all.from(static_cast<std::size_t>(first) * state_.row_cells());
  }
  // Rows of the strip for the neighbors, and then theirs, with the diameters of their particles.
  void collect(const Crossing& c, int rows) const {
    const auto pack = [&](int first, int count) {
      pack_diameters(stored_rows(first), count * state_.row_cells(), reference_.data(), stream_);
    };
    if (state_.swaps()) {
      pack(state_.first_row(), c.to_below);
      pack(state_.first_row() + rows - c.to_above, c.to_above);
    }
    halo_->collect(c, rows, rows_here());
  }
  void exchange(const Crossing& c, int rows) const {
    halo_->exchange();
    const auto take = [&](int first, int count) {
      take_diameters(stored_rows(first), count * state_.row_cells(), state_.unit,
                     swapped_diameters(), halo_->stream());
    };
    if (!state_.swaps()) return;
    take(state_.first_row() - c.from_below, c.from_below);
    take(state_.first_row() + rows, c.from_above);
  }
  void cycle_of_strip(const Draw& draw) {
    Strip& strip = *state_.strip;
    const int rows = strip.rows();
    const Crossing crossing = strip.advance(draw.shift_cells[state_.dimensions() - 1]);
    const Draw local = local_draw(state_, draw);
    Geometry g = state_.local();
    run_strip([&] { collect(crossing, rows); }, [&] { exchange(crossing, rows); },
              [&](int first, int end, cudaStream_t stream) {
                g.part.first_tile = strip.tile_row(first) * state_.tiles_in_row();
                if (end > first)
                  launch(g, local, (end - first) * state_.tiles_in_row(), stream, false);
              });
  }
  // Fetches the rows above the strip.
  void look_at_neighbors(int rows) const {
    if (!halo_) return;
    const Crossing above{rows, 0, 0, rows};
    collect(above, state_.rows());
    exchange(above, state_.rows());
    halo_->join();
  }

  void upload_law() {
    diameters_ = on_device(state_.diameters, stream_);
    labels_ = on_device(state_.labels, stream_);
    contacts_ = on_device(state_.contacts, stream_);
    sigmas_ = on_device(state_.sigmas, stream_);
    radii_ = on_device(state_.radii, stream_);
    place_law();
  }
  void place_law() {
    law_ = law_of(state_);
    law_.diameters = diameters_.data();
    law_.labels = labels_.data();
    law_.contacts = contacts_.data();
    law_.sigmas = sigmas_.data();
    law_.radii = radii_.data();
  }

  void choose_schedule(double occupied) {
    plan_ = plan_of(state_, kernels_, occupied, device_, stream_);
  }

  void launch(const Geometry& g, const Draw& draw, int tiles, cudaStream_t stream, bool overlap) {
    const bool foretold = box_moves_ && box_moves_->begun();
    const Scratch scratch{reinterpret_cast<float4*>(scratch_spheres_.data()), scratch_ids_.data(),
                          locks_.data(), scratch_parts_, most_in_tile(state_)};
    launch_kernel(plan_.kernel.run, static_cast<unsigned>(tiles),
                  static_cast<unsigned>(plan_.schedule.threads),
                  shared_bytes(state_, plan_.schedule), stream, overlap, g, law_, draw,
                  LaunchArrays{spheres_[now_].data(), counts_[now_].data(),
                               spheres_[1 - now_].data() + first_cell() * g.slots,
                               counts_[1 - now_].data() + first_cell(), moves_.data(), scratch,
                               foretold ? box_moves_->for_host() : skip_,
                               foretold ? box_moves_->scale() : nullptr, search_},
                  plan_.schedule, foretold ? box_moves_->choice() : VolumeChoice{});
  }

  // Enqueues a cycle and returns how many there are then. What the host keeps of the trial changes
  // before it follows while the device is at work; if they change more than the scale, the device
  // leaves the cycle out, and it is made now.
  std::uint64_t next_cycle() {
    const bool foretold = box_moves_ && box_moves_->begun();
    const auto before = std::make_tuple(state_.data.origin, state_.data.counters.cycles, now_);
    enqueue_cycle();
    if (foretold) {
      const auto after = std::make_tuple(state_.data.origin, state_.data.counters.cycles, now_);
      std::tie(state_.data.origin, state_.data.counters.cycles, now_) = before;
      if (end_box_move())
        std::tie(state_.data.origin, state_.data.counters.cycles, now_) = after;
      else
        enqueue_cycle();
    }
    return state_.data.counters.cycles;
  }
  void enqueue_cycle() {
    const Draw draw = draw_cycle(state_, state_.data.counters.cycles);
    look_for_pairs();
    if (state_.strip)
      cycle_of_strip(draw);
    else
      launch(state_.geometry, draw, state_.tiles(), stream_, plan_.overlap);
    now_ = 1 - now_;
    move_origin(state_, draw, state_.data.origin);
    ++state_.data.counters.cycles;
  }

  // Before trial changes of the volume the cycle itself looks for the least ratio, in fast memory;
  // but a rank does not have all pairs, and swap moves come in between.
  void look_for_pairs() {
    search_ = {};
    if (!box_moves_ || state_.strip || state_.swaps() ||
        (state_.data.counters.cycles + 1) % state_.parameters.volume_every != 0)
      return;
    search_ = box_moves_->search(state_, reference_.data());
    if (search_.reach == 0) search_ = {};
  }

  // The trial changes of the volume.
  void begin_box_move(bool cycle_follows) {
    look_at_neighbors(2);  // pairs reach no farther
    if (state_.strip) finish();
    box_moves_->begin(
        state_, reference_.data(),
        {diameters_.data(), labels_.data(), contacts_.data(), sigmas_.data(), radii_.data()},
        own_spheres(), own_counts(), search_.least != nullptr,
        cycle_follows && search_.least && state_.distances.contact == Contact::one_size, stream_);
  }
  // Waits for the decision and follows; false if the device left this to the host.
  bool end_box_move() {
    const BoxAnswer answer = box_moves_->end(stream_);
    const double to = change_volume(state_, least_of_ranks(state_, answer.least_ratio));
    const State frame = frame_of(state_);
    const Geometry& before = frame.geometry;
    if (to != state_.data.volume) set_volume(state_, to);
    volumes_.end_cycle(state_.data.counters.cycles, volume_of(state_, to));
    place_law();
    if (!answer.for_host) return true;
    if (!state_.contacts.empty()) {
      contacts_.upload(state_.contacts.data(), stream_);
      sigmas_.upload(state_.sigmas.data(), stream_);
      radii_.upload(state_.radii.data(), stream_);
    }
    if (reference_.size())
      BoxMoves::fill_diameters(reference_.data(), reference_.size(), state_.unit, diameters_.data(),
                               labels_.data(), stream_);
    if (same_cells(before, state_.geometry)) return false;
    if (state_.strip) return divide_from(frame), false;
    const std::size_t cells = state_.cells(), slots = cells * state_.geometry.slots;
    const auto make_room = [&](int k) {
      if (spheres_[k].size() < slots) spheres_[k] = DeviceBuffer<Sphere>(slots);
      if (counts_[k].size() < cells) counts_[k] = DeviceBuffer<std::uint32_t>(cells);
    };
    make_room(1 - now_);
    BoxMoves::change_cells(before, spheres_[now_].data(), counts_[now_].data(), state_.geometry,
                           spheres_[1 - now_].data(), counts_[1 - now_].data(),
                           &moves_.data()->corrupt, stream_);
    make_room(now_);
    now_ = 1 - now_;
    choose_schedule(mean_occupation());
    return false;
  }

  // After a change of the grid, from the particles in the former one. Collective.
  void divide_from(const State& frame) {
    std::vector<Sphere> spheres(spheres_[now_].size());
    std::vector<std::uint32_t> counts(counts_[now_].size());
    spheres_[now_].download(spheres.data(), stream_);
    counts_[now_].download(counts.data(), stream_);
    Snapshot mine =
        snapshot_of(frame, counters(), state_.data.origin, spheres.data(), counts.data());
    if (state_.swaps()) mine.diameters = present_diameters(mine);
    fill_diameters(state_);
    divide_this_again(std::move(mine));
  }
  void divide_this_again(Snapshot mine) {
    const Cells cells = divide_again(state_, std::move(mine));
    halo_.reset();
    upload_cells(cells);
    if (state_.swaps()) {
      reference_ = on_device(state_.parameters.diameters, stream_);
      row_diameters_ = DeviceBuffer<double>(cells.spheres.size());
    }
    upload_law();
    halo_ = std::make_unique<HaloExchange>(*state_.ranks, state_.first_row(), rows_here(), stream_);
    choose_schedule(mean_occupation());
  }
  double mean_occupation() const {
    return std::min(1.0,
                    static_cast<double>(state_.particles) / static_cast<double>(state_.cells()));
  }
  void upload_cells(const Cells& cells) {
    for (int k = 0; k < 2; ++k) {
      spheres_[k] = DeviceBuffer<Sphere>(cells.spheres.size());
      counts_[k] = DeviceBuffer<std::uint32_t>(cells.counts.size());
    }
    spheres_[now_].upload(cells.spheres.data(), stream_);
    counts_[now_].upload(cells.counts.data(), stream_);
  }

  void change_edges_here() {
    if (state_.strip) finish();
    Snapshot now = snapshot();
    for (std::size_t i = 0; i < now.diameters.size(); ++i)
      set_diameter(state_, now.index(i), now.diameters[i]);
    if (!change_edges(state_, now)) return;
    state_.data.origin = now.origin;
    if (state_.strip) return divide_this_again(std::move(now));
    upload_cells(cells_of(state_, now));
    upload_law();
    choose_schedule(mean_occupation());
  }

  void add_pairs(const Sampling& sampling, std::uint64_t* row) const override {
    const std::size_t bytes = row_size(sampling) * sizeof(std::uint32_t);
    const bool in_shared = bytes <= kSharedLimit;
    look_at_neighbors(2);  // pairs reach no farther
    const std::size_t cells = state_.row_cells() * static_cast<std::size_t>(state_.rows());
    const auto blocks =
        static_cast<unsigned>(blocks_for(cells, static_cast<std::size_t>(kHistogramThreads)));
    kernels_.histogram<<<blocks, kHistogramThreads, in_shared ? bytes : 0, stream_>>>(
        state_.local(), law_, contact_bins(state_, sampling), state_.kinds(), in_shared,
        spheres_[now_].data() + first_cell() * state_.geometry.slots,
        counts_[now_].data() + first_cell(), row);
  }

  KernelsOfLaw kernels_;
  Plan plan_;
  DeviceBuffer<Sphere> spheres_[2], scratch_spheres_;
  DeviceBuffer<std::uint32_t> counts_[2], scratch_ids_;
  DeviceBuffer<unsigned int> locks_;
  int scratch_parts_ = 0;
  Law law_{};
  DeviceBuffer<double> diameters_, contacts_;
  DeviceBuffer<Label> labels_;
  DeviceBuffer<float> sigmas_, radii_;
  std::optional<BoxMoves> box_moves_;             // at constant pressure
  PairSearch search_{};                           // of the last cycle
  DeviceBuffer<double> reference_;                // the diameters in the caller's unit
  DeviceBuffer<double> row_diameters_;            // [stored cells][slots], with swap moves on ranks
  DeviceBuffer<double> type_diameters_;           // of a host program's types
  DeviceBuffer<unsigned long long> swap_counts_;  // trials, accepted
  VolumeRows volumes_;
  DeviceBuffer<MoveCounts> moves_;
  mutable MoveCounts seen_{};  // the counts as last fetched
  HostArrays host_;
  const unsigned int* skip_ = nullptr;  // of what is enqueued, see LaunchArrays
};

}  // namespace

std::unique_ptr<Engine> make_cuda_particles(State state, int device) {
  return std::make_unique<CudaParticles>(std::move(state), device);
}

}  // namespace manymove::hard_particles
