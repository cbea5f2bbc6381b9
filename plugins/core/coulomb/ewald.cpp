// SPDX-License-Identifier: BSD-3-Clause
// From IEEE operations alone, so that the coefficients are the same bits on every machine.
#include "ewald.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace manymove::coulomb {
namespace {

using std::numbers::pi;
constexpr int kNodes = 18;             // along each axis of an octant
constexpr int kMostDegree = 16;        // of the polynomial of a cube
constexpr double kError = 1e-10;       // of the rest, in units of 1 / the longest edge
constexpr double kErrorSingle = 5e-7;  // the same in float32

using Tensor = std::vector<double>;  // [kNodes][kNodes][kNodes]
std::size_t at(int a, int b, int c) {
  return static_cast<std::size_t>((a * kNodes + b) * kNodes + c);
}

// The first of its permutations.
std::size_t sorted(int a, int b, int c) {
  int n[3] = {a, b, c};
  std::sort(n, n + 3);
  return at(n[0], n[1], n[2]);
}

// exp(-x) for 0 <= x < 60.
double decay(double x) {
  // exp(-x) = exp(-x / 2^7)^(2^7), by Taylor's series and seven squares.
  const double small = -x / 128;
  double sum = 1;
  for (int n = 12; n > 0; --n) sum = 1 + sum * small / n;
  for (int k = 0; k < 7; ++k) sum *= sum;
  return sum;
}

// cos(pi t) for |t| <= 1.
double cosine(double t) {
  // cos x = 1 - x^2 / (1 2) [1 - x^2 / (3 4) [1 - ...]], from the inside out; x^32 / 32! < 4e-20.
  const double x2 = pi * pi * t * t;
  double sum = 1;
  for (int n = 30; n > 0; n -= 2) sum = 1 - sum * x2 / (n * (n - 1));
  return sum;
}

// erf(x) / x: terms of one sign.
double erf_ratio(double x) {
  // erf(x) / x = 2 / sqrt(pi) exp(-x^2) sum over n of (2 x^2)^n / (1 3 5 ... (2 n + 1)).
  double term = 1, sum = 1;
  for (int n = 1; term > 1e-18 * sum; ++n) sum += term *= 2 * x * x / (2 * n + 1);
  return 2 / std::sqrt(pi) * decay(x * x) * sum;
}

// Ewald's sums for one box, in units in which its volume V is 1:
//   psi(r) = sum over images of erfc(alpha |r - n L|) / |r - n L|
//          + 4 pi / V sum over k != 0 of exp(-k^2 / 4 alpha^2) / k^2 cos(k r) - pi / (alpha^2 V),
// for any alpha.
class Sums {
 public:
  explicit Sums(const std::array<double, 3>& edge) : edge_(edge) {
    for (int a = 0; a < 3; ++a) {
      // Images up to alpha r = kReach and waves up to k / (2 alpha) = kReach: both ends are
      // erfc(6).
      images_[a] = static_cast<int>(kReach / kAlpha / edge_[a] + 1);
      modes_[a] = static_cast<std::size_t>(kReach * kAlpha * edge_[a] / pi);
    }
    for (std::size_t i = 0; i <= modes_[0]; ++i)
      for (std::size_t j = 0; j <= modes_[1]; ++j)
        for (std::size_t k = 0; k <= modes_[2]; ++k) {
          const std::size_t n[3] = {i, j, k};
          // The wave k = 2 pi n / L; its weight is 4 pi exp(-k^2 / 4 alpha^2) / k^2 for each sign
          // of n.
          double g2 = 0, weight = 4 * pi;
          for (int a = 0; a < 3; ++a) {
            const double g = 2 * pi * static_cast<double>(n[a]) / edge_[a];
            g2 += g * g;
            if (n[a]) weight *= 2;  // of -n, too
          }
          const double exponent = g2 / (4 * kAlpha * kAlpha);
          if (g2 == 0 || exponent > kReach * kReach) continue;
          waves_.push_back({{i, j, k}, weight * decay(exponent) / g2});
        }
  }

