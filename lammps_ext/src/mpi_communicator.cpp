// SPDX-License-Identifier: GPL-2.0-or-later
#include "mpi_communicator.h"

using namespace LAMMPS_NS;
using manymove::MpiChannel;

void MpiCommunicator::maximum(std::int64_t* values, int count) {
  channel_.reduce(values, static_cast<std::size_t>(count), MPI_INT64_T, MPI_MAX);
}

void MpiCommunicator::gather(const void* mine, void* all, std::size_t bytes) {
  channel_.gather(mine, all, bytes);
}

void MpiCommunicator::transpose(const std::int64_t* to, std::int64_t* from) {
  channel_.transpose(to, from);
}

void MpiCommunicator::exchange(const std::vector<Message>& sent,
                               const std::vector<Message>& received) {
  constexpr int kTag = 1;
  const auto tagged = [](const std::vector<Message>& messages) {
    std::vector<MpiChannel::Message> all;
    all.reserve(messages.size());
    for (const Message& message : messages)
      all.push_back({message.rank, kTag, message.data, message.bytes});
    return all;
  };
  channel_.exchange(tagged(sent), tagged(received));
}

int LAMMPS_NS::rank_on_host(MPI_Comm world) {
  MPI_Comm host;
  int rank;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}
