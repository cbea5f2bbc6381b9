// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/surface_fixes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/dpd/surfaces.h"
#include "domain.h"
#include "fix_indent.h"
#include "fix_wall.h"
#include "fix_wall_region.h"
#include "region.h"
#include "translation/blocks.h"
#include "translation/kept_atoms.h"
#include "translation/lammps_members.h"

using namespace LAMMPS_NS;
using manymove::dpd::Surface;

namespace LAMMPS_NS {

struct OfIndent {
  friend constexpr auto members_of(OfIndent);
};
template struct PrivateMembers<
    OfIndent, &FixIndent::istyle, &FixIndent::side, &FixIndent::planeside, &FixIndent::cdim,
    &FixIndent::k, &FixIndent::xvalue, &FixIndent::yvalue, &FixIndent::zvalue, &FixIndent::rvalue,
    &FixIndent::pvalue, &FixIndent::xstr, &FixIndent::ystr, &FixIndent::zstr, &FixIndent::rstr,
    &FixIndent::pstr>;

}  // namespace LAMMPS_NS

namespace {

// FixIndent::istyle and side.
enum { kSphere = 1, kCylinder = 2, kPlane = 3 };
enum { kInside, kOutside };

struct OfWall : FixWall {
  using FixWall::cutoff, FixWall::epsilon, FixWall::estyle, FixWall::sigma, FixWall::sstyle;
  using FixWall::xscale, FixWall::yscale, FixWall::zscale;
};
struct OfRegion : FixWallRegion {
  using FixWallRegion::coeff1, FixWallRegion::coeff2, FixWallRegion::cutoff, FixWallRegion::epsilon,
      FixWallRegion::region, FixWallRegion::style;
};
// FixWallRegion::style.
enum { kLJ93, kLJ126, kLJ1043, kColloid, kHarmonic };

const std::map<std::string, Surface::Law> kWalls{{"wall/harmonic", Surface::kHarmonic},
                                                 {"wall/lj93", Surface::kPowers93},
                                                 {"wall/lj126", Surface::kPowers126}};

// A plane across an axis, with the law of another surface.
Surface plane(Surface like, int axis, double position, bool above) {
  like.axes = 1u << axis;
  like.outside = above;
  like.radius = 0;
  for (double& c : like.center) c = 0;
  like.center[axis] = position;
  return like;
}

}  // namespace

// ---- which fixes ----

bool SurfaceFixes::take(Fix* fix, Refusals& refusals) {
  const std::string style = fix->style;
  const bool known = style == "indent" || style == "wall/region" || kWalls.count(style);
  if (!known) return false;
  const std::string why = style == "indent"        ? why_not_indenter(fix)
                          : style == "wall/region" ? why_not_region(fix)
                                                   : why_not_walls(fix);
  if (!why.empty())
    refusals.add(name_of(fix) + why);
  else
    evaluate();  // what LAMMPS has set of surfaces with variables is not their position yet
  return true;
}

SurfaceFixes::Part SurfaceFixes::part_in_box(Fix* fix) const {
  Part part{fix, {}, {}};
  for (int a = 0; a < 3; ++a) part.inside[a] = 0.5 * (domain->boxlo[a] + domain->boxhi[a]);
  return part;
}

std::string SurfaceFixes::why_not_indenter(Fix* fix) {
  const auto* indent = as_exactly<FixIndent>(fix);
  if (!indent) return " of another kind";
  const auto [style, side, plane_side, axis, k, x, y, z, radius, position, x_variable, y_variable,
              z_variable, radius_variable, position_variable] = members_of(OfIndent());
  const int shape = indent->*style, across = indent->*axis;
  if (shape != kSphere && shape != kCylinder && shape != kPlane)
    return " that is not a sphere, a cylinder or a plane";
  Part part = part_in_box(fix);
  Surface& surface = part.surface;
  surface.law = Surface::kIndenter;
  surface.first = indent->*k;
  std::array<const char*, 4> names{};
  if (shape == kPlane) {
    surface = plane(surface, across, indent->*position, indent->*plane_side < 0);
    names[static_cast<std::size_t>(across)] = indent->*position_variable;
  } else {
    surface.axes = shape == kSphere ? 7u : 7u & ~(1u << across);
    surface.outside = indent->*side == kOutside;
    surface.radius = indent->*radius;
    const double center[3] = {indent->*x, indent->*y, indent->*z};
    for (int a = 0; a < 3; ++a) surface.center[a] = surface.axes >> a & 1u ? center[a] : 0;
    names = {indent->*x_variable, indent->*y_variable, indent->*z_variable,
             indent->*radius_variable};
  }
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (!names[n]) continue;
    part.variable[n] = variables_.find(names[n]);
    if (part.variable[n] < 0) return " with a variable that depends on more than the step";
  }
  parts_.push_back(part);
  return "";
}

