// SPDX-License-Identifier: BSD-3-Clause
// The positions of an engine that ranks share, in the arrays of a host program with domains of its
// own: those of one rank, bit for bit, whichever rank holds a particle. Ranks are threads. This
// file is also compiled for a GPU, which the ranks share (tests/devices/test_hand_over.py).
#include "core/hard_particles/hand_over.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/hard_particles/hand_over_passes.h"
#include "core/runtime/devices.h"
#include "support/lattices.h"
#include "support/memory.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles;
using test::run_communicators;

namespace {

constexpr std::uint32_t kElsewhere = 0xffffffffu;

struct System : test::Start {
  double fourth = 0;  // component of all positions, which belongs to the host program
};

System lattice(const std::vector<int>& shape, double distance) {
  System s{test::lattice(shape, std::vector<double>(shape.size(), distance))};
  s.parameters.tile.fill(5);
  s.parameters.seed = 17;
  return s;
}

// Domains with borders at these fractions of the box, ranks in the order of the domains.
Domains domains_of(const Parameters& p, const std::array<std::vector<double>, 3>& fractions) {
  Domains d;
  std::size_t number = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    const double box = static_cast<int>(a) < p.dimensions ? p.box[a] : 1;
    d.borders[a].push_back(-0.5 * box);
    for (const double f : fractions[a]) d.borders[a].push_back((f - 0.5) * box);
    d.borders[a].push_back(0.5 * box);
    number *= d.borders[a].size() - 1;
  }
  for (std::size_t k = 0; k < number; ++k) d.ranks.push_back(static_cast<std::int32_t>(k));
  return d;
}

// A particle as a host program stores it.
template <class Real>
struct Stored {
  std::array<Real, 4> r{};
  std::array<std::int32_t, 3> image{};
  std::uint32_t tag = 0;
};

// One rank of a host program that migrates particles as HOOMD-blue does: to the next domain along
// each axis, in turn, and those that leave the box to its other side, which rounds.
template <class Real>
class Host {
 public:
  Host(Communicator& ranks, const System& system, const Domains& domains)
      : ranks_(ranks), domains_(domains), system_(system), index_(system.particles, kElsewhere) {
    const auto D = static_cast<std::size_t>(system.parameters.dimensions);
    for (std::size_t i = 0; i < system.particles; ++i) {
      Stored<Real> p;
      p.tag = static_cast<std::uint32_t>(i);
      p.r[3] = static_cast<Real>(system.fourth);
      for (std::size_t a = 0; a < D; ++a) p.r[a] = static_cast<Real>(system.positions[i * D + a]);
      bool here = true;
      for (std::size_t a = 0; a < 3; ++a)
        here &= static_cast<double>(p.r[a]) >= begin(a) && static_cast<double>(p.r[a]) < end(a);
      if (here) particles_.push_back(p);
    }
    split();
  }

  HeldParticles held() {
    return {{position_.data(), sizeof(Real) == sizeof(double), image_.data(), index_.data(),
             tag_.data()},
            tag_.size()};
  }

  void migrate() {
    join();
    for (std::size_t a = 0; a < 3; ++a)
      for (const int way : {1, -1})
        if (domains_.divided(a)) send(a, way);
    split();
  }

  // Where all particles are, by tag, on rank 0.
  std::vector<Stored<Real>> all() {
    join();
    std::vector<std::vector<Stored<Real>>> parts(static_cast<std::size_t>(ranks_.ranks()));
    parts[0] = particles_;
    std::vector<Stored<Real>> by_tag(ranks_.rank() == 0 ? system_.particles : 0);
    for (const Stored<Real>& p : deliver(ranks_, std::move(parts))) by_tag[p.tag] = p;
    return by_tag;
  }

 private:
  std::size_t place(std::size_t axis) const { return domains_.place_of(ranks_.rank())[axis]; }
  double begin(std::size_t axis) const { return domains_.borders[axis][place(axis)]; }
  double end(std::size_t axis) const { return domains_.borders[axis][place(axis) + 1]; }

