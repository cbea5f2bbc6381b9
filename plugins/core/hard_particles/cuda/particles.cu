// SPDX-License-Identifier: BSD-3-Clause
// The policy `Particles` on a GPU: memory, launches and transfers.
#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "../../runtime/launch.cuh"
#include "../constant_pressure/edges.h"
#include "../constant_pressure/volume.h"
#include "../external_fields.h"
#include "../grid.h"
#include "box_moves.h"
#include "insertions.h"
#include "launch_config.h"
#include "launcher.cuh"
#include "plan.cuh"
#include "swaps.h"
#include "type_swaps.h"
#include "write_particles.cuh"

namespace manymove::hard_particles {
namespace {

// Shared memory of the histogram kernels. The kernel of many systems needs some of the 48 KiB for a
// geometry.
constexpr std::size_t kSharedLimit = 47 * 1024;
constexpr unsigned kHistogramThreads = 128;

template <Contact C, bool Sums>
KernelsOfLaw kernels_of_law(const State& state) {
  KernelsOfLaw kernels = kernels_of<C, Sums>(state.dimensions());
  if (!state.parameters.fields.empty())
    static_cast<CycleKernels&>(kernels) = cycles_in_fields<C, Sums>(state.dimensions());
  return kernels;
}

KernelsOfLaw choose_kernels(const State& state) {
  if (!state.parameters.steps.empty())
    return {cycles_with_steps(state.dimensions()),
            kernels_of<Contact::table>(state.dimensions()).histogram, nullptr};
  if (!state.radii.empty()) return kernels_of_law<Contact::table, true>(state);
  return with_particles(state.dimensions(), state.distances.contact, [&](auto policy) {
    return kernels_of_law<decltype(policy)::kContact, false>(state);
  });
}

class CudaParticles final : public MemberOfGroup<CudaParticles> {
 public:
  using System = hard_particles::System;

  CudaParticles(State state, int device)
      : MemberOfGroup(std::move(state), device, 256), kernels_(choose_kernels(state_)) {
    const DeviceGuard here = use();
    const Geometry& g = state_.geometry;
    const auto first = state_.start.counts.begin() + static_cast<std::ptrdiff_t>(first_cell());
    const std::ptrdiff_t own = static_cast<std::ptrdiff_t>(state_.row_cells()) * state_.rows();
    // For tiles whose particles do not fit into shared memory, which are rare: blocks share the
    // parts by locks.
    scratch_parts_ = std::min(g.tiles[0] * g.tiles[1] * g.tiles[2], 64);
    const std::size_t scratch = static_cast<std::size_t>(scratch_parts_) * most_in_tile(state_);
    scratch_spheres_ = DeviceBuffer<Sphere>(scratch);
    scratch_ids_ = DeviceBuffer<std::uint32_t>(scratch);
    locks_ = DeviceBuffer<unsigned int>(scratch_parts_);
    locks_.clear(stream_);
    if (state_.swaps_diameters()) {
      const unsigned long long before[2] = {state_.data.swap_moves.trials,
                                            state_.data.swap_moves.accepted};
      swap_counts_ = on_device(before, 2, stream_);
    }
    if (state_.constant_pressure() && !state_.parameters.edges_apart)
      box_moves_.emplace(state_, stream_);
    if (state_.grand_canonical()) insertions_.emplace(state_, stream_);
    if (state_.swaps_types()) type_swaps_.emplace();
    upload(state_.start,
           1 - static_cast<double>(std::count(first, first + own, 0u)) / static_cast<double>(own));
    state_.start = {};
  }
  ~CudaParticles() override { end_exchange(); }

