// SPDX-License-Identifier: BSD-3-Clause
// Electrostatic forces on CPUs. Every rank knows the charges of all ranks and has the whole mesh:
// what ranks share among them are the sums over their own charges in real space and on the mesh.
// Forces are therefore the same bits on any number of ranks and threads.
#pragma once

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "../../../parallel/communicator.h"
#include "../../../runtime/parallel_for.h"
#include "../plan.h"
#include "kernels.h"

namespace manymove::dpd {

class CpuCharges {
 public:
  // settings and set_tilt(): as of ChargePlan. communicator: null for one rank; otherwise all ranks
  // make the same calls.
  CpuCharges(const Settings& settings, ThreadPool& pool, Communicator* communicator)
      : plan_(settings),
        pool_(pool),
        communicator_(communicator),
        kernels_(best_level<ChargeKernels>(MANYMOVE_LEVELS)),
        of_mesh_(kernels_.mesh[plan_.mesh.single]) {
    wave_sum_.resize(2 * plan_.wave.size());
    const ChargeMesh& mesh = plan_.mesh;
    if (!mesh.order) return;
    influence_.resize(static_cast<std::size_t>(mesh.half()) *
                      static_cast<std::size_t>(mesh.influences(1) * mesh.influences(2)));
    mesh_charge_.resize(static_cast<std::size_t>(mesh.size()));
    for (auto& waves : waves_) waves.resize(static_cast<std::size_t>(mesh.pitch() * mesh.rows()));
    const int longest = *std::max_element(mesh.points, mesh.points + 3);
    memory_.resize(static_cast<std::size_t>(pool.size()),
                   AlignedMemory(4 * static_cast<std::size_t>(longest * kernels_.lines)));
  }

  void set_tilt(double tilt) {
    plan_.set_tilt(tilt);
    filled_ = false;
  }

  // Throws std::invalid_argument for charges that do not fit a mesh.
  void take(const HostArrays& arrays, const Topology& topology) {
    plan_.take(arrays.count, topology, communicator_);
    force_.resize(plan_.charge.size());
    if (!plan_.special.empty()) by_number_.resize(plan_.charge.size());
  }

  // Finds the charges among the first `count` particles.
  template <class Velocity>
  void find(int count, const std::vector<Velocity>& velocity) {
    carrier_.clear();
    own_.assign(plan_.charge.size(), 0);
    for (int i = 0; i < count; ++i) {
      const int number = plan_.number_of(velocity[i].tag);
      if (number < 0) continue;
      carrier_.push_back({i, static_cast<std::uint32_t>(number)});
      own_[carrier_.back().number] = 1;
    }
  }

  // Calls add(i, force) for each charged particle. sums: of pairs, this rank's share, and of the
  // mesh, those of all ranks; null if they are not wanted. Collective.
  template <class Position, class Add>
  void forces(const std::vector<Position>& position, EnergyAndVirial* sums, const Add& add) {
    locate(position);
    if (arguments_.mesh.order)
      fill_mesh(sums);
    else if (arguments_.waves.count)
      fill_waves(sums);
    ChargeTotals of_pairs;
    std::mutex lock;
    for_each_range(pool_, static_cast<int>(place_.size()), [&](int first, int last) {
      ChargeTotals part;
      of_mesh_.forces(arguments_, first, last, sums ? &part : nullptr);
      const std::lock_guard<std::mutex> guard(lock);
      for (int k = 0; k < 7; ++k) {
        of_pairs.high[k] += part.high[k];
        of_pairs.low[k] += part.low[k];
      }
    });
    if (sums) sums->charges = plan_.of_pairs(of_pairs);
    for (const Carrier& each : carrier_) add(each.index, force_[each.number]);
  }

 private:
  struct Carrier {
    int index;
    std::uint32_t number;  // its charge
  };
  // For registers of any level.
  struct alignas(64) Cache {
    double value[8];
  };
  struct AlignedMemory : std::vector<Cache> {
    explicit AlignedMemory(std::size_t doubles) : std::vector<Cache>(doubles / 8 + 1) {}
  };

