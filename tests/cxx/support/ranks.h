// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of this process, with mailboxes for what the communicators of the core
// promise.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "core/parallel/communicator.h"
#include "core/runtime/watchdog.h"

namespace manymove::test {

// Messages from each rank to each other one, in order, and the notices of their watchdogs.
class Mailboxes {
 public:
  explicit Mailboxes(int ranks) : notices_(static_cast<std::size_t>(ranks)) {}
  int ranks() const { return static_cast<int>(notices_.size()); }

  void put(int from, int to, const void* data, std::size_t bytes) {
    const auto* first = static_cast<const char*>(data);
    std::lock_guard lock(mutex_);
    box_[{from, to}].emplace_back(first, first + bytes);
  }
  // False if there is no message yet. Throws if there is none and a rank has ended by an error, or
  // if the message has another size.
  bool take(int from, int to, void* data, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    auto& messages = box_[{from, to}];
    if (messages.empty() && lost_) throw std::runtime_error("a rank is lost");
    if (messages.empty()) return false;
    if (messages.front().size() != bytes) throw std::logic_error("a message of another size");
    if (bytes) std::memcpy(data, messages.front().data(), bytes);
    messages.pop_front();
    return true;
  }
  void put_notice(int to, const Notice& notice) {
    std::lock_guard lock(mutex_);
    notices_[static_cast<std::size_t>(to)].push_back(notice);
  }
  bool take_notice(int to, Notice& notice) {
    std::lock_guard lock(mutex_);
    auto& notices = notices_[static_cast<std::size_t>(to)];
    if (notices.empty()) return false;
    notice = notices.front();
    notices.pop_front();
    return true;
  }
  void lose() {
    std::lock_guard lock(mutex_);
    lost_ = true;
  }
  // Whether all messages were received.
  bool empty() const {
    for (const auto& [way, messages] : box_)
      if (!messages.empty()) return false;
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> box_;
  std::vector<std::deque<Notice>> notices_;
  bool lost_ = false;
};

// One rank's access to the mailboxes; it waits through its watchdog.
class Rank final : public Post {
 public:
  Rank(Mailboxes& mail, int rank)
      : mail_(mail), rank_(rank), watchdog_(rank, mail.ranks(), *this, 60) {}
  int rank() const { return rank_; }
  int ranks() const { return mail_.ranks(); }
  Watchdog& watchdog() { return watchdog_; }

  void put(int to, const void* data, std::size_t bytes) { mail_.put(rank_, to, data, bytes); }
  void take(int from, void* data, std::size_t bytes) {
    watchdog_.wait([&] { return mail_.take(from, rank_, data, bytes); });
  }
  void send(int to, const Notice& notice) override { mail_.put_notice(to, notice); }
  bool receive(Notice& notice) override { return mail_.take_notice(rank_, notice); }

 private:
  Mailboxes& mail_;
  int rank_;
  Watchdog watchdog_;
};

class InProcess : public Communicator {
 public:
  InProcess(Mailboxes& mail, int rank) : rank_(mail, rank) {}
  int rank() const override { return rank_.rank(); }
  int ranks() const override { return rank_.ranks(); }
  Watchdog& watchdog() override { return rank_.watchdog(); }

  void gather(const void* mine, void* all, std::size_t bytes) override {
    for (int r = 0; r < ranks(); ++r) rank_.put(r, mine, bytes);
    for (int r = 0; r < ranks(); ++r)
      rank_.take(r, static_cast<char*>(all) + static_cast<std::size_t>(r) * bytes, bytes);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    for (int r = 0; r < ranks(); ++r) rank_.put(r, to + r, sizeof *to);
    for (int r = 0; r < ranks(); ++r) rank_.take(r, from + r, sizeof *from);
  }
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
    for (const Message& m : sent) rank_.put(m.rank, m.data, m.bytes);
    for (const Message& m : received) rank_.take(m.rank, m.data, m.bytes);
  }

 private:
  Rank rank_;
};

// Counts the bytes that a rank sends in messages.
class Counting final : public Communicator {
 public:
  explicit Counting(Communicator& inner) : inner_(inner) {}
  std::size_t sent = 0;

  int rank() const override { return inner_.rank(); }
  int ranks() const override { return inner_.ranks(); }
  Watchdog& watchdog() override { return inner_.watchdog(); }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    inner_.gather(mine, all, bytes);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    inner_.transpose(to, from);
  }
  void exchange(const std::vector<Message>& out, const std::vector<Message>& in) override {
    for (const Message& message : out) sent += message.bytes;
    inner_.exchange(out, in);
  }

 private:
  Communicator& inner_;
};

// Runs rank(mail, r) on a thread for each rank and throws the error of the first rank that had one
// of its own.
inline void run_ranks(int ranks, const std::function<void(Mailboxes&, int)>& rank) {
  Mailboxes mail(ranks);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        rank(mail, r);
      } catch (...) {
        {
          std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        mail.lose();
      }
    });
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  if (!mail.empty()) throw std::logic_error("a message that no rank received");
}

// With a communicator.
inline void run_communicators(int ranks, const std::function<void(Communicator&)>& rank) {
  run_ranks(ranks, [&](Mailboxes& mail, int r) {
    InProcess communicator(mail, r);
    rank(communicator);
  });
}

// Fails in the chosen call of a communicator.
class Faulty final : public Communicator {
 public:
  Faulty(Communicator& inner, int culprit) : inner_(inner), culprit_(culprit) {}
  int rank() const override { return inner_.rank(); }
  int ranks() const override { return inner_.ranks(); }
  Watchdog& watchdog() override { return inner_.watchdog(); }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    fail_if("gather");
    inner_.gather(mine, all, bytes);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    fail_if("transpose");
    inner_.transpose(to, from);
  }
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
    fail_if("exchange");
    inner_.exchange(sent, received);
  }
  std::string failing;  // call

 private:
  void fail_if(const char* call) const {
    if (failing == call && rank() == culprit_)
      throw std::runtime_error(std::string("no memory in ") + call);
  }
  Communicator& inner_;
  int culprit_;
};

}  // namespace manymove::test