  std::size_t neighbor(std::size_t axis, int way) const {
    std::array<std::size_t, 3> at = domains_.place_of(ranks_.rank()), n;
    for (std::size_t a = 0; a < 3; ++a) n[a] = domains_.borders[a].size() - 1;
    at[axis] = (at[axis] + n[axis] + static_cast<std::size_t>(way)) % n[axis];
    return static_cast<std::size_t>(domains_.ranks[(at[0] * n[1] + at[1]) * n[2] + at[2]]);
  }
  void send(std::size_t axis, int way) {
    const auto box = static_cast<Real>(domains_.borders[axis].back() * 2);
    std::vector<std::vector<Stored<Real>>> leaving(static_cast<std::size_t>(ranks_.ranks()));
    std::vector<Stored<Real>> staying;
    for (const Stored<Real>& p : particles_) {
      const auto r = static_cast<double>(p.r[axis]);
      const bool leaves = way > 0 ? r >= end(axis) : r < begin(axis);
      (leaves ? leaving[neighbor(axis, way)] : staying).push_back(p);
    }
    for (Stored<Real> p : deliver(ranks_, std::move(leaving))) {
      const int turns = p.r[axis] >= box / 2 ? 1 : p.r[axis] < -box / 2 ? -1 : 0;
      p.r[axis] -= static_cast<Real>(turns) * box;
      p.image[axis] += turns;
      staying.push_back(p);
    }
    particles_ = std::move(staying);
  }
  void split() {
    position_.clear();
    image_.clear();
    tag_.clear();
    index_.assign(system_.particles, kElsewhere);
    for (const Stored<Real>& p : particles_) {
      index_[p.tag] = static_cast<std::uint32_t>(tag_.size());
      tag_.push_back(p.tag);
      image_.insert(image_.end(), p.image.begin(), p.image.end());
      position_.push_back({p.r});
    }
  }
  void join() {
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      particles_[i].r = position_[i].r;
      for (std::size_t a = 0; a < 3; ++a) particles_[i].image[a] = image_[3 * i + a];
    }
  }

  struct alignas(2 * sizeof(Real)) Position {
    std::array<Real, 4> r;
  };
  Communicator& ranks_;
  const Domains& domains_;
  const System& system_;
  std::vector<Stored<Real>> particles_;
  test::Array<Position> position_;
  test::Array<std::int32_t> image_;
  test::Array<std::uint32_t> index_, tag_;
};

template <class Real>
bool equal(const std::vector<Stored<Real>>& a, const std::vector<Stored<Real>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i].r, &b[i].r, sizeof a[i].r) || a[i].image != b[i].image) return false;
  return a.size() == b.size();
}

struct Run {
  int steps, cycles;
  bool migrates;  // after each step, otherwise when a particle is three cells outside
};

std::array<double, 3> reach_of(const Engine& engine, const Look& look, double cells) {
  std::array<double, 3> reach = engine.cell_widths();
  for (std::size_t a = 0; a < 3; ++a)
    reach[a] = reach[a] > 0 ? look.outside[a] + cells * reach[a] : 0;
  return reach;
}

Look look(HandOver& hand_over, const Domains& domains, const HeldParticles& held) {
  hand_over.look(domains, held, true);
  return hand_over.found();
}

// A rank of an engine that ranks share, with its host program.
template <class Real = double>
struct Rank {
  Rank(Communicator& ranks, const System& system, const Domains& domains)
      : Rank(ranks, system, domains, system) {}
  // The host program has the particles at other places.
  Rank(Communicator& ranks, const System& system, const Domains& domains, const System& of_host)
      : domains(domains), start(system.snapshot()), host(ranks, of_host, domains) {
    engine = make_engine(ranks.rank() == 0 ? &start : nullptr, system.particles, system.parameters,
                         test::kDevice, 1, ranks);
    hand_over = make_hand_over(ranks, test::kDevice);
  }
  Look look() { return ::look(*hand_over, domains, host.held()); }
  void write(const std::array<double, 3>& reach) {
    hand_over->write(*engine, domains, reach, false, true, host.held());
  }
  void write(const Look& found, double cells) { write(reach_of(*engine, found, cells)); }
  // The host program migrates particles.
  void migrate() {
    hand_over->put_beyond_edges(domains, host.held());
    hand_over->counts();  // waits for a GPU
    host.migrate();
    hand_over->restore(host.held());
  }