  // The cycle's kernel is the one that suits the tiles of all.
  static KernelsOfSystems<System> kernels_for(const std::vector<const CudaParticles*>& engines) {
    int tiles = 0;
    for (const CudaParticles* const each : engines) tiles += each->state_.tiles();
    const KernelsOfLaw& law = engines.front()->kernels_;
    // Where each tile has a multiprocessor of its own, more threads visit a cell together.
    const CycleKernel& kernel = tiles > multiprocessors() ? law.many_tiles : law.few_tiles;
    KernelsOfSystems<System> kernels{};
    auto& [rescale, cycle, swap, histogram, search] = kernels;
    histogram = {law.histogram_of_systems, 0, kHistogramThreads, 0};
    swap.threads = kSwapThreads;
    search.threads = rescale.threads = BoxMoves::kThreads;
    int threads = 0;
    for (const CudaParticles* const each : engines) {
      const State& state = each->state_;
      threads = std::max(threads, threads_of_block(state, kernel, each->plan_.occupied));
      histogram.make_room(blocks_for(state.cells(), kHistogramThreads),
                          each->histogram_bytes(each->sampling_));
      if (state.swaps()) {
        swap.run = swaps_of_systems(state.dimensions());
        swap.make_room(state.tiles(), swap_bytes(state, swap_capacity(state)));
      }
      if (!each->box_moves_) continue;
      search.run = BoxMoves::search_of_systems(state.dimensions(), state.distances.contact);
      search.make_room(blocks_for(state.cells() * BoxMoves::kLanes, search.threads));
      const std::size_t lengths = each->box_moves_->rescaling(state, each->tables()).count;
      if (lengths) rescale.run = BoxMoves::rescale_of_systems();
      rescale.make_room(blocks_for(lengths, rescale.threads));
    }
    cycle = {kernel.run_systems, 0, static_cast<unsigned>(threads), 0};
    for (const CudaParticles* const each : engines) {
      const LaunchConfig config{each->plan_.capacity_in_group, kernel.list, kernel.moves, threads,
                                nullptr};
      cycle.make_room(each->state_.tiles(), shared_bytes(each->state_, config));
    }
    return kernels;
  }

  void write_positions(const HostParticles& host) override {
    check_alone();
    const DeviceGuard here = use();
    host_.prepare_to_write();
    HostWork work = host_.writing(state_, host, nullptr);
    work.frame = frame_here();
    const auto kernel = host.double_precision ? &write_kernel<double> : &write_kernel<float>;
    kernel<<<host_blocks(state_.cells()), kHostThreads, 0, stream_>>>(
        state_.geometry, work, spheres_[now_].data(), counts_[now_].data(), skip_);
    check_launch();
  }

  void hand_over(const HandOverWork& work, cudaStream_t stream) const override {
    const DeviceGuard here = use();
    const bool inner = work.part == Part::inner;
    const auto kernel = work.held.arrays.double_precision
                            ? (inner ? &hand_over_kernel<double, Part::inner>
                                     : &hand_over_kernel<double, Part::border>)
                            : (inner ? &hand_over_kernel<float, Part::inner>
                                     : &hand_over_kernel<float, Part::border>);
    const std::size_t cells = state_.row_cells() * static_cast<std::size_t>(state_.rows());
    kernel<<<host_blocks(blocks_for(cells, std::size_t{kHandedOver})), kHostThreads, 0, stream>>>(
        state_.local(), static_cast<std::int64_t>(first_cell()), static_cast<std::int64_t>(cells),
        OwnRows(state_), frame_here(), work, spheres_[now_].data(), counts_[now_].data());
    check_launch();
  }

  void set_fugacities(const std::vector<double>& fugacities) override {
    if (fugacities == state_.parameters.fugacities) return;
    const DeviceGuard here = use();
    CudaEngine::set_fugacities(fugacities);
    insertions_->upload(state_, stream_);
  }

  void set_type_diameters(const std::vector<double>& diameters) override {
    const DeviceGuard here = use();
    state_.type_diameters = diameters;
    DeviceBuffer<double> on_this = on_device(diameters, stream_);
    type_diameters_.swap(on_this);
  }

 private:
  friend MemberOfGroup;

  // What the host decides or counts is not undone.
  bool can_undo(const HostParticles&) const override {
    return !in_group() && !state_.constant_pressure() && !state_.swaps() && !insertions_;
  }
  // Without a positive answer the cycles and the writing do nothing.
  void enqueue_and_ask(std::uint64_t cycles, const HostParticles& host) override {
    host_.compare(state_, host, false);
    // The answer stays on the device: cycles are enqueued before the host knows it.
    decide_kernel<<<1, 1, 0, stream_>>>(host_.last_comparison(), differs_.data());
    skip_ = differs_.data();
    enqueue(cycles);
    write_positions(host);
    skip_ = nullptr;
  }

