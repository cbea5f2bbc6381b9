// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine: threads over groups of trials.
#include <algorithm>
#include <atomic>
#include <utility>

#include "../../runtime/parallel_for.h"
#include "../state.h"
#include "cpu_far_field.h"
#include "kernels.h"

namespace manymove::coulomb {
namespace {

constexpr std::size_t kPart = 1024;  // ions of an item of work
constexpr std::size_t kGroup = 64;   // trials of a thread between two looks at the others
constexpr std::size_t kWait = 4;     // groups that are waited for together
// Of the tree: trials that are estimated by a thread at a time, and that are decided before the
// others hear
constexpr std::size_t kEstimates = 32, kBatch = 256;
constexpr std::size_t kFollowers = 512;  // that hear from one thread

// Of the tree on one core, over those of a pair without Ewald's energy, as measured
// (docs/benchmarks/electrolyte.md).
Costs costs_of(Space space) {
  return {.point = 4.2,
          .launch = 3000,
          .pair = space == Space::ewald ? 8.0 : 1.0,
          .near = 2,
          .of_moves = 1200};
}

class CpuEngine final : public EngineBase {
 public:
  CpuEngine(State state, int threads)
      : EngineBase(std::move(state)),
        pool_(threads),
        kernels_(best_level<Kernels>(MANYMOVE_LEVELS)) {
    const std::size_t n = state_.sites.size();
    for (auto* column : {&x_, &y_, &z_, &charge_}) column->resize(n);
    trials_.resize(n);
    fate_.resize(n);
    order_.resize(n);
    decided_ = std::vector<std::atomic<std::uint32_t>>((n + kGroup - 1) / kGroup);
    if (state_.parameters.method == Method::tree) {
      far_field_ = std::make_unique<CpuFarField>(state_, kernels_, pool_);
      far_field_->fill(state_.sites);
      epochs_ = epochs_for(state_, far_field_->field(), costs_of(state_.rules.space));
      if (epochs_.inner < epochs_.outer)
        moves_field_ = std::make_unique<CpuFarField>(
            make_far_field_of_moves(state_, far_field_->field(), epochs_.outer), state_, kernels_,
            pool_);
    }
  }

  void run(std::uint64_t sweeps) override {
    for (std::uint64_t k = 0; k < sweeps; ++k) {
      moved_ = accepted_ = 0;
      propose_all();
      switch (state_.parameters.method) {
        case Method::brush:
          brush();
          break;
        case Method::reduction:
          reduction();
          break;
        case Method::serial:
          serial();
          break;
        case Method::automatic:  // make_engine() has chosen
        case Method::tree:
          tree();
          break;
      }
      Counters& c = state_.counters;
      ++c.sweeps;
      c.trial_moves += state_.sites.size();
      c.accepted_moves += accepted_;
      c.evaluated_moves += evaluated_;
      c.direct_moves += std::exchange(direct_, 0);
      state_.change += moved_;
      note_energy();
    }
  }

  double energy() const override {
    gather_all();
    const std::size_t n = state_.sites.size();
    std::vector<__int128> parts((n + kPart - 1) / kPart);
    for_each_item(pool_, parts.size(), [&](int part, int) {
      for (std::size_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i) {
        const Site& at = state_.sites[i];
        const std::int64_t sum = kernels_.potential(state_.rules, partners(), 0, i, at) +
                                 kernels_.potential(state_.rules, partners(), i + 1, n, at);
        parts[part] += nearest_integer(at.charge * static_cast<double>(sum));
      }
    });
    __int128 total = 0;
    for (const __int128 part : parts) total += part;
    return static_cast<double>(total) * state_.rules.strength / 2 + energy_beside_pairs(state_);
  }

  void set_positions(const double* xyz, const std::int32_t* image) override {
    place(state_, xyz, image);
    if (far_field_) far_field_->fill(state_.sites);
  }

  void adopt(const HostParticles& host) override {
    left_ = state_.sites;
    trace_ = trace(host);
  }
  bool same_particles(const HostParticles& host) const override { return trace(host) == trace_; }
  void write_positions(const HostParticles& host) override {
    const auto write = host.double_precision ? &write_ion<double> : &write_ion<float>;
    const std::int32_t* const image = state_.image.empty() ? nullptr : state_.image.data();
    for (std::size_t i = 0; i < left_.size(); ++i)
      write(state_.rules, state_.axis_unit, host, static_cast<std::uint32_t>(i), image,
            state_.sites[i], left_[i]);
    trace_ = trace(host);
  }