  const Domains& domains;
  const Snapshot start;
  Host<Real> host;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<HandOver> hand_over;
};

// What one rank has after each step.
template <class Real>
struct Alone {
  std::vector<std::vector<Stored<Real>>> particles;
  std::vector<std::uint64_t> traces;
};

template <class Real>
Alone<Real> run_alone(const System& system, const Run& run) {
  const Domains whole = domains_of(system.parameters, {});
  Alone<Real> found;
  run_communicators(1, [&](Communicator& alone) {
    const auto engine =
        make_engine(system.snapshot(), system.particles, system.parameters, test::kDevice, 1);
    const auto hand_over = make_hand_over(alone, test::kDevice);
    Host<Real> host(alone, system, whole);
    for (int step = 0; step < run.steps; ++step) {
      engine->enqueue(static_cast<std::uint64_t>(run.cycles), host.held().arrays);
      engine->counters();  // waits for a GPU
      found.particles.push_back(host.all());
      found.traces.push_back(look(*hand_over, whole, host.held()).trace);
    }
  });
  bool crossed = false;
  for (const Stored<Real>& p : found.particles.back())
    for (const int n : p.image) crossed |= n != 0;
  CHECK(crossed);
  return found;
}

// The particles are then where the look has found them.
template <class Real>
void migrate(Rank<Real>& rank, const Look& found) {
  rank.migrate();
  const Look migrated = rank.look();
  CHECK(migrated.same() && migrated.trace == found.trace);
}

bool is_far(const Engine& engine, const Look& look) {
  const std::array<double, 3> far = reach_of(engine, {}, 3);
  bool is_far = false;
  for (std::size_t a = 0; a < 3; ++a) is_far |= look.outside[a] > far[a];
  return is_far;
}

template <class Real>
void compare(const System& system, const std::array<std::vector<double>, 3>& fractions,
             const Run& run) {
  const Domains domains = domains_of(system.parameters, fractions);
  const Alone<Real> expected = run_alone<Real>(system, run);
  run_communicators(static_cast<int>(domains.ranks.size()), [&](Communicator& ranks) {
    Rank<Real> rank(ranks, system, domains);
    for (int step = 0; step < run.steps; ++step) {
      rank.hand_over->begin();
      rank.hand_over->look(domains, rank.host.held(), true);
      rank.engine->start(static_cast<std::uint64_t>(run.cycles));
      const Look before = rank.hand_over->found();
      CHECK(step == 0 || before.same());
      rank.write(before, run.cycles);
      const Look now = rank.look();
      CHECK(now.same());
      CHECK_EQUAL(now.trace, expected.traces[static_cast<std::size_t>(step)]);
      if (run.migrates || is_far(*rank.engine, now)) migrate(rank, now);
      const auto found = rank.host.all();
      CHECK(ranks.rank() > 0 || equal(found, expected.particles[static_cast<std::size_t>(step)]));
    }
    const HandOverCounts counts = rank.hand_over->counts();
    CHECK(counts.sweep_seconds > 0 && counts.exchange_seconds > 0);
    std::uint64_t migrated = counts.migrated;
    ranks.sum(&migrated, 1);
    CHECK(migrated > 0 || !run.migrates);
  });
}

