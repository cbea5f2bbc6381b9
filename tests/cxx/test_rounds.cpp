// SPDX-License-Identifier: BSD-3-Clause
// Decisions in rounds are those of one trial after the other.
#include "core/coulomb/rounds.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "support/test.h"

using namespace manymove;
using namespace manymove::coulomb;

namespace {

constexpr int kTrials = 128, kSums = 16;
const double kMagic = 1.5 * 0x1p22;  // 2^-30

// Trials and what each predecessor adds if it stays [0] or moves [1]: an integer, or a term of one
// of sixteen float32 sums. A term next to which the ions overlap may be anything.
struct Batch {
  std::vector<std::int64_t> start, threshold;
  std::vector<std::int64_t> term[2];
  std::vector<float> at_new[2], at_present[2], charge;
  std::vector<char> overlap[2];
  bool in_floats;

  Batch(unsigned seed, double width, double overlaps, bool in_floats) : in_floats(in_floats) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> one(0, 1);
    for (int i = 0; i < kTrials; ++i) {
      start.push_back(static_cast<std::int64_t>((one(random) - 0.5) * 0x1p30));
      threshold.push_back(static_cast<std::int64_t>(-std::log(one(random)) * 0x1p28));
      charge.push_back(random() % 4 ? -1.0f : 3.0f);
    }
    for (int pair = 0; pair < kTrials * kTrials; ++pair)
      for (int k = 0; k < 2; ++k) {
        const bool hit = one(random) < overlaps;
        overlap[k].push_back(hit);
        const double scale = hit ? 1e9 : width;
        term[k].push_back(static_cast<std::int64_t>((one(random) - 0.5) * scale * 0x1p30));
        at_new[k].push_back(static_cast<float>(one(random) * scale));
        at_present[k].push_back(static_cast<float>(one(random) * scale));
      }
  }

  bool decided_in_turn(int i, const std::vector<char>& moved) const {
    std::int64_t change = start[i];
    bool hit = false;
    for (int l = 0; l < kSums; ++l) {
      float sum = 0;
      for (int j = l; j < i; j += kSums) {
        const int pair = kTrials * i + j, k = moved[j];
        hit = hit || overlap[k][pair];
        sum = with_term(sum, charge[j], at_new[k][pair], at_present[k][pair]);
        if (!in_floats) change = wrapping_sum(change, term[k][pair]);
      }
      if (in_floats && !hit) change += to_fixed(sum, kMagic);
    }
    return !hit && change <= threshold[i];
  }
  std::vector<char> in_turn() const {
    std::vector<char> moved;
    for (int i = 0; i < kTrials; ++i) moved.push_back(decided_in_turn(i, moved));
    return moved;
  }

  // What the trials before i can do for these outcomes.
  Range range(int i, const Outcomes* words, Hits& hits) const {
    Range range{0, 0};
    for (int l = 0; l < kSums; ++l) {
      FloatRange sum{0, 0};
      for (int j = l; j < i; j += kSums) {
        const int pair = kTrials * i + j;
        Choices choices = Choices::of(words[j / 32], j % 32);
        choices.without(overlap[0][pair], overlap[1][pair], hits);
        if (!choices.stays && !choices.moves) continue;
        if (in_floats)
          add_choice(sum, choices, charge[j], {at_new[0][pair], at_new[1][pair]},
                     {at_present[0][pair], at_present[1][pair]});
        else
          add_choice(range, choices, term[0][pair], term[1][pair]);
      }
      if (in_floats) range = range + Range{to_fixed(sum.least, kMagic), to_fixed(sum.most, kMagic)};
    }
    return range;
  }
};

struct Result {
  std::vector<char> moved;
  int rounds = 0;
};

// Each round knows the outcomes of the round before, or with `late` of the one before that for
// every other trial.
Result in_rounds(const Batch& batch, bool late) {
  Outcomes words[kTrials / 32] = {}, old[kTrials / 32] = {};
  Result result;
  for (bool open = true; open; ++result.rounds) {
    Outcomes next[kTrials / 32];
    std::copy(words, words + kTrials / 32, next);
    int decided = 0;
    open = false;
    for (int i = 0; i < kTrials; ++i) {
      if (is_decided(words[i / 32], i % 32)) continue;
      Hits hits{false, false};
      const Range change = batch.range(i, late && i % 2 ? old : words, hits);
      const Outcome outcome = judge(exactly(batch.start[i]) + change, batch.threshold[i], hits);
      open = open || outcome == Outcome::open;
      if (outcome == Outcome::open) continue;
      ++decided;
      next[i / 32] |= Outcomes{1} << (i % 32);
      if (outcome == Outcome::moves) next[i / 32] |= Outcomes{1} << (32 + i % 32);
    }
    CHECK(late || decided > 0);
    std::copy(words, words + kTrials / 32, old);
    std::copy(next, next + kTrials / 32, words);
    if (result.rounds > 3 * kTrials) break;
  }
  for (int i = 0; i < kTrials; ++i) result.moved.push_back(has_moved(words[i / 32], i % 32));
  return result;
}

}  // namespace

TEST("rounds make the decisions of one trial after the other") {
  for (const bool in_floats : {false, true})
    for (const double width : {1e-4, 0.01, 0.3, 10.0})
      for (const double overlaps : {0.0, 0.001, 0.05, 0.5})
        for (unsigned seed = 0; seed < 4; ++seed) {
          const Batch batch(seed, width, overlaps, in_floats);
          const auto moved = batch.in_turn();
          const Result rounds = in_rounds(batch, false);
          CHECK(rounds.moved == moved);
          CHECK(rounds.rounds <= kTrials);
          CHECK(in_rounds(batch, true).moved == moved);
        }
}

TEST("weakly coupled trials are decided in few rounds") {
  const Batch batch(1, 1e-4, 0, false);
  CHECK(in_rounds(batch, false).rounds <= 4);
}
