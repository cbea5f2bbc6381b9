// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of this process, with mailboxes for what the communicators of the core
// promise.
#pragma once

#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "core/common/communicator.h"
#include "core/harddisk/engine.h"

namespace manymove::test {

// Messages from each rank to each other one, in order.
class Mailboxes {
 public:
  explicit Mailboxes(int ranks) : ranks_(ranks) {}
  int ranks() const { return ranks_; }

  void send(int from, int to, const void* data, std::size_t bytes) {
    const auto* first = static_cast<const char*>(data);
    std::lock_guard lock(mutex_);
    box_[{from, to}].emplace_back(first, first + bytes);
    changed_.notify_all();
  }
  // Throws if a rank has ended by an error while this one waits, or if the sizes differ.
  void receive(int from, int to, void* data, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    auto& messages = box_[{from, to}];
    changed_.wait(lock, [&] { return !messages.empty() || lost_; });
    if (messages.empty()) throw std::runtime_error("a rank is lost");
    if (messages.front().size() != bytes) throw std::logic_error("a message of another size");
    if (bytes) std::memcpy(data, messages.front().data(), bytes);
    messages.erase(messages.begin());
  }
  void lose() {
    std::lock_guard lock(mutex_);
    lost_ = true;
    changed_.notify_all();
  }
  // Whether something was sent that no rank received.
  bool empty() const {
    for (const auto& [way, messages] : box_)
      if (!messages.empty()) return false;
    return true;
  }

 private:
  int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::vector<std::vector<char>>> box_;
  bool lost_ = false;
};

class InProcess final : public Communicator {
 public:
  InProcess(Mailboxes& mail, int rank) : mail_(mail), rank_(rank) {}
  int rank() const override { return rank_; }
  int ranks() const override { return mail_.ranks(); }

  void maximum(std::int64_t* values, int count) override {
    const auto n = static_cast<std::size_t>(count);
    std::vector<std::int64_t> all(n * static_cast<std::size_t>(ranks()));
    gather(values, all.data(), n * sizeof *values);
    for (std::size_t k = 0; k < all.size(); ++k) values[k % n] = std::max(values[k % n], all[k]);
  }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    for (int r = 0; r < ranks(); ++r) mail_.send(rank_, r, mine, bytes);
    for (int r = 0; r < ranks(); ++r)
      mail_.receive(r, rank_, static_cast<char*>(all) + static_cast<std::size_t>(r) * bytes, bytes);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    for (int r = 0; r < ranks(); ++r) mail_.send(rank_, r, to + r, sizeof *to);
    for (int r = 0; r < ranks(); ++r) mail_.receive(r, rank_, from + r, sizeof *from);
  }
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
    for (const Message& m : sent) mail_.send(rank_, m.rank, m.data, m.bytes);
    for (const Message& m : received) mail_.receive(m.rank, rank_, m.data, m.bytes);
  }

 private:
  Mailboxes& mail_;
  int rank_;
};

// Hard disks' ranks.
class InProcessRing final : public harddisk::RankRing {
 public:
  InProcessRing(Mailboxes& mail, int rank) : mail_(mail), rank_(rank) {}
  int rank() const override { return rank_; }
  int ranks() const override { return mail_.ranks(); }

  void exchange(const Bytes out[2], const Bytes in[2]) override {
    const int below = (rank_ + ranks() - 1) % ranks(), above = (rank_ + 1) % ranks();
    if (out[0].size) mail_.send(rank_, below, out[0].data, out[0].size);
    if (out[1].size) mail_.send(rank_, above, out[1].data, out[1].size);
    // Two ranks are neighbours at both edges: what one sends below comes from above first.
    if (in[1].size) mail_.receive(above, rank_, in[1].data, in[1].size);
    if (in[0].size) mail_.receive(below, rank_, in[0].data, in[0].size);
  }
  void sum(double* values, std::size_t count) override { sum_of(values, count); }
  void sum(std::uint64_t* values, std::size_t count) override { sum_of(values, count); }

 private:
  template <class T>
  void sum_of(T* values, std::size_t count) {
    for (int r = 0; r < ranks(); ++r) mail_.send(rank_, r, values, count * sizeof(T));
    std::vector<T> theirs(count);
    std::fill_n(values, count, T{});
    for (int r = 0; r < ranks(); ++r) {
      mail_.receive(r, rank_, theirs.data(), count * sizeof(T));
      for (std::size_t k = 0; k < count; ++k) values[k] += theirs[k];
    }
  }

  Mailboxes& mail_;
  int rank_;
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

}  // namespace manymove::test