// In the component's order on GPUs: the cycles of a step start when the positions of the former one
// are being written, before the look at them, and go on during a migration.
template <class Real>
void compare_ahead(const System& system, const std::array<std::vector<double>, 3>& fractions,
                   const Run& run) {
  const Domains domains = domains_of(system.parameters, fractions);
  const Alone<Real> expected = run_alone<Real>(system, run);
  run_communicators(static_cast<int>(domains.ranks.size()), [&](Communicator& ranks) {
    Rank<Real> rank(ranks, system, domains);
    std::chrono::duration<double> started{};
    const auto sees_step = [&](const Look& look, int step) {
      if (step < 0) return;
      CHECK(look.same());
      CHECK_EQUAL(look.trace, expected.traces[static_cast<std::size_t>(step)]);
    };
    for (int step = 0; step < run.steps; ++step) {
      rank.hand_over->begin();
      const auto before = std::chrono::steady_clock::now();
      rank.engine->start(static_cast<std::uint64_t>(run.cycles));
      if (step > 0) started += std::chrono::steady_clock::now() - before;
      const Look found = rank.look();
      sees_step(found, step - 1);
      if (step > 0 && (run.migrates || is_far(*rank.engine, found))) migrate(rank, found);
      rank.write(found, run.cycles);
    }
    sees_step(rank.look(), run.steps - 1);
    const auto found = rank.host.all();
    CHECK(ranks.rank() > 0 || equal(found, expected.particles.back()));
    // A CPU makes the cycles in start(). Nothing has been written before the first step.
    const double seconds = rank.hand_over->counts().sweep_seconds;
    CHECK(seconds > 0 && (rank.engine->runs_ahead() || seconds >= started.count()));
  });
}

const std::vector<std::array<std::vector<double>, 3>> kDivisions2D = {
    {{{}, {0.5}, {}}},              // strips
    {{{0.5}, {0.5}, {}}},           // two by two
    {{{0.25, 0.5, 0.75}, {}, {}}},  // across the strips
    {{{}, {0.25, 0.5, 0.75}, {}}},  // as many strips
    {{{0.2}, {0.35, 0.8}, {}}},     // uneven
    {{{}, {0.48, 0.5, 0.53}, {}}},  // narrower than the reach
};

}  // namespace

TEST("positions and images of disks on ranks are those of one rank, to the last bit") {
  System system = lattice({24, 60}, 1.2);
  for (const auto& division : kDivisions2D)
    for (const bool migrates : {true, false}) {
      compare<double>(system, division, {60, 2, migrates});
      compare<float>(system, division, {60, 2, migrates});
    }
  system.fourth = 3;
  compare<double>(system, kDivisions2D[1], {60, 2, true});
}

TEST("positions and images of spheres on ranks are those of one rank, to the last bit") {
  const System system = lattice({5, 6, 30}, 1.35);
  for (const bool migrates : {true, false}) {
    compare<double>(system, {{{}, {}, {0.3, 0.6}}}, {40, 1, migrates});
    compare<double>(system, {{{0.5}, {0.5}, {}}}, {40, 2, migrates});
    compare<float>(system, {{{}, {0.4}, {0.5}}}, {40, 1, migrates});
  }
}

TEST("cycles that start before the look at the former positions lead to those of one rank") {
  const System disks = lattice({24, 60}, 1.2), spheres = lattice({5, 6, 30}, 1.35);
  for (const int cycles : {1, 2, 3}) {
    compare_ahead<double>(disks, kDivisions2D[1], {120 / cycles, cycles, true});
    compare_ahead<double>(disks, kDivisions2D[5], {120 / cycles, cycles, false});
    compare_ahead<float>(disks, kDivisions2D[0], {120 / cycles, cycles, false});
    compare_ahead<double>(spheres, {{{0.5}, {0.5}, {}}}, {60 / cycles, cycles, true});
  }
}

#if defined(__CUDACC__)
namespace {

// Holds up a stream until it is opened, at most for five seconds.
class Gate {
 public:
  void close(cudaStream_t stream) {
    const auto wait = [](void* gate) { static_cast<Gate*>(gate)->wait(); };
    CHECK(cudaLaunchHostFunc(stream, wait, this) == cudaSuccess);
  }
  void open() { opened_ = true; }
  bool gave_up() const { return gave_up_; }

