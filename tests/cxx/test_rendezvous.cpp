// SPDX-License-Identifier: BSD-3-Clause
// Values by tag among ranks that are threads of this process.
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/parallel/rendezvous.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using test::run_communicators;

namespace {

using Value = std::array<double, 2>;

Value value_of(std::uint32_t tag, int round) { return {tag + 0.5, 1000.0 * round + tag}; }

// Scatters tags among ranks, differently for those who bring and those who ask.
int bringer(std::uint32_t tag, int ranks) {
  return static_cast<int>(tag * 2654435761u >> 8) % ranks;
}
int asker(std::uint32_t tag, int ranks) { return static_cast<int>(tag * 40503u >> 4) % ranks; }

}  // namespace

TEST("a rendezvous brings each value to who asks for its tag, in the order of the questions") {
  for (const int ranks : {1, 2, 3, 5})
    for (const std::uint32_t tags : {1u, 4u, 7u, 1000u})
      run_communicators(ranks, [&](Communicator& communicator) {
        const int self = communicator.rank();
        Rendezvous<Value> meeting(communicator, tags);
        for (int round = 0; round < 2; ++round) {
          std::vector<std::uint32_t> wanted;
          for (std::uint32_t tag = 0; tag < tags; ++tag) {
            if (bringer(tag, ranks) == self) meeting.bring(tag, value_of(tag, round));
            if (asker(tag, ranks) == self) wanted.insert(wanted.begin(), tag);
          }
          meeting.exchange();
          for (int times = 0; times < 2; ++times) {
            const auto found = meeting.fetch(wanted.data(), wanted.size());
            CHECK_EQUAL(found.size(), wanted.size());
            for (std::size_t i = 0; i < wanted.size(); ++i)
              CHECK(found[i] == value_of(wanted[i], round));
          }
        }
      });
}

TEST("a rendezvous answers a tag that several ranks ask for, and a rank that asks for none") {
  run_communicators(3, [&](Communicator& communicator) {
    const int self = communicator.rank();
    Rendezvous<Value> meeting(communicator, 10);
    for (std::uint32_t tag = 0; self == 1 && tag < 10; ++tag) meeting.bring(tag, value_of(tag, 0));
    meeting.exchange();
    const std::vector<std::uint32_t> wanted =
        self == 2 ? std::vector<std::uint32_t>() : std::vector<std::uint32_t>{9, 0, 9, 4};
    const auto found = meeting.fetch(wanted.data(), wanted.size());
    CHECK_EQUAL(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(found[i] == value_of(wanted[i], 0));
  });
}

TEST("a tag that does not exist is an error of a rendezvous, also where another rank sends it") {
  run_communicators(2, [](Communicator& communicator) {
    Rendezvous<Value> rendezvous(communicator, 10);
    CHECK_THROWS(rendezvous.bring(10, {}), std::runtime_error, "particle 10 of 10");
    const std::uint32_t tag = 10;
    CHECK_THROWS(rendezvous.fetch(&tag, 1), std::runtime_error, "particle 10 of 10");
    // A rank that takes the number of particles for another sends tags that this one cannot keep.
    Rendezvous<Value> others(communicator, communicator.rank() ? 100 : 10);
    if (communicator.rank() == 1) others.bring(30, {});
    if (communicator.rank() == 1) return others.exchange();
    CHECK_THROWS(others.exchange(), std::runtime_error, "particle 30 of 10");
  });
}

TEST("a question to a rank that does not exist is an error") {
  run_communicators(2, [](Communicator& communicator) {
    for (const int rank : {-1, 2})
      CHECK_THROWS(ask<int>(communicator, {rank}, std::vector<int>{0}, [](int i) { return i; }),
                   std::runtime_error, "of 2 is asked for");
  });
}

TEST("what a rank sends in a rendezvous grows with its own tags, not with all") {
  constexpr std::uint32_t kOwn = 500;
  for (const int ranks : {2, 4, 8})
    run_communicators(ranks, [&](Communicator& inner) {
      test::Counting communicator(inner);
      Rendezvous<Value> meeting(communicator, kOwn * static_cast<std::uint32_t>(ranks));
      std::vector<std::uint32_t> own;
      for (std::uint32_t i = 0; i < kOwn; ++i)
        own.push_back(i * static_cast<std::uint32_t>(ranks) +
                      static_cast<std::uint32_t>(communicator.rank()));
      for (const std::uint32_t tag : own) meeting.bring(tag, value_of(tag, 0));
      meeting.exchange();
      meeting.fetch(own.data(), own.size());
      CHECK(communicator.sent <= kOwn * (24 + 4 + 16));
    });
}
