// SPDX-License-Identifier: BSD-3-Clause
// Errors of a caller's input that carry the names and numbers of their message, so that a host
// program can name parameters and particles in its own words: an option of a command, an attribute,
// a tag. Hosts compile this header as C++17.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "api.h"
#include "text.h"

namespace manymove {

// The parameter that an error is about.
struct Parameter {
  std::string name;  // of the field of an algorithm's Parameters: "max_displacement"
};

// The particle, or the pair of particles, that an error is about.
struct Particles {
  Particles(std::string kind, std::int64_t index, std::string quantity = {})
      : kind(std::move(kind)), first(index), quantity(std::move(quantity)) {}
  Particles(std::string kind, std::int64_t first, std::int64_t second)
      : kind(std::move(kind)), first(first), second(second) {}
  std::string kind;  // "disk", "particle", "ion"
  std::int64_t first;
  std::int64_t second = -1;  // of a pair; otherwise negative
  std::string quantity;      // of the particle: "position", "diameter"; empty: the particle itself

  bool is_pair() const { return second >= 0; }
  // "disk 3", "position of disk 3", "disks 3 and 5"; other words may stand for one or two
  // particles.
  std::string text() const { return text(kind, kind + 's'); }
  std::string text(const std::string& one, const std::string& two) const {
    const std::string of = quantity.empty() ? quantity : quantity + " of ";
    return of + (is_pair() ? text_of(two, ' ', first, " and ", second) : text_of(one, ' ', first));
  }
};

// what() is the name of the parameter and the problem.
struct MANYMOVE_API ParameterError : std::invalid_argument {
  ParameterError(const Parameter& about, const std::string& problem)
      : std::invalid_argument(about.name + ' ' + problem), about(about), problem(problem) {}
  Parameter about;
  std::string problem;  // "must be from 1 to 1024, got 0"
};

// what() is about.text() and the problem.
struct MANYMOVE_API ParticleError : std::invalid_argument {
  ParticleError(const Particles& about, const std::string& problem)
      : std::invalid_argument(about.text() + ' ' + problem), about(about), problem(problem) {}
  Particles about;
  std::string problem;  // "is outside the box: x = 7, the edge is at 5"
};

// Two particles overlap.
struct MANYMOVE_API OverlapError : ParticleError {
  OverlapError(const Particles& pair, const std::string& problem, double depth)
      : ParticleError(pair, problem), depth(depth) {}
  double depth;  // in contact distances of the pair
};

template <class... Parts>
[[noreturn]] void refuse(const Parameter& about, const Parts&... problem) {
  throw ParameterError(about, text_of(problem...));
}
template <class... Parts>
[[noreturn]] void refuse(const Particles& about, const Parts&... problem) {
  throw ParticleError(about, text_of(problem...));
}
// Refuses a parameter that is not positive or not finite.
inline void check_positive(const char* name, double value) {
  if (!(value > 0) || !std::isfinite(value))
    refuse(Parameter{name}, "must be positive and finite, got ", value);
}

}  // namespace manymove
