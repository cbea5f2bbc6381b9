// SPDX-License-Identifier: BSD-3-Clause
// The places and neighbor lists of a chunk of particles, for kernels.cpp alone.
#pragma once

#include "step_arguments.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

template <Precision P>
void place(const StepArguments<P>& s, int first, int last, BoundingSphere* sphere,
           std::uint32_t* key) {
  for (int i = first; i < last; ++i) {
    sphere[i] = bounding_sphere_of<P>(s.cells, s.motion, s.position[i], s.velocity[i]);
    key[i] = morton_key(s.cells, sphere[i].x, sphere[i].y, sphere[i].z);
  }
}

template <Precision P>
class ListLoop {
 public:
  ListLoop(const StepArguments<P>& arguments, const Candidates& candidates, std::uint32_t* entries,
           std::int64_t room)
      : l_(arguments), c_(candidates), entries_(entries), room_(room) {}

  std::int64_t run(int first, int last) {
    for (int i = first; i < last;) {
      const int cell = l_.cell[i];
      // Particles are in the order of cells: the candidates of a cell serve all of its particles.
      look_around(cell);
      for (; i < last && l_.cell[i] == cell; ++i) {
        // Room for all candidates, so that append() needs no test.
        if (length_ + count_ > room_) return length_ + count_;
        const std::int64_t before = length_;
        if (l_.cells.narrow)
          test_narrow(i);
        else
          test(i);
        c_.in[own_ + i - l_.range[0][cell].first] = 0;  // the particle itself
        append(i);
        l_.number[i] = static_cast<int>(length_ - before);
      }
    }
    return length_;
  }

 private:
  // The particles in a cell and those around it, first all of the rank, then ghosts.
  void look_around(int cell) {
    const Cells& cells = l_.cells;
    const int x = cell % cells.here[0], y = cell / cells.here[0] % cells.here[1],
              z = cell / (cells.here[0] * cells.here[1]);
    reference_ = l_.sphere[l_.range[0][cell].first];
    count_ = 0;
    for (int whose = 0; whose < 2 && l_.range[whose]; ++whose) {
      for (int k = 0; k < 27; ++k) {
        const int other = neighbor_cell(cells, x, y, z, k);
        if (other < 0) continue;
        // Neighbor 13 of 0 to 26 is the cell itself: its own particles are candidates from own_ on.
        if (whose == 0 && k == 13) own_ = count_;
        const CellRange range = l_.range[whose][other];
        for (int j = range.first; j < range.last; ++j) add(j);
      }
    }
    // append() reads whole groups of four or eight.
    for (int n = count_; n % 8; ++n) c_.in[n] = 0;
  }

  // Places relative to the cell's first particle; those of narrow cells as they are.
  void add(int j) {
    const BoundingSphere b = l_.sphere[j];
    const int n = count_++;
    c_.index[n] = static_cast<std::uint32_t>(j);
    c_.radius[n] = b.radius;
    if (l_.cells.narrow) {
      c_.x[n] = as_float(b.x);
      c_.y[n] = as_float(b.y);
      c_.z[n] = as_float(b.z);
      return;
    }
    const Vector<float> position =
        list_position(l_.cells, b.x - reference_.x, b.y - reference_.y, b.z - reference_.z);
    c_.x[n] = position.x;
    c_.y[n] = position.y;
    c_.z[n] = position.z;
    c_.square[n] = list_square(position, b.radius);
  }

  // Which candidates are in reach: |r_j - r_i| < cutoff + s_i + s_j with the radii s of the
  // spheres, multiplied out as in cells.h.
  void test(int i) {
    const BoundingSphere& at = l_.sphere[i];
    const ListCenter here = list_center(
        l_.cells,
        list_position(l_.cells, at.x - reference_.x, at.y - reference_.y, at.z - reference_.z),
        at.radius);
    const Candidates c = c_;
    const float* __restrict x = c.x;
    const float* __restrict y = c.y;
    const float* __restrict z = c.z;
    const float* __restrict radius = c.radius;
    const float* __restrict square = c.square;
    std::uint8_t* __restrict in = c.in;
    for (int n = 0; n < count_; ++n)
      in[n] = within_reach(here, {x[n], y[n], z[n]}, radius[n], square[n]) ? 1 : 0;
  }
  // The same from the difference of both centers, which wraps to the nearest image.
  void test_narrow(int i) {
    const BoundingSphere& at = l_.sphere[i];
    for (int n = 0; n < count_; ++n)
      c_.in[n] = within_reach(l_.cells, bits_of(c_.x[n]) - at.x, bits_of(c_.y[n]) - at.y,
                              bits_of(c_.z[n]) - at.z, at.radius, c_.radius[n])
                     ? 1
                     : 0;
  }

  void append(int i) {
    const LinkSpan specials = l_.links.slot ? l_.links.specials_of(i) : LinkSpan{};
    if (specials.count > 0)
      append_special(specials);
    else
      append_plain();
  }
  // Four candidates at a time, whose bytes are gathered into four bits by a product; what is stored
  // behind the last entry is within kReadAhead.
  void append_plain() {
    static_assert(kReadAhead >= kGroup && kGroup == 4);
    for (int from = 0; from < count_; from += kGroup) {
      std::uint32_t bytes;  // 0 or 1, which become the lowest bits
      std::memcpy(&bytes, c_.in + from, sizeof bytes);
      // b0 2^24 + b1 2^25 + b2 2^26 + b3 2^27 and nothing else in these four bits: byte k times
      // 2^(24 - 7 k) for the bytes b_k at 2^(8 k).
      const unsigned bits = (bytes * 0x01020408u) >> 24 & 0xfu;
      length_ += store_some(four_at(c_.index + from), bits, entries_ + length_);
    }
  }
  // Looks up the kind of each candidate in reach, which is in the upper two bits of its entry.
  void append_special(const LinkSpan& specials) {
    for (int from = 0; from < count_; from += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, c_.in + from, sizeof eight);
      for (; eight; eight &= eight - 1) {
        const std::uint32_t j = c_.index[from + __builtin_ctzll(eight) / 8],
                            kind = kind_among(specials, l_.velocity[j].tag);
        if (!(l_.excluded >> kind & 1u)) entries_[length_++] = j | kind << 30;
      }
    }
  }
  static std::uint32_t kind_among(const LinkSpan& specials, std::uint32_t tag) {
    std::uint32_t kind = 0;
    for (std::uint32_t k = 0; k < specials.count; ++k)
      if (partner_of(specials.first[k]) == tag) kind = kind_of(specials.first[k]);
    return kind;
  }

  const StepArguments<P>& l_;
  const Candidates c_;
  std::uint32_t* const entries_;
  const std::int64_t room_;
  std::int64_t length_ = 0;
  BoundingSphere reference_;
  int count_ = 0, own_ = 0;  // candidates, and the first of the cell itself
};

template <Precision P>
std::int64_t list(const StepArguments<P>& arguments, int first, int last,
                  const Candidates& candidates, std::uint32_t* entries, std::int64_t room) {
  return ListLoop<P>(arguments, candidates, entries, room).run(first, last);
}

}  // namespace
}  // namespace manymove::dpd::MANYMOVE_SIMD
