// SPDX-License-Identifier: BSD-3-Clause
// The compiled module manymove._core: what was built, what is here, and the engines.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/runtime/build.h"
#include "core/runtime/devices.h"
#include "core/runtime/engine_group.h"
#include "core/runtime/simd.h"

namespace nb = nanobind;

void bind_ranks(nb::module_& module);
void bind_errors();
namespace manymove {
namespace hard_particles {
void bind_hard_particles(nb::module_& module);
}
namespace coulomb {
void bind_coulomb(nb::module_& module);
}
namespace dpd {
void bind_dpd(nb::module_& module);
}
namespace adsorption {
void bind_adsorption(nb::module_& module);
}
}  // namespace manymove

NB_MODULE(_core, module) {
  manymove::require_simd_level();  // its error becomes an ImportError
#if defined(MANYMOVE_HAVE_CUDA)
  module.attr("cuda_compiled") = true;
#else
  module.attr("cuda_compiled") = false;
#endif
  nb::class_<manymove::EngineGroup>(
      module, "EngineGroup",
      "Engines of GPUs that run in threads at the same time and share launches.")
      .def(nb::new_([] { return std::make_shared<manymove::EngineGroup>(); }));
  module.def("simd_levels", &manymove::simd_levels, "Compiled SIMD levels, lowest first.");
  module.def(
      "simd_level", [] { return manymove::simd_level_name(manymove::simd_level()); },
      "The SIMD level in use.");
  module.def(
      "machine_simd_level",
      [] { return manymove::simd_level_name(manymove::machine_simd_level()); },
      "The best SIMD level that this machine runs, compiled or not.");
  module.def(
      "cuda_devices",
      [] {
        nb::list devices;
        for (const manymove::Device& d : manymove::cuda_devices()) {
          nb::dict item;
          item["name"] = d.name;
          item["compute_capability"] =
              nb::make_tuple(d.compute_capability[0], d.compute_capability[1]);
          item["memory"] = d.memory;
          item["multiprocessors"] = d.multiprocessors;
          devices.append(item);
        }
        return devices;
      },
      "CUDA devices: name, compute_capability, memory (bytes), multiprocessors. Empty without a "
      "driver.");
  module.def("why_no_cuda_devices", &manymove::why_no_cuda_devices,
             "Why there is none; empty where there are devices.");
  module.def("prepare_for_threads", &manymove::prepare_for_threads, nb::arg("device"),
             nb::arg("many"),
             "Whether many threads of this process use a CUDA device from now on. They sleep while "
             "they wait for it, instead of polling it, and freed memory stays in its pool.");
  module.def("copied_bytes", &manymove::copied_bytes,
             "Bytes copied between host and devices by the engines of this process until now.");
  module.def(
      "build_info",
      [] {
        nb::dict info;
        info["version"] = MANYMOVE_VERSION;
        info["core"] = manymove_core_build();
#if defined(__clang__)
        info["compiler"] = "Clang " __clang_version__;
#else
        info["compiler"] = "GCC " __VERSION__;
#endif
#if defined(MANYMOVE_HAVE_CUDA)
        info["cuda"] = MANYMOVE_CUDA_VERSION;
        info["cuda_architectures"] = MANYMOVE_CUDA_ARCHITECTURES;
#else
        info["cuda"] = nb::none();
        info["cuda_architectures"] = nb::none();
#endif
        info["simd"] = manymove::simd_levels();
        return info;
      },
      "How this module was built.");
  bind_ranks(module);
  bind_errors();
  manymove::hard_particles::bind_hard_particles(module);
  manymove::coulomb::bind_coulomb(module);
  manymove::dpd::bind_dpd(module);
  manymove::adsorption::bind_adsorption(module);
}
