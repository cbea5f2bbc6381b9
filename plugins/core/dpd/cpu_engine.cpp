// SPDX-License-Identifier: BSD-3-Clause
// The resident engine on threads of the CPU, of one rank or several.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "../common/thread_pool.h"
#include "resident.h"

namespace manymove::dpd {
namespace {

constexpr int kChunk = 256;  // particles that a thread takes at a time

template <class P>
class CpuEngine final : public ResidentBase {
  using Real = typename P::Real;
  using Position = typename P::Position;
  using Velocity = typename P::Velocity;
  using Force = Vector<Real>;
  // What a particle has, on its way to another rank.
  struct Traveller {
    Position position;
    Velocity velocity;
    std::array<int, 3> image;
    Home home;
  };
  // A ghost when lists are built, and between builds.
  struct Ghost {
    Position position;
    Velocity velocity;
  };
  struct Motionless {  // without what does not change
    typename P::Unsigned x, y, z;
    Real vx, vy, vz;
  };

 public:
  CpuEngine(const Settings& settings, int threads, Communicator* communicator)
      : ResidentBase(settings),
        pool_(threads),
        laws_(laws_of<P>(settings.pairs)),
        half_kicks_(half_kicks_of<P>(settings)),
        bond_laws_(bond_laws_of<P>(settings)),
        forces_(forces_of<P>(settings, laws_.data())),
        motion_(motion_of<P>(settings, half_kicks_.data())) {
    if (communicator) ranks_.emplace(settings, *communicator);
  }

  std::string device() const override { return "cpu"; }
  std::string transport() const override { return ranks_ ? "MPI" : ""; }

  void upload(const HostArrays& arrays, const Topology& topology, std::int64_t step) override {
    check_topology(arrays.count, topology);
    const auto n = static_cast<std::size_t>(arrays.count);
    std::vector<Position> position(n);
    std::vector<Velocity> velocity(n);
    std::vector<Force> force(n);
    std::vector<std::array<int, 3>> image(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (arrays.image) std::copy_n(arrays.image[i], 3, image[i].data());
      const double* v = arrays.velocity[i];
      if (!enter_frame<P>(frame_, arrays.position[i], position[i], image[i].data()) ||
          !std::isfinite(v[0] + v[1] + v[2]))
        refuse_particle(topology.tag[i], arrays.position[i]);
      position[i].kind = static_cast<std::uint32_t>(topology.type[i]) | topology.flags[i] << 16;
      velocity[i] = {static_cast<Real>(v[0]), static_cast<Real>(v[1]), static_cast<Real>(v[2]),
                     topology.tag[i]};
      if (arrays.force)
        force[i] = {static_cast<Real>(arrays.force[i][0]), static_cast<Real>(arrays.force[i][1]),
                    static_cast<Real>(arrays.force[i][2])};
    }
    take_topology(arrays.count, topology);
    position_ = std::move(position);
    velocity_ = std::move(velocity);
    force_ = std::move(force);
    image_ = std::move(image);
    home_.resize(n);
    for (std::size_t i = 0; i < n; ++i) home_[i] = {rank(), static_cast<std::int32_t>(i)};
    count_ = arrays.count;
    const std::int64_t everywhere = ranks_ ? ranks_->sum(count_) : count_;
    cells_ =
        cells_of(settings_, static_cast<double>(everywhere), ranks_ ? &ranks_->here() : nullptr);
    lanes_ = lanes_of(ranks_ ? static_cast<int>(everywhere / ranks_->ranks()) : count_);
    step_ = step;
    lists_built_ = -1;
    expired_ = true;
    tally_ = {};
  }

  void advance(std::int64_t steps, bool (*interrupted)()) override {
    for (std::int64_t k = 0; k < steps; ++k) {
      bool stop = interrupted && interrupted();
      if (stop && !ranks_) break;
      for_all([this](int i) {
        kick(motion_, position_[i], velocity_[i], total_force(i));
        const Crossing crossing = drift(motion_, position_[i], velocity_[i]);
        image_[i][0] += crossing.x;
        image_[i][1] += crossing.y;
        image_[i][2] += crossing.z;
        if (crossing.lost) lost_ = velocity_[i].tag;
        const Position& p = position_[i];
        if (expired_) return;
        const Ball& ball = ball_[i];
        if (moved_far(cells_, high_word(p.x) - ball.x, high_word(p.y) - ball.y,
                      high_word(p.z) - ball.z, ball.radius))
          expired_ = true;
      });
      ++step_;
      if (ranks_) agree(stop);
      if (lost_) lose_particle(lost_);
      if (ranks_ && !expired_) refresh_ghosts();
      build();
      sum_forces(step_);
      for_all([this](int i) { kick(motion_, position_[i], velocity_[i], total_force(i)); });
      ++counters_.steps;
      if (stop) break;
    }
  }

