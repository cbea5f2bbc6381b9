// SPDX-License-Identifier: BSD-3-Clause
// Messages of the engines' ranks through MPI, for the adaptors of host programs: included where
// <mpi.h> is available (the core itself does not use MPI), and C++17 as HOOMD-blue is.
//
// All waits are those of a watchdog over non-blocking calls, on a duplicate of the host's
// communicator, so that messages are not confused with the host's. Making the duplicate is such a
// wait too.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "communicator.h"

namespace manymove {

class MpiChannel final : public Post {
 public:
  struct Message {
    int rank, tag;
    void* data;
    std::size_t bytes;
  };

  // The one for a communicator of the host program. The first call for a communicator duplicates
  // it, which is a collective call; the duplicate stays with it as an attribute, and is never
  // freed: that would be a collective call too. After an agreed error the next call makes another
  // one; after one that not all ranks know of, it throws this error again.
  static MpiChannel& of(MPI_Comm host) {
    static const int key = [] {
      int made;
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr);
      return made;
    }();
    void* found;
    int exists;
    MPI_Comm_get_attr(host, key, &found, &exists);
    if (exists && static_cast<MpiChannel*>(found)->watchdog_.can_go_on())
      return *static_cast<MpiChannel*>(found);
    auto* made = new MpiChannel(host);
    MPI_Comm_set_attr(host, key, made);
    return *made;
  }

  int rank() const { return watchdog_.rank(); }
  int ranks() const { return watchdog_.ranks(); }
  Watchdog& watchdog() { return watchdog_; }

  // Replaces each value by the largest of all ranks.
  void maximum(std::int64_t* values, std::size_t count) {
    if (!is_direct(count * sizeof *values)) return reduce(values, count, MPI_INT64_T, MPI_MAX);
    std::vector<std::int64_t> all(count * static_cast<std::size_t>(ranks()));
    gather(values, all.data(), count * sizeof *values);
    for (std::size_t k = 0; k < all.size(); ++k)
      values[k % count] = std::max(values[k % count], all[k]);
  }

  // Replaces each value by its reduction over all ranks.
  template <class T>
  void reduce(T* values, std::size_t count, MPI_Datatype type, MPI_Op operation) {
    for (std::size_t first = 0; first < count; first += kMost / sizeof(T)) {
      const std::size_t here = std::min(kMost / sizeof(T), count - first);
      auto op = begin(values + first, here * sizeof(T), here * sizeof(T));
      MPI_Iallreduce(op->in.data(), op->out.data(), static_cast<int>(here), type, operation, comm_,
                     op->new_request());
      finish(op);
      std::memcpy(values + first, op->out.data(), here * sizeof(T));
    }
  }

  // all[r] is rank r's; each has so many bytes.
  void gather(const void* mine, void* all, std::size_t bytes) {
    if (is_direct(bytes)) return send_all(mine, 0, all, bytes);
    const auto ranks = static_cast<std::size_t>(this->ranks());
    for (std::size_t first = 0; first < bytes; first += kMost) {
      const std::size_t here = std::min(kMost, bytes - first);
      auto operation = begin(static_cast<const char*>(mine) + first, here, ranks * here);
      const auto count = static_cast<int>(here);
      MPI_Iallgather(operation->in.data(), count, MPI_BYTE, operation->out.data(), count, MPI_BYTE,
                     comm_, operation->new_request());
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
    MPI_Ialltoall(operation->in.data(), 1, MPI_INT64_T, operation->out.data(), 1, MPI_INT64_T,
                  comm_, operation->new_request());
    finish(operation);
    std::memcpy(from, operation->out.data(), bytes);
  }

  // Messages that the other sides expect, with sizes that they know; tags from 1. If this throws,
  // MPI may still read and write their memory.
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) {
    auto operation = std::make_unique<Operation>();
    const auto in_pieces = [&](const Message& message, auto start) {
      for (std::size_t from = 0; from < message.bytes; from += kMost)
        start(static_cast<char*>(message.data) + from,
              static_cast<int>(std::min(kMost, message.bytes - from)), MPI_BYTE, message.rank,
              message.tag, comm_, operation->new_request());
    };
    for (const Message& message : received) in_pieces(message, MPI_Irecv);
    for (const Message& message : sent) in_pieces(message, MPI_Isend);
    finish(operation);
  }

  // ---- notices ----

  // Copies of what MPI has not taken yet stay here.
  void send(int rank, const Notice& notice) override {
    reserve_.reset();
    outbox_.remove_if([](Outgoing& old) { return is_done(old.request); });
    Outgoing& mine = outbox_.emplace_back();
    mine.notice = notice;
    MPI_Isend(&mine.notice, sizeof notice, MPI_BYTE, rank, kNotices, comm_, &mine.request);
  }
  bool receive(Notice& notice) override {
    int found;
    MPI_Message message;
    MPI_Improbe(MPI_ANY_SOURCE, kNotices, comm_, &found, &message, MPI_STATUS_IGNORE);
    if (!found) return false;
    MPI_Mrecv(&notice, sizeof notice, MPI_BYTE, &message, MPI_STATUS_IGNORE);  // is here already
    return true;
  }

 private:
  static constexpr int kNotices = 0, kDirect = 4;             // tags; callers have 1 to 3
  static constexpr std::size_t kMost = std::size_t(1) << 30;  // bytes at once: MPI counts in int

