// SPDX-License-Identifier: GPL-2.0-or-later
// What LAMMPS' styles write to restart files, which releases of LAMMPS read from each other.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace LAMMPS_NS {

class RestartBytes {
 public:
  // write(file) writes them.
  explicit RestartBytes(const auto& write) {
    char* written = nullptr;
    std::size_t size = 0;
    std::FILE* const file = open_memstream(&written, &size);
    if (!file) return;
    write(file);
    std::fclose(file);
    bytes_.assign(written, written + size);
    std::free(written);
  }

  std::size_t size() const { return bytes_.size(); }
  // What has not been read; there is less than was asked for, if this has become negative.
  std::ptrdiff_t left() const {
    return static_cast<std::ptrdiff_t>(bytes_.size()) - static_cast<std::ptrdiff_t>(at_);
  }
  void skip(std::size_t bytes) { at_ += bytes; }
  // The next numbers; zero beyond the end.
  template <class Number>
  std::vector<Number> next(std::size_t count) {
    std::vector<Number> values(count);
    const std::size_t bytes = count * sizeof(Number);
    if (at_ + bytes <= bytes_.size()) std::memcpy(values.data(), bytes_.data() + at_, bytes);
    at_ += bytes;
    return values;
  }

 private:
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

// A style without the suffix of the OPENMP and OPT packages, whose variants compute the same.
inline std::string without_suffix(const char* style) {
  std::string name = style ? style : "";
  for (const char* suffix : {"/omp", "/opt"}) {
    const std::size_t length = std::strlen(suffix);
    if (name.size() > length && name.compare(name.size() - length, length, suffix) == 0)
      name.resize(name.size() - length);
  }
  return name;
}

}  // namespace LAMMPS_NS
