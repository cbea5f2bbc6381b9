// SPDX-License-Identifier: BSD-3-Clause
#include "grid.h"

#include <algorithm>
#include <cmath>

#include "model.h"

namespace manymove::adsorption {
namespace {

float with_last_bit(float value, bool bit) {
  return as_float((bits_of(value) & ~1u) | (bit ? 1u : 0u));
}
double with_last_bit(double value, bool bit) {
  return as_double((bits_of(value) & ~std::uint64_t{1}) | (bit ? 1u : 0u));
}

// Coefficients of the periodic cubic spline through `count` values that lie `stride` apart, in
// place: M. Unser, A. Aldroubi, M. Eden, IEEE Trans. Signal Process. 41, 821 (1993).
void spline_coefficients(double* values, int count, std::size_t stride, std::vector<double>& line) {
  const double z = std::sqrt(3.0) - 2;
  constexpr int kDecay = 32;  // z^32 = 5e-19
  line.resize(count);
  // f_i = (c_(i-1) + 4 c_i + c_(i+1)) / 6 has the poles z and 1 / z with z = sqrt(3) - 2.
  for (int i = 0; i < count; ++i) line[i] = 6 * values[i * stride];
  const auto at = [&](int i) { return line[((i % count) + count) % count]; };
  // The causal filter y_i = 6 x_i + z y_(i-1), whose start is the sum over the periodic images that
  // still count.
  double carry = 0;  // z times the filtered value before the first
  for (int k = kDecay; k > 0; --k) carry = z * (carry + at(-k));
  for (double& value : line) {
    value += carry;
    carry = z * value;
  }
  // The anticausal filter c_i = z (c_(i+1) - y_i), backwards.
  carry = 0;  // the coefficient after the last
  for (int k = kDecay; k > 0; --k) carry = z * (carry - at(count - 1 + k));
  for (int i = count - 1; i >= 0; --i) values[i * stride] = carry = z * (carry - line[i]);
}

// What the grid holds: energies, or the coefficients of the spline.
std::vector<double> grid_contents(const std::array<int, 3>& n, bool cubic,
                                  std::span<const double> energies) {
  std::vector<double> values(energies.begin(), energies.end()), line;
  if (!cubic) {
    for (double& e : values) e = std::min(e, kHighest);
    return values;
  }
  // asinh(E / kSoft) is linear for small energies and logarithmic for large ones, so that a spline
  // follows the steep walls of the pores.
  for (double& e : values) e = std::asinh(e / kSoft);
  std::size_t stride = 1;
  // A tensor product: the filter of one axis after the other.
  for (int a = 0; a < 3; ++a) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i / stride % n[a] == 0) spline_coefficients(values.data() + i, n[a], stride, line);
    stride *= n[a];
  }
  return values;
}

}  // namespace

template <class F>
void store_grid(const std::array<int, 3>& n, bool cubic, std::span<const double> energies,
                const Pockets* pockets, F* out) {
  const std::vector<double> values = grid_contents(n, cubic, energies);
  const auto index = [&](int x, int y, int z) {
    const auto wrap = [](int i, int count) {
      return static_cast<std::size_t>((i + count) % count);
    };
    return (wrap(z, n[2]) * n[1] + wrap(y, n[1])) * n[0] + wrap(x, n[0]);
  };
  // With one point before and two behind along each axis, so that no stencil wraps.
  for (int z = -1; z < n[2] + 2; ++z)
    for (int y = -1; y < n[1] + 2; ++y)
      for (int x = -1; x < n[0] + 2; ++x) {
        bool blocked = false;
        if (pockets)
          for (int corner = 0; corner < 8; ++corner)
            // Of the voxel above the point.
            blocked |=
                pockets->blocked(index(x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2)));
        *out++ = with_last_bit(static_cast<F>(values[index(x, y, z)]), blocked);
      }
}
template void store_grid(const std::array<int, 3>&, bool, std::span<const double>, const Pockets*,
                         float*);
template void store_grid(const std::array<int, 3>&, bool, std::span<const double>, const Pockets*,
                         double*);

}  // namespace manymove::adsorption
