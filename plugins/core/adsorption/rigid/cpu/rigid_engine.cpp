// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine for rigid molecules: threads over systems.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "../fill.h"

namespace manymove::adsorption {
namespace {

template <class F>
class RigidCpuEngine final : public Engine {
 public:
  RigidCpuEngine(RigidState state, const AdoptRigid& molecules, int threads)
      : state_(std::move(state)),
        pool_(threads),
        kernels_(best_level<RigidKernels<F>>(MANYMOVE_LEVELS)),
        tallies_(pool_.size()) {
    fill_rigid_grid(state_, pool_);
    make_scratch();
    if (state_.parameters.exchange > 0) reached_.resize(state_.parameters.systems);
    if (molecules) {
      molecules(state_);
      if (state_.data.counters.steps == 0) sum_energies();  // a snapshot has its own
    } else {
      each_system([&](const RigidWork<F>& w, int system, int thread) {
        kernels_.place_molecules(w, system, scratch(w, thread), tallies_[thread].tally);
      });
      for (const Slot& t : tallies_) check_placed(state_, t.tally);
    }
  }

  void run(std::uint64_t steps, bool measure) override {
    const auto launch = [&](bool again) {
      for (Slot& t : tallies_) t.tally = {};
      each_system([&](RigidWork<F> w, int system, int thread) {
        w.steps = steps;
        w.measure = measure;
        w.again = again;
        kernels_.run_system(w, system, scratch(w, thread), tallies_[thread].tally);
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
      grow_rigid(state_, full);
      make_scratch();
    });
  }

  void set_max_displacement(double angstrom) override {
    check_displacement(state_, angstrom);
    state_.data.max_displacement = angstrom;
  }
  double max_displacement() const override { return state_.data.max_displacement; }
  void set_positions(const double* positions, const double* orientations) override {
    adopt_poses(state_, positions, orientations);
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
    each_system([&](const RigidWork<F>& w, int system, int thread) {
      const RigidTest<F> t{w,          state_.data.counters.insertions, insertions, species, empty,
                           sums.data()};
      kernels_.insert_test_molecules(t, system, scratch(w, thread));
    });
    state_.data.counters.insertions += insertions;
    return sums;
  }

  std::vector<double> energies() override {
    check_whole(state_);
    std::vector<double> sums(state_.data.energies.size()), waves(state_.data.waves.size());
    each_system([&](RigidWork<F> w, int system, int thread) {
      w.energies = sums.data();
      w.waves = waves.data();
      kernels_.sum_energies(w, system, scratch(w, thread));
    });
    return sums;
  }
  Counters counters() const override { return state_.data.counters; }
  GridInfo grid_info() const override { return state_.info; }
  std::vector<int> capacities() const override { return adsorption::capacities(state_); }
  std::vector<IdealChain> ideal_chains() const override { return state_.ideal; }
  std::size_t molecules() const override { return molecules_of(state_.parameters); }
  Snapshot snapshot() const override {
    check_whole(state_);
    return state_.data;
  }
  void framework_energies(const double* xyz, std::size_t count, int type, bool direct,
                          double* energies) const override {
    rigid_framework_energies<F>(state_, xyz, count, type, direct, energies);
  }

 private:
  struct alignas(128) Slot {
    Tally tally;
  };
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  using Memory = std::unique_ptr<void, Free>;

  RigidWork<F> work() {
    Snapshot& d = state_.data;
    RigidWork<F> w = make_rigid_work(state_, host_grid<F>(state_));
    w.centers = reinterpret_cast<Site*>(d.sites.data());
    w.turns = reinterpret_cast<Quaternion*>(d.orientations.data());
    w.counts = d.counts.data();
    w.energies = d.energies.data();
    w.sums = d.sums.data();
    w.profile = d.profile.data();
    w.waves = d.waves.data();
    w.shapes = d.shapes.data();
    w.reached = reached_.empty() ? nullptr : reached_.data();
    return w;
  }
  void make_scratch() {
    scratch_.clear();
    const RigidWork<F> w = work();
    const std::size_t bytes = RigidScratch<F>::bytes(w) + sizeof(F) * RigidScratch<F>::slow(w) + 64;
    for (std::size_t i = 0; i < tallies_.size(); ++i) {
      scratch_.emplace_back(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
      if (!scratch_.back()) throw std::bad_alloc();
    }
  }
  RigidScratch<F> scratch(const RigidWork<F>& w, int thread) {
    auto* const memory = static_cast<char*>(scratch_[thread].get());
    return {Fast<char>{memory}, w, reinterpret_cast<F*>(memory + RigidScratch<F>::bytes(w))};
  }
  void sum_energies() {
    each_system([&](const RigidWork<F>& w, int system, int thread) {
      kernels_.sum_energies(w, system, scratch(w, thread));
    });
  }
  template <class Function>
  void each_system(Function function) {
    const RigidWork<F> w = work();
    for_each_item(pool_, state_.parameters.systems,
                  [&](int system, int thread) { function(w, system, thread); });
  }

  RigidState state_;
  ThreadPool pool_;
  RigidKernels<F> kernels_;
  std::vector<Slot> tallies_;
  std::vector<Memory> scratch_;
  std::vector<std::uint64_t> reached_;
};

}  // namespace

std::unique_ptr<Engine> make_rigid_cpu_engine(RigidState state, const AdoptRigid& molecules,
                                              int threads) {
  if (state.parameters.double_precision)
    return std::make_unique<RigidCpuEngine<double>>(std::move(state), molecules, threads);
  return std::make_unique<RigidCpuEngine<float>>(std::move(state), molecules, threads);
}

}  // namespace manymove::adsorption
