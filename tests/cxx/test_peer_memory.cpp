// SPDX-License-Identifier: BSD-3-Clause
// Memory that ranks of one host share for the ghosts of DPD, with a stand-in for the GPUs: what
// happens when a rank cannot provide it, and when it is freed.
#include "core/parallel/peer_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using test::run_communicators;

namespace {

constexpr std::size_t kBytes = 100'000;

// Memory of the process, and how many ranks have each block open.
class Bank {
 public:
  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    void* block = std::malloc(bytes);
    open_[block] = 0;
    return block;
  }
  void change(void* block, int by) {
    const std::lock_guard lock(mutex_);
    open_.at(block) += by;
  }
  void free(void* block) {
    const std::lock_guard lock(mutex_);
    if (open_.at(block) != 0) ++freed_while_open_;
    open_.erase(block);
    std::free(block);
  }
  std::size_t blocks() const { return open_.size(); }
  int freed_while_open() const { return freed_while_open_; }
  bool anything_open() const {
    return std::any_of(open_.begin(), open_.end(), [](auto& block) { return block.second > 0; });
  }

 private:
  std::mutex mutex_;
  std::map<void*, int> open_;
  int freed_while_open_ = 0;
};
Bank bank;

// One rank's device. `fails` names the call that fails.
struct StandIn {
  using Handle = void*;
  std::string fails;

  void fail(const char* call) const {
    if (fails == call) throw std::runtime_error(std::string("no ") + call);
  }
  void finish() const { fail("finish"); }
  void* allocate(std::size_t bytes) const {
    fail("allocate");
    return bank.allocate(bytes);
  }
  void clear(void* memory, std::size_t bytes) const {
    fail("clear");
    std::memset(memory, 0, bytes);
  }
  Handle export_handle(void* memory) const {
    fail("export");
    return memory;
  }
  void* open(const Handle& handle) const {
    fail("open");
    bank.change(handle, 1);
    return handle;
  }
  void close(void* memory) const noexcept { bank.change(memory, -1); }
  static void free(void* memory) noexcept { bank.free(memory); }

  void* map(void* memory, std::size_t) const { return fails == "map" ? nullptr : memory; }
  void unmap(void*) const noexcept {}
};

// Fails on one rank of three.
StandIn on(const Communicator& communicator, int rank, const char* call) {
  return {communicator.rank() == rank ? call : ""};
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// Every rank writes into the memory of every rank, which begins with zeros.
void write_and_read(Communicator& communicator, PeerMemory& memory) {
  const int self = communicator.rank(), ranks = communicator.ranks();
  const auto sum_here = [&] {
    const char* mine = memory.of_rank(self);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < kBytes; ++k) sum += mine[k];
    return sum;
  };
  CHECK_EQUAL(sum_here(), 0);
  std::int64_t nothing = 0;
  communicator.maximum(&nothing, 1);
  for (int r = 0; r < ranks; ++r) memory.of_rank(r)[self] = static_cast<char>(self + 1);
  communicator.maximum(&nothing, 1);
  CHECK_EQUAL(sum_here(), ranks * (ranks + 1) / 2);
  communicator.maximum(&nothing, 1);
}

}  // namespace

TEST("ranks write into memory that each of them exports") {
  run_communicators(3, [](Communicator& communicator) {
    ExportedMemory<StandIn> memory(communicator, {});
    for (int k = 0; k < 2; ++k) {
      CHECK(memory.allocate(kBytes));
      write_and_read(communicator, memory);
    }
  });
  CHECK_EQUAL(bank.freed_while_open(), 0);
  CHECK(!bank.anything_open());
}

TEST("memory that one rank cannot export is missing on all ranks") {
  for (const char* call : {"allocate", "clear", "export", "open"})
    run_communicators(3, [&](Communicator& communicator) {
      ExportedMemory<StandIn> memory(communicator, on(communicator, 1, call));
      CHECK(!memory.allocate(kBytes));
      CHECK(!memory.allocate(kBytes / 2));  // they have kept step
    });
  CHECK_EQUAL(bank.freed_while_open(), 0);
  CHECK_EQUAL(bank.blocks(), 0u);
}

TEST("a device that has failed on one rank is an error of all ranks that share memory") {
  std::atomic<int> thrown{0};
  run_communicators(3, [&](Communicator& communicator) {
    ExportedMemory<StandIn> exported(communicator, on(communicator, 2, "finish"));
    CommonMemory<StandIn> common(communicator, on(communicator, 0, "finish"));
    for (PeerMemory* memory :
         {static_cast<PeerMemory*>(&exported), static_cast<PeerMemory*>(&common)})
      try {
        memory->allocate(kBytes);
      } catch (const Agreed&) {
        ++thrown;
      }
  });
  CHECK_EQUAL(thrown.load(), 6);
}

TEST("exported memory of a rank that ends first is freed after the others have closed it") {
  run_communicators(3, [](Communicator& communicator) {
    std::int64_t nothing = 0;
    auto memory = std::make_unique<ExportedMemory<StandIn>>(communicator, StandIn{});
    CHECK(memory->allocate(kBytes));
    const std::size_t before = bank.blocks();
    communicator.maximum(&nothing, 1);
    if (communicator.rank() == 0) memory.reset();  // without any of the others
    communicator.maximum(&nothing, 1);
    CHECK_EQUAL(before, 3u);
    CHECK_EQUAL(bank.blocks(), 3u);
    for (int r = 0; r < 3 && memory; ++r)
      memory->of_rank(r)[communicator.rank()] = 1;  // still there
    communicator.maximum(&nothing, 1);
    memory.reset();
    ExportedMemory<StandIn> next(communicator, {});
    CHECK(next.allocate(kBytes));
    communicator.maximum(&nothing, 1);
    CHECK_EQUAL(bank.blocks(), 3u);
    communicator.maximum(&nothing, 1);
  });
  CHECK_EQUAL(bank.freed_while_open(), 0);
}

TEST("ranks write into one file in memory that has no name") {
  const std::size_t files = open_files();
  run_communicators(3, [](Communicator& communicator) {
    CommonMemory<StandIn> memory(communicator, {});
    for (int k = 0; k < 2; ++k) {
      CHECK(memory.allocate(kBytes));
      write_and_read(communicator, memory);
    }
    std::int64_t nothing = 0;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm"))
      CHECK(file.path().filename().string().find("manymove") == std::string::npos);
    communicator.maximum(&nothing, 1);
  });
  CHECK_EQUAL(open_files(), files);
}

TEST("a file in memory that one rank cannot map is missing on all ranks") {
  run_communicators(3, [](Communicator& communicator) {
    for (const int rank : {0, 2}) {
      CommonMemory<StandIn> memory(communicator, on(communicator, rank, "map"));
      CHECK(!memory.allocate(kBytes));
    }
    // More than there is, on the rank that makes the file.
    CommonMemory<StandIn> memory(communicator, {});
    CHECK(!memory.allocate(std::size_t(1) << 55));
    CHECK(memory.allocate(kBytes));
    write_and_read(communicator, memory);
  });
}
