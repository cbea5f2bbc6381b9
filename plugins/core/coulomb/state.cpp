// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../runtime/devices.h"
#include "../runtime/digest.h"
#include "../runtime/errors.h"

namespace manymove::coulomb {

Particles name_of(const State& s, std::size_t i) {
  return s.atom_id.empty() ? Particles("ion", i) : Particles("atom", s.atom_id[i]);
}

namespace {

void choose_units(State& s) {
  const Parameters& p = s.parameters;
  Rules& r = s.rules;
  r.periodic = p.periodic;
  r.space = p.ewald ? Space::ewald : p.periodic ? Space::nearest : Space::cell;
  if (p.ewald && !p.periodic) refuse("Ewald's energy needs a periodic box");
  if (p.vacuum && !p.ewald) refuse("a vacuum around the images needs Ewald's energy");
  if (!p.periodic) {
    check_positive("radius", p.radius);
    s.unit = p.radius / kHalf;
    for (int a = 0; a < 3; ++a) {
      r.extent[a] = 2 * kHalf;
      s.axis_unit[a] = s.unit;
    }
  } else {
    for (const double edge : p.box) check_positive("each edge of the box", edge);
    const double longest = *std::max_element(p.box, p.box + 3);
    // The longest edge has 2^24 units; the others get even numbers of units of nearly this length.
    s.unit = longest / (2 * kHalf);
    for (int a = 0; a < 3; ++a) {
      r.extent[a] = static_cast<float>(2 * std::nearbyint(p.box[a] / s.unit / 2));
      if (r.extent[a] < 1024)
        refuse("box edge ", "xyz"[a], ", ", p.box[a], ", is too short beside the longest, ",
               longest);
      // Each axis has its own unit, so that the edges are exact.
      s.axis_unit[a] = p.box[a] / static_cast<double>(r.extent[a]);
    }
  }
  for (int a = 0; a < 3; ++a) {
    r.inverse[a] = 1 / r.extent[a];
    r.two_over_extent[a] = 2 / static_cast<double>(r.extent[a]);
  }
  // Centers reach the wall: |r| <= R.
  r.wall2 = static_cast<double>(kHalf) * kHalf;
  if (!p.ewald) return;
  const auto [shortest, longest] = std::minmax_element(p.box, p.box + 3);
  if (*longest > 2 * *shortest * (1 + 1e-9))
    refuse("boundary ewald: the longest edge of the box, ", *longest,
           ", is more than twice the shortest, ", *shortest);
  s.ewald = make_ewald_box(r.extent);
  const auto rest = [&](const auto& terms) {
    return rest_of(*s.ewald, terms, terms.coefficients.data(), terms.lines.data());
  };
  r.rest = rest(s.ewald->terms);
  r.rest_single = rest(s.ewald->terms_single);
}

// A displacement as a number of units.
std::uint32_t steps(const State& s, const char* name, double length) {
  double most = kHalf;
  for (const float edge : s.rules.extent) most = std::min(most, edge / 2.0);
  if (!(length > 0) || length > most * s.unit * (1 + 1e-12))
    refuse(Parameter{name}, "must be positive and at most ", most * s.unit, ", got ", length);
  return static_cast<std::uint32_t>(std::clamp(std::nearbyint(length / s.unit), 1.0, most));
}

void choose_moves(State& s) {
  Parameters& p = s.parameters;
  Rules& r = s.rules;
  if (p.max_displacement == 0)
    p.max_displacement = p.periodic ? *std::min_element(p.box, p.box + 3) / 6 : p.radius / 3;
  r.step = steps(s, "max_displacement", p.max_displacement);
  if (!(p.short_fraction >= 0 && p.short_fraction <= 1))
    refuse(Parameter{"short_fraction"}, "must be from 0 to 1, got ", p.short_fraction);
  if (p.short_fraction > 0) {
    r.short_step = steps(s, "short_displacement", p.short_displacement);
    // A share of the 2^32 words.
    r.short_below = static_cast<std::uint32_t>(
        std::min(4294967295.0, std::nearbyint(p.short_fraction * 4294967296.0)));
  }
  r.key = {static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)};
  const int eta = p.threads_per_particle;
  if (eta < 0 || eta > 16 || (eta & (eta - 1)))
    refuse(Parameter{"threads_per_particle"}, "must be 1, 2, 4, 8 or 16, got ", eta);
  if (p.method == Method::tree && !p.double_precision)
    refuse("method tree decides as double precision does; mixed precision is for method brush");
}

// Resolution of the integer potentials: 2^-46 of the term at contact, unless the sum over all ions,
// packed as densely as can be, needs more room in 63 bits. That sum is at most
// 2.75 N^(2/3) q / sigma: a ball of N spheres packed at 0.74, seen from its center; Ewald's images
// and background add at most N q times what is left of psi without 1 / r.
void choose_resolution(State& s, double charge, double contact) {
  check_positive("bjerrum_length", s.parameters.bjerrum_length);
  // log2 of the largest sum over the term at contact; 61.5 bits leave room for differences.
  const double n = static_cast<double>(s.sites.size());
  double sum = std::log2(2.75) + std::log2(n) * 2 / 3;
  if (s.ewald) sum += std::log2(1 + std::cbrt(n) / 2.75 * s.ewald->largest * contact);
  const int bits = static_cast<int>(std::min(46.0, std::floor(61.5 - sum)));
  // Integers count 2^-k. The sum of a double and 1.5 2^(52 - k) has this spacing: it rounds to
  // them.
  const int k = bits - static_cast<int>(std::ceil(std::log2(charge / contact)));
  s.rules.magic = std::ldexp(1.5, 52 - k);
  s.rules.strength = s.parameters.bjerrum_length / s.unit * std::ldexp(1.0, -k);
  const float* edge = s.rules.extent;
  // 2 pi / (3 V), the factor of l_B |M|^2 with a vacuum around the images (de Leeuw, Perram and
  // Smith, Proc. R. Soc. Lond. A 373 (1980) 27).
  if (s.parameters.vacuum)
    s.rules.vacuum =
        std::ldexp(2 * 3.141592653589793 / 3 / (double{edge[0]} * edge[1] * edge[2]), k);
}

void read_ions(State& s, const Ions& ions) {
  const std::size_t n = ions.count;
  if (n < 2) refuse("a neutral system needs two ions or more, got ", n);
  if (n > (std::size_t{1} << 30)) refuse("too many ions: ", n);
  double sum = 0, magnitude = 0, most = 0, widest = 0;
  double narrowest = std::numeric_limits<double>::infinity();
  s.sites.resize(n);
  s.radius.resize(n);
  s.species.assign(ions.species, ions.species + n);
  if (ions.atom_id) s.atom_id.assign(ions.atom_id, ions.atom_id + n);
  for (std::size_t i = 0; i < n; ++i) {
    const double q = ions.valence[i], d = ions.diameter[i];
    if (q == 0 || !std::isfinite(q))
      refuse(name_of(s, i), "has valence ", q, "; it must not be 0 and be finite");
    if (static_cast<double>(static_cast<float>(q)) != q)
      refuse(name_of(s, i), "has valence ", q, ", which float32 cannot hold exactly");
    if (!(d > 0) || !std::isfinite(d))
      refuse(name_of(s, i), "has diameter ", d, "; it must be positive and finite");
    sum += q;
    magnitude += std::abs(q);
    most = std::max(most, std::abs(q));
    widest = std::max(widest, d);
    narrowest = std::min(narrowest, d);
    s.sites[i].charge = static_cast<float>(q);
    s.radius[i] = d / 2 / s.unit;
  }
  // Valences that are not integers may not cancel exactly.
  if (std::abs(sum) > 1e-9 * magnitude) refuse("the ions are not neutral: valences sum to ", sum);
  double shortest = 2 * kHalf;
  for (const float edge : s.rules.extent) shortest = std::min<double>(shortest, edge);
  if (widest / s.unit > shortest / (s.rules.periodic ? 2 : 1))
    refuse("an ion of diameter ", widest, " does not fit: ",
           s.rules.periodic ? "half the shortest edge is " : "the cell's diameter is ",
           shortest * s.unit / (s.rules.periodic ? 2 : 1));
  choose_resolution(s, most, narrowest / s.unit);
  const double contact = widest / s.unit;
  s.rules.surely_free = static_cast<float>(contact * contact * (1 + 4e-6));
  // float32 moves an ion's cell by up to two units, nudge() an ion by three.
  s.rules.contact = static_cast<float>(contact * (1 + 1e-6) + 8);
  // About two cells for each ion at most.
  const double cap = std::max(1.0, std::cbrt(2.0 * static_cast<double>(n)));
  for (int a = 0; a < 3; ++a) {
    const double most_cells = s.rules.extent[a] / (contact * (1 + 1e-6) + 4);
    s.rules.cells[a] = static_cast<int>(std::clamp(std::floor(most_cells), 1.0, cap));
    s.rules.cells_per_unit[a] = static_cast<float>(s.rules.cells[a] / s.rules.extent[a]);
  }
}

State begun(const Ions& ions, const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  choose_units(s);
  read_ions(s, ions);
  choose_moves(s);
  s.counters.sweeps = parameters.first_sweep;
  if (s.ewald) {
    double squares = 0;
    // l_B / 2 sum_i z_i^2 [psi - 1 / r](0): ions and their own images.
    for (const Site& ion : s.sites) squares += double{ion.charge} * ion.charge;
    s.self_energy = parameters.bjerrum_length / s.unit * s.ewald->at_origin * squares / 2;
  }
  return s;
}

}  // namespace

