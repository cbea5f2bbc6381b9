// SPDX-License-Identifier: BSD-3-Clause
#include "hand_over.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "../runtime/text.h"
#include "host_particles.h"

namespace manymove::hard_particles {
namespace {

// Calls task(zero), a floating-point number of the host program's precision.
template <class Task>
void in_precision_of(const HostParticles& host, Task&& task) {
  host.double_precision ? task(0.0) : task(0.0f);
}

// An interval of an axis on which the box is periodic.
struct Interval {
  double middle, half, box;

  // Number of boxes to add to a coordinate in the box, so that it is nearest to the middle.
  int turns(double r) const {
    return r - middle > 0.5 * box ? -1 : r - middle < -0.5 * box ? 1 : 0;
  }
  // Distance of a coordinate from the interval; negative inside.
  double outside(double r) const {
    const double way = std::abs(r - middle);
    return std::min(way, box - way) - half;
  }
};
// The domain of a rank along each axis; it may end or begin at the other edge of the box.
std::array<Interval, 3> domain_of(const Domains& domains, int rank) {
  const std::array<std::size_t, 3> place = domains.place_of(rank);
  std::array<Interval, 3> domain;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::vector<double>& borders = domains.borders[a];
    const double begin = borders[place[a]], end = borders[place[a] + 1];
    domain[a] = {0.5 * (begin + end), 0.5 * (end - begin), borders.back() - borders.front()};
  }
  return domain;
}

// The domains along an axis within reach of a coordinate, around the box: `number` from `first` on.
struct Near {
  std::size_t first = 0, number = 1;
};
Near near_along(const std::vector<double>& borders, double r, double reach) {
  const std::size_t domains = borders.size() - 1;
  const double length = borders.back() - borders.front();
  if (domains == 1 || 2 * reach >= length) return {0, domains};
  double begin = r - reach;
  if (begin < borders.front()) begin += length;
  const auto above = std::upper_bound(borders.begin() + 1, borders.end() - 1, begin);
  Near near{static_cast<std::size_t>(above - borders.begin()) - 1};
  std::size_t domain = near.first;
  double left = 2 * reach - (borders[domain + 1] - begin);
  for (; left >= 0 && near.number < domains; ++near.number) {
    domain = (domain + 1) % domains;
    left -= borders[domain + 1] - borders[domain];
  }
  return near;
}

// Calls visit(rank) for each rank whose domain is within reach of a place.
template <class Visitor>
void for_ranks_near(const Domains& domains, const std::array<double, 3>& r,
                    const std::array<double, 3>& reach, Visitor&& visit) {
  std::array<Near, 3> near;
  std::array<std::size_t, 3> number;
  for (std::size_t a = 0; a < 3; ++a) {
    number[a] = domains.borders[a].size() - 1;
    near[a] = near_along(domains.borders[a], r[a], reach[a]);
  }
  for (std::size_t i = 0; i < near[0].number; ++i)
    for (std::size_t j = 0; j < near[1].number; ++j)
      for (std::size_t k = 0; k < near[2].number; ++k) {
        const std::size_t x = (near[0].first + i) % number[0], y = (near[1].first + j) % number[1],
                          z = (near[2].first + k) % number[2];
        visit(domains.ranks[(x * number[1] + y) * number[2] + z]);
      }
}

// A particle in a message: its tag, its coordinates in the host program's precision and, where
// types change, its type.
class Records {
 public:
  Records(std::size_t dimensions, std::size_t real, bool types)
      : dimensions_(dimensions), real_(real), types_(types) {}
  std::size_t bytes() const {
    return sizeof(std::uint32_t) + dimensions_ * real_ + (types_ ? sizeof(std::int32_t) : 0);
  }

