// SPDX-License-Identifier: BSD-3-Clause
// The variants of variants.cu on one core of a CPU: the same lists, layouts, sorts and functions.
// variants.py compiles this file with the C++ compiler if there is no GPU. The times of variants
// that exist only on a GPU are NaN.
//
// Every function returns nullptr or the text of an error.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "variants.h"

namespace variants {
namespace {

constexpr int kBatch = 32;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Failure {
  std::string text;
};

template <class Run>
double time_of(Run run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Time of the fastest run in seconds. `prepare` is not timed.
template <class Prepare, class Run>
double fastest(int repeats, Prepare prepare, Run run) {
  double best = INFINITY;
  for (int k = 0; k < repeats; ++k) {
    prepare();
    best = std::min(best, time_of(run));
  }
  return best;
}
template <class Run>
double fastest(int repeats, Run run) {
  return fastest(repeats, [] {}, run);
}

struct Vector {
  float x, y, z;
  std::uint32_t word;
};

// The state of a system, and its lists with a row for each particle.
struct Lists {
  const System& s;
  std::vector<std::int32_t> fine, length, table, core, skin;
  std::vector<Vector> position, velocity;

  explicit Lists(const System& system)
      : s(system),
        fine(s.cells * s.candidates),
        length(s.cells),
        table(s.particles * s.row),
        core(s.particles),
        skin(s.particles),
        position(s.particles),
        velocity(s.particles) {}

  void expand() {
    for (std::int64_t cell = 0; cell < s.cells; ++cell) {
      std::int32_t* row = fine.data() + cell * s.candidates;
      std::int32_t* end = row;
      for (int k = 0; k < 27; ++k) {
        const int near = s.stencil[27 * cell + k];
        end = std::copy(s.member + s.start[near], s.member + s.start[near + 1], end);
      }
      length[cell] = static_cast<std::int32_t>(end - row);
    }
  }

  // Batches of 32 candidates: places from the bits of a mask (vote), or from a counter that is
  // incremented atomically.
  template <bool vote, bool split>
  void build() {
    const auto edge = static_cast<float>(s.edge);
    const float inverse = 1.0f / edge, inner = s.cutoff * s.cutoff, outer = s.reach * s.reach;
    for (std::int64_t cell = 0; cell < s.cells; ++cell) {
      const std::int32_t* candidates = fine.data() + cell * s.candidates;
      for (int m = s.start[cell]; m < s.start[cell + 1]; ++m) {
        const std::int32_t i = s.member[m];
        const Vector r = position[i];
        std::int32_t* row = table.data() + static_cast<std::int64_t>(i) * s.row;
        std::atomic<std::int32_t> counter{0}, counter_of_skin{0};
        std::int32_t hits = 0, far = 0;
        for (int base = 0; base < length[cell]; base += kBatch) {
          const int part = std::min(kBatch, length[cell] - base);
          float squared[kBatch];
          for (int k = 0; k < part; ++k) {
            const Vector other = position[candidates[base + k]];
            const float dx = near_image(other.x - r.x, edge, inverse);
            const float dy = near_image(other.y - r.y, edge, inverse);
            const float dz = near_image(other.z - r.z, edge, inverse);
            squared[k] = dx * dx + dy * dy + dz * dz;
          }
          std::uint32_t mask = 0, mask_of_skin = 0;
          for (int k = 0; k < part; ++k) {
            const std::int32_t j = candidates[base + k];
            const bool near = squared[k] < outer && j != i;
            const bool hit = split ? near && squared[k] < inner : near;
            if constexpr (vote) {
              mask |= static_cast<std::uint32_t>(hit) << k;
              mask_of_skin |= static_cast<std::uint32_t>(near && !hit) << k;
            } else {
              if (hit) {
                const std::int32_t at = counter.fetch_add(1);
                if (at < s.row) row[at] = j;
              } else if (near) {
                const std::int32_t at = counter_of_skin.fetch_add(1);
                if (at < s.row) row[s.row - 1 - at] = j;
              }
            }
          }
          if constexpr (vote) {
            for (; mask; mask &= mask - 1, ++hits)
              if (hits < s.row) row[hits] = candidates[base + __builtin_ctz(mask)];
            for (; mask_of_skin; mask_of_skin &= mask_of_skin - 1, ++far)
              if (far < s.row)
                row[s.row - 1 - far] = candidates[base + __builtin_ctz(mask_of_skin)];
          }
        }
        core[i] = vote ? hits : counter.load();
        skin[i] = vote ? far : counter_of_skin.load();
      }
    }
  }

  void join() {
    std::vector<std::int32_t> part(s.row);
    for (std::int64_t i = 0; i < s.particles; ++i) {
      std::int32_t* row = table.data() + i * s.row;
      for (int k = 0; k < skin[i]; ++k) part[k] = row[s.row - 1 - k];
      std::copy(part.begin(), part.begin() + skin[i], row + core[i]);
      core[i] += skin[i];
    }
  }

  void transpose() {
    for (std::int64_t top = 0; top < s.particles; top += kBatch)
      for (int left = 0; left < s.row; left += kBatch) {
        std::int32_t* corner = table.data() + top * s.row + left;
        for (int a = 0; a < kBatch; ++a)
          for (int b = 0; b < a; ++b) std::swap(corner[a * s.row + b], corner[b * s.row + a]);
      }
  }

  template <int noise, int arithmetic>
  void forces(const NoiseKey& key, std::vector<double>& out) const {
    const Law law = law_of(s.cutoff);
    const double inverse_edge = 1.0 / s.edge;
    const double squared_cutoff = static_cast<double>(s.cutoff) * s.cutoff;
    for (std::int64_t i = 0; i < s.particles; ++i) {
      const Vector r = position[i], v = velocity[i];
      double sum[3] = {};
      for (int k = 0; k < core[i]; ++k) {
        const std::int32_t j = table[i * s.row + k];
        const Vector other = position[j];
        double d[3] = {static_cast<double>(r.x) - other.x, static_cast<double>(r.y) - other.y,
                       static_cast<double>(r.z) - other.z};
        for (double& component : d) component -= s.edge * __builtin_rint(component * inverse_edge);
        const double squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (squared < squared_cutoff) {
          const Vector w = velocity[j];
          const double approach = d[0] * (static_cast<double>(v.x) - w.x) +
                                  d[1] * (static_cast<double>(v.y) - w.y) +
                                  d[2] * (static_cast<double>(v.z) - w.z);
          const bool signatures = noise == tea_of_signatures;
          const double f =
              force_of<noise, arithmetic>(law, squared, approach, signatures ? r.word : v.word,
                                          signatures ? other.word : w.word, key);
          for (int axis = 0; axis < 3; ++axis) sum[axis] += f * d[axis];
        }
      }
      std::copy(sum, sum + 3, out.begin() + 3 * i);
    }
  }

  std::vector<std::int32_t> sorted() const { return sorted_rows(table, s.particles, s.row, core); }
};

// All measurements of one system, in the order of TIMES in variants.py.
void measure_all(const System& s, double* seconds, std::int32_t* counts) {
  const std::int64_t n = s.particles;
  const NoiseKey key = noise_key(1, 1);
  const std::uint32_t words[4] = {key.mask[1], key.mask[0], ~key.round[0], key.round[0]};
  Lists lists(s);
  std::vector<std::uint32_t> signature(n);
  double* next = seconds;
  *next++ = fastest(s.repeats, [&] {
    for (std::int64_t i = 0; i < n; ++i) {
      const double* v = s.velocity + 3 * i;
      signature[i] = tea_signature(static_cast<std::uint32_t>(s.tag[i]), v[0], v[1], v[2], words);
    }
  });
  *next++ = fastest(s.repeats, [&] {
    for (std::int64_t i = 0; i < n; ++i) {
      const double *r = s.position + 3 * i, *v = s.velocity + 3 * i, middle = 0.5 * s.edge;
      lists.position[i] = {static_cast<float>(r[0] - middle), static_cast<float>(r[1] - middle),
                           static_cast<float>(r[2] - middle), signature[i]};
      lists.velocity[i] = {static_cast<float>(v[0]), static_cast<float>(v[1]),
                           static_cast<float>(v[2]), static_cast<std::uint32_t>(s.tag[i])};
    }
  });
  *next++ = fastest(s.repeats, [&] { lists.expand(); });
  *next++ = fastest(s.repeats, [&] { lists.build<true, false>(); });
  *next++ = kNone;  // counts in registers
  const std::vector<std::int32_t> count = lists.core, rows = lists.sorted();
  if (const auto longest = *std::max_element(count.begin(), count.end()); longest > s.row)
    throw Failure{"a list has more than " + std::to_string(s.row)};
  const auto compare = [&](const char* name) {
    if (lists.core != count || lists.sorted() != rows)
      throw Failure{std::string(name) + " makes other lists"};
  };
  *next++ = fastest(s.repeats, [&] { lists.build<false, false>(); });
  compare("atomic increment");
  *next++ = kNone;  // counts in global memory
  *next++ = fastest(s.repeats, [&] { lists.transpose(); });
  lists.build<true, false>();

  std::vector<double> of_signatures(3 * n), other(3 * n);
  *next++ = fastest(s.repeats,
                    [&] { lists.forces<tea_of_signatures, fast_functions>(key, of_signatures); });
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += of_signatures[3 * i];
  if (!(std::fabs(total) < 1e-6 * n)) throw Failure{"the forces do not add up to zero"};
  *next++ =
      fastest(s.repeats, [&] { lists.forces<tea_of_signatures, library_functions>(key, other); });
  if (!(largest_difference(of_signatures, other) < 1e-6))
    throw Failure{"forces of the library's functions differ"};
  *next++ = fastest(s.repeats, [&] { lists.forces<tea_of_tags, fast_functions>(key, other); });
  *next++ = fastest(s.repeats, [&] { lists.forces<philox_of_tags, fast_functions>(key, other); });
  if (largest_difference(of_signatures, other) < 1e-3)
    throw Failure{"two generators make the same forces"};
  *next++ =
      fastest(s.repeats, [&] { lists.forces<philox_of_tags, product_functions>(key, other); });

  *next++ = fastest(s.repeats, [&] { lists.build<true, true>(); });
  double of_skin = 0;
  for (const std::int32_t number : lists.skin) of_skin += number;
  *next++ = fastest(s.repeats, [&] { lists.build<true, true>(); }, [&] { lists.join(); });
  compare("join");
  *next++ =
      fastest(s.repeats, [&] { lists.forces<tea_of_signatures, fast_functions>(key, other); });
  if (!(largest_difference(of_signatures, other) < 1e-10))
    throw Failure{"the core in front makes other forces"};

  std::vector<double> x(s.position, s.position + 3 * n), v(s.velocity, s.velocity + 3 * n);
  *next++ = fastest(s.repeats, [&] {
    for (std::int64_t k = 0; k < 3 * n; ++k) {
      v[k] += 0.5e-12 * of_signatures[k];
      x[k] += 1e-12 * v[k];
    }
  });
  *next++ = fastest(s.repeats, [&] {
    for (const auto* of : {&x, &v})
      for (std::int64_t i = 0; i < n; ++i)
        for (int axis = 0; axis < 3; ++axis) other[3 * i + axis] = (*of)[3 * s.member[i] + axis];
  });
  *next++ = of_skin;
  std::copy(count.begin(), count.end(), counts);
}

constexpr int kDigits = 16, kBits = 4;

// Algorithm 2 on one core.
void radix_sort(int bits, std::vector<std::uint32_t>& key, std::vector<std::uint32_t>& value) {
  std::vector<std::uint32_t> key_out(key.size()), value_out(key.size());
  for (int bit = 0; bit < bits; bit += kBits) {
    std::size_t place[kDigits + 1] = {};
    for (const std::uint32_t k : key) ++place[(k >> bit & (kDigits - 1)) + 1];
    for (int digit = 1; digit < kDigits; ++digit) place[digit] += place[digit - 1];
    for (std::size_t i = 0; i < key.size(); ++i) {
      const std::size_t to = place[key[i] >> bit & (kDigits - 1)]++;
      key_out[to] = key[i];
      value_out[to] = value[i];
    }
    key.swap(key_out);
    value.swap(value_out);
  }
}

template <class Task>
const char* guarded(Task task) {
  static std::string text;
  try {
    task();
    return nullptr;
  } catch (const Failure& failure) {
    text = failure.text;
    return text.c_str();
  }
}

template <int function>
double chained(int calls, double b) {
  std::uint32_t v = 0x9E3779B9u;
  double a = 1.37, value = 0;
  for (int k = 0; k < calls; ++k) {
    value = value_of<function>(v, a, b);
    chain(value, v, a);
  }
  return value + a + v;
}

}  // namespace
}  // namespace variants

using namespace variants;

// Times in seconds of a system; counts [particles]: lengths of the lists.
extern "C" const char* variants_measure(const System* system, double* seconds,
                                        std::int32_t* counts) {
  return guarded([&] { measure_all(*system, seconds, counts); });
}

// Times in seconds of Interleave and Deinterleave.
extern "C" const char* variants_layouts(std::int64_t n, int repeats, double* seconds) {
  return guarded([&] {
    std::vector<double> in(3 * n), x(n), y(n), z(n), out(3 * n);
    for (std::int64_t k = 0; k < 3 * n; ++k) in[k] = static_cast<double>(k);
    seconds[1] = fastest(repeats, [&] {
      for (std::int64_t i = 0; i < n; ++i) {
        x[i] = in[3 * i];
        y[i] = in[3 * i + 1];
        z[i] = in[3 * i + 2];
      }
    });
    seconds[0] = fastest(repeats, [&] {
      for (std::int64_t i = 0; i < n; ++i) {
        out[3 * i] = x[i];
        out[3 * i + 1] = y[i];
        out[3 * i + 2] = z[i];
      }
    });
    if (out != in) throw Failure{"the layouts differ"};
  });
}

// Times in seconds of the radix sort and of std::stable_sort with keys [n] of so many bits.
extern "C" const char* variants_sort(std::int64_t n, int bits, int repeats,
                                     const std::uint32_t* keys, double* seconds) {
  return guarded([&] {
    std::vector<std::uint32_t> key, value, order(n);
    for (std::int64_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
    const std::vector<std::uint32_t> first = order;
    const auto fill = [&] {
      key.assign(keys, keys + n);
      value = first;
    };
    seconds[0] = fastest(repeats, fill, [&] { radix_sort(bits, key, value); });
    seconds[1] = fastest(
        repeats, [&] { order = first; },
        [&] {
          std::stable_sort(order.begin(), order.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
        });
    if (value != order) throw Failure{"the radix sort does not sort"};
    seconds[2] = kNone;
  });
}

// Values [n] of a function.
extern "C" const char* variants_evaluate(int function, std::int64_t n, const std::uint32_t* v,
                                         const double* a, const double* b, double* out) {
  for_constant<0, 1, 2, 3, 4, 5, 6, 7, 8>(function, [&](auto constant) {
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = value_of<decltype(constant)::value>(v[i], a[i], b[i]);
  });
  return nullptr;
}

// Nanoseconds of one of the calls of a chain.
extern "C" const char* variants_latency(int function, int calls, double b, double* nanoseconds) {
  volatile double sink = 0;
  for_constant<0, 1, 2, 3, 4, 5, 6, 7, 8>(function, [&](auto constant) {
    *nanoseconds =
        1e9 * fastest(3, [&] { sink = chained<decltype(constant)::value>(calls, b); }) / calls;
  });
  return sink == 0.12345 ? "no value" : nullptr;
}

// The peak bandwidth of the memory is not known.
extern "C" double variants_peak_bandwidth() { return 0; }
