// SPDX-License-Identifier: BSD-3-Clause
// Bonds and special neighbors on several ranks: rows and the table of tags, and the partners that a
// rank finds on the CPU.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/dpd/bonded_terms.h"
#include "core/dpd/cpu/rank_links.h"
#include "core/dpd/link_rows.h"
#include "support/fluid.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::dpd;

namespace {

struct Table {
  explicit Table(std::int64_t particles) : bits(TagIndex::bits_for(particles)) {
    entries.assign(std::size_t(1) << bits, 0);
  }
  TagIndex view() { return {entries.data(), bits}; }
  int bits;
  std::vector<std::uint64_t> entries;
};

// A ring of particles with tags step, 2 step, ...: each is bonded to the next with type 1 and to
// the last with type 2; special neighbors are the next two on both sides. Rank r of `ranks` has
// every ranks-th.
struct Ring {
  Ring(std::uint32_t particles, std::uint32_t step, int rank, int ranks) {
    const auto tag_of = [&](std::uint32_t k) { return step * (k % particles + 1); };
    for (auto k = static_cast<std::uint32_t>(rank); k < particles;
         k += static_cast<std::uint32_t>(ranks)) {
      tag.push_back(tag_of(k));
      const std::uint32_t next = tag_of(k + 1), last = tag_of(k + particles - 1);
      for (const auto& [partner, type] : {std::pair(next, 1), std::pair(last, 2)}) {
        bond_partner.push_back(partner);
        bond_type.push_back(type);
      }
      for (const std::uint32_t distance : {1u, 2u, particles - 1, particles - 2}) {
        special_partner.push_back(tag_of(k + distance));
        special_kind.push_back(distance == 1 || distance == particles - 1 ? 1 : 2);
      }
      first_bond.push_back(static_cast<int>(bond_partner.size()));
      first_special.push_back(static_cast<int>(special_partner.size()));
    }
  }
  int count() const { return static_cast<int>(tag.size()); }
  Topology topology() const {
    Topology t{};
    t.tag = tag.data();
    t.first_bond = first_bond.data();
    t.bond_partner = bond_partner.data();
    t.bond_type = bond_type.data();
    t.first_special = first_special.data();
    t.special_partner = special_partner.data();
    t.special_kind = special_kind.data();
    return t;
  }

  std::vector<std::uint32_t> tag, bond_partner, special_partner;
  std::vector<int> first_bond{0}, bond_type, first_special{0};
  std::vector<std::uint8_t> special_kind;
};

// What a rank has of one particle: partners' tags and kinds, in order.
using Entries = std::vector<std::pair<std::uint32_t, int>>;
Entries entries_of(LinkSpan span) {
  Entries entries;
  for (std::uint32_t k = 0; k < span.count; ++k)
    entries.emplace_back(partner_of(span.first[k]), static_cast<int>(kind_of(span.first[k])));
  return entries;
}

}  // namespace

TEST("a table of tags finds particles, and no others, whatever the order in which they are added") {
  std::mt19937 random(1);
  for (const int count : {0, 1, 2, 31, 32, 33, 1000, 65536}) {
    std::vector<std::uint32_t> tags(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < tags.size(); ++i)  // odd ones, in any order, up to 2^32 - 1
      tags[i] = static_cast<std::uint32_t>(i) * 0x9E3779B2u | 1u;
    std::vector<std::uint32_t> order(tags.size());
    std::iota(order.begin(), order.end(), 0u);
    for (int round = 0; round < 3; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      Table table(count);
      CHECK(table.entries.size() >= 2 * tags.size());
      const TagIndex index = table.view();
      for (const std::uint32_t i : order) index.add(tags[i], i, ClaimOnHost{});
      for (std::uint32_t i = 0; i < tags.size(); ++i) CHECK_EQUAL(index.find(tags[i]), i);
      for (std::uint32_t tag = 2; tag < 2000; tag += 2)
        CHECK_EQUAL(index.find(tag), TagIndex::kMissing);
    }
  }
}