  void download(const HostArrays& arrays) override {
    std::vector<std::vector<Arrival>> leaving(ranks_ ? ranks_->ranks() : 0);
    for (int i = 0; i < count_; ++i) {
      Arrival arrival;
      arrival.index = home_[i].index;
      leave_frame<P>(frame_, position_[i], arrival.position);
      const Velocity& v = velocity_[i];
      set(arrival.velocity, v.x, v.y, v.z);
      const Force& f = force_[i];
      set(arrival.force, f.x, f.y, f.z);
      std::copy_n(image_[i].data(), 3, arrival.image);
      if (ranks_ && home_[i].rank != rank())
        leaving[static_cast<std::size_t>(home_[i].rank)].push_back(arrival);
      else
        arrival.enter(arrays);
    }
    if (!ranks_) return;
    for (const Arrival& arrival : deliver(ranks_->communicator(), leaving)) arrival.enter(arrays);
  }

  void rehome(int count, const std::uint32_t* tag) override {
    std::vector<std::uint32_t> resident(static_cast<std::size_t>(count_));
    for (int i = 0; i < count_; ++i) resident[i] = velocity_[i].tag;
    home_ = ranks_.value().find_homes(resident, count, tag);
  }

  EngineCounters counters() const override { return counters_; }

 private:
  static void set(double to[3], Real x, Real y, Real z) {
    to[0] = static_cast<double>(x);
    to[1] = static_cast<double>(y);
    to[2] = static_cast<double>(z);
  }
  Force total_force(int i) const { return with_body_forces(motion_, position_[i], force_[i]); }

  template <class Task>
  void for_all(Task task) {
    struct Context {
      CpuEngine* self;
      Task* task;
    } context{this, &task};
    pool_.run((count_ + kChunk - 1) / kChunk,
              [](void* context, int item, int) {
                auto* c = static_cast<Context*>(context);
                const int end = std::min(c->self->count_, (item + 1) * kChunk);
                for (int i = item * kChunk; i < end; ++i) (*c->task)(i);
              },
              &context);
  }