std::string SurfaceFixes::why_not_walls(Fix* fix) {
  auto* const walls = dynamic_cast<FixWall*>(fix);
  if (!walls) return " of another kind";
  Part part = part_in_box(fix);
  part.surface.law = kWalls.at(fix->style);
  for (int k = 0; k < walls->nwall; ++k) {
    if ((walls->*(&OfWall::estyle))[k] == FixWall::VARIABLE ||
        (walls->*(&OfWall::sstyle))[k] == FixWall::VARIABLE)
      return " with a variable other than its position";
    const double epsilon = (walls->*(&OfWall::epsilon))[k], sigma = (walls->*(&OfWall::sigma))[k],
                 cube = sigma * sigma * sigma, sixth = cube * cube;
    const bool nine = part.surface.law == Surface::kPowers93;
    part.surface.first = part.surface.law == Surface::kHarmonic ? 2 * epsilon
                         : nine                                 ? 1.2 * epsilon * (sixth * cube)
                                                                : 48 * epsilon * (sixth * sixth);
    part.surface.second = nine ? 3 * epsilon * cube : 24 * epsilon * sixth;
    part.surface.cutoff = (walls->*(&OfWall::cutoff))[k];
    const int face = walls->wallwhich[k];
    part.surface = plane(part.surface, face / 2, walls->coord0[k], face % 2 == 0);
    part.variable.fill(-1);
    if (walls->xstyle[k] == FixWall::VARIABLE) {
      const double scale[3] = {walls->*(&OfWall::xscale), walls->*(&OfWall::yscale),
                               walls->*(&OfWall::zscale)};
      int& variable = part.variable[static_cast<std::size_t>(face / 2)];
      if (scale[face / 2] != 1) return " with a variable in lattice units (instead: units box)";
      variable = variables_.find(walls->xstr[k]);
      if (variable < 0) return " with a variable that depends on more than the step";
    }
    parts_.push_back(part);
  }
  return "";
}

std::string SurfaceFixes::why_not_region(Fix* fix) {
  const auto* wall = as_exactly<FixWallRegion>(fix);
  if (!wall) return " of another kind";
  const int style = wall->*(&OfRegion::style);
  if (style != kLJ93 && style != kLJ126 && style != kHarmonic)
    return " that is not lj93, lj126 or harmonic";
  Part part = part_in_box(fix);
  const bool harmonic = style == kHarmonic;
  part.surface.law = harmonic         ? Surface::kHarmonic
                     : style == kLJ93 ? Surface::kPowers93
                                      : Surface::kPowers126;
  part.surface.first = harmonic ? 2 * (wall->*(&OfRegion::epsilon)) : wall->*(&OfRegion::coeff1);
  part.surface.second = harmonic ? 0 : wall->*(&OfRegion::coeff2);
  part.surface.cutoff = wall->*(&OfRegion::cutoff);
  Region* const region = wall->*(&OfRegion::region);
  const auto regions = domain->get_region_list();
  if (std::ranges::find(regions, region) == regions.end()) return " of another kind";
  return add_region(part, *region);
}