  void count_pairs(const Histogram& histogram, std::uint64_t* counts,
                   std::uint64_t* interior_ions) const override {
    const Bins b = bins_of(state_, histogram);
    gather_all();
    const std::size_t n = state_.sites.size(),
                      size = static_cast<std::size_t>(b.species * (b.species + 1) / 2) * b.bins;
    for (std::size_t i = 0; i < n; ++i)
      interior_ions[state_.species[i]] += interior(state_.rules, b, state_.sites[i]);
    std::vector<std::vector<std::uint64_t>> parts(pool_.size(), std::vector<std::uint64_t>(size));
    for_each_item(pool_, (n + kPart - 1) / kPart, [&](int part, int thread) {
      for (std::size_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i)
        if (interior(state_.rules, b, state_.sites[i]))
          kernels_.count_pairs(state_.rules, b, partners(), state_.species.data(), i, i + 1, n,
                               parts[thread].data());
    });
    for (const auto& part : parts)
      for (std::size_t k = 0; k < size; ++k) counts[k] += part[k];
  }

  int threads_per_particle() const override { return 1; }

 private:
  Partners partners() const { return {x_.data(), y_.data(), z_.data(), charge_.data()}; }

  std::uint64_t trace(const HostParticles& host) const {
    const auto one = host.double_precision ? &trace_of<double> : &trace_of<float>;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < state_.sites.size(); ++i)
      sum += one(host, static_cast<std::uint32_t>(i));
    return sum;
  }

  void put(std::size_t place, const Site& s) const {
    x_[place] = s.x;
    y_[place] = s.y;
    z_[place] = s.z;
    charge_[place] = s.charge;
  }
  // In the order of the input.
  void gather_all() const {
    for (std::size_t i = 0; i < state_.sites.size(); ++i) put(i, state_.sites[i]);
  }

  void propose_all() {
    const std::size_t n = state_.sites.size();
    for_each_item(pool_, (n + kPart - 1) / kPart, [&](int part, int) {
      for (std::size_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i)
        trials_[i] = propose(state_.rules, static_cast<std::uint32_t>(i), state_.counters.sweeps,
                             state_.sites[i]);
    });
  }

  Site moved_to(std::size_t i) const {
    return {trials_[i].x, trials_[i].y, trials_[i].z, state_.sites[i].charge};
  }
  // What a vacuum around adds to the change of a trial's potential, and to the dipole moment.
  std::int64_t from_vacuum(std::size_t i, Dipole& gain) const {
    if (!state_.parameters.vacuum) return 0;
    gain = dipole_gain(state_.rules, state_.sites[i], moved_to(i), state_.image.data() + 3 * i);
    return dipole_term(state_.rules, state_.sites[i].charge, state_.dipole, gain);
  }
  void accept(std::size_t i, const Dipole& gain) {
    const Site to = moved_to(i);
    if (state_.parameters.vacuum) {
      state_.dipole = state_.dipole + gain;
      follow(state_.rules, state_.sites[i], to, state_.image.data() + 3 * i);
    }
    state_.sites[i] = to;
  }
  // change: from the pairs; what a vacuum around adds to it is added here.
  bool decide(std::size_t i, std::int64_t& change) {
    Dipole gain{};
    change = wrapping_sum(change, from_vacuum(i, gain));
    if (!accepts(change, trials_[i].most, state_.sites[i].charge)) return false;
    accept(i, gain);
    return true;
  }
  // Energy change of an accepted trial, in quanta.
  std::int64_t energy_of(std::size_t i, std::int64_t change) const {
    return nearest_integer(state_.sites[i].charge * static_cast<double>(change));
  }