TEST("a table of tags holds the largest tags, and tags that all want one place") {
  std::vector<std::uint32_t> tags{0xffffffffu, 0xfffffffeu, 0x80000000u, 0x7fffffffu, 1};
  for (std::uint32_t tag = 2; tags.size() < 500; ++tag)
    if (tag * 0x9E3779B1u >> 22 == 0x3ff) tags.push_back(tag);  // the last place of 1024
  Table table(static_cast<std::int64_t>(tags.size()));
  CHECK_EQUAL(table.bits, 10);
  const TagIndex index = table.view();
  for (std::uint32_t i = 0; i < tags.size(); ++i) index.add(tags[i], i, ClaimOnHost{});
  for (std::uint32_t i = 0; i < tags.size(); ++i) CHECK_EQUAL(index.find(tags[i]), i);
  CHECK_EQUAL(index.find(0xfffffffdu), TagIndex::kMissing);
}

TEST("many threads fill a table of tags with what one thread finds") {
  constexpr std::uint32_t kThreads = 4, kTags = 40000;
  Table table(kTags);
  const TagIndex index = table.view();
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = t; i < kTags; i += kThreads) index.add(3 * i + 1, i, ClaimOnHost{});
    });
  for (auto& thread : threads) thread.join();
  for (std::uint32_t i = 0; i < kTags; ++i) CHECK_EQUAL(index.find(3 * i + 1), i);
}

TEST("the size of a table of tags follows the particles of a rank, up to the most of one") {
  for (const std::int64_t particles : {0, 1, 32, 33, 1000, 1 << 20, (1 << 30) - 1}) {
    const std::int64_t entries = std::int64_t(1) << TagIndex::bits_for(particles);
    CHECK(entries >= 2 * particles);
    CHECK(entries <= std::max<std::int64_t>(4 * particles, 64));
  }
  CHECK_EQUAL(TagIndex::bits_for((1 << 30) - 1), 31);
}

TEST("rows have a particle's links in the order of the host, and empty ones where it has none") {
  const int first_bond[] = {0, 2, 2, 3}, bond_type[] = {4, 1, 9};
  const std::uint32_t bond_partner[] = {0xffffffffu, 20, 30};
  const int first_special[] = {0, 0, 1, 4};
  const std::uint32_t special_partner[] = {50, 60, 70, 80};
  const std::uint8_t special_kind[] = {1, 2, 3, 1};
  Topology t{};
  t.first_bond = first_bond;
  t.bond_partner = bond_partner;
  t.bond_type = bond_type;
  t.first_special = first_special;
  t.special_partner = special_partner;
  t.special_kind = special_kind;
  CHECK_EQUAL(most_links(3, first_bond), 2);
  CHECK_EQUAL(most_links(3, first_special), 3);
  LinkRows rows{nullptr, 2, 3};
  CHECK_EQUAL(rows.words(), 6u);
  std::vector<LinkWord> words = rows_of(3, t, rows);
  CHECK_EQUAL(words.size(), std::size_t(18));
  rows.word = words.data();
  const auto check = [](LinkSpan span, const Entries& expected) {
    CHECK(entries_of(span) == expected);
  };
  check(rows.bonds_of(0), {{0xffffffffu, 4}, {20, 1}});
  check(rows.bonds_of(1), {});
  check(rows.bonds_of(2), {{30, 9}});
  check(rows.specials_of(0), {});
  check(rows.specials_of(1), {{50, 1}});
  check(rows.specials_of(2), {{60, 2}, {70, 3}, {80, 1}});
}

