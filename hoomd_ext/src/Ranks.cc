// SPDX-License-Identifier: BSD-3-Clause
#include "Ranks.h"

#include <hoomd/ExecutionConfiguration.h>

#include <algorithm>

namespace manymove::host {

#if defined(ENABLE_MPI)
namespace {

class Ranks final : public harddisk::RankRing {
 public:
  explicit Ranks(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &ranks_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void exchange(const Bytes out[2], const Bytes in[2]) override {
    constexpr int kDown = 7101, kUp = 7102;  // tags
    const int below = (rank_ + ranks_ - 1) % ranks_, above = (rank_ + 1) % ranks_;
    MPI_Request requests[4];
    int used = 0;
    const auto receive = [&](const Bytes& bytes, int from, int tag) {
      if (bytes.size)
        MPI_Irecv(bytes.data, static_cast<int>(bytes.size), MPI_BYTE, from, tag, communicator_,
                  &requests[used++]);
    };
    const auto send = [&](const Bytes& bytes, int to, int tag) {
      if (bytes.size)
        MPI_Isend(bytes.data, static_cast<int>(bytes.size), MPI_BYTE, to, tag, communicator_,
                  &requests[used++]);
    };
    receive(in[0], below, kUp);
    receive(in[1], above, kDown);
    send(out[0], below, kDown);
    send(out[1], above, kUp);
    MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
  }

  void sum(double* values, std::size_t count) override { sum(values, count, MPI_DOUBLE); }
  void sum(std::uint64_t* values, std::size_t count) override { sum(values, count, MPI_UINT64_T); }

 private:
  template <class T>
  void sum(T* values, std::size_t count, MPI_Datatype type) {
    constexpr std::size_t kMost = std::size_t{1} << 27;  // MPI counts in int
    for (std::size_t first = 0; first < count; first += kMost)
      MPI_Allreduce(MPI_IN_PLACE, values + first, static_cast<int>(std::min(kMost, count - first)),
                    type, MPI_SUM, communicator_);
  }

  MPI_Comm communicator_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace
#endif

std::shared_ptr<harddisk::RankRing> ranks_of(const hoomd::ExecutionConfiguration& configuration) {
#if defined(ENABLE_MPI)
  if (configuration.getNRanks() > 1)
    return std::make_shared<Ranks>(configuration.getMPICommunicator());
#endif
  (void)configuration;
  return nullptr;
}

}  // namespace manymove::host
