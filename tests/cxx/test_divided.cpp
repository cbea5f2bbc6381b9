// SPDX-License-Identifier: BSD-3-Clause
// Hard disks that are divided among ranks: errors of one rank, and memory of lost messages.
#include "core/harddisk/divided.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/disks.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::harddisk;

namespace {

// An engine whose snapshot fails on one of the ranks.
class OnePart final : public test::NoDisks {
 public:
  explicit OnePart(bool fails) : fails_(fails) {}
  Snapshot snapshot() const override {
    if (fails_) throw std::runtime_error("no memory");
    return {};
  }

 private:
  bool fails_;
};

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const RankFailure& failure) {
    return failure.what();
  }
  return "no error";
}

// Loses each message, and remembers where it should have gone.
class Losing final : public test::InProcessRing {
 public:
  explicit Losing(test::Mailboxes& mail) : InProcessRing(mail, 0) {}
  void exchange(const Bytes out[2], const Bytes in[2]) override {
    for (int k = 0; k < 2; ++k) lost.insert(lost.end(), {out[k].data, in[k].data});
    throw std::runtime_error("lost");
  }
  std::vector<void*> lost;
};

}  // namespace

TEST("an error in own_positions of one rank reaches the others where they wait next") {
  for (const int culprit : {0, 1, 2})
    test::run_ranks(3, [&](test::Mailboxes& mail, int rank) {
      const auto ring = std::make_shared<test::InProcessRing>(mail, rank);
      const auto engine = make_divided_engine(*ring, [&](State& whole) {
        whole.ranks = ring;
        return std::make_unique<OnePart>(rank == culprit);
      });
      const std::string expected = "rank " + std::to_string(culprit) + " of 3: no memory";
      if (rank == culprit) {
        CHECK(error_of([&] { engine->own_positions(); }) == expected);
      } else {
        CHECK(engine->own_positions().empty());
        CHECK(error_of([&] { engine->state_hash(); }) == expected);
      }
      mail.clear();
    });
}

TEST("memory of messages that were lost between strips is not used again") {
  test::Mailboxes mail(1);
  Losing ring(mail);
  std::vector<std::byte> message[4];
  for (auto& part : message) part.resize(300);
  CHECK_THROWS(harddisk::exchange(ring, message), std::runtime_error, "lost");
  for (auto& part : message) part = {};
  std::vector<std::vector<std::byte>> later;
  for (int k = 0; k < 100; ++k) {
    later.emplace_back(300);
    for (const void* const lost : ring.lost) CHECK(later.back().data() != lost);
  }
}
