// SPDX-License-Identifier: BSD-3-Clause
// Teams of one thread for team.h. Included only by sources that are compiled once per SIMD level.
#pragma once

#include "../team.h"
#include "../team_pointer.h"

namespace manymove::adsorption::MANYMOVE_SIMD {
namespace {

// A team that is a loop over W lanes: the compiler makes SIMD code of it.
template <int W>
struct Loop {
  using One = Loop;
  using Whole = Loop<kWidth>;
  using Draws = EachDraw;
  static constexpr int width = W, neighbors = 1;
  template <class T>
  struct Lane {
    alignas(64) T value[W];
    T& operator[](int l) { return value[l]; }
    const T& operator[](int l) const { return value[l]; }
  };
  template <class T>
  struct Levels {
    T level[6][W];
    T partial(int n, int l) const { return level[n][l]; }
    T total() const { return level[5][0]; }
  };

  static void each(const auto& f) {
    for (int l = 0; l < W; ++l) f(l);
  }
  static void strided(int begin, int end, const auto& f) {
    for (int base = begin; base < end; base += W) {
      const int some = end - base < W ? end - base : W;
      for (int l = 0; l < some; ++l) f(l, base + l);
    }
  }
  static void share(int count, const auto& f) {
    for (int i = 0; i < count; ++i) f(i);
  }
  static void tasks(TeamPointer<TeamCounters>, int count, const auto& f) {
    for (int t = 0; t < count; ++t) f(t);
  }
  static void reset(TeamPointer<TeamCounters>) {}
  static std::int64_t total(TeamPointer<TeamCounters>, std::int64_t amount) { return amount; }
  template <class F>
  static void bring(const F*, int, TeamPointer<F>) {}
  static bool first_warp() { return true; }
  static One one() { return {}; }
  static void first_lanes(int some, const auto& f) {
    for (int l = 0; l < some; ++l) f(l);
  }
  template <class T>
  static T sum(const Lane<T>& values) {
    return levels_of(values, [](T a, T b) { return a + b; });
  }
  template <class T>
  static T lowest(const Lane<T>& values) {
    return levels_of(values, [](T a, T b) { return a < b ? a : b; });
  }
  template <class T>
  static T highest(const Lane<T>& values) {
    return levels_of(values, [](T a, T b) { return a > b ? a : b; });
  }
  // Sums of a butterfly, each level kept.
  template <class T>
  static Levels<T> levels(const Lane<T>& values) {
    Levels<T> all;
    for (int l = 0; l < W; ++l) all.level[0][l] = values[l];
    for (int n = 0; n < 5; ++n)
      for (int l = 0; l < W; ++l)
        // As __shfl_xor_sync of a warp: partners are 16, 8, 4, 2 and 1 lanes apart, so that float
        // sums have the same bits.
        all.level[n + 1][l] = all.level[n][l] + all.level[n][(l ^ (16 >> n)) % W];
    return all;
  }
  static int compact(int count, const auto& test, const auto& store) {
    int place = 0;
    for (int i = 0; i < count; ++i)
      if (test(i)) store(i, place++);
    return place;
  }
  static auto difference(const auto& f) { return f(false) - f(true); }
  static int first(const Lane<bool>& values) {
    int l = 0;
    // The lowest lane, like __ffs() of a warp's vote.
    while (!values[l]) ++l;
    return l;
  }
  static StepWords words_of_step(PhiloxKey key, std::uint64_t step, int system) {
    std::uint32_t word[4];
    random_words(word, key, step, static_cast<std::uint32_t>(system), 0u, Purpose::choose);
    return {common_draw(key, step), word[0], word[1]};
  }
  static bool any(const Lane<bool>& values) {
    bool found = false;
    for (int l = 0; l < W; ++l) found |= values[l];
    return found;
  }
  static bool leads() { return true; }
  static void sync() {}
  static void add(std::uint64_t* to, std::uint64_t amount) {
    // Sums of integers: neither their order nor that of other memory matters.
    __atomic_fetch_add(to, amount, __ATOMIC_RELAXED);
  }

 private:
  template <class T, class Join>
  static T levels_of(const Lane<T>& values, const Join& join) {
    T part[W], next[W];
    for (int l = 0; l < W; ++l) part[l] = values[l];
    for (int off = W / 2; off > 0; off /= 2) {
      // All lanes join at once, so that level by level the order is that of a warp's butterfly.
      for (int l = 0; l < W; ++l) next[l] = join(part[l], part[l ^ off]);
      for (int l = 0; l < W; ++l) part[l] = next[l];
    }
    return part[0];
  }
};
using Team = Loop<kWidth>;
using Alone = Loop<1>;

}  // namespace
}  // namespace manymove::adsorption::MANYMOVE_SIMD