// Takes regions that are determined by their bounding boxes.
std::string SurfaceFixes::add_region(const Part& like, Region& region) {
  const std::string style = region.style;
  if (style != "block" && style != "sphere" && style != "cylinder")
    return " with a region that is not a block, a cylinder or a sphere";
  if (!region.interior || !region.bboxflag || region.varshape || region.dynamic ||
      region.dynamic_check())
    return " with a region that moves, or that has side out";
  const double low[3] = {region.extent_xlo, region.extent_ylo, region.extent_zlo},
               high[3] = {region.extent_xhi, region.extent_yhi, region.extent_zhi};
  Part part = like;
  for (int a = 0; a < 3; ++a)
    part.inside[a] =
        0.5 * (std::max(low[a], domain->boxlo[a]) + std::min(high[a], domain->boxhi[a]));
  // The width of a cylinder is the same along the two axes across its own axis.
  const auto width = [&](int a) { return high[a] - low[a]; };
  const auto same = [&](int a, int b) { return std::fabs(width(a) - width(b)) < 1e-9 * width(b); };
  const unsigned along = 1u << (same(0, 1) ? 2 : same(0, 2) ? 1 : 0);
  add_block(part, region, style == "block" ? 7 : style == "sphere" ? 0 : along);
  if (style == "block") return "";
  Surface& round = part.surface;
  round.axes = style == "sphere" ? 7 : 7 & ~along;
  for (int a = 0; a < 3; ++a) {
    if (!(round.axes >> a & 1u)) continue;
    round.center[a] = 0.5 * (low[a] + high[a]);
    round.radius = 0.5 * width(a);
    if (domain->periodicity[a] && width(a) > domain->prd[a])
      return " with a region that is wider than the box";
  }
  parts_.push_back(part);
  return "";
}

// Adds planes at those faces of a region's bounding box, across some axes, whose reach enters the
// simulation box.
void SurfaceFixes::add_block(const Part& like, const Region& region, unsigned axes) {
  for (int a = 0; a < 3; ++a)
    for (int high = 0; (axes >> a & 1u) && high < 2; ++high) {
      const double position = extent(&region, a, high != 0), reach = like.surface.cutoff;
      if (high ? position - reach >= domain->boxhi[a] : position + reach <= domain->boxlo[a])
        continue;
      Part part = like;
      part.surface = plane(like.surface, a, position, high == 0);
      parts_.push_back(part);
    }
}

// ---- whether they do what was read ----

// LAMMPS ends the run if an atom is behind a surface.
bool SurfaceFixes::is_behind(const Fix* fix, const double x[3]) const {
  double sum[3] = {0, 0, 0};
  for (const Part& part : parts_)
    if (part.fix == fix) add_force_of(part, x, sum);
  return std::isnan(sum[0] + sum[1] + sum[2]);
}

// Behind an indenter, or within the cutoff of the other laws and, where the fix has several planes,
// between these.
bool SurfaceFixes::find_place(const Part& part, double x[3]) const {
  double inside[3], low[3], high[3];
  for (int a = 0; a < 3; ++a) {
    low[a] = domain->boxlo[a];
    high[a] = domain->boxhi[a];
    inside[a] = part.inside[a];
  }
  for (const Part& other : parts_)
    for (int a = 0; a < 3; ++a) {
      if (other.fix != part.fix || other.surface.axes != 1u << a) continue;
      double& end = (other.surface.outside ? low : high)[a];
      end = other.surface.outside ? std::max(end, other.surface.center[a])
                                  : std::min(end, other.surface.center[a]);
      inside[a] = 0.5 * (low[a] + high[a]);
    }
  const Surface& s = part.surface;
  const bool flat = s.radius == 0;
  const double largest = flat ? domain->prd[0] : s.radius, axes = flat ? 1 : s.axes == 7 ? 3 : 2;
  for (const double share : {0.6, 0.3, 0.1, 0.03, 0.01}) {
    const double distance = s.law == Surface::kIndenter ? -0.4 * largest
                                                        : share * std::min(s.cutoff, largest),
                 from_center = s.outside ? s.radius + distance : s.radius - distance;
    for (int a = 0; a < 3; ++a)
      x[a] = s.axes >> a & 1u ? s.center[a] + (flat ? (s.outside ? distance : -distance)
                                                    : from_center / std::sqrt(axes))
                              : inside[a];
    if (!is_behind(part.fix, x)) return true;
  }
  return false;
}

