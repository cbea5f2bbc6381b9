// SPDX-License-Identifier: BSD-3-Clause
// What a grid of framework energies stores: values or coefficients of a spline, and which of its
// voxels are in pockets that molecules cannot reach.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "engine.h"

namespace manymove::adsorption {

// The grids of all types, which do not change any more. Engines may share them.
struct Grids {
  std::vector<float> of_float;  // [types] as Model::grid has them, in the precision of the engine
  std::vector<double> of_double;
  std::vector<std::vector<bool>> open;  // [types][points], of point particles
  GridInfo info{};
  // By the index of a device: the copy there, which its engines share.
  mutable std::mutex mutex;
  mutable std::map<int, std::weak_ptr<const void>> copies;

  template <class F>
  const std::vector<F>& in() const {
    if constexpr (std::is_same_v<F, float>)
      return of_float;
    else
      return of_double;
  }
};

// Components of the points below the barrier; one that meets an image of itself is a channel.
class Pockets {
 public:
  Pockets(std::span<const double> energies, const std::array<int, 3>& points, double barrier)
      : energies_(energies), points_(points), barrier_(barrier) {
    label_.assign(energies.size(), 0);
    shift_.assign(energies.size(), 0);
    for (std::size_t i = 0; i < energies.size(); ++i)
      if (energies[i] < barrier && !label_[i]) flood(i);
  }
  bool blocked(std::size_t i) const { return label_[i] && !components_[label_[i] - 1].channel; }
  bool open(std::size_t i) const { return label_[i] && components_[label_[i] - 1].channel; }
  // Those that are blocked, from the largest to the smallest.
  std::vector<Pocket> blocked(int type) const {
    std::vector<Pocket> found;
    for (const Component& c : components_) {
      if (c.channel) continue;
      Pocket pocket{type, {0, 0, 0}, c.points / static_cast<double>(energies_.size()), c.lowest};
      for (int a = 0; a < 3; ++a) {
        const double u = c.sum[a] / c.points / points_[a];
        pocket.center[a] = u - std::floor(u);
      }
      found.push_back(pocket);
    }
    std::ranges::stable_sort(found, std::greater{}, &Pocket::share);
    return found;
  }

 private:
  // Unit cells crossed along an axis since the component's first point, biased by 512, ten bits.
  static constexpr std::uint32_t kBias = 512u | 512u << 10 | 512u << 20;

  struct Component {
    bool channel = false;
    double points = 0;
    std::array<double, 3> sum{0, 0, 0};  // of the places of its points, which are made whole
    double lowest = std::numeric_limits<double>::max();
  };

  void flood(std::size_t seed) {
    Component& own = components_.emplace_back();
    const auto label = static_cast<std::int32_t>(components_.size());
    label_[seed] = label;
    shift_[seed] = kBias;
    stack_.assign(1, seed);
    const std::size_t stride[3] = {1, static_cast<std::size_t>(points_[0]),
                                   static_cast<std::size_t>(points_[0]) * points_[1]};
    while (!stack_.empty()) {
      const std::size_t i = stack_.back();
      stack_.pop_back();
      own.points += 1;
      own.lowest = std::min(own.lowest, energies_[i]);
      for (int a = 0; a < 3; ++a) {
        const auto at = static_cast<int>(i / stride[a] % static_cast<std::size_t>(points_[a]));
        const int cell = static_cast<int>(shift_[i] >> (10 * a) & 1023u) - 512;
        own.sum[a] += at + static_cast<double>(cell) * points_[a];
        for (const int by : {-1, 1}) {
          std::size_t j = i + static_cast<std::size_t>(by) * stride[a];
          std::uint32_t shift = shift_[i];
          if (at + by < 0 || at + by == points_[a]) {
            j -= static_cast<std::size_t>(by * points_[a]) * stride[a];
            // A neighbor beyond the cell's face is in the next cell along this axis.
            shift += static_cast<std::uint32_t>(by) << (10 * a);
          }
          if (!(energies_[j] < barrier_)) continue;
          if (!label_[j]) {
            label_[j] = label;
            shift_[j] = shift;
            stack_.push_back(j);
          } else if (shift_[j] != shift) {
            // The flood has come here by way of another unit cell: the component meets its own
            // image.
            own.channel = true;
          }
        }
      }
    }
  }

  std::span<const double> energies_;
  std::array<int, 3> points_;
  double barrier_;
  std::vector<std::int32_t> label_;
  std::vector<std::uint32_t> shift_;
  std::vector<std::size_t> stack_;
  std::vector<Component> components_;
};

// One type's energies [z][y][x] as Model::grid has them. pockets: may be null.
template <class F>
void store_grid(const std::array<int, 3>& points, bool cubic, std::span<const double> energies,
                const Pockets* pockets, F* out);

}  // namespace manymove::adsorption
