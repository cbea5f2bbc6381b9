// SPDX-License-Identifier: BSD-3-Clause
// The hand-over of positions, for the host and for a GPU. Machine is what has the memory and makes
// the passes of hand_over_passes.h, in their order:
//   Machine(Communicator&, ...);
//   template <class T> Array;         data() and size()
//   using Segments;                   vector of {rank, bytes, data} that a rank sends or receives
//   auto use();                       while it lives the other calls are valid
//   void reserve(Array<T>&, std::size_t n, std::size_t kept);
//                                     at least n values; the first `kept` keep theirs
//   void clear(T* values, std::size_t n);                 bytes become zero
//   void upload(Array<T>&, const std::vector<T>&);
//   void fetch(const Count*, std::size_t n);          begins a copy for the host
//   const Count* fetched();                           waits for the last copy
//   void follow(const Engine&);           the passes wait for what the engine has enqueued
//   void precede(const Engine&);          what the engine enqueues now waits for the passes
//   void visit<Real>(const Engine&, const HandOverWork&); hand_over() of the engine's own particles
//   void run(std::size_t n, pass);                        pass(i) for each i below n
//   void add(std::size_t n, pass, Tally*);                adds the Glances or Arrivals pass(i)
//   void expect(std::size_t bytes);                       of a message; collective
//   void place(Segments& sent, Segments& received);       sets `data`
//   void exchange(const Segments& sent, const Segments& received);    collective
//   void mark(Moment);                                    takes the time
//   double seconds(Moment from, Moment to);               once the passes are there
//   void end() noexcept;              before the arrays are given back
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../parallel/communicator.h"
#include "../runtime/text.h"
#include "hand_over_passes.h"

namespace manymove::hard_particles {

// Calls task(zero), a floating-point number of the host program's precision.
template <class Task>
void in_precision_of(const HostParticles& host, Task&& task) {
  host.double_precision ? task(0.0) : task(0.0f);
}

enum Moment { kBegun, kSwept, kWritten, kMoments };

template <class Machine>
class HandOverOn final : public HandOver {
  template <class T>
  using Array = typename Machine::template Array<T>;
  using Segments = typename Machine::Segments;

 public:
  template <class... Arguments>
  explicit HandOverOn(Communicator& ranks, Arguments&&... arguments)
      : ranks_(ranks),
        number_(static_cast<std::size_t>(ranks.ranks())),
        machine_(ranks, std::forward<Arguments>(arguments)...) {
    const auto here = machine_.use();
    machine_.reserve(counters_, kFindings + 2 * number_, 0);
    machine_.clear(counters_.data(), kFindings);
    machine_.reserve(migrated_, 1, 0);
    machine_.clear(migrated_.data(), 1);
  }
  ~HandOverOn() override {
    const auto here = machine_.use();
    machine_.end();
    counters_ = {};
    for (Messages& each : messages_) each.here = {};
    migrated_ = {};
    border_ = {};
    borders_ = {};
    domain_ranks_ = {};
  }

  void begin() override {
    const auto here = machine_.use();
    begun_ = true;
    machine_.mark(kBegun);
  }

  void write(const Engine& engine, const Domains& domains, const std::array<double, 3>& reach,
             bool types, bool all, const HeldParticles& held) override {
    const auto here = machine_.use();
    grid_ = engine.grid();
    if (held.count != seen_.particles)
      throw std::logic_error(text_of("write() needs a look() at the ", held.count,
                                     " particles that are held: the last one has found ",
                                     seen_.particles));
    expected_ = seen_;
    HandOverWork work{held, view_of(domains), {},        {}, grid_.dimensions, Part::both, all, {},
                      0,    findings(),       outgoing()};
    std::copy_n(reach.begin(), 3, work.reach);
    std::copy_n(grid_.box, 3, work.box);
    in_precision_of(held.arrays, [&](auto zero) {
      using Real = decltype(zero);
      const std::vector<Count> leaving = visit<Real>(engine, work);
      exchange<Real>(work, {grid_.dimensions, types}, leaving, engine.particles());
    });
    // What was written without limits is no example of what comes next.
    if (std::isinf(*std::max_element(reach.begin(), reach.end()))) largest_ = 0;
    machine_.mark(kWritten);
    is_timed_ = true;
  }

  void put_beyond_edges(const Domains& domains, const HeldParticles& held) override {
    const auto here = machine_.use();
    in_precision_of(held.arrays, [&](auto zero) {
      machine_.run(held.count, PutBeyondPass<decltype(zero)>{held, view_of(domains)});
    });
  }

  void restore(const HeldParticles& held) override {
    const auto here = machine_.use();
    in_precision_of(held.arrays, [&](auto zero) {
      RestorePass<decltype(zero)> pass{
          held, border_.data(), {}, grid_.dimensions, migrated_.data()};
      std::copy_n(grid_.box, 3, pass.box);
      machine_.run(listed_, pass);
    });
  }

