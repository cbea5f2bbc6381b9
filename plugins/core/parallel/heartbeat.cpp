// SPDX-License-Identifier: BSD-3-Clause
#include "heartbeat.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>

#include "../runtime/patience.h"
#include "../runtime/text.h"
#include "../runtime/watchdog.h"

namespace manymove {
namespace {

using Clock = std::chrono::steady_clock;

// ---- the call in which the thread of MPI is ----

constexpr int kFrames = 64;
std::atomic<void*> frame_of_call[kFrames];
std::atomic<int> frames_of_call{-1};  // negative: not known

// A signal handler. It does not look up names, because that takes locks, which the interrupted
// thread may hold.
void note_frames(int) {
  const int error = errno;  // of what was interrupted
  void* frames[kFrames];
  const int depth = backtrace(frames, kFrames);
  for (int k = 0; k < depth; ++k) frame_of_call[k].store(frames[k], std::memory_order_relaxed);
  frames_of_call.store(depth, std::memory_order_release);
  errno = error;
}

// The outermost function of MPI on the stack; null for functions that only ask whether a message
// has arrived, which do not wait.
const char* call_in_frames(int depth) {
  const char* found = nullptr;
  for (int k = 0; k < depth; ++k) {
    Dl_info info;
    const void* frame = frame_of_call[k].load(std::memory_order_relaxed);
    if (!dladdr(frame, &info) || !info.dli_sname) continue;
    const char* name = info.dli_sname + (info.dli_sname[0] == 'P');
    if (std::strncmp(name, "MPI_", 4) == 0) found = name;
    // Open MPI's MPI_Abort jumps into its own function and leaves no frame.
    if (std::strcmp(info.dli_sname, "ompi_mpi_abort") == 0) found = "MPI_Abort";
  }
  const bool asks =
      found && (!std::strncmp(found, "MPI_Test", 8) || !std::strcmp(found, "MPI_Iprobe") ||
                !std::strcmp(found, "MPI_Improbe"));
  return asks ? nullptr : found;
}

// Null if the thread is not in a call that waits.
const char* call_of(pthread_t thread) {
  struct sigaction ask = {}, before;
  ask.sa_handler = note_frames;
  ask.sa_flags = SA_RESTART;
  // SIGURG, which a process ignores by default, so that hardly any program handles it.
  if (sigaction(SIGURG, &ask, &before) != 0) return nullptr;
  frames_of_call = -1;
  pthread_kill(thread, SIGURG);
  // A thread that is blocked in the kernel may answer late: up to a second.
  for (int k = 0; k < 200 && frames_of_call < 0; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  sigaction(SIGURG, &before, nullptr);
  return call_in_frames(frames_of_call);
}

// ---- datagrams ----

struct Datagram {
  std::uint64_t key;
  std::int32_t rank;
  std::int32_t leaves;  // this rank ends by itself
  std::int64_t silent;  // from rank 0: the lowest rank that it knows to be silent; negative: none
};

class Heartbeat {
 public:
  static Heartbeat& of_process() {
    static auto& heartbeat = *new Heartbeat;  // its thread may outlive statics
    return heartbeat;
  }
  const Endpoint& endpoint() const { return mine_; }

  void start(int rank, const std::vector<Endpoint>& ranks, void (*end)()) {
    if (socket_ < 0 || ranks.size() < 2 || started_.exchange(true)) return;
    rank_ = rank;
    end_ = end;
    ranks_ = ranks;
    limit_ = Watchdog::timeout();
    peers_.resize(ranks.size());
    thread_of_mpi_ = pthread_self();
    process_ = getpid();
    void* nothing[1];
    backtrace(nothing, 1);  // loads what it needs, which a signal handler may not
    std::atexit([] { of_process().leave(); });
    send_all(-1);  // from now on the others know that this rank was there
    std::thread([this] { beat(); }).detach();
  }

 private:
  struct Peer {
    bool known = false, left = false;
    double silent = 0;  // seconds
  };
  // At so many beats in a row a call of MPI has to wait for a silent rank: one that was woken may
  // be on its way.
  static constexpr int kBeats = 3;
  static constexpr int kMostAtOnce = 100'000;  // datagrams

  Heartbeat() {
    gethostname(mine_.host, sizeof mine_.host - 1);
    std::random_device random;
    mine_.key = (std::uint64_t(random()) << 32) | random();
    // UDP at a port that the system chooses; a socket that does not open leaves the process
    // unwatched.
    socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in any = {};
    any.sin_family = AF_INET;
    socklen_t size = sizeof any;
    if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&any), size) != 0 ||
        getsockname(socket_, reinterpret_cast<sockaddr*>(&any), &size) != 0)
      return;
    fcntl(socket_, F_SETFD, FD_CLOEXEC);
    mine_.port = any.sin_port;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return;
    int number = 0;
    for (const ifaddrs* one = list; one && number < Endpoint::kAddresses; one = one->ifa_next)
      if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && !(one->ifa_flags & IFF_LOOPBACK))
        mine_.address[number++] =
            reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr;
    freeifaddrs(list);
  }

  // Rank 0 speaks with all, the others with rank 0.
  bool speaks_with(std::size_t rank) const {
    return static_cast<int>(rank) != rank_ && (rank_ == 0 || rank == 0);
  }

  void send(std::size_t rank, std::int64_t silent) const {
    const Endpoint& to = ranks_[rank];
    const Datagram datagram{ranks_[0].key, rank_, leaves_, silent};
    const auto send_to = [&](std::uint32_t address) {
      sockaddr_in target = {};
      target.sin_family = AF_INET;
      target.sin_port = to.port;
      target.sin_addr.s_addr = address;
      sendto(socket_, &datagram, sizeof datagram, 0, reinterpret_cast<sockaddr*>(&target),
             sizeof target);
    };
    // Within a host by the loopback address, which no firewall closes; else by every address,
    // because some may lead nowhere.
    if (std::strcmp(to.host, mine_.host) == 0) return send_to(htonl(INADDR_LOOPBACK));
    for (const std::uint32_t address : to.address)
      if (address) send_to(address);
  }
  void send_all(std::int64_t silent) const {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (speaks_with(r)) send(r, silent);
  }

  // The thread may still send while the process ends.
  void leave() {
    if (getpid() != process_) return;  // a child of fork()
    leaves_ = 1;
    send_all(-1);
  }

  void receive() {
    Datagram datagram;
    constexpr ssize_t kSize = sizeof datagram;
    // Other programs may send anything to this port, of any size and as fast as they can.
    for (int k = 0; k < kMostAtOnce; ++k) {
      const ssize_t size =
          recv(socket_, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC);  // the whole size
      if (size < 0 && errno != EINTR) break;
      if (size != kSize || datagram.key != ranks_[0].key || datagram.rank < 0 ||
          static_cast<std::size_t>(datagram.rank) >= peers_.size())
        continue;
      Peer& peer = peers_[static_cast<std::size_t>(datagram.rank)];
      peer = {true, peer.left || datagram.leaves != 0, 0};
      // What rank 0 says of the others holds until its next datagram.
      for (std::size_t r = 1; datagram.rank == 0 && r < peers_.size(); ++r) {
        const bool silent =
            static_cast<std::int64_t>(r) == datagram.silent && datagram.silent != rank_;
        peers_[r] = {silent, false, silent ? limit_ : 0};
      }
    }
  }

  bool is_silent(const Peer& peer) const {
    return peer.known && !peer.left && peer.silent >= limit_;
  }
  int first_silent() const {
    for (std::size_t r = 0; r < peers_.size(); ++r)
      if (is_silent(peers_[r])) return static_cast<int>(r);
    return -1;
  }

  void beat() {
    // So often that a rank which lives is heard of many times within the limit.
    const double pause = std::min(1.0, limit_ / 16);
    for (auto last = Clock::now();;) {
      send_all(first_silent());
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
      const auto now = Clock::now();
      // A suspended job finds one long step when it is woken, of which little counts.
      const double step = counted(std::chrono::duration<double>(now - last).count(), limit_);
      last = now;
      for (Peer& peer : peers_) peer.silent += step;
      receive();
      end_if_hanging();
    }
  }

  void end_if_hanging() {
    // A silent rank matters only where this one waits for messages.
    const char* call = first_silent() < 0 ? nullptr : call_of(thread_of_mpi_);
    beats_ = call ? beats_ + 1 : 0;
    if (beats_ < kBeats) return;
    std::string silent;
    for (std::size_t r = 0; r < peers_.size(); ++r)
      if (is_silent(peers_[r]))
        silent += text_of(silent.empty() ? "" : ", ", r, " (", ranks_[r].host, ")");
    // A program that aborts has said why.
    if (std::strcmp(call, "MPI_Abort") != 0)
      std::fprintf(stderr,
                   "manymove: error: rank %d (%s) has waited in %s and not heard of rank %s for "
                   "%g s (MANYMOVE_TIMEOUT): ended, stopped or disconnected\n",
                   rank_, mine_.host, call, silent.c_str(), limit_);
    std::fflush(stderr);
    send_all(first_silent());  // the others need not wait until this rank is silent
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the launcher passes it on
    if (end_) std::thread(end_).detach();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::_Exit(1);
  }

  Endpoint mine_ = {};
  int socket_ = -1, rank_ = 0, beats_ = 0;
  std::atomic<bool> started_{false};
  std::atomic<std::int32_t> leaves_{0};
  void (*end_)() = nullptr;
  double limit_ = 0;
  pthread_t thread_of_mpi_{};
  pid_t process_ = 0;
  std::vector<Endpoint> ranks_;
  std::vector<Peer> peers_;
};

