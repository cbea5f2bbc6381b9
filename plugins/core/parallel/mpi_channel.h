// SPDX-License-Identifier: BSD-3-Clause
// Messages of the engines' ranks through MPI, for the adaptors of host programs and for Python. The
// core itself does not use MPI. C++17, as HOOMD-blue is.
//
// A watchdog waits for all non-blocking calls, on a duplicate of the host's
// communicator, so that messages are not confused with the host's. Making the duplicate is such a
// wait too.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "communicator.h"

namespace manymove {

// F(name without "MPI_", parameters...) of each function that is used.
#define MANYMOVE_MPI_FUNCTIONS(F)                                                                 \
  F(Comm_create_keyval, CopyAttribute*, DeleteAttribute*, int* key, void*)                        \
  F(Comm_get_attr, Handle comm, int key, void* value, int* exists)                                \
  F(Comm_idup, Handle comm, Handle* copy, Handle* request)                                        \
  F(Comm_rank, Handle comm, int* rank)                                                            \
  F(Comm_set_attr, Handle comm, int key, void* value)                                             \
  F(Comm_size, Handle comm, int* size)                                                            \
  F(Error_string, int code, char* text, int* length)                                              \
  F(Iallgather, const void* mine, int count, Handle type, void* all, int each, Handle all_type,   \
    Handle comm, Handle* request)                                                                 \
  F(Iallreduce, const void* mine, void* all, int count, Handle type, Handle operation,            \
    Handle comm, Handle* request)                                                                 \
  F(Ialltoall, const void* to, int count, Handle type, void* from, int each, Handle from_type,    \
    Handle comm, Handle* request)                                                                 \
  F(Ialltoallv, const void* to, const int* counts, const int* places, Handle type, void* from,    \
    const int* from_counts, const int* from_places, Handle from_type, Handle comm,                \
    Handle* request)                                                                              \
  F(Improbe, int source, int tag, Handle comm, int* found, Handle* message, void* status)         \
  F(Irecv, void* data, int count, Handle type, int source, int tag, Handle comm, Handle* request) \
  F(Isend, const void* data, int count, Handle type, int target, int tag, Handle comm,            \
    Handle* request)                                                                              \
  F(Mrecv, void* data, int count, Handle type, Handle* message, void* status)                     \
  F(Test, Handle* request, int* done, void* status)                                               \
  F(Testall, int count, Handle* requests, int* done, void* statuses)

// Handle: int in MPICH and libraries with its binary interface, a pointer in Open MPI and in the
// standard binary interface of MPI 5.
template <class Handle>
struct Mpi {
  using CopyAttribute = int(Handle, int, void*, void*, void*, int*);
  using DeleteAttribute = int(Handle, int, void*, void*);

#define MANYMOVE_DECLARE(name, ...) int (*name)(__VA_ARGS__);
  MANYMOVE_MPI_FUNCTIONS(MANYMOVE_DECLARE)
#undef MANYMOVE_DECLARE

  Handle byte, int64, uint64;  // MPI_BYTE, MPI_INT64_T, MPI_UINT64_T
  Handle max, sum;             // MPI_MAX, MPI_SUM
  Handle no_request;           // MPI_REQUEST_NULL
  int any_source;              // MPI_ANY_SOURCE
  std::size_t status_bytes;    // of an MPI_Status
  bool cuda_aware;             // see is_cuda_aware()

  // What a function has returned. Libraries of which a program has not asked otherwise end it.
  void check(int code) const {
    if (code == 0) return;  // MPI_SUCCESS
    char text[2048] = "";
    int length;
    Error_string(code, text, &length);
    throw std::runtime_error(std::string("MPI: ") + text);
  }
};

// Whether an MPI library says that it reads and writes memory of CUDA devices. Open MPI and MPICH
// have the function, but not every library with their binary interfaces.
inline bool is_cuda_aware(void* library) {
  auto* query = reinterpret_cast<int (*)()>(dlsym(library, "MPIX_Query_cuda_support"));
  return query && query() == 1;
}

// Users of one communicator that do not make the same calls in the same order have a channel each.
enum class Purpose { engines, jobs };

template <class Handle>
class MpiChannel final : public Post {
 public:
  using Message = Communicator::Message;

