// SPDX-License-Identifier: BSD-3-Clause
// A frame of integers that is cut into bricks, one for each rank, by a grid of planes. The 2^32
// integers along an edge wrap: the last is next to the first.
#pragma once

#include <cstdint>
#include <vector>

#include "../runtime/macros.h"
#include "communicator.h"

namespace manymove {

// A block of the frame: from low[a] on, and `beyond[a]` more of them.
struct Brick {
  std::uint32_t low[3], beyond[3];
};

MM_HD bool is_in(const Brick& brick, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return x - brick.low[0] <= brick.beyond[0] && y - brick.low[1] <= brick.beyond[1] &&
         z - brick.low[2] <= brick.beyond[2];
}

// The same on all ranks; no call but sum() is collective.
class BrickDecomposition {
 public:
  // cut[a]: planes across edge a at these fractions of it, ascending, of which the first and the
  // last are the faces of the frame. rank: who has the bricks in between, [z][y][x]. reach: how far
  // from its brick a rank knows what others have, as a fraction of each edge. Throws
  // std::invalid_argument for a grid that does not fit the communicator, which must outlive this
  // object.
  BrickDecomposition(Communicator& communicator, const std::vector<double> (&cut)[3],
                     const std::vector<int>& rank, const double (&reach)[3]);

  Communicator& communicator() const { return *communicator_; }
  int rank() const { return communicator_->rank(); }
  int ranks() const { return communicator_->ranks(); }

  // parts()[r]: rank r's brick; reached()[r]: that brick grown by the reach.
  const std::vector<Brick>& parts() const { return parts_; }
  const std::vector<Brick>& reached() const { return reached_; }
  const Brick& here() const { return reached_[static_cast<std::size_t>(rank())]; }
  // Other ranks that know what this one has.
  const std::vector<int>& neighbors() const { return neighbors_; }
  int owner(std::uint32_t x, std::uint32_t y, std::uint32_t z) const;

  // The sum of the values of all ranks.
  std::int64_t sum(std::int64_t value) const {
    communicator_->sum(&value, 1);
    return value;
  }

 private:
  Communicator* communicator_;
  std::vector<Brick> parts_, reached_;
  std::vector<int> neighbors_;
};

}  // namespace manymove