  void look(const Domains& domains, const HeldParticles& held, bool all) override {
    const auto here = machine_.use();
    machine_.clear(counters_.data(), kTally);
    in_precision_of(held.arrays, [&](auto zero) {
      machine_.add(held.count, LookPass<decltype(zero)>{held, view_of(domains), all},
                   &findings()->seen);
    });
    machine_.fetch(counters_.data(), kFindings);
  }

  Look found() override {
    const auto here = machine_.use();
    const Findings mine = findings_in(machine_.fetched());
    exchange_seconds_ += last_exchange();
    is_timed_ = false;
    check(mine);
    seen_ = sums_of(mine.seen);
    struct Part {
      Count trace, written, outside[3], largest;
    } part{mine.seen.trace, mine.written.trace, {}, largest_};
    std::copy_n(mine.seen.outside, 3, part.outside);
    const std::vector<Part> parts = ranks_.gathered(part);
    for (const Part& other : parts) {
      part.largest = std::max(part.largest, other.largest);
      for (int a = 0; a < 3; ++a) part.outside[a] = std::max(part.outside[a], other.outside[a]);
    }
    machine_.expect(part.largest);
    Look look;
    for (const Part& each : parts) look.trace += each.trace, look.written += each.written;
    std::memcpy(look.outside.data(), part.outside, sizeof part.outside);
    begun_ &= look.same();  // otherwise the cycles are not handed over
    return look;
  }

  void scale(const std::array<double, 3>& factors, const std::array<double, 3>& edges,
             const HeldParticles& held) override {
    const auto here = machine_.use();
    in_precision_of(held.arrays, [&](auto zero) {
      ScalePass<decltype(zero)> pass{held.arrays, {}, {}};
      std::copy_n(factors.begin(), 3, pass.factors);
      std::copy_n(edges.begin(), 3, pass.edges);
      machine_.run(held.count, pass);
    });
  }

  HandOverCounts counts() const override {
    const auto here = machine_.use();
    machine_.fetch(migrated_.data(), 1);
    const Count migrated = *machine_.fetched();
    return {messages_sent_, bytes_sent_, migrated, sweep_seconds_,
            exchange_seconds_ + last_exchange()};
  }

 private:
  static constexpr std::size_t kTally = sizeof(Tally) / sizeof(Count),
                               kFindings = sizeof(Findings) / sizeof(Count);

  // counters_: the findings, and for each rank the particles that go there and those that are
  // packed.
  Findings* findings() const { return reinterpret_cast<Findings*>(counters_.data()); }
  Count* outgoing() const { return counters_.data() + kFindings; }
  Count* packed() const { return outgoing() + number_; }
  static Findings findings_in(const Count* values) {
    Findings findings;
    std::memcpy(&findings, values, sizeof findings);
    return findings;
  }
  static Arrivals sums_of(const Tally& tally) { return {tally.trace, tally.particles, tally.tags}; }
  double last_exchange() const { return is_timed_ ? machine_.seconds(kSwept, kWritten) : 0; }

  DomainsView view_of(const Domains& domains) {
    if (!(domains == domains_)) {
      std::vector<double> borders;
      for (const std::vector<double>& axis : domains.borders)
        borders.insert(borders.end(), axis.begin(), axis.end());
      machine_.upload(borders_, borders);
      machine_.upload(domain_ranks_, domains.ranks);
      domains_ = domains;
    }
    DomainsView view{};
    view.ranks = domain_ranks_.data();
    view.rank = ranks_.rank();
    const std::array<std::size_t, 3> place = domains.place_of(view.rank);
    const double* borders = borders_.data();
    for (std::size_t a = 0; a < 3; ++a) {
      const std::vector<double>& axis = domains.borders[a];
      const double begin = axis[place[a]], end = axis[place[a] + 1];
      view.number[a] = static_cast<int>(axis.size()) - 1;
      view.own[a] = {0.5 * (begin + end), 0.5 * (end - begin), axis.back() - axis.front()};
      view.borders[a] = borders;
      borders += axis.size();
    }
    return view;
  }

  // Writes the particles that no other rank can hold and lists the others; returns how many go to
  // each rank. The others come first, so that a GPU is at work while the host learns their numbers.
  // A second visit, after the list has had too little room, writes the same positions.
  template <class Real>
  std::vector<Count> visit(const Engine& engine, HandOverWork& work) {
    machine_.follow(engine);
    machine_.mark(kSwept);
    listed_ = 0;  // restore() has no list if this fails
    for (;;) {
      work.border = border_.data();
      work.room = border_.size();
      // All counters but those of the last look.
      machine_.clear(counters_.data() + kTally, kFindings - kTally + 2 * number_);
      work.part = Part::border;
      machine_.template visit<Real>(engine, work);
      machine_.fetch(counters_.data(), kFindings + number_);
      work.part = Part::inner;
      machine_.template visit<Real>(engine, work);
      machine_.precede(engine);
      const Count* const values = machine_.fetched();
      if (std::exchange(begun_, false)) sweep_seconds_ += machine_.seconds(kBegun, kSwept);
      const Count border = findings_in(values).border;
      if (border <= work.room) {
        listed_ = border;
        return {values + kFindings, values + kFindings + number_};
      }
      make_room(border, 0);
    }
  }