State make_state(const Ions& ions, const Parameters& parameters) {
  State s = begun(ions, parameters);
  set_positions(s, ions.position, ions.image);
  return s;
}

State make_state(const Snapshot& snapshot, const Ions& ions, const Parameters& parameters) {
  State s = begun(ions, parameters);
  if (snapshot.positions.size() != 3 * s.sites.size())
    refuse("checkpoint: ", snapshot.positions.size(), " coordinates for ", s.sites.size(), " ions");
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const float* c = snapshot.positions.data() + 3 * i;
    for (int a = 0; a < 3; ++a)
      if (!(std::abs(c[a]) <= s.rules.extent[a] / 2) || c[a] != std::nearbyint(c[a]))
        refuse("checkpoint: ion ", i, " has the coordinate ", c[a]);
    s.sites[i] = {c[0], c[1], c[2], s.sites[i].charge};
    if (!s.rules.periodic && squared_norm(s.sites[i]) > s.rules.wall2)
      refuse("checkpoint: ion ", i, " is outside");
  }
  if (const std::vector<int> found = overlapping_ions(s); !found.empty())
    refuse("checkpoint: ion ", found.front(), " overlaps with another");
  if (snapshot.image.size() != (parameters.vacuum ? 3 * s.sites.size() : 0))
    refuse("checkpoint: ", snapshot.image.size(), " images for ", s.sites.size(), " ions");
  s.image = snapshot.image;
  if (parameters.vacuum) find_dipole(s);
  s.counters = snapshot.counters;
  s.change = (static_cast<__int128>(snapshot.change_high) << 32) + snapshot.change_low;
  return s;
}

