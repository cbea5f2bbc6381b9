// SPDX-License-Identifier: BSD-3-Clause
// Ends a process whose host program waits in MPI for a rank that is silent.
//
// The waits of the engines have a watchdog of their own (watchdog.h), but a host program waits in
// MPI by itself, for instance in MPI_Allreduce for its output, and MPI waits without a limit.
// Therefore a thread of each process exchanges datagrams with rank 0, in addition to MPI, and rank
// 0 sends the others which rank is silent. A rank whose datagrams came before and that is silent
// for MANYMOVE_TIMEOUT has ended, is stopped or cannot be reached. If this process is in a call of
// MPI then, it ends with a message that names the rank and the call. Calls that only ask whether a
// message has come do not count, because their callers have a limit of their own.
//
// Only seconds of this process count, so that a job that is suspended as a whole continues. Where
// datagrams do not arrive, nothing is watched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../runtime/api.h"
#include "communicator.h"

namespace manymove {

// Where a process receives datagrams: plain bytes, to be exchanged by the ranks.
struct Endpoint {
  static constexpr int kAddresses = 4;
  char host[64];
  std::uint32_t address[kAddresses];  // IPv4 in network order; 0: none
  std::uint16_t port;                 // in network order; 0: none
  std::uint64_t key;                  // of the job of rank 0
};

// This process's, the same in all calls.
MANYMOVE_API Endpoint my_endpoint();

// Starts the thread of this process, to be called by the thread that calls MPI; ranks[r] is rank
// r's endpoint. `end` makes the launcher end all processes, and may return or block; if it is
// null, the launcher notices that this process ends. Only the first call does something.
MANYMOVE_API void watch_ranks(int rank, const std::vector<Endpoint>& ranks, void (*end)());

// Compares the versions of all ranks and watches the ranks. Returns where they are: "0-1 on node1,
// 2-3 on node2", or an empty text if all are on one host. Collective. Throws std::runtime_error,
// with the same text on all ranks, if the versions differ.
MANYMOVE_API std::string meet(Communicator& communicator, const char* version, void (*end)());

}  // namespace manymove
