// SPDX-License-Identifier: BSD-3-Clause
// Particles that are spread over several ranks.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "Arrays.h"
#include "HardParticles.h"
#include "HostArray.h"

namespace manymove::host {
using hoomd::access_mode;

// The engine's strips and slabs are not HOOMD-blue's domains: after a step the ranks hand positions
// over. As in HOOMD-blue's molecular dynamics, a particle that leaves its domain stays with its
// rank for some steps, because every migration copies all of HOOMD-blue's arrays.

void HardParticles::update_spread() {
  for (int left = cycles_per_step(); left > 0;) {
    if (!fits()) make_engine();
    const int some = std::min(left, engine_->cycles_between_writes());
    if (sweep_spread(some))
      left -= some;
    else
      make_engine();
  }
  // Other operations may need ghosts, which a migration brings.
  if (ghosts_needed() && same_on_all_ranks()) migrate_far({});
  running_ = true;
  ++costs_.steps;
  timestep_ += 1;
  seconds_ = seconds_since(started_);
}

// Returns false, and has done nothing, if other operations have moved particles. A GPU makes the
// sweeps while the ranks find that out, and while HOOMD-blue migrates particles.
bool HardParticles::sweep_spread(int cycles) {
  const std::array<double, 3> width = engine_->cell_widths();
  std::array<double, 3> allowed{};
  for (std::size_t a = 0; a < static_cast<std::size_t>(dimensions_); ++a)
    allowed[a] = std::min<double>(cycles, kCellsOutside) * width[a];
  bool same = false, apart = false;
  const auto sweep = [&] { engine_->start(static_cast<std::uint64_t>(cycles)); };
  on_all_ranks([&] {
    const bool ahead = engine_->runs_ahead() && std::exchange(was_same_, false) && !muvt_;
    hand_over_->begin();
    if (ahead) sweep();
    begin_look();
    was_same_ = same = end_look();
    if (!same && ahead) {
      engine_->take_back();
      stale_ = true;  // its cells are those after the cycles
    }
    if (!same) return;
    if (!ahead) sweep();
    // These have collective calls of HOOMD-blue.
    apart = is_far(allowed) || beta_pressure_ != 0 || muvt_;
    if (!apart) write(cycles);
  });
  if (!same || !apart) return same;
  if (muvt_ && follow_number()) {
    write_and_migrate(kAnywhere);  // new particles are on the first rank
    return true;
  }
  // The migration, which has seconds of its own, is between begin() and write().
  const double before = costs_.migration_seconds;
  migrate_far(allowed);
  counts_at_start_.sweep_seconds += costs_.migration_seconds - before;
  follow_box(true);
  // The number of cells can change with the box, hence the additional cell.
  on_all_ranks([&] { write(cycles + (beta_pressure_ != 0)); });
  return true;
}

bool HardParticles::same_on_all_ranks() {
  bool same = false;
  on_all_ranks([&] {
    begin_look();
    same = end_look();
  });
  return same;
}

void HardParticles::begin_look() {
  const Arrays arrays(*this, access_mode::read);
  hand_over_->look(domains(), {arrays.particles(), m_pdata->getN()}, !plain_disks());
}

bool HardParticles::end_look() {
  look_ = hand_over_->found();
  return look_.same();
}

bool HardParticles::is_far(const std::array<double, 3>& allowed) const {
  for (std::size_t a = 0; a < 3; ++a)
    if (look_.outside[a] > allowed[a]) return true;
  return false;
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
  const HostArray<unsigned int> rank(decomposition->getCartRanks());
  for (unsigned int x = 0; x < number.x; ++x)
    for (unsigned int y = 0; y < number.y; ++y)
      for (unsigned int z = 0; z < number.z; ++z)
        domains.ranks.push_back(
            static_cast<std::int32_t>(rank.data[decomposition->getDomainIndexer()(x, y, z)]));
#endif
  return domains;
}

void HardParticles::write(double cells) {
  const std::array<double, 3> width = engine_->cell_widths();
  std::array<double, 3> reach{};
  for (std::size_t a = 0; a < static_cast<std::size_t>(dimensions_); ++a)
    reach[a] = look_.outside[a] + cells * width[a];
  const Arrays arrays(*this, access_mode::readwrite);
  hand_over_->write(*engine_, domains(), reach, swap_rounds_ != 0, !plain_disks(),
                    {arrays.particles(), m_pdata->getN()});
}

void HardParticles::write_and_migrate(double cells) {
  on_all_ranks([&] {
    begin_look();
    end_look();
    write(cells);
    begin_look();
    end_look();
  });
  std::array<double, 3> allowed = engine_->cell_widths();
  for (double& each : allowed) each *= kCellsOutside;
  migrate_far(allowed);
}

bool HardParticles::ghosts_needed() const {
#if defined(ENABLE_MPI)
  return m_comm->getGhostLayerMaxWidth() > 0;
#else
  return false;
#endif
}

// Each of HOOMD-blue's migrations sends particles to adjacent domains.
void HardParticles::migrate_far(const std::array<double, 3>& allowed) {
#if defined(ENABLE_MPI)
  const Clock::time_point began = Clock::now();
  bool needed = ghosts_needed();
  for (int domain = 0; domain < ranks_->ranks(); ++domain, needed = false) {
    if (!needed && !is_far(allowed)) break;
    m_comm->forceMigrate();
    m_comm->communicate(timestep_);
    ++costs_.migrations;
    if (!same_on_all_ranks())
      throw std::runtime_error(name_ + ": the migration of particles has changed a position");
  }
  costs_.migration_seconds += seconds_since(began);
#else
  (void)allowed;
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

HardParticles::ExchangeCosts HardParticles::exchange_costs() {
  settle();
  ExchangeCosts costs = costs_;
  costs.seconds = seconds_;
  std::uint64_t sums[3] = {};
  among_ranks([&](Communicator& ranks) {
    const hard_particles::HandOverCounts now = hand_over_counts();
    costs.counts.sweep_seconds = now.sweep_seconds - counts_at_start_.sweep_seconds;
    costs.counts.exchange_seconds = now.exchange_seconds - counts_at_start_.exchange_seconds;
    sums[0] = now.messages - counts_at_start_.messages;
    sums[1] = now.bytes - counts_at_start_.bytes;
    sums[2] = now.migrated - counts_at_start_.migrated;
    ranks.sum(sums, 3);
  });
  costs.counts.messages = sums[0];
  costs.counts.bytes = sums[1];
  costs.counts.migrated = sums[2];
  return costs;
}

}  // namespace manymove::host
