// SPDX-License-Identifier: BSD-3-Clause
#include "state_engine.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "cells_of_disks.h"
#include "constant_pressure/edges.h"
#include "constant_pressure/volume.h"
#include "external_fields.h"
#include "insertions.h"

namespace manymove::hard_particles {

StateEngine::StateEngine(State state)
    : state_(std::move(state)),
      start_(state_.data.counters),
      start_swaps_(state_.data.swap_moves),
      total_(start_),
      total_swaps_(start_swaps_) {}

void StateEngine::check_alone() const {
  if (state_.ranks)
    throw std::logic_error("an engine of several ranks does not move a host program's particles");
}

void StateEngine::start(std::uint64_t cycles) {
  on_all([&] { advance(cycles); });
}

void StateEngine::enqueue(std::uint64_t cycles) {
  on_all([&] {
    advance(cycles);
    if (!state_.ranks) return;
    auto rows = ended_rows();
    sum_over_ranks(rows.data(), rows.size());
    rows_.add(rows);
    const Counters own = own_counters();
    const TrialCounters swaps = own_swaps();
    // What each rank has added since the start: all ranks began with the counters of the whole box.
    std::uint64_t sums[4] = {
        own.trial_moves - start_.trial_moves, own.accepted_moves - start_.accepted_moves,
        swaps.trials - start_swaps_.trials, swaps.accepted - start_swaps_.accepted};
    sum_over_ranks(sums, 4);
    total_ = {own.cycles, start_.trial_moves + sums[0], start_.accepted_moves + sums[1]};
    total_swaps_ = {start_swaps_.trials + sums[2], start_swaps_.accepted + sums[3]};
  });
}

void StateEngine::set_fugacities(const std::vector<double>& fugacities) {
  if (!state_.grand_canonical()) throw std::logic_error("this engine was made without fugacities");
  check_fugacities(fugacities, state_.parameters.fugacities.size());
  state_.parameters.fugacities = fugacities;
  fill_insertions(state_);
}

std::vector<std::uint32_t> StateEngine::take_former_indices() {
  return manymove::hard_particles::take_former_indices(state_);
}

// ---- rows ----

void StateEngine::end_cycle() {
  // The sample first, because it belongs to the row that may end with this cycle.
  if (wants_sample(state_.data.counters.cycles)) add_sample();
  if (row_ends()) end_row_of_cycle();
}

void StateEngine::set_sampling(const Sampling& sampling) {
  sampling_ = sampling;
  rows_.begin(sampling.record, sampling.every, state_.data.counters.cycles);
  begin_rows(row_size(sampling));
}

std::vector<std::uint64_t> StateEngine::take_rows(std::vector<std::uint64_t>& cycles) {
  rows_.add(ended_rows());  // none on ranks, which have shared theirs
  return rows_.take(cycles);
}

std::vector<std::uint64_t> StateEngine::contact_histogram(double bin_width, int bins) const {
  return on_all([&] {
    auto counts = histogram({bin_width, bins, 0, 0});
    sum_over_ranks(counts.data(), counts.size());
    return counts;
  });
}

void StateEngine::set_volume_sampling(std::uint64_t record) {
  volumes_.begin(record, 1, state_.data.counters.cycles);
  volume_sums_ = {};
  volume_samples_ = 0;
}

void StateEngine::record_volume() {
  if (!volumes_.recorded()) return;
  const std::uint64_t cycle = state_.data.counters.cycles;
  const double volume = state_.grand_canonical() ? static_cast<double>(state_.particles)
                                                 : volume_of(state_, state_.data.volume);
  ++volume_samples_;
  // Sums over the samples of the row, of which the row has the means.
  volume_sums_[0] += volume;
  volume_sums_[1] += volume * volume;
  // V, V^2 and 1 / V: the mean volume, its fluctuations and the mean density N <1 / V>.
  volume_sums_[2] += volume > 0 ? 1 / volume : 0;  // there may be no particles
  if (!volumes_.ends_with(cycle)) return;
  for (double& sum : volume_sums_) sum /= static_cast<double>(volume_samples_);
  if (volumes_.end(cycle)) volumes_.add(volume_sums_);
  volume_sums_ = {};
  volume_samples_ = 0;
}

// ---- changes of the grid ----

void StateEngine::follow_grid(Snapshot now) {
  adopt(state_.ranks ? divide_again(state_, std::move(now)) : cells_of(state_, now));
}

void StateEngine::change_edges_of_box() {
  Snapshot now = placed();
  for (std::size_t i = 0; i < now.diameters.size(); ++i)
    set_diameter(state_, now.index(i), now.diameters[i]);
  if (!change_edges(state_, now)) return;
  state_.data.origin = now.origin;
  follow_grid(std::move(now));
}

// ---- particles ----

Snapshot StateEngine::placed(const State& frame, const Cells& cells) const {
  Snapshot data = snapshot_of(frame, cells);
  if (!state_.swaps_diameters()) return data;
  const std::vector<double> all = present_diameters();
  for (std::size_t i = 0; i < data.places.size() / state_.dimensions(); ++i)
    data.diameters.push_back(all[data.index(i)]);
  return data;
}

std::vector<ParticlePosition> StateEngine::own_positions() const {
  return on_all([&] { return particle_positions(state_, placed()); });
}

void StateEngine::positions(double* coordinates) const {
  const auto D = static_cast<std::size_t>(state_.dimensions());
  on_all([&] {
    auto all = particle_positions(state_, placed());
    if (state_.ranks) all = collect(*state_.ranks, std::move(all));
    for (const ParticlePosition& each : all)
      std::copy_n(each.r.begin(), D, coordinates + D * each.particle);
  });
}

std::vector<double> StateEngine::diameters_of_all(const Snapshot& mine) const {
  if (!state_.ranks) return mine.diameters;
  if (!state_.swaps_diameters()) return {};
  const auto indices = collect(*state_.ranks, mine.indices);
  const auto diameters = collect(*state_.ranks, mine.diameters);
  std::vector<double> all(state_.particles);
  for (std::size_t i = 0; i < indices.size(); ++i) all[indices[i]] = diameters[i];
  return all;
}

std::vector<double> StateEngine::field_energies() const {
  std::vector<double> r(state_.particles * static_cast<std::size_t>(state_.dimensions()));
  positions(r.data());
  return energies_at(state_, r.data());
}

std::vector<double> StateEngine::step_energies() const {
  std::vector<double> r(state_.particles * static_cast<std::size_t>(state_.dimensions()));
  positions(r.data());
  return step_energies_at(state_, r.data());
}

std::vector<double> StateEngine::diameters() const {
  return on_all([&] { return diameters_of_all(placed()); });
}

std::array<double, 2> StateEngine::bond_order(double reach) const {
  return on_all([&] {
    // psi_6 = sum_k psi_6(k) / N, each rank with its part of the sum.
    std::array<double, 2> psi{};
    for (const auto& sum :
         bond_order_sums(static_cast<float>(reach * reach / (state_.unit * state_.unit))))
      for (std::size_t k = 0; k < 2; ++k) psi[k] += sum[k];
    // Before the sum over ranks, so that each rank divides what it has.
    for (double& each : psi) each /= static_cast<double>(state_.particles);
    sum_over_ranks(psi.data(), psi.size());
    return psi;
  });
}

double StateEngine::max_overlap() const {
  std::vector<double> r(state_.particles * static_cast<std::size_t>(state_.dimensions()));
  positions(r.data());
  State present = state_;
  if (state_.swaps_diameters()) present.parameters.diameters = diameters();
  return std::max(0.0, 1 - closest_pair(present, r.data()).ratio);
}

std::uint64_t StateEngine::state_hash() const {
  return on_all([&] {
    Snapshot all = placed();
    std::uint64_t sums[2] = {sum_over_particles(state_, all),
                             all.places.size() / static_cast<std::size_t>(state_.dimensions())};
    sum_over_ranks(sums, 2);
    if (sums[1] != state_.particles)
      throw std::runtime_error("a particle is lost: the state is corrupt");
    all.diameters = diameters_of_all(all);
    all.counters = counters();
    all.swap_moves = swap_counters();
    return hash_of(state_, sums[0], all);
  });
}

Snapshot StateEngine::snapshot() const {
  return on_all([&] {
    const bool disks = state_.equal_disks();
    Snapshot data = state_.ranks ? particles_of_all(state_, placed())
                    : disks      ? disks_of_cells(state_, present_cells())
                                 : placed();
    if (state_.ranks && disks) {
      State whole = frame_of(state_);
      whole.strip.reset();
      // The cells and slots that one rank would have, so that checkpoints do not depend on the
      // ranks.
      if (state_.ranks->rank() == 0) data = disks_of_cells(whole, cells_of(whole, data));
      data.equal_disks = true;
    }
    data.counters = counters();
    data.swap_moves = swap_counters();
    return data;
  });
}

}  // namespace manymove::hard_particles
