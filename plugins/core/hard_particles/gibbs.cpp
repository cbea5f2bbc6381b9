// SPDX-License-Identifier: BSD-3-Clause
// The Gibbs ensemble: two systems that exchange particles and volume between their cycles, one
// trial after the other on the host, the same for every backend. Numbers of sections are those of
// docs/theory/gibbs_ensemble.md.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "../runtime/logarithm.h"
#include "constant_pressure/edges.h"
#include "constant_pressure/volume.h"
#include "external_fields.h"
#include "grid.h"
#include "insertions.h"
#include "state_engine.h"
#include "steps.h"

namespace manymove::hard_particles {

namespace {

// ln(V1 / V2) is a multiple of this quantum after the first accepted exchange of volume, far above
// the rounding of the logarithms of the edges (section 3).
constexpr double kRatioQuantum = 0x1p-36;

}  // namespace

// One of the two systems, with its particles in the cells of the last cycle.
class GibbsSystem {
 public:
  explicit GibbsSystem(Engine& engine)
      : engine_(dynamic_cast<StateEngine&>(engine)), state_(engine_.state_) {
    if (!state_.parameters.gibbs || state_.ranks)
      throw std::invalid_argument("a Gibbs ensemble needs undivided systems that were made for it");
    cells_ = engine_.present_cells();
    cell_of_.resize(state_.particles);
    numbers_.resize(state_.distances.of_types.size());
    for (std::size_t cell = 0; cell < cells_.counts.size(); ++cell)
      for (std::uint32_t s = 0; s < cells_.counts[cell]; ++s) cell_of_[slot(cell, s).id] = cell;
    for (std::size_t i = 0; i < state_.particles; ++i) ++numbers_[type_of(i)];
  }

  const State& state() const { return state_; }
  double volume() const { return state_.data.volume; }
  std::size_t number(std::size_t type) const { return numbers_[type]; }
  TrialCounters& insertions() { return state_.data.insertions; }
  TrialCounters& deletions() { return state_.data.deletions; }
  TrialCounters& volume_moves() { return state_.data.volume_moves; }

  // A place for a new particle, uniform among those of the box, by two words for each axis.
  struct Place {
    Sphere sphere;
    std::size_t cell;
  };
  Place place(const std::uint32_t* words) const {
    const Geometry& g = state_.geometry;
    Place place{{0, 0, 0, static_cast<std::uint32_t>(state_.particles)}, 0};
    float* const local[3] = {&place.sphere.x, &place.sphere.y, &place.sphere.z};
    for (int a = state_.dimensions() - 1; a >= 0; --a) {
      const auto half = static_cast<std::uint64_t>(g.half[a]);
      // One of the H odd places of one of the cells.
      const std::uint64_t drawn =
          uniform_below_wide(words + 2 * a, half * static_cast<std::uint64_t>(g.cells[a]));
      *local[a] = static_cast<float>(2 * (drawn % half) + 1) - g.half[a];
      place.cell = place.cell * static_cast<std::size_t>(g.cells[a]) + drawn / half;
    }
    return place;
  }
  // The place of the k-th particle of a type, in the order of the indices.
  Place particle(std::size_t type, std::size_t k) const {
    std::size_t i = k;
    if (numbers_.size() > 1)
      for (i = 0; type_of(i) != type || k-- > 0; ++i) continue;
    return {slot(cell_of_[i], slot_of(i)), cell_of_[i]};
  }

  // The energy of a particle of a type, without that of its own index; nothing if it overlaps, as
  // every new particle does in a full cell.
  std::optional<std::int64_t> energy(const Place& p, std::size_t type) {
    const bool comes = p.sphere.id == state_.particles;
    if (comes && cells_.counts[p.cell] == static_cast<std::uint32_t>(state_.geometry.slots))
      return {};
    std::int64_t sum = 0;
    const bool free =
        with_particles(state_.dimensions(), state_.distances.contact, [&](auto policy) {
          constexpr int D = decltype(policy)::kDimensions;
          constexpr Contact C = decltype(policy)::kContact;
          if constexpr (C == Contact::additive) {
            return false;  // refused
          } else {
            const Geometry& g = state_.geometry;
            const Law law = law_of(state_);
            const FieldView view = field_view(state_);
            const TileBounds bounds{};
            const TileOfCells tile{
                g, law, &view, bounds, 0, cells_.spheres.data(), cells_.counts.data()};
            int at[3];
            cell_at(g, static_cast<std::int64_t>(p.cell), at);
            const CellVisit<D, C> visit{tile, at, static_cast<std::int64_t>(p.cell)};
            const int own = comes ? -1 : static_cast<int>(slot_of(p.sphere.id));
            return visit.has_room(p.sphere, static_cast<std::int32_t>(type), own, sum);
          }
        });
    return free ? std::optional(sum) : std::nullopt;
  }