  // Exchanges particles near the borders. Collective.
  template <class Real>
  void exchange(HandOverWork& work, const Records<Real>& records,
                const std::vector<Count>& outgoing, std::size_t particles) {
    std::vector<std::int64_t> to, from(number_);  // bytes
    for (const Count number : outgoing)
      to.push_back(static_cast<std::int64_t>(number * records.bytes()));
    ranks_.transpose(to.data(), from.data());
    from[static_cast<std::size_t>(ranks_.rank())] = 0;
    const auto arriving = static_cast<std::size_t>(total_of(from, 1)) / records.bytes();
    Segments sent, received;
    for (std::size_t r = 0; r < number_; ++r) {
      if (from[r] % static_cast<std::int64_t>(records.bytes()))
        throw std::runtime_error(
            "a part of a particle has arrived: the ranks differ in what they send");
      const auto add = [&](Segments& segments, std::int64_t bytes) {
        if (bytes)
          segments.push_back({static_cast<int>(r), static_cast<std::size_t>(bytes), nullptr});
      };
      add(sent, to[r]);
      add(received, from[r]);
    }
    messages_sent_ += sent.size();
    largest_ = 0;
    for (const auto& segment : sent) {
      bytes_sent_ += segment.bytes;
      largest_ = std::max<Count>(largest_, segment.bytes);
    }
    machine_.place(sent, received);
    std::vector<std::uint32_t*> messages(number_);
    for (const auto& segment : sent)
      messages[static_cast<std::size_t>(segment.rank)] =
          reinterpret_cast<std::uint32_t*>(segment.data);
    // A transport may have two places for each message, which it uses in turn.
    Messages& places = messages_[turn_ = 1 - turn_];
    if (places.all != messages) {
      machine_.upload(places.here, messages);
      places.all = messages;
    }
    const std::size_t own = listed_;
    machine_.run(own, PackPass<Real>{work, records, places.here.data(), packed()});
    machine_.exchange(sent, received);
    make_room(own + arriving, own);
    listed_ = own + arriving;
    Traveler* next = border_.data() + own;
    for (const auto& segment : received) {
      const std::size_t number = segment.bytes / records.bytes();
      const auto* const message = reinterpret_cast<const std::uint32_t*>(segment.data);
      machine_.add(number, UnpackPass<Real>{work, records, message, particles, next},
                   &findings()->written);
      next += number;
    }
  }

  // With a margin, because the number of particles near the borders fluctuates.
  void make_room(std::size_t border, std::size_t kept) {
    if (border > border_.size()) machine_.reserve(border_, border + border / 4, kept);
  }

  // Throws if the last write() has left particles without a position.
  void check(const Findings& mine) const {
    if (mine.unknown)
      throw std::runtime_error(text_of("particle ", mine.unknown - 1, " does not exist"));
    if (mine.written.particles != expected_.particles)
      throw std::runtime_error(text_of("of ", expected_.particles, " particles of this rank ",
                                       mine.written.particles,
                                       " have arrived: one was farther from its domain than a "
                                       "particle can go"));
    if (mine.written.tags != expected_.tags)
      throw std::runtime_error(
          "the particles that have arrived on this rank are not those that it holds, although as "
          "many: this is an error of the program, please report it");
  }

  Communicator& ranks_;
  const std::size_t number_;  // of ranks
  mutable Machine machine_;
  Array<Count> counters_, migrated_;
  struct Messages {  // where messages to each rank begin
    std::vector<std::uint32_t*> all;
    Array<std::uint32_t*> here;
  } messages_[2];
  std::size_t turn_ = 0;
  Array<Traveler> border_;  // particles that this rank may have after a migration, and others
  std::size_t listed_ = 0;  // of them, since the last write()
  Domains domains_;         // as they are in the next two
  Array<double> borders_;
  Array<std::int32_t> domain_ranks_;
  Grid grid_{};               // of the engine
  Arrivals seen_, expected_;  // by the last look, and to be left here by the last write()
  std::uint64_t messages_sent_ = 0, bytes_sent_ = 0;
  Count largest_ = 0;  // bytes of a message of the last write()
  double sweep_seconds_ = 0, exchange_seconds_ = 0;
  bool begun_ = false;     // the cycles of the next write() have begun at kBegun
  bool is_timed_ = false;  // kSwept and kWritten are not yet in exchange_seconds_
};

}  // namespace manymove::hard_particles
