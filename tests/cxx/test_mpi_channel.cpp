// SPDX-License-Identifier: BSD-3-Clause
// The MPI adaptor on a stand-in for an MPI library, whose ranks are threads of this process: with
// handles that are numbers, as in MPICH, and with handles that are pointers, as in Open MPI.
#include "core/parallel/mpi_channel.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/test.h"

using namespace manymove;

namespace {

constexpr std::size_t kStatus = 24;  // bytes
constexpr int kAnySource = -2, kNoMemory = 34, kCollective = 1000;
constexpr int kInt64 = 78, kUint64 = 79, kSum = 80;  // handles

// What all ranks share.
struct Library {
  struct Letter {
    int from, tag;
    std::vector<char> data;
  };
  std::mutex mutex;
  std::map<std::pair<int, int>, std::deque<Letter>> mail;       // of a communicator and a rank
  std::map<std::tuple<int, int, int>, void*> attributes;        // of the same and a key
  std::map<std::pair<int, int>, int> copies, collective_calls;  // of the same
  int ranks = 0;
};
Library* library;
thread_local int here;  // rank
thread_local int sends_until_error = -1, reductions = 0;

struct Receive {
  int comm, from, tag;
  char* to;
};
struct Request {
  std::vector<Receive> missing;
  std::function<void()> finish = {};
};
thread_local std::vector<Request> requests;
thread_local std::vector<Library::Letter> letters;  // taken by Improbe

template <class Handle>
struct Fake {
  static Handle handle(int number) {
    if constexpr (std::is_pointer_v<Handle>)
      return reinterpret_cast<Handle>(static_cast<std::intptr_t>(number));
    else
      return number;
  }
  static int number(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
      return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
    else
      return handle;
  }

  static void put(Handle comm, int to, int tag, const void* data, int bytes) {
    const auto* first = static_cast<const char*>(data);
    std::lock_guard lock(library->mutex);
    library->mail[{number(comm), to}].push_back({here, tag, {first, first + bytes}});
  }
  static bool take(int comm, int from, int tag, Library::Letter& letter) {
    std::lock_guard lock(library->mutex);
    auto& mine = library->mail[{comm, here}];
    for (auto each = mine.begin(); each != mine.end(); ++each)
      if ((from == kAnySource || each->from == from) && each->tag == tag) {
        letter = std::move(*each);
        mine.erase(each);
        return true;
      }
    return false;
  }
  static Handle start(std::vector<Receive> missing) {
    requests.push_back({std::move(missing)});
    return handle(static_cast<int>(requests.size()));
  }
  // Part of a collective call: what each rank gets begins at data + r * stride.
  static void spread(Handle comm, const void* data, std::size_t stride, int bytes, void* all,
                     Handle* request) {
    const int tag = [&] {
      std::lock_guard lock(library->mutex);
      return kCollective + library->collective_calls[{number(comm), here}]++;
    }();
    std::vector<Receive> missing;
    for (int r = 0; r < library->ranks; ++r) {
      put(comm, r, tag, static_cast<const char*>(data) + static_cast<std::size_t>(r) * stride,
          bytes);
      missing.push_back({number(comm), r, tag, static_cast<char*>(all) + r * bytes});
    }
    *request = start(std::move(missing));
  }

