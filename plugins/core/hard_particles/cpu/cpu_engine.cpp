// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_engine.h"

#include <atomic>

namespace manymove::hard_particles {

void CpuEngine::advance(std::uint64_t cycles) {
  Counters& all = state_.data.counters;
  for (std::uint64_t i = 0; i < cycles; ++i) {
    const Draw draw = draw_cycle(state_, all.cycles);
    if (state_.strip) {  // it moves with the grid
      const int rows = state_.rows();
      const HaloRows halo = advance_strip(state_, draw);
      local_ = state_.local();
      exchange_rows(halo, rows);
    }
    const Draw local = local_draw(state_, draw);
    // Coordinates are those in the shifted grid; its origin says where that is.
    move_origin(state_, draw);
    const std::size_t first = first_cell();
    // Tiles read the cells of the last cycle and write those of the next one, which are shifted:
    // own rows only, without the margins.
    const CycleArrays arrays{now_.spheres.data(), now_.counts.data(),
                             spare_.spheres.data() + first * state_.geometry.slots,
                             spare_.counts.data() + first, fields()};
    for (Worker& worker : workers_) worker.moves = {};
    loop_.run(pool_, state_.tiles(), [&](int item, int thread) {
      const bool flat = state_.dimensions() == 2;
      const int tile = flat ? tile_of<2>(local_, item) : tile_of<3>(local_, item);
      run_tile(local, tile, flat ? tile_bounds<2>(local_, tile) : tile_bounds<3>(local_, tile),
               arrays, thread);
    });
    // The cycle has read one array and written the other (Algorithm 4 of the paper: the shift takes
    // place on the way).
    std::swap(now_, spare_);
    ++all.cycles;
    for (const Worker& worker : workers_) {
      all.trial_moves += worker.moves.trial_moves;
      all.accepted_moves += worker.moves.accepted_moves;
      if (worker.moves.corrupt)
        throw std::runtime_error(
            text_of("a cell holds more ", state_.noun(), "s than fit: the state is corrupt"));
    }
    change_between_cycles();
    end_cycle();
  }
}

void CpuEngine::adopt(const Cells& cells) {
  now_ = cells;
  spare_.spheres.resize(now_.spheres.size());
  spare_.counts.resize(now_.counts.size());
  local_ = state_.local();
  if (state_.strip && state_.swaps_diameters()) row_diameters_.resize(now_.spheres.size());
}

void CpuEngine::add_pairs(const Sampling& sampling, std::vector<std::uint64_t>& row) const {
  // Each thread counts for itself; the order of a sum of integers does not matter.
  // 32 bits suffice for the pairs of one sample.
  for (Worker& worker : workers_) worker.bins.assign(row.size(), 0);
  fetch_neighbors({2, 2, 2, 2});
  const ContactBins bins = contact_bins(state_, sampling);
  const Law law = law_of(state_);
  const StepView steps = step_view(state_);
  with_particles(state_.dimensions(), state_.distances.contact, [&](auto policy) {
    using P = decltype(policy);
    for_cells([&](const int cell[3], std::size_t at, int thread) {
      std::vector<std::uint32_t>& counts = workers_[static_cast<std::size_t>(thread)].bins;
      for (int slot = 0; slot < static_cast<int>(now_.counts[at]); ++slot)
        for_pairs<P::kDimensions>(
            local_, now_.spheres.data(), now_.counts.data(), bins.range, cell, slot,
            [&](std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
              const int bin = contact_bin<P::kContact>(law, bins, i, j, dx, dy, dz);
              if (bin >= 0) ++counts[static_cast<std::size_t>(bin)];
              if constexpr (P::kContact == Contact::table) {
                const float d[3] = {dx, dy, dz};
                step_bins(steps, law, bins, i, j, d,
                          [&](int place) { ++counts[static_cast<std::size_t>(place)]; });
              }
            });
    });
  });
  for (const Worker& worker : workers_)
    std::transform(worker.bins.begin(), worker.bins.end(), row.begin(), row.begin(), std::plus<>());
}

// ---- ranks ----

void CpuEngine::for_particles(int first_row, int rows, auto&& task) const {
  const std::size_t first = static_cast<std::size_t>(first_row) * state_.row_cells(),
                    end = first + static_cast<std::size_t>(rows) * state_.row_cells();
  for (std::size_t at = first; at < end; ++at)
    for (std::uint32_t s = 0; s < now_.counts[at]; ++s) {
      const std::size_t slot = at * static_cast<std::size_t>(state_.geometry.slots) + s;
      task(slot, now_.spheres[slot].id);
    }
}

void CpuEngine::exchange_rows(const HaloRows& halo, int rows) const {
  const std::size_t cells = state_.row_cells(), slots = cells * state_.geometry.slots;
  const int first = state_.first_row();
  if (state_.swaps_diameters()) {
    // With swap moves a particle's diameter travels with it, because swaps change it on one rank.
    const auto pack = [&](std::size_t slot, std::uint32_t id) {
      row_diameters_[slot] = state_.parameters.diameters[id];
    };
    for_particles(first, halo.to_below, pack);
    for_particles(first + rows - halo.to_above, halo.to_above, pack);
  }
  exchange_halo(*state_.ranks, halo, first, rows,
                {{{now_.spheres.data(), slots * sizeof(Sphere)},
                  {now_.counts.data(), cells * sizeof(std::uint32_t)},
                  {row_diameters_.data(), state_.swaps_diameters() ? slots * sizeof(double) : 0}}},
                messages_);
  if (state_.swaps_diameters()) {
    const auto take = [&](std::size_t slot, std::uint32_t id) {
      set_diameter(state_, id, row_diameters_[slot]);
    };
    for_particles(first - halo.from_below, halo.from_below, take);
    for_particles(first + rows, halo.from_above, take);
  }
}

// ---- a host program's particles ----

void CpuEngine::write_positions(const HostParticles& host) {
  check_alone();
  const Frame frame = host_frame(state_);
  const auto write = [&](auto zero) {
    for (Worker& worker : workers_) worker.trace = 0;
    for_cells([&](const int cell[3], std::size_t at, int thread) {
      for (std::uint32_t slot = 0; slot < now_.counts[at]; ++slot)
        workers_[thread].trace += write_host_particle<decltype(zero)>(
            local_, frame, cell, now_.spheres[at * local_.slots + slot], host);
    });
  };
  host.double_precision ? write(0.0) : write(0.0f);
  // The trace by which the host's positions are known again.
  written_ = 0;
  for (const Worker& worker : workers_) written_ += worker.trace;
}

std::uint64_t CpuEngine::trace(const HostParticles& host) const {
  check_alone();
  std::atomic<std::uint64_t> sum{0};
  const auto add = [&](auto zero) {
    const auto* const position = static_cast<const HostPosition<decltype(zero)>*>(host.position);
    for_each_range(pool_, static_cast<int>(state_.particles), [&](int first, int last) {
      std::uint64_t part = 0;
      for (int i = first; i < last; ++i)
        part += trace_of(host.tag[i], position[i], !state_.equal_disks());
      sum += part;
    });
  };
  host.double_precision ? add(0.0) : add(0.0f);
  return sum;
}

}  // namespace manymove::hard_particles