  void add(std::vector<std::byte>& message, const ParticlePosition& particle) const {
    message.resize(message.size() + bytes());
    std::byte* at = message.data() + message.size() - bytes();
    const auto put = [&](const auto& value) {
      std::memcpy(at, &value, sizeof value);
      at += sizeof value;
    };
    put(particle.particle);
    for (std::size_t a = 0; a < dimensions_; ++a)
      real_ == sizeof(double) ? put(particle.r[a]) : put(static_cast<float>(particle.r[a]));
    if (types_) put(particle.type);
  }
  // Throws std::runtime_error for a particle that does not exist among `particles`.
  ParticlePosition read(const std::byte* at, std::size_t particles) const {
    ParticlePosition particle{};
    const auto get = [&](auto& value) {
      std::memcpy(&value, at, sizeof value);
      at += sizeof value;
    };
    get(particle.particle);
    if (particle.particle >= particles)
      throw std::runtime_error(
          text_of("particle ", particle.particle, " of ", particles, " does not exist"));
    for (std::size_t a = 0; a < dimensions_; ++a) {
      float single = 0;
      real_ == sizeof(double) ? get(particle.r[a]) : get(single);
      if (real_ != sizeof(double)) particle.r[a] = single;
    }
    if (types_) get(particle.type);
    return particle;
  }

 private:
  std::size_t dimensions_, real_;
  bool types_;
};

// Moves the particle at a place in the arrays of the host program; its image follows.
template <class Real>
void move_to(const HostParticles& host, std::size_t at, const ParticlePosition& particle,
             const Grid& grid) {
  auto& there = static_cast<HostPosition<Real>*>(host.position)[at];
  for (int a = 0; a < grid.dimensions; ++a) {
    const auto r = static_cast<Real>(particle.r[static_cast<std::size_t>(a)]);
    const int n = crossings(there.r[a], r, grid.box[a]);
    if (n && host.image) host.image[3 * at + static_cast<std::size_t>(a)] += n;
    there.r[a] = r;
  }
}

// Moves particles in the arrays of the host program, each once.
template <class Real>
class Writer {
 public:
  Writer(const HeldParticles& held, const Grid& grid)
      : host_(held.arrays), grid_(grid), written_(held.count) {}

  // Whether this rank holds the particle.
  bool write(const ParticlePosition& particle) {
    const std::size_t at = host_.index[particle.particle];
    if (at >= written_.size()) return false;
    if (written_[at])
      throw std::runtime_error(text_of("particle ", particle.particle, " has arrived twice"));
    written_[at] = 1;
    ++number_;
    move_to<Real>(host_, at, particle, grid_);
    if (particle.type >= 0)
      static_cast<HostPosition<Real>*>(host_.position)[at].r[3] = type_as_real<Real>(particle.type);
    return true;
  }
  void check() const {
    if (number_ != written_.size())
      throw std::runtime_error(text_of("of ", written_.size(), " particles of this rank ", number_,
                                       " have arrived: one was farther from its domain than a "
                                       "particle can go"));
  }

 private:
  const HostParticles& host_;
  const Grid& grid_;
  std::vector<char> written_;
  std::size_t number_ = 0;
};

}  // namespace

std::array<std::size_t, 3> Domains::place_of(std::int32_t rank) const {
  const auto at =
      static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  if (at == ranks.size()) throw std::runtime_error(text_of("rank ", rank, " has no domain"));
  const std::size_t y = borders[1].size() - 1, z = borders[2].size() - 1;
  return {at / (y * z), at / z % y, at % z};
}