  // The chain as it is defined, a pair after the other.
  void serial() {
    const Rules& r = state_.rules;
    const std::size_t n = state_.sites.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (!trials_[i].inside) continue;
      const Site from = state_.sites[i], to = moved_to(i);
      std::int64_t change = 0;
      bool overlap = false;
      for (std::size_t j = 0; j < n; ++j) {
        if (j == i) continue;
        const Site& other = state_.sites[j];
        const double now = squared_distance(r, to.x, to.y, to.z, other);
        overlap = overlap || too_close(now, state_.radius[i], state_.radius[j]);
        const auto term = [&](const Site& at) {
          return for_space(r, [&](auto space) {
            const auto d = separation<space()>(r, at.x, at.y, at.z, other);
            if (state_.parameters.double_precision)
              return potential_term<space()>(r, other.charge, d);
            const auto in_single = [](double a) { return static_cast<float>(a); };
            return potential_term_single<space()>(
                r, other.charge,
                Separation<float>{in_single(d.x), in_single(d.y), in_single(d.z),
                                  in_single(d.squared)});
          });
        };
        change = wrapping_sum(change, wrapping_difference(term(to), term(from)));
      }
      ++evaluated_this_;
      if (!overlap && decide(i, change)) {
        moved_ += energy_of(i, change);
        ++accepted_;
      }
    }
    evaluated_ = std::exchange(evaluated_this_, 0);
  }

  // Section 4: the pair terms of one trial over the threads.
  void reduction() {
    const Rules& r = state_.rules;
    const std::size_t n = state_.sites.size();
    constexpr std::size_t kShare = 4096;
    gather_all();
    std::vector<std::int64_t> change((n + kShare - 1) / kShare);
    std::vector<char> overlap(change.size());
    for (std::size_t i = 0; i < n; ++i) {
      if (!trials_[i].inside) continue;
      const Site from = state_.sites[i], to = moved_to(i);
      const auto share = [&](int part, int) {
        const std::size_t begin = part * kShare, end = std::min(n, begin + kShare);
        float nearest2;
        change[part] = kernels_.change_of(r, state_.parameters.double_precision, partners(), begin,
                                          end, i, from, to, nearest2);
        overlap[part] = nearest2 < r.surely_free && hits(i, to, begin, end);
      };
      if (change.size() == 1)
        share(0, 0);
      else
        for_each_item(pool_, change.size(), share);
      std::int64_t sum = 0;
      for (const std::int64_t c : change) sum = wrapping_sum(sum, c);
      ++evaluated_this_;
      if (std::find(overlap.begin(), overlap.end(), 1) == overlap.end() && decide(i, sum)) {
        moved_ += energy_of(i, sum);
        ++accepted_;
        put(i, state_.sites[i]);
      }
    }
    evaluated_ = std::exchange(evaluated_this_, 0);
  }
  bool hits(std::size_t i, const Site& to, std::size_t begin, std::size_t end) const {
    for (std::size_t j = begin; j < end; ++j)
      if (j != i && too_close(squared_distance(state_.rules, to.x, to.y, to.z, state_.sites[j]),
                              state_.radius[i], state_.radius[j]))
        return true;
    return false;
  }

  // ---- section 3 -------------------------------------------------------------------------------

  void brush() {
    const std::size_t hopeful = put_in_order();
    const std::size_t groups = (hopeful + kGroup - 1) / kGroup;
    for (std::size_t g = 0; g < groups; ++g) decided_[g].store(0, std::memory_order_relaxed);
    std::atomic<std::uint64_t> accepted{0};
    std::vector<std::int64_t> energy(hopeful);
    // Groups are handed out in order: a group waits only for some that are under way.
    for_each_item(pool_, groups, [&](int group, int) {
      accepted += one_group(static_cast<std::size_t>(group), hopeful, energy.data());
    });
    accepted_ = accepted;
    for (const std::int64_t e : energy) moved_ += e;
  }

  // Hopeful trials first; returns how many.
  std::size_t put_in_order() {
    find_hopeless();
    const std::size_t n = state_.sites.size();
    std::size_t hopeful = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (fate_[i] == alive) order_[hopeful++] = static_cast<std::int32_t>(i);
    evaluated_ = hopeful;
    for (std::size_t i = 0, k = hopeful; i < n; ++i)
      if (fate_[i] != alive) order_[k++] = static_cast<std::int32_t>(i);
    for (std::size_t k = 0; k < n; ++k) put(k, state_.sites[order_[k]]);
    return hopeful;
  }