  // The one for a communicator of the host program. The first call for a communicator duplicates
  // it, which is a collective call; the duplicate stays with it as an attribute, and is never
  // freed: that would be a collective call too. After an agreed error the next call makes another
  // one; after one that not all ranks know of, it throws this error again. The clock, null for that
  // of the system, must outlive the process's use of MPI.
  static MpiChannel& of(const Mpi<Handle>& mpi, Handle host, Purpose purpose = Purpose::engines,
                        Clock* clock = nullptr) {
    static const auto keys = [&mpi] {
      std::array<int, 2> made;
      for (int& key : made)
        mpi.check(mpi.Comm_create_keyval(&do_not_copy, &do_not_delete, &key, nullptr));
      return made;
    }();
    const int key = keys[static_cast<std::size_t>(purpose)];
    void* found;
    int exists;
    mpi.check(mpi.Comm_get_attr(host, key, &found, &exists));
    if (exists && static_cast<MpiChannel*>(found)->watchdog_.can_go_on())
      return *static_cast<MpiChannel*>(found);
    // It is never deleted: MPI may still write to its memory when the process ends.
    auto* made = new MpiChannel(mpi, host, clock);
    mpi.check(mpi.Comm_set_attr(host, key, made));
    return *made;
  }

  int rank() const { return watchdog_.rank(); }
  int ranks() const { return watchdog_.ranks(); }
  bool is_cuda_aware() const { return mpi_.cuda_aware; }
  Watchdog& watchdog() { return watchdog_; }

  // A few ranks exchange small values by plain messages, which need no schedule as MPI's
  // non-blocking collective calls do: every build of DPD's neighbor lists waits for several.
  bool is_direct(std::size_t bytes) const { return ranks() <= 16 && bytes <= 4096; }

  // all[r] is rank r's; each has so many bytes.
  void gather(const void* mine, void* all, std::size_t bytes) {
    if (is_direct(bytes)) return send_all(mine, 0, all, bytes);
    const auto ranks = static_cast<std::size_t>(this->ranks());
    // In parts that MPI can count in an int.
    for (std::size_t first = 0; first < bytes; first += kMost) {
      const std::size_t here = std::min(kMost, bytes - first);
      auto operation = begin(static_cast<const char*>(mine) + first, here, ranks * here);
      const auto count = static_cast<int>(here);
      mpi_.check(mpi_.Iallgather(operation->in.data(), count, mpi_.byte, operation->out.data(),
                                 count, mpi_.byte, comm_, new_request(operation)));
      finish(operation);
      for (std::size_t r = 0; r < ranks; ++r)
        std::memcpy(static_cast<char*>(all) + r * bytes + first, operation->out.data() + r * here,
                    here);
    }
  }

  // from[r] is what rank r has in to[this rank].
  void transpose(const std::int64_t* to, std::int64_t* from) {
    if (is_direct(sizeof *to)) return send_all(to, sizeof *to, from, sizeof *to);
    const std::size_t bytes = static_cast<std::size_t>(ranks()) * sizeof *to;
    auto operation = begin(to, bytes, bytes);
    constexpr int count = sizeof *to;
    mpi_.check(mpi_.Ialltoall(operation->in.data(), count, mpi_.byte, operation->out.data(), count,
                              mpi_.byte, comm_, new_request(operation)));
    finish(operation);
    std::memcpy(from, operation->out.data(), bytes);
  }

  // Replaces the values by their maxima or sums over all ranks.
  void reduce(std::int64_t* values, std::size_t count, Communicator::Reduction reduction) {
    constexpr std::size_t kAtOnce = kMost / sizeof *values;
    const bool sum = reduction == Communicator::Reduction::sum;
    for (std::size_t first = 0; first < count; first += kAtOnce) {
      const std::size_t here = std::min(kAtOnce, count - first), bytes = here * sizeof *values;
      // Sums are those of unsigned integers, which wrap around; maxima are those of signed ones.
      auto operation = begin(values + first, bytes, bytes);
      mpi_.check(mpi_.Iallreduce(operation->in.data(), operation->out.data(),
                                 static_cast<int>(here), sum ? mpi_.uint64 : mpi_.int64,
                                 sum ? mpi_.sum : mpi_.max, comm_, new_request(operation)));
      finish(operation);
      std::memcpy(values + first, operation->out.data(), bytes);
    }
  }