  void insert(const Place& p, std::size_t type) {
    slot(p.cell, cells_.counts[p.cell]++) = p.sphere;
    cell_of_.push_back(p.cell);
    ++numbers_[type];
    ++state_.particles;
    if (has_types()) {
      state_.parameters.types.push_back(static_cast<std::int32_t>(type));
      state_.labels.emplace_back().type = static_cast<std::int32_t>(type);
    }
    changed_ = true;
  }
  // The last index becomes that of the particle that goes.
  void remove(std::uint32_t i, std::size_t type) {
    const std::size_t cell = cell_of_[i], last = state_.particles - 1;
    for (std::uint32_t s = slot_of(i) + 1; s < cells_.counts[cell]; ++s)
      slot(cell, s - 1) = slot(cell, s);
    --cells_.counts[cell];
    if (i != last) slot(cell_of_[last], slot_of(last)).id = i;
    const auto move = [&](auto& values) {
      values[i] = values[last];
      values.pop_back();
    };
    move(cell_of_);
    if (has_types()) {
      move(state_.parameters.types);
      move(state_.labels);
    }
    --numbers_[type];
    --state_.particles;
    changed_ = true;
  }

  // ---- volume ----

  void begin_volume_trials() {
    now_ = snapshot_of(state_, cells_);
    energy_ = legal_energy(state_, now_).value();
  }
  // Sets the box of a volume, with the ratios of the edges as they are; false if there is none.
  bool try_volume(double ln_volume) {
    former_ = state_.data.logarithms;
    extent_ = state_.extent;
    const int D = state_.dimensions();
    const double rise = ln_volume - D * logarithm(state_.unit) - log_volume(state_);
    const auto by = static_cast<std::int64_t>(std::nearbyint(rise / (D * kLogarithmQuantum)));
    for (int a = 0; a < D; ++a) state_.data.logarithms[static_cast<std::size_t>(a)] += by;
    return set_logarithms(state_);
  }
  // The rise of the energy with the particles in that box; nothing if they overlap.
  std::optional<std::int64_t> rise(int trial) {
    follow_box(state_);
    moved_ = now_;
    round_places(state_, moved_, extent_, trial);
    moved_energy_ = legal_energy(state_, moved_);
    if (!moved_energy_) return {};
    return static_cast<std::int64_t>(*moved_energy_ - energy_);
  }
  void keep_volume() {
    now_.places = std::move(moved_.places);
    now_.origin = state_.data.origin = moved_.origin;
    energy_ = *moved_energy_;
    resized_ = true;
  }
  void return_to_volume() {
    state_.data.logarithms = former_;
    set_logarithms(state_);
    follow_box(state_);
  }
  double log_of_volume() const {
    return log_volume(state_) + state_.dimensions() * logarithm(state_.unit);
  }

  // Gives the particles to the engine.
  void finish() {
    if (resized_)
      engine_.follow_grid(std::move(now_));
    else if (changed_)
      engine_.adopt(cells_);
  }

 private:
  bool has_types() const { return state_.distances.contact == Contact::table; }
  std::size_t type_of(std::size_t i) const {
    return has_types() ? static_cast<std::size_t>(state_.parameters.types[i]) : 0;
  }
  const Sphere& slot(std::size_t cell, std::uint32_t s) const {
    return cells_.spheres[cell * static_cast<std::size_t>(state_.geometry.slots) + s];
  }
  Sphere& slot(std::size_t cell, std::uint32_t s) {
    return cells_.spheres[cell * static_cast<std::size_t>(state_.geometry.slots) + s];
  }
  std::uint32_t slot_of(std::size_t i) const {
    std::uint32_t s = 0;
    while (slot(cell_of_[i], s).id != i) ++s;
    return s;
  }