TEST("a row that travels behind a record is the same in another slot") {
  struct alignas(16) Record {
    double value[4];
  };
  const Ring ring(10, 7, 0, 1);
  LinkRows from{nullptr, 2, 4}, to = from;
  std::vector<LinkWord> here = rows_of(ring.count(), ring.topology(), from);
  std::vector<LinkWord> there(5 * from.words(), 0);
  from.word = here.data();
  to.word = there.data();
  const std::size_t bytes = bytes_with_row(sizeof(Record), from);
  CHECK_EQUAL(bytes, std::size_t(32 + 7 * 8 + 8));
  alignas(16) char parcel[3 * 96];
  CHECK(3 * bytes <= sizeof parcel);
  const std::uint32_t leaving[] = {9, 0, 4}, slots[] = {3, 1, 0};
  for (std::size_t k = 0; k < 3; ++k)
    copy_row(from.row(leaving[k]), from.words(), row_behind(parcel + k * bytes, sizeof(Record)));
  for (std::size_t k = 0; k < 3; ++k)
    copy_row(row_behind(parcel + k * bytes, sizeof(Record)), to.words(), to.row(slots[k]));
  for (std::size_t k = 0; k < 3; ++k)
    CHECK(std::equal(from.row(leaving[k]), from.row(leaving[k]) + from.words(), to.row(slots[k])));
  CHECK(std::all_of(to.row(2), to.row(3), [](LinkWord word) { return word == 0; }));
  CHECK(std::all_of(to.row(4), to.row(5), [](LinkWord word) { return word == 0; }));
  // Without links records follow each other as they are.
  CHECK_EQUAL(bytes_with_row(sizeof(Record), LinkRows{}), sizeof(Record));
  CHECK(rows_of(10, ring.topology(), LinkRows{}).empty());
}

TEST("links stay with their particles when these migrate among four ranks and are sorted") {
  constexpr int kRanks = 4;
  constexpr std::uint32_t kParticles = 1200;
  test::run_communicators(kRanks, [](Communicator& communicator) {
    const int rank = communicator.rank();
    const Ring ring(kParticles, 7, rank, kRanks);
    RankLinks links;
    links.take(ring.count(), ring.topology(), &communicator);
    ThreadPool pool(2);
    // Every third particle goes to the next rank, ten times; the others stay in another order.
    std::vector<std::uint32_t> tags = ring.tag;
    for (int round = 0; round < 10; ++round) {
      std::vector<std::vector<std::uint32_t>> leaving(kRanks);
      std::vector<std::vector<LinkWord>> rows(kRanks);
      std::vector<std::uint32_t> stay;
      const auto next = static_cast<std::size_t>((rank + 1) % kRanks);
      for (std::size_t i = 0; i < tags.size(); ++i) {
        if ((tags[i] / 7 + static_cast<std::uint32_t>(round)) % 3 != 0) {
          links.stay(i, stay.size());
          stay.push_back(tags[i]);
          continue;
        }
        leaving[next].push_back(tags[i]);
        links.leave(i, rows[next]);
      }
      const auto come = deliver(communicator, leaving);
      links.migrate(communicator, stay.size(), rows);
      stay.insert(stay.end(), come.begin(), come.end());
      std::vector<std::uint32_t> order(stay.size());
      for (std::size_t k = 0; k < order.size(); ++k)
        order[k] = static_cast<std::uint32_t>(order.size() - 1 - k);
      links.reorder(pool, order);
      tags.assign(stay.rbegin(), stay.rend());
    }
    for (int i = 0; i < std::ssize(tags); ++i) {
      const auto at = [&](std::uint32_t distance) {
        return (tags[static_cast<std::size_t>(i)] / 7 - 1 + distance) % kParticles * 7 + 7;
      };
      CHECK(entries_of(links.rows().bonds_of(i)) == Entries({{at(1), 1}, {at(kParticles - 1), 2}}));
      CHECK(entries_of(links.rows().specials_of(i)) ==
            Entries({{at(1), 1}, {at(2), 2}, {at(kParticles - 1), 1}, {at(kParticles - 2), 2}}));
    }
  });
}

TEST("ranks without links take part when those of others migrate") {
  test::run_communicators(3, [](Communicator& communicator) {
    const Ring ring(5, 7, 0, 1), none(0, 7, 0, 1);
    const Ring& mine = communicator.rank() == 0 ? ring : none;
    RankLinks links;
    links.take(mine.count(), mine.topology(), &communicator);
    CHECK(links.any_bonds());
    CHECK(links.any_specials());
    std::vector<std::vector<LinkWord>> leaving(3);
    for (std::size_t i = 0; i < mine.tag.size(); ++i) links.leave(i, leaving[2]);
    links.migrate(communicator, 0, leaving);
    if (communicator.rank() != 2) return;
    for (int i = 0; i < 5; ++i) {
      CHECK_EQUAL(links.rows().bonds_of(i).count, 2u);
      CHECK_EQUAL(links.rows().specials_of(i).count, 4u);
    }
  });
}

