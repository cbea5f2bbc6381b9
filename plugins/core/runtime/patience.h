// SPDX-License-Identifier: BSD-3-Clause
// How long a wait inside this process may last without progress.
#pragma once

#include <algorithm>
#include <chrono>

namespace manymove {

// What one poll adds to the seconds of a wait, however long it took: at most a second, and at most
// a sixteenth of the limit, so that the time for which a job is suspended does not count.
inline double counted(double seconds, double limit) { return std::min({seconds, 1.0, limit / 16}); }

// Counts the seconds between polls since the last progress.
template <class Clock = std::chrono::steady_clock>
class Patience {
 public:
  explicit Patience(double limit) : limit_(limit), last_(Clock::now()) {}
  // To be called at each poll. True once there has been no progress for the limit.
  bool is_over(bool progress) {
    const auto now = Clock::now();
    const double step = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    waited_ = progress ? 0 : waited_ + counted(step, limit_);
    return waited_ >= limit_;
  }

 private:
  double limit_, waited_ = 0;
  typename Clock::time_point last_;
};

}  // namespace manymove
