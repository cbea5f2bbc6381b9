// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are processes of this machine, and functions that stand in for those of MPI.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/parallel/heartbeat.h"
#include "support/ranks.h"
#include "support/test.h"

using manymove::Endpoint;
using namespace manymove::test;

namespace {

constexpr double kLimit = 1;  // MANYMOVE_TIMEOUT
constexpr double kSoon = 20;  // on a busy machine, below the default of 60

using Time = std::chrono::steady_clock;

double since(Time::time_point then) {
  return std::chrono::duration<double>(Time::now() - then).count();
}

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

// Makes the bodies of these functions different; otherwise the compiler would make one function.
const char* volatile last_call;

// The watch finds the call in which a process is by the names that libraries export.
#define MPI_FUNCTION(name)                                                                \
  extern "C" __attribute__((visibility("default"), noinline)) void name(double seconds) { \
    last_call = #name;                                                                    \
    for (const auto began = Time::now(); since(began) < seconds;) rest(0.01);             \
  }
MPI_FUNCTION(MPI_Allreduce)
MPI_FUNCTION(PMPI_Wait)
MPI_FUNCTION(MPI_Testall)
MPI_FUNCTION(MPI_Improbe)
MPI_FUNCTION(MPI_Mprobe)
MPI_FUNCTION(MPI_Abort)

namespace {

constexpr double kEver = 60;
constexpr int kDone = 7;  // exit code of a rank that came to its end

// Each rank is a process that runs body(rank). It is ended with this object.
class Job {
 public:
  Job(int ranks, const std::function<void(int)>& body, void (*end)() = nullptr) {
    const auto number = static_cast<std::size_t>(ranks);
    std::vector<int> to(number), from(number);
    for (int r = 0; r < ranks; ++r) {
      int in[2], out[2], errors[2];
      CHECK(pipe(in) == 0 && pipe(out) == 0 && pipe(errors) == 0);
      const pid_t process = fork();
      CHECK(process >= 0);
      if (process == 0) {
        dup2(errors[1], STDERR_FILENO);
        setenv("MANYMOVE_TIMEOUT", "1", 1);
        const Endpoint mine = manymove::my_endpoint();
        std::vector<Endpoint> all(number);
        if (write(out[1], &mine, sizeof mine) != sizeof mine) _exit(1);
        for (Endpoint& one : all)
          if (read(in[0], &one, sizeof one) != sizeof one) _exit(1);
        manymove::watch_ranks(r, all, end);
        body(r);
        std::exit(kDone);
      }
      close(in[0]);
      close(out[1]);
      close(errors[1]);
      to[static_cast<std::size_t>(r)] = in[1];
      from[static_cast<std::size_t>(r)] = out[0];
      process_.push_back(process);
      errors_.push_back(errors[0]);
    }
    all_.resize(number);
    for (std::size_t r = 0; r < number; ++r)
      CHECK(read(from[r], &all_[r], sizeof all_[r]) == sizeof all_[r]);
    for (const int pipe : to)
      for (const Endpoint& one : all_) CHECK(write(pipe, &one, sizeof one) == sizeof one);
    for (std::size_t r = 0; r < number; ++r) {
      close(to[r]);
      close(from[r]);
    }
    rest(kLimit / 4);  // until all have begun
  }
  Job(const Job&) = delete;
  ~Job() {
    for (const pid_t process : process_) {
      if (process == 0) continue;
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    for (const int pipe : errors_) close(pipe);
  }

  std::uint16_t port(int rank) const { return all_[static_cast<std::size_t>(rank)].port; }
  void send(int rank, int number) const { kill(process_[static_cast<std::size_t>(rank)], number); }

  // The exit code of a rank; -1 if it was killed, -2 if it has not ended in time.
  int end_of(int rank, double seconds = kLimit + kSoon) {
    pid_t& process = process_[static_cast<std::size_t>(rank)];
    for (const auto began = Time::now(); since(began) < seconds; rest(0.01)) {
      int status;
      if (waitpid(process, &status, WNOHANG) != process) continue;
      process = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    return -2;
  }

  // What a rank has written to its standard error.
  std::string said(int rank) const {
    std::string text;
    char part[512];
    pollfd ready{errors_[static_cast<std::size_t>(rank)], POLLIN, 0};
    while (poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN)) {
      const ssize_t bytes = read(ready.fd, part, sizeof part);
      if (bytes <= 0) break;
      text.append(part, static_cast<std::size_t>(bytes));
    }
    return text;
  }
  bool says(int rank, const std::string& part) const {
    const std::string text = said(rank);
    if (text.find(part) != std::string::npos) return true;
    fail(__FILE__, __LINE__, "rank " + std::to_string(rank) + " says \"" + text + "\"");
  }

 private:
  std::vector<Endpoint> all_;
  std::vector<pid_t> process_;
  std::vector<int> errors_;
};

}  // namespace

TEST(
    "a rank that is killed or stopped ends the ranks that wait in MPI, which name it and the "
    "call") {
  for (const int number : {SIGKILL, SIGSTOP}) {
    Job job(3, [](int rank) {
      if (rank == 1)
        PMPI_Wait(kEver);
      else
        MPI_Allreduce(kEver);
    });
    job.send(2, number);
    CHECK_EQUAL(job.end_of(0), 1);
    CHECK_EQUAL(job.end_of(1), 1);
    char name[64] = {};
    gethostname(name, sizeof name - 1);
    const std::string host = std::string(" (") + name + ")";
    const std::string tail = " and not heard of rank 2" + host + " for 1 s (MANYMOVE_TIMEOUT)";
    CHECK(job.says(0, "manymove: error: rank 0" + host + " has waited in MPI_Allreduce" + tail));
    // It exchanges no datagrams with rank 2: rank 0 has told it.
    CHECK(job.says(1, "manymove: error: rank 1" + host + " has waited in MPI_Wait" + tail));
  }
}

TEST("the other ranks name rank 0 when it is silent") {
  Job job(3, [](int rank) {
    if (rank == 1)
      MPI_Mprobe(kEver);
    else
      MPI_Allreduce(kEver);
  });
  job.send(0, SIGSTOP);
  for (const int rank : {1, 2}) {
    CHECK_EQUAL(job.end_of(rank), 1);
    CHECK(job.says(rank, "not heard of rank 0 ("));
  }
}

TEST("a rank that computes, or only asks whether a message has come, is not ended") {
  Job job(4, [](int rank) {
    if (rank == 0) rest(3 * kLimit);
    if (rank == 1) MPI_Testall(3 * kLimit);
    if (rank == 2) MPI_Improbe(3 * kLimit);
    if (rank == 3) rest(kEver);
  });
  job.send(3, SIGSTOP);
  for (const int rank : {0, 1, 2}) {
    CHECK_EQUAL(job.end_of(rank), kDone);
    CHECK(job.said(rank).empty());
  }
}

TEST("ranks that wait for a rank that computes are not ended") {
  Job job(3, [](int rank) {
    if (rank == 2)
      for (const auto began = Time::now(); since(began) < 3 * kLimit;) continue;
    else
      MPI_Allreduce(3 * kLimit);
  });
  for (const int rank : {0, 1, 2}) {
    CHECK_EQUAL(job.end_of(rank), kDone);
    CHECK(job.said(rank).empty());
  }
}

TEST("datagrams of other programs do not hide datagrams of the ranks") {
  Job job(2, [](int) { MPI_Allreduce(4 * kLimit); });
  const int from = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = job.port(0);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const char foreign[200] = {};  // longer than a datagram of the ranks, and shorter
  for (const auto began = Time::now(); since(began) < 3 * kLimit; rest(0.005))
    for (const std::size_t bytes : {0, 1, 200, 32})
      sendto(from, foreign, bytes, 0, reinterpret_cast<const sockaddr*>(&place), sizeof place);
  close(from);
  for (const int rank : {0, 1}) {
    CHECK_EQUAL(job.end_of(rank), kDone);
    CHECK(job.said(rank).empty());
  }
}

TEST("a rank that was silent for less than the limit does no harm") {
  Job job(2, [](int) { MPI_Allreduce(4 * kLimit); });
  for (int k = 0; k < 3; ++k) {
    job.send(1, SIGSTOP);
    rest(0.5 * kLimit);
    job.send(1, SIGCONT);
    rest(0.5 * kLimit);
  }
  CHECK_EQUAL(job.end_of(0), kDone);
  CHECK_EQUAL(job.end_of(1), kDone);
}

TEST("ranks that are suspended together continue") {
  Job job(3, [](int) { MPI_Allreduce(5 * kLimit); });
  for (const int number : {SIGSTOP, SIGCONT}) {
    for (const int rank : {0, 1, 2}) job.send(rank, number);
    rest(2.5 * kLimit);
  }
  for (const int rank : {0, 1, 2}) {
    CHECK_EQUAL(job.end_of(rank), kDone);
    CHECK(job.said(rank).empty());
  }
}

TEST("a rank that has ended by itself is not missed") {
  Job job(3, [](int rank) {
    if (rank != 2) MPI_Allreduce(3 * kLimit);
  });
  for (const int rank : {0, 1, 2}) {
    CHECK_EQUAL(job.end_of(rank), kDone);
    CHECK(job.said(rank).empty());
  }
}

TEST("a program that aborts and is not ended by its launcher ends without a second message") {
  Job job(2, [](int) { MPI_Abort(kEver); });
  job.send(1, SIGSTOP);
  CHECK_EQUAL(job.end_of(0), 1);
  CHECK(job.said(0).empty());
}

TEST("the launcher is told before a rank ends by itself") {
  Job job(2, [](int) { MPI_Allreduce(kEver); }, [] { _exit(3); });
  job.send(1, SIGSTOP);
  CHECK_EQUAL(job.end_of(0), 3);
}

TEST("ranks that run different versions refuse each other with one text, and meet otherwise") {
  for (const bool differ : {true, false}) {
    run_communicators(3, [&](manymove::Communicator& ranks) {
      std::string text, where = "?";
      try {
        where = manymove::meet(ranks, differ && ranks.rank() == 1 ? "b 2" : "a 1", nullptr);
      } catch (const std::runtime_error& error) {
        text = error.what();
      }
      char host[64] = {};
      gethostname(host, sizeof host - 1);
      const std::string name(host);
      if (differ)
        CHECK(text == "the ranks run different versions: a 1 on " + name + ", b 2 on " + name +
                          "; install the same on all hosts");
      else
        CHECK(text.empty() && where.empty());  // all on one host
    });
  }
}