  // Systems whose box changes, which wait for the host more often, launch with one another.
  const void* kernel() const {
    const CycleKernel& kernel = changes_box() ? kernels_.few_tiles : kernels_.many_tiles;
    return reinterpret_cast<const void*>(kernel.run);
  }
  System system() {
    const int next = 1 - now_;
    System all{state_.geometry,
               law_,
               {spheres_[now_].data(), spheres_[next].data()},
               {counts_[now_].data(), counts_[next].data()},
               moves_.data(),
               scratch(),
               plan_.capacity_in_group,
               state_.tiles(),
               0,
               sampling_.every ? histograms(sampling_) : Histograms{}};
    if (std::exchange(rescales_, false)) all.rescaling = box_moves_->rescaling(state_, tables());
    if (state_.swaps_diameters()) {
      const DeviceGuard here = use();
      all.swap_every = static_cast<int>(state_.parameters.swap_every);
      all.rules = swap_rules(state_, 0);
      all.tables = tables();
      all.swap_counts = swap_counts_.data();
      all.swap_capacity = swap_capacity(state_);
    }
    return all;
  }
  void search(System& all) const {
    if (box_moves_) all.search = box_moves_->search_of_all(state_, tables());
  }
  void change_box(bool cycles_follow) {
    if (!box_moves_) {
      change_edges_of_box();
      record_volume();
      return;
    }
    const Geometry before = state_.geometry;
    follow_volume(change_volume(state_, box_moves_->least_ratio()));
    rescales_ = cycles_follow;
    if (!rescales_) BoxMoves::rescale(box_moves_->rescaling(state_, tables()), nullptr, stream_);
    if (!same_cells(before, state_.geometry)) change_cells(before);
  }

  void make_cycles(std::uint64_t cycles) {
    pending_ += cycles;
    for (std::uint64_t i = 0; i < cycles; ++i) {
      const std::uint64_t cycle = next_cycle();
      if (state_.swaps_diameters() && cycle % state_.parameters.swap_every == 0) {
        fetch_neighbors({1, 0, 0, 1});
        swap_diameters(state_, swap_rules(state_, cycle), own_spheres(), own_counts(), tables(),
                       swap_counts_.data(), stream_);
      }
      if (type_swaps_ && cycle % state_.parameters.swap_every == 0) change_particles(*type_swaps_);
      if (insertions_ && state_.inserts_after(cycle)) change_particles(*insertions_);
      if (box_moves_ && cycle % state_.parameters.volume_every == 0) {
        // Only the next cycle of an undivided system can do without the answer.
        // A reader of the state needs its box; otherwise the next cycle chooses among the
        // outcomes by itself.
        const bool now = i + 1 == cycles || wants_sample(cycle) || state_.strip ||
                         !state_.parameters.steps.empty();
        begin_box_move(!now);
        if (now) end_box_move();
      } else {
        if (state_.constant_pressure() && cycle % state_.parameters.volume_every == 0) {
          if (state_.strip) finish();
          change_edges_of_box();
        }
        record_volume();
      }
      end_cycle();
    }
    check_launch();
  }
  // Insertions and deletions, or swap moves of types.
  void change_particles(auto& moves) {
    fetch_neighbors({1, 0, 0, 1});
    if (state_.strip) finish();
    moves.make(state_, law_, fields_here(), own_spheres(), own_counts(), labels_, stream_);
    place_law();
  }
  TrialCounters own_swaps() const override {
    if (!state_.swaps_diameters()) return state_.data.swap_moves;
    const DeviceGuard here = use();
    const auto counts = swap_counts_.values(stream_);
    return {counts[0], counts[1]};
  }
  // After a change of the box there may be more room than cells.
  Cells present_cells() const override {
    const DeviceGuard here = use();
    return {spheres_[now_].values(stream_), counts_[now_].values(stream_)};
  }
  std::vector<double> present_diameters() const override {
    const DeviceGuard here = use();
    return reference_.values(stream_);
  }

