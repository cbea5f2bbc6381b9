// SPDX-License-Identifier: BSD-3-Clause
// Errors of the core as those of manymove.errors, with their values.
#include "core/runtime/errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <string>

#include "core/adsorption/engine.h"
#include "core/hard_particles/engine.h"
#include "core/runtime/watchdog.h"

namespace nb = nanobind;
using namespace manymove;

namespace {

// `name`: of a class in manymove.errors. An error that all ranks throw has a true attribute
// `agreed`, as in ranks.cpp.
template <class... Values>
void raise(const std::exception& error, const char* name, const Values&... values) {
  const nb::object type = nb::module_::import_("manymove.errors").attr(name);
  nb::object raised = type(values...);
  if (dynamic_cast<const Agreed*>(&error)) raised.attr("agreed") = true;
  PyErr_SetObject(type.ptr(), raised.ptr());
}

void raise_about(const ParticleError& error, const char* name) {
  const Particles& about = error.about;
  const nb::tuple indices =
      about.is_pair() ? nb::make_tuple(about.first, about.second) : nb::make_tuple(about.first);
  raise(error, name, about.kind, indices, error.problem, about.quantity);
}

// Other errors pass through.
void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const ParameterError& error) {
    raise(error, "ParameterError", error.about.name, error.problem);
  } catch (const OverlapError& error) {
    raise_about(error, error.about.kind == "ion" ? "IonOverlapError" : "OverlapError");
  } catch (const ParticleError& error) {
    raise_about(error, "ParticleError");
  } catch (const adsorption::PlaceError& error) {
    raise(error, "PlaceError", std::string(error.what()), error.molecule, error.pocket);
  } catch (const hard_particles::OutgrownLattice& error) {
    raise(error, "OutgrownLattice", std::string(error.what()));
  }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(&translate); }
