// SPDX-License-Identifier: BSD-3-Clause
// Where the ions are: positions become integers inside the cell, without overlaps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "../runtime/errors.h"
#include "state.h"

namespace manymove::coulomb {
namespace {

Particles names_of(const State& s, std::size_t i, std::size_t j) {
  return s.atom_id.empty() ? Particles("ion", i, j) : Particles("atom", s.atom_id[i], s.atom_id[j]);
}

Site rounded(const State& s, const double* xyz, Site site) {
  float* const c[3] = {&site.x, &site.y, &site.z};
  for (int a = 0; a < 3; ++a) *c[a] = static_cast<float>(std::nearbyint(xyz[a] / s.axis_unit[a]));
  if (s.rules.periodic) return wrapped(s.rules, site);
  while (squared_norm(site) > s.rules.wall2) {  // rounding may cross the wall
    // Towards the center along the longest component, which changes the distance most.
    float& largest = **std::max_element(
        c, c + 3, [](const float* u, const float* v) { return std::abs(*u) < std::abs(*v); });
    largest -= std::copysign(1.0f, largest);
  }
  return site;
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
  any_nearby(s.rules, lists.view(), at, [&](int j) {
    if (j == i || !too_close(squared_distance(s.rules, at, s.sites[j]), s.radius[i], s.radius[j]))
      return false;
    found = j;
    return true;
  });
  return found;
}

// Rounding may have pushed touching ions together: within three units, look for a free place.
bool nudge(State& s, const CellLists& lists, int i) {
  const Site home = s.sites[i];
  for (int reach = 1; reach <= 3; ++reach)
    for (int k = 0; k < 343; ++k) {
      // The 7^3 places around it, the nearest shell first.
      const int d[3] = {k % 7 - 3, k / 7 % 7 - 3, k / 49 - 3};
      if (std::max({std::abs(d[0]), std::abs(d[1]), std::abs(d[2])}) != reach) continue;
      Site& at = s.sites[i];
      at = {home.x + d[0], home.y + d[1], home.z + d[2], home.charge};
      if (s.rules.periodic)
        at = wrapped(s.rules, at);
      else if (squared_norm(at) > s.rules.wall2)
        continue;
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
  lists.fill(s);
  for (const int ion : found) {
    const std::size_t i = static_cast<std::size_t>(ion);
    const std::int64_t j = first_overlap(s, lists, ion);
    if (j < 0) continue;
    const double contact = (s.radius[i] + s.radius[j]) * s.unit;
    const double distance = s.unit * std::sqrt(squared_distance(s.rules, s.sites[i], s.sites[j]));
    // Two roundings, of half a unit along each axis each.
    if (contact - distance > 1.8 * s.unit || !nudge(s, lists, ion))
      throw OverlapError(
          names_of(s, i, static_cast<std::size_t>(j)),
          text_of("overlap: their distance is ", distance, ", contact is at ", contact),
          1 - distance / contact);
  }
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

}  // namespace

void CellLists::clear(const State& s) {
  head.assign(cell_count(s.rules), -1);
  next.assign(s.sites.size(), -1);
}
void CellLists::add(const Rules& r, std::int32_t i, const Site& at) {
  next[i] = std::exchange(head[cell_of(r, at)], i);
}
void CellLists::fill(const State& s) {
  clear(s);
  for (std::size_t i = 0; i < s.sites.size(); ++i)
    add(s.rules, static_cast<std::int32_t>(i), s.sites[i]);
}

// Ions are visited cell by cell: neighbors are near in memory then, which matters from a million
// ions on.
std::vector<int> overlapping_ions(const State& s) {
  struct Ion {
    Site at;
    double radius;
    int index;
  };
  const Rules& r = s.rules;
  std::vector<std::uint32_t> first(cell_count(r) + 1);
  std::vector<std::uint32_t> cell(s.sites.size());
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    const Site& at = s.sites[i];
    cell[i] = static_cast<std::uint32_t>(cell_of(r, at));
    ++first[cell[i]];
  }
  // Counting sort: numbers become places.
  std::uint32_t before = 0;
  for (std::uint32_t& f : first) before += std::exchange(f, before);
  std::vector<Ion> ions(s.sites.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < s.sites.size(); ++i)
    ions[next[cell[i]]++] = {s.sites[i], s.radius[i], static_cast<int>(i)};

  std::vector<int> found;
  for (const Ion& ion : ions) {
    const auto touches = [&](const Ion& other) {
      return other.index != ion.index &&
             too_close(squared_distance(r, ion.at, other.at), ion.radius, other.radius);
    };
    if (any_cell_nearby(r, ion.at, [&](std::size_t around) {
          return std::any_of(ions.begin() + first[around], ions.begin() + first[around + 1],
                             touches);
        }))
      found.push_back(ion.index);
  }
  // They were found cell by cell; messages name the first one.
  std::sort(found.begin(), found.end());
  return found;
}

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
  // The largest change that one move can make, over the smallest charge, must fit dipole_term().
  if (s.rules.vacuum / least * change_of_square(size, most) > 0x1p60)
    refuse(
        "surrounding vacuum: the dipole moment of the ions, images included, is too large: "
        "start without images, or with surrounding conductor");
  s.dipole = dipole;
}

void set_positions(State& s, const double* xyz, const std::int32_t* image) {
  for (std::size_t i = 0; i < s.sites.size(); ++i) check_inside(s, i, xyz);
  // The caller may continue with the former ones after an error.
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

double EngineBase::max_overlap() const {
  const State& s = present();
  CellLists lists;
  lists.fill(s);
  double deepest = 0;
  for (int i = 0; i < static_cast<int>(s.sites.size()); ++i)
    any_nearby(s.rules, lists.view(), s.sites[i], [&](int j) {
      const double distance = std::sqrt(squared_distance(s.rules, s.sites[i], s.sites[j]));
      // 1 - r_ij / (R_i + R_j), positive where hard cores overlap.
      if (j != i) deepest = std::max(deepest, 1 - distance / (s.radius[i] + s.radius[j]));
      return false;
    });
  return deepest;
}

}  // namespace manymove::coulomb