  struct Outgoing {
    Notice notice;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  // Collective calls work on copies: MPI may write to them long after a wait has failed.
  struct Operation {
    std::vector<char> in, out;
    std::vector<MPI_Request> requests;
    MPI_Request* new_request() { return &requests.emplace_back(MPI_REQUEST_NULL); }
  };

  explicit MpiChannel(MPI_Comm host)
      : comm_(duplicate(host)), watchdog_(rank_in(comm_), size_of(comm_), *this) {}

  // All ranks make a duplicate. Ranks cannot be asked whether they are alive before it exists: a
  // rank is known to be alive once its byte has arrived.
  class RollCall final : public Post {
   public:
    explicit RollCall(MPI_Comm host)
        : bytes_(static_cast<std::size_t>(size_of(host)), 1), ones_(bytes_.size(), 1) {
      for (std::size_t r = 0; r < bytes_.size(); ++r) places_.push_back(static_cast<int>(r));
      arrived_.resize(bytes_.size());
      MPI_Ialltoallv(bytes_.data(), ones_.data(), places_.data(), MPI_CHAR, arrived_.data(),
                     ones_.data(), places_.data(), MPI_CHAR, host, &requests_[0]);
      MPI_Comm_idup(host, &copy_, &requests_[1]);
    }
    bool is_done() {
      int done;
      MPI_Testall(2, requests_, &done, MPI_STATUSES_IGNORE);
      return done != 0;
    }
    MPI_Comm copy() const { return copy_; }

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
    std::vector<char> bytes_, arrived_;
    std::vector<int> ones_, places_;
    MPI_Comm copy_ = MPI_COMM_NULL;
    MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::vector<Notice> answers_;
  };

  static MPI_Comm duplicate(MPI_Comm host) {
    const double limit = Watchdog::timeout();
    auto call = std::make_unique<RollCall>(host);
    Watchdog watchdog(rank_in(host), size_of(host), *call, limit);
    try {
      watchdog.wait([&] { return call->is_done(); });
    } catch (...) {
      call.release();  // MPI may still write there
      throw;
    }
    return call->copy();
  }
  static int rank_in(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }
  static int size_of(MPI_Comm comm) {
    int size;
    MPI_Comm_size(comm, &size);
    return size;
  }
  static bool is_done(MPI_Request& request) {
    int done;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  // A few ranks exchange small values by plain messages, which need no schedule as MPI's
  // non-blocking collective calls do: every build of DPD's neighbor lists waits for several.
  bool is_direct(std::size_t bytes) const { return ranks() <= 16 && bytes <= 4096; }
  // Sends `bytes` bytes from mine + r * stride to rank r; all + r * bytes is what rank r sends.
  void send_all(const void* mine, std::size_t stride, void* all, std::size_t bytes) {
    const auto ranks = static_cast<std::size_t>(this->ranks()),
               self = static_cast<std::size_t>(rank());
    auto operation = begin(mine, stride ? stride * ranks : bytes, bytes * ranks);
    const auto count = static_cast<int>(bytes);
    char *out = operation->out.data(), *in = operation->in.data();
    const auto with_others = [&](auto start) {
      for (std::size_t r = 0; r < ranks; ++r)
        if (r != self) start(r, static_cast<int>(r), operation->new_request());
    };
    with_others([&](std::size_t r, int other, MPI_Request* request) {
      MPI_Irecv(out + r * bytes, count, MPI_BYTE, other, kDirect, comm_, request);
    });
    with_others([&](std::size_t r, int other, MPI_Request* request) {
      MPI_Isend(in + r * stride, count, MPI_BYTE, other, kDirect, comm_, request);
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
    try {
      watchdog_.wait([&] {
        int done;
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
        return done != 0;
      });
    } catch (...) {
      operation.release();  // MPI may still write there
      throw;
    }
  }

  MPI_Comm comm_;
  // MPI needs memory to tell the others that there is none: it is given back at the first notice.
  std::unique_ptr<char[]> reserve_{new char[std::size_t(1) << 22]};
  std::list<Outgoing> outbox_;
  Watchdog watchdog_;
};

// The ranks of the host program's communicator.
class MpiCommunicator final : public Communicator {
 public:
  // Collective.
  explicit MpiCommunicator(MPI_Comm host) : channel_(MpiChannel::of(host)) {}

  int rank() const override { return channel_.rank(); }
  int ranks() const override { return channel_.ranks(); }
  Watchdog& watchdog() override { return channel_.watchdog(); }

  void maximum(std::int64_t* values, int count) override {
    channel_.maximum(values, static_cast<std::size_t>(count));
  }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    channel_.gather(mine, all, bytes);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    channel_.transpose(to, from);
  }
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
    channel_.exchange(tagged(sent), tagged(received));
  }

 private:
  static std::vector<MpiChannel::Message> tagged(const std::vector<Message>& messages) {
    constexpr int kTag = 3;  // apart from those of other users of the channel
    std::vector<MpiChannel::Message> all;
    all.reserve(messages.size());
    for (const Message& message : messages)
      all.push_back({message.rank, kTag, message.data, message.bytes});
    return all;
  }

  MpiChannel& channel_;
};

}  // namespace manymove
