// SPDX-License-Identifier: GPL-2.0-or-later
// manymoveplugin.so, which LAMMPS loads: checks that LAMMPS and the core of manymove are those that
// the styles were compiled for, and loads the styles. Nothing of the core is called before that
// check, and no symbol of it is needed here, so that a core that does not fit gives a message that
// says so.
#include <dlfcn.h>
#include <unistd.h>

#include <regex>
#include <string>

#include "lammps.h"
#include "lammpsplugin.h"
#include "library.h"
#include "lmptype.h"

using namespace LAMMPS_NS;

namespace {

#if defined(MANYMOVE_OF_SOURCE_TREE)
constexpr bool kHeadersAreOwn = true;  // all headers come from LAMMPS' source tree
#else
constexpr bool kHeadersAreOwn = false;
#endif

// The update of a release: 4 for "stable_22Jul2025_update4", 0 for "patch_10Sep2025". -1 if LAMMPS
// does not know it, because it was built without git or between releases. Updates have changed the
// layout of LAMMPS' classes.
int update_of_host() {
  static const std::regex release("(stable|patch)_[0-9]+[A-Z][a-z]+[0-9]{4}(_update([0-9]{1,4}))?");
  std::cmatch found;
  if (!std::regex_match(LAMMPS::git_descriptor(), found, release)) return -1;
  return found[3].matched ? std::stoi(found[3]) : 0;
}

std::string name_of(int version, int update) {
  const std::string text = std::to_string(version);
  if (update < 0) return text + " of an unknown update";
  return update > 0 ? text + " update " + std::to_string(update) : text;
}

// Says what does not fit and returns false. Uses no object of LAMMPS: the layout of its classes
// is what may differ.
bool fits(void* lammps) {
  const int version = lammps_version(lammps), update = update_of_host();
  const bool unknown = update < 0 || MANYMOVE_LAMMPS_UPDATE < 0;
  std::string why;
  if (version != MANYMOVE_LAMMPS_VERSION || (unknown && !kHeadersAreOwn) ||
      (!unknown && update != MANYMOVE_LAMMPS_UPDATE))
    why = "this is " + name_of(version, update);
  else if (lammps_extract_setting(lammps, "bigint") != static_cast<int>(sizeof(bigint)) ||
           lammps_extract_setting(lammps, "tagint") != static_cast<int>(sizeof(tagint)) ||
           lammps_extract_setting(lammps, "imageint") != static_cast<int>(sizeof(imageint)))
    why = "this one has integers of other sizes (LAMMPS_SMALLBIG, LAMMPS_BIGBIG)";
  if (why.empty()) return true;
  why = "The manymove plugin was built for LAMMPS " +
        name_of(MANYMOVE_LAMMPS_VERSION, MANYMOVE_LAMMPS_UPDATE) + ", " + why +
        ". Its styles are not loaded; build it for this LAMMPS (-DLAMMPS_DIR=...)" +
        (unknown ? "; LAMMPS_DIR must be its source tree, because updates change classes" : "");
  lammps_error(lammps, LMP_ERROR_WARNING, why.c_str());
  return false;
}

// The folder of this file, without a slash at the end.
std::string own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&own_folder), &info) || !info.dli_fname) return ".";
  const std::string file = info.dli_fname;
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// The first of these: the core that the process has loaded, since the dynamic linker would bind the
// styles to that one; the one beside this file; the one of the Python package manymove beside this
// one's package; the one that the dynamic linker finds. Null with the reason.
void* open_core(const std::string& folder, std::string& why) {
  const std::string name = "libmanymove_core.so";
  if (void* core = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) return core;
  std::string path = name;
  for (const std::string& place : {folder, folder + "/../../manymove/core/lib"})
    if (path == name && access((place + "/" + name).c_str(), F_OK) == 0) path = place + "/" + name;
  void* core = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!core) why = dlerror();
  return core;
}

std::string file_of(void* symbol) {
  Dl_info info;
  return dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "";
}

using RegisterStyles = void (*)(void* lammps, void* handle, void* register_function);

// The function of manymove_styles.so that registers the styles. Null with the reason.
RegisterStyles load_styles(std::string& why) {
  const std::string folder = own_folder();
  void* core = open_core(folder, why);
  if (!core) {
    why = "The manymove plugin needs the package manymove, and did not find its core (" + why +
          "). Install manymove in the same environment, or name the folder of the core in "
          "LD_LIBRARY_PATH";
    return nullptr;
  }
  const char* const wanted = MANYMOVE_CORE_BUILD;
  std::string found = "unknown";
  std::string file;
  if (void* symbol = dlsym(core, "manymove_core_build")) {
    found = reinterpret_cast<const char* (*)()>(symbol)();
    file = file_of(symbol);
  }
  if (found != wanted) {
    why = std::string("The manymove plugin was built for the core ") + wanted + ", this one is " +
          found + " (" + file + "). Install manymove and manymove-lammps of the same version";
    return nullptr;
  }
  void* styles = dlopen((folder + "/manymove_styles.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = styles ? dlsym(styles, "manymove_register_styles") : nullptr;
  if (!symbol) why = std::string("The manymove plugin cannot load its styles: ") + dlerror();
  return reinterpret_cast<RegisterStyles>(symbol);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void* lammps, void* handle,
                                                                         void* register_function) {
  if (!fits(lammps)) return;
  std::string why;
  if (const RegisterStyles register_styles = load_styles(why))
    register_styles(lammps, handle, register_function);
  else
    lammps_error(lammps, LMP_ERROR_WARNING, (why + ". Its styles are not loaded").c_str());
}
