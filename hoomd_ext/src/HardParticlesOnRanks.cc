// SPDX-License-Identifier: BSD-3-Clause
// Particles that are spread over several ranks.
#include <algorithm>
#include <optional>
#include <vector>

#include "Compat.h"
#include "HardParticles.h"
#include "InBox.h"
#include "Peers.h"
#include "core/parallel/rendezvous.h"

namespace manymove::host {

using hoomd::access_location;
using hoomd::access_mode;
using hoomd::ArrayHandle;
using hoomd::Scalar;
using hoomd::Scalar4;

namespace {

// What a rank brings to a particle's owner. z is 0 in two dimensions.
struct Point {
  double r[3];
  std::int32_t type;  // -1: unchanged
};

}  // namespace

// The engine's strips and slabs are not HOOMD-blue's domains: after a step every rank fetches the
// positions of its particles, and HOOMD-blue sends those that have left the domain to the next one.

void HardParticles::update_spread() {
  if (!fits() || !same_on_all_ranks()) make_engine();
  const int most = cycles_between_migrations();
  for (int left = cycles_per_step(); left > 0;) {
    const int some = std::min(left, most);
    engine_->enqueue(static_cast<std::uint64_t>(some));
    follow_box(true);
    migrate();
    left -= some;
  }
  timestep_ += 1;
  seconds_ = std::chrono::duration<double>(Clock::now() - started_).count();
}

bool HardParticles::same_on_all_ranks() const {
  std::uint64_t moved = 0;
  on_all_ranks([&] {
    const ArrayHandle<Scalar4> position(m_pdata->getPositions(), access_location::host,
                                        access_mode::read);
    const ArrayHandle<unsigned int> index(m_pdata->getRTags(), access_location::host,
                                          access_mode::read);
    const unsigned int n = m_pdata->getN();
    moved = written_.size() != n;
    for (const Written& last : written_) {
      const unsigned int i = index.data[last.tag];  // not below n on other ranks
      moved += i >= n || !is_as_written(position.data[i], last);
    }
    ranks_->sum(&moved, 1);
  });
  return moved == 0;
}

bool HardParticles::is_as_written(const Scalar4& now, const Written& last) const {
  return now.x == last.r[0] && now.y == last.r[1] && (dimensions_ == 2 || now.z == last.r[2]) &&
         (plain_disks() || hoomd::__scalar_as_int(now.w) == last.type);
}

// A particle goes to the next domain only, and its image is found by the nearest way.
int HardParticles::cycles_between_migrations() const {
  const auto mine = m_pdata->getBox().getL(), all = m_pdata->getGlobalBox().getL();
  const std::array<double, 3> cell = engine_->cell_widths();
  const Scalar domain[3] = {mine.x, mine.y, mine.z}, whole[3] = {all.x, all.y, all.z};
  int cycles = engine_->cycles_between_writes();
  for (int a = 0; a < dimensions_; ++a)
    if (domain[a] < whole[a])
      cycles = std::min(cycles, static_cast<int>(static_cast<double>(domain[a]) /
                                                 cell[static_cast<std::size_t>(a)]));
  std::int64_t fewest = -cycles;
  on_all_ranks([&] { ranks_->maximum(&fewest, 1); });
  if (fewest > -1) refuse(": a rank's domain is narrower than a cell: take fewer ranks");
  return static_cast<int>(-fewest);
}

void HardParticles::migrate() {
#if defined(ENABLE_MPI)
  // The particles that this rank has at the moment, in HOOMD-blue's order.
  const auto tags_here = [&] {
    const ArrayHandle<unsigned int> tag(m_pdata->getTags(), access_location::host,
                                        access_mode::read);
    return std::vector<unsigned int>(tag.data, tag.data + m_pdata->getN());
  };
  std::optional<Rendezvous<Point>> rendezvous;
  std::vector<unsigned int> before;
  std::vector<Point> to;
  const auto size = m_pdata->getGlobalBox().getL();
  on_all_ranks([&] {
    rendezvous.emplace(*ranks_, m_pdata->getNGlobal());
    for (const hard_particles::ParticlePosition& each : engine_->own_positions())
      rendezvous->bring(each.particle, {{each.r[0], each.r[1], each.r[2]}, each.type});
    rendezvous->exchange();
    before = tags_here();
    to = rendezvous->fetch(before.data(), before.size());
    const auto whole = m_pdata->getBox().getPeriodic();  // along an axis that is not divided
    const ArrayHandle<Scalar4> position(m_pdata->getPositions(), access_location::host,
                                        access_mode::readwrite);
    const ArrayHandle<int3> image(m_pdata->getImages(), access_location::host,
                                  access_mode::readwrite);
    // HOOMD-blue itself brings what crosses the edge of a divided axis to the other side.
    const auto move = [](Scalar& r, int& turn, double target, Scalar length, bool undivided) {
      const Scalar way = in_box(target, length) - r;
      const int n = way > length / 2 ? -1 : way < -length / 2 ? 1 : 0;
      if (undivided) turn += n;
      r = in_box(target, length) + (undivided ? Scalar(0) : static_cast<Scalar>(n) * length);
    };
    for (std::size_t i = 0; i < to.size(); ++i) {
      move(position.data[i].x, image.data[i].x, to[i].r[0], size.x, whole.x);
      move(position.data[i].y, image.data[i].y, to[i].r[1], size.y, whole.y);
      if (dimensions_ == 3) move(position.data[i].z, image.data[i].z, to[i].r[2], size.z, whole.z);
      if (to[i].type >= 0) position.data[i].w = hoomd::__int_as_scalar(to[i].type);
    }
  });
  m_comm->forceMigrate();
  m_comm->communicate(timestep_);

  on_all_ranks([&] {
    // HOOMD-blue keeps the order of particles that stayed and appends those that came. If the order
    // is different, the remaining ones are fetched like those that came.
    const std::vector<unsigned int> after = tags_here();
    std::vector<Point> now;
    for (auto old = before.begin(); now.size() < after.size(); ++old) {
      old = std::find(old, before.end(), after[now.size()]);
      if (old == before.end()) break;
      now.push_back(to[static_cast<std::size_t>(old - before.begin())]);
    }
    const std::vector<Point> came =
        rendezvous->fetch(after.data() + now.size(), after.size() - now.size());
    now.insert(now.end(), came.begin(), came.end());

    // Positions are restored to the last bit, because crossing an edge rounds them.
    const ArrayHandle<Scalar4> position(m_pdata->getPositions(), access_location::host,
                                        access_mode::readwrite);
    written_.resize(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      Scalar4& here = position.data[i];
      here.x = in_box(now[i].r[0], size.x);
      here.y = in_box(now[i].r[1], size.y);
      if (dimensions_ == 3) here.z = in_box(now[i].r[2], size.z);
      written_[i] = {after[i], {here.x, here.y, here.z}, hoomd::__scalar_as_int(here.w)};
    }
  });
#endif
}

}  // namespace manymove::host