  void find_hopeless() {
    make_lists(state_, lists_);
    const std::size_t n = state_.sites.size();
    for (std::size_t i = 0; i < n; ++i) fate_[i] = trials_[i].inside ? alive : outside;
    fates(blocked, [&](int i, int j) { return j > i || fate_at(j) == outside; });
    fates(blocked_by_blocked, [&](int, int j) { return fate_at(j) == blocked; });
  }
  std::uint8_t fate_at(int j) const { return __atomic_load_n(&fate_[j], __ATOMIC_RELAXED); }
  // Gives `fate` to those that overlap with an ion that stays.
  template <class Stays>
  void fates(Fate fate, Stays stays) {
    const std::size_t n = state_.sites.size();
    for_each_item(pool_, (n + kPart - 1) / kPart, [&](int part, int) {
      for (std::size_t k = part * kPart; k < std::min(n, (part + 1) * kPart); ++k) {
        const int i = static_cast<int>(k);
        if (fate_at(i) != alive) continue;
        const Trial& t = trials_[k];
        if (overlaps(
                state_.rules, lists_.view(), [&](int j) { return state_.sites[j]; },
                state_.radius.data(), i, t.x, t.y, t.z, [&](int j) { return stays(i, j); }))
          __atomic_store_n(&fate_[k], static_cast<std::uint8_t>(fate), __ATOMIC_RELAXED);
      }
    });
  }

  // Trials `first` + row in the order of a sweep.
  struct Group {
    std::size_t first, count;
    std::int64_t change[kGroup] = {};
    bool overlap[kGroup] = {};
  };

  // One trial of a group against partners begin..end.
  void add_pairs(Group& group, std::size_t row, std::size_t begin, std::size_t end,
                 bool look) const {
    const std::size_t i = order_[group.first + row];
    const Site to = moved_to(i);
    float nearest2;
    group.change[row] = wrapping_sum(
        group.change[row],
        kernels_.change_of(state_.rules, state_.parameters.double_precision, partners(), begin, end,
                           group.first + row, state_.sites[i], to, nearest2));
    if (!look || !(nearest2 < state_.rules.surely_free)) return;
    for (std::size_t k = begin; k < end; ++k)
      group.overlap[row] =
          group.overlap[row] ||
          too_close(squared_distance(state_.rules, to.x, to.y, to.z, {x_[k], y_[k], z_[k], 0}),
                    state_.radius[i], state_.radius[order_[k]]);
  }
  // All of them, in blocks that stay in the first-level cache.
  void add_all_pairs(Group& group, std::size_t begin, std::size_t end, bool look) const {
    for (std::size_t block = begin; block < end; block += kPart)
      for (std::size_t row = 0; row < group.count; ++row)
        add_pairs(group, row, block, std::min(end, block + kPart), look);
  }

  std::uint64_t one_group(std::size_t number, std::size_t hopeful, std::int64_t* energy) {
    Group group{number * kGroup, std::min(kGroup, hopeful - number * kGroup)};
    // Ions that have not moved yet; overlaps with later ones have been found already.
    add_all_pairs(group, group.first + group.count, hopeful, false);
    add_all_pairs(group, hopeful, state_.sites.size(), true);
    for (std::size_t row = 0; row < group.count; ++row)  // the upper triangle
      add_pairs(group, row, group.first + row + 1, group.first + group.count, false);
    for (std::size_t other = 0; other < number; other += kWait) {
      const std::size_t end = std::min(number, other + kWait);
      while (!decided_[end - 1].load(std::memory_order_acquire)) std::this_thread::yield();
      add_all_pairs(group, other * kGroup, end * kGroup, true);
    }
    std::uint64_t accepted = 0;
    for (std::size_t row = 0; row < group.count; ++row) {  // the lower triangle, and decisions
      add_pairs(group, row, group.first, group.first + row, true);
      const std::size_t i = order_[group.first + row];
      const bool accept = !group.overlap[row] && decide(i, group.change[row]);
      energy[group.first + row] = accept ? energy_of(i, group.change[row]) : 0;
      accepted += accept;
      if (accept) put(group.first + row, state_.sites[i]);
    }
    decided_[number].store(1, std::memory_order_release);
    return accepted;
  }

  // ---- section 8 -------------------------------------------------------------------------------