void HandOver::write(Communicator& ranks, const Engine& engine, const Domains& domains,
                     const std::array<double, 3>& reach, bool types, const HeldParticles& held) {
  grid_ = engine.grid();
  const std::array<Interval, 3> domain = domain_of(domains, ranks.rank());
  border_.clear();
  in_precision_of(held.arrays, [&](auto zero) {
    using Real = decltype(zero);
    Writer<Real> writer(held, grid_);
    std::vector<ParticlePosition> own = engine.own_positions();
    const Records records(static_cast<std::size_t>(grid_.dimensions), sizeof(Real), types);
    std::vector<std::vector<std::byte>> messages(static_cast<std::size_t>(ranks.ranks()));
    for (ParticlePosition& particle : own) {
      for (int a = 0; a < grid_.dimensions; ++a) {
        double& r = particle.r[static_cast<std::size_t>(a)];
        r = static_cast<double>(below_edge<Real>(r, grid_.box[a]));
      }
      bool inner = true;
      for (std::size_t a = 0; a < 3; ++a)
        inner &= !domains.divided(a) || domain[a].outside(particle.r[a]) < -reach[a];
      if (inner) {
        writer.write(particle);
        continue;
      }
      bool here = false;
      for_ranks_near(domains, particle.r, reach, [&](std::int32_t rank) {
        here |= rank == ranks.rank();
        if (rank != ranks.rank()) records.add(messages[static_cast<std::size_t>(rank)], particle);
      });
      if (here) border_.push_back({particle});
    }
    for (const std::vector<std::byte>& message : messages) {
      counts_.messages += !message.empty();
      counts_.bytes += message.size();
    }
    const std::vector<std::byte> came = deliver(ranks, std::move(messages));
    if (came.size() % records.bytes())
      throw std::runtime_error(
          "a part of a particle has arrived: the ranks differ in what they send");
    for (std::size_t at = 0; at < came.size(); at += records.bytes())
      border_.push_back({records.read(came.data() + at, engine.particles())});
    for (Border& each : border_) each.was_here = writer.write(each.particle);
    writer.check();
  });
}

void HandOver::put_beyond_edges(int rank, const Domains& domains, const HeldParticles& held) const {
  const std::array<Interval, 3> domain = domain_of(domains, rank);
  in_precision_of(held.arrays, [&](auto zero) {
    using Real = decltype(zero);
    auto* const position = static_cast<HostPosition<Real>*>(held.arrays.position);
    for (std::size_t i = 0; i < held.count; ++i)
      for (std::size_t a = 0; a < 3; ++a) {
        Real& r = position[i].r[a];
        const int n = domains.divided(a) ? domain[a].turns(static_cast<double>(r)) : 0;
        if (!n) continue;
        const auto edge = static_cast<Real>(0.5 * domain[a].box);
        r += static_cast<Real>(n * domain[a].box);
        // Rounding could leave it at the edge; therefore it is put beyond the edge.
        r = n > 0 ? std::max(r, edge) : std::min(r, std::nextafter(-edge, -2 * edge));
        if (held.arrays.image) held.arrays.image[3 * i + a] -= n;
      }
  });
}

void HandOver::restore(const HeldParticles& held) {
  in_precision_of(held.arrays, [&](auto zero) {
    using Real = decltype(zero);
    constexpr auto kRounding = 4.0 * std::numeric_limits<Real>::epsilon();
    for (Border& each : border_) {
      const std::size_t at = held.arrays.index[each.particle.particle];
      if (at >= held.count) continue;
      const auto& there = static_cast<const HostPosition<Real>*>(held.arrays.position)[at];
      bool rounded = true;
      for (int a = 0; a < grid_.dimensions; ++a) {
        const double way =
            static_cast<double>(there.r[a]) - each.particle.r[static_cast<std::size_t>(a)];
        rounded &= std::abs(std::remainder(way, grid_.box[a])) <= kRounding * grid_.box[a];
      }
      // Otherwise another operation has moved it.
      if (rounded) move_to<Real>(held.arrays, at, each.particle, grid_);
      counts_.migrated += !std::exchange(each.was_here, true);
    }
  });
}

Look look_at(int rank, const Domains& domains, const HeldParticles& held, bool all) {
  const std::array<Interval, 3> domain = domain_of(domains, rank);
  Look look;
  in_precision_of(held.arrays, [&](auto zero) {
    const auto* const position =
        static_cast<const HostPosition<decltype(zero)>*>(held.arrays.position);
    for (std::size_t i = 0; i < held.count; ++i) {
      look.trace += trace_of(held.arrays.tag[i], position[i], all);
      for (std::size_t a = 0; a < 3; ++a)
        if (domains.divided(a))
          look.outside[a] =
              std::max(look.outside[a], domain[a].outside(static_cast<double>(position[i].r[a])));
    }
  });
  return look;
}

}  // namespace manymove::hard_particles
