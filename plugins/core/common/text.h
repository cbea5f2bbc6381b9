// SPDX-License-Identifier: BSD-3-Clause
// Messages from their parts, without iostreams: those break where a module carries its own
// libstdc++ beside another.
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>

namespace manymove {

template <class T>
void append_text(std::string& text, const T& part) {
  if constexpr (std::is_floating_point_v<T>) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.10g", static_cast<double>(part));
    text += digits;
  } else if constexpr (std::is_same_v<T, char>) {
    text += part;
  } else if constexpr (std::is_integral_v<T>) {
    text += std::to_string(part);
  } else {
    text += part;
  }
}

template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::string text;
  (append_text(text, parts), ...);
  return text;
}

}  // namespace manymove