  // Messages that the other sides expect, with sizes that they know. If this throws, MPI may still
  // read and write their memory.
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) {
    auto operation = std::make_unique<Operation>();
    const auto in_pieces = [&](const Message& message, auto start) {
      for (std::size_t from = 0; from < message.bytes; from += kMost)
        mpi_.check(start(static_cast<char*>(message.data) + from,
                         static_cast<int>(std::min(kMost, message.bytes - from)), mpi_.byte,
                         message.rank, kExchange, comm_, new_request(operation)));
    };
    for (const Message& message : received) in_pieces(message, mpi_.Irecv);
    for (const Message& message : sent) in_pieces(message, mpi_.Isend);
    finish(operation);
  }

  // ---- notices ----

  // Copies of what MPI has not taken yet stay here.
  void send(int rank, const Notice& notice) override {
    reserve_.reset();
    outbox_.remove_if([this](Outgoing& old) { return is_done(old.request); });
    Outgoing& mine = outbox_.emplace_back();
    mine.notice = notice;
    mine.request = mpi_.no_request;
    mpi_.check(
        mpi_.Isend(&mine.notice, sizeof notice, mpi_.byte, rank, kNotices, comm_, &mine.request));
  }
  bool receive(Notice& notice) override {
    int found;
    Handle message;
    mpi_.check(mpi_.Improbe(mpi_.any_source, kNotices, comm_, &found, &message, status_.data()));
    if (!found) return false;
    // A matched probe has taken the message from the queue, so that this one is received.
    mpi_.check(mpi_.Mrecv(&notice, sizeof notice, mpi_.byte, &message,
                          status_.data()));  // is here already
    return true;
  }

 private:
  static constexpr int kNotices = 0, kExchange = 1, kDirect = 2;  // tags
  static constexpr std::size_t kMost = std::size_t(1) << 30;  // bytes at once: MPI counts in int

  struct Outgoing {
    Notice notice;
    Handle request;
  };

  // Collective calls work on copies: MPI may write to them long after a wait has failed.
  struct Operation {
    std::vector<char> in, out;
    std::vector<Handle> requests;
  };
  Handle* new_request(std::unique_ptr<Operation>& operation) const {
    return &operation->requests.emplace_back(mpi_.no_request);
  }

  MpiChannel(const Mpi<Handle>& mpi, Handle host, Clock* clock)
      : mpi_(mpi),
        comm_(duplicate(host, clock)),
        status_(mpi.status_bytes),
        watchdog_(rank_in(comm_), size_of(comm_), *this, Watchdog::timeout(), clock) {}

  static int do_not_copy(Handle, int, void*, void*, void*, int* copied) { return *copied = 0; }
  static int do_not_delete(Handle, int, void*, void*) { return 0; }

  // All ranks make a duplicate. Ranks cannot be asked whether they are alive before it exists: a
  // rank is known to be alive once its byte has arrived.
  class RollCall final : public Post {
   public:
    RollCall(const Mpi<Handle>& mpi, Handle host, int ranks)
        : mpi_(mpi),
          bytes_(static_cast<std::size_t>(ranks), 1),
          arrived_(bytes_.size()),
          statuses_(2 * mpi.status_bytes),
          ones_(bytes_.size(), 1) {
      for (int r = 0; r < ranks; ++r) places_.push_back(r);
      mpi_.check(mpi_.Ialltoallv(bytes_.data(), ones_.data(), places_.data(), mpi_.byte,
                                 arrived_.data(), ones_.data(), places_.data(), mpi_.byte, host,
                                 &requests_[0]));
      mpi_.check(mpi_.Comm_idup(host, &copy_, &requests_[1]));
    }
    bool is_done() {
      int done;
      mpi_.check(mpi_.Testall(2, requests_, &done, statuses_.data()));
      return done != 0;
    }
    Handle copy() const { return copy_; }

    // Answers in place of the ranks whose byte has arrived, which wait as this one does.
    void send(int rank, const Notice& notice) override {
      const volatile char& arrived = arrived_[static_cast<std::size_t>(rank)];
      if (notice.kind == Notice::kQuestion && arrived)
        answers_.push_back(
            {Notice::kAnswer, rank, notice.number, std::numeric_limits<float>::infinity(), {}});
    }
    bool receive(Notice& notice) override {
      if (answers_.empty()) return false;
      notice = answers_.back();
      answers_.pop_back();
      return true;
    }

   private:
    const Mpi<Handle> mpi_;
    std::vector<char> bytes_, arrived_, statuses_;
    std::vector<int> ones_, places_;
    Handle copy_, requests_[2];
    std::vector<Notice> answers_;
  };

