// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../runtime/devices.h"
#include "../runtime/errors.h"

namespace manymove::coulomb {
namespace {

void require_positive(const char* name, double value) {
  if (!(value > 0) || !std::isfinite(value))
    refuse(Parameter{name}, "must be positive and finite, got ", value);
}

// Ions in messages.
Particles name_of(const State& s, std::size_t i) {
  return s.atom_id.empty() ? Particles("ion", i) : Particles("atom", s.atom_id[i]);
}
Particles names_of(const State& s, std::size_t i, std::size_t j) {
  return s.atom_id.empty() ? Particles("ion", i, j) : Particles("atom", s.atom_id[i], s.atom_id[j]);
}

void choose_units(State& s) {
  const Parameters& p = s.parameters;
  Rules& r = s.rules;
  r.periodic = p.periodic;
  r.space = p.ewald ? Space::ewald : p.periodic ? Space::nearest : Space::cell;
  if (p.ewald && !p.periodic) refuse("Ewald's energy needs a periodic box");
  if (p.vacuum && !p.ewald) refuse("a vacuum around the images needs Ewald's energy");
  if (!p.periodic) {
    require_positive("radius", p.radius);
    s.unit = p.radius / kHalf;
    for (int a = 0; a < 3; ++a) {
      r.extent[a] = 2 * kHalf;
      s.axis_unit[a] = s.unit;
    }
  } else {
    for (const double edge : p.box) require_positive("each edge of the box", edge);
    const double longest = *std::max_element(p.box, p.box + 3);
    s.unit = longest / (2 * kHalf);
    for (int a = 0; a < 3; ++a) {
      r.extent[a] = static_cast<float>(2 * std::nearbyint(p.box[a] / s.unit / 2));
      if (r.extent[a] < 1024)
        refuse("box edge ", "xyz"[a], ", ", p.box[a], ", is too short beside the longest, ",
               longest);
      s.axis_unit[a] = p.box[a] / static_cast<double>(r.extent[a]);
    }
  }
  for (int a = 0; a < 3; ++a) {
    r.inverse[a] = 1 / r.extent[a];
    r.two_over_extent[a] = 2 / static_cast<double>(r.extent[a]);
  }
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
  require_positive("bjerrum_length", s.parameters.bjerrum_length);
  const double n = static_cast<double>(s.sites.size());
  double sum = std::log2(2.75) + std::log2(n) * 2 / 3;
  if (s.ewald) sum += std::log2(1 + std::cbrt(n) / 2.75 * s.ewald->largest * contact);
  const int bits = static_cast<int>(std::min(46.0, std::floor(61.5 - sum)));
  const int k = bits - static_cast<int>(std::ceil(std::log2(charge / contact)));
  s.rules.magic = std::ldexp(1.5, 52 - k);
  s.rules.strength = s.parameters.bjerrum_length / s.unit * std::ldexp(1.0, -k);
  const float* edge = s.rules.extent;
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
  const double cap = std::max(1.0, std::cbrt(2.0 * static_cast<double>(n)));
  for (int a = 0; a < 3; ++a) {
    const double most_cells = s.rules.extent[a] / (contact * (1 + 1e-6) + 4);
    s.rules.cells[a] = static_cast<int>(std::clamp(std::floor(most_cells), 1.0, cap));
    s.rules.cells_per_unit[a] = static_cast<float>(s.rules.cells[a] / s.rules.extent[a]);
  }
}

Site rounded(const State& s, const double* xyz, Site site) {
  float c[3];
  for (int a = 0; a < 3; ++a) {
    c[a] = static_cast<float>(std::nearbyint(xyz[a] / s.axis_unit[a]));
    if (s.rules.periodic) c[a] = wrapped(c[a], s.rules.extent[a]);
  }
  const auto norm2 = [&] {
    return fused(double{c[2]}, double{c[2]},
                 fused(double{c[1]}, double{c[1]}, double{c[0]} * c[0]));
  };
  while (!s.rules.periodic && norm2() > s.rules.wall2) {  // rounding may cross the wall
    const int a = static_cast<int>(
        std::max_element(c, c + 3, [](float u, float v) { return std::abs(u) < std::abs(v); }) - c);
    c[a] -= std::copysign(1.0f, c[a]);
  }
  return {c[0], c[1], c[2], site.charge};
}

void check_inside(const State& s, std::size_t i, const double* positions) {
  const Parameters& p = s.parameters;
  const double* xyz = positions + 3 * i;
  for (int a = 0; a < 3; ++a)
    if (!std::isfinite(xyz[a])) refuse(name_of(s, i), "has a position that is not finite");
  if (p.periodic) {
    for (int a = 0; a < 3; ++a)
      if (std::abs(xyz[a]) > p.box[a] / 2 * (1 + 1e-7))
        refuse(name_of(s, i), "is outside the box: ", "xyz"[a], " = ", xyz[a],
               ", half the edge is ", p.box[a] / 2,
               remedy_for(positions, s.sites.size(), p.box, 3));
  } else {
    const double r = std::sqrt(xyz[0] * xyz[0] + xyz[1] * xyz[1] + xyz[2] * xyz[2]);
    if (r > p.radius * (1 + 1e-7))
      refuse(name_of(s, i), "is outside the spherical cell: at ", r, " from the center, radius ",
             p.radius);
  }
}

// The first of the ions that overlaps with i at its site, or -1.
std::int64_t first_overlap(const State& s, const CellLists& lists, int i) {
  std::int64_t found = -1;
  const Site at = s.sites[i];
  overlaps(
      s.rules, lists.view(), [&](int j) { return s.sites[j]; }, s.radius.data(), i, at.x, at.y,
      at.z,
      [&](int j) {
        if (!too_close(squared_distance(s.rules, at.x, at.y, at.z, s.sites[j]), s.radius[i],
                       s.radius[j]))
          return false;
        found = j;
        return true;
      });
  return found;
}

// The ions that overlap with another, in order. Ions are visited cell by cell: neighbors are near
// in memory then, which matters from a million ions on.
std::vector<int> overlapping_ions(const State& s) {
  struct Ion {
    Site at;
    double radius;
    int index;
  };
  const Rules& r = s.rules;
  const std::size_t cells = static_cast<std::size_t>(r.cells[0]) * r.cells[1] * r.cells[2];
  std::vector<std::uint32_t> first(cells + 1);
  std::vector<std::uint32_t> cell(s.sites.size());
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const Site& at = s.sites[i];
    cell[i] = static_cast<std::uint32_t>(cell_of(r, at.x, at.y, at.z));
    ++first[cell[i]];
  }
  std::uint32_t before = 0;
  for (std::uint32_t& f : first) before += std::exchange(f, before);
  std::vector<Ion> ions(s.sites.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < s.sites.size(); ++i)
    ions[next[cell[i]]++] = {s.sites[i], s.radius[i], static_cast<int>(i)};