  Frame frame_here() const {
    Frame frame = host_frame(state_);
    frame.of_types = type_diameters_.data();
    frame.of_particles = reference_.data();
    return frame;
  }
  std::size_t first_slot() const { return first_cell() * state_.geometry.slots; }
  Sphere* own_spheres() const { return spheres_[now_].data() + first_slot(); }
  std::uint32_t* own_counts() const { return counts_[now_].data() + first_cell(); }
  LawTables tables() const {
    return {reference_.data(), diameters_.data(), labels_.data(),
            contacts_.data(),  sigmas_.data(),    radii_.data()};
  }
  // ---- several ranks (distributed/halo_exchange.cuh) ----
  RowArrays rows_here() const override {
    const std::size_t cells = state_.row_cells();
    const std::size_t slots = cells * state_.geometry.slots;
    return {{{spheres_[now_].data(), slots * sizeof(Sphere)},
             {counts_[now_].data(), cells * sizeof(std::uint32_t)},
             {row_diameters_.data(), state_.swaps_diameters() ? slots * sizeof(double) : 0}}};
  }
  void exchange_row_diameters(bool take, int first, int rows, cudaStream_t stream) const {
    if (!state_.swaps_diameters()) return;
    const StoredCells all{spheres_[now_].data(), counts_[now_].data(), row_diameters_.data(),
                          state_.geometry.slots};
    exchange_diameters(take, all.from(static_cast<std::size_t>(first) * state_.row_cells()),
                       rows * state_.row_cells(), state_.unit, tables(), stream);
  }
  // With the diameters of their particles.
  void collect(const HaloRows& c, int rows) const override {
    const int first = state_.first_row();
    exchange_row_diameters(false, first, c.to_below, stream_);
    exchange_row_diameters(false, first + rows - c.to_above, c.to_above, stream_);
    CudaEngine::collect(c, rows);
  }
  void exchange(const HaloRows& c, int rows) const override {
    CudaEngine::exchange(c, rows);
    const int first = state_.first_row();
    exchange_row_diameters(true, first - c.from_below, c.from_below, halo_->stream());
    exchange_row_diameters(true, first + rows, c.from_above, halo_->stream());
  }
  void launch_tiles(const Draw& local, int first_tile, int tiles, cudaStream_t stream) override {
    Geometry g = state_.local();
    g.part.first_tile = first_tile;
    launch(g, local, tiles, stream, false);
  }

  // Puts cells, the tables of the law and what follows from the grid on the device. occupied: the
  // share of cells that are not empty.
  void upload(const Cells& cells, double occupied) {
    halo_.reset();
    for (int k = 0; k < 2; ++k) {
      spheres_[k] = DeviceBuffer<Sphere>(cells.spheres.size());
      counts_[k] = DeviceBuffer<std::uint32_t>(cells.counts.size());
    }
    // The other array is written whole by the next cycle.
    spheres_[now_].upload(cells.spheres.data(), stream_);
    counts_[now_].upload(cells.counts.data(), stream_);
    if (state_.swaps() || state_.constant_pressure())
      reference_ = on_device(state_.parameters.diameters, stream_);
    if (state_.strip && state_.swaps_diameters())
      row_diameters_ = DeviceBuffer<double>(cells.spheres.size());
    upload_law();
    begin_exchange();
    plan_ = plan_of(state_, kernels_, occupied, stream_);
  }
  void adopt(const Cells& cells) override {
    const DeviceGuard here = use();
    upload(cells, mean_occupation());
  }
  void upload_law() {
    diameters_ = on_device(state_.diameters, stream_);
    labels_ = on_device(state_.labels, stream_);
    contacts_ = on_device(state_.contacts, stream_);
    sigmas_ = on_device(state_.sigmas, stream_);
    radii_ = on_device(state_.radii, stream_);
    pinned_ = on_device(state_.parameters.pinned, stream_);
    values_.clear();
    points_.clear();
    for (const ExternalField& field : state_.parameters.fields) {
      values_.push_back(on_device(field.values, stream_));
      points_.push_back(on_device(field.points, stream_));
    }
    steps_.upload(state_, stream_);
    place_law();
  }
  void place_law() {
    const LawTables t = tables();
    law_ = law_of(state_);
    law_.diameters = t.diameters;
    law_.labels = t.labels;
    law_.contacts = t.contacts;
    law_.sigmas = t.sigmas;
    law_.radii = t.radii;
    if (law_.pinned) law_.pinned = pinned_.data();
  }

