// SPDX-License-Identifier: BSD-3-Clause
// Communication of ranks, which are threads of this process.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/runtime/errors.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using test::run_communicators;

namespace {

// What rank `from` has for rank `to`: of another length each time, and none for some.
std::vector<std::int64_t> letter(int from, int to) {
  std::vector<std::int64_t> values;
  for (int k = 0; k < (3 * from + to) % 4; ++k) values.push_back(1000 * from + 10 * to + k);
  return values;
}

}  // namespace

TEST("deliver brings what each rank has for this one, in the order of ranks") {
  for (const int ranks : {1, 2, 3, 5})
    run_communicators(ranks, [&](Communicator& communicator) {
      const int self = communicator.rank();
      std::vector<std::vector<std::int64_t>> sent;
      for (int r = 0; r < ranks; ++r) sent.push_back(letter(self, r));
      std::vector<std::int64_t> numbers, expected;
      const auto all = deliver(communicator, sent, &numbers);
      for (int r = 0; r < ranks; ++r) {
        const auto part = letter(r, self);
        CHECK_EQUAL(numbers[static_cast<std::size_t>(r)], static_cast<std::int64_t>(part.size()));
        expected.insert(expected.end(), part.begin(), part.end());
      }
      CHECK(all == expected);
    });
}

TEST("a question to a rank that does not exist is an error") {
  run_communicators(2, [](Communicator& communicator) {
    for (const int rank : {-1, 2})
      CHECK_THROWS(ask<int>(communicator, {rank}, std::vector<int>{0}, [](int i) { return i; }),
                   std::runtime_error, "of 2 is asked for");
  });
}

TEST("deliver of empty messages alone brings nothing, from one rank or from several") {
  for (const int ranks : {1, 4})
    run_communicators(ranks, [&](Communicator& communicator) {
      const std::vector<std::vector<double>> none(static_cast<std::size_t>(ranks));
      std::vector<std::int64_t> numbers;
      CHECK(deliver(communicator, none, &numbers).empty());
      CHECK(numbers == std::vector<std::int64_t>(static_cast<std::size_t>(ranks), 0));
    });
}

TEST("a thousand deliveries one after the other do not mix") {
  run_communicators(3, [&](Communicator& communicator) {
    for (int round = 0; round < 1000; ++round) {
      std::vector<std::vector<int>> sent(3);
      for (int r = 0; r < 3; ++r)
        sent[static_cast<std::size_t>(r)].assign(static_cast<std::size_t>((round + r) % 3), round);
      for (const int value : deliver(communicator, sent)) CHECK_EQUAL(value, round);
    }
  });
}

TEST("a rank that throws ends the deliveries of the others, with its own error first") {
  for (const int culprit : {0, 1, 2})
    CHECK_THROWS(run_communicators(3,
                                   [&](Communicator& communicator) {
                                     deliver(communicator, std::vector<std::vector<int>>(3, {1}));
                                     if (communicator.rank() == culprit)
                                       throw std::runtime_error("this one");
                                     deliver(communicator, std::vector<std::vector<int>>(3, {2}));
                                   }),
                 std::runtime_error, "this one");
}