  // The places of all charges, in the order of cells.
  template <class Position>
  void locate(const std::vector<Position>& position) {
    std::vector<ChargedPlace> mine;
    std::vector<PlaceTail> tails;
    for (const auto& [index, number] : carrier_) {
      const Position& p = position[index];
      mine.push_back(
          {high_word(p.x), high_word(p.y), high_word(p.z), number, plan_.charge[number].charge});
      if (plan_.has_tails) tails.push_back({low_word(p.x), low_word(p.y), low_word(p.z)});
    }
    if (communicator_) {
      mine = collect(*communicator_, std::move(mine));
      if (plan_.has_tails) tails = collect(*communicator_, std::move(tails));
    }
    tail_.resize(plan_.has_tails ? plan_.charge.size() : 0);
    for (std::size_t k = 0; k < tails.size(); ++k) tail_[mine[k].number] = tails[k];
    // The number of places of each cell, then its end, then its beginning.
    start_.assign(static_cast<std::size_t>(plan_.cells()) + 1, 0);
    const auto cell = [&](const ChargedPlace& p) -> int& {
      return start_[static_cast<std::size_t>(cell_of(plan_.law, p))];
    };
    for (const ChargedPlace& p : mine) ++cell(p);
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    place_.resize(mine.size());
    for (const ChargedPlace& p : mine) place_[static_cast<std::size_t>(--cell(p))] = p;
    arguments_ = {.law = plan_.law,
                  .mesh = plan_.mesh,
                  .waves = plan_.waves,
                  .start = start_.data(),
                  .place = place_.data(),
                  .charges = static_cast<int>(place_.size()),
                  .own = own_.data(),
                  .shared = pool_.size() > 1,
                  .force = force_.data()};
    ChargeLaw& law = arguments_.law;
    law.tail = plan_.has_tails ? tail_.data() : nullptr;
    law.force = plan_.force.data();
    law.energy = plan_.energy.data();
    law.single_force = plan_.single_force.empty() ? nullptr : plan_.single_force.data();
    law.whole_force = plan_.whole_force.data();
    law.whole_energy = plan_.whole_energy.data();
    if (law.slab_force != 0)
      for (const ChargedPlace& p : place_) arguments_.dipole += dipole_of(law, p);
    arguments_.waves.wave = plan_.wave.data();
    arguments_.waves.sum = wave_sum_.data();
    if (plan_.special.empty()) return;
    for (const ChargedPlace& p : place_) by_number_[p.number] = p;
    arguments_.special = {plan_.first_special.data(), plan_.special.data(), by_number_.data()};
  }

  void fill_waves(EnergyAndVirial* sums) {
    if (!std::exchange(filled_, true))
      for (int k = 0; k < arguments_.waves.count; ++k) fill_wave(arguments_.waves, k);
    for_each_range(pool_, arguments_.waves.count,
                   [&](int first, int last) { kernels_.waves(arguments_, first, last); });
    if (sums) sums->mesh = plan_.of_waves(plan_.add_waves(wave_sum_.data()), arguments_.dipole);
  }

  void fill_mesh(EnergyAndVirial* sums) {
    ChargeMesh& mesh = arguments_.mesh;
    mesh.influence = influence_.data();
    mesh.charge = mesh_charge_.data();
    for (int a = 0; a < 3; ++a) {
      mesh.line[a] = plan_.line[a].data();
      mesh.waves[a] = waves_[a].data();
      mesh.twiddle[a] = plan_.twiddle[a].data();
    }
    if (!std::exchange(filled_, true))
      for_each_index(pool_, static_cast<int>(influence_.size()),
                     [&](int k) { fill_influence(mesh, k); });
    std::fill(mesh_charge_.begin(), mesh_charge_.end(), 0);
    for_each_range(pool_, static_cast<int>(place_.size()),
                   [&](int first, int last) { of_mesh_.spread(arguments_, first, last); });
    const int planes = mesh.points[2];
    for_groups(mesh.pairs_of_rows(), [&](int group, double* memory) {
      of_mesh_.charges_to_waves(arguments_, group, memory);
    });
    for (const int axis : {1, 2}) transform(mesh.waves[0], axis);
    std::vector<WaveSums> of_plane(static_cast<std::size_t>(planes));
    for_each_item(pool_, planes, [&](int z, int) {
      of_mesh_.solve(arguments_, z, sums ? &of_plane[static_cast<std::size_t>(z)] : nullptr);
    });
    for (const int a : {0, 2}) transform(mesh.waves[a], 2);
    for_each_item(pool_, planes, [&](int z, int) { of_mesh_.slopes(arguments_, z); });
    for (int a = 0; a < 3; ++a) {
      transform(mesh.waves[a], 1);
      for_groups(mesh.pairs_of_rows(), [&](int group, double* memory) {
        of_mesh_.waves_to_fields(arguments_, a, group, memory);
      });
    }
    if (!sums) return;
    WaveSums waves;
    for (const WaveSums& part : of_plane) waves.add(part);
    sums->mesh = plan_.of_waves(waves, arguments_.dipole);
  }
  void transform(Wave* values, int axis) {
    for_groups(WaveLines(arguments_.mesh, axis).count, [&](int group, double* memory) {
      of_mesh_.transform(arguments_, values, axis, group, memory);
    });
  }
  // Calls task(group, memory) for groups of lines.
  void for_groups(int lines, const auto& task) {
    for_each_item(pool_, (lines + kernels_.lines - 1) / kernels_.lines, [&](int group, int thread) {
      task(group, memory_[static_cast<std::size_t>(thread)].data()->value);
    });
  }

  ChargePlan plan_;
  ThreadPool& pool_;
  Communicator* const communicator_;
  const ChargeKernels kernels_;
  const MeshKernels of_mesh_;
  std::vector<Carrier> carrier_;   // the rank's charged particles
  std::vector<std::uint8_t> own_;  // by number: whether the rank has it
  std::vector<ChargedPlace> place_, by_number_;
  std::vector<PlaceTail> tail_;  // by number
  std::vector<int> start_;
  std::vector<Vector<double>> force_;  // by number
  bool filled_ = false;                // whether influence function or waves are
  std::vector<double> influence_;
  std::vector<std::int64_t> mesh_charge_, wave_sum_;
  std::vector<Wave> waves_[3];
  std::vector<AlignedMemory> memory_;  // of each thread
  ChargeArguments arguments_{};
};

}  // namespace manymove::dpd
