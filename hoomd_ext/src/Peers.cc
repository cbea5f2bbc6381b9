// SPDX-License-Identifier: BSD-3-Clause
#include "Peers.h"

#include <hoomd/ExecutionConfiguration.h>

namespace manymove::host {

#if defined(ENABLE_MPI)
namespace {

class Peers final : public Communicator {
 public:
  explicit Peers(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &ranks_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void maximum(std::int64_t* values, int count) override {
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, communicator_, &request);
    wait(1, &request);
  }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    const int count = static_cast<int>(bytes);
    MPI_Request request;
    MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, communicator_, &request);
    wait(1, &request);
  }
  void transpose(const std::int64_t* to, std::int64_t* from) override {
    MPI_Request request;
    MPI_Ialltoall(to, 1, MPI_INT64_T, from, 1, MPI_INT64_T, communicator_, &request);
    wait(1, &request);
  }
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
    std::vector<MPI_Request> requests;
    for (const Message& message : received)
      for_pieces(message, [&](char* data, int bytes) {
        MPI_Irecv(data, bytes, MPI_BYTE, message.rank, kTag, communicator_,
                  &requests.emplace_back());
      });
    for (const Message& message : sent)
      for_pieces(message, [&](char* data, int bytes) {
        MPI_Isend(data, bytes, MPI_BYTE, message.rank, kTag, communicator_,
                  &requests.emplace_back());
      });
    wait(static_cast<int>(requests.size()), requests.data());
  }

 private:
  static constexpr int kTag = 7103;
  static constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes; MPI counts in int

  template <class Piece>
  static void for_pieces(const Message& message, Piece&& piece) {
    for (std::size_t from = 0; from < message.bytes; from += kMost)
      piece(static_cast<char*>(message.data) + from,
            static_cast<int>(std::min(kMost, message.bytes - from)));
  }

  // The only place where this class waits for other ranks.
  void wait(int count, MPI_Request* requests) { MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); }

  MPI_Comm communicator_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace
#endif

std::unique_ptr<Communicator> peers_of(const hoomd::ExecutionConfiguration& configuration) {
#if defined(ENABLE_MPI)
  if (configuration.getNRanks() > 1)
    return std::make_unique<Peers>(configuration.getMPICommunicator());
#endif
  (void)configuration;
  return nullptr;
}

}  // namespace manymove::host