  template <class T>
  void reorder(std::vector<T>& values, const std::vector<std::uint32_t>& order) {
    std::vector<T> sorted(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
    values.swap(sorted);
  }

  // Particles from first to before last, in the order of their cells.
  std::vector<std::uint32_t> order_of(std::size_t first, std::size_t last) const {
    std::vector<std::uint32_t> key(last), order(last - first);
    for (std::size_t i = first; i < last; ++i) {
      const Ball ball = ball_of<P>(cells_, motion_, position_[i], velocity_[i]);
      key[i] = morton_key(cells_, ball.x, ball.y, ball.z);
      order[i - first] = static_cast<std::uint32_t>(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t i, std::uint32_t j) { return key[i] < key[j]; });
    return order;
  }

  // Sorts the particles and lists their neighbours, if some may be missing.
  void build() {
    if (!expired_) return;
    std::int64_t beyond = 0;
    for (int i = 0; i < count_; ++i) {
      const Position& p = position_[i];
      if (outside(motion_.frame.open, high_word(p.x), high_word(p.y), high_word(p.z)))
        beyond = velocity_[i].tag;
    }
    if (ranks_) ranks_->communicator().maximum(&beyond, 1);
    if (beyond) lose_particle(static_cast<std::uint32_t>(beyond));
    if (ranks_)
      migrate();
    else if (lists_built_ >= 0)
      look_ahead(cells_, settings_.time_step, step_ - lists_built_);
    lists_built_ = step_;
    const auto n = static_cast<std::size_t>(count_);
    const auto order = order_of(0, n);
    reorder(position_, order);
    reorder(velocity_, order);
    reorder(image_, order);
    reorder(home_, order);
    if (ranks_) find_ghosts();

    ball_.resize(position_.size());
    cell_.resize(position_.size());
    index_.clear();
    for (auto& start : start_)
      start.assign(static_cast<std::size_t>(cells_.here[0]) * cells_.here[1] * cells_.here[2],
                   {0, 0});
    for (int i = 0; i < static_cast<int>(position_.size()); ++i) {
      const Ball& ball = ball_[i] = ball_of<P>(cells_, motion_, position_[i], velocity_[i]);
      cell_[i] = cell_of(cells_, ball.x, ball.y, ball.z);
      auto& start = start_[i < count_ ? 0 : 1];
      if (i == 0 || i == count_ || cell_[i] != cell_[i - 1]) start[cell_[i]] = {i, i};
      ++start[cell_[i]][1];
      if (!bonds_.empty()) index_[velocity_[i].tag] = i;
    }
    check_partners();
    list_.resize(n);
    for_all([this](int i) { list_neighbours(i); });
    counters_.neighbours = 0;
    for (const auto& list : list_) counters_.neighbours += static_cast<std::int64_t>(list.size());
    ++counters_.builds;
    expired_ = false;
  }

  void list_neighbours(int i) {
    auto& list = list_[i];
    list.clear();
    const auto special = specials_.find(velocity_[i].tag);
    const Ball &at = ball_[i], &reference = ball_[start_[0][cell_[i]][0]];
    const auto place = [&](const Ball& b) {
      return list_place(cells_, b.x - reference.x, b.y - reference.y, b.z - reference.z);
    };
    const ListCentre here = list_centre(cells_, place(at), at.radius);
    const auto near = [&](int j) {
      const Ball& b = ball_[j];
      if (cells_.narrow)
        return within_reach(cells_, b.x - at.x, b.y - at.y, b.z - at.z, at.radius, b.radius);
      const ListPlace there = place(b);
      return within_reach(here, there, b.radius, list_square(there, b.radius));
    };
    const int x = cell_[i] % cells_.here[0], y = cell_[i] / cells_.here[0] % cells_.here[1],
              z = cell_[i] / (cells_.here[0] * cells_.here[1]);
    for (int k = 0; k < (ranks_ ? 54 : 27); ++k) {  // first all of the rank, then ghosts
      const int cell = neighbour_cell(cells_, x, y, z, k % 27);
      if (cell < 0) continue;
      const auto& range = start_[k / 27][cell];
      for (int j = range[0]; j < range[1]; ++j) {
        if (j == i || !near(j)) continue;
        std::uint32_t kind = 0;
        if (special != specials_.end())
          for (const auto& partner : special->second)
            if (partner.tag == velocity_[j].tag) kind = static_cast<std::uint32_t>(partner.kind);
        if (kind && settings_.pairs.special[kind] == 0) continue;
        list.push_back(static_cast<std::uint32_t>(j) | kind << 30);
      }
    }
  }

  // ---- several ranks ----

  int rank() const { return ranks_ ? ranks_->rank() : 0; }

  // Everybody stops, or builds lists, when somebody has to.
  void agree(bool& stop) {
    std::int64_t of_all[3] = {expired_, lost_, stop};
    ranks_->communicator().maximum(of_all, 3);
    expired_ = of_all[0] != 0;
    lost_ = static_cast<std::uint32_t>(of_all[1]);
    stop = of_all[2] != 0;
  }

  // Particles that are in other parts of the box go there.
  void migrate() {
    std::vector<std::vector<Traveller>> leaving(ranks_->ranks());
    std::size_t stay = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
      const Position& p = position_[i];
      const int to = ranks_->owner(high_word(p.x), high_word(p.y), high_word(p.z));
      const Traveller traveller{p, velocity_[i], image_[i], home_[i]};
      if (to != rank())
        leaving[static_cast<std::size_t>(to)].push_back(traveller);
      else
        settle(stay++, traveller);
    }
    const auto arrived = deliver(ranks_->communicator(), leaving);
    count_ = static_cast<int>(stay + arrived.size());
    const auto n = static_cast<std::size_t>(count_);
    position_.resize(n);
    velocity_.resize(n);
    force_.resize(n);
    image_.resize(n);
    home_.resize(n);
    for (const Traveller& traveller : arrived) settle(stay++, traveller);
  }
  void settle(std::size_t i, const Traveller& traveller) {
    position_[i] = traveller.position;
    velocity_[i] = traveller.velocity;
    image_[i] = traveller.image;
    home_[i] = traveller.home;
  }

