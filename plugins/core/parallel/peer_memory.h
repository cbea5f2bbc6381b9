// SPDX-License-Identifier: BSD-3-Clause
// Memory of each rank that the kernels of all ranks of a host read and write, and how the ranks
// agree about it. An object owns the memory of its rank and its mappings of the others'.
// Constructors and allocate() are collective; destructors are local. Machine is what allocates and
// maps: CUDA in peer_transport.cuh, a stand-in in the tests.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "communicator.h"

namespace manymove {

class PeerMemory {
 public:
  explicit PeerMemory(Communicator& communicator)
      : communicator_(communicator), of_rank_(static_cast<std::size_t>(communicator.ranks())) {}
  // Local: a rank that has failed is destroyed while the others still run.
  virtual ~PeerMemory() = default;
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // As this rank's device addresses it; valid after allocate() has returned true.
  char* of_rank(int rank) const { return of_rank_[static_cast<std::size_t>(rank)]; }

  // Collective, with the same number on all ranks. Gives the former memory back and provides
  // `bytes` of each rank, which begin as zero. Returns false on all ranks if one of them cannot
  // provide or map the memory. If the device of one has failed, the error is thrown on all.
  virtual bool allocate(std::size_t bytes) = 0;

 protected:
  std::size_t rank() const { return static_cast<std::size_t>(communicator_.rank()); }
  bool everywhere(bool here) const {
    std::int64_t missing = !here;
    communicator_.maximum(&missing, 1);
    return missing == 0;
  }
  Communicator& communicator_;
  std::vector<char*> of_rank_;
};

// Exported memory may only be freed when no other rank has it mapped, and a destructor cannot ask
// the others. It therefore retires the memory of its rank. The next allocation by the same group of
// processes frees it, after all of them have closed their mappings; otherwise the end of the
// process does.
template <class Machine>
class RetiredMemory {
 public:
  using Group = std::vector<std::int64_t>;  // process identifiers, by rank

  static RetiredMemory& of_process() {
    static auto& retired = *new RetiredMemory;  // CUDA may be gone when statics are destroyed
    return retired;
  }
  void add(Group group, void* memory) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back({std::move(group), memory});
  }
  void free(const Group& group) {
    const std::lock_guard lock(mutex_);
    std::erase_if(blocks_, [&](Block& block) {
      if (block.group != group) return false;
      Machine::free(block.memory);
      return true;
    });
  }

 private:
  struct Block {
    Group group;
    void* memory;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

// Each rank allocates its own part and exports a handle, which the others open. Machine:
//   using Handle;                                   plain bytes
//   void finish();                                  waits for all of this rank's work; throws
//   void* allocate(std::size_t bytes);              throws
//   void clear(void* memory, std::size_t bytes);    ends with zeros there; throws
//   Handle export_handle(void* memory);             throws
//   void* open(const Handle&);                      memory of another rank; throws
//   void close(void*) noexcept;
//   static void free(void*) noexcept;
template <class Machine>
class ExportedMemory final : public PeerMemory {
  using Retired = RetiredMemory<Machine>;

 public:
  // Collective.
  ExportedMemory(Communicator& communicator, Machine machine)
      : PeerMemory(communicator),
        machine_(std::move(machine)),
        group_(communicator.gathered(std::int64_t{getpid()})) {}
  // The caller has waited for this rank's kernels.
  ~ExportedMemory() override {
    close();
    if (mine_) Retired::of_process().add(group_, mine_);
  }

  bool allocate(std::size_t bytes) override {
    together(communicator_, [&] {
      machine_.finish();
      close();
    });
    // All ranks have closed their mappings before any of them frees.
    Retired::of_process().free(group_);
    if (mine_) Machine::free(std::exchange(mine_, nullptr));
    struct Offer {
      typename Machine::Handle handle;
      bool valid;
    } offer{};
    offer.valid = succeeds([&] {
      mine_ = machine_.allocate(bytes);
      machine_.clear(mine_, bytes);
      offer.handle = machine_.export_handle(mine_);
    });
    const std::vector<Offer> offers = communicator_.gathered(offer);
    bool valid = true;
    for (const Offer& each : offers) valid = valid && each.valid;
    const bool opened =
        valid && succeeds([&] {
          for (std::size_t r = 0; r < offers.size(); ++r)
            of_rank_[r] = static_cast<char*>(r == rank() ? mine_ : machine_.open(offers[r].handle));
        });
    if (everywhere(opened)) return true;
    close();
    everywhere(true);  // again, all close before any frees
    if (mine_) Machine::free(std::exchange(mine_, nullptr));
    return false;
  }

