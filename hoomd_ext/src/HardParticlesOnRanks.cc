// SPDX-License-Identifier: BSD-3-Clause
// Particles that are spread over several ranks.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "Arrays.h"
#include "HardParticles.h"
#include "Peers.h"

namespace manymove::host {

using hoomd::access_location;
using hoomd::access_mode;
using hoomd::ArrayHandle;

namespace {

// Number of cells that a particle may be outside of its domain before HOOMD-blue migrates
// particles, unless a step moves particles by less.
constexpr double kCellsOutside = 4;

// The seconds since `then`, which becomes the present time.
double seconds_until_now(std::chrono::steady_clock::time_point& then) {
  const auto before = std::exchange(then, std::chrono::steady_clock::now());
  return std::chrono::duration<double>(then - before).count();
}

}  // namespace

// The engine's strips and slabs are not HOOMD-blue's domains: after a step the ranks hand positions
// over. As in HOOMD-blue's molecular dynamics, a particle that leaves its domain stays with its
// rank for some steps, because every migration copies all of HOOMD-blue's arrays.

void HardParticles::update_spread() {
  if (!fits() || !same_on_all_ranks()) make_engine();
  const int most = engine_->cycles_between_writes();
  for (int left = cycles_per_step(); left > 0;) {
    const int some = std::min(left, most);
    Clock::time_point time = Clock::now();
    engine_->enqueue(static_cast<std::uint64_t>(some));
    costs_.sweep_seconds += seconds_until_now(time);
    follow_box(true);
    // The number of cells can change with the box, hence the additional cell.
    hand_over(some + (beta_pressure_ != 0));
    left -= some;
  }
  ++costs_.steps;
  timestep_ += 1;
  seconds_ = std::chrono::duration<double>(Clock::now() - started_).count();
}

bool HardParticles::same_on_all_ranks() {
  const std::uint64_t before = look_.trace;
  std::uint64_t change = 0;
  on_all_ranks([&] {
    const Arrays arrays(*this, access_mode::read);
    look_ = hand_over_->look(domains(), {arrays.particles(), m_pdata->getN()}, !plain_disks());
    change = look_.trace - before;
    // A migration changes the checksums of ranks, but not their sum.
    if (find_farthest(change != 0)) ranks_->sum(&change, 1);
  });
  return change == 0;
}

// Replaces what this rank has found by what the farthest particle of all ranks has. Returns whether
// a rank has seen a change.
bool HardParticles::find_farthest(bool changed) {
  // The bits of positive floating-point numbers, as integers, have the order of the numbers.
  std::int64_t farthest[4] = {0, 0, 0, changed};
  std::memcpy(farthest, look_.outside.data(), sizeof look_.outside);
  ranks_->maximum(farthest, 4);
  std::memcpy(look_.outside.data(), farthest, sizeof look_.outside);
  return farthest[3];
}

void HardParticles::scale_held_positions(const std::array<double, 3>& before) {
  const std::array<double, 3> now = box();
  std::array<double, 3> factors;
  for (std::size_t a = 0; a < 3; ++a) factors[a] = now[a] / before[a];
  const Arrays arrays(*this, access_mode::readwrite);
  hand_over_->scale(factors, now, {arrays.particles(), m_pdata->getN()});
}

hard_particles::Domains HardParticles::domains() const {
  hard_particles::Domains domains;
#if defined(ENABLE_MPI)
  const auto decomposition = m_pdata->getDomainDecomposition();
  const std::array<double, 3> size = box();
  const uint3 number = decomposition->getGridSize();
  const unsigned int numbers[3] = {number.x, number.y, number.z};
  for (unsigned int a = 0; a < 3; ++a)
    for (unsigned int k = 0; k <= numbers[a]; ++k)
      domains.borders[a].push_back(size[a] * (decomposition->getCumulativeFraction(a, k) - 0.5));
  const ArrayHandle<unsigned int> rank(decomposition->getCartRanks(), access_location::host,
                                       access_mode::read);
  for (unsigned int x = 0; x < number.x; ++x)
    for (unsigned int y = 0; y < number.y; ++y)
      for (unsigned int z = 0; z < number.z; ++z)
        domains.ranks.push_back(
            static_cast<std::int32_t>(rank.data[decomposition->getDomainIndexer()(x, y, z)]));
#endif
  return domains;
}

void HardParticles::hand_over(double cells) {
#if defined(ENABLE_MPI)
  Clock::time_point time = Clock::now();
  const std::array<double, 3> width = engine_->cell_widths();
  std::array<double, 3> reach{}, allowed{};
  for (std::size_t a = 0; a < static_cast<std::size_t>(dimensions_); ++a) {
    reach[a] = look_.outside[a] + cells * width[a];
    allowed[a] = std::min(cells, kCellsOutside) * width[a];
  }
  on_all_ranks([&] {
    const Arrays arrays(*this, access_mode::readwrite);
    look_ = hand_over_->write(*engine_, domains(), reach, swap_rounds_ != 0, !plain_disks(),
                              {arrays.particles(), m_pdata->getN()});
    find_farthest(false);
  });
  costs_.exchange_seconds += seconds_until_now(time);
  // Other operations may need ghosts, which a migration brings.
  bool needed = m_comm->getGhostLayerMaxWidth() > 0;
  for (int domain = 0; domain < ranks_->ranks(); ++domain, needed = false) {
    for (std::size_t a = 0; a < 3; ++a) needed |= look_.outside[a] > allowed[a];
    if (!needed) break;
    migrate();
  }
  costs_.migration_seconds += seconds_until_now(time);
#else
  (void)cells;
#endif
}

// HOOMD-blue's migration, which sends particles to adjacent domains.
void HardParticles::migrate() {
#if defined(ENABLE_MPI)
  m_comm->forceMigrate();
  m_comm->communicate(timestep_);
  ++costs_.migrations;
  if (!same_on_all_ranks())
    throw std::runtime_error(name_ + ": the migration of particles has changed a position");
#endif
}

#if defined(ENABLE_MPI)

// HOOMD-blue calls this at the beginning of every communication, whichever operation requests it.
hoomd::CommFlags HardParticles::determineFlags(std::uint64_t timestep) {
  if (hand_over_ && engine_) {
    const Arrays arrays(*this, access_mode::readwrite);
    hand_over_->put_beyond_edges(domains(), {arrays.particles(), m_pdata->getN()});
  }
  return Integrator::determineFlags(timestep);
}

// HOOMD-blue calls this after every migration.
void HardParticles::restore(std::uint64_t) {
  if (!hand_over_) return;
  const Arrays arrays(*this, access_mode::readwrite);
  hand_over_->restore({arrays.particles(), m_pdata->getN()});
}

#endif

hard_particles::HandOverCounts HardParticles::hand_over_counts() const {
  return hand_over_ ? hand_over_->counts() : hard_particles::HandOverCounts{};
}

HardParticles::ExchangeCosts HardParticles::exchange_costs() const {
  ExchangeCosts costs = costs_;
  std::uint64_t sums[3] = {};
  on_all_ranks([&] {
    if (!ranks_) return;
    const hard_particles::HandOverCounts now = hand_over_counts();
    sums[0] = now.messages - counts_at_start_.messages;
    sums[1] = now.bytes - counts_at_start_.bytes;
    sums[2] = now.migrated - counts_at_start_.migrated;
    ranks_->sum(sums, 3);
  });
  costs.counts = {sums[0], sums[1], sums[2]};
  return costs;
}

}  // namespace manymove::host
