// SPDX-License-Identifier: GPL-2.0-or-later
#include "mpi_communicator.h"

#include <algorithm>

using namespace LAMMPS_NS;

namespace {

constexpr int kTag = 0x6d6d;
constexpr std::size_t kMost = std::size_t(1) << 30;  // bytes of one message: MPI counts in int

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm world) : world_(world) {
  MPI_Comm_rank(world, &rank_);
  MPI_Comm_size(world, &ranks_);
}

void MpiCommunicator::maximum(std::int64_t* values, int count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, world_);
}

void MpiCommunicator::gather(const void* mine, void* all, std::size_t bytes) {
  const int count = static_cast<int>(bytes);
  MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, world_);
}

void MpiCommunicator::transpose(const std::int64_t* to, std::int64_t* from) {
  MPI_Alltoall(to, 1, MPI_INT64_T, from, 1, MPI_INT64_T, world_);
}

void MpiCommunicator::exchange(const std::vector<Message>& sent,
                               const std::vector<Message>& received) {
  std::vector<MPI_Request> requests;
  const auto in_pieces = [&](const std::vector<Message>& messages, auto start) {
    for (const Message& message : messages)
      for (std::size_t from = 0; from < message.bytes; from += kMost) {
        const auto bytes = static_cast<int>(std::min(kMost, message.bytes - from));
        start(static_cast<char*>(message.data) + from, bytes, message.rank,
              &requests.emplace_back());
      }
  };
  in_pieces(received, [this](char* data, int bytes, int rank, MPI_Request* request) {
    MPI_Irecv(data, bytes, MPI_BYTE, rank, kTag, world_, request);
  });
  in_pieces(sent, [this](char* data, int bytes, int rank, MPI_Request* request) {
    MPI_Isend(data, bytes, MPI_BYTE, rank, kTag, world_, request);
  });
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int LAMMPS_NS::rank_on_host(MPI_Comm world) {
  MPI_Comm host;
  int rank;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}