  // psi without the eight nearest images, at the fractions x of the edges, from 0 to 1/2.
  double rest(const std::array<double, 3>& x) const {
    double sum = -pi / (kAlpha * kAlpha);
    // erfc(x) / r = 1 / r - alpha erf(x) / x, x = alpha r: without 1 / r for the nearest images.
    for (int i = -images_[0]; i <= images_[0]; ++i)
      for (int j = -images_[1]; j <= images_[1]; ++j)
        for (int k = -images_[2]; k <= images_[2]; ++k) {
          const int n[3] = {i, j, k};
          double r2 = 0;
          bool nearest = true;
          for (int a = 0; a < 3; ++a) {
            const double d = (x[a] - n[a]) * edge_[a];
            r2 += d * d;
            nearest = nearest && (n[a] == 0 || n[a] == 1);
          }
          const double r = std::sqrt(r2);
          if (kAlpha * r < kReach) {
            // erfc(alpha r) / r, or for one of the nearest images the same less 1 / r.
            sum -= kAlpha * erf_ratio(kAlpha * r);
            if (!nearest) sum += 1 / r;
          } else if (nearest) {
            // Here erfc is 0 to 2e-17, so that only the 1 / r that is taken off remains.
            sum -= 1 / r;
          }
        }
    std::vector<double> cosines[3];
    for (int a = 0; a < 3; ++a) {
      cosines[a] = {1, cosine(2 * x[a])};
      for (std::size_t n = 2; n <= modes_[a]; ++n)
        // cos(n t) = 2 cos t cos((n - 1) t) - cos((n - 2) t).
        cosines[a].push_back(2 * cosines[a][1] * cosines[a].back() -
                             cosines[a][cosines[a].size() - 2]);
    }
    for (const Wave& wave : waves_)
      // cos(k r) summed over the signs of k is the product of the three cosines.
      sum += wave.weight * cosines[0][wave.n[0]] * cosines[1][wave.n[1]] * cosines[2][wave.n[2]];
    return sum;
  }

 private:
  static constexpr double kAlpha = 3.5449077018110318;  // 2 sqrt(pi)
  static constexpr double kReach = 6;                   // erfc(6) = 2e-17

  struct Wave {
    std::size_t n[3];
    double weight;
  };