 private:
  void wait() {
    using namespace std::chrono;
    const auto end = steady_clock::now() + seconds(5);
    while (!opened_ && !gave_up_) {
      std::this_thread::sleep_for(milliseconds(1));
      gave_up_ = steady_clock::now() > end;
    }
  }
  std::atomic<bool> opened_{false}, gave_up_{false};
};

// Hands over the particles of an undivided engine in a stream that is held up until the cycles
// could have overwritten what it reads. The first one overwrites nothing and must not wait.
void read_late(const System& system, std::uint64_t cycles) {
  const auto engine =
      make_engine(system.snapshot(), system.particles, system.parameters, test::kDevice, 1);
  engine->run(7);
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  test::Array<Findings> findings(1);
  run_communicators(1, [&](Communicator& alone) {
    const Domains whole = domains_of(system.parameters, {});
    Host<double> now(alone, system, whole), late(alone, system, whole);
    const auto read = [&](Host<double>& host) {
      HandOverWork work{host.held(), {},   {}, {}, system.parameters.dimensions,
                        Part::inner, true, {}, 0,  findings.data(),
                        nullptr};
      for (int a = 0; a < 3; ++a) {
        work.domains.number[a] = 1;
        work.box[a] = work.reach[a] = system.parameters.box[a];
      }
      engine->hand_over(work, stream);
    };
    engine->lead(stream);
    read(now);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    Gate gate;
    gate.close(stream);
    read(late);
    engine->follow(stream);
    engine->start(1);
    engine->counters();
    CHECK(!gate.gave_up());
    if (cycles > 1) engine->start(cycles - 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.open();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(!gate.gave_up());
    CHECK_EQUAL(findings[0].written.particles, 2 * system.particles);
    CHECK(equal(now.all(), late.all()));
    CHECK_EQUAL(engine->counters().cycles, 7 + cycles);
  });
  cudaStreamDestroy(stream);
}

}  // namespace
#endif

TEST("cycles do not overwrite what a stream still reads, and the first one does not wait") {
  const System disks = lattice({24, 60}, 1.2), spheres = lattice({5, 6, 30}, 1.35);
#if defined(__CUDACC__)
  for (const std::uint64_t cycles : {1, 2, 3}) {
    read_late(disks, cycles);
    read_late(spheres, cycles);
  }
#else
  for (const System& system : {disks, spheres}) {
    const auto engine =
        make_engine(system.snapshot(), system.particles, system.parameters, test::kDevice, 1);
    CHECK_THROWS(engine->follow(nullptr), std::logic_error, "in the memory of the host");
  }
#endif
}

TEST("sweeps are timed from begin() to the cycles' end, unless a look refuses them") {
  const System system = lattice({24, 60}, 1.2);
  run_communicators(1, [&](Communicator& alone) {
    const Domains whole = domains_of(system.parameters, {});
    Rank<> rank(alone, system, whole);
    const auto write = [&] {
      rank.write({}, 1);
      return rank.hand_over->counts().sweep_seconds;
    };
    rank.look();
    CHECK_EQUAL(write(), 0);
    rank.hand_over->begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rank.engine->start(1);
    CHECK(rank.look().same());
    const double seconds = write();
    CHECK(seconds > 0.015 && seconds < 5);
    rank.hand_over->begin();
    static_cast<double*>(rank.host.held().arrays.position)[0] += 1e-3;
    CHECK(!rank.look().same());
    CHECK_EQUAL(write(), seconds);
  });
}

TEST("cycles that are taken back do not count") {
  const System system = lattice({24, 60}, 1.2);
  const Domains domains = domains_of(system.parameters, {{{}, {0.5}, {}}});
  run_communicators(2, [&](Communicator& ranks) {
    const Rank<> rank(ranks, system, domains);
    Engine& engine = *rank.engine;
    engine.start(2);
    engine.start(3);
    if (engine.runs_ahead())
      engine.take_back();
    else
      CHECK_THROWS(engine.take_back(), std::logic_error, "when start() returns");
    engine.enqueue(0);
    const Counters counters = engine.counters();
    const std::uint64_t cycles = engine.runs_ahead() ? 2 : 5;
    CHECK_EQUAL(counters.cycles, cycles);
    const auto alone =
        make_engine(rank.start, system.particles, system.parameters, test::kDevice, 1);
    alone->run(cycles);
    CHECK_EQUAL(counters.trial_moves, alone->counters().trial_moves);
    CHECK_EQUAL(counters.accepted_moves, alone->counters().accepted_moves);
  });
}

TEST("with domains that are strips no more than the rows at their borders travel") {
  const System system = lattice({20, 200}, 1.2);
  const Domains domains = domains_of(system.parameters, {{{}, {0.5}, {}}});
  run_communicators(2, [&](Communicator& ranks) {
    Rank<> rank(ranks, system, domains);
    constexpr int kSteps = 50;
    for (int step = 0; step < kSteps; ++step) {
      rank.engine->enqueue(1);
      rank.write(rank.look(), 1);
      rank.migrate();
    }
    // Two borders, where strips and domains differ by half a tile and a particle can go a cell; 20
    // particles in a row of the lattice, of 20 bytes each.
    const double bytes = static_cast<double>(rank.hand_over->counts().bytes) / kSteps;
    CHECK(bytes > 0 && bytes < 2 * (rank.engine->grid().tile[1] / 2.0 + 1 + 1) * 20 * 20);
    CHECK(rank.hand_over->counts().messages <= kSteps);
  });
}

TEST("positions do not travel between a GPU and the host") {
  const System system = lattice({60, 200}, 1.2);
  const Domains domains = domains_of(system.parameters, {{{0.5}, {}, {}}});  // half of them travel
  run_communicators(2, [&](Communicator& ranks) {
    Rank<> rank(ranks, system, domains);
    rank.engine->enqueue(1);
    const Look here = rank.look();
    for (int time = 0; time < 2; ++time) {
      std::int64_t nothing = 0;
      ranks.maximum(&nothing, 1);
      const std::uint64_t before = copied_bytes();  // of all ranks
      ranks.maximum(&nothing, 1);
      rank.write(here, 1);
      rank.hand_over->put_beyond_edges(domains, rank.host.held());
      rank.hand_over->restore(rank.host.held());
      rank.hand_over->scale({1, 1, 1}, {72, 240, 1}, rank.host.held());
      CHECK(copied_bytes() - before < 4096);
    }
    CHECK(rank.hand_over->counts().bytes > 60000);
  });
}

TEST("scaled positions stay in the box") {
  run_communicators(1, [&](Communicator& alone) {
    const auto hand_over = make_hand_over(alone, test::kDevice);
    test::Array<float> r{1.f, -2.f, 3.f, 7.f, std::nextafter(5.f, 0.f), 0, 0, 8.f};
    const HostParticles host{r.data(), false, nullptr, nullptr, nullptr};
    hand_over->scale({1 / 3.0, 1.5, 1}, {10 / 3.0, 15, 12}, {host, 2});
    hand_over->counts();  // waits for a GPU
    const float edge = static_cast<float>(5 / 3.0);
    const float expected[8] = {static_cast<float>(1 / 3.0), -3, 3, 7, r[4], 0, 0, 8};
    for (std::size_t i = 0; i < 8; ++i) CHECK_EQUAL(r[i], expected[i]);
    CHECK(r[4] < edge && r[4] > edge - 1e-6f);
  });
}

TEST("a particle that no rank was sent is an error") {
  const System system = lattice({20, 60}, 1.2);
  const Domains domains = domains_of(system.parameters, {{{}, {0.5}, {}}});
  // A rank holds a particle that is far from its domain, of which the others do not know.
  System other = system;
  std::swap(other.positions[2 * 300 + 1], other.positions[2 * 900 + 1]);
  const auto hand_over = [&](Communicator& ranks) {
    Rank<> rank(ranks, system, domains, other);
    rank.look();
    rank.write({}, 1);
    rank.look();
  };
  CHECK_THROWS(run_communicators(2, hand_over), std::runtime_error,
               "one was farther from its domain than a particle can go");
}

TEST("particles that arrive in place of others are an error of the program") {
  const System system = lattice({20, 60}, 1.2);
  const Domains whole = domains_of(system.parameters, {});
  const auto hand_over_twice = [&](Communicator& alone) {
    const auto engine =
        make_engine(system.snapshot(), system.particles, system.parameters, test::kDevice, 1);
    Host<double> host(alone, system, whole);
    HeldParticles held = host.held();
    // The rank takes the particle at place 1 for particle 0, too.
    test::Array<std::uint32_t> tags(held.arrays.tag, held.arrays.tag + held.count);
    tags[1] = tags[0];
    held.arrays.tag = tags.data();
    const auto hand_over = make_hand_over(alone, test::kDevice);
    look(*hand_over, whole, held);
    hand_over->write(*engine, whole, reach_of(*engine, {}, 1), false, true, held);
    look(*hand_over, whole, held);
  };
  CHECK_THROWS(run_communicators(1, hand_over_twice), std::runtime_error,
               "not those that it holds, although as many: this is an error of the program");
}

TEST("a particle that another has moved is not put back by a migration") {
  const System system = lattice({20, 60}, 1.2);
  const Domains domains = domains_of(system.parameters, {{{}, {0.5}, {}}});
  run_communicators(2, [&](Communicator& ranks) {
    Rank<> rank(ranks, system, domains);
    CHECK_THROWS(rank.write({}), std::logic_error, "needs a look() at the");
    rank.look();
    rank.write({1e9, 1e9, 1e9});
    const std::uint64_t before = rank.look().trace;
    auto* const position = static_cast<double*>(rank.host.held().arrays.position);
    const double kept = position[1];
    position[1] = std::nextafter(kept, 2 * kept);  // as a migration rounds
    CHECK(!rank.look().same());
    rank.hand_over->restore(rank.host.held());
    rank.hand_over->counts();  // waits for a GPU
    CHECK_EQUAL(position[1], kept);
    const Look restored = rank.look();
    CHECK(restored.same() && restored.trace == before);
    position[1] = kept + 1e-9;
    rank.hand_over->restore(rank.host.held());
    rank.hand_over->counts();
    CHECK_EQUAL(position[1], kept + 1e-9);
  });
}

TEST("a look finds the farthest particle around the box's edge") {
  Domains domains;
  domains.borders = {{{-2, 2}, {-10, -4, 1, 10}, {-0.5, 0.5}}};
  domains.ranks = {2, 0, 1};
  const test::Array<std::uint32_t> tags{0, 1, 2};
  const struct {
    int rank;
    double y, outside;
  } cases[] = {{2, -7, 0}, {2, 9.5, 0.5},  {2, -3, 1},     {0, 2, 1}, {0, -5, 1},
               {0, 9, 7},  {0, -9.5, 5.5}, {1, -9.5, 0.5}, {1, 0, 1}, {1, 10 - 1e-9, 0}};
  for (const auto& c : cases) {
    test::Array<double> r{1.9, c.y, 0, 0};
    const HostParticles host{r.data(), true, nullptr, tags.data(), tags.data()};
    run_communicators(3, [&](Communicator& ranks) {
      const auto hand_over = make_hand_over(ranks, test::kDevice);
      hand_over->look(domains, {host, ranks.rank() == c.rank ? 1u : 0u}, false);
      const Look far = hand_over->found();
      CHECK(far.outside[0] == 0 && std::abs(far.outside[1] - c.outside) < 1e-12);
    });
  }
}
