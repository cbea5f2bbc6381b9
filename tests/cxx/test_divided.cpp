// SPDX-License-Identifier: BSD-3-Clause
// Hard disks that are divided among ranks: errors of one rank, and memory of lost messages.
#include "core/harddisk/divided.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::harddisk;

namespace {

// An engine whose snapshot fails on one of the ranks.
class OnePart final : public Engine {
 public:
  explicit OnePart(bool fails) : fails_(fails) {}
  Snapshot snapshot() const override {
    if (fails_) throw std::runtime_error("no memory");
    return {};
  }
  void enqueue(std::uint64_t) override {}
  void enqueue(std::uint64_t, const HostParticles&) override {}
  bool same_positions(const HostParticles&) const override { return true; }
  bool enqueue_if_same(std::uint64_t, const HostParticles&) override { return true; }
  void write_positions(const HostParticles&) override {}
  void set_sampling(const Sampling&) override {}
  std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>&) override { return {}; }
  std::vector<std::uint64_t> contact_histogram(double, int) const override { return {}; }
  Counters counters() const override { return {}; }
  Grid grid() const override { return {}; }
  Repair repair() const override { return {}; }
  std::size_t particles() const override { return 0; }
  double occupied() const override { return 0; }
  void positions(double*) const override {}
  std::array<double, 2> bond_order(double) const override { return {}; }
  double max_overlap() const override { return 0; }
  std::uint64_t state_hash() const override { return 0; }

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
class Losing final : public RankRing {
 public:
  explicit Losing(test::Mailboxes& mail) : rank_(mail, 0) {}
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  Watchdog& watchdog() override { return rank_.watchdog(); }
  void exchange(const Bytes out[2], const Bytes in[2]) override {
    for (int k = 0; k < 2; ++k) lost.insert(lost.end(), {out[k].data, in[k].data});
    throw std::runtime_error("lost");
  }
  void sum(double*, std::size_t) override {}
  void sum(std::uint64_t*, std::size_t) override {}
  std::vector<void*> lost;

 private:
  test::Rank rank_;
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