  void tree() {
    const std::size_t hopeful = put_in_order(), n = state_.sites.size();
    for (auto* column : {&to_x_, &to_y_, &to_z_}) column->resize(hopeful);
    changes_.resize(hopeful);
    bounds_.resize(hopeful);
    moved_ions_.assign(n, 0);
    trial_lists_.head.assign(lists_.head.size(), -1);
    trial_lists_.next.assign(n, -1);
    for (std::size_t k = 0; k < hopeful; ++k) {
      const auto i = static_cast<std::size_t>(order_[k]);
      const Trial& t = trials_[i];
      to_x_[k] = t.x;
      to_y_[k] = t.y;
      to_z_[k] = t.z;
      std::int32_t& head = trial_lists_.head[cell_of(state_.rules, t.x, t.y, t.z)];
      trial_lists_.next[i] = std::exchange(head, order_[k]);
    }
    find_crowded(hopeful);
    for (std::size_t outer = 0; outer < hopeful; outer += epochs_.outer) {
      far_field_->refresh(state_.sites);
      changed_.clear();
      if (moves_field_) moves_field_->fill(changed_);
      const std::size_t stop = std::min(hopeful, outer + epochs_.outer);
      for (std::size_t begin = outer; begin < stop; begin += epochs_.inner)
        epoch(begin, std::min(stop, begin + epochs_.inner));
    }
  }

  // Trials begin..end in the order of a sweep, from the potential of the ions at the start of the
  // outer epoch and that of what has changed since.
  void epoch(std::size_t begin, std::size_t end) {
    const bool changed = !changed_.empty();
    if (changed) moves_field_->refresh(changed_);
    const double later = 4 * static_cast<double>(end - begin);
    const std::size_t items = (end - begin + kEstimates - 1) / kEstimates;
    for_each_item(pool_, static_cast<int>(items), [&](int part, int) {
      const std::size_t first = begin + static_cast<std::size_t>(part) * kEstimates;
      for (std::size_t k = first; k < std::min(end, first + kEstimates); ++k) {
        const auto i = static_cast<std::size_t>(order_[k]);
        const Site from = state_.sites[i], to = moved_to(i);
        const auto change = changed ? moves_field_->change(state_, *far_field_, from, to, later)
                                    : far_field_->change(state_, from, to, later);
        changes_[k] = change.estimate / far_field_->field().quanta;
        bounds_[k] = std::max(change.bound, state_.least_bound / state_.rules.strength /
                                                abs_of(state_.sites[i].charge));
      }
    });
    const Partners to{to_x_.data(), to_y_.data(), to_z_.data(), nullptr};
    std::vector<Move> moves, all_moves;
    for (std::size_t batch = begin; batch < end; batch += kBatch) {
      const std::size_t stop = std::min(end, batch + kBatch);
      moves.clear();
      for (std::size_t k = batch; k < stop; ++k) {
        const Site from = state_.sites[order_[k]];
        if (!tree_decision(k)) continue;
        moves.push_back({from, state_.sites[order_[k]]});
        kernels_.follow_accepted(state_.rules, partners(), to, &moves.back(), 1, k + 1, stop,
                                 changes_.data());
        put(k, state_.sites[order_[k]]);
        if (!moves_field_) continue;
        changed_.push_back({from.x, from.y, from.z, -from.charge});
        changed_.push_back(state_.sites[order_[k]]);
      }
      if (moves.empty()) continue;
      all_moves.insert(all_moves.end(), moves.begin(), moves.end());
      const std::size_t parts = (end - stop + kFollowers - 1) / kFollowers;
      for_each_item(pool_, static_cast<int>(parts), [&](int part, int) {
        const std::size_t first = stop + static_cast<std::size_t>(part) * kFollowers;
        kernels_.follow_accepted(state_.rules, partners(), to, moves.data(),
                                 static_cast<int>(moves.size()), first,
                                 std::min(end, first + kFollowers), changes_.data());
      });
    }
    far_field_->follow(all_moves);
    if (moves_field_) moves_field_->follow(all_moves);
  }

