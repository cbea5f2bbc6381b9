// SPDX-License-Identifier: GPL-2.0-or-later
// Functions of LAMMPS that format messages, where its headers have std::format instead of their
// copy of {fmt}. The headers of 2026 choose by the standard of the language, and the plugin is
// compiled as C++20, but LAMMPS often as C++17: then it has these functions with other arguments
// only. Therefore the plugin has its own. They pass the text to functions that LAMMPS always has.
#include "error.h"
#include "utils.h"

#if !defined(FMT_VERSION)  // no copy of {fmt}
#include <string>

namespace LAMMPS_NS {

void Error::_all(const std::string& file, int line, int failed, fmt::string_view format,
                 fmt::format_args args) {
  all(file, line, failed, fmt::vformat(format, args));
}

void Error::_one(const std::string& file, int line, int failed, fmt::string_view format,
                 fmt::format_args args) {
  one(file, line, failed, fmt::vformat(format, args));
}

void Error::_warning(const std::string& file, int line, fmt::string_view format,
                     fmt::format_args args) {
  warning(file, line, fmt::vformat(format, args));
}

void utils::fmtargs_logmesg(LAMMPS* lmp, fmt::string_view format, fmt::format_args args) {
  logmesg(lmp, fmt::vformat(format, args));
}

}  // namespace LAMMPS_NS
#endif
