// SPDX-License-Identifier: BSD-3-Clause
#include "packing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace manymove::hard_particles {
namespace {

constexpr double over_relaxation = 1.6;  // of the projection of a pair onto contact
constexpr double skin = 0.3;             // in diameters: pairs closer than 1 + skin are listed

struct Point {
  double x, y;
};

double wrap(double x, double length) {
  // Into [-L/2, L/2), also where rounding ends at L/2.
  x -= length * std::floor(x / length + 0.5);
  if (x >= length / 2) x -= length;
  return std::max(x, -length / 2);
}

// The points drift out of the box by less than the skin between two wraps, so one period is enough.
double nearest_image(double dx, double length) {
  return dx > length / 2 ? dx - length : (dx < -length / 2 ? dx + length : dx);
}

std::size_t cells_along(double length, double width) {
  const auto cells = static_cast<std::size_t>(length / width);
  return cells < 3 ? 1 : cells;  // of two, each would be the other's neighbor on both sides
}

class Quench {
 public:
  Quench(std::span<const double> positions, double lx, double ly, double diameter)
      : m_lx(lx),
        m_ly(ly),
        m_diameter(diameter),
        m_points(positions.size() / 2),
        m_tags(m_points.size()),
        m_moves(m_points.size()) {
    for (std::size_t i = 0; i < m_points.size(); ++i) {
      m_points[i] = {positions[2 * i], positions[2 * i + 1]};
      m_tags[i] = static_cast<std::uint32_t>(i);
    }
  }

  void list_pairs() {
    sort_by_cell();
    m_partners.clear();
    m_pairs_begin.assign(m_points.size() + 1, 0);
    for (std::size_t row = 0; row < m_rows; ++row)
      for (std::size_t column = 0; column < m_columns; ++column) list_pairs_of_cell(column, row);
    std::fill(m_moves.begin(), m_moves.end(), Point{0, 0});
    m_largest_move2 = 0;
  }

  // Two points that each have moved skin / 2 may have come from beyond the listed distance.
  bool list_is_stale() const { return m_largest_move2 > skin * skin / 4 * m_diameter * m_diameter; }

  bool moved_since_listed() const { return m_largest_move2 > 0; }

  // Deepest overlap of the listed pairs, in units of length.
  double deepest() const {
    double closest = m_diameter * m_diameter;
    for (std::size_t i = 0; i < m_points.size(); ++i)
      for (std::size_t k = m_pairs_begin[i]; k < m_pairs_begin[i + 1]; ++k) {
        const Point d = separation(i, m_partners[k]);
        closest = std::min(closest, d.x * d.x + d.y * d.y);
      }
    return closest < m_diameter * m_diameter ? m_diameter - std::sqrt(closest) : 0;
  }

  // Pushes each overlapping pair apart to `margin` beyond contact, one after the other; false when
  // there was none.
  bool push_apart(double margin) {
    bool overlap = false;
    for (std::size_t i = 0; i < m_points.size(); ++i)
      for (std::size_t k = m_pairs_begin[i]; k < m_pairs_begin[i + 1]; ++k) {
        const std::size_t j = m_partners[k];
        const Point d = separation(i, j);
        const double r2 = d.x * d.x + d.y * d.y;
        if (r2 < m_diameter * m_diameter) {
          overlap = true;
          const double r = std::sqrt(r2);
          // From r to diameter + margin, and beyond by the over-relaxation; half of it each.
          const double half = 0.5 * (over_relaxation * (m_diameter - r) + margin);
          // Points at the same place part along x.
          const Point push = r > 0 ? Point{half * d.x / r, half * d.y / r} : Point{half, 0};
          move(i, push);
          move(j, {-push.x, -push.y});
        }
      }
    return overlap;
  }

  void write(std::span<double> positions) const {
    for (std::size_t i = 0; i < m_points.size(); ++i) {
      positions[2 * m_tags[i]] = m_points[i].x;
      positions[2 * m_tags[i] + 1] = m_points[i].y;
    }
  }

 private:
  Point separation(std::size_t i, std::size_t j) const {
    return {nearest_image(m_points[i].x - m_points[j].x, m_lx),
            nearest_image(m_points[i].y - m_points[j].y, m_ly)};
  }

  void move(std::size_t i, Point push) {
    m_points[i].x += push.x;
    m_points[i].y += push.y;
    // Since pairs were listed; half the skin bounds it (list_is_stale()).
    m_moves[i].x += push.x;
    m_moves[i].y += push.y;
    m_largest_move2 =
        std::max(m_largest_move2, m_moves[i].x * m_moves[i].x + m_moves[i].y * m_moves[i].y);
  }