  std::vector<int> found;
  const auto look = [&](const Ion& ion, std::size_t around) {
    for (std::uint32_t k = first[around]; k < first[around + 1]; ++k) {
      const Ion& other = ions[k];
      if (other.index != ion.index &&
          too_close(squared_distance(r, ion.at.x, ion.at.y, ion.at.z, other.at), ion.radius,
                    other.radius))
        return true;
    }
    return false;
  };
  for (const Ion& ion : ions) {
    int low[3], high[3];
    cells_nearby(r, 0, ion.at.x, low[0], high[0]);
    cells_nearby(r, 1, ion.at.y, low[1], high[1]);
    cells_nearby(r, 2, ion.at.z, low[2], high[2]);
    bool hit = false;
    for (int c = low[2]; c <= high[2] && !hit; ++c)
      for (int b = low[1]; b <= high[1] && !hit; ++b)
        for (int a = low[0]; a <= high[0] && !hit; ++a) {
          int cx = a, cy = b, cz = c;
          hit = neighbor_cell(r, 0, cx) && neighbor_cell(r, 1, cy) && neighbor_cell(r, 2, cz) &&
                look(ion, cell_index(r, cx, cy, cz));
        }
    if (hit) found.push_back(ion.index);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Rounding may have pushed touching ions together: within three units, look for a free place.
bool nudge(State& s, const CellLists& lists, int i) {
  const Site home = s.sites[i];
  for (int reach = 1; reach <= 3; ++reach)
    for (int k = 0; k < 343; ++k) {
      const int d[3] = {k % 7 - 3, k / 7 % 7 - 3, k / 49 - 3};
      if (std::max({std::abs(d[0]), std::abs(d[1]), std::abs(d[2])}) != reach) continue;
      Site& at = s.sites[i];
      at = {home.x + d[0], home.y + d[1], home.z + d[2], home.charge};
      if (s.rules.periodic) {
        at.x = wrapped(at.x, s.rules.extent[0]);
        at.y = wrapped(at.y, s.rules.extent[1]);
        at.z = wrapped(at.z, s.rules.extent[2]);
      } else if (fused(double{at.z}, double{at.z},
                       fused(double{at.y}, double{at.y}, double{at.x} * at.x)) > s.rules.wall2) {
        continue;
      }
      if (first_overlap(s, lists, i) < 0) return true;
    }
  s.sites[i] = home;
  return false;
}

void separate(State& s) {
  // To move an ion to a free place makes no other one overlap.
  const std::vector<int> found = overlapping_ions(s);
  if (found.empty()) return;
  CellLists lists;
  make_lists(s, lists);
  for (const int ion : found) {
    const std::size_t i = static_cast<std::size_t>(ion);
    const std::int64_t j = first_overlap(s, lists, ion);
    if (j < 0) continue;
    const double contact = (s.radius[i] + s.radius[j]) * s.unit;
    const double distance = s.unit * std::sqrt(squared_distance(s.rules, s.sites[i].x, s.sites[i].y,
                                                                s.sites[i].z, s.sites[j]));
    // Two roundings, of half a unit along each axis each.
    if (contact - distance > 1.8 * s.unit || !nudge(s, lists, ion))
      throw OverlapError(
          names_of(s, i, static_cast<std::size_t>(j)),
          text_of("overlap: their distance is ", distance, ", contact is at ", contact));
  }
}

// The dipole moment follows from positions and images.
void find_dipole(State& s) {
  Dipole dipole{}, most{};
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    dipole = dipole + dipole_of(s.rules, s.sites[i], s.image.data() + 3 * i);
    const double reach = std::abs(s.sites[i].charge) * kHalf;
    most = {std::max(most.x, reach), std::max(most.y, reach), std::max(most.z, reach)};
  }
  float least = std::numeric_limits<float>::infinity();
  for (const Site& site : s.sites) least = std::min(least, std::abs(site.charge));
  const Dipole size{std::abs(dipole.x), std::abs(dipole.y), std::abs(dipole.z)};
  if (s.rules.vacuum / least * change_of_square(size, most) > 0x1p60)
    refuse(
        "surrounding vacuum: the dipole moment of the ions, images included, is too large: "
        "start without images, or with surrounding conductor");
  s.dipole = dipole;
}

void place_images(State& s, const double* xyz, const std::int32_t* image) {
  constexpr int kMost = 1 << 20;
  s.image.assign(3 * s.sites.size(), 0);
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const float c[3] = {s.sites[i].x, s.sites[i].y, s.sites[i].z};
    for (std::size_t a = 0; a < 3; ++a) {
      const int given = image ? image[3 * i + a] : 0;
      if (std::abs(given) > kMost)
        refuse(name_of(s, i), "has the image ", given, "; at most ", kMost, " is possible");
      // Rounding may have put an ion on the opposite face.
      const double ahead =
          std::nearbyint((xyz[3 * i + a] / s.axis_unit[a] - c[a]) / double{s.rules.extent[a]});
      s.image[3 * i + a] = given + static_cast<int>(ahead);
    }
  }
  find_dipole(s);
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
    for (const Site& ion : s.sites) squares += double{ion.charge} * ion.charge;
    s.self_energy = parameters.bjerrum_length / s.unit * s.ewald->at_origin * squares / 2;
  }
  return s;
}

}  // namespace

