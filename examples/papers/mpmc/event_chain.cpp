// SPDX-License-Identifier: BSD-3-Clause
// Event chains of hard disks with unit diameter in a periodic square box (E. P. Bernard, W. Krauth,
// D. B. Wilson, Phys. Rev. E 80, 056704, 2009), the serial method to which the paper compares its
// pressures (Table 2, rows BK). The program shares nothing with the engine except the random number
// generator.
//
// A chain is straight. A random disk moves along x or y until it touches another disk, which then
// continues in the same direction, and so on, until the displacements add up to the length of the
// chain. No move is rejected. The separations of the pairs along the chain at their contacts give
// the pressure (M. Michel, S. C. Kapfer, W. Krauth, J. Chem. Phys. 140, 054116, 2014):
// P / (rho kT) = 1 + <sum of the separations> / length.
//
// table_2_event_chain.py compiles this file with the C++ compiler.
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/philox.h"

struct Setup {
  std::int32_t disks, cells;  // cells along an edge, at least 3; none is narrower than a disk
  double edge, length;        // of the box, of a chain, in diameters
  std::uint64_t seed, first_chain;
  std::int64_t records, chains;  // chains of a record, half of them along each axis
};

namespace {

constexpr int kSlots = 4;  // disks of a cell narrower than the root of 2

struct Cell {
  int count = 0;
  double at[kSlots][2];  // from the corner of the cell
};

// Cells of the box with their disks.
class Box {
 public:
  explicit Box(const Setup& s)
      : cells_(s.cells),
        width_(s.edge / s.cells),
        cell_(static_cast<std::size_t>(s.cells) * s.cells) {}

  // Returns false if the cell is full, which is impossible without overlaps.
  bool add(double x, double y) {
    const int column = index_of(x), row = index_of(y);
    const double at[2] = {x - column * width_, y - row * width_};
    return add(cell(column, row), at);
  }

  // Positions cell by cell.
  void write(double* positions) const {
    for (int row = 0; row < cells_; ++row)
      for (int column = 0; column < cells_; ++column) {
        const Cell& c = cell_[static_cast<std::size_t>(row) * cells_ + column];
        for (int slot = 0; slot < c.count; ++slot) {
          *positions++ = column * width_ + c.at[slot][0];
          *positions++ = row * width_ + c.at[slot][1];
        }
      }
  }

  // A chain along axis A from a disk that the words of `random` select. Adds the separations at
  // the contacts to `sum` and returns the number of contacts, or -1 if a cell is full.
  template <int A, class Random>
  std::int64_t chain(Random random, double length, double& sum) {
    int k[2], slot;
    do {  // every disk is as probable as every other
      k[0] = static_cast<int>(random(static_cast<std::uint32_t>(cells_)));
      k[1] = static_cast<int>(random(static_cast<std::uint32_t>(cells_)));
      slot = static_cast<int>(random(kSlots));
    } while (slot >= cell(k[0], k[1]).count);
    constexpr int B = 1 - A;
    std::int64_t contacts = 0;
    for (;;) {
      Cell& here = cell(k[0], k[1]);
      double* const p = here.at[slot];
      double free = width_ - p[A], separation = 0;  // up to the next cell
      int hit = -1, hit_along = 0, hit_across = 0;
      for (int across = -1; across <= 1; ++across)
        for (int along = 0; along <= 1; ++along) {
          const Cell& near =
              A == 0 ? cell(k[0] + along, k[1] + across) : cell(k[0] + across, k[1] + along);
          const double oa = along * width_ - p[A], ob = across * width_ - p[B];
          for (int other = 0; other < near.count; ++other) {
            const double da = near.at[other][A] + oa, db = near.at[other][B] + ob;
            const double square = 1 - db * db;
            if (square <= 0 || da <= 0 || (&near == &here && other == slot)) continue;
            const double contact = std::sqrt(square);
            if (da - contact < free) {
              free = da - contact;
              separation = contact;
              hit = other, hit_along = along, hit_across = across;
            }
          }
        }
      if (free < 0) free = 0;  // rounding of a disk that touches
      if (length <= free) {
        p[A] += length;
        return contacts;
      }
      length -= free;
      p[A] += free;
      if (hit >= 0) {
        ++contacts;
        sum += separation;
        slot = hit;
        k[A] = wrapped(k[A] + hit_along);
        k[B] = wrapped(k[B] + hit_across);
      } else {
        double at[2];
        at[A] = 0;
        at[B] = p[B];
        const int last = --here.count;
        here.at[slot][0] = here.at[last][0];
        here.at[slot][1] = here.at[last][1];
        k[A] = wrapped(k[A] + 1);
        Cell& next = cell(k[0], k[1]);
        if (!add(next, at)) return -1;
        slot = next.count - 1;
      }
    }
  }

 private:
  int wrapped(int k) const { return k < 0 ? k + cells_ : k >= cells_ ? k - cells_ : k; }
  int index_of(double x) const {
    const int k = static_cast<int>(x / width_);
    return k < 0 ? 0 : k >= cells_ ? cells_ - 1 : k;
  }
  Cell& cell(int column, int row) {
    return cell_[static_cast<std::size_t>(wrapped(row)) * cells_ + wrapped(column)];
  }
  static bool add(Cell& c, const double (&at)[2]) {
    if (c.count == kSlots) return false;
    c.at[c.count][0] = at[0];
    c.at[c.count][1] = at[1];
    ++c.count;
    return true;
  }

  int cells_;
  double width_;
  std::vector<Cell> cell_;
};

// Uniform integers of a chain.
class Words {
 public:
  Words(std::uint64_t seed, std::uint64_t chain) : seed_(seed), chain_(chain) {}
  std::uint32_t operator()(std::uint32_t n) {
    if (used_ == 4) {
      word_[0] = static_cast<std::uint32_t>(chain_);
      word_[1] = static_cast<std::uint32_t>(chain_ >> 32);
      word_[2] = call_++;
      word_[3] = 0;
      manymove::philox(word_, manymove::PhiloxKey{static_cast<std::uint32_t>(seed_),
                                                  static_cast<std::uint32_t>(seed_ >> 32)});
      used_ = 0;
    }
    return manymove::uniform_below(word_[used_++], n);
  }

 private:
  std::uint64_t seed_, chain_;
  std::uint32_t word_[4], call_ = 0;
  int used_ = 4;
};

}  // namespace

// Runs records * chains chains, along x and y in turn. positions (disks, 2) in [0, edge) are those
// before and after, in another order. Each entry of sums (records) is the sum of the separations at
// the contacts of a record, and *contacts counts them. Returns nullptr or the text of an error.
extern "C" const char* event_chain(const Setup* setup, double* positions, double* sums,
                                   std::int64_t* contacts) {
  const Setup& s = *setup;
  if (s.cells < 3 || s.edge < s.cells) return "there must be 3 cells or more, as wide as a disk";
  Box box(s);
  for (int i = 0; i < s.disks; ++i)
    if (!box.add(positions[2 * i], positions[2 * i + 1])) return "a cell has more than four disks";
  std::uint64_t number = s.first_chain;
  for (std::int64_t record = 0; record < s.records; ++record)
    for (std::int64_t k = 0; k < s.chains; ++k, ++number) {
      const Words random(s.seed, number);
      const std::int64_t made = number % 2 == 0 ? box.chain<0>(random, s.length, sums[record])
                                                : box.chain<1>(random, s.length, sums[record]);
      if (made < 0) return "a cell has more than four disks";
      *contacts += made;
    }
  box.write(positions);
  return nullptr;
}
