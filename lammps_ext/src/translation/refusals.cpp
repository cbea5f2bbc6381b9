// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/refusals.h"

#include <cstdint>
#include <map>
#include <vector>

#include "fix.h"

using namespace LAMMPS_NS;

namespace {

// What an input script can use instead, where there is something.
const std::map<std::string, std::string> kInstead{
    {"nvt", "fix nve; the pair style is a thermostat"},
    {"nvt/omp", "fix nve; the pair style is a thermostat"},
    {"nve/sphere", "fix nve"},
    {"wall/lj1043", "fix wall/lj93"},
    {"freeze", "fix setforce 0 0 0"}};

}  // namespace

std::string LAMMPS_NS::name_of(const Fix* fix) {
  const std::string name = std::string("fix ") + fix->id + " " + fix->style;
  const auto instead = kInstead.find(fix->style);
  return instead == kInstead.end() ? name : name + " (instead: " + instead->second + ")";
}

void Refusals::share() {
  on_all_ranks([&](MpiCommunicator& communicator) {
    auto longest = static_cast<std::int64_t>(text_.size());
    communicator.maximum(&longest, 1);
    if (longest == 0) return;
    const auto length = static_cast<std::size_t>(longest);
    std::string mine = text_;
    mine.resize(length);
    std::vector<char> all(length * static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(mine.data(), all.data(), length);
    for (auto text = all.begin(); text != all.end(); text += longest) {
      text_.assign(text, text + longest);
      if (text_.back() != '\0') break;
    }
  });
}

bool Refusals::all_agree(bool yes) const {
  std::int64_t refused = !yes;
  on_all_ranks([&](MpiCommunicator& communicator) { communicator.maximum(&refused, 1); });
  return refused == 0;
}