TEST("collect brings what all ranks have to each of them, in the order of ranks") {
  for (const int ranks : {1, 2, 5})
    run_communicators(ranks, [&](Communicator& communicator) {
      std::vector<std::int64_t> expected;
      for (int r = 0; r < ranks; ++r) {
        const auto part = letter(r, 1);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      CHECK(collect(communicator, letter(communicator.rank(), 1)) == expected);
    });
}

TEST("sums and maxima are those over all ranks, also of many values") {
  for (const int ranks : {1, 2, 3})
    for (const std::size_t count : {0u, 1u, 8192u, 20001u})
      run_communicators(ranks, [&](Communicator& communicator) {
        const int self = communicator.rank();
        std::vector<std::uint64_t> sums(count);
        std::vector<std::int64_t> largest(count);
        for (std::size_t k = 0; k < count; ++k) {
          sums[k] = (k << 40) + static_cast<std::uint64_t>(self);
          largest[k] = static_cast<std::int64_t>(k) * (self % 2 ? 1 : -1);
        }
        communicator.sum(sums.data(), count);
        communicator.maximum(largest.data(), count);
        const auto n = static_cast<std::uint64_t>(ranks);
        for (std::size_t k = 0; k < count; ++k) {
          CHECK_EQUAL(sums[k], n * (k << 40) + n * (n - 1) / 2);
          CHECK_EQUAL(largest[k], static_cast<std::int64_t>(k) * (ranks > 1 ? 1 : -1));
        }
      });
}

TEST("floating-point numbers are added in the order of ranks, on all of them") {
  run_communicators(3, [](Communicator& communicator) {
    const double mine[] = {1e16, 1, -1e16};
    double sum = mine[communicator.rank()];
    communicator.sum(&sum, 1);
    CHECK_EQUAL(sum, (1e16 + 1) - 1e16);
  });
}

TEST("memory of a delivery that was lost is not used again") {
  // Has a message for the other rank, which never comes.
  class Losing final : public test::InProcess {
   public:
    explicit Losing(test::Mailboxes& mail) : InProcess(mail, 0) {}
    void transpose(const std::int64_t* to, std::int64_t* from) override {
      from[0] = to[0];
      from[1] = 300;
    }
    void exchange(const std::vector<Message>& sent, const std::vector<Message>& received) override {
      lost = {sent.at(0).data, received.at(0).data};
      throw std::runtime_error("lost");
    }
    std::vector<void*> lost;
  };
  test::Mailboxes mail(2);
  Losing communicator(mail);
  std::vector<std::vector<char>> sent{{}, std::vector<char>(300)};
  CHECK_THROWS(deliver(communicator, std::move(sent)), std::runtime_error, "lost");
  std::vector<std::vector<char>> later;
  for (int k = 0; k < 100; ++k) {
    later.emplace_back(300);
    for (const void* const lost : communicator.lost) CHECK(later.back().data() != lost);
  }
}

TEST("numbers of records that another rank cannot have are refused") {
  class Lying final : public test::InProcess {
   public:
    explicit Lying(test::Mailboxes& mail) : InProcess(mail, 0) {}
    void transpose(const std::int64_t*, std::int64_t* from) override {
      from[0] = 1'000'000;  // the number of this rank is known without it
      from[1] = announced;
    }
    void exchange(const std::vector<Message>&, const std::vector<Message>&) override {}
    std::int64_t announced = 0;
  };
  test::Mailboxes mail(2);
  Lying communicator(mail);
  const std::vector<std::vector<double>> sent{{1, 2}, {}};
  CHECK(deliver(communicator, sent) == std::vector<double>({1, 2}));
  for (const std::int64_t wrong : {std::int64_t(-1), INT64_MIN, INT64_MAX, INT64_MAX / 8}) {
    communicator.announced = wrong;
    CHECK_THROWS(deliver(communicator, sent), std::runtime_error,
                 ("rank 1 announces " + std::to_string(wrong) + " records").c_str());
  }
  CHECK_EQUAL(total_of({3, 0, 4}, 8), 7);
}

TEST("all ranks throw the error of one, with its parameter or its particles") {
  run_communicators(2, [](Communicator& communicator) {
    const bool mine = communicator.rank() == 1;
    try {
      together(communicator, [&] {
        if (mine) refuse(Parameter{"tile"}, "must be at most ", 16, ", got ", 17);
      });
      CHECK(false);
    } catch (const ParameterError& error) {
      CHECK(error.about.name == "tile");
      CHECK(error.problem == "must be at most 16, got 17");
    }
    try {
      together(communicator, [&] {
        if (mine) refuse(Particles("disk", 3, "position"), "is not finite");
      });
      CHECK(false);
    } catch (const ParticleError& error) {
      CHECK(std::string(error.what()) == "position of disk 3 is not finite");
      CHECK(dynamic_cast<const Agreed*>(&error) != nullptr);
    }
    try {
      together(communicator, [&] {
        if (mine) refuse(Particles("ion", 3, 5), "overlap");
      });
      CHECK(false);
    } catch (const ParticleError& error) {
      CHECK(error.about.is_pair());
      CHECK(error.about.text("tag", "tags") + ' ' + error.problem == "tags 3 and 5 overlap");
    }
  });
}

TEST("an error of a rank that does not exist is refused") {
  class Lying final : public test::InProcess {
   public:
    explicit Lying(test::Mailboxes& mail) : InProcess(mail, 0) {}
    void gather(const void*, void* all, std::size_t) override {
      static_cast<std::int64_t*>(all)[0] = 0;
      static_cast<std::int64_t*>(all)[1] = 1000;
    }
  };
  test::Mailboxes mail(2);
  Lying communicator(mail);
  CHECK_THROWS(agree(communicator, nullptr), std::runtime_error, "of rank -998");
}

TEST("ranks are counted among those of the same name") {
  const std::vector<std::string> hosts{"a", "b", "a", "", "b", "a", ""};
  const std::vector<int> expected{0, 0, 1, 0, 1, 2, 1};
  run_communicators(static_cast<int>(hosts.size()), [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    CHECK_EQUAL(rank_among_namesakes(communicator, hosts[rank]), expected[rank]);
  });
}
