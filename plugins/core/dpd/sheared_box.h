// SPDX-License-Identifier: BSD-3-Clause
// The box of an engine, which a shear tilts (Lees and Edwards, J. Phys. C 5, 1921 (1972), in the
// form of a tilted box that is replaced by an equivalent one), or whose edges change their lengths,
// and how long neighbor lists hold in it.
#pragma once

#include <algorithm>
#include <cmath>

#include "step_parameters.h"

namespace manymove::dpd {

class ShearedBox : protected StepParameters {
 protected:
  explicit ShearedBox(const Settings& settings) : StepParameters(settings) {
    frame_.box = settings.box;
  }
  ~ShearedBox() = default;

  bool is_sheared() const { return settings_.shear.rate != 0; }
  // By how much the tilt grows in a step.
  double tilt_of_step() const { return dpd::tilt_of_step(settings_); }
  // In the equivalent box whose tilt is at most half of the extent along the flow.
  double tilt_of(std::int64_t step) const {
    return tilt_since_begin(step) - static_cast<double>(periods_of_tilt(step)) * period();
  }
  // How many times the box has been replaced by the equivalent one whose tilt is smaller by the
  // extent along the flow.
  std::int64_t periods_of_tilt(std::int64_t step) const {
    return is_sheared() ? std::llround(tilt_since_begin(step) / period()) : 0;
  }
  // Positions are those of this step in the box of its tilt.
  void set_tilt(std::int64_t step) {
    tilt_frame(step);
    periods_ = periods_of_tilt(step);
  }
  void tilt_frame(std::int64_t step) { frame_.box.tilt[settings_.shear.tilt()] = tilt_of(step); }
  bool has_tilt_of(std::int64_t step) const { return periods_ == periods_of_tilt(step); }

  // ---- a box whose edges change their lengths ----

  bool is_dilated() const { return dilated_; }
  // As Engine::set_box().
  void change_box(const Box& way, const Box& next) {
    dilated_ = true;
    begin_ = step_;
    frame_.box = way;
    next_ = next;
  }
  // The box in which particles are at a step from the present one on.
  const Box& box_of_step(std::int64_t step) const { return step > begin_ ? next_ : frame_.box; }
  // The next lists are those of the box at this step, which becomes that of the settings.
  void take_box(std::int64_t step) {
    settings_.box = box_of_step(step);
    check_widths(settings_);
  }
  // The same for the cells of one rank, which keep what concerns spheres.
  void fit_cells(Cells& cells, std::int64_t step, double particles) {
    take_box(step);
    const Cells fitted = cells_of(settings_, particles, nullptr);
    std::copy_n(fitted.count, 3, cells.count);
    std::copy_n(fitted.first, 3, cells.first);
    std::copy_n(fitted.here, 3, cells.here);
    cells.fine = fitted.fine;
    cells.bits = fitted.bits;
    cells.narrow = fitted.narrow;
    cells.edges = fitted.edges;
    cells.to = fitted.to;
  }
  // Whether pairs may have come closer, since lists were built in the box of the settings, than
  // their share of the skin: lengths and the ways of particles have changed by the strain.
  bool dilation_ends_lists(std::int64_t step) const {
    if (!is_dilated()) return false;
    const Box& box = box_of_step(step);
    double strain = 0;
    for (int a = 0; a < 3; ++a)
      strain = std::fmax(strain, std::fabs(box.extent[a] / settings_.box.extent[a] - 1));
    return strain * (settings_.cutoff + 2 * settings_.skin) > share_of_strain_ * settings_.skin;
  }

  // ---- shear ----