void place(State& s, const double* xyz, const std::int32_t* image) {
  for (std::size_t i = 0; i < s.sites.size(); ++i) check_inside(s, i, xyz);
  const std::vector<Site> before = s.sites;
  const std::vector<std::int32_t> image_before = s.image;
  for (std::size_t i = 0; i < s.sites.size(); ++i) s.sites[i] = rounded(s, xyz + 3 * i, s.sites[i]);
  try {
    separate(s);
    if (s.parameters.vacuum)
      place_images(s, xyz, image);
    else if (image)
      refuse("images are for Ewald's energy with surrounding vacuum: leave them out");
  } catch (const std::invalid_argument&) {
    s.sites = before;
    s.image = image_before;
    throw;
  }
}

State make_state(const Ions& ions, const Parameters& parameters) {
  State s = begun(ions, parameters);
  place(s, ions.position, ions.image);
  return s;
}

State make_state(const Snapshot& snapshot, const Ions& ions, const Parameters& parameters) {
  State s = begun(ions, parameters);
  if (snapshot.positions.size() != 3 * s.sites.size())
    refuse("checkpoint: ", snapshot.positions.size(), " coordinates for ", s.sites.size(), " ions");
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const float* c = snapshot.positions.data() + 3 * i;
    double norm2 = 0;
    for (int a = 0; a < 3; ++a) {
      if (!(std::abs(c[a]) <= s.rules.extent[a] / 2) || c[a] != std::nearbyint(c[a]))
        refuse("checkpoint: ion ", i, " has the coordinate ", c[a]);
      norm2 += double{c[a]} * c[a];
    }
    if (!s.rules.periodic && norm2 > s.rules.wall2) refuse("checkpoint: ion ", i, " is outside");
    s.sites[i] = {c[0], c[1], c[2], s.sites[i].charge};
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

void make_lists(const State& s, CellLists& lists) {
  const Rules& r = s.rules;
  lists.head.assign(static_cast<std::size_t>(r.cells[0]) * r.cells[1] * r.cells[2], -1);
  lists.next.resize(s.sites.size());
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const Site& at = s.sites[i];
    std::int32_t& head = lists.head[cell_of(r, at.x, at.y, at.z)];
    lists.next[i] = head;
    head = static_cast<std::int32_t>(i);
  }
}

