// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine: threads over systems.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "../../runtime/parallel_for.h"
#include "../state.h"

namespace manymove::adsorption {

std::size_t scratch_bytes(int slots, std::size_t real) {
  const std::size_t side = static_cast<std::size_t>(slots) * kTogether;
  return side * (3 * real + sizeof(Site)) +
         kMostProposals * (5 * real + sizeof(Site) + 4 * sizeof(std::uint32_t)) + 16 * 64;
}

namespace {

template <class F>
class CpuEngine final : public Engine {
 public:
  CpuEngine(State state, const Adopt& molecules, int threads)
      : state_(std::move(state)),
        pool_(threads),
        kernels_(best_level<Kernels<F>>(MANYMOVE_LEVELS)),
        tallies_(pool_.size()) {
    fill_grid();
    make_scratch();
    if (state_.parameters.exchange > 0) reached_.resize(state_.parameters.systems);
    if (molecules) {
      molecules(state_);
      if (state_.data.counters.steps == 0) sum_energies();  // a snapshot has its own
    } else {
      const Work<F> w = work();
      each_batch([&](int first, int thread) {
        kernels_.place_molecules(w, first, scratch_[thread].get(), tallies_[thread].tally);
      });
      for (const Slot& t : tallies_) check_placed(state_, t.tally);
    }
  }

  void run(std::uint64_t steps, bool measure) override {
    const auto launch = [&](bool again) {
      Work<F> w = work();
      w.steps = steps;
      w.measure = measure;
      w.again = again;
      for (Slot& t : tallies_) t.tally = {};
      each_batch([&](int first, int thread) {
        kernels_.run_systems(w, first, scratch_[thread].get(), tallies_[thread].tally);
      });
      Tally sum;
      for (const Slot& t : tallies_) {
        sum.accepted += t.tally.accepted;
        sum.exchanges += t.tally.exchanges;
        sum.accepted_exchanges += t.tally.accepted_exchanges;
        sum.full |= t.tally.full;
      }
      return sum;
    };
    run_whole(state_, steps, measure, launch, [&](unsigned full) {
      grow(state_, full);
      make_scratch();
    });
  }

  void set_max_displacement(double angstrom) override {
    check_displacement(state_, angstrom);
    state_.data.max_displacement = angstrom;
  }
  double max_displacement() const override { return state_.data.max_displacement; }
  void set_positions(const double* positions, const double*) override {
    adopt(state_, positions);
    sum_energies();
  }
  void reset_averages() override {
    std::fill(state_.data.sums.begin(), state_.data.sums.end(), 0.0);
    std::fill(state_.data.profile.begin(), state_.data.profile.end(), 0);
    state_.data.counters.samples = 0;
  }
  void set_activities(const std::vector<double>& activities) override {
    adsorption::set_activities(state_, activities);
    reset_averages();
  }

  std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                            bool empty) override {
    check_species(state_, species);
    std::vector<double> sums(2 * static_cast<std::size_t>(state_.parameters.systems));
    const TestWork<F> t{work(),     state_.data.counters.insertions, insertions, species, empty,
                        sums.data()};
    for_each_item(pool_, state_.parameters.systems, [&](int system, int thread) {
      kernels_.insert_test_molecules(t, system, scratch_[thread].get());
    });
    state_.data.counters.insertions += insertions;
    return sums;
  }

  Counters counters() const override { return state_.data.counters; }
  GridInfo grid_info() const override { return state_.info; }
  std::vector<int> capacities() const override { return adsorption::capacities(state_); }
  std::size_t molecules() const override { return molecules_of(state_.parameters); }
  Snapshot snapshot() const override {
    check_whole(state_);
    return state_.data;
  }

  void framework_energies(const double* xyz, std::size_t count, int species, bool direct,
                          double* energies) const override {
    adsorption::framework_energies<F>(state_, xyz, count, species, direct, energies);
  }

 private:
  struct alignas(128) Slot {
    Tally tally;
  };
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  struct Scratch : std::unique_ptr<void, Free> {
    explicit Scratch(std::size_t bytes)
        : std::unique_ptr<void, Free>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {
      if (!*this) throw std::bad_alloc();
    }
  };

  Work<F> work() {
    Snapshot& d = state_.data;
    Work<F> w = make_work(state_, host_grid<F>(state_));
    w.sites = reinterpret_cast<Site*>(d.sites.data());
    w.counts = d.counts.data();
    w.energies = d.energies.data();
    w.sums = d.sums.data();
    w.profile = d.profile.data();
    w.reached = reached_.empty() ? nullptr : reached_.data();
    return w;
  }

  void make_scratch() {
    scratch_.clear();
    for (std::size_t i = 0; i < tallies_.size(); ++i)
      scratch_.emplace_back(scratch_bytes(state_.slots, sizeof(F)));
  }
  void sum_energies() {
    const Work<F> w = work();
    each_batch(
        [&](int first, int thread) { kernels_.sum_energies(w, first, scratch_[thread].get()); });
  }

  // Calls function(first system, thread).
  template <class Function>
  void each_batch(Function function) {
    for_each_item(pool_, (state_.parameters.systems + kTogether - 1) / kTogether,
                  [&](int batch, int thread) { function(batch * kTogether, thread); });
  }

  void fill_grid() {
    const auto& n = state_.parameters.grid;
    const auto species = static_cast<int>(state_.parameters.species.size());
    std::vector<double> energies(species * state_.grid_values());
    std::vector<std::vector<std::int32_t>> near(pool_.size());
    for (auto& list : near) list.resize(state_.images.size() + 1);
    for (int b = 0; b < species; ++b) {
      const GridWork g = grid_work(state_, b);
      for_each_item(pool_, n[1] * n[2], [&](int item, int thread) {
        kernels_.fill_row(
            g, item % n[1], item / n[1], near[thread].data(),
            energies.data() + b * state_.grid_values() + static_cast<std::size_t>(item) * n[0]);
      });
    }
    finish_grid(state_, std::move(energies));
  }

  State state_;
  ThreadPool pool_;
  Kernels<F> kernels_;
  std::vector<Slot> tallies_;
  std::vector<Scratch> scratch_;
  std::vector<std::uint64_t> reached_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(State state, const Adopt& molecules, int threads) {
  if (state.parameters.double_precision)
    return std::make_unique<CpuEngine<double>>(std::move(state), molecules, threads);
  return std::make_unique<CpuEngine<float>>(std::move(state), molecules, threads);
}

}  // namespace manymove::adsorption
