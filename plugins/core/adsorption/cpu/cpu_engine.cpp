// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine: threads over systems.
#include <utility>

#include "cpu_engine_base.h"

namespace manymove::adsorption {

std::size_t scratch_bytes(int slots, std::size_t real) {
  const std::size_t side = static_cast<std::size_t>(slots) * kTogether;
  return side * (3 * real + sizeof(Site)) +
         kMostProposals * (5 * real + sizeof(Site) + 4 * sizeof(std::uint32_t)) + 16 * 64;
}

namespace {

template <class F>
class CpuEngine final : public CpuEngineBase<State> {
  using Base = CpuEngineBase<State>;

 public:
  CpuEngine(State state, const Adopt& molecules, int threads)
      : Base(std::move(state), threads), kernels_(best_level<Kernels<F>>(MANYMOVE_LEVELS)) {
    fill_grid();
    make_scratch(scratch_bytes(state_.slots, sizeof(F)));
    if (molecules) {
      molecules(state_);
      if (state_.data.counters.steps == 0) sum_energies();  // a snapshot has its own
    } else {
      const PointArrays<F> w = work();
      each_batch([&](int first, int thread) {
        kernels_.place_molecules(w, first, scratch_of(thread), counts_of(thread));
      });
      check_all_placed();
    }
  }

  void run(std::uint64_t steps, bool measure) override {
    const auto launch = [&](bool again) {
      PointArrays<F> w = work();
      w.steps = steps;
      w.measure = measure;
      w.again = again;
      clear_counts();
      each_batch([&](int first, int thread) {
        kernels_.run_systems(w, first, scratch_of(thread), counts_of(thread));
      });
      return sum_of_counts();
    };
    run_whole(state_, steps, measure, launch, [&](unsigned full) {
      grow(state_, full);
      make_scratch(scratch_bytes(state_.slots, sizeof(F)));
    });
  }

  void set_positions(const double* positions, const double*) override {
    adopt(state_, positions);
    sum_energies();
  }

  std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                            bool empty) override {
    check_species(state_, species);
    std::vector<double> sums(2 * static_cast<std::size_t>(state_.parameters.systems));
    const TestInsertions<F> t{
        work(), state_.data.counters.insertions, insertions, species, empty, sums.data()};
    for_each_item(pool_, state_.parameters.systems, [&](int system, int thread) {
      kernels_.insert_test_molecules(t, system, scratch_of(thread));
    });
    state_.data.counters.insertions += insertions;
    return sums;
  }

  void framework_energies(const double* xyz, std::size_t count, int species, bool direct,
                          double* energies) const override {
    adsorption::framework_energies<F>(state_, xyz, count, species, direct, energies);
  }

 private:
  PointArrays<F> work() {
    Snapshot& d = state_.data;
    PointArrays<F> w = make_arrays(state_, host_grid<F>(state_));
    w.sites = reinterpret_cast<Site*>(d.sites.data());
    set_arrays(w);
    return w;
  }

  void sum_energies() {
    const PointArrays<F> w = work();
    each_batch([&](int first, int thread) { kernels_.sum_energies(w, first, scratch_of(thread)); });
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
      const GridSum g = grid_sum(state_, b);
      for_each_item(pool_, n[1] * n[2], [&](int item, int thread) {
        kernels_.fill_row(
            g, item % n[1], item / n[1], near[thread].data(),
            energies.data() + b * state_.grid_values() + static_cast<std::size_t>(item) * n[0]);
      });
    }
    finish_grid(state_, std::move(energies));
  }

  Kernels<F> kernels_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(State state, const Adopt& molecules, int threads) {
  if (state.parameters.double_precision)
    return std::make_unique<CpuEngine<double>>(std::move(state), molecules, threads);
  return std::make_unique<CpuEngine<float>>(std::move(state), molecules, threads);
}

}  // namespace manymove::adsorption
