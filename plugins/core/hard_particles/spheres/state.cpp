// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../runtime/devices.h"
#include "../../runtime/fingerprint.h"
#include "../../runtime/text.h"
#include "grid.h"
#include "volume.h"

namespace manymove::hard_particles::spheres {
namespace {

constexpr std::size_t kMostParticles = 2000000000;

// Coordinates on the odd integers of the box.
std::vector<std::int64_t> to_units(const State& s, const double* coordinates) {
  const int D = s.dimensions();
  std::vector<std::int64_t> places(s.particles * D);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::size_t a = k % D;
    const double share = coordinates[k] / s.parameters.box[a] + 0.5;
    std::int64_t x =
        2 * static_cast<std::int64_t>(std::floor(share * static_cast<double>(s.extent[a] / 2))) + 1;
    if (x >= s.extent[a]) x -= s.extent[a];
    if (x < 0) x += s.extent[a];
    places[k] = x;
  }
  return places;
}

struct Overlaps {
  std::size_t count = 0, first = 0, second = 0;
  double ratio = 1;  // of the deepest: distance over contact distance
};

template <int D, Contact C>
Overlaps overlaps_in(const State& s, const Cells& cells) {
  const Geometry& g = s.geometry;
  const Law law = law_of(s);
  Overlaps found;
  std::size_t at = 0;
  int cell[3];
  for (cell[2] = 0; cell[2] < g.cells[2]; ++cell[2])
    for (cell[1] = 0; cell[1] < g.cells[1]; ++cell[1])
      for (cell[0] = 0; cell[0] < g.cells[0]; ++cell[0], ++at)
        for (int slot = 0; slot < static_cast<int>(cells.counts[at]); ++slot)
          for_pairs<D>(g, cells.spheres.data(), cells.counts.data(), 1, cell, slot,
                       [&](std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
                         if (apart<C>(law, i, j, dx, dy, dz)) return;
                         ++found.count;
                         const double x = static_cast<double>(dx), y = static_cast<double>(dy),
                                      z = static_cast<double>(dz);
                         const double ratio =
                             std::sqrt((x * x + y * y + z * z) / contact_of<C>(law, i, j));
                         if (ratio >= found.ratio) return;
                         found.ratio = ratio;
                         found.first = std::min(i, j);
                         found.second = std::max(i, j);
                       });
  return found;
}

Overlaps overlaps_of(const State& s, const Cells& cells) {
  const auto with = [&](auto dimensions) {
    constexpr int D = decltype(dimensions)::value;
    switch (s.distances.contact) {
      case Contact::one_size:
        return overlaps_in<D, Contact::one_size>(s, cells);
      case Contact::additive:
        return overlaps_in<D, Contact::additive>(s, cells);
      default:
        return overlaps_in<D, Contact::table>(s, cells);
    }
  };
  return s.dimensions() == 2 ? with(std::integral_constant<int, 2>{})
                             : with(std::integral_constant<int, 3>{});
}

// The cells, or none if one of them overflows, which only overlapping particles can cause.
Cells try_cells(const State& s, const Snapshot& data) {
  const Geometry& g = s.geometry;
  const int D = s.dimensions();
  Cells cells;
  cells.spheres.resize(s.cells() * g.slots);
  cells.counts.resize(s.cells());
  for (std::size_t i = 0; i < s.particles; ++i) {
    std::size_t at = 0;
    float local[3] = {0, 0, 0};
    for (int a = D - 1; a >= 0; --a) {
      const auto half = static_cast<std::int64_t>(g.half[a]);
      std::int64_t x = data.places[i * D + a] - data.origin[a];
      if (x < 0) x += s.extent[a];
      const std::int64_t cell = x / (2 * half);
      local[a] = static_cast<float>(x - 2 * half * cell - half);
      at = at * g.cells[a] + static_cast<std::size_t>(cell);
    }
    if (cells.counts[at] == static_cast<std::uint32_t>(g.slots)) return {};
    cells.spheres[at * g.slots + cells.counts[at]++] = {local[0], local[1], local[2],
                                                        static_cast<std::uint32_t>(i)};
  }
  return cells;
}

void check_positions(const State& s, const double* coordinates) {
  const int D = s.dimensions();
  const double* box = s.parameters.box;
  for (std::size_t i = 0; i < s.particles; ++i)
    for (int a = 0; a < D; ++a) {
      const double r = coordinates[D * i + a];
      if (!std::isfinite(r)) refuse("position of particle ", i, " is not finite");
      if (std::abs(r) > 0.5 * box[a] * (1 + 1e-6))
        refuse("particle ", i, " is outside the box: ", "xyz"[a], " = ", r, ", the edge is at ",
               0.5 * box[a], remedy_for(coordinates, s.particles, box, D));
    }
}

// Equal spheres beyond the densest packing overlap somewhere; that is said at once.
void check_density(const State& s) {
  if (s.distances.contact != Contact::one_size) return;
  const int D = s.dimensions();
  const double densest = std::acos(-1.0) / (D == 3 ? std::sqrt(18.0) : std::sqrt(12.0));
  double fraction = std::acos(-1.0) / (2 * D) * static_cast<double>(s.particles);
  for (int a = 0; a < D; ++a) fraction *= s.distances.largest / s.parameters.box[a];
  if (fraction > densest * (1 + 1e-9))
    refuse("packing fraction ", fraction, " is above that of the densest packing, ", densest);
}

}  // namespace