  Handle duplicate(Handle host, Clock* clock) const {
    const double limit = Watchdog::timeout();
    auto call = std::make_unique<RollCall>(mpi_, host, size_of(host));
    Watchdog watchdog(rank_in(host), size_of(host), *call, limit, clock);
    try {
      watchdog.wait([&] { return call->is_done(); });
    } catch (...) {
      call.release();  // MPI may still write there
      throw;
    }
    return call->copy();
  }
  int rank_in(Handle comm) const {
    int rank;
    mpi_.check(mpi_.Comm_rank(comm, &rank));
    return rank;
  }
  int size_of(Handle comm) const {
    int size;
    mpi_.check(mpi_.Comm_size(comm, &size));
    return size;
  }
  bool is_done(Handle& request) {
    int done;
    mpi_.check(mpi_.Test(&request, &done, status_.data()));
    return done != 0;
  }

  // Sends `bytes` bytes from mine + r * stride to rank r; all + r * bytes is what rank r sends.
  void send_all(const void* mine, std::size_t stride, void* all, std::size_t bytes) {
    const auto ranks = static_cast<std::size_t>(this->ranks()),
               self = static_cast<std::size_t>(rank());
    // With a stride of 0 all ranks get the same.
    auto operation = begin(mine, stride ? stride * ranks : bytes, bytes * ranks);
    const auto count = static_cast<int>(bytes);
    char *out = operation->out.data(), *in = operation->in.data();
    const auto with_others = [&](auto start) {
      for (std::size_t r = 0; r < ranks; ++r)
        if (r != self) mpi_.check(start(r, static_cast<int>(r), new_request(operation)));
    };
    with_others([&](std::size_t r, int other, Handle* request) {
      return mpi_.Irecv(out + r * bytes, count, mpi_.byte, other, kDirect, comm_, request);
    });
    with_others([&](std::size_t r, int other, Handle* request) {
      return mpi_.Isend(in + r * stride, count, mpi_.byte, other, kDirect, comm_, request);
    });
    std::memcpy(out + self * bytes, in + self * stride, bytes);
    finish(operation);
    std::memcpy(all, operation->out.data(), operation->out.size());
  }

  static std::unique_ptr<Operation> begin(const void* in, std::size_t bytes, std::size_t out) {
    auto operation = std::make_unique<Operation>();
    operation->in.resize(bytes);
    operation->out.resize(out);
    std::memcpy(operation->in.data(), in, bytes);
    return operation;
  }

  void finish(std::unique_ptr<Operation>& operation) {
    auto& requests = operation->requests;
    status_.resize(std::max(status_.size(), requests.size() * mpi_.status_bytes));
    try {
      watchdog_.wait([&] {
        int done;
        mpi_.check(mpi_.Testall(static_cast<int>(requests.size()), requests.data(), &done,
                                status_.data()));
        return done != 0;
      });
    } catch (...) {
      operation.release();  // MPI may still write there
      throw;
    }
  }

  const Mpi<Handle> mpi_;
  const Handle comm_;
  std::vector<char> status_;  // of requests, which nothing asks for
  // MPI needs memory to send the others that there is none: this is freed at the first notice.
  std::unique_ptr<char[]> reserve_{new char[std::size_t(1) << 22]};
  std::list<Outgoing> outbox_;
  Watchdog watchdog_;
};

// The ranks of a channel.
template <class Handle>
class MpiCommunicator : public Communicator {
 public:
  // limit: seconds of the watchdog in the calls of this object; others may share the channel.
  MpiCommunicator(MpiChannel<Handle>& channel, double limit) : channel_(channel), limit_(limit) {}

  int rank() const override { return channel_.rank(); }
  int ranks() const override { return channel_.ranks(); }
  Watchdog& watchdog() override { return channel().watchdog(); }

  void gather(const void* mine, void* all, std::size_t bytes) override {
    channel().gather(mine, all, bytes);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    channel().transpose(to, from);
  }
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
    channel().exchange(sent, received);
  }
  void reduce(std::int64_t* values, std::size_t count, Reduction reduction) override {
    if (channel_.is_direct(count * sizeof *values))
      Communicator::reduce(values, count, reduction);
    else
      channel().reduce(values, count, reduction);
  }
  bool takes_device_memory() const override { return channel_.is_cuda_aware(); }

 private:
  MpiChannel<Handle>& channel() {
    channel_.watchdog().set_limit(limit_);
    return channel_;
  }

  MpiChannel<Handle>& channel_;
  const double limit_;
};

}  // namespace manymove