 private:
  // Missing memory is not an error of the run, because another transport can be used.
  static bool succeeds(const auto& task) {
    try {
      task();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
  void close() {
    for (std::size_t r = 0; r < of_rank_.size(); ++r)
      if (of_rank_[r] && r != rank()) machine_.close(of_rank_[r]);
    of_rank_.assign(of_rank_.size(), nullptr);
  }
  Machine machine_;
  typename Retired::Group group_;
  void* mine_ = nullptr;
};

// One file in memory, which all ranks map. It has no name at any time, so that nothing is left
// behind when a rank dies. Machine:
//   void finish();                                as above
//   void* map(void* memory, std::size_t bytes);   what the device calls it; null if it cannot
//   void unmap(void* memory) noexcept;
template <class Machine>
class CommonMemory final : public PeerMemory {
 public:
  CommonMemory(Communicator& communicator, Machine machine)
      : PeerMemory(communicator), machine_(std::move(machine)) {}
  // The caller has waited for this rank's kernels. The other ranks keep their mappings.
  ~CommonMemory() override { close(); }

  bool allocate(std::size_t bytes) override {
    together(communicator_, [&] {
      machine_.finish();
      close();
    });
    constexpr std::size_t kGrain = std::size_t(1) << 16;
    bytes = (bytes + kGrain - 1) / kGrain * kGrain;
    bytes_ = bytes * of_rank_.size();
    Offer offer{};
    File file = rank() == 0 ? create(offer) : File{};
    const std::vector<Offer> offers = communicator_.gathered(offer);
    if (rank() != 0) file = open(offers[0]);
    const bool here = file.number >= 0 && map(file);
    // The file is closed only after this: until then the others open it through rank 0.
    if (!everywhere(here)) {
      close();
      return false;
    }
    for (std::size_t r = 0; r < of_rank_.size(); ++r) of_rank_[r] = on_device_ + r * bytes;
    return true;
  }

 private:
  struct File {
    int number = -1;
    File() = default;
    explicit File(int number) : number(number) {}
    File(File&& other) noexcept : number(std::exchange(other.number, -1)) {}
    File& operator=(File&& other) noexcept {
      std::swap(number, other.number);
      return *this;
    }
    ~File() {
      if (number >= 0) ::close(number);
    }
  };
  // Where rank 0 has the file open, and which one it is: a process in another container may have
  // the same identifier.
  struct Offer {
    std::int64_t process, file, device, inode;
    bool valid;
  };

  File create(Offer& offer) const {
    // Nothing else limits such a file. The limit is the usual one of /dev/shm, half of the memory.
    const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
    if (bytes_ / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) > pages / 2) return {};
    File file(memfd_create("manymove", MFD_CLOEXEC));
    struct stat status;
    if (file.number < 0 || posix_fallocate(file.number, 0, static_cast<off_t>(bytes_)) != 0 ||
        fstat(file.number, &status) != 0)
      return {};
    offer = {getpid(), file.number, static_cast<std::int64_t>(status.st_dev),
             static_cast<std::int64_t>(status.st_ino), true};
    return file;
  }
  static File open(const Offer& offer) {
    if (!offer.valid) return {};
    char name[64];
    std::snprintf(name, sizeof name, "/proc/%lld/fd/%lld", static_cast<long long>(offer.process),
                  static_cast<long long>(offer.file));
    File file(::open(name, O_RDWR | O_CLOEXEC));
    struct stat status;
    if (file.number < 0 || fstat(file.number, &status) != 0 ||
        static_cast<std::int64_t>(status.st_dev) != offer.device ||
        static_cast<std::int64_t>(status.st_ino) != offer.inode)
      return {};
    return file;
  }
  bool map(const File& file) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = memory;
    on_device_ = static_cast<char*>(machine_.map(memory_, bytes_));
    return on_device_ != nullptr;
  }
  void close() {
    if (on_device_) machine_.unmap(memory_);
    if (memory_) munmap(memory_, bytes_);
    memory_ = nullptr;
    on_device_ = nullptr;
    of_rank_.assign(of_rank_.size(), nullptr);
  }
  Machine machine_;
  void* memory_ = nullptr;
  char* on_device_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace manymove