Snapshot snapshot_of(const State& s) {
  Snapshot snapshot;
  snapshot.counters = s.counters;
  snapshot.positions.reserve(3 * s.sites.size());
  for (const Site& at : s.sites)
    snapshot.positions.insert(snapshot.positions.end(), {at.x, at.y, at.z});
  snapshot.image = s.image;
  // 128 bits as high 2^32 + low, 0 <= low < 2^32.
  snapshot.change_high = static_cast<std::int64_t>(s.change >> 32);
  snapshot.change_low = static_cast<std::int64_t>(s.change & 0xffffffff);
  return snapshot;
}

void EngineBase::positions(double* xyz) const {
  const State& s = present();
  for (const Site& at : s.sites) {
    *xyz++ = at.x * s.axis_unit[0];
    *xyz++ = at.y * s.axis_unit[1];
    *xyz++ = at.z * s.axis_unit[2];
  }
}

void EngineBase::images(std::int32_t* image) const {
  if (!state_.parameters.vacuum) refuse("images are kept with surrounding vacuum only");
  std::ranges::copy(present().image, image);
}

double energy_beside_pairs(const State& s) {
  return s.self_energy + s.rules.strength * s.rules.vacuum * change_of_square({}, s.dipole);
}

std::uint64_t EngineBase::state_hash() const {
  const State& s = present();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const Site& at = s.sites[i];
    // The number of an ion enters its share, so that the sum of all shares depends on their order.
    std::uint64_t one = split_mix(i + 1);
    for (const float c : {at.x, at.y, at.z})
      one = split_mix(one ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(c)));
    for (std::size_t a = 0; a < 3 && !s.image.empty(); ++a)
      one = split_mix(one ^ static_cast<std::uint64_t>(std::int64_t{s.image[3 * i + a]}));
    sum += one;
  }
  for (const std::uint64_t v :
       {s.counters.sweeps, s.counters.trial_moves, s.counters.accepted_moves})
    sum = split_mix(sum ^ v);
  return sum;
}

Bins bins_of(const State& s, const Histogram& h) {
  if (h.bins < 1 || !(h.bin_width > 0) || h.species < 1)
    refuse("a histogram needs bins of positive width, got ", h.bins, " of ", h.bin_width);
  Bins b{};
  // Lengths of Bins are in units.
  b.per_unit = s.unit / h.bin_width;
  const double farthest = h.bins * h.bin_width / s.unit;
  b.farthest2 = farthest * farthest;
  const double inside = h.interior_radius / s.unit;
  b.interior2 = inside * inside;
  b.bins = h.bins;
  b.species = h.species;
  return b;
}

