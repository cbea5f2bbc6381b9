// SPDX-License-Identifier: BSD-3-Clause
#include "rendezvous.h"

#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "../runtime/text.h"

namespace manymove {

// Both sides send to the rank that the tag names.
std::vector<Origin> find_origins(Communicator& communicator,
                                 const std::vector<std::uint32_t>& asked, int count,
                                 const std::uint32_t* tag) {
  struct Entry {
    std::uint32_t tag;
    Origin origin;
  };
  const auto parts = static_cast<std::uint32_t>(communicator.ranks());
  std::vector<std::vector<Entry>> hosts(parts);
  for (int i = 0; i < count; ++i)
    hosts[tag[i] % parts].push_back({tag[i], {communicator.rank(), i}});
  std::unordered_map<std::uint32_t, Origin> origins;
  for (const Entry& entry : deliver(communicator, std::move(hosts)))
    origins[entry.tag] = entry.origin;
  std::vector<std::int32_t> whom;
  for (const std::uint32_t wanted : asked)
    whom.push_back(static_cast<std::int32_t>(wanted % parts));
  std::int64_t missing = 0;
  auto result = ask<Origin>(communicator, whom, asked, [&](std::uint32_t wanted) {
    const auto found = origins.find(wanted);
    if (found != origins.end()) return found->second;
    missing = wanted;
    return Origin{};
  });
  communicator.maximum(&missing, 1);
  if (missing) throw std::runtime_error(text_of("particle ", missing, " is on no rank"));
  return result;
}

std::vector<std::array<double, 3>> fetch_from_origins(Communicator& communicator,
                                                      const std::vector<Origin>& origins,
                                                      const double (*value)[3]) {
  using Triple = std::array<double, 3>;
  std::vector<std::int32_t> whom, index;
  for (const Origin& origin : origins) {
    whom.push_back(origin.rank);
    index.push_back(origin.index);
  }
  return ask<Triple>(communicator, whom, index,
                     [&](std::int32_t i) { return Triple{value[i][0], value[i][1], value[i][2]}; });
}

}  // namespace manymove