Snapshot snapshot_of(const State& s) {
  Snapshot snapshot;
  snapshot.counters = s.counters;
  snapshot.positions.reserve(3 * s.sites.size());
  for (const Site& at : s.sites)
    snapshot.positions.insert(snapshot.positions.end(), {at.x, at.y, at.z});
  snapshot.image = s.image;
  snapshot.change_high = static_cast<std::int64_t>(s.change >> 32);
  snapshot.change_low = static_cast<std::int64_t>(s.change & 0xffffffff);
  return snapshot;
}

void export_positions(const State& s, double* xyz) {
  for (const Site& at : s.sites) {
    *xyz++ = at.x * s.axis_unit[0];
    *xyz++ = at.y * s.axis_unit[1];
    *xyz++ = at.z * s.axis_unit[2];
  }
}

void export_images(const State& s, std::int32_t* image) {
  if (!s.parameters.vacuum) refuse("images are kept with surrounding vacuum only");
  std::copy(s.image.begin(), s.image.end(), image);
}

double energy_beside_pairs(const State& s) {
  return s.self_energy + s.rules.strength * s.rules.vacuum * change_of_square({}, s.dipole);
}

double deepest_overlap(const State& s) {
  CellLists lists;
  make_lists(s, lists);
  double deepest = 0;
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const Site at = s.sites[i];
    overlaps(
        s.rules, lists.view(), [&](int j) { return s.sites[j]; }, s.radius.data(),
        static_cast<int>(i), at.x, at.y, at.z,
        [&](int j) {
          const double distance =
              std::sqrt(squared_distance(s.rules, at.x, at.y, at.z, s.sites[j]));
          deepest = std::max(deepest, 1 - distance / (s.radius[i] + s.radius[j]));
          return false;
        });
  }
  return deepest;
}

std::uint64_t hash_of(const State& s) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const Site& at = s.sites[i];
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

// The state is made only once the device and the threads are known to make sense.
template <class MakeState>
std::unique_ptr<Engine> engine_on(const std::string& device, int threads, const Ions& ions,
                                  Parameters parameters, MakeState&& state) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device, true);
  if (parameters.method == Method::automatic)
    parameters.method = faster_method(parameters, ions.count, !gpus.empty());
  if (!gpus.empty()) return make_cuda_engine(state(parameters), gpus);
  return make_cpu_engine(state(parameters), threads);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Ions& ions, const Parameters& parameters,
                                    const std::string& device, int threads) {
  return engine_on(device, threads, ions, parameters,
                   [&](const Parameters& p) { return make_state(ions, p); });
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, const Ions& ions,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, ions, parameters,
                   [&](const Parameters& p) { return make_state(snapshot, ions, p); });
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, const std::vector<int>&) {
  throw std::invalid_argument(why_no_cuda_devices());
}
#endif

}  // namespace manymove::coulomb
