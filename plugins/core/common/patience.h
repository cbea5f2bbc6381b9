// SPDX-License-Identifier: BSD-3-Clause
// How long a wait inside this process may last without progress.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace manymove {

// Seconds of the environment variable MANYMOVE_TIMEOUT, 60 by default. Throws std::invalid_argument
// that names the variable.
inline double timeout_seconds() {
  const char* const text = std::getenv("MANYMOVE_TIMEOUT");
  if (!text) return 60;
  char* end;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end || !std::isfinite(seconds) || seconds <= 0)
    throw std::invalid_argument("MANYMOVE_TIMEOUT is \"" + std::string(text) +
                                "\"; it must be a positive number of seconds");
  return seconds;
}

// Counts the seconds between polls since the last progress. One poll adds at most a second, and at
// most a sixteenth of the limit, so that the time for which a job is suspended does not count.
template <class Clock = std::chrono::steady_clock>
class Patience {
 public:
  explicit Patience(double limit) : limit_(limit), last_(Clock::now()) {}
  // To be called at each poll. True once there has been no progress for the limit.
  bool is_over(bool progress) {
    const auto now = Clock::now();
    const double step = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    waited_ = progress ? 0 : waited_ + std::min({step, 1.0, limit_ / 16});
    return waited_ >= limit_;
  }

 private:
  double limit_, waited_ = 0;
  typename Clock::time_point last_;
};

}  // namespace manymove