  // Replaces the box by the equivalent one of smaller or larger tilt, as often as the tilt of a
  // step needs. change(smaller) gives the particles their places in it.
  void replace_box(std::int64_t step, const auto& change) {
    while (!has_tilt_of(step)) {
      const bool smaller = periods_ < periods_of_tilt(step);
      change(smaller);
      periods_ += smaller ? 1 : -1;
    }
  }
  // The settings with the box that is tilted most.
  Settings settings_of_tilted_box() const {
    Settings tilted = settings_;
    tilted.box = most_tilted_box(settings_);
    return tilted;
  }
  // The frame of a step under shear, or the frame so many steps later of the box that has not been
  // replaced in between.
  template <Precision P>
  CoordinateFrame<P> frame_of_step(std::int64_t step, int later) const {
    Box box = settings_.box;
    double& tilt = box.tilt[settings_.shear.tilt()];
    tilt = tilt_of(step);
    if (later) tilt += later * tilt_of_step();
    CoordinateFrame<P> frame = frame_of<P>(box);
    frame.tilted = 1;
    return frame;
  }
  void tilt_cells(Cells& cells, std::int64_t step) const {
    const CoordinateFrame<Mixed> frame = frame_of_step<Mixed>(step, 0);
    cells.edges = frame.edges;
    cells.to = frame.to;
  }
  // Spheres for the next lists, after some that held for so many steps; zero: there were none.
  // Under shear and in a box that changes they leave a share of the skin to the strain, by which
  // lists then reach farther.
  void find_bounding_spheres(Cells& cells, std::int64_t held) {
    constexpr double kMost = 0.2, kMargin = 1.25, kOfDilation = 0.05;
    if (is_sheared())
      share_of_strain_ =
          held > 0 ? std::min(kMost, kMargin * share_after(static_cast<double>(held))) : kMost;
    else if (is_dilated())
      share_of_strain_ = kOfDilation;
    if (share_of_strain_ > 0) {
      cells.largest_radius = largest_radius_of(settings_, share_of_strain_);
      lengthen_reach(cells, settings_, share_of_strain_);
    }
    look_ahead(cells, settings_.time_step, held);
  }
  // Lists hold until shear has brought places of lists closer than their share of the skin.
  bool shear_ends_lists(std::int64_t built, std::int64_t step) const {
    return share_after(static_cast<double>(step - built)) > share_of_strain_;
  }
  // Whether they do not hold in the step after this one, because of shear or a flip of the box.
  bool lists_end_after(std::int64_t built, std::int64_t step) const {
    return shear_ends_lists(built, step + 1) || periods_of_tilt(step + 1) != periods_of_tilt(step);
  }
  // The first step after a build whose positions need other lists because of shear, but at most
  // `most` steps later.
  std::int64_t end_of_sheared_lists(std::int64_t built, std::int64_t most) const {
    std::int64_t step = built + 1;
    while (step < built + most && !lists_end_after(built, step - 1)) ++step;
    return step;
  }
  // Gives the tilt of a step to what a kernel of this step takes, which has that of
  // settings_of_tilted_box().
  template <class Step>
  void tilt_step(Step& s, std::int64_t number) const {
    s.forces.frame = frame_of_step<typename Step::Precision>(number, 0);
    s.motion.frame = frame_of_step<typename Step::Precision>(number, 1);
    tilt_cells(s.cells, number);
    const double most = settings_of_tilted_box().box.tilt[settings_.shear.tilt()];
    const auto share = static_cast<float>(tilt_of(number) / most);
    for (auto* shorts : {&s.shorts, &s.density_shorts})
      for (float* tilt : {&shorts->edges.xy, &shorts->edges.xz, &shorts->edges.yz}) *tilt *= share;
  }
  // The same in a box that changes.
  template <class Step>
  void dilate_step(Step& s, std::int64_t number) const {
    using P = typename Step::Precision;
    const Box& box = box_of_step(number);
    s.forces.frame = s.motion.frame = frame_of<P>(box);
    s.cells.edges = frame_of<Mixed>(box).edges;
    double ratio[3], longest = 1;
    for (int a = 0; a < 3; ++a) {
      ratio[a] = box.extent[a] / settings_.box.extent[a];
      longest = std::fmax(longest, ratio[a]);
    }
    for (auto* shorts : {&s.shorts, &s.density_shorts}) {
      // In units of zz. The margin for rounding grows with the box.
      shorts->edges.xx *= static_cast<float>(ratio[0] / ratio[2]);
      shorts->edges.yy *= static_cast<float>(ratio[1] / ratio[2]);
      shorts->cutoff_squared *=
          static_cast<float>(longest * longest / (ratio[2] * ratio[2]) * (1 + 1e-5));
    }
  }

  BoxFrame frame_;

 private:
  double share_after(double steps) const {
    const double strain = std::fabs(settings_.shear.rate) * settings_.time_step * steps;
    return strain * (settings_.cutoff + settings_.skin) / settings_.skin;
  }
  double period() const { return settings_.box.extent[settings_.shear.flow]; }
  double tilt_since_begin(std::int64_t step) const {
    const double first = settings_.box.tilt[settings_.shear.tilt()];
    return is_sheared() ? first + tilt_of_step() * static_cast<double>(step - settings_.shear.begin)
                        : first;
  }

  std::int64_t periods_ = 0;    // periods_of_tilt() of the positions
  double share_of_strain_ = 0;  // in the skin of the present lists
  bool dilated_ = false;
  std::int64_t begin_ = 0;  // positions are in frame_.box until the step after this one
  Box next_{};
};

}  // namespace manymove::dpd