  // Of trial k in the order of a sweep, when its turn has come.
  bool tree_decision(std::size_t k) {
    const auto i = static_cast<std::size_t>(order_[k]);
    if (crowded_[k] && overlaps_now(order_[k])) return false;
    Dipole gain{};
    const std::int64_t vacuum = from_vacuum(i, gain);
    const double change = changes_[k] * far_field_->field().quanta;
    const Verdict v = verdict(change + static_cast<double>(vacuum), bounds_[k], trials_[i].most,
                              state_.sites[i].charge);
    if (v == Verdict::rejected) return false;
    std::int64_t exact;
    if (v == Verdict::accepted) {
      exact = wrapping_sum(nearest_integer(change), vacuum);
      accept(i, gain);
    } else {
      ++direct_;
      exact = direct_sum(k);
      if (!decide(i, exact)) return false;
    }
    moved_ions_[i] = 1;
    moved_ += energy_of(i, exact);
    ++accepted_;
    return true;
  }
  // Which trials overlap with an ion at the start of the sweep or with the new place of another
  // one, which alone can overlap at their turn.
  void find_crowded(std::size_t hopeful) {
    crowded_.assign(hopeful, 0);
    for_each_item(pool_, (hopeful + kPart - 1) / kPart, [&](int part, int) {
      for (std::size_t k = part * kPart; k < std::min(hopeful, (part + 1) * kPart); ++k) {
        const int i = order_[k];
        const Trial& t = trials_[i];
        const auto near = [&](const CellLists& lists, const auto& place) {
          return overlaps(state_.rules, lists.view(), place, state_.radius.data(), i, t.x, t.y, t.z,
                          [&](int j) { return j != i; });
        };
        crowded_[k] = near(lists_, [&](int j) { return state_.sites[j]; }) ||
                      near(trial_lists_, [&](int j) { return moved_to(j); });
      }
    });
  }
  // Ions stand where they were at the start of the sweep, or where their trials have put them.
  bool overlaps_now(int i) const {
    const Trial& t = trials_[i];
    const auto hit = [&](const CellLists& lists, char moved) {
      return overlaps(
          state_.rules, lists.view(), [&](int j) { return state_.sites[j]; }, state_.radius.data(),
          i, t.x, t.y, t.z, [&](int j) { return moved_ions_[j] == moved; });
    };
    return hit(lists_, 0) || hit(trial_lists_, 1);
  }
  // The brush's sum, of all ions as they stand at this trial's turn.
  std::int64_t direct_sum(std::size_t k) {
    const auto i = static_cast<std::size_t>(order_[k]);
    const std::size_t n = state_.sites.size();
    std::vector<std::int64_t> parts((n + kPart - 1) / kPart);
    for_each_item(pool_, static_cast<int>(parts.size()), [&](int part, int) {
      const std::size_t first = static_cast<std::size_t>(part) * kPart;
      float nearest2;
      parts[part] =
          kernels_.change_of(state_.rules, true, partners(), first, std::min(n, first + kPart), k,
                             state_.sites[i], moved_to(i), nearest2);
    });
    std::int64_t sum = 0;
    for (const std::int64_t part : parts) sum = wrapping_sum(sum, part);
    return sum;
  }

  mutable ThreadPool pool_;
  Kernels kernels_;
  mutable std::vector<float> x_, y_, z_, charge_;  // in the order of a sweep
  std::vector<Trial> trials_;                      // in the order of the input
  std::vector<std::uint8_t> fate_;
  std::vector<std::int32_t> order_;  // the ions in the order of a sweep: hopeful ones first
  CellLists lists_;
  std::vector<std::atomic<std::uint32_t>> decided_;
  std::uint64_t accepted_ = 0, evaluated_ = 0, evaluated_this_ = 0;
  __int128 moved_ = 0;      // energy of this sweep, in quanta
  std::vector<Site> left_;  // with a host program
  // Of the tree. By place in the order of a sweep: new places of the hopeful trials, estimates of
  // the change of the potential (for one unit), and bounds of their errors in quanta.
  std::unique_ptr<CpuFarField> far_field_;
  std::unique_ptr<CpuFarField> moves_field_;  // if there are two kinds of epochs
  Epochs epochs_;
  std::vector<Site>
      changed_;  // in this outer epoch: what left, with the opposite charge; what came
  std::vector<float> to_x_, to_y_, to_z_;
  std::vector<double> changes_, bounds_;
  std::vector<char> moved_ions_;  // in this sweep, in the order of the input
  std::vector<char> crowded_;     // by place in the order of a sweep
  CellLists trial_lists_;         // of new places
  std::uint64_t direct_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(State state, int threads) {
  return std::make_unique<CpuEngine>(std::move(state), threads);
}

}  // namespace manymove::coulomb
