// SPDX-License-Identifier: BSD-3-Clause
// The resident engine on threads of the CPU.
#include <algorithm>
#include <array>
#include <cmath>
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
  struct Lost {
    std::uint32_t tag;
  };

 public:
  CpuEngine(const Settings& settings, int threads)
      : ResidentBase(settings),
        pool_(threads),
        laws_(laws_of<P>(settings.pairs)),
        half_kicks_(half_kicks_of<P>(settings)),
        bond_laws_(bond_laws_of<P>(settings)),
        forces_(forces_of<P>(settings, laws_.data())),
        motion_(motion_of<P>(settings, half_kicks_.data())) {}

  std::string device() const override { return "cpu"; }

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
    bonds_.clear();
    specials_.clear();
    for (int i = 0; i < arrays.count; ++i) {
      const std::uint32_t tag = topology.tag[i];
      if (topology.first_bond)
        for (int k = topology.first_bond[i]; k < topology.first_bond[i + 1]; ++k)
          bonds_[tag].push_back({topology.bond_partner[k], topology.bond_type[k]});
      if (topology.first_special)
        for (int k = topology.first_special[i]; k < topology.first_special[i + 1]; ++k)
          specials_[tag].push_back({topology.special_partner[k], topology.special_kind[k]});
    }
    position_ = std::move(position);
    velocity_ = std::move(velocity);
    force_ = std::move(force);
    image_ = std::move(image);
    home_.resize(n);
    for (std::size_t i = 0; i < n; ++i) home_[i] = static_cast<std::uint32_t>(i);
    count_ = arrays.count;
    cells_ = cells_of(settings_, count_);
    lanes_ = lanes_of(count_);
    step_ = step;
    expired_ = true;
    tally_ = {};
  }

  void compute_forces() override {
    build();
    sum_forces(step_);
  }

  void advance(std::int64_t steps, bool (*interrupted)()) override {
    for (std::int64_t k = 0; k < steps; ++k) {
      if (interrupted && interrupted()) break;
      for_all([this](int i) {
        kick(motion_, position_[i], velocity_[i], total_force(i));
        const Crossing crossing = drift(motion_, position_[i], velocity_[i]);
        image_[i][0] += crossing.x;
        image_[i][1] += crossing.y;
        image_[i][2] += crossing.z;
        if (crossing.lost) lost_ = velocity_[i].tag;
        const Position& p = position_[i];
        if (!expired_ &&
            moved_far(cells_, high_word(p.x) - built_at_[i][0], high_word(p.y) - built_at_[i][1],
                      high_word(p.z) - built_at_[i][2]))
          expired_ = true;
      });
      ++step_;
      if (lost_) lose_particle(lost_);
      build();
      sum_forces(step_);
      for_all([this](int i) { kick(motion_, position_[i], velocity_[i], total_force(i)); });
      ++counters_.steps;
    }
  }

  void download(const HostArrays& arrays) override {
    for (int i = 0; i < count_; ++i) {
      const std::uint32_t h = home_[i];
      if (arrays.position) leave_frame<P>(frame_, position_[i], arrays.position[h]);
      const Velocity& v = velocity_[i];
      if (arrays.velocity) set(arrays.velocity[h], v.x, v.y, v.z);
      const Force& f = force_[i];
      if (arrays.force) set(arrays.force[h], f.x, f.y, f.z);
      if (arrays.image) std::copy_n(image_[i].data(), 3, arrays.image[h]);
    }
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

  // Sorts the particles and lists their neighbours, if some may be missing.
  void build() {
    if (!expired_) return;
    const auto n = static_cast<std::size_t>(count_);
    std::vector<std::uint32_t> key(n), order(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t x = high_word(position_[i].x), y = high_word(position_[i].y),
                          z = high_word(position_[i].z);
      if (outside(motion_.frame.open, x, y, z)) lose_particle(velocity_[i].tag);
      key[i] = morton_key(cells_, x, y, z);
      order[i] = static_cast<std::uint32_t>(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t i, std::uint32_t j) { return key[i] < key[j]; });
    reorder(position_, order);
    reorder(velocity_, order);
    reorder(image_, order);
    reorder(home_, order);

    start_.assign(static_cast<std::size_t>(cells_.count[0]) * cells_.count[1] * cells_.count[2],
                  {0, 0});
    built_at_.resize(n);
    cell_.resize(n);
    index_.clear();
    for (int i = 0; i < count_; ++i) {
      const Position& p = position_[i];
      built_at_[i] = {high_word(p.x), high_word(p.y), high_word(p.z)};
      cell_[i] = cell_of(cells_, built_at_[i][0], built_at_[i][1], built_at_[i][2]);
      if (i == 0 || cell_[i] != cell_[i - 1]) start_[cell_[i]] = {i, i};
      ++start_[cell_[i]][1];
      if (!bonds_.empty()) index_[velocity_[i].tag] = i;
    }
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
    const auto& at = built_at_[i];
    const auto& reference = built_at_[start_[cell_[i]][0]];
    const auto place = [&](int j) {
      return list_place(cells_, built_at_[j][0] - reference[0], built_at_[j][1] - reference[1],
                        built_at_[j][2] - reference[2]);
    };
    const ListCentre here = list_centre(cells_, place(i));
    const auto near = [&](int j) {
      if (cells_.narrow)
        return within_reach(cells_, built_at_[j][0] - at[0], built_at_[j][1] - at[1],
                            built_at_[j][2] - at[2]);
      const ListPlace there = place(j);
      return within_reach(here, there, list_square(there));
    };
    const int x = cell_[i] % cells_.count[0], y = cell_[i] / cells_.count[0] % cells_.count[1],
              z = cell_[i] / (cells_.count[0] * cells_.count[1]);
    for (int k = 0; k < 27; ++k) {
      const int cell = neighbour_cell(cells_, x, y, z, k);
      if (cell < 0) continue;
      for (int j = start_[cell][0]; j < start_[cell][1]; ++j) {
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
  std::atomic<bool> expired_ = true;
  std::atomic<std::uint32_t> lost_ = 0;
  std::vector<Position> position_;
  std::vector<Velocity> velocity_;
  std::vector<Force> force_;
  std::vector<std::array<int, 3>> image_;
  std::vector<std::uint32_t> home_;  // index of the host
  std::unordered_map<std::uint32_t, std::vector<Partner>> bonds_, specials_;
  std::unordered_map<std::uint32_t, int> index_;  // by tag
  std::vector<std::array<std::uint32_t, 3>> built_at_;
  std::vector<int> cell_;
  std::vector<std::array<int, 2>> start_;  // first and beyond the last particle of each cell
  std::vector<std::vector<std::uint32_t>> list_;
  std::vector<Tally> partial_;
};

}  // namespace

std::unique_ptr<ResidentEngine> make_cpu_engine(const Settings& settings, int threads) {
  if (settings.pairs.double_precision)
    return std::make_unique<CpuEngine<Double>>(settings, threads);
  return std::make_unique<CpuEngine<Mixed>>(settings, threads);
}

}  // namespace manymove::dpd
