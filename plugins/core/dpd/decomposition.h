// SPDX-License-Identifier: BSD-3-Clause
// The box shared among ranks: each has the particles in its part and copies of those in reach of
// it, ghosts. A position is an integer of the whole frame on every rank, so that a ghost is a plain
// copy and belongs to its nearest image by itself.
#pragma once

#include <array>

#include "../common/communicator.h"
#include "frame.h"

namespace manymove::dpd {

// A block of the frame, in high words of positions: from low[a] on, and `beyond[a]` more of them.
struct Part {
  std::uint32_t low[3], beyond[3];
};

MM_HD bool is_in(const Part& part, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return x - part.low[0] <= part.beyond[0] && y - part.low[1] <= part.beyond[1] &&
         z - part.low[2] <= part.beyond[2];
}

// Of the frame along an edge, what both have in common.
double common_share(const Part& a, const Part& b, int axis);

// Where a particle is in the arrays of the host programs.
struct Home {
  std::int32_t rank, index;
};

// A particle on its way there.
struct Arrival {
  std::int32_t index;
  int image[3];
  double position[3], velocity[3], force[3];

  void enter(const HostArrays& arrays) const;
};

class Decomposition {
 public:
  // Ranks know what is within cutoff + skin + ahead of their parts. Throws std::invalid_argument
  // for a grid that does not fit the communicator.
  Decomposition(const Settings& settings, Communicator& communicator, double ahead = 0);

  Communicator& communicator() const { return communicator_; }
  int rank() const { return communicator_.rank(); }
  int ranks() const { return communicator_.ranks(); }

  // By rank: the particles it has, and with those that it knows.
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Part>& reached() const { return reached_; }
  const Part& here() const { return reached_[static_cast<std::size_t>(rank())]; }
  // Other ranks that know particles of this one.
  const std::vector<int>& neighbours() const { return neighbours_; }
  int owner(std::uint32_t x, std::uint32_t y, std::uint32_t z) const;

  // Of all ranks.
  std::int64_t sum(std::int64_t value) const;

 private:
  Communicator& communicator_;
  std::vector<Part> parts_, reached_;
  std::vector<int> neighbours_;
};

// Where the particles with these tags are, if rank r has tag[0] to tag[count - 1] of its call; all
// ranks call it. Memory and messages are proportional to a rank's own particles. Throws
// std::runtime_error on all ranks for a tag that no rank has.
MANYMOVE_API std::vector<Home> find_homes(Communicator& communicator,
                                          const std::vector<std::uint32_t>& asked, int count,
                                          const std::uint32_t* tag);

// value[home.index] of the rank home.rank, for each of the homes. Collective.
std::vector<std::array<double, 3>> fetch_from_homes(Communicator& communicator,
                                                    const std::vector<Home>& homes,
                                                    const double (*value)[3]);

}  // namespace manymove::dpd
