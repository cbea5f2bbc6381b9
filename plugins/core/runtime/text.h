// SPDX-License-Identifier: BSD-3-Clause
// Messages from their parts, without iostreams: those break where a module carries its own
// libstdc++ next to another.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace manymove {

// Floating-point numbers have at most ten digits; a part is a number, a character or a text.
template <class T>
void append_text(std::string& text, const T& part) {
  if constexpr (std::is_floating_point_v<T>) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.10g", static_cast<double>(part));
    text += digits;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, char>) {
    text += std::to_string(part);
  } else {
    text += part;
  }
}

// The parts one after the other: text_of("rank ", 2, " of ", 4).
template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::string text;
  (append_text(text, parts), ...);
  return text;
}

// Throws std::invalid_argument with this text.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw std::invalid_argument(text_of(parts...));
}

// The remedy for coordinates, [particles][dimensions], outside a box around the origin, if all of
// them are between 0 and the edges of the box; otherwise an empty text.
inline std::string remedy_for(const double* coordinates, std::size_t particles, const double* box,
                              int dimensions) {
  for (std::size_t k = 0; k < particles * dimensions; ++k)
    if (!(coordinates[k] >= 0 && coordinates[k] <= box[k % dimensions])) return {};
  return "; the box is centered on the origin, and all coordinates are between 0 and its edges: "
         "subtract box / 2";
}

// As much as fits, with a zero at the end; a character of several bytes is not cut.
template <std::size_t Size>
void copy_text(char (&to)[Size], const std::string& text) {
  std::size_t length = std::min(text.size(), Size - 1);
  while (length > 0 && length < text.size() && (text[length] & 0xc0) == 0x80) --length;
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace manymove