State make_state(const double* coordinates, std::size_t particles, const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  s.data.counters.cycles = parameters.first_cycle;
  if (particles == 0) refuse("positions must hold at least one particle");
  if (particles > kMostParticles) refuse("at most 2e9 particles, got ", particles);
  choose_grid(s);
  // At constant pressure the edges are realized with a small error; fractions of them are kept.
  std::vector<double> scaled;
  if (s.constant_pressure()) {
    scaled.assign(coordinates, coordinates + particles * s.dimensions());
    for (std::size_t k = 0; k < scaled.size(); ++k) {
      const std::size_t a = k % s.dimensions();
      scaled[k] *= s.parameters.box[a] / parameters.box[a];
    }
    coordinates = scaled.data();
  }
  check_positions(s, coordinates);
  check_density(s);

  const double most = s.parameters.repair_depth;
  const auto complain = [&](std::size_t i, std::size_t j, double ratio, const char* why) {
    const double depth = 1 - ratio;
    throw OverlapError(
        text_of("particles ", i, " and ", j, " overlap by ", depth, " contact distances",
                depth > most ? text_of(", more than repair_depth = ", most) : why),
        i, j, depth);
  };
  s.data.places = to_units(s, coordinates);
  Cells cells = try_cells(s, s.data);
  if (cells.counts.empty()) {
    const ClosePair pair = closest_pair(s, coordinates);
    complain(pair.first, pair.second, pair.ratio, "");
  }
  const Overlaps found = overlaps_of(s, cells);
  if (found.count == 0) return s;
  s.repair = {found.count, 1 - found.ratio};
  if (s.repair.depth > most) complain(found.first, found.second, found.ratio, "");
  // Push a little farther apart than contact, so that rounding to the grid makes no new overlap.
  for (const double margin : {8e-6, 4e-6}) {
    std::vector<double> r(coordinates, coordinates + particles * s.dimensions());
    if (!push_apart(s, r, margin)) continue;
    s.data.places = to_units(s, r.data());
    cells = try_cells(s, s.data);
    if (!cells.counts.empty() && overlaps_of(s, cells).count == 0) return s;
  }
  complain(found.first, found.second, found.ratio, " and could not be pushed apart");
  return s;
}

