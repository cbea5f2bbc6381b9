// SPDX-License-Identifier: BSD-3-Clause
// What an engine asks of the processes that it is shared among. The caller that starts it on
// several ranks implements this with its MPI (mpi_host.h, mpi_channel.h); the core itself uses
// none.
//
// gather(), transpose(), exchange(), reduce() and everything that is built on them are collective:
// all ranks make the same calls in the same order. Sizes are in bytes. Memory belongs to the caller
// and is used until the call returns; after an exception see exchange(). A call blocks until it is
// done, and waits through the watchdog, which throws RankFailure on all ranks when one of them is
// silent or has failed. An object is used by one thread at a time.
//
// An error of a single rank becomes one of all ranks: together() and collective() below.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../runtime/api.h"
#include "../runtime/watchdog.h"

namespace manymove {

class MANYMOVE_API Communicator {
 public:
  struct Message {
    int rank;  // of the other side; a rank is never its own
    void* data;
    std::size_t bytes;
  };

  virtual ~Communicator() = default;
  // Local calls.
  virtual int rank() const = 0;  // from 0 to before ranks()
  virtual int ranks() const = 0;
  virtual Watchdog& watchdog() = 0;

  // all[r] is the value of rank r, of `bytes` bytes, which are the same number on all ranks
  // (MPI_Allgather). `mine` and `all` must not overlap.
  virtual void gather(const void* mine, void* all, std::size_t bytes) = 0;
  // from[r] is what rank r has in to[this rank]; both have ranks() entries (MPI_Alltoall).
  virtual void transpose(const std::int64_t* to, std::int64_t* from) = 0;
  // Messages that the other sides expect, with sizes that they know (MPI_Alltoallv). Several from
  // one rank are received in the order in which it sends them. If this throws, their memory must
  // never be freed: see keep_for_ever().
  virtual void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) = 0;
  // Whether messages of exchange() may lie in memory of this rank's CUDA device. Local.
  virtual bool takes_device_memory() const { return false; }

  enum class Reduction { maximum, sum };  // sums are modulo 2^64
  // Replaces the values by their maxima or sums over all ranks (MPI_Allreduce). count is the same
  // on all ranks. This one gathers the values of all ranks; an implementation whose library reduces
  // integers overrides it.
  virtual void reduce(std::int64_t* values, std::size_t count, Reduction reduction) {
    if (reduction == Reduction::maximum)
      gather_and_reduce(values, count,
                        [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    else
      gather_and_reduce(values, count, [](std::int64_t a, std::int64_t b) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                         static_cast<std::uint64_t>(b));
      });
  }

  // The values of all ranks, in the order of ranks.
  template <class T>
  std::vector<T> gathered(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(ranks()));
    gather(&mine, all.data(), sizeof mine);
    return all;
  }
  // Replaces the values by their maxima over all ranks.
  void maximum(std::int64_t* values, std::size_t count) {
    reduce(values, count, Reduction::maximum);
  }
  // Replaces the values by their sums over all ranks. Floating-point numbers are added in the order
  // of ranks, so that the result does not depend on the MPI library. Integers have 64 bits.
  template <class T>
  void sum(T* values, std::size_t count) {
    if constexpr (std::is_floating_point_v<T>)
      gather_and_reduce(values, count, [](T a, T b) { return a + b; });
    else
      sum_bits(values, count);
  }
  // Replaces each value by that of the only rank that has one: on all other ranks its bits are
  // zero. T has 64 bits.
  template <class T>
  void merge(T* values, std::size_t count) {
    sum_bits(values, count);
  }

 private:
  template <class T>
  void sum_bits(T* values, std::size_t count) {
    static_assert(sizeof(T) == sizeof(std::int64_t) && std::is_trivially_copyable_v<T>);
    std::vector<std::int64_t> bits(count);
    if (count) std::memcpy(bits.data(), values, count * sizeof(T));
    reduce(bits.data(), count, Reduction::sum);
    if (count) std::memcpy(values, bits.data(), count * sizeof(T));
  }
  template <class T, class Operation>
  void gather_and_reduce(T* values, std::size_t count, Operation operation) {
    constexpr std::size_t kAtOnce = 8192;  // limits the memory for the values of all ranks
    const auto ranks = static_cast<std::size_t>(this->ranks());
    std::vector<T> all(ranks * std::min(count, kAtOnce));
    for (std::size_t first = 0; first < count; first += kAtOnce) {
      const std::size_t number = std::min(kAtOnce, count - first);
      gather(values + first, all.data(), number * sizeof(T));
      for (std::size_t k = 0; k < number; ++k) {
        T result = all[k];
        for (std::size_t r = 1; r < ranks; ++r) result = operation(result, all[r * number + k]);
        values[first + k] = result;
      }
    }
  }
};

// Collective. Throws, on all ranks, the error of the lowest rank that has one: an exception of the
// same type as far as it is std::invalid_argument, std::logic_error, std::runtime_error or
// std::bad_alloc, with the same text, after the rank's number for a std::runtime_error. Null: this
// rank has none.
MANYMOVE_API void agree(Communicator& communicator, std::exception_ptr error);

// Names of the ways between the GPUs of ranks: transport.cuh.
inline bool is_transport(const std::string& name) {
  for (const char* known : {"auto", "peer", "shared", "nccl", "mpi", "host"})
    if (name == known) return true;
  return false;
}

// Number of lower ranks with the same name, for instance of their host. Collective.
MANYMOVE_API int rank_among_namesakes(Communicator& communicator, const std::string& name);

// Throws `error` if all ranks throw it; otherwise sends it to the other ranks, and throws
// RankFailure.
[[noreturn]] MANYMOVE_API void fail(Watchdog& watchdog, std::exception_ptr error);

