// SPDX-License-Identifier: BSD-3-Clause
// The schedule "tree" (docs/theory/coulomb.md, section 8): the decisions of the brush from a far
// field on a mesh, whose error is bounded, and direct sums where the bound leaves a trial open. An
// epoch is a run of trials whose estimates begin with the same potential on the mesh; each accepted
// move corrects the estimates of the later trials of its epoch. Several ranks share the estimates
// and their corrections; each has the whole mesh and decides all trials.
#pragma once

#include <atomic>
#include <memory>

#include "candidates.h"
#include "cpu_far_field.h"

namespace manymove::coulomb {

class Tree {
 public:
  Tree(CpuSweep& sweep, const ChangeTree& change)
      : sweep_(sweep), order_(sweep.ions()), turn_(turn_of(sweep)), moved_(sweep.ions()) {
    const State& state = sweep.state;
    FarField field = make_far_field(state, kIonsPerPoint);
    epochs_ = epochs_for(state, field, costs_of(state.rules.space));
    if (change) change(field, epochs_);
    far_field_ = std::make_unique<CpuFarField>(std::move(field), sweep);
    if (epochs_.inner < epochs_.outer)
      moves_field_ = std::make_unique<CpuFarField>(
          make_far_field_of_moves(state, far_field_->field(), epochs_.outer), sweep);
    fill();
  }

  // The ions have been put elsewhere.
  void fill() { far_field_->fill(sweep_.state.sites); }

  void sweep() {
    order_.find(sweep_);
    const std::size_t candidates = order_.count();
    to_.resize(candidates);
    estimates_.resize(candidates);
    bounds_.resize(candidates);
    moved_.assign(sweep_.ions(), 0);
    trial_lists_.clear(sweep_.state);
    for (std::size_t k = 0; k < candidates; ++k) {
      const Site to = sweep_.moved_to(order_[k]);
      to_.put(k, to);
      trial_lists_.add(sweep_.state.rules, order_[k], to);
    }
    find_crowded();
    for (std::size_t outer = 0; outer < candidates; outer += epochs_.outer) {
      far_field_->refresh(sweep_.state.sites);
      changed_.clear();
      if (moves_field_) moves_field_->fill(changed_);
      const std::size_t stop = std::min(candidates, outer + epochs_.outer);
      for (std::size_t begin = outer; begin < stop; begin += epochs_.inner)
        epoch({begin, std::min(stop, begin + epochs_.inner)});
    }
  }

 private:
  // As measured on one core (docs/benchmarks/electrolyte.md): where the sums at short range cost as
  // much as the transforms, and the parts of a sweep over those of a pair without Ewald's energy.
  static constexpr double kIonsPerPoint = 0.25;
  static Costs costs_of(Space space) {
    return {.point = 4.2,
            .launch = 3000,
            .pair = space == Space::ewald ? 8.0 : 1.0,
            .near = 2,
            .of_moves = 1200};
  }
  // Trials that a thread estimates at a time, and trials whose estimates are corrected after each
  // accepted move. Later trials are corrected for all moves of such a batch together.
  static constexpr std::size_t kEstimates = 32, kBatch = 256;
  // Trials that several ranks gather and decide at a time. With Ewald's energy the corrections of a
  // batch, which all ranks make, cost more than further collective calls.
  static std::size_t turn_of(const CpuSweep& sweep) {
    const bool cheap = sweep.shares.alone() || sweep.state.rules.space != Space::ewald;
    return cheap ? kBatch : kBatch / 4;
  }

  // Trials of a range in the order of a sweep, from the potential of the ions at the start of the
  // outer epoch and that of what has changed since.
  void epoch(IndexRange epoch) {
    estimate(epoch);
    std::vector<Move> batch_moves, moves;  // of the present batch, and of the epoch
    for (std::size_t begin = epoch.begin; begin < epoch.end; begin += kBatch) {
      const std::size_t end = std::min(epoch.end, begin + kBatch);
      batch_moves.clear();
      for (std::size_t turn = begin; turn < end; turn += turn_)
        decide_turn({turn, std::min(end, turn + turn_)}, end, batch_moves);
      if (batch_moves.empty()) continue;
      moves.insert(moves.end(), batch_moves.begin(), batch_moves.end());
      for_own_trials({end, epoch.end}, kBatch,
                     [&](IndexRange trials) { correct(trials, batch_moves); });
    }
    far_field_->follow(moves);
    if (moves_field_) moves_field_->follow(moves);
  }

  // Decides trials of a batch, and adds their moves to those of the batch before.
  void decide_turn(IndexRange turn, std::size_t batch_end, std::vector<Move>& moves) {
    sweep_.shares.gather(turn, estimates_.data(), bounds_.data());
    const std::size_t before = moves.size();
    for (std::size_t k = turn.begin; k < turn.end; ++k) {
      const Site from = sweep_.state.sites[order_[k]];
      if (!decide(k)) continue;
      const Site& to = sweep_.state.sites[order_[k]];
      moves.push_back({from, to});
      correct({k + 1, turn.end}, {&moves.back(), 1});
      sweep_.put(k, to);
      if (moves_field_)
        // Moving a charge z adds -z at the old position and z at the new one.
        changed_.insert(changed_.end(), {{from.x, from.y, from.z, -from.charge}, to});
    }
    // Later trials of the batch are corrected for one move after the other, in any number of turns.
    // Trials after the batch are corrected for all moves of the batch together.
    for_own_trials({turn.end, batch_end}, turn_, [&](IndexRange trials) {
      for (std::size_t m = before; m < moves.size(); ++m) correct(trials, {&moves[m], 1});
    });
  }