  // Counting sort, stable: the order within a cell is the order before.
  void sort_by_cell() {
    // Wider cells list the same pairs. They keep the cells of a large dilute box few.
    // At most 64 cells for each point, or 2^24 for few, and never more than 2^31, whose numbers fit
    // 32 bits.
    const double most = std::clamp(64.0 * static_cast<double>(m_points.size()), 0x1p24, 0x1p31);
    const double width =
        std::max({(1 + skin) * m_diameter, std::sqrt(m_lx / most) * std::sqrt(m_ly), m_lx / most,
                  m_ly / most});
    m_columns = cells_along(m_lx, width);
    m_rows = cells_along(m_ly, width);
    std::vector<std::uint32_t> cell(m_points.size());
    m_cells_begin.assign(m_columns * m_rows + 1, 0);
    for (std::size_t i = 0; i < m_points.size(); ++i) {
      Point& p = m_points[i];
      p = {wrap(p.x, m_lx), wrap(p.y, m_ly)};
      const auto column =
          static_cast<std::size_t>((p.x / m_lx + 0.5) * static_cast<double>(m_columns));
      const auto row = static_cast<std::size_t>((p.y / m_ly + 0.5) * static_cast<double>(m_rows));
      cell[i] = static_cast<std::uint32_t>(std::min(row, m_rows - 1) * m_columns +
                                           std::min(column, m_columns - 1));
      ++m_cells_begin[cell[i] + 1];
    }
    // Numbers become places: sums of the numbers of all cells before.
    for (std::size_t c = 0; c + 1 < m_cells_begin.size(); ++c)
      m_cells_begin[c + 1] += m_cells_begin[c];
    std::vector<std::uint32_t> next(m_cells_begin.begin(), m_cells_begin.end() - 1);
    std::vector<Point> points(m_points.size());
    std::vector<std::uint32_t> tags(m_points.size());
    for (std::size_t i = 0; i < m_points.size(); ++i) {
      const std::uint32_t slot = next[cell[i]]++;
      points[slot] = m_points[i];
      tags[slot] = m_tags[i];
    }
    m_points.swap(points);
    m_tags.swap(tags);
  }

  void list_pairs_of_cell(std::size_t column, std::size_t row) {
    const std::size_t here = row * m_columns + column;
    const std::size_t right = (column + 1) % m_columns, left = (column + m_columns - 1) % m_columns;
    const std::size_t above = (row + 1) % m_rows * m_columns;
    // Right, above, and the two corners above: each pair of neighboring cells once.
    std::size_t neighbors[4];
    std::size_t count = 0;
    if (m_columns > 1) neighbors[count++] = row * m_columns + right;
    if (m_rows > 1) neighbors[count++] = above + column;
    if (m_columns > 1 && m_rows > 1) {
      neighbors[count++] = above + left;
      neighbors[count++] = above + right;
    }
    for (std::size_t i = m_cells_begin[here]; i < m_cells_begin[here + 1]; ++i) {
      list_partners(i, i + 1, m_cells_begin[here + 1]);
      for (std::size_t n = 0; n < count; ++n)
        list_partners(i, m_cells_begin[neighbors[n]], m_cells_begin[neighbors[n] + 1]);
      m_pairs_begin[i + 1] = m_partners.size();
    }
  }

  void list_partners(std::size_t i, std::size_t begin, std::size_t end) {
    const double range = (1 + skin) * m_diameter;
    for (std::size_t j = begin; j < end; ++j) {
      const Point d = separation(i, j);
      if (d.x * d.x + d.y * d.y < range * range)
        m_partners.push_back(static_cast<std::uint32_t>(j));
    }
  }

  double m_lx, m_ly, m_diameter;
  std::vector<Point> m_points;        // sorted by cell when listed
  std::vector<std::uint32_t> m_tags;  // index of each point in the caller's array
  std::vector<Point> m_moves;         // displacement of each point since the pairs were listed
  double m_largest_move2 = 0;         // squared length of the longest of them
  std::vector<std::uint32_t> m_cells_begin;
  // Partners of point i: m_partners[m_pairs_begin[i] .. m_pairs_begin[i + 1]).
  std::vector<std::size_t> m_pairs_begin;
  std::vector<std::uint32_t> m_partners;
  std::size_t m_columns = 1, m_rows = 1;
};

}  // namespace

Relaxation relax_overlaps(std::span<double> positions, double lx, double ly, double diameter,
                          std::size_t max_iterations) {
  Quench quench(positions, lx, ly, diameter);
  quench.list_pairs();
  // The gap opened beyond contact makes a chain of pushes end after finitely many; shallow overlaps
  // of a dense packing must not be answered with gaps that do not fit.
  const double margin = std::clamp(0.1 * quench.deepest(), 1e-7 * diameter, 1e-2 * diameter);
  std::size_t iterations = 0;
  bool overlap = quench.deepest() > 0;
  while (overlap && iterations < max_iterations) {
    ++iterations;
    overlap = quench.push_apart(margin);
    // The end counts only with a list that is of the present positions.
    if (quench.list_is_stale() || (!overlap && quench.moved_since_listed())) {
      quench.list_pairs();
      overlap = true;
    }
  }
  quench.list_pairs();  // wraps the points: the depth is that of the coordinates handed back
  quench.write(positions);
  return {iterations, quench.deepest() / diameter};
}

}  // namespace manymove::hard_particles