State make_state(const Snapshot& data, std::size_t particles, const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  choose_grid(s);
  const int D = s.dimensions();
  if (particles == 0 || particles > kMostParticles || data.places.size() != particles * D)
    refuse("checkpoint has ", data.places.size(), " coordinates, expected ", D, " for each of ",
           particles, " particles");
  for (int a = 0; a < 3; ++a)
    if (a < D ? data.origin[a] < 0 || data.origin[a] >= s.extent[a] || data.origin[a] % 2
              : data.origin[a] != 0)
      refuse("checkpoint: the grid's origin is not in the box");
  for (std::size_t k = 0; k < data.places.size(); ++k)
    if (data.places[k] < 0 || data.places[k] >= s.extent[k % D] || data.places[k] % 2 != 1)
      refuse("checkpoint: particle ", k / D, " is not on the integer grid");
  if (s.constant_pressure()) {
    if (!(std::abs(data.volume / s.lattice.quantum) < 0x1p53) ||
        std::fmod(data.volume, s.lattice.quantum) != 0 || !set_box(s, data.volume))
      refuse("checkpoint: the lattice does not have the volume ", data.volume);
    set_volume(s, data.volume);
    fill_diameters(s);
  }
  const Cells cells = try_cells(s, data);
  if (cells.counts.empty()) refuse("checkpoint: a cell holds more particles than fit");
  const Overlaps found = overlaps_of(s, cells);
  if (found.count) refuse("checkpoint: particles ", found.first, " and ", found.second, " overlap");
  s.data = data;
  return s;
}

Cells cells_of(const State& s, const Snapshot& data) {
  Cells cells = try_cells(s, data);
  if (cells.counts.empty())
    throw std::runtime_error("a cell holds more particles than fit: the state is corrupt");
  return cells;
}

std::vector<std::int64_t> places_of(const State& s, const std::array<std::int64_t, 3>& origin,
                                    const Sphere* spheres, const std::uint32_t* counts) {
  const Geometry& g = s.geometry;
  const int D = s.dimensions();
  std::vector<std::int64_t> places(s.particles * D, -1);
  std::size_t at = 0, found = 0;
  std::int64_t cell[3];
  for (cell[2] = 0; cell[2] < g.cells[2]; ++cell[2])
    for (cell[1] = 0; cell[1] < g.cells[1]; ++cell[1])
      for (cell[0] = 0; cell[0] < g.cells[0]; ++cell[0], ++at)
        for (std::uint32_t slot = 0; slot < counts[at]; ++slot, ++found) {
          const Sphere& p = spheres[at * g.slots + slot];
          const float local[3] = {p.x, p.y, p.z};
          if (p.id >= s.particles || places[p.id * std::size_t(D)] >= 0)
            throw std::runtime_error("a particle is lost: the state is corrupt");
          for (int a = 0; a < D; ++a) {
            const std::int64_t x = origin[a] +
                                   (2 * cell[a] + 1) * static_cast<std::int64_t>(g.half[a]) +
                                   static_cast<std::int64_t>(local[a]);
            places[p.id * static_cast<std::size_t>(D) + a] = x >= s.extent[a] ? x - s.extent[a] : x;
          }
        }
  if (found != s.particles) throw std::runtime_error("a particle is lost: the state is corrupt");
  return places;
}

void export_positions(const State& s, const Snapshot& data, double* coordinates) {
  const int D = s.dimensions();
  for (std::size_t k = 0; k < data.places.size(); ++k) {
    const std::size_t a = k % D;
    const double edge = s.parameters.box[a];
    coordinates[k] = multiply_add_unfused(static_cast<double>(data.places[k]),
                                          edge / static_cast<double>(s.extent[a]), -0.5 * edge);
  }
}

double contact_distance(const State& s, std::size_t i, std::size_t j) {
  const Parameters& p = s.parameters;
  switch (s.distances.contact) {
    case Contact::one_size:
      return p.diameter;
    case Contact::additive:
      return 0.5 * (p.diameters[i] + p.diameters[j]);
    default:
      return p.contacts[static_cast<std::size_t>(p.types[i]) * s.distances.of_types.size() +
                        static_cast<std::size_t>(p.types[j])];
  }
}