TEST("particles without links come and go, more of them than a rank had at first") {
  test::run_communicators(2, [](Communicator& communicator) {
    RankLinks links;
    links.take(1, Topology{}, &communicator);
    CHECK(!links.any());
    ThreadPool pool(1);
    std::vector<std::vector<LinkWord>> leaving(2);
    for (std::size_t i = 0; i < 1000; ++i) links.stay(i, i / 2);
    for (std::size_t i = 0; i < 1000; ++i) links.leave(i, leaving[0]);
    CHECK(leaving[0].empty());
    links.migrate(communicator, 500, leaving);
    links.reorder(pool, {1, 0});
    CHECK(links.bonds().entry == nullptr);
  });
}

TEST("partners are found among a rank's particles and its ghosts, and missing ones are named") {
  struct Tagged {
    std::uint32_t tag;
  };
  const Ring ring(10, 7, 0, 2);  // particles 1, 3, 5, 7 and 9
  RankLinks links;
  links.take(ring.count(), ring.topology(), nullptr);
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    std::vector<Tagged> velocity;
    for (const std::uint32_t tag : ring.tag) velocity.push_back({tag});
    for (const std::uint32_t ghost : {70u, 14u, 28u, 42u, 56u}) velocity.push_back({ghost});
    CHECK(!links.find_partners(pool, ring.count(), velocity).any());
    const Partners bonds = links.bonds();
    for (int i = 0; i < ring.count(); ++i)
      for (int k = 0; k < 2; ++k) {
        const auto of_ring = static_cast<std::size_t>(2 * i + k);
        CHECK_EQUAL(velocity[bonds.of(i, k).index].tag, ring.bond_partner[of_ring]);
        CHECK_EQUAL(bonds.of(i, k).kind, ring.bond_type[of_ring]);
      }
    velocity.pop_back();  // 56 is the partner of 49 and of 63
    const MissingPartners missing = links.find_partners(pool, ring.count(), velocity);
    CHECK_EQUAL(missing.tag[0], 63);
    CHECK_EQUAL(missing.tag[1], 0);
  }
}

TEST("partners come in their order, read ahead or not, from either layout of their entries") {
  constexpr int kCount = 4;  // particle i has 2 i entries, of particles that are not in their order
  const auto partner_of_entry = [](int i, int k) {
    return Partner{static_cast<std::uint32_t>((3 * k + i) % kCount), 1 + k + i};
  };
  std::vector<Mixed::Position> position(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) position[i].x = 10 * i;
  const auto check = [&]<bool ahead>(const Partners& bonds) {
    for (int i = 0; i < kCount; ++i) {
      PartnersInOrder<Mixed, ahead> partners(bonds, i);
      partners.begin(position.data());
      for (int k = 0; k < 2 * i; ++k) {
        const auto [index, kind] = partner_of_entry(i, k);
        CHECK_EQUAL(partners.kind(), kind);
        CHECK_EQUAL(partners.take().x, 10 * index);
      }
      CHECK_EQUAL(partners.kind(), 0);
    }
  };
  for (const int apart : {1, kCount}) {
    std::vector<Partner> entries(6 * kCount);
    const Partners bonds{entries.data(), 6, apart};
    for (int i = 0; i < kCount; ++i)
      for (int k = 0; k < 2 * i; ++k)
        entries[static_cast<std::size_t>(bonds.place(i, k))] = partner_of_entry(i, k);
    check.template operator()<false>(bonds);
    check.template operator()<true>(bonds);
  }
}