  // Copies of particles near the part of another rank go there, and come from there; they are kept
  // behind the own ones, in the order of cells.
  void find_ghosts() {
    std::vector<std::vector<Ghost>> leaving(ranks_->ranks());
    border_.assign(leaving.size(), {});
    for (int i = 0; i < count_; ++i) {
      const Position& p = position_[i];
      for (const int other : ranks_->neighbours()) {
        const auto r = static_cast<std::size_t>(other);
        if (!is_in(ranks_->reached()[r], high_word(p.x), high_word(p.y), high_word(p.z))) continue;
        border_[r].push_back(i);
        leaving[r].push_back({p, velocity_[i]});
      }
    }
    const auto arrived = deliver(ranks_->communicator(), leaving, &ghosts_from_);
    const auto n = static_cast<std::size_t>(count_), all = n + arrived.size();
    for (const Ghost& ghost : arrived) {
      position_.push_back(ghost.position);
      velocity_.push_back(ghost.velocity);
    }
    place_.resize(arrived.size());
    const auto order = order_of(n, all);
    for (std::size_t k = 0; k < order.size(); ++k) {
      place_[order[k] - n] = static_cast<int>(n + k);
      position_[n + k] = arrived[order[k] - n].position;
      velocity_[n + k] = arrived[order[k] - n].velocity;
    }
  }

  void refresh_ghosts() {
    std::vector<Motionless> leaving, arrived(place_.size());
    for (const auto& border : border_)
      for (const int i : border) {
        const Position& p = position_[i];
        const Velocity& v = velocity_[i];
        leaving.push_back({p.x, p.y, p.z, v.x, v.y, v.z});
      }
    std::vector<Communicator::Message> out, in;
    Motionless *to = leaving.data(), *from = arrived.data();
    for (std::size_t r = 0; r < border_.size(); ++r) {
      const auto sent = border_[r].size(), received = static_cast<std::size_t>(ghosts_from_[r]);
      if (sent) out.push_back({static_cast<int>(r), to, sent * sizeof *to});
      if (received) in.push_back({static_cast<int>(r), from, received * sizeof *from});
      to += sent;
      from += received;
    }
    ranks_->communicator().exchange(out, in);
    for (std::size_t k = 0; k < arrived.size(); ++k) {
      const Motionless& a = arrived[k];
      Position& p = position_[place_[k]];
      p.x = a.x;
      p.y = a.y;
      p.z = a.z;
      Velocity& v = velocity_[place_[k]];
      v.x = a.vx;
      v.y = a.vy;
      v.z = a.vz;
    }
  }

  // ---- bonds ----

  // By tag, of all ranks: a particle takes nothing of it along when it goes to another one.
  void take_topology(int count, const Topology& topology) {
    bonds_.clear();
    specials_.clear();
    if (ranks_) {
      for (const Link& link : all_bonds(ranks_->communicator(), count, topology))
        bonds_[link.tag].push_back({link.partner, link.kind});
      for (const Link& link : all_specials(ranks_->communicator(), count, topology))
        specials_[link.tag].push_back({link.partner, link.kind});
      return;
    }
    for (int i = 0; i < count; ++i) {
      const std::uint32_t tag = topology.tag[i];
      if (topology.first_bond)
        for (int k = topology.first_bond[i]; k < topology.first_bond[i + 1]; ++k)
          bonds_[tag].push_back({topology.bond_partner[k], topology.bond_type[k]});
      if (topology.first_special)
        for (int k = topology.first_special[i]; k < topology.first_special[i + 1]; ++k)
          specials_[tag].push_back({topology.special_partner[k], topology.special_kind[k]});
    }
  }

  void check_partners() const {
    if (!ranks_ || bonds_.empty()) return;
    for (int i = 0; i < count_; ++i) {
      const auto bonds = bonds_.find(velocity_[i].tag);
      if (bonds == bonds_.end()) continue;
      for (const Partner& bond : bonds->second)
        if (!index_.count(bond.tag)) miss_partner(velocity_[i].tag);
    }
  }

