// SPDX-License-Identifier: BSD-3-Clause
#include "watchdog.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

#include "patience.h"
#include "text.h"

namespace manymove {
namespace {

constexpr double kPause = 0.01;  // seconds between two looks into the mailbox
constexpr double kGrace = 5;     // counted seconds within which the others send how they end

Clock& system_clock() {
  static Clock clock;
  return clock;
}

}  // namespace

double Clock::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Clock::rest(double seconds) {
  if (seconds > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  else
    std::this_thread::yield();
}

// A process that was stopped, and everything that was stopped with it, finds a single long step
// when it is woken. The share of the limit leaves the others time to wake and to answer.
class Watchdog::Count {
 public:
  Count(Clock& clock, double limit) : clock_(clock), limit_(limit), last_(clock.now()) {}
  double seconds() {
    const double now = clock_.now();
    seconds_ += counted(now - last_, limit_);
    last_ = now;
    return seconds_;
  }

 private:
  Clock& clock_;
  double limit_, last_, seconds_ = 0;
};

double Watchdog::timeout() {
  const char* text = std::getenv("MANYMOVE_TIMEOUT");
  if (!text) return 60;
  char* end;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end || !std::isfinite(seconds) || seconds <= 0)
    throw std::invalid_argument(
        text_of("MANYMOVE_TIMEOUT is \"", text, "\"; it must be a positive number of seconds"));
  return seconds;
}

Watchdog::Watchdog(int rank, int ranks, Post& post, double limit, Clock* clock)
    : rank_(rank),
      post_(post),
      clock_(clock ? clock : &system_clock()),
      answers_(static_cast<std::size_t>(ranks)),
      state_(static_cast<std::size_t>(ranks), State::running),
      origin_(ranks) {
  set_limit(limit);
}

void Watchdog::set_limit(double seconds) {
  if (!(seconds > 0 && std::isfinite(seconds)))
    throw std::invalid_argument(text_of("timeout must be positive, got ", seconds));
  limit_ = seconds;
}

// ---- waiting ----

void Watchdog::wait_longer(const std::function<bool()>& done) {
  struct Present {
    explicit Present(double& waited) : waited(waited) { waited = 0; }
    ~Present() { waited = -1; }
    double& waited;
  } const present(waited_);
  Count count(*clock_, limit_);
  double next_look = kPause;
  next_question_ = limit_ / 2;
  ++question_;  // answers to an earlier wait's do not count
  std::fill(answers_.begin(), answers_.end(), std::numeric_limits<float>::quiet_NaN());
  for (bool asked = false; !done();) {
    waited_ = count.seconds();
    if (waited_ >= next_look) {
      throw_failure_of_others();
      if (asked) evaluate_answers();
      // Questions only from half the limit on: ranks that are a little late answer by their
      // messages.
      if (waited_ >= next_question_) send_questions(), asked = true;
      next_look = waited_ + kPause;
    }
    // Ranks may share a core; those that have waited for long may as well sleep.
    clock_->rest(waited_ < kPause ? 0 : waited_ < 1 ? 1e-4 : 1e-2);
  }
}

void Watchdog::send_questions() {
  next_question_ = waited_ + limit_ / 2;
  std::fill(answers_.begin(), answers_.end(), std::numeric_limits<float>::quiet_NaN());
  send_to_others({Notice::kQuestion, rank_, ++question_, 0, {}});
}

// Evaluates the answers to the present question.
void Watchdog::evaluate_answers() {
  if (waited_ >= next_question_)
    if (const std::string ranks = silent_ranks(); !ranks.empty())
      fail(text_of(ranks, " silent for ", limit_,
                   " s (MANYMOVE_TIMEOUT): ended, hanging or stopped"));
  // The ranks begin to wait at slightly different times.
  const auto waits_for_long = [&](float waited) { return waited >= 0.9 * limit_; };
  answers_[static_cast<std::size_t>(rank_)] = static_cast<float>(waited_);
  if (waited_ >= limit_ && std::all_of(answers_.begin(), answers_.end(), waits_for_long))
    fail(text_of("all ", ranks(), " ranks have waited for one another for ", limit_,
                 " s (MANYMOVE_TIMEOUT): they do not make the same calls"));
}

// "rank 2 of 4 has been", "ranks 1, 3 of 4 have been"; empty if all have answered.
std::string Watchdog::silent_ranks() const {
  std::string names;
  int number = 0;
  for (int r = 0; r < ranks(); ++r)
    if (r != rank_ && std::isnan(answers_[static_cast<std::size_t>(r)]))
      append_text(names, number++ ? ", " : ""), append_text(names, r);
  if (number == 0) return "";
  return text_of(number == 1 ? "rank " : "ranks ", names, " of ", ranks(),
                 number == 1 ? " has been" : " have been");
}

void Watchdog::look() {
  if (over_) fail({});
  const double now = clock_->now();
  if (now < next_look_) return;
  next_look_ = now + kPause;
  throw_failure_of_others();
}

// ---- notices ----

void Watchdog::send_to_others(const Notice& notice) {
  for (int r = 0; r < ranks(); ++r)
    if (r != rank_) post_.send(r, notice);
}

void Watchdog::read_notices() {
  for (Notice notice; post_.receive(notice);) {
    if (notice.sender < 0 || notice.sender >= ranks() || notice.sender == rank_) continue;
    notice.text[sizeof notice.text - 1] = 0;
    const auto sender = static_cast<std::size_t>(notice.sender);
    switch (notice.kind) {
      case Notice::kQuestion: {
        const Notice answer{Notice::kAnswer, rank_, notice.number, static_cast<float>(waited_), {}};
        post_.send(notice.sender, answer);
        break;
      }
      case Notice::kAnswer:
        if (notice.number == question_) answers_[sender] = notice.waited;
        break;
      case Notice::kLeft:
        everyone_ = false;
        break;
      case Notice::kAlarm:
        ++alarms_;
        break;
      case Notice::kFailed:
      case Notice::kStopped:
        if (notice.number < 0) break;
        state_[sender] = notice.kind == Notice::kFailed ? State::failed : State::stopped;
        // The lowest rank that has failed is the origin, whichever notice comes first.
        if (notice.number < origin_) origin_ = notice.number, text_ = notice.text;
    }
  }
}

void Watchdog::throw_failure_of_others() {
  read_notices();
  if (origin_ < ranks()) throw_on_all(Notice::kStopped);
}

void Watchdog::raise_alarm() { send_to_others({Notice::kAlarm, rank_, 0, 0, {}}); }

int Watchdog::alarms() {
  look();
  return alarms_;
}

void Watchdog::take_alarms(int number) {
  wait([&] {
    read_notices();
    return alarms_ >= number;
  });
  alarms_ -= number;
}

void Watchdog::fail(const std::string& text) {
  if (over_) throw RankFailure(text_, everyone_);
  throw_failure_of_others();
  Notice notice;
  copy_text(notice.text, text);
  origin_ = rank_;
  text_ = notice.text;
  throw_on_all(Notice::kFailed);
}

// Each rank sends once whether it has failed by itself, waits until all others have sent this too,
// and chooses the lowest that has failed: all ranks choose the same one. A rank that computes for
// longer than the others wait here reads all their notices before it can fail by itself.
void Watchdog::throw_on_all(Notice::Kind kind) {
  Notice notice{kind, rank_, origin_, 0, {}};
  copy_text(notice.text, text_);
  send_to_others(notice);
  state_[static_cast<std::size_t>(rank_)] =
      kind == Notice::kFailed ? State::failed : State::stopped;
  const auto is_running = [](State state) { return state == State::running; };
  const auto everyone = [&] { return std::none_of(state_.begin(), state_.end(), is_running); };
  Count count(*clock_, limit_);
  const double most = std::min(kGrace, limit_);
  for (read_notices(); !everyone() && count.seconds() < most; read_notices()) clock_->rest(1e-3);
  over_ = true;
  if (!everyone()) {
    everyone_ = false;
    notice.kind = Notice::kLeft;
    send_to_others(notice);
  }
  throw RankFailure(text_, everyone_);
}

}  // namespace manymove