// One atom is moved to where a surface has a force.
void SurfaceFixes::check(Refusals& refusals) {
  if (atom->nlocal == 0) return;
  evaluate();
  for (const Part& part : parts_) {
    double at[3];
    if (!find_place(part, at))
      return refusals.add(name_of(part.fix) + " whose surfaces leave no place between them");
    const auto place = [&](double* x) { std::copy_n(at, 3, x); };
    const auto same = [&] { return acts_as_read(part.fix); };
    if (!with_first_atom(atom, part.fix, place, same) || !same())
      return refusals.add(name_of(part.fix) + " of another kind");
  }
}

// Whether the fix adds the forces that have been read from it.
bool SurfaceFixes::acts_as_read(Fix* fix) const {
  const KeptAtoms kept(atom, {atom->f});
  kept.fill(atom->f, 0);
  fix->post_force(0);
  double largest = 0, difference = 0;
  bool known = true;  // the engine's force is a number
  for (int i = 0; i < atom->nlocal; ++i) {
    double expected[3] = {0, 0, 0};
    for (const Part& part : parts_)
      if (part.fix == fix && (atom->mask[i] & fix->groupbit))
        add_force_of(part, atom->x[i], expected);
    for (int a = 0; a < 3; ++a) {
      known = known && !std::isnan(expected[a]);
      largest = std::max(largest, std::fabs(expected[a]));
      difference = std::max(difference, std::fabs(atom->f[i][a] - expected[a]));
    }
  }
  return known && difference <= 1e-9 * largest;
}

// ---- the description for the engine ----

void SurfaceFixes::add_force_of(const Part& part, const double x[3], double sum[3]) const {
  double apart[3];
  for (int a = 0; a < 3; ++a)
    apart[a] = part.surface.axes >> a & 1u ? x[a] - part.surface.center[a] : 0;
  for (int a = 0; a < 3; ++a)
    if (domain->periodicity[a]) apart[a] -= domain->prd[a] * std::round(apart[a] / domain->prd[a]);
  struct {
    int law;
    unsigned axes;
    double side, radius, first, second, cutoff;
  } const of_step{part.surface.law,    part.surface.axes,  part.surface.outside ? 1.0 : -1.0,
                  part.surface.radius, part.surface.first, part.surface.second,
                  part.surface.cutoff};
  const double over = manymove::dpd::surface_force_over<double>(
      of_step, manymove::dpd::Vector<double>{apart[0], apart[1], apart[2]});
  for (int a = 0; a < 3; ++a) sum[a] += over * apart[a];
}

void SurfaceFixes::add_force(int i, double sum[3]) const {
  for (const Part& part : parts_)
    if (atom->mask[i] & part.fix->groupbit) add_force_of(part, atom->x[i], sum);
}

void SurfaceFixes::describe(manymove::dpd::Settings& settings,
                            const std::function<std::uint32_t(int)>& flag_of) const {
  for (const Part& part : parts_) {
    settings.surfaces.push_back(part.surface);
    settings.surfaces.back().flag = flag_of(part.fix->groupbit);
  }
}

bool SurfaceFixes::closes(int axis, bool high) const {
  return std::ranges::any_of(parts_, [&](const Part& part) {
    return part.fix->igroup == 0 && part.surface.law != Surface::kIndenter &&
           part.surface.axes == 1u << axis && part.surface.outside != high;
  });
}

bool SurfaceFixes::has_series() const {
  return std::ranges::any_of(parts_, [](const Part& part) {
    return std::ranges::any_of(part.variable, [](int index) { return index >= 0; });
  });
}

void SurfaceFixes::evaluate() {
  for (Part& part : parts_)
    for (std::size_t k = 0; k < part.variable.size(); ++k)
      if (part.variable[k] >= 0)
        (k < 3 ? part.surface.center[k] : part.surface.radius) = variables_.value(part.variable[k]);
}

void SurfaceFixes::add_to_series(std::vector<double>& values) const {
  for (const Part& part : parts_) {
    values.insert(values.end(), part.surface.center, part.surface.center + 3);
    values.push_back(part.surface.radius);
  }
}
