// SPDX-License-Identifier: BSD-3-Clause
#include "insertions.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "../runtime/errors.h"
#include "grid.h"
#include "state.h"
#include "type_swaps.h"

namespace manymove::hard_particles {

void settle_insertions(State& state) {
  Parameters& p = state.parameters;
  const Parameter name{p.gibbs ? "gibbs" : "fugacity"};
  if (!state.number_changes()) return;
  const auto cannot = [&](bool is, const auto&... with) {
    if (is) refuse(name, "cannot be combined with ", with...);
  };
  cannot(state.constant_pressure(), "constant pressure");
  cannot(state.swaps(), "swap moves");
  cannot(state.distances.contact == Contact::additive,
         "diameters by particle: give types and contacts");
  cannot(!p.pinned.empty(), "pinned particles");
  for (const ExternalField& field : p.fields) {
    cannot(field.kind == FieldKind::springs, "springs, which belong to single particles");
    cannot(!field.values.empty(),
           "fields that have a strength or distance for each particle: give one for all");
  }
  cannot(p.gibbs && state.grand_canonical(), "fugacities");
  if (!state.grand_canonical()) return;
  check_fugacities(p.fugacities, state.distances.of_types.size());
  take_former_indices(state);
}

std::vector<std::uint32_t> take_former_indices(State& state) {
  std::vector<std::uint32_t> same(state.particles);
  std::iota(same.begin(), same.end(), 0u);
  return std::exchange(state.former_indices, std::move(same));
}

void check_fugacities(const std::vector<double>& fugacities, std::size_t types) {
  const Parameter name{"fugacity"};
  if (fugacities.size() != types)
    refuse(name, "must be one for each of ", types, types == 1 ? " type" : " types", ", got ",
           fugacities.size());
  for (const double z : fugacities)
    if (z != 0 && !(z > 1e-200 && z < 1e200))
      refuse(name, "must be zero, or from 1e-200 to 1e200 per volume, got ", z);
}

void fill_insertions(State& state) {
  double volume = 1;  // of a cell
  for (int a = 0; a < state.dimensions(); ++a)
    volume *= state.parameters.box[a] / state.geometry.cells[a];
  state.inserted_types.clear();
  state.insertion_logarithms.clear();
  for (std::size_t type = 0; type < state.parameters.fugacities.size(); ++type) {
    const double z = state.parameters.fugacities[type];
    if (z == 0) continue;
    state.inserted_types.push_back(static_cast<std::int32_t>(type));
    state.insertion_logarithms.push_back(logarithm(z * volume));
  }
}

InsertionRules insertion_rules(const State& state, std::uint64_t cycle) {
  return {cycle,
          swap_order(state.geometry, state.dimensions(), cycle),
          state.parameters.insertion_attempts,
          static_cast<int>(state.inserted_types.size()),
          state.inserted_types.data(),
          state.insertion_logarithms.data()};
}

NewIndices settle_changes(State& state, Changes mine) {
  auto& [c, inserted, removed] = mine;
  std::uint64_t counts[4] = {c.trials[1], c.accepted[1], c.trials[0], c.accepted[0]};
  // The places of a rank begin some rows after those of the whole grid.
  const std::uint64_t row =
      state.row_cells() * static_cast<unsigned>(state.geometry.slots) * kNewTypes;
  std::uint64_t rows = 1, first = 0;
  const auto shifted = [&](std::uint64_t place, std::uint64_t by) {
    return (place / row + by) % rows * row + place % row;
  };
  if (state.strip) {
    rows = static_cast<std::uint64_t>(state.strip->whole().cells);
    first = static_cast<std::uint64_t>(state.strip->first_row());
    for (std::uint64_t& place : inserted) place = shifted(place, first);
  }
  if (state.ranks) {
    state.ranks->sum(counts, 4);
    inserted = collect(*state.ranks, std::move(inserted));
    removed = collect(*state.ranks, std::move(removed));
  }
  state.data.insertions += {counts[0], counts[1]};
  state.data.deletions += {counts[2], counts[3]};
  const auto sort = [](auto& all) {  // those of a GPU are sorted
    if (!std::is_sorted(all.begin(), all.end())) std::sort(all.begin(), all.end());
  };
  sort(inserted);
  sort(removed);

  const std::size_t before = state.particles;
  const std::size_t after = before + inserted.size() - removed.size();
  if (after >= kFirstNew) throw std::runtime_error("there are too many particles");
  // The free indices below N, in ascending order, are for the new particles and then for those
  // whose index is too large.
  std::vector<std::uint32_t> free;
  free.reserve(removed.size() + inserted.size());
  for (const std::uint32_t id : removed)
    if (id < after) free.push_back(id);
  for (std::size_t id = before; id < after; ++id) free.push_back(static_cast<std::uint32_t>(id));
  NewIndices found;
  const auto split = static_cast<std::ptrdiff_t>(inserted.size());
  found.of_former.resize(before > after ? before - after : 0);
  std::vector<std::uint32_t>& former = state.former_indices;
  std::vector<std::int32_t>& types = state.parameters.types;
  const bool has_types = state.distances.contact == Contact::table;
  const auto resize = [&](std::size_t size) {
    former.resize(size);
    if (!has_types) return;
    types.resize(size);
    state.labels.resize(size);
  };
  const auto set = [&](std::uint32_t id, std::uint32_t its_former, std::int32_t type) {
    former[id] = its_former;
    if (has_types) state.labels[id].type = types[id] = type;
  };
  resize(std::max(before, after));
  for (std::size_t k = 0; k < inserted.size(); ++k)
    set(free[k], kNewcomer, static_cast<std::int32_t>(inserted[k] % kNewTypes));
  auto next = free.begin() + split;
  for (std::size_t id = after; id < before; ++id) {
    if (std::binary_search(removed.begin(), removed.end(), static_cast<std::uint32_t>(id)))
      continue;
    set(*next, former[id], has_types ? types[id] : 0);
    found.of_former[id - after] = *next++;
  }
  resize(after);
  state.particles = after;
  if (!state.strip) {
    found.of_inserted.assign(free.begin(), free.begin() + split);
    found.inserted = std::move(inserted);
    return found;
  }
  for (std::size_t k = 0; k < inserted.size(); ++k) {
    const std::uint64_t place = shifted(inserted[k], rows - first);
    if (place >= static_cast<std::uint64_t>(state.rows()) * row) continue;
    found.inserted.push_back(place);
    found.of_inserted.push_back(free[k]);
  }
  return found;
}

void settle_types(State& state, std::vector<TypeChange> mine) {
  if (state.ranks) mine = collect(*state.ranks, std::move(mine));
  for (const TypeChange& each : mine) {
    state.parameters.types[each.id] = each.type;
    state.labels[each.id].type = each.type;
  }
}

}  // namespace manymove::hard_particles