  // Calls task(trials) for the trials whose estimates this rank keeps until they are decided, which
  // are its share of each turn of a range. A thread gets at most `some` trials at a time.
  void for_own_trials(IndexRange range, std::size_t some, auto task) {
    const std::size_t turns = (range.end - range.begin + turn_ - 1) / turn_,
                      pieces = (sweep_.shares.part(turn_) + some - 1) / some;
    for_each_item(sweep_.pool, static_cast<int>(turns * pieces), [&](int item, int) {
      const auto number = static_cast<std::size_t>(item);
      const std::size_t turn = range.begin + number / pieces * turn_;
      const IndexRange mine = sweep_.shares.mine({turn, std::min(range.end, turn + turn_)});
      const std::size_t first = mine.begin + number % pieces * some;
      if (first < mine.end) task(IndexRange{first, std::min(mine.end, first + some)});
    });
  }

  void estimate(IndexRange epoch) {
    const bool changed = !changed_.empty();
    if (changed) moves_field_->refresh(changed_);
    // Each accepted move before a trial adds four pair potentials.
    const double later = 4 * static_cast<double>(epoch.end - epoch.begin);  // terms of corrections
    for_own_trials(epoch, kEstimates, [&](IndexRange trials) {
      for (std::size_t k = trials.begin; k < trials.end; ++k) {
        const Move move = sweep_.move_of(order_[k]);
        const auto change =
            far_field_->change(sweep_.state, move, later, changed ? moves_field_.get() : nullptr);
        estimates_[k] = change.estimate / far_field_->field().quanta;
        bounds_[k] = change.bound;
      }
    });
  }
  // Adds what accepted moves change for the trials of a range.
  void correct(IndexRange range, std::span<const Move> moves) {
    sweep_.kernels.follow_accepted(sweep_.state.rules, sweep_.partners(), to_.partners(),
                                   moves.data(), static_cast<int>(moves.size()), range,
                                   estimates_.data());
  }

  // For trial k in the order of a sweep, when its turn has come.
  bool decide(std::size_t k) {
    const auto i = static_cast<std::size_t>(order_[k]);
    // Hard cores first: an infinite energy rejects, whatever the far field says.
    if (crowded_[k] && overlaps_now(order_[k])) return false;
    Dipole gain{};
    const std::int64_t vacuum = sweep_.from_vacuum(i, gain);
    const double change = estimates_[k] * far_field_->field().quanta;
    // Section 8 of docs/theory/coulomb.md: e + b < t accepts, e - b > t rejects, and the direct sum
    // decides the rest.
    const Verdict v = verdict(change + static_cast<double>(vacuum), bounds_[k],
                              sweep_.trials[i].most, sweep_.state.sites[i].charge);
    if (v == Verdict::rejected) return false;
    std::int64_t exact;
    if (v == Verdict::accepted) {
      // The energy takes the estimate where it has decided.
      exact = wrapping_sum(nearest_integer(change), vacuum);
      sweep_.accept(i, gain);
    } else {
      ++sweep_.direct;
      exact = direct_sum(k);
      if (!sweep_.decide(i, exact)) return false;
    }
    moved_[i] = 1;
    sweep_.count_accepted(i, exact);
    return true;
  }
  // Which trials overlap with an ion at the start of the sweep or with the new place of another
  // one, which alone can overlap at their turn.
  void find_crowded() {
    const State& state = sweep_.state;
    crowded_.assign(order_.count(), 0);
    sweep_.for_each_of_share(order_.count(), [&](int k) {
      const int i = order_[k];
      const auto near = [&](const CellLists& lists, const auto& place) {
        return overlaps(state.rules, lists.view(), place, state.radius.data(), i,
                        sweep_.moved_to(i), [](int) { return true; });
      };
      crowded_[k] = near(order_.lists(), [&](int j) { return state.sites[j]; }) ||
                    near(trial_lists_, [&](int j) { return sweep_.moved_to(j); });
    });
    sweep_.shares.gather({0, order_.count()}, crowded_.data());
  }
  // Ions stand where they were at the start of the sweep, or where their trials have put them.
  bool overlaps_now(int i) const {
    const State& state = sweep_.state;
    const auto hit = [&](const CellLists& lists, char moved) {
      return overlaps(
          state.rules, lists.view(), [&](int j) { return state.sites[j]; }, state.radius.data(), i,
          sweep_.moved_to(i), [&](int j) { return moved_[j] == moved; });
    };
    return hit(order_.lists(), 0) || hit(trial_lists_, 1);
  }
  // The brush's sum, of all ions as they stand at this trial's turn.
  std::int64_t direct_sum(std::size_t k) {
    std::atomic<std::uint64_t> sum{0};  // wraps around, as wrapping_sum() does
    for_each_range(sweep_.pool, static_cast<int>(sweep_.ions()), [&](int first, int last) {
      float nearest2;
      sum += static_cast<std::uint64_t>(
          sweep_.change_by({static_cast<std::size_t>(first), static_cast<std::size_t>(last)},
                           order_[k], k, nearest2));
    });
    return static_cast<std::int64_t>(sum.load());
  }

  CpuSweep& sweep_;
  Candidates order_;
  const std::size_t turn_;
  Epochs epochs_;
  std::unique_ptr<CpuFarField> far_field_;
  std::unique_ptr<CpuFarField> moves_field_;  // if there are two kinds of epochs
  // In this outer epoch: what left, with the opposite charge, and what came
  std::vector<Site> changed_;
  // By place in the order of a sweep: new places of the candidates, estimates of the change of the
  // potential (for one unit), and bounds of their errors in quanta
  Columns to_;
  std::vector<double> estimates_, bounds_;
  std::vector<char> crowded_;  // the same
  std::vector<char> moved_;    // in this sweep, in the order of the input
  CellLists trial_lists_;      // of new places
};

}  // namespace manymove::coulomb