  static Mpi<Handle> table() {
    Mpi<Handle> mpi;
    mpi.Comm_create_keyval = [](auto*, auto*, int* key, void*) {
      static int keys = 0;
      *key = keys++;
      return 0;
    };
    mpi.Comm_get_attr = [](Handle comm, int key, void* value, int* exists) {
      std::lock_guard lock(library->mutex);
      const auto found = library->attributes.find({number(comm), here, key});
      *exists = found != library->attributes.end();
      if (*exists) *static_cast<void**>(value) = found->second;
      return 0;
    };
    mpi.Comm_set_attr = [](Handle comm, int key, void* value) {
      std::lock_guard lock(library->mutex);
      library->attributes[{number(comm), here, key}] = value;
      return 0;
    };
    mpi.Comm_idup = [](Handle comm, Handle* copy, Handle* request) {
      std::lock_guard lock(library->mutex);
      *copy = handle(10 * number(comm) + ++library->copies[{number(comm), here}]);
      *request = start({});
      return 0;
    };
    mpi.Comm_rank = [](Handle, int* rank) { return *rank = here, 0; };
    mpi.Comm_size = [](Handle, int* size) { return *size = library->ranks, 0; };
    mpi.Error_string = [](int code, char* text, int*) {
      return std::strcpy(text, code == kNoMemory ? "no memory" : "another error"), 0;
    };
    mpi.Iallgather = [](const void* mine, int count, Handle, void* all, int, Handle, Handle comm,
                        Handle* request) { return spread(comm, mine, 0, count, all, request), 0; };
    // Sums of uint64, maxima of int64; other types have other handles.
    mpi.Iallreduce = [](const void* mine, void* all, int count, Handle type, Handle operation,
                        Handle comm, Handle* request) {
      const auto n = static_cast<std::size_t>(count);
      const auto from = std::make_shared<std::vector<std::int64_t>>(n * library->ranks);
      spread(comm, mine, 0, 8 * count, from->data(), request);
      const bool sum = number(operation) == kSum;
      if (number(type) != (sum ? kUint64 : kInt64)) return 1;
      requests.back().finish = [=, ranks = library->ranks] {
        for (std::size_t k = 0; k < n; ++k) {
          std::int64_t result = (*from)[k];
          for (int r = 1; r < ranks; ++r) {
            const std::int64_t next = (*from)[n * r + k];
            result = sum ? result + next : std::max(result, next);
          }
          static_cast<std::int64_t*>(all)[k] = result;
        }
        ++reductions;
      };
      return 0;
    };
    mpi.Ialltoall = [](const void* to, int count, Handle, void* from, int, Handle, Handle comm,
                       Handle* request) {
      return spread(comm, to, static_cast<std::size_t>(count), count, from, request), 0;
    };
    mpi.Ialltoallv = [](const void* to, const int* counts, const int*, Handle, void* from,
                        const int*, const int*, Handle, Handle comm, Handle* request) {
      return spread(comm, to, static_cast<std::size_t>(*counts), *counts, from, request), 0;
    };
    mpi.Improbe = [](int from, int tag, Handle comm, int* found, Handle* message, void* status) {
      Library::Letter letter;
      *found = take(number(comm), from, tag, letter);
      if (*found) letters.push_back(std::move(letter)), *message = handle(1);
      std::memset(status, 1, kStatus);
      return 0;
    };
    mpi.Mrecv = [](void* data, int count, Handle, Handle*, void* status) {
      std::memcpy(data, letters.back().data.data(), static_cast<std::size_t>(count));
      letters.pop_back();
      std::memset(status, 1, kStatus);
      return 0;
    };
    mpi.Irecv = [](void* data, int, Handle, int from, int tag, Handle comm, Handle* request) {
      *request = start({{number(comm), from, tag, static_cast<char*>(data)}});
      return 0;
    };
    mpi.Isend = [](const void* data, int count, Handle, int to, int tag, Handle comm,
                   Handle* request) {
      if (sends_until_error-- == 0) return kNoMemory;
      put(comm, to, tag, data, count);
      *request = start({});
      return 0;
    };
    mpi.Test = [](Handle* request, int* done, void* status) {
      *done = ends(request);
      std::memset(status, 1, kStatus);
      return 0;
    };
    mpi.Testall = [](int count, Handle* all, int* done, void* statuses) {
      *done = 1;
      for (int k = 0; k < count; ++k) *done &= ends(all + k);
      std::memset(statuses, 1, static_cast<std::size_t>(count) * kStatus);
      return 0;
    };
    mpi.byte = handle(77);
    mpi.int64 = handle(kInt64);
    mpi.uint64 = handle(kUint64);
    mpi.max = handle(81);
    mpi.sum = handle(kSum);
    mpi.no_request = handle(0);
    mpi.any_source = kAnySource;
    mpi.status_bytes = kStatus;
    return mpi;
  }
  static bool ends(Handle* request) {
    if (number(*request) == 0) return true;
    const std::size_t own = static_cast<std::size_t>(number(*request)) - 1;
    auto& missing = requests[own].missing;
    for (Library::Letter letter; !missing.empty(); missing.erase(missing.begin())) {
      const Receive& next = missing.front();
      // Messages go to receives in the order in which these were posted.
      for (std::size_t k = 0; k < own; ++k)
        for (const Receive& other : requests[k].missing)
          if (std::tie(other.comm, other.from, other.tag) ==
              std::tie(next.comm, next.from, next.tag))
            return false;
      if (!take(next.comm, next.from, next.tag, letter)) return false;
      if (!letter.data.empty()) std::memcpy(next.to, letter.data.data(), letter.data.size());
    }
    *request = handle(0);
    if (requests[own].finish) requests[own].finish();
    return true;
  }
};

// Runs body(table, communicator of the host) on so many ranks; throws the first error.
template <class Handle, class Body>
void run(int ranks, Body body) {
  Library shared;
  shared.ranks = ranks;
  library = &shared;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      here = r;
      try {
        body(Fake<Handle>::table(), Fake<Handle>::handle(1));
      } catch (...) {
        std::lock_guard lock(shared.mutex);
        if (!first) first = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

template <class Task>
void with_both_kinds_of_handles(Task task) {
  task(int{});
  task(static_cast<void*>(nullptr));
}

}  // namespace

TEST("values of any size reach all ranks through MPI, by messages and by collective calls") {
  with_both_kinds_of_handles([](auto kind) {
    using Handle = decltype(kind);
    for (const int ranks : {2, 3, 18})
      for (const std::size_t bytes : {1u, 8u, 4096u, 5000u})
        run<Handle>(ranks, [&](const Mpi<Handle>& mpi, Handle host) {
          MpiCommunicator<Handle> c(MpiChannel<Handle>::of(mpi, host), 20);
          CHECK_EQUAL(c.rank(), here);
          CHECK_EQUAL(c.ranks(), ranks);
          const std::vector<char> mine(bytes, static_cast<char>('a' + here));
          std::vector<char> all(bytes * static_cast<std::size_t>(ranks));
          c.gather(mine.data(), all.data(), bytes);
          for (std::size_t k = 0; k < all.size(); ++k)
            CHECK_EQUAL(all[k], static_cast<char>('a' + k / bytes));
          std::vector<std::int64_t> to, from(static_cast<std::size_t>(ranks));
          for (int r = 0; r < ranks; ++r) to.push_back(100 * here + r);
          c.transpose(to.data(), from.data());
          for (int r = 0; r < ranks; ++r)
            CHECK_EQUAL(from[static_cast<std::size_t>(r)], 100 * r + here);
        });
  });
}

TEST("integers are reduced by MPI, except few values of few ranks, and real numbers in order") {
  with_both_kinds_of_handles([](auto kind) {
    using Handle = decltype(kind);
    for (const int ranks : {2, 18})
      for (const std::size_t count : {1u, 512u, 513u, 3000u})
        run<Handle>(ranks, [&](const Mpi<Handle>& mpi, Handle host) {
          MpiCommunicator<Handle> c(MpiChannel<Handle>::of(mpi, host), 20);
          const auto n = static_cast<std::uint64_t>(ranks);
          std::vector<std::int64_t> largest(count, here - 5);
          std::vector<std::uint64_t> sums(count, static_cast<std::uint64_t>(here));
          std::vector<double> ordered(count, here == 0 ? 1e16 : 1), merged(count);
          for (std::size_t k = 0; k < count; ++k)
            if (static_cast<int>(k % n) == here) merged[k] = -0.1 * static_cast<double>(k);
          reductions = 0;
          c.maximum(largest.data(), count);
          c.sum(sums.data(), count);
          c.sum(ordered.data(), count);
          c.merge(merged.data(), count);
          CHECK_EQUAL(reductions, ranks > 16 || count > 512 ? 3 : 0);
          for (std::size_t k = 0; k < count; ++k) {
            CHECK_EQUAL(largest[k], ranks - 6);
            CHECK_EQUAL(sums[k], n * (n - 1) / 2);
            CHECK_EQUAL(ordered[k], 1e16);  // each 1 is lost
            CHECK_EQUAL(merged[k], -0.1 * static_cast<double>(k));
          }
        });
  });
}

TEST("messages between two ranks are received in the order in which they are sent") {
  with_both_kinds_of_handles([](auto kind) {
    using Handle = decltype(kind);
    run<Handle>(2, [](const Mpi<Handle>& mpi, Handle host) {
      MpiCommunicator<Handle> c(MpiChannel<Handle>::of(mpi, host), 20);
      std::vector<int> sent{here, 10 + here, 20 + here}, received(3);
      std::vector<Communicator::Message> out, in;
      for (int k = 0; k < 3; ++k) {
        out.push_back({1 - here, &sent[static_cast<std::size_t>(k)], sizeof(int)});
        in.push_back({1 - here, &received[static_cast<std::size_t>(k)], sizeof(int)});
      }
      c.exchange(out, in);
      for (int k = 0; k < 3; ++k)
        CHECK_EQUAL(received[static_cast<std::size_t>(k)], 10 * k + 1 - here);
    });
  });
}

TEST("a communicator has one channel for each purpose, and another one after an agreed error") {
  with_both_kinds_of_handles([](auto kind) {
    using Handle = decltype(kind);
    run<Handle>(3, [](const Mpi<Handle>& mpi, Handle host) {
      auto& engines = MpiChannel<Handle>::of(mpi, host);
      auto& jobs = MpiChannel<Handle>::of(mpi, host, Purpose::jobs);
      CHECK(&engines != &jobs);
      CHECK(&engines == &MpiChannel<Handle>::of(mpi, host));
      CHECK(&jobs == &MpiChannel<Handle>::of(mpi, host, Purpose::jobs));
      MpiCommunicator<Handle> c(engines, 20);
      CHECK_THROWS(collective(c,
                              [] {
                                if (here == 1) throw std::runtime_error("broken");
                              }),
                   RankFailure, "rank 1 of 3: broken");
      auto& again = MpiChannel<Handle>::of(mpi, host);
      CHECK(&again != &engines);
      std::int64_t sum = here;
      MpiCommunicator<Handle>(again, 20).sum(&sum, 1);
      CHECK_EQUAL(sum, 3);
    });
  });
}

TEST("an error of the MPI library is one of all ranks, with its text") {
  CHECK_THROWS(run<int>(2,
                        [](const Mpi<int>& mpi, int host) {
                          MpiCommunicator<int> c(MpiChannel<int>::of(mpi, host), 20);
                          collective(c, [&] {
                            std::int64_t value = here;
                            if (here == 1) sends_until_error = 0;
                            c.sum(&value, 1);
                          });
                        }),
               RankFailure, "rank 1 of 2: MPI: no memory");
}