  std::array<double, 3> edge_;
  int images_[3];
  std::size_t modes_[3];
  std::vector<Wave> waves_;
};

// Multiplies along each axis in turn: to[m] = sum over n of matrix[m][n] from[n].
void transform(Tensor& tensor, const std::vector<std::vector<double>>& matrix) {
  for (int turn = 0; turn < 3; ++turn) {
    Tensor to(tensor.size());
    for (int a = 0; a < kNodes; ++a)
      for (int b = 0; b < kNodes; ++b)
        for (int m = 0; m < kNodes; ++m) {
          double sum = 0;
          for (int n = 0; n < kNodes; ++n) sum += matrix[m][n] * tensor[at(a, b, n)];
          to[at(m, a, b)] = sum;  // the next axis comes last
        }
    tensor.swap(to);
  }
}

using Matrix = std::vector<std::vector<double>>;
Matrix square_matrix() { return Matrix(kNodes, std::vector<double>(kNodes)); }

// From values at the nodes cos(pi (k + 1/2) / (2 kNodes)) to coefficients of the even Chebyshev
// polynomials T_2a.
Matrix to_chebyshev() {
  // c_a = (2 - delta_a0) / n sum over k of f(t_k) T_2a(t_k), exact for even polynomials below 2 n.
  Matrix m = square_matrix();
  for (int a = 0; a < kNodes; ++a)
    for (int k = 0; k < kNodes; ++k) {
      // T_2a at the node: cos(a (2 k + 1) pi / (2 kNodes)), reduced to one turn in integers.
      const int turns = a * (2 * k + 1) % (4 * kNodes);  // of pi / (2 kNodes)
      const double t = static_cast<double>(turns) / (2 * kNodes);
      m[a][k] = (a ? 2.0 : 1.0) / kNodes * cosine(t > 1 ? t - 2 : t);
    }
  return m;
}

// From these to powers of the square, T_2a(x) = T_a(2 x^2 - 1).
Matrix to_powers() {
  // T_a(y) = 2 y T_(a-1)(y) - T_(a-2)(y) with y = 2 x^2 - 1, in powers of x^2.
  Matrix column = square_matrix();  // [a][power]
  column[0][0] = 1;
  column[1][0] = -1;
  column[1][1] = 2;
  for (int a = 2; a < kNodes; ++a)
    for (int n = 0; n < kNodes; ++n)
      column[a][n] = (n ? 4 * column[a - 1][n - 1] : 0) - 2 * column[a - 1][n] - column[a - 2][n];
  Matrix m = square_matrix();
  for (int a = 0; a < kNodes; ++a)
    for (int n = 0; n < kNodes; ++n) m[n][a] = column[a][n];
  return m;
}

void for_each_term(int degree, const auto& task) {
  for (int a = 0; a <= degree; ++a)
    for (int b = 0; a + b <= degree; ++b)
      for (int c = 0; a + b + c <= degree; ++c) task(a, b, c);
}

// Which products of Chebyshev polynomials are kept.
struct Kept {
  std::vector<char> term;  // [kNodes][kNodes][kNodes]
  double error;            // bound of the others' sum: each is at most 1 in magnitude
};

// In a cube those up to the least total degree that serves.
Kept up_to_a_degree(const Tensor& chebyshev, double error) {
  Kept kept{};
  for (int degree = 0; degree <= kMostDegree; ++degree) {
    kept = {std::vector<char>(chebyshev.size()), 0};
    for (int a = 0; a < kNodes; ++a)
      for (int b = 0; b < kNodes; ++b)
        for (int c = 0; c < kNodes; ++c)
          if (a + b + c <= degree)
            kept.term[at(a, b, c)] = 1;
          else
            kept.error += std::abs(chebyshev[at(a, b, c)]);
    if (kept.error <= error) break;
  }
  return kept;
}

// Otherwise as few as possible, so that with a term all of lower degrees are kept: a term is as
// large as the largest of those that could not be kept without it.
Kept largest_terms(const Tensor& chebyshev, double error) {
  Tensor size(chebyshev.size());
  for (int a = kNodes - 1; a >= 0; --a)
    for (int b = kNodes - 1; b >= 0; --b)
      for (int c = kNodes - 1; c >= 0; --c) {
        // The largest |c| at or above (a, b, c) in all three degrees.
        double& own = size[at(a, b, c)];
        own = std::abs(chebyshev[at(a, b, c)]);
        if (a + 1 < kNodes) own = std::max(own, size[at(a + 1, b, c)]);
        if (b + 1 < kNodes) own = std::max(own, size[at(a, b + 1, c)]);
        if (c + 1 < kNodes) own = std::max(own, size[at(a, b, c + 1)]);
      }
  std::vector<std::size_t> order(chebyshev.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
  std::sort(order.begin(), order.end(), [&](std::size_t m, std::size_t n) {
    return size[m] < size[n] || (size[m] == size[n] && m > n);
  });
  Kept kept{std::vector<char>(chebyshev.size(), 1), 0};
  for (const std::size_t n : order) {
    // |T_a T_b T_c| <= 1, so what is dropped changes the sum by at most the sum of its |c|.
    if (kept.error + std::abs(chebyshev[n]) > error) break;
    kept.error += std::abs(chebyshev[n]);
    kept.term[n] = 0;
  }
  return kept;
}

// A symmetric polynomial by the elementary symmetric ones (Gauss): that with the leading term
// u^a v^b w^c is s^(a-b) t^(b-c) q^c.
Tensor by_elementary(Tensor powers, int degree) {
  Tensor elementary(powers.size());
  for (int a = degree; a >= 0; --a)
    for (int b = std::min(a, degree - a); b >= 0; --b)
      for (int c = std::min(b, degree - a - b); c >= 0; --c) {
        const double factor = powers[at(a, b, c)];
        if (factor == 0) continue;
        // Its product expanded is subtracted, which removes the leading term; the rest is symmetric
        // with lower ones.
        elementary[at(a - b, b - c, c)] = factor;
        Tensor product(powers.size());
        product[at(c, c, c)] = factor;
        for (int k = 0; k < a - c; ++k) {
          Tensor next(powers.size());
          for_each_term(degree - 1, [&](int i, int j, int l) {
            const double term = product[at(i, j, l)];
            // Times s = u + v + w for a - b factors, then t = u v + u w + v w for b - c; q^c came
            // first.
            if (term == 0) return;
            if (k < a - b) {
              next[at(i + 1, j, l)] += term;
              next[at(i, j + 1, l)] += term;
              next[at(i, j, l + 1)] += term;
            } else {
              next[at(i + 1, j + 1, l)] += term;
              next[at(i + 1, j, l + 1)] += term;
              next[at(i, j + 1, l + 1)] += term;
            }
          });
          product.swap(next);
        }
        for_each_term(degree,
                      [&](int i, int j, int l) { powers[at(i, j, l)] -= product[at(i, j, l)]; });
      }
  return elementary;
}

// In the order of add_rest(). `longest` is the axis of s.
template <class S>
RestTerms<S> in_order(Tensor chebyshev, double error, bool cubic, int longest, double scale) {
  const Kept kept = cubic ? up_to_a_degree(chebyshev, error) : largest_terms(chebyshev, error);
  for (int a = 0; a < kNodes; ++a)
    for (int b = 0; b < kNodes; ++b)
      for (int c = 0; c < kNodes; ++c) {
        double& term = chebyshev[at(a, b, c)];
        if (!kept.term[at(a, b, c)])
          term = 0;
        else if (cubic)  // no rounding may make it less symmetric
          term = chebyshev[sorted(a, b, c)];
      }
  transform(chebyshev, to_powers());
  const Tensor terms = cubic ? by_elementary(std::move(chebyshev), kMostDegree) : chebyshev;
  const auto place = [&](int i, int j, int k) {  // of s^i t^j q^k
    return longest == 0 ? at(i, j, k) : longest == 1 ? at(j, i, k) : at(k, j, i);
  };
  // Coefficients of the line of t^j q^k. In a cube s^i t^j q^k has the degree i + 2 j + 3 k.
  const auto length = [&](int j, int k) {
    int i = 0;
    if (cubic)
      while (i + 2 * j + 3 * k < kNodes && kept.term[at(i + 2 * j + 3 * k, 0, 0)]) ++i;
    else
      while (i < kNodes && kept.term[place(i, j, k)]) ++i;
    return i;
  };
  RestTerms<S> list{{}, {}, kept.error * scale};
  // From the highest powers down, as Horner's rule takes them; an odd line is padded with a 0.
  for (int k = kNodes - 1; k >= 0; --k)
    for (int j = kNodes - 1; j >= 0; --j) {
      const int n = length(j, k), pairs = (n + 1) / 2;
      if (n == 0) continue;
      list.lines.push_back(static_cast<std::uint8_t>(2 * pairs + (j == 0 ? 1 : 0)));
      if (n % 2) list.coefficients.push_back(0);
      for (int i = n - 1; i >= 0; --i)
        list.coefficients.push_back(static_cast<S>(terms[place(i, j, k)] * scale));
    }
  list.coefficients.insert(list.coefficients.end(), 2, S{0});
  list.lines.push_back(0);
  return list;
}

}  // namespace

std::shared_ptr<const EwaldBox> make_ewald_box(const float (&edge)[3]) {
  // The volume's cube root, from square roots: x^(1/3) is a fixed point of sqrt(sqrt(x v)).
  const double volume = double{edge[0]} * edge[1] * edge[2];
  double size = edge[0];
  for (int k = 0; k < 60; ++k) size = std::sqrt(std::sqrt(size * volume));
  const double longest = std::max({edge[0], edge[1], edge[2]});
  const std::array<double, 3> scaled{edge[0] / size, edge[1] / size, edge[2] / size};
  auto box = std::make_shared<EwaldBox>();
  box->cubic = edge[0] == edge[1] && edge[1] == edge[2];
  const Sums sums(scaled);
  Tensor values(static_cast<std::size_t>(kNodes) * kNodes * kNodes);
  double node[kNodes];
  // Fractions (1 - t) / 2 of an edge at the nodes t: half the cell, as the rest is even about 1/2.
  for (int k = 0; k < kNodes; ++k) node[k] = (1 - cosine((k + 0.5) / (2 * kNodes))) / 2;
  for (int a = 0; a < kNodes; ++a)
    for (int b = 0; b < kNodes; ++b)
      for (int c = 0; c < kNodes; ++c) {
        // In a cube the rest does not change when coordinates are exchanged.
        const bool known = box->cubic && sorted(a, b, c) != at(a, b, c);
        values[at(a, b, c)] =
            known ? values[sorted(a, b, c)] : sums.rest({node[a], node[b], node[c]});
      }
  transform(values, to_chebyshev());
  box->longest = 0;
  for (int a = 1; a < 3; ++a)
    if (edge[a] > edge[box->longest]) box->longest = a;
  box->terms =
      in_order<double>(values, kError * size / longest, box->cubic, box->longest, 1 / size);
  box->terms_single =
      in_order<float>(values, kErrorSingle * size / longest, box->cubic, box->longest, 1 / size);
  double images = 0;
  for (int corner = 1; corner < 8; ++corner) {
    double r2 = 0;
    for (int a = 0; a < 3; ++a)
      if (corner >> a & 1) r2 += scaled[a] * scaled[a];
    images += 1 / std::sqrt(r2);
  }
  // psi - 1 / r at an ion: the seven other corners of the cell, and the smooth rest.
  box->at_origin = (sums.rest({0, 0, 0}) + images) / size;
  double most = 0;
  for (const double c : values) most += std::abs(c);
  // Each of seven images is at least half an edge away.
  box->largest = most / size + 7 / (std::min({edge[0], edge[1], edge[2]}) / 2.0);
  return box;
}

}  // namespace manymove::coulomb