double deepest_overlap(const State& s, const Snapshot& data) {
  std::vector<double> r(s.particles * s.dimensions());
  export_positions(s, data, r.data());
  if (!data.diameters.empty() && s.parameters.diameters != data.diameters) {
    State present = s;
    present.parameters.diameters = data.diameters;
    return deepest_overlap(present, data);
  }
  return std::max(0.0, 1 - closest_pair(s, r.data()).ratio);
}

std::uint64_t hash_of(const State& s, const Snapshot& data) {
  const int D = s.dimensions();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < s.particles; ++i) {
    std::uint64_t h = murmur_mix(static_cast<std::uint64_t>(i) + 1);
    for (int a = 0; a < D; ++a)
      h = murmur_mix(h ^ static_cast<std::uint64_t>(data.places[i * D + a]));
    sum += h;
  }
  for (const std::uint64_t v :
       {data.counters.cycles, data.counters.trial_moves, data.counters.accepted_moves})
    sum = murmur_mix(sum ^ v);
  if (s.constant_pressure())
    for (const std::uint64_t v : {bits_of(data.volume), data.volume_trials, data.volume_accepted})
      sum = murmur_mix(sum ^ v);
  if (s.swaps()) {
    for (const double diameter : data.diameters) sum = murmur_mix(sum ^ bits_of(diameter));
    for (const std::uint64_t v : {data.swap_trials, data.swap_accepted}) sum = murmur_mix(sum ^ v);
  }
  return sum;
}

ContactBins contact_bins(const State& s, const Sampling& sampling) {
  ContactBins law{};
  law.bins = sampling.bins;
  law.per_unit = 1 / sampling.bin_width;
  const double farthest =
      s.distances.largest / s.unit * (1 + sampling.bin_width * sampling.bins) * (1 + 1e-6);
  const Geometry& g = s.geometry;
  float narrow = g.half[0];
  for (int a = 1; a < s.dimensions(); ++a) narrow = std::min(narrow, g.half[a]);
  law.range = farthest < 2 * static_cast<double>(narrow) ? 1 : 2;
  law.farthest2 = static_cast<float>(farthest * farthest);
  return law;
}

void move_origin(const State& s, const Draw& draw, std::array<std::int64_t, 3>& origin) {
  for (int a = 0; a < s.dimensions(); ++a) {
    const auto half = static_cast<std::int64_t>(s.geometry.half[a]);
    origin[a] += 2 * half * draw.shift_cells[a] + static_cast<std::int64_t>(draw.shift_rest[a]);
    if (origin[a] >= s.extent[a]) origin[a] -= s.extent[a];
  }
}

Draw draw_cycle(const State& s, std::uint64_t cycle) {
  return s.dimensions() == 2 ? draw_cycle<2>(s.geometry, cycle) : draw_cycle<3>(s.geometry, cycle);
}

SwapRules swap_rules(const State& s, std::uint64_t cycle) {
  std::uint32_t word[8];
  for (int call = 0; call < 2; ++call)
    random_words(word + 4 * call, s.geometry, 0u, cycle, Purpose::swap_order, 0, call);
  SwapRules rules{};
  rules.cycle = cycle;
  rules.order = permutation(1 << s.dimensions(), word);
  rules.rounds = s.parameters.swap_rounds;
  rules.range = s.parameters.swap_range > 0 ? s.parameters.swap_range / s.unit : 1e30;
  rules.clearance = 0x1p-40 * s.distances.largest / s.unit;
  return rules;
}

// ---- the choice of an engine by the name of the device ----

namespace {

// The state is made only once the device and the threads are known to make sense.
template <class MakeState>
std::unique_ptr<Engine> engine_on(const std::string& device, int threads, MakeState&& state) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device);
  if (!gpus.empty()) return make_cuda_engine(state(), gpus[0]);
  return make_cpu_engine(state(), threads);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const double* coordinates, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(coordinates, particles, parameters); });
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(snapshot, particles, parameters); });
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, int) {
  throw std::invalid_argument("this build of manymove has no CUDA engine");
}
#endif

}  // namespace manymove::hard_particles::spheres