  void sum_forces(std::int64_t step) {
    forces_.noise = key_of(step);
    const int chunks = (count_ + kChunk - 1) / kChunk;
    partial_.assign(static_cast<std::size_t>(chunks), {});
    for_all([this](int i) {
      Sum<Real> sum[32] = {};
      const auto& list = list_[i];
      for (std::size_t k = 0; k < list.size(); ++k) {
        const std::uint32_t j = list[k] & kIndexBits;
        const auto r = separation(forces_.frame, position_[i], position_[j]);
        if (!(dot(r, r) < forces_.cutoff_squared)) continue;
        add_pair<P, Exact, false, true>(sum[static_cast<int>(k / kGroup) % lanes_], forces_,
                                        position_[i], velocity_[i], position_[j], velocity_[j],
                                        list[k]);
      }
      for (int distance = lanes_ / 2; distance > 0; distance /= 2)
        for (int lane = 0; lane < distance; ++lane) add(sum[lane], sum[lane + distance]);
      Sum<Real> bonded;
      bonded.force = sum[0].force;
      if (!bonds_.empty()) {
        const auto bonds = bonds_.find(velocity_[i].tag);
        if (bonds != bonds_.end())
          for (const auto& bond : bonds->second)
            add_bond<P>(bonded, forces_.frame, position_[i], position_[index_.at(bond.tag)],
                        bond_laws_[static_cast<std::size_t>(bond.kind)], true);
      }
      force_[i] = bonded.force;
      Tally& tally = partial_[static_cast<std::size_t>(i / kChunk)];
      tally.pair_energy += 0.5 * static_cast<double>(sum[0].energy);
      tally.bond_energy += 0.5 * static_cast<double>(bonded.energy);
      for (int a = 0; a < 6; ++a) {
        tally.pair_virial[a] += 0.5 * static_cast<double>(sum[0].virial[a]);
        tally.bond_virial[a] += 0.5 * static_cast<double>(bonded.virial[a]);
      }
    });
    tally_ = {};
    for (const Tally& part : partial_) {
      tally_.pair_energy += part.pair_energy;
      tally_.bond_energy += part.bond_energy;
      for (int a = 0; a < 6; ++a) {
        tally_.pair_virial[a] += part.pair_virial[a];
        tally_.bond_virial[a] += part.bond_virial[a];
      }
    }
  }

  static void add(Sum<Real>& a, const Sum<Real>& b) {
    a.force = {a.force.x + b.force.x, a.force.y + b.force.y, a.force.z + b.force.z};
    a.energy += b.energy;
    for (int k = 0; k < 6; ++k) a.virial[k] += b.virial[k];
  }

  struct Partner {
    std::uint32_t tag;
    int kind;
  };

  ThreadPool pool_;
  const std::vector<PairLaw<Real>> laws_;
  const std::vector<Real> half_kicks_;
  const std::vector<BondLaw<Real>> bond_laws_;
  Forces<P> forces_;
  const Motion<P> motion_;
  Cells cells_;
  int count_ = 0, lanes_ = 1;
  std::int64_t lists_built_ = -1;  // at this step
  std::atomic<bool> expired_ = true;
  std::atomic<std::uint32_t> lost_ = 0;
  std::vector<Position> position_;
  std::vector<Velocity> velocity_;
  std::vector<Force> force_;
  std::vector<std::array<int, 3>> image_;
  std::vector<Home> home_;
  std::unordered_map<std::uint32_t, std::vector<Partner>> bonds_, specials_;
  std::unordered_map<std::uint32_t, int> index_;  // by tag
  std::vector<Ball> ball_;
  std::vector<int> cell_;
  // First and beyond the last particle of each cell: of the rank, and ghosts.
  std::vector<std::array<int, 2>> start_[2];
  std::vector<std::vector<std::uint32_t>> list_;
  std::vector<Tally> partial_;
  std::optional<Decomposition> ranks_;     // if there are several
  std::vector<std::vector<int>> border_;   // whose copies go to which rank
  std::vector<std::int64_t> ghosts_from_;  // so many
  std::vector<int> place_;                 // of those that come, in that order
};

}  // namespace

std::unique_ptr<ResidentEngine> make_cpu_engine(const Settings& settings, int threads,
                                                Communicator* communicator) {
  if (settings.pairs.double_precision)
    return std::make_unique<CpuEngine<Double>>(settings, threads, communicator);
  return std::make_unique<CpuEngine<Mixed>>(settings, threads, communicator);
}

}  // namespace manymove::dpd