// ---- the choice of an engine by the name of the device ----

namespace {

// The faster of brush and tree where both are possible, in double precision, by the number of ions
// alone (docs/benchmarks/electrolyte.md). On a CPU the tree is the faster one in a sphere
// from 10,400 ions on with one thread and from 20,000 on with twelve, and with Ewald's energy from
// 1,000 and 3,700 on: the former takes the number of twelve threads, the latter one in between.
Method faster_method(const Parameters& p, std::size_t ions, bool gpu) {
  const bool possible = p.double_precision && (p.ewald || !p.periodic);
  const std::size_t least = gpu ? (p.ewald ? 400 : 1'300) : (p.ewald ? 3'000 : 20'000);
  return possible && ions >= least ? Method::tree : Method::brush;
}

// Several ranks can share only the work of brush and tree, and only on their CPUs.
void check_for_ranks(Method method, const std::string& device, bool gpu) {
  if (gpu)
    refuse(Parameter{"device"}, "must be cpu for a chain of ions on several ranks, got ", device,
           "; several GPUs of one process share a chain by a list such as cuda:0,1");
  if (method != Method::brush && method != Method::tree)
    refuse(Parameter{"method"}, "must be brush or tree for a chain of ions on several ranks; ",
           "reduction and serial are for one rank");
}

// Digest of the input on which the chain depends.
std::uint64_t digest_of(const State& s) {
  Digest digest;
  const auto add_all = [&](const auto& values) {
    digest.add(values.data(), values.size() * sizeof values[0]);
  };
  add_all(s.sites);
  add_all(s.radius);
  add_all(s.species);
  add_all(s.image);
  const Rules& r = s.rules;
  const Parameters& p = s.parameters;
  for (const double number : {s.unit, s.axis_unit[0], s.axis_unit[1], s.axis_unit[2], r.strength,
                              r.vacuum, static_cast<double>(s.change)})
    digest.add(&number, sizeof number);
  for (const std::uint64_t number :
       {p.seed, s.counters.sweeps, s.counters.trial_moves, s.counters.accepted_moves,
        std::uint64_t{r.step}, std::uint64_t{r.short_step}, std::uint64_t{r.short_below},
        static_cast<std::uint64_t>(r.space), static_cast<std::uint64_t>(p.method),
        std::uint64_t{p.double_precision}})
    digest.add(&number, sizeof number);
  return digest.value();
}

// The state is made only once the device and the threads are known to make sense.
std::unique_ptr<Engine> engine_on(const std::string& device, int threads, const Ions& ions,
                                  Parameters parameters, Communicator* ranks, auto&& state) {
  if (ranks && ranks->ranks() == 1) ranks = nullptr;
  std::vector<int> gpus;
  State made;
  std::unique_ptr<Engine> engine;
  const auto begin = [&] {
    threads = cpu_threads(threads);
    gpus = cuda_indices(device, true);
    if (parameters.method == Method::automatic)
      parameters.method = faster_method(parameters, ions.count, !gpus.empty());
    if (ranks) check_for_ranks(parameters.method, device, !gpus.empty());
    made = state(parameters);
    made.ranks = ranks;
  };
  const auto end = [&] {
    engine = gpus.empty() ? make_cpu_engine(std::move(made), threads)
                          : make_cuda_engine(std::move(made), gpus);
  };
  if (ranks) {
    collective(*ranks, [&] {
      together(*ranks, begin);
      check_same(*ranks, digest_of(made));
      together(*ranks, end);
    });
  } else {
    begin();
    end();
  }
  return engine;
}

}  // namespace

void check_same(Communicator& ranks, std::uint64_t digest) {
  const std::vector<std::uint64_t> all = ranks.gathered(digest);
  together(ranks, [&] {
    if (std::ranges::count(all, digest) != ranks.ranks())
      refuse("the ranks have different ions or settings: give all of them the same");
  });
}

std::unique_ptr<Engine> make_engine(const Ions& ions, const Parameters& parameters,
                                    const std::string& device, int threads, Communicator* ranks) {
  return engine_on(device, threads, ions, parameters, ranks,
                   [&](const Parameters& p) { return make_state(ions, p); });
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, const Ions& ions,
                                    const Parameters& parameters, const std::string& device,
                                    int threads, Communicator* ranks) {
  return engine_on(device, threads, ions, parameters, ranks,
                   [&](const Parameters& p) { return make_state(snapshot, ions, p); });
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, const std::vector<int>&, const ChangeTree&) {
  throw std::invalid_argument(why_no_cuda_devices());
}
#endif

}  // namespace manymove::coulomb
