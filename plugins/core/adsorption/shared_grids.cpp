// SPDX-License-Identifier: BSD-3-Clause
// Grids that engines of this process share: those of the points of an isotherm, or of replicas.
#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "state.h"

namespace manymove::adsorption {
namespace {

// All that a grid follows from, as bytes.
std::string key_of(const State& s) {
  const Parameters& p = s.parameters;
  std::string key;
  const auto add = [&](const auto&... values) {
    (key.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  };
  const auto add_all = [&](const auto& values) {
    add(std::size(values));
    for (const auto& value : values) add(value);
  };
  add(s.molecules(), s.types(), s.felt_charges);
  add_all(p.framework.cell);
  add_all(p.framework.fractional);
  add_all(p.framework.kind);
  add(p.cutoff, p.shifted, p.cubic, p.double_precision, p.barrier, p.hill);
  add_all(p.grid);
  for (int t = 0; t < s.types(); ++t) {
    add(s.felt_charges ? s.charge(t) : 0.0, s.with_framework(t).size());
    for (const LennardJones& law : s.with_framework(t)) add(law.epsilon, law.sigma);
  }
  if (s.molecules()) add_all(p.force_field->tilt);
  if (s.felt_charges) add_all(p.force_field->framework_charge);
  return key;
}

struct Known {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const Grids>> grids;
};
Known& known() {
  static Known all;
  return all;
}

// The grid is there: room for the molecules, whose number for point particles follows from it.
void settle(State& s) {
  Parameters& p = s.parameters;
  for (int t = 0; t < s.types() && !s.molecules(); ++t)
    if (Species& b = p.species[t]; p.exchange > 0 && b.capacity == 0)
      b.capacity = std::max(b.molecules, estimated_capacity(s, t, s.grid->open[t]));
  make_room(s);
}

}  // namespace

bool enter_shared_grid(State& s) {
  std::shared_ptr<const Grids> found;
  {
    Known& all = known();
    const std::lock_guard lock(all.mutex);
    const auto at = all.grids.find(key_of(s));
    if (at != all.grids.end()) found = at->second.lock();
  }
  if (!found) return false;
  s.grid = std::move(found);
  settle(s);
  return true;
}

void enter_grid(State& s, std::shared_ptr<const Grids> grid) {
  s.grid = std::move(grid);
  {
    Known& all = known();
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.grids, [](const auto& one) { return one.second.expired(); });
    all.grids[key_of(s)] = s.grid;
  }
  settle(s);
}

}  // namespace manymove::adsorption
