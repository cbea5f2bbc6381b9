// SPDX-License-Identifier: GPL-2.0-or-later
#include "mpi_communicator.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "comm.h"
#include "core/parallel/heartbeat.h"
#include "core/runtime/text.h"
#include "error.h"
#include "lammps.h"

using namespace LAMMPS_NS;

void LAMMPS_NS::report(LAMMPS* lmp, const std::string& text, bool everyone) {
  if (everyone) lmp->error->all(FLERR, text);
  // LAMMPS aborts all ranks at once, and the launcher may end before it has passed on the message.
  std::fprintf(stderr, "ERROR on proc %d: %s\n", lmp->comm->me, text.c_str());
  std::fflush(stderr);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  // MPI_Abort returns where the launcher cannot be reached, and LAMMPS would then wait for the
  // other ranks for ever. Whoever uses it as a library has this time to write what is left.
  std::thread([me = lmp->comm->me, limit = manymove::Watchdog::timeout()] {
    std::this_thread::sleep_for(std::chrono::duration<double>(limit));
    std::fprintf(stderr, "ERROR on proc %d: the launcher has not ended this process: it ends\n",
                 me);
    std::_Exit(1);
  }).detach();
  lmp->error->one(FLERR, text);
}

namespace {

struct Member {
  char version[64] = "manymove " MANYMOVE_VERSION;
  manymove::Endpoint endpoint = manymove::my_endpoint();
  const char* host() const { return endpoint.host; }
};

std::vector<Member> members_of(MpiCommunicator& communicator) {
  const Member mine;
  std::vector<Member> all(static_cast<std::size_t>(communicator.ranks()));
  communicator.gather(&mine, all.data(), sizeof mine);
  return all;
}

}  // namespace

MpiCommunicator LAMMPS_NS::communicator_of(LAMMPS* lmp) {
  return reported(lmp, "Package manymove", [&] {
    MpiCommunicator communicator(lmp->world);
    const std::vector<Member> all = members_of(communicator);
    for (const Member& one : all)
      if (std::strcmp(one.version, all[0].version) != 0)
        throw std::runtime_error(manymove::text_of(
            "the ranks run different versions: ", all[0].version, " on ", all[0].host(), ", ",
            one.version, " on ", one.host(), "; install the same on all hosts"));
    std::vector<manymove::Endpoint> endpoints;
    for (const Member& one : all) endpoints.push_back(one.endpoint);
    manymove::watch_ranks(communicator.rank(), endpoints, [] { MPI_Abort(MPI_COMM_WORLD, 1); });
    return communicator;
  });
}

std::string LAMMPS_NS::ranks_by_host(MpiCommunicator& communicator) {
  const std::vector<Member> all = members_of(communicator);
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::strcmp(all[a].host(), all[b].host()) == 0;
  };
  std::string text;
  for (std::size_t first = 0, end; first < all.size(); first = end) {
    for (end = first + 1; end < all.size() && same(first, end);) ++end;
    if (end - first == all.size()) return "";
    const std::string last = end - first > 1 ? "-" + std::to_string(end - 1) : "";
    text += manymove::text_of(first ? ", " : "", first, last, " on ", all[first].host());
  }
  return text;
}
