// SPDX-License-Identifier: BSD-3-Clause
// What an engine of hard particles does with the particles of a host program.
#pragma once

#include <nanobind/nanobind.h>

#include "core/hard_particles/engine.h"

namespace manymove::bindings {

namespace nb = nanobind;

// Addresses, as array interfaces give them.
inline hard_particles::HostParticles host_particles(std::uintptr_t position, bool double_precision,
                                                    std::uintptr_t image, std::uintptr_t index,
                                                    std::uintptr_t tag) {
  return {reinterpret_cast<void*>(position), double_precision,
          reinterpret_cast<std::int32_t*>(image), reinterpret_cast<const std::uint32_t*>(index),
          reinterpret_cast<const std::uint32_t*>(tag)};
}

template <class Engine>
void bind_host_methods(nb::class_<Engine>& engine) {
  using namespace nb::literals;
  engine.def(
      "enqueue",
      [](Engine& e, std::uint64_t cycles, std::uintptr_t position, bool double_precision,
         std::uintptr_t image, std::uintptr_t index, std::uintptr_t tag) {
        e.enqueue(cycles, host_particles(position, double_precision, image, index, tag));
      },
      "cycles"_a, "position"_a, "double_precision"_a, "image"_a, "index"_a, "tag"_a,
      nb::call_guard<nb::gil_scoped_release>());
  engine.def(
      "same_positions",
      [](const Engine& e, std::uintptr_t position, bool double_precision, std::uintptr_t image,
         std::uintptr_t index, std::uintptr_t tag) {
        return e.same_positions(host_particles(position, double_precision, image, index, tag));
      },
      "position"_a, "double_precision"_a, "image"_a, "index"_a, "tag"_a,
      nb::call_guard<nb::gil_scoped_release>());
  engine.def(
      "write_positions",
      [](Engine& e, std::uintptr_t position, bool double_precision, std::uintptr_t image,
         std::uintptr_t index, std::uintptr_t tag) {
        e.write_positions(host_particles(position, double_precision, image, index, tag));
      },
      "position"_a, "double_precision"_a, "image"_a, "index"_a, "tag"_a,
      nb::call_guard<nb::gil_scoped_release>());
  engine.def_prop_ro("cycles_between_writes", &Engine::cycles_between_writes);
}

}  // namespace manymove::bindings
