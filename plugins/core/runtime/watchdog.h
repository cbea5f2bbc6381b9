// SPDX-License-Identifier: BSD-3-Clause
// How ranks that wait for each other find out that one of them is silent, and agree on an error.
//
// A rank is silent when it has neither ended the wait of another rank nor answered its question for
// MANYMOVE_TIMEOUT seconds. The seconds are counted by the rank that waits, from its own polls, and
// one poll adds little however long it took: a job that is suspended as a whole continues when it
// is woken. All ranks throw the same RankFailure, a silent one as soon as it wakes.
//
// The protocol uses neither MPI nor a device: the caller that starts an engine on several ranks
// provides a Post. It makes no collective call, and its destructor sends nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "api.h"

namespace manymove {

// Marks an exception that all ranks throw together, so that no rank needs to be informed of it.
struct MANYMOVE_API Agreed {
  virtual ~Agreed() = default;
};

// Thrown by all ranks with the same text; the engines that share the watchdog cannot be used
// afterwards. everyone: all ranks are known to throw it; otherwise at least one does not answer,
// and a collective call that waits for it would never return.
struct MANYMOVE_API RankFailure : std::runtime_error, Agreed {
  RankFailure(const std::string& text, bool everyone)
      : std::runtime_error(text), everyone(everyone) {}
  bool everyone;
};

// What watchdogs send each other, 512 bytes.
struct Notice {
  enum Kind : std::int32_t {
    kQuestion,  // are you alive?
    kAnswer,    // to the question of this number
    kFailed,    // this rank has failed by itself
    kStopped,   // this rank stops because rank `number` has failed
    kLeft,      // this rank has stopped without a notice from all others
    kAlarm      // raise_alarm()
  };
  std::int32_t kind, sender, number;
  float waited;    // in an answer: counted seconds in the present wait; negative outside of one
  char text[496];  // of a failure; ends with a zero
};
static_assert(sizeof(Notice) == 512);

// Carries notices apart from all other messages. Neither call ever blocks.
class MANYMOVE_API Post {
 public:
  virtual ~Post() = default;
  virtual void send(int rank, const Notice& notice) = 0;
  // False if there is none.
  virtual bool receive(Notice& notice) = 0;
};

class MANYMOVE_API Clock {
 public:
  virtual ~Clock() = default;
  virtual double now();               // seconds
  virtual void rest(double seconds);  // 0: lets other threads run
};

// For one thread at a time.
class MANYMOVE_API Watchdog {
 public:
  // Seconds of the environment variable MANYMOVE_TIMEOUT, 60 by default. Throws
  // std::invalid_argument that names the variable.
  static double timeout();

  // The post must live as long as the watchdog; a null clock stands for the system's.
  Watchdog(int rank, int ranks, Post& post, double limit = timeout(), Clock* clock = nullptr);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(state_.size()); }
  double limit() const { return limit_; }
  // Throws std::invalid_argument if it is not positive.
  void set_limit(double seconds);

  // False after a failure that all ranks know of: they may begin again with new watchdogs and a new
  // post. Throws the failure again if some rank may not know of it.
  bool can_go_on() const {
    if (over_ && !everyone_) throw RankFailure(text_, everyone_);
    return !over_;
  }

  // Polls done() until it is true. Throws RankFailure when another rank is silent, when another
  // rank has failed, or when all ranks have been waiting for the limit; what done() throws passes
  // through. A rank that computes for longer than half the limit calls look() in between, and the
  // others wait for it as long as it does.
  template <class Done>
  void wait(Done&& done) {
    if (over_) fail({});
    if (++waits_ % 64 == 0) look();  // a rank whose waits are all short answers too
    for (int k = 0; k < 100; ++k)
      if (done()) return;
    wait_longer(std::ref(done));
  }

  // Answers questions of ranks that wait for this one. Throws RankFailure when another rank has
  // failed. Cheap: the mailbox is read once in 10 ms.
  void look();

  // This rank has failed: throws RankFailure on all ranks, here at once and there at their next
  // wait() or look(). Where several ranks fail at about the same time, all throw the text of the
  // lowest. If this rank has received the notice of a failure before, its own text is dropped.
  [[noreturn]] void fail(const std::string& text);

  // Sends the other ranks a notice that this one would like them to stop soon. Nothing else
  // happens: alarms() is the number of alarms that have arrived and were not taken, after a look();
  // take_alarms() waits for a number that are known to have been raised, and removes them.
  void raise_alarm();
  int alarms();
  void take_alarms(int number);

 private:
  // Seconds of which a single step adds little.
  class Count;
  enum class State : char { running, failed, stopped };

  void wait_longer(const std::function<bool()>& done);
  void read_notices();
  void throw_failure_of_others();  // if one of the notices, which it reads, reports a failure
  void send_questions();
  void evaluate_answers();
  [[noreturn]] void throw_on_all(Notice::Kind kind);
  void send_to_others(const Notice& notice);
  std::string silent_ranks() const;

  int rank_;
  Post& post_;
  double limit_;
  Clock* clock_;
  std::uint32_t waits_ = 0;
  double next_look_ = 0;
  // State of the present wait
  double waited_ = -1;        // negative outside of one
  double next_question_ = 0;  // counted seconds
  std::int32_t question_ = 0;
  std::vector<float> answers_;  // [rank], to the present question; NaN: none yet
  // State of failures
  bool over_ = false, everyone_ = true;
  std::vector<State> state_;  // [rank]
  int origin_;                // the lowest rank that is known to have failed by itself
  std::string text_;          // of its failure
  int alarms_ = 0;            // that have come and were not taken
};

}  // namespace manymove
