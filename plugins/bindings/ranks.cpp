// SPDX-License-Identifier: BSD-3-Clause
// The ranks of an mpi4py communicator. This module is not compiled against an MPI: functions and
// constants come from the library that mpi4py has loaded.
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "core/parallel/heartbeat.h"
#include "core/parallel/mpi_channel.h"
#include "positions.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace manymove;
using bindings::released;

namespace {

// Whether this thread holds Python's lock. The limited API has no PyGILState_Check(); in the
// versions for which this module uses that API, from 3.12 on, a thread without the lock has no
// current state and so no dictionary.
bool has_lock() {
#if defined(Py_LIMITED_API)
  return PyThreadState_GetDict() != nullptr;
#else
  return PyGILState_Check() != 0;
#endif
}

// In a long wait Python's signal handlers run; what they raise ends it.
class PythonClock final : public Clock {
 public:
  void rest(double seconds) override {
    if (has_lock()) {
      nb::gil_scoped_release others;
      return Clock::rest(seconds);
    }
    Clock::rest(seconds);
    if (seconds < 0.01) return;  // the watchdog's longest rest, after a second
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals()) nb::raise_python_error();
  }
};

template <class Handle>
Handle handle_of(const nb::object& mpi, const nb::object& object) {
  const auto number = nb::cast<std::uintptr_t>(mpi.attr("_handleof")(object));
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(number);
  else
    return static_cast<Handle>(number);
}

template <class Handle>
Mpi<Handle> library_of(const nb::object& mpi) {
  const auto path = nb::cast<std::string>(mpi.attr("__file__"));
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library) throw std::runtime_error(std::string("MPI of mpi4py: ") + dlerror());
  Mpi<Handle> table;
  const auto find = [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) throw std::runtime_error(std::string("MPI of mpi4py has no ") + name);
  };
#define MANYMOVE_FIND(name, ...) find(table.name, "MPI_" #name);
  MANYMOVE_MPI_FUNCTIONS(MANYMOVE_FIND)
#undef MANYMOVE_FIND
  table.byte = handle_of<Handle>(mpi, mpi.attr("BYTE"));
  table.int64 = handle_of<Handle>(mpi, mpi.attr("INT64_T"));
  table.uint64 = handle_of<Handle>(mpi, mpi.attr("UINT64_T"));
  table.max = handle_of<Handle>(mpi, mpi.attr("MAX"));
  table.sum = handle_of<Handle>(mpi, mpi.attr("SUM"));
  table.no_request = handle_of<Handle>(mpi, mpi.attr("REQUEST_NULL"));
  table.any_source = nb::cast<int>(mpi.attr("ANY_SOURCE"));
  table.status_bytes = nb::cast<std::size_t>(mpi.attr("_sizeof")(mpi.attr("Status")));
  table.cuda_aware = is_cuda_aware(library);
  return table;
}

template <class Handle>
std::unique_ptr<Communicator> communicator_of(const nb::object& mpi, const nb::object& object,
                                              Purpose purpose, double limit) {
  static PythonClock clock;
  static const Mpi<Handle> library = library_of<Handle>(mpi);
  const auto handle = handle_of<Handle>(mpi, object);
  return released([&]() -> std::unique_ptr<Communicator> {
    auto& channel = MpiChannel<Handle>::of(library, handle, purpose, &clock);
    return std::make_unique<MpiCommunicator<Handle>>(channel, limit);
  });
}

std::unique_ptr<Communicator> join(const nb::object& communicator, const std::string& purpose,
                                   std::optional<double> seconds) {
  const double limit = seconds ? *seconds : Watchdog::timeout();
  const nb::object mpi = nb::module_::import_("mpi4py.MPI");
  const auto size = nb::cast<std::size_t>(mpi.attr("_sizeof")(mpi.attr("Comm")));
  const auto make = size == sizeof(int) ? &communicator_of<int> : &communicator_of<void*>;
  return make(mpi, communicator, purpose == "jobs" ? Purpose::jobs : Purpose::engines, limit);
}

nb::list all(Communicator& communicator, const nb::bytes& mine) {
  const auto* data = static_cast<const char*>(mine.data());
  std::vector<std::int64_t> sizes;
  const auto everything = released(
      [&] { return collect(communicator, std::vector<char>(data, data + mine.size()), &sizes); });
  nb::list parts;
  const char* at = everything.data();
  for (const std::int64_t size : sizes) {
    parts.append(nb::bytes(at, static_cast<std::size_t>(size)));
    at += size;
  }
  return parts;
}

// Exceptions that all ranks throw have a true attribute `agreed`.
void translate_agreed(const std::exception_ptr& exception, void*) {
  const auto raise = [](PyObject* type, const char* text) {
    nb::object error = nb::handle(type)(text);
    error.attr("agreed") = true;
    PyErr_SetObject(type, error.ptr());
  };
  try {
    std::rethrow_exception(exception);
  } catch (const RankFailure&) {
    throw;
  } catch (const Agreed& agreed) {
    const auto* error = dynamic_cast<const std::exception*>(&agreed);
    const bool value = dynamic_cast<const std::invalid_argument*>(error),
               memory = dynamic_cast<const std::bad_alloc*>(error);
    raise(value    ? PyExc_ValueError
          : memory ? PyExc_MemoryError
                   : PyExc_RuntimeError,
          error ? error->what() : "");
  }
}

}  // namespace

void bind_ranks(nb::module_& module) {
  nb::exception<RankFailure>(module, "RankLost", PyExc_RuntimeError);
  nb::register_exception_translator(&translate_agreed);
  module.def("timeout", &Watchdog::timeout,
             "Seconds of MANYMOVE_TIMEOUT. Raises ValueError if it is not a positive number.");
  nb::class_<Communicator>(module, "Communicator", "Ranks; communicator.h and watchdog.h.")
      .def("all", &all, "value"_a, "The bytes of all ranks, on every rank. Collective.")
      .def("any",
           [](Communicator& c, bool flag) {
             std::int64_t most = flag;
             released([&] { c.maximum(&most, 1); });
             return most != 0;
           })
      .def(
          // The launcher notices that this process ends.
          "meet", [](Communicator& c) { return meet(c, "manymove " MANYMOVE_VERSION, nullptr); },
          nb::call_guard<nb::gil_scoped_release>(),
          "From now on this process ends if it waits in MPI for a silent rank. Collective.")
      // These two hold Python's lock, because several threads call them.
      .def("look", [](Communicator& c) { c.watchdog().look(); })
      .def("alarms", [](Communicator& c) { return c.watchdog().alarms(); })
      .def("raise_alarm", [](Communicator& c) { c.watchdog().raise_alarm(); })
      .def(
          "take_alarms", [](Communicator& c, int number) { c.watchdog().take_alarms(number); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "fail", [](Communicator& c, const std::string& text) { c.watchdog().fail(text); },
          nb::call_guard<nb::gil_scoped_release>());
  module.def("join", &join, "communicator"_a, "purpose"_a, "limit"_a = nb::none(),
             "The ranks of an mpi4py communicator, for one purpose (\"engines\" or \"jobs\"); the "
             "limit of a wait in seconds is MANYMOVE_TIMEOUT by default. Collective.");
}
