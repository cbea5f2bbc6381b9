// SPDX-License-Identifier: BSD-3-Clause
#include "HardDisks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "Compat.h"
#include "Peers.h"
#include "core/parallel/rendezvous.h"

namespace manymove::host {

using hoomd::access_location;
using hoomd::access_mode;
using hoomd::ArrayHandle;
using hoomd::Scalar;
using hoomd::Scalar4;

namespace {

using Point = std::array<double, 2>;

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

// HOOMD-blue's own arrays, where its device has them.
class HardDisks::Arrays {
 public:
  Arrays(HardDisks& self, access_mode::Enum mode)
      : where_(home_of(*self.m_exec_conf)),
        position_(self.m_pdata->getPositions(), where_, mode),
        image_(self.m_pdata->getImages(), where_, mode),
        index_(self.m_pdata->getRTags(), where_, access_mode::read),
        tag_(self.m_pdata->getTags(), where_, access_mode::read) {}

  hard_particles::HostParticles particles() const {
    return {position_.data, sizeof(Scalar) == sizeof(double),
            reinterpret_cast<std::int32_t*>(image_.data), index_.data, tag_.data};
  }

 private:
  access_location::Enum where_;
  ArrayHandle<Scalar4> position_;
  ArrayHandle<int3> image_;
  ArrayHandle<unsigned int> index_, tag_;
};

HardDisks::HardDisks(std::shared_ptr<hoomd::SystemDefinition> system, int threads)
    : Integrator(system, Scalar(0)),
      threads_(threads),
      ranks_(peers_of(*m_exec_conf)),
      diameter_(m_pdata->getNTypes(), std::numeric_limits<double>::quiet_NaN()),
      max_displacement_(m_pdata->getNTypes(), std::numeric_limits<double>::quiet_NaN()) {
  if (gpus_of(*m_exec_conf).size() > 1)
    throw std::runtime_error("hoomd.manymove.HardDisks runs on one GPU per rank");
}

// ---- parameters, which hard_disks.py has checked ----

void HardDisks::set_shape(const std::string& type, const pybind11::dict& shape) {
  set(diameter_.at(m_pdata->getTypeByName(type)), shape["diameter"].cast<double>());
}

pybind11::dict HardDisks::shape(const std::string& type) const {
  pybind11::dict shape;
  shape["diameter"] = diameter_.at(m_pdata->getTypeByName(type));
  return shape;
}

void HardDisks::set_max_displacement(const std::string& type, double d) {
  set(max_displacement_.at(m_pdata->getTypeByName(type)), d);
}

double HardDisks::max_displacement(const std::string& type) const {
  return max_displacement_.at(m_pdata->getTypeByName(type));
}

// Sweeps between two shifts of the grid.
int HardDisks::rounds() const {
  int rounds = 4;
  while (sweeps_per_step_ % rounds) --rounds;
  return rounds;
}

double HardDisks::common(const std::vector<double>& values, const char* what) const {
  for (std::size_t type = 1; type < values.size(); ++type)
    if (values[type] != values[0])
      throw std::invalid_argument(
          std::string("hoomd.manymove.HardDisks moves disks of one size alike: types ") +
          m_pdata->getNameByType(0) + " and " +
          m_pdata->getNameByType(static_cast<unsigned int>(type)) + " have different " + what);
  return values.at(0);
}

// ---- running ----

void HardDisks::prepRun(std::uint64_t timestep) {
  timestep_ = timestep;
  recover();
  check_plane();
  prepare();
  at_start_ = total();
  noticed_ = false;
  started_ = Clock::now();
  seconds_ = 0;
}

void HardDisks::update(std::uint64_t timestep) {
  timestep_ = timestep;
  check_system();
  if (ranks_) {
    update_spread();
    return;
  }
  const int all = cycles_per_step();
  int left = all;
  if (fits()) {
    const int some = std::min(left, engine_->cycles_between_writes());
    if (engine_->enqueue_if_same(static_cast<std::uint64_t>(some),
                                 Arrays(*this, access_mode::readwrite).particles()))
      left -= some;
  }
  if (left == all) make_engine();
  const Arrays arrays(*this, access_mode::readwrite);
  while (left > 0) {
    const int some = std::min(left, engine_->cycles_between_writes());
    engine_->enqueue(static_cast<std::uint64_t>(some), arrays.particles());
    left -= some;
  }
  running_ = true;
  timestep_ = timestep + 1;  // what is read or made from now on belongs there
  seconds_ = seconds_since(started_);
}

void HardDisks::recover() {
  if (!ranks_ || ranks_->watchdog().can_go_on()) return;
  before_ = total();
  engine_.reset();
  stale_ = true;
  ranks_ = peers_of(*m_exec_conf);
}

void HardDisks::prepare() {
  check_system();
  if (!fits() || !(ranks_ ? same_on_all_ranks()
                          : engine_->same_positions(Arrays(*this, access_mode::read).particles())))
    make_engine();
}

bool HardDisks::fits() const {
  const auto size = m_pdata->getGlobalBox().getL();
  return !stale_ && engine_->particles() == m_pdata->getNGlobal() && box_[0] == size.x &&
         box_[1] == size.y && seed_ == m_sysdef->getSeed();
}

void HardDisks::check_system() const {
  if (m_sysdef->getNDimensions() != 2)
    throw std::invalid_argument("hoomd.manymove.HardDisks needs a 2D box (Lz = 0)");
  if (m_pdata->getGlobalBox().getTiltFactorXY() != 0)
    throw std::invalid_argument("hoomd.manymove.HardDisks needs a rectangular box (xy = 0)");
  if (m_pdata->getMaximumTag() + 1 != m_pdata->getNGlobal())
    throw std::invalid_argument(
        "hoomd.manymove.HardDisks needs the tags 0 to N - 1: particles have been removed");
}

// A snapshot of a 2D box may have particles above and below the plane.
void HardDisks::check_plane() const {
  if (m_sysdef->getNDimensions() != 2) return;
  struct Found {
    std::int64_t tag;
    double z;
  } found{-1, 0};
  on_all_ranks([&] {
    const ArrayHandle<Scalar4> position(m_pdata->getPositions(), access_location::host,
                                        access_mode::read);
    const ArrayHandle<unsigned int> tag(m_pdata->getTags(), access_location::host,
                                        access_mode::read);
    for (unsigned int i = 0; i < m_pdata->getN(); ++i)
      if (position.data[i].z != 0 && (found.tag < 0 || tag.data[i] < found.tag))
        found = {tag.data[i], static_cast<double>(position.data[i].z)};
    if (!ranks_) return;
    std::vector<Found> all(static_cast<std::size_t>(ranks_->ranks()));
    ranks_->gather(&found, all.data(), sizeof found);
    for (const Found& other : all)
      if (other.tag >= 0 && (found.tag < 0 || other.tag < found.tag)) found = other;
  });
  if (found.tag >= 0)
    throw std::invalid_argument(
        "hoomd.manymove.HardDisks needs z = 0 in a 2D box: the particle with tag " +
        std::to_string(found.tag) + " has z = " + std::to_string(found.z));
}

hard_particles::Parameters HardDisks::parameters() const {
  hard_particles::Parameters parameters;
  const auto size = m_pdata->getGlobalBox().getL();
  parameters.box[0] = static_cast<double>(size.x);
  parameters.box[1] = static_cast<double>(size.y);
  parameters.diameter = diameter();
  return parameters;
}

double HardDisks::largest_displacement() const {
  check_system();
  return hard_particles::largest_displacement(parameters());
}

void HardDisks::make_engine() {
  check_plane();
  hard_particles::Parameters parameters = this->parameters();
  parameters.max_displacement = common(max_displacement_, "d");
  parameters.moves_per_cell = moves_per_cell_;
  parameters.rounds = rounds();
  parameters.seed = seed_ = m_sysdef->getSeed();
  parameters.repair_depth = repair_depth_;
  // Random numbers belong to a cycle: none is used twice, for a step has fewer cycles than 2^20.
  const hard_particles::Counters so_far = total();
  parameters.first_cycle = std::max(timestep_ << 20, so_far.cycles);

  const auto gpus = gpus_of(*m_exec_conf);
  const std::string device = gpus.empty() ? "cpu" : "cuda:" + std::to_string(gpus[0]);
  const std::vector<double> xy = positions_by_tag();
  std::unique_ptr<hard_particles::Engine> engine;
  hard_particles::Repair repaired;
  try {
    const std::size_t particles = m_pdata->getNGlobal();
    if (ranks_) {
      hard_particles::Snapshot whole;
      on_each_rank([&] {
        whole = hard_particles::make_snapshot(xy.data(), particles, parameters, repaired);
      });
      engine =
          hard_particles::make_engine(&whole, particles, parameters, device, threads_, *ranks_);
    } else {
      engine = hard_particles::make_engine(xy.data(), particles, parameters, device, threads_);
      repaired = engine->repair();
    }
  } catch (const std::invalid_argument& error) {
    std::string text = error.what();  // in this integrator's words
    for (const auto& [ours, theirs] :
         {std::pair{"disks ", "particles with tags "}, std::pair{"disk ", "the particle with tag "},
          std::pair{"position of disk ", "position of tag "}, std::pair{"max_displacement", "d"}})
      if (text.rfind(ours, 0) == 0) text.replace(0, std::string(ours).size(), theirs);
    throw std::invalid_argument("hoomd.manymove.HardDisks: " + text);
  }
  before_.trial_moves = so_far.trial_moves;
  before_.accepted_moves = so_far.accepted_moves;
  engine_ = std::move(engine);
  box_[0] = parameters.box[0];
  box_[1] = parameters.box[1];
  stale_ = false;
  repaired_ = repaired;
  if (repaired_.count)
    m_exec_conf->msg->notice(std::exchange(noticed_, true) ? 5 : 2)
        << "hoomd.manymove.HardDisks: pushed " << repaired_.count
        << " overlapping pairs apart, the deepest by " << repaired_.depth << " diameters\n";
  if (ranks_)
    migrate();
  else
    engine_->write_positions(Arrays(*this, access_mode::readwrite).particles());
}

std::vector<double> HardDisks::positions_by_tag() const {
  std::vector<double> xy;
  on_each_rank([&] {
    xy.resize(2 * static_cast<std::size_t>(m_pdata->getNGlobal()));
    const ArrayHandle<Scalar4> position(m_pdata->getPositions(), access_location::host,
                                        access_mode::read);
    const ArrayHandle<unsigned int> tag(m_pdata->getTags(), access_location::host,
                                        access_mode::read);
    for (unsigned int i = 0; i < m_pdata->getN(); ++i) {
      xy[2 * std::size_t{tag.data[i]}] = static_cast<double>(position.data[i].x);
      xy[2 * std::size_t{tag.data[i]} + 1] = static_cast<double>(position.data[i].y);
    }
  });
  on_all_ranks([&] {
    if (ranks_) ranks_->sum(xy.data(), xy.size());
  });
  return xy;
}

// ---- several ranks ----
// The engine's strips are not HOOMD-blue's domains: after a step every rank fetches the positions
// of its particles, and HOOMD-blue sends those that have left the domain to the next one.

namespace {

// HOOMD-blue's precision may round a coordinate up to the edge of the box, which is outside.
Scalar in_box(double r, Scalar length) {
  const Scalar edge = length / 2, rounded = static_cast<Scalar>(r);
  return rounded < edge ? rounded : std::nextafter(edge, Scalar(0));
}

}  // namespace

void HardDisks::update_spread() {
  if (!fits() || !same_on_all_ranks()) make_engine();
  const int most = cycles_between_migrations();
  for (int left = cycles_per_step(); left > 0;) {
    const int some = std::min(left, most);
    engine_->enqueue(static_cast<std::uint64_t>(some));
    migrate();
    left -= some;
  }
  timestep_ += 1;
  seconds_ = seconds_since(started_);
}

bool HardDisks::same_on_all_ranks() const {
  std::uint64_t moved = 0;
  on_all_ranks([&] {
    const ArrayHandle<Scalar4> position(m_pdata->getPositions(), access_location::host,
                                        access_mode::read);
    const ArrayHandle<unsigned int> index(m_pdata->getRTags(), access_location::host,
                                          access_mode::read);
    const unsigned int n = m_pdata->getN();
    moved = left_.size() != n;
    for (const Left& left : left_) {
      const unsigned int i = index.data[left.tag];  // not below n on other ranks
      moved += i >= n || position.data[i].x != left.x || position.data[i].y != left.y;
    }
    ranks_->sum(&moved, 1);
  });
  return moved == 0;
}

// A particle goes to the next domain only, and its image is found by the nearest way.
int HardDisks::cycles_between_migrations() const {
  const auto mine = m_pdata->getBox().getL(), all = m_pdata->getGlobalBox().getL();
  const hard_particles::Grid grid = engine_->grid();
  const double domain[2] = {static_cast<double>(mine.x), static_cast<double>(mine.y)};
  int cycles = engine_->cycles_between_writes();
  for (int a = 0; a < 2; ++a)
    if (domain[a] < static_cast<double>(a == 0 ? all.x : all.y))
      cycles = std::min(cycles, static_cast<int>(domain[a] / grid.cell_width[a]));
  std::int64_t fewest = -cycles;
  on_all_ranks([&] { ranks_->maximum(&fewest, 1); });
  if (fewest > -1)
    throw std::invalid_argument(
        "hoomd.manymove.HardDisks: a rank's domain is narrower than a cell: take fewer ranks");
  return static_cast<int>(-fewest);
}

void HardDisks::migrate() {
#if defined(ENABLE_MPI)
  // The particles that this rank has at the moment, in HOOMD-blue's order.
  const auto tags_here = [&] {
    const ArrayHandle<unsigned int> tag(m_pdata->getTags(), access_location::host,
                                        access_mode::read);
    return std::vector<unsigned int>(tag.data, tag.data + m_pdata->getN());
  };
  std::optional<Rendezvous<Point>> meeting;
  std::vector<unsigned int> before;
  std::vector<Point> to;
  const auto size = m_pdata->getGlobalBox().getL();
  on_all_ranks([&] {
    meeting.emplace(*ranks_, m_pdata->getNGlobal());
    for (const hard_particles::DiskPosition& disk : engine_->own_positions())
      meeting->bring(disk.disk, disk.xy);
    meeting->exchange();
    before = tags_here();
    to = meeting->fetch(before.data(), before.size());
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
      move(position.data[i].x, image.data[i].x, to[i][0], size.x, whole.x);
      move(position.data[i].y, image.data[i].y, to[i][1], size.y, whole.y);
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
        meeting->fetch(after.data() + now.size(), after.size() - now.size());
    now.insert(now.end(), came.begin(), came.end());

    // Positions are restored to the last bit, because crossing an edge rounds them.
    const ArrayHandle<Scalar4> position(m_pdata->getPositions(), access_location::host,
                                        access_mode::readwrite);
    left_.resize(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      left_[i] = {after[i], in_box(now[i][0], size.x), in_box(now[i][1], size.y)};
      position.data[i].x = left_[i].x;
      position.data[i].y = left_[i].y;
    }
  });
#endif
}

// ---- results ----

hard_particles::Counters HardDisks::total() {
  if (!engine_) return before_;
  const auto began = Clock::now();
  hard_particles::Counters sum = engine_->counters();
  if (running_) seconds_ += seconds_since(began);
  running_ = false;
  sum.trial_moves += before_.trial_moves;
  sum.accepted_moves += before_.accepted_moves;
  return sum;
}

std::array<std::uint64_t, 2> HardDisks::accepted_and_rejected() {
  const hard_particles::Counters now = total();
  const std::uint64_t accepted = now.accepted_moves - at_start_.accepted_moves;
  return {accepted, now.trial_moves - at_start_.trial_moves - accepted};
}

std::array<std::uint64_t, 2> HardDisks::all_accepted_and_rejected() {
  const hard_particles::Counters now = total();
  return {now.accepted_moves, now.trial_moves - now.accepted_moves};
}

double HardDisks::moves_per_second() {
  const auto moves = accepted_and_rejected();
  return seconds_ > 0 ? static_cast<double>(moves[0] + moves[1]) / seconds_ : 0;
}

std::size_t HardDisks::overlaps() {
  check_system();
  const auto size = m_pdata->getGlobalBox().getL();
  const double box[2] = {static_cast<double>(size.x), static_cast<double>(size.y)};
  const std::vector<double> xy = positions_by_tag();
  std::size_t number = 0;
  on_each_rank([&] {
    number = hard_particles::count_overlaps(xy.data(), m_pdata->getNGlobal(), box, diameter());
  });
  return number;
}

std::uint64_t HardDisks::state_hash() {
  prepare();
  return engine_->state_hash();
}

std::vector<std::uint64_t> HardDisks::contact_histogram(double bin_width, int bins) {
  prepare();
  return engine_->contact_histogram(bin_width, bins);
}

double HardDisks::packing_fraction() {
  const auto size = m_pdata->getGlobalBox().getL();
  const double d = diameter();
  return std::acos(-1.0) / 4 * m_pdata->getNGlobal() * d * d /
         (static_cast<double>(size.x) * static_cast<double>(size.y));
}

}  // namespace manymove::host