  StateEngine& engine_;
  State& state_;
  Cells cells_;
  std::vector<std::size_t> cell_of_;  // of each particle
  std::vector<std::size_t> numbers_;  // of each type
  bool changed_ = false, resized_ = false;
  Snapshot now_, moved_;
  std::uint64_t energy_ = 0;
  std::optional<std::uint64_t> moved_energy_;
  std::array<std::int64_t, 3> former_{}, extent_{};
};

namespace {

// A trial transfer (section 2).
void transfer(std::array<GibbsSystem, 2>& systems, std::uint32_t trial, GibbsSamples& samples) {
  const State& first = systems[0].state();
  std::uint32_t word[12];
  for (int call = 0; call < 3; ++call)
    random_words(word + 4 * call, first.geometry, trial, first.data.counters.cycles,
                 Purpose::transfer, 0, call);
  const auto types = static_cast<std::uint32_t>(first.distances.of_types.size());
  const std::uint32_t drawn = uniform_below(word[2], 2 * types);
  const std::size_t to = drawn % 2, type = drawn / 2;
  GibbsSystem &source = systems[1 - to], &target = systems[to];
  ++source.deletions().trials;
  ++target.insertions().trials;
  const std::size_t sample = to * types + type;
  ++samples.trials[sample];
  const GibbsSystem::Place place = target.place(word + 4);
  const auto gained = target.energy(place, type);
  if (!gained) return;
  const double there = target.volume() / static_cast<double>(target.number(type) + 1);
  samples.sums[sample] += there * exponential(-kQuantum * static_cast<double>(*gained));
  const std::size_t n = source.number(type);
  if (n == 0) return;
  const auto one = source.particle(type, uniform_below(word[3], static_cast<std::uint32_t>(n)));
  const std::int64_t lost = source.energy(one, type).value();
  // min(1, n V' / ((n' + 1) V) exp(-dU))
  const double here = source.volume() / static_cast<double>(n);
  const double rise =
      kQuantum * static_cast<double>(*gained - lost) - (logarithm(there) - logarithm(here));
  if (!accepts_rise(rise, word[0], [&] { return word[1]; })) return;
  target.insert(place, type);
  source.remove(one.sphere.id, type);
  ++source.deletions().accepted;
  ++target.insertions().accepted;
}

// The logarithms of the volumes with this ratio, whose sum is `all`.
std::array<double, 2> volumes_of(std::int64_t ratio, double all) {
  const double x = static_cast<double>(ratio) * kRatioQuantum;
  return {logarithm(all) - logarithm(1 + exponential(-x)),
          logarithm(all) - logarithm(1 + exponential(x))};
}

// W = sum (N + 1) ln V (section 3).
double log_weight(const std::array<GibbsSystem, 2>& systems) {
  double sum = 0;
  for (const GibbsSystem& each : systems)
    sum += (static_cast<double>(each.state().particles) + 1) * each.log_of_volume();
  return sum;
}

// Whether the boxes that have just been set are accepted.
bool accepts_volumes(std::array<GibbsSystem, 2>& systems, int trial, const BoxTrial& draw,
                     double by) {
  const double limit = logarithm(draw.uniform);
  const bool steps = !systems[0].state().parameters.steps.empty();
  if (!steps && limit >= by) return false;
  std::int64_t rise = 0;
  for (GibbsSystem& each : systems) {
    const auto its = each.rise(trial);
    if (!its) return false;
    rise += *its;
  }
  return limit < by - kQuantum * static_cast<double>(rise);
}

// A trial exchange of volume (section 3).
void exchange_volume(std::array<GibbsSystem, 2>& systems, const GibbsMoves& moves, int trial) {
  const State& first = systems[0].state();
  const auto most = static_cast<std::uint64_t>(std::max(1.0, moves.volume_delta / kRatioQuantum));
  const BoxTrial draw = draw_box_trial(first.geometry, first.data.counters.cycles, trial, most);
  const auto by = static_cast<std::int64_t>(draw.magnitude);
  const auto now = static_cast<std::int64_t>(
      std::nearbyint((systems[0].log_of_volume() - systems[1].log_of_volume()) / kRatioQuantum));
  const auto wanted = volumes_of(now + (draw.grows ? by : -by), moves.volume);
  const double before = log_weight(systems);
  for (GibbsSystem& each : systems) ++each.volume_moves().trials;
  const bool first_fits = systems[0].try_volume(wanted[0]);
  const bool fits = systems[1].try_volume(wanted[1]) && first_fits;
  const bool accepted = fits && accepts_volumes(systems, trial, draw, log_weight(systems) - before);
  for (GibbsSystem& each : systems) {
    each.volume_moves().accepted += accepted;
    accepted ? each.keep_volume() : each.return_to_volume();
  }
}

}  // namespace

GibbsSamples exchange_in_gibbs_ensemble(Engine& first, Engine& second, const GibbsMoves& moves) {
  std::array<GibbsSystem, 2> systems{GibbsSystem(first), GibbsSystem(second)};
  const Parameters &a = systems[0].state().parameters, &b = systems[1].state().parameters;
  const bool same_steps = std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                                     [](const PairStep& x, const PairStep& y) {
                                       return x.ranges == y.ranges && x.energies == y.energies;
                                     });
  if (&first == &second || a.dimensions != b.dimensions || a.diameter != b.diameter ||
      a.contacts != b.contacts || !same_steps)
    throw std::invalid_argument("a Gibbs ensemble needs two systems of the same particles");
  if (a.seed == b.seed) throw std::invalid_argument("the systems must have different seeds");
  GibbsSamples samples;
  samples.trials.resize(2 * systems[0].state().distances.of_types.size());
  samples.sums.resize(samples.trials.size());
  for (std::uint64_t k = 0; k < moves.transfers; ++k)
    transfer(systems, static_cast<std::uint32_t>(k), samples);
  if (moves.volume_trials > 0)
    for (GibbsSystem& each : systems) each.begin_volume_trials();
  for (int k = 0; k < moves.volume_trials; ++k) exchange_volume(systems, moves, k);
  for (std::size_t k = 0; k < 2; ++k) {
    samples.volumes[k] = systems[k].volume();
    systems[k].finish();
  }
  return samples;
}

}  // namespace manymove::hard_particles
