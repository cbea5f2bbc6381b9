// SPDX-License-Identifier: BSD-3-Clause
#include "core/common/watchdog.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <utility>
#include <vector>

#include "core/common/heartbeat.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace manymove;

namespace {

class PythonPost final : public Post {
 public:
  PythonPost(nb::callable send, nb::callable receive)
      : send_(std::move(send)), receive_(std::move(receive)) {}
  void send(int rank, const Notice& notice) override {
    nb::gil_scoped_acquire gil;
    send_(rank, nb::bytes(&notice, sizeof notice));
  }
  bool receive(Notice& notice) override {
    nb::gil_scoped_acquire gil;
    const nb::object found = receive_();
    if (found.is_none()) return false;
    const auto bytes = nb::cast<nb::bytes>(found);
    if (bytes.size() != sizeof notice) throw nb::value_error("a notice of another size");
    std::memcpy(&notice, bytes.data(), sizeof notice);
    return true;
  }

 private:
  nb::callable send_, receive_;
};

// Other threads of Python run while this one rests, whether or not it has Python's lock.
class PythonClock final : public Clock {
 public:
  void rest(double seconds) override {
    nb::gil_scoped_acquire mine;
    nb::gil_scoped_release others;
    Clock::rest(seconds);
  }
};

// A watchdog with the post that it refers to.
struct PythonWatchdog {
  PythonWatchdog(int rank, int ranks, nb::callable send, nb::callable receive)
      : post(std::move(send), std::move(receive)),
        watchdog(rank, ranks, post, Watchdog::timeout(), &clock) {}
  PythonPost post;
  PythonClock clock;
  Watchdog watchdog;
};

}  // namespace

void bind_watchdog(nb::module_& module) {
  nb::exception<RankFailure>(module, "RankLost", PyExc_RuntimeError);
  module.def("timeout", &Watchdog::timeout,
             "Seconds of MANYMOVE_TIMEOUT. Raises ValueError if it is not a positive number.");
  module.def(
      "endpoint",
      [] {
        const Endpoint mine = my_endpoint();
        return nb::bytes(&mine, sizeof mine);
      },
      "Where this process hears datagrams; heartbeat.h.");
  module.def(
      "watch_ranks",
      [](int rank, const std::vector<nb::bytes>& endpoints) {
        std::vector<Endpoint> ranks(endpoints.size());
        for (std::size_t r = 0; r < ranks.size(); ++r) {
          if (endpoints[r].size() != sizeof ranks[r])
            throw nb::value_error("an endpoint of another size");
          std::memcpy(&ranks[r], endpoints[r].data(), sizeof ranks[r]);
        }
        // The launcher notices that this process ends: MPI itself is out of the core's reach.
        watch_ranks(rank, ranks, nullptr);
      },
      "rank"_a, "endpoints"_a, "Ends this process if it waits in MPI for a silent rank.");
  nb::class_<Watchdog>(module, "CoreWatchdog", "The watchdog that engines of the core use.");
  nb::class_<PythonWatchdog>(module, "Watchdog", "Notices that another rank is silent; watchdog.h.")
      .def(nb::init<int, int, nb::callable, nb::callable>(), "rank"_a, "ranks"_a, "send"_a,
           "receive"_a,
           "send(rank, notice) and receive() carry 512 bytes and never block; receive returns None "
           "if there is nothing. The limit is that of MANYMOVE_TIMEOUT.")
      .def_prop_ro(
          "core", [](PythonWatchdog& w) -> Watchdog& { return w.watchdog; },
          nb::rv_policy::reference_internal)
      .def_prop_rw(
          "limit", [](const PythonWatchdog& w) { return w.watchdog.limit(); },
          [](PythonWatchdog& w, double seconds) { w.watchdog.set_limit(seconds); }, "Seconds.")
      .def("can_go_on", [](const PythonWatchdog& w) { return w.watchdog.can_go_on(); })
      .def(
          "wait",
          [](PythonWatchdog& w, const nb::callable& done) {
            w.watchdog.wait([&done] { return nb::cast<bool>(done()); });
          },
          "done"_a, "Calls done() until it is true.")
      .def("look", [](PythonWatchdog& w) { w.watchdog.look(); })
      .def(
          "fail", [](PythonWatchdog& w, const std::string& text) { w.watchdog.fail(text); },
          "text"_a);
}
