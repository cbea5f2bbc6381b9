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

std::uint64_t cell_of_whole(const State& state, std::int64_t own) {
  if (!state.strip) return static_cast<std::uint64_t>(own);
  const auto row = static_cast<std::int64_t>(state.row_cells());
  const std::int64_t rows = state.strip->whole().cells;
  return static_cast<std::uint64_t>((own / row + state.strip->first_row()) % rows * row +
                                    own % row);
}

std::int64_t own_cell(const State& state, std::uint64_t of_whole) {
  const auto cell = static_cast<std::int64_t>(of_whole);
  if (!state.strip) return cell;
  const auto row = static_cast<std::int64_t>(state.row_cells());
  const std::int64_t rows = state.strip->whole().cells;
  const std::int64_t at = (cell / row - state.strip->first_row() + rows) % rows;
  return at < state.rows() ? at * row + cell % row : -1;
}

NewIndices settle_changes(State& state, Changes mine) {
  const InsertionCounts& c = mine.counts;
  std::uint64_t counts[4] = {c.insertions, c.inserted, c.deletions, c.deleted};
  NewIndices found{std::move(mine.inserted), {}, {}};
  std::vector<std::uint32_t>& removed = mine.removed;
  if (state.ranks) {
    state.ranks->sum(counts, 4);
    found.inserted = collect(*state.ranks, std::move(found.inserted));
    removed = collect(*state.ranks, std::move(removed));
  }
  state.data.insertions += {counts[0], counts[1]};
  state.data.deletions += {counts[2], counts[3]};
  const auto sort = [](auto& all, auto less) {  // those of a GPU are sorted
    if (!std::is_sorted(all.begin(), all.end(), less)) std::sort(all.begin(), all.end(), less);
  };
  sort(found.inserted, [](const Inserted& a, const Inserted& b) {
    return std::tie(a.cell, a.slot) < std::tie(b.cell, b.slot);
  });
  sort(removed, std::less{});

  const std::size_t before = state.particles;
  const std::size_t after = before + found.inserted.size() - removed.size();
  if (after >= kFirstNew) throw std::runtime_error("there are too many particles");
  // The free indices below N, in ascending order, are for the new particles and then for those
  // whose index is too large.
  std::vector<std::uint32_t> free;
  for (const std::uint32_t id : removed)
    if (id < after) free.push_back(id);
  for (std::size_t id = before; id < after; ++id) free.push_back(static_cast<std::uint32_t>(id));
  const auto split = static_cast<std::ptrdiff_t>(found.inserted.size());
  found.of_inserted.assign(free.begin(), free.begin() + split);
  found.of_former.resize(before > after ? before - after : 0);
  std::vector<std::uint32_t>& former = state.former_indices;
  former.resize(std::max(before, after));
  for (const std::uint32_t id : found.of_inserted) former[id] = kNewcomer;
  auto next = free.begin() + split;
  for (std::size_t id = after; id < before; ++id) {
    if (std::binary_search(removed.begin(), removed.end(), static_cast<std::uint32_t>(id)))
      continue;
    former[*next] = former[id];
    found.of_former[id - after] = *next++;
  }

  state.particles = after;
  former.resize(after);
  std::vector<std::int32_t>& types = state.parameters.types;
  if (state.distances.contact != Contact::table) return found;
  types.resize(std::max(before, after));
  state.labels.resize(types.size());
  const auto set = [&](std::uint32_t id, std::int32_t type) {
    types[id] = type;
    state.labels[id].type = type;
  };
  for (std::size_t k = 0; k < found.inserted.size(); ++k)
    set(found.of_inserted[k], found.inserted[k].type);
  for (auto id = static_cast<std::uint32_t>(after); id < before; ++id)
    if (!std::binary_search(removed.begin(), removed.end(), id))
      set(found.of_former[id - after], types[id]);
  types.resize(after);
  state.labels.resize(after);
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
