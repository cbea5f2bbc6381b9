// SPDX-License-Identifier: BSD-3-Clause
#include "origins.h"

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
    std::int32_t rank, index;
  };
  const int rank = communicator.rank();
  const auto parts = static_cast<std::uint32_t>(communicator.ranks());
  std::vector<std::vector<Entry>> hosts(parts), questions(parts);
  for (int i = 0; i < count; ++i) hosts[tag[i] % parts].push_back({tag[i], rank, i});
  for (std::size_t i = 0; i < asked.size(); ++i)
    questions[asked[i] % parts].push_back({asked[i], rank, static_cast<std::int32_t>(i)});
  std::unordered_map<std::uint32_t, Origin> origins;
  for (const Entry& entry : deliver(communicator, std::move(hosts)))
    origins[entry.tag] = {entry.rank, entry.index};
  struct Answer {
    std::int32_t index;
    Origin origin;
  };
  std::vector<std::vector<Answer>> found(parts);
  std::int64_t missing = 0;
  for (const Entry& entry : deliver(communicator, std::move(questions))) {
    const auto origin = origins.find(entry.tag);
    if (origin == origins.end())
      missing = entry.tag;
    else
      found[static_cast<std::size_t>(entry.rank)].push_back({entry.index, origin->second});
  }
  communicator.maximum(&missing, 1);
  if (missing) throw std::runtime_error(text_of("particle ", missing, " is on no rank"));
  std::vector<Origin> result(asked.size());
  for (const Answer& answer : deliver(communicator, std::move(found)))
    result[static_cast<std::size_t>(answer.index)] = answer.origin;
  return result;
}

std::vector<std::array<double, 3>> fetch_from_origins(Communicator& communicator,
                                                      const std::vector<Origin>& origins,
                                                      const double (*value)[3]) {
  using Triple = std::array<double, 3>;
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  const auto get = [&](std::int32_t i) { return Triple{value[i][0], value[i][1], value[i][2]}; };
  std::vector<std::vector<std::int32_t>> asked(ranks);
  for (const Origin& origin : origins)
    if (origin.rank != communicator.rank())
      asked[static_cast<std::size_t>(origin.rank)].push_back(origin.index);
  std::vector<std::int64_t> numbers;
  const auto wanted = deliver(communicator, std::move(asked), &numbers);
  std::vector<std::vector<Triple>> answers(ranks);
  auto next = wanted.begin();
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::int64_t k = 0; k < numbers[r]; ++k) answers[r].push_back(get(*next++));
  // Answers arrive in the order of ranks, and those of a rank in the order of the questions.
  const auto arrived = deliver(communicator, std::move(answers), &numbers);
  std::vector<std::size_t> at(ranks);
  for (std::size_t r = 1; r < ranks; ++r)
    at[r] = at[r - 1] + static_cast<std::size_t>(numbers[r - 1]);
  std::vector<Triple> result;
  result.reserve(origins.size());
  for (const Origin& origin : origins)
    result.push_back(origin.rank == communicator.rank()
                         ? get(origin.index)
                         : arrived[at[static_cast<std::size_t>(origin.rank)]++]);
  return result;
}

}  // namespace manymove
