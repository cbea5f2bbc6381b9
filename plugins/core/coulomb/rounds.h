// SPDX-License-Identifier: BSD-3-Clause
// Decisions in rounds (docs/theory/coulomb.md, section 4), for CPU and GPU.
//
// The chain decides trial after trial. In rounds all trials that are still open are looked at side
// by side: the change of a trial's potential is a sum of integers, of which those of open
// predecessors are not known yet, but each is one of two, that of the ion where it was or where its
// trial would take it. The sums of the smaller and of the larger ones are a Range. If the trial's
// threshold lies outside, the trial is decided, whatever its predecessors do. The first open trial
// has no open predecessor, so that its range is a single value and each round decides at least one.
//
// A caller proceeds in this way:
//   1. The start of each trial is its sum over all ions that are no open predecessors.
//   2. Each round adds to it, for all open predecessors, the Range of what they can still add
//      (add_choice), and calls judge().
#pragma once

#include "model.h"

namespace manymove::coulomb {

// Bounds of a change of the potential, both included.
struct Range {
  std::int64_t least, most;
};

MM_HD Range exactly(std::int64_t value) { return {value, value}; }
MM_HD Range operator+(const Range& a, const Range& b) {
  return {wrapping_sum(a.least, b.least), wrapping_sum(a.most, b.most)};
}
// Times the sign of the charge.
MM_HD Range signed_for(float charge, const Range& a) {
  return charge > 0 ? a : Range{wrapping_difference(0, a.most), wrapping_difference(0, a.least)};
}

// Hard cores: whether an overlap is possible with what open predecessors can do, and whether it is
// certain.
struct Hits {
  bool possible, certain;
};

enum class Outcome : std::uint8_t { open, stays, moves };

// change: times the sign of the charge; threshold: of Trial. An overlap rejects, whatever the
// energy.
MM_HD Outcome judge(const Range& change, std::int64_t threshold, const Hits& hits) {
  if (hits.certain || change.least > threshold) return Outcome::stays;
  return change.most <= threshold && !hits.possible ? Outcome::moves : Outcome::open;
}
// The outcomes of 32 trials in one word, so that it is read and written as a whole: bit l says
// that trial l is decided, bit 32 + l that it moves.
using Outcomes = std::uint64_t;
MM_HD bool is_decided(Outcomes word, int l) { return word >> l & 1; }
MM_HD bool has_moved(Outcomes word, int l) { return word >> (32 + l) & 1; }
MM_HD bool all_decided(Outcomes word) { return (word & 0xffffffffu) == 0xffffffffu; }

// What a predecessor can still do, and whether the trial's ion would overlap with it then.
struct Choices {
  bool stays, moves;

  MM_HD static Choices of(Outcomes word, int l) {
    const bool decided = is_decided(word, l), moved = has_moved(word, l);
    return {!decided || !moved, !decided || moved};
  }
  // A choice with an overlap rejects the trial, so that its energy does not count.
  MM_HD void without(bool stays_overlap, bool moves_overlap, Hits& hits) {
    hits.possible = hits.possible || (stays && stays_overlap) || (moves && moves_overlap);
    stays = stays && !stays_overlap;
    moves = moves && !moves_overlap;
    hits.certain = hits.certain || !(stays || moves);
  }
};

// Adds what one predecessor can add. At least one choice is left. All terms are those of positions
// without an overlap with the trial's, so that they have at most 46 bits, and the sums of a
// thousand of them leave the room that model.h's resolution does.
MM_HD void add_choice(Range& sum, const Choices& choices, std::int64_t if_stays,
                      std::int64_t if_moves) {
  const std::int64_t a = choices.stays ? if_stays : if_moves,
                     b = choices.moves ? if_moves : if_stays;
  sum = sum + Range{a < b ? a : b, a < b ? b : a};
}

// The same for a float32 sum: each term is added with one rounding, which keeps the order of what
// it is added to. So the smallest value of the sum is that of the smaller choice at each term.
struct FloatRange {
  float least, most;
};
// at_new, at_present: the potential of a unit charge at both places of the trial, of the
// predecessor where it was [0] and where its trial would take it [1].
MM_HD float with_term(float sum, float charge, float at_new, float at_present) {
  return fused(-charge, at_present, fused(charge, at_new, sum));
}
MM_HD void add_choice(FloatRange& sum, const Choices& choices, float charge,
                      const float (&at_new)[2], const float (&at_present)[2]) {
  const int a = choices.stays ? 0 : 1, b = choices.moves ? 1 : 0;
  const float least_a = with_term(sum.least, charge, at_new[a], at_present[a]),
              least_b = with_term(sum.least, charge, at_new[b], at_present[b]),
              most_a = with_term(sum.most, charge, at_new[a], at_present[a]),
              most_b = with_term(sum.most, charge, at_new[b], at_present[b]);
  sum = {least_a < least_b ? least_a : least_b, most_a < most_b ? most_b : most_a};
}

}  // namespace manymove::coulomb