TEST("origins are found by tag, with messages of the size of a rank's own particles") {
  constexpr int kRanks = 4, kCount = 1000;
  // Sent at most: own tags, questions and answers, of 12 bytes each.
  test::run_communicators(kRanks, [](Communicator& communicator) {
    const auto rank = static_cast<std::uint32_t>(communicator.rank());
    const auto tag_of = [](std::uint32_t rank, std::uint32_t i) {
      return 0xffffffffu - 4294967u * (i % 250) - 1000003u * (i / 250) - 17u * rank;
    };
    std::vector<std::uint32_t> tags, asked;
    for (std::uint32_t i = 0; i < kCount; ++i) tags.push_back(tag_of(rank, i));
    for (std::uint32_t i = 0; i < kCount; ++i) asked.push_back(tag_of((rank + i) % kRanks, i));
    test::Counting counted(communicator);
    const auto origins = find_origins(counted, asked, kCount, tags.data());
    for (std::uint32_t i = 0; i < kCount; ++i) {
      CHECK_EQUAL(origins[i].rank, static_cast<int>((rank + i) % kRanks));
      CHECK_EQUAL(origins[i].index, static_cast<int>(i));
    }
    CHECK(counted.sent <= 3 * 12 * kCount);
  });
}

TEST("a tag that no rank has is an error on all ranks, which names it") {
  std::atomic<int> errors = 0;
  test::run_communicators(3, [&](Communicator& communicator) {
    const std::uint32_t mine[] = {10u + static_cast<std::uint32_t>(communicator.rank())};
    std::vector<std::uint32_t> asked{11};
    if (communicator.rank() == 2) asked.push_back(99);
    CHECK_THROWS(find_origins(communicator, asked, 1, mine), std::runtime_error,
                 "particle 99 is on no rank");
    ++errors;
  });
  CHECK_EQUAL(errors.load(), 3);
}

TEST("an upload sends no bonds to other ranks, and the steps find them where the particles go") {
  constexpr int kRanks = 4, kEach = 30;
  constexpr double kEdge = 12;
  test::run_communicators(kRanks, [](Communicator& communicator) {
    test::Counting counted(communicator);
    const std::vector<PairCoefficients> coefficients(4, {25, 4.5, 3, 1, 1});
    Settings s = test::fluid_in_cube(kEdge, coefficients);
    s.grid.cut[0] = {0, 0.25, 0.5, 0.75, 1};
    s.grid.cut[1] = s.grid.cut[2] = {0, 1};
    s.grid.rank = {0, 1, 2, 3};
    s.pairs = {1, coefficients.data(), 1, {1, 0, 0.5, 1}, true};
    s.bonds = {{0, 0}, {20, 0.1}, {20, 0.1}};
    const auto engine = make_engine(s, "cpu", 1, &counted);

    // A closed chain along x, of which each rank has a quarter; all go to the next part of the box.
    Ring ring(kRanks * kEach, 7, communicator.rank(), kRanks);
    std::vector<std::array<double, 3>> r(kEach), v(kEach, {kEdge, 0, 0});
    for (std::size_t i = 0; i < kEach; ++i)
      r[i] = {kEdge * (ring.tag[i] / 7 - 0.5) / (kRanks * kEach), 6, 6};
    const std::vector<int> type(kEach, 1);
    const std::vector<std::uint32_t> flags(kEach, kIntegrated);
    HostArrays arrays{};
    arrays.count = kEach;
    arrays.position = reinterpret_cast<double (*)[3]>(r.data());
    arrays.velocity = reinterpret_cast<double (*)[3]>(v.data());
    Topology topology = ring.topology();
    topology.type = type.data();
    topology.flags = flags.data();
    engine->upload(arrays, topology, {0, 0});
    CHECK_EQUAL(counted.sent, std::size_t(0));
    engine->advance(25, nullptr);
    engine->download(arrays);
    const double momentum = [&] {
      double sum = 0;
      for (const auto& each : v) sum += each[0];
      std::vector<double> all(kRanks);
      communicator.gather(&sum, all.data(), sizeof sum);
      return std::accumulate(all.begin(), all.end(), 0.0);
    }();
    CHECK(std::abs(momentum / (kRanks * kEach) - kEdge) < 1e-9);
    CHECK(engine->energy_and_virial().bonds.energy > 0);
  });
}