  // The fields with the grid of the cycle that has begun.
  FieldView fields_here() const {
    FieldView view = field_view(state_);
    for (std::size_t k = 0; k < values_.size(); ++k) {
      FieldTerm& term = view.terms[k];
      if (term.values) term.values = values_[k].data();
      term.points = points_[k].data();
    }
    view.steps = steps_.view(state_);
    return view;
  }

  Scratch scratch() const {
    return {reinterpret_cast<float4*>(scratch_spheres_.data()), scratch_ids_.data(), locks_.data(),
            scratch_parts_, most_in_tile(state_)};
  }
  void launch(const Geometry& g, const Draw& draw, int tiles, cudaStream_t stream, bool overlap) {
    const bool foretold = box_moves_ && box_moves_->begun();
    const LaunchArrays arrays{spheres_[now_].data(),
                              counts_[now_].data(),
                              spheres_[1 - now_].data() + first_cell() * g.slots,
                              counts_[1 - now_].data() + first_cell(),
                              moves_.data(),
                              scratch(),
                              foretold ? box_moves_->for_host() : skip_,
                              foretold ? box_moves_->scale() : nullptr,
                              search_};
    const auto launch = [&](auto* run, const auto& last) {
      launch_kernel(run, static_cast<unsigned>(tiles), static_cast<unsigned>(plan_.config.threads),
                    shared_bytes(state_, plan_.config), stream, overlap, g, law_, draw, arrays,
                    plan_.config, last);
    };
    if (plan_.kernel.run_in_fields)
      launch(plan_.kernel.run_in_fields, fields_here());
    else
      launch(plan_.kernel.run, foretold ? box_moves_->choice() : VolumeChoice{});
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
      // The trial changes belong to the time before the cycle that has been enqueued.
      std::tie(state_.data.origin, state_.data.counters.cycles, now_) = before;
      if (end_box_move())
        std::tie(state_.data.origin, state_.data.counters.cycles, now_) = after;
      else
        enqueue_cycle();
    }
    return state_.data.counters.cycles;
  }
  void enqueue_cycle() {
    const Draw draw = begin_cycle();
    look_for_pairs();
    if (state_.strip)
      cycle_of_strip(draw);
    else
      launch(state_.geometry, draw, state_.tiles(), stream_, plan_.overlap);
    now_ = 1 - now_;
  }

  // Before trial changes of the volume the cycle itself looks for the least ratio, in fast memory;
  // but a rank does not have all pairs, and swap moves come in between.
  void look_for_pairs() {
    search_ = {};
    if (!box_moves_ || state_.strip || state_.swaps() || !state_.parameters.steps.empty() ||
        state_.data.counters.cycles % state_.parameters.volume_every != 0)
      return;
    // With the reach within which a pair may decide about these trials.
    search_ = box_moves_->search(state_, reference_.data());
    if (search_.reach == 0) search_ = {};
  }

