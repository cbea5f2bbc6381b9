// SPDX-License-Identifier: BSD-3-Clause
#include "steps.h"

#include <algorithm>
#include <cmath>

#include "../runtime/errors.h"
#include "state.h"

namespace manymove::hard_particles {
namespace {

const Parameter kName{"steps"};

// Of a symmetric table of numbers, one for each pair of types.
void check_table(const char* name, const std::vector<double>& table, std::size_t types) {
  if (table.size() != types * types)
    refuse(kName, "must have ", name, " for each pair of ", types, types == 1 ? " type" : " types",
           ", got ", table.size(), " numbers");
  for (std::size_t a = 0; a < types; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const double value = table[a * types + b];
      if (!std::isfinite(value)) refuse(kName, "must have finite ", name, ", got ", value);
      if (value != table[b * types + a])
        refuse(kName, "must have symmetric ", name, ": [", a, "][", b, "] is ", value, ", [", b,
               "][", a, "] is ", table[b * types + a]);
    }
}

}  // namespace

double settle_steps(State& state) {
  Parameters& p = state.parameters;
  double reach = state.distances.largest;
  if (p.steps.empty()) return reach;
  if (state.distances.contact == Contact::additive)
    refuse(kName, "cannot be combined with diameters by particle: give types and contacts");
  if (state.distances.contact == Contact::one_size) {
    p.types.assign(state.particles, 0);
    p.contacts = {p.diameter};
    state.distances.contact = Contact::table;
  }
  const std::size_t types = state.distances.of_types.size();
  for (const PairStep& step : p.steps) {
    check_table("ranges", step.ranges, types);
    check_table("energies", step.energies, types);
    for (std::size_t k = 0; k < types * types; ++k) {
      if (std::abs(step.energies[k]) > kLargestEnergy)
        refuse(kName, "must have energies of at most ", kLargestEnergy,
               " kT in magnitude in each step, got ", step.energies[k]);
      if (step.energies[k] == 0) continue;
      if (!(step.ranges[k] > p.contacts[k]))
        refuse(kName, "must have ranges above the contact distance ", p.contacts[k], ", got ",
               step.ranges[k]);
      reach = std::max(reach, step.ranges[k]);
    }
  }
  // Without energies they would cost time only.
  std::erase_if(p.steps, [](const PairStep& step) {
    return std::all_of(step.energies.begin(), step.energies.end(),
                       [](double energy) { return energy == 0; });
  });
  if (p.steps.size() > kMostSteps)
    refuse(kName, "must have at most ", kMostSteps, " steps in all, got ", p.steps.size());
  return reach;
}

std::vector<double> squares_at(const State& state, double unit) {
  std::vector<double> squares;
  for (const PairStep& step : state.parameters.steps)
    for (const double range : step.ranges) {
      const double units = range / unit;
      squares.push_back(units * units);
    }
  return squares;
}

void fill_steps(State& state) {
  state.step_squares = squares_at(state, state.unit);
  state.step_bounds.assign(state.step_squares.begin(), state.step_squares.end());
  state.step_energies.clear();
  state.step_reaches = state.sigmas;
  for (const PairStep& step : state.parameters.steps)
    for (std::size_t k = 0; k < step.ranges.size(); ++k) {
      state.step_energies.push_back(std::llround(step.energies[k] / kQuantum));
      if (step.energies[k] != 0)
        state.step_reaches[k] =
            std::max(state.step_reaches[k], static_cast<float>(step.ranges[k] / state.unit));
    }
}

StepView step_view(const State& state) {
  const Law law = law_of(state);
  const double farthest = state.distances.reach / state.unit;
  return {static_cast<int>(state.parameters.steps.size()),
          law.types,
          law.margin,
          static_cast<float>(farthest * farthest * (1 + 1e-5)),
          state.step_squares.data(),
          state.step_bounds.data(),
          state.step_energies.data(),
          state.step_reaches.data()};
}

double rise_of(const State& state, const std::vector<Crossing>& crossings, double from, double to) {
  if (crossings.empty()) return 0;
  const std::vector<double> before = squares_at(state, from), after = squares_at(state, to);
  // A sum of integers, the same in any order. A pair is within the range in either box by the
  // predicate that its moves have there.
  std::int64_t rise = 0;
  for (const Crossing& pair : crossings) {
    const auto at = static_cast<std::size_t>(pair.at);
    rise += state.step_energies[at] * ((pair.square < after[at]) - (pair.square < before[at]));
  }
  return kQuantum * static_cast<double>(rise);
}

}  // namespace manymove::hard_particles