struct Member {
  char version[64] = {};
  Endpoint endpoint = my_endpoint();
};

}  // namespace

Endpoint my_endpoint() { return Heartbeat::of_process().endpoint(); }

void watch_ranks(int rank, const std::vector<Endpoint>& ranks, void (*end)()) {
  Heartbeat::of_process().start(rank, ranks, end);
}

std::string meet(Communicator& communicator, const char* version, void (*end)()) {
  Member mine;
  copy_text(mine.version, version);
  std::vector<Member> all = communicator.gathered(mine);
  const std::size_t ranks = all.size();
  std::vector<Endpoint> endpoints;
  for (Member& one : all) {
    // Texts of other ranks end within their arrays, whatever has been received.
    one.version[sizeof one.version - 1] = one.endpoint.host[sizeof one.endpoint.host - 1] = 0;
    if (std::strcmp(one.version, all[0].version) != 0)
      throw std::runtime_error(text_of("the ranks run different versions: ", all[0].version, " on ",
                                       all[0].endpoint.host, ", ", one.version, " on ",
                                       one.endpoint.host, "; install the same on all hosts"));
    endpoints.push_back(one.endpoint);
  }
  watch_ranks(communicator.rank(), endpoints, end);

  std::string text;
  // Ranks in a row on one host are one part: "0-3 on a, 4-7 on b".
  for (std::size_t first = 0, last; first < ranks; first = last + 1) {
    const char* host = all[first].endpoint.host;
    for (last = first; last + 1 < ranks && !std::strcmp(all[last + 1].endpoint.host, host);) ++last;
    if (last - first + 1 == ranks) return "";
    text += text_of(first ? ", " : "", first);
    if (last > first) text += text_of("-", last);
    text += text_of(" on ", host);
  }
  return text;
}

}  // namespace manymove
