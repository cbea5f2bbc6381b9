// SPDX-License-Identifier: BSD-3-Clause
// Whether the for_each_field of a struct visits each of its members: one more member that no
// visitor sees would be lost in checkpoints.
#pragma once

#include <cstddef>
#include <utility>

#include "core/runtime/fields.h"

namespace support {

struct Anything {
  template <class T>
  constexpr operator T() const;  // not defined: only counted with
};

template <class S, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { S{((void)I, Anything{})...}; };
}

// Number of members of an aggregate.
template <class S, std::size_t Count = 1>
constexpr std::size_t members() {
  static_assert(takes<S>(std::make_index_sequence<Count>()));
  if constexpr (takes<S>(std::make_index_sequence<Count + 1>()))
    return members<S, Count + 1>();
  else
    return Count;
}

template <class S>
std::size_t visited_members() {
  std::size_t count = 0;
  S s{};
  for_each_field(s, [&](const char*, auto&... fields) { count += sizeof...(fields); });
  return count;
}

}  // namespace support