// Runs a task that makes no collective calls. Afterwards all ranks have succeeded, or all throw as
// agree() says. Collective; the communicator can be used again after an error.
template <class Task>
void together(Communicator& communicator, Task&& task) {
  std::exception_ptr error;
  try {
    task();
  } catch (const Agreed&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  agree(communicator, error);
}

// Runs a task with collective calls in it. Afterwards all ranks have succeeded, or all throw: what
// they throw together, or the error of a single rank as RankFailure, which the others receive where
// they wait for it. After a RankFailure the communicator cannot be used again.
template <class Task>
void collective(Communicator& communicator, Task&& task) {
  try {
    task();
    // A barrier that the watchdog watches.
    std::int64_t nothing = 0;
    communicator.maximum(&nothing, 1);  // no rank leaves before all have succeeded
  } catch (...) {
    fail(communicator.watchdog(), std::current_exception());
  }
}

// Moves containers to memory that is never freed and leaves empty ones, because MPI may still read
// and write the memory of messages whose exchange has failed.
template <class... Containers>
void keep_for_ever(Containers&... containers) {
  (static_cast<void>(new Containers(std::move(containers))), ...);
}

// exchange() of messages in the memory of these containers, which is kept for ever if it throws.
template <class... Containers>
void exchange_messages(Communicator& communicator, const std::vector<Communicator::Message>& sent,
                       const std::vector<Communicator::Message>& received, Containers&... memory) {
  try {
    communicator.exchange(sent, received);
  } catch (...) {
    keep_for_ever(memory...);
    throw;
  }
}

// The sum of numbers[r], the number of records of `bytes` bytes that rank r has announced. Throws
// std::runtime_error if a number is impossible.
MANYMOVE_API std::int64_t total_of(const std::vector<std::int64_t>& numbers, std::size_t bytes);

// What rank r has put into part(this rank), in the order of ranks; numbers[r], if asked for, is how
// many there are. part(r) is a vector in `sent`, which is lost if this throws.
template <class T, class Sent, class Part>
std::vector<T> deliver_parts(Communicator& communicator, Sent& sent, Part part,
                             std::vector<std::int64_t>* numbers = nullptr) {
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  const auto self = static_cast<std::size_t>(communicator.rank());
  std::vector<std::int64_t> to(ranks), from(ranks);
  for (std::size_t r = 0; r < ranks; ++r) to[r] = static_cast<std::int64_t>(part(r).size());
  // First the sizes, then the records: exchange() needs sizes on both sides.
  communicator.transpose(to.data(), from.data());
  from[self] = to[self];
  std::vector<T> all(static_cast<std::size_t>(total_of(from, sizeof(T))));
  std::vector<Communicator::Message> out, in;
  T* at = all.data();
  for (std::size_t r = 0; r < ranks; at += from[r], ++r) {
    std::vector<T>& mine = part(r);
    if (r == self) {
      std::copy(mine.begin(), mine.end(), at);
      continue;
    }
    if (to[r]) out.push_back({static_cast<int>(r), mine.data(), to[r] * sizeof(T)});
    if (from[r]) in.push_back({static_cast<int>(r), at, from[r] * sizeof(T)});
  }
  exchange_messages(communicator, out, in, all, sent);
  if (numbers) *numbers = std::move(from);
  return all;
}

// The same of what is in sent[r].
template <class T>
std::vector<T> deliver(Communicator& communicator, std::vector<std::vector<T>> sent,
                       std::vector<std::int64_t>* numbers = nullptr) {
  const auto part = [&](std::size_t r) -> std::vector<T>& { return sent[r]; };
  return deliver_parts<T>(communicator, sent, part, numbers);
}

// Throws std::runtime_error for a rank that does not exist.
MANYMOVE_API void check_rank(const Communicator& communicator, std::int32_t rank);

// result[i]: the answer of rank whom[i] to question[i]. Each rank answers the questions of the
// others, and its own, by answer(question), which checks the questions, because they come from
// other ranks, and throws where it has no answer. Collective. Question and Answer are trivially
// copyable.
template <class Answer, class Question, class Rule>
std::vector<Answer> ask(Communicator& communicator, const std::vector<std::int32_t>& whom,
                        const std::vector<Question>& question, Rule answer) {
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  std::vector<std::vector<Question>> asked(ranks);
  for (std::size_t i = 0; i < whom.size(); ++i) {
    check_rank(communicator, whom[i]);
    asked[static_cast<std::size_t>(whom[i])].push_back(question[i]);
  }
  // Answers come in the order of ranks, and those of a rank in the order of the questions.
  std::vector<std::size_t> next(ranks);
  for (std::size_t r = 1; r < ranks; ++r) next[r] = next[r - 1] + asked[r - 1].size();
  std::vector<std::int64_t> numbers;
  const auto questions = deliver(communicator, std::move(asked), &numbers);
  std::vector<std::vector<Answer>> answers(ranks);
  auto at = questions.begin();
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::int64_t k = 0; k < numbers[r]; ++k) answers[r].push_back(answer(*at++));
  const auto found = deliver(communicator, std::move(answers));
  std::vector<Answer> result;
  result.reserve(whom.size());
  for (const std::int32_t rank : whom) result.push_back(found[next[rank]++]);
  return result;
}

// What all ranks have, in the order of ranks; numbers[r], if asked for, is how much rank r has.
template <class T>
std::vector<T> collect(Communicator& communicator, std::vector<T> mine,
                       std::vector<std::int64_t>* numbers = nullptr) {
  const auto part = [&](std::size_t) -> std::vector<T>& { return mine; };
  return deliver_parts<T>(communicator, mine, part, numbers);
}

}  // namespace manymove