  // The trial changes of the volume.
  void begin_box_move(bool cycle_follows) {
    fetch_neighbors({2, 0, 0, 2});  // pairs reach no farther
    if (state_.strip) finish();
    box_moves_->begin(
        state_, tables(), own_spheres(), own_counts(), search_.least != nullptr,
        cycle_follows && search_.least && state_.distances.contact == Contact::one_size, stream_);
  }
  // Waits for the decision and follows; false if the device left this to the host.
  bool end_box_move() {
    const BoxAnswer answer = box_moves_->end(stream_);
    std::vector<Crossing> crossings;
    if (!state_.parameters.steps.empty()) {
      crossings =
          crossings_of_ranks(state_, box_moves_->crossings(state_, law_, steps_.view(state_),
                                                           own_spheres(), own_counts(), stream_));
    }
    // The host repeats the device's choice from the same ratio and the same random numbers.
    const double to = change_volume(state_, least_of_ranks(state_, answer.least_ratio), crossings);
    const State frame = frame_of(state_);
    follow_volume(to);
    if (!answer.for_host) return true;
    BoxMoves::rescale(box_moves_->rescaling(state_, tables()), nullptr, stream_);
    if (same_cells(frame.geometry, state_.geometry)) return false;
    if (state_.strip) {
      const Cells former = present_cells();
      fill_diameters(state_);
      return follow_grid(placed(frame, former)), false;
    }
    change_cells(frame.geometry);
    return false;
  }
  void follow_volume(double to) {
    if (to != state_.data.volume) {
      set_volume(state_, to);
      if (!state_.parameters.steps.empty()) steps_.upload(state_, stream_);
    }
    record_volume();
    place_law();
  }
  void change_cells(const Geometry& before) {
    const std::size_t cells = state_.cells(), slots = cells * state_.geometry.slots;
    const auto make_room = [&](int k) {
      if (spheres_[k].size() < slots) spheres_[k] = DeviceBuffer<Sphere>(slots);
      if (counts_[k].size() < cells) counts_[k] = DeviceBuffer<std::uint32_t>(cells);
    };
    // First the array that is written: the present one is read until the kernel has ended.
    make_room(1 - now_);
    BoxMoves::change_cells(before, spheres_[now_].data(), counts_[now_].data(), state_.geometry,
                           spheres_[1 - now_].data(), counts_[1 - now_].data(),
                           &moves_.data()->corrupt, stream_);
    make_room(now_);
    now_ = 1 - now_;
    plan_ = plan_of(state_, kernels_, mean_occupation(), stream_);
  }

  double mean_occupation() const {
    return std::min(1.0,
                    static_cast<double>(state_.particles) / static_cast<double>(state_.cells()));
  }
  // A block's histograms in shared memory; 0 if they do not fit there.
  std::size_t histogram_bytes(const Sampling& sampling) const {
    const std::size_t bytes = row_size(sampling) * sizeof(std::uint32_t);
    return bytes <= kSharedLimit ? bytes : 0;
  }
  Histograms histograms(const Sampling& sampling) const {
    return {contact_bins(state_, sampling), steps_.view(state_), state_.histograms(),
            histogram_bytes(sampling) > 0};
  }
  void add_pairs(const Sampling& sampling, std::uint64_t* row) const override {
    const std::size_t bytes = histogram_bytes(sampling);
    fetch_neighbors({2, 0, 0, 2});  // pairs reach no farther
    const std::size_t cells = state_.row_cells() * static_cast<std::size_t>(state_.rows());
    kernels_.histogram<<<blocks_for(cells, kHistogramThreads), kHistogramThreads, bytes, stream_>>>(
        state_.local(), law_, histograms(sampling), own_spheres(), own_counts(), row);
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
  DeviceBuffer<std::uint8_t> pinned_;
  std::vector<DeviceBuffer<double>> values_, points_;  // of each field
  DeviceSteps steps_;
  std::optional<BoxMoves> box_moves_;  // at constant pressure
  std::optional<CudaInsertions> insertions_;
  std::optional<CudaTypeSwaps> type_swaps_;
  bool rescales_ = false;                         // before the next cycle, in a group
  PairSearch search_{};                           // of the last cycle
  DeviceBuffer<double> reference_;                // the diameters in the caller's unit
  DeviceBuffer<double> row_diameters_;            // [stored cells][slots], with swap moves on ranks
  DeviceBuffer<double> type_diameters_;           // of a host program's types
  DeviceBuffer<unsigned long long> swap_counts_;  // trials, accepted
  DeviceBuffer<unsigned int> differs_{1};         // written by decide_kernel()
  const unsigned int* skip_ = nullptr;            // of what is enqueued, see LaunchArrays
  BetweenCalls between_calls_{*this};
};

}  // namespace

std::unique_ptr<Engine> make_cuda_particles(State state, int device) {
  return std::make_unique<CudaParticles>(std::move(state), device);
}

}  // namespace manymove::hard_particles
