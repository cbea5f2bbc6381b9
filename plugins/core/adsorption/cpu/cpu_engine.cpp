// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine: threads over systems of point particles, rigid molecules or chains.
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../runtime/host_arrays.h"
#include "../../runtime/parallel_for.h"
#include "../engine_base.h"
#include "../fill_grid.h"

namespace manymove::adsorption {
namespace {

template <class Arrays>
class CpuEngine final : public EngineBase {
  using F = typename Arrays::Real;
  static constexpr bool kMolecules = std::is_same_v<Arrays, MoleculeArrays<F>>;

 public:
  CpuEngine(State state, const Start& start, int threads)
      : EngineBase(std::move(state)),
        kernels_(best_level<Kernels<Arrays>>(MANYMOVE_LEVELS)),
        pool_(threads),
        workers_(pool_.size()) {
    if (state_.parameters.exchange > 0) reached_.resize(state_.parameters.systems);
    fill_grid(state_, pool_, start.poll);
    resize_scratch();
    if (start.molecules) {
      start.molecules(state_);
      if (state_.data.counters.steps == 0) sum_energies(arrays());  // a snapshot has its own
    } else {
      const Arrays w = arrays();
      each_system([&](int system, Worker& worker) {
        kernels_.place_molecules(w, system, worker.scratch, worker.moves);
      });
      for (const Worker& worker : workers_) check_placed(state_, worker.moves);
    }
  }

  void run(std::uint64_t steps, bool measure) override {
    const auto launch = [&](bool again) {
      Arrays w = arrays();
      w.steps = steps;
      w.measure = measure;
      w.again = again;
      for (Worker& worker : workers_) worker.moves = {};
      // Method pmc has a system in each SIMD lane.
      const bool together = !kMolecules && w.method == Method::pmc;
      each_system(
          [&](int first, Worker& worker) {
            kernels_.run_systems(w, first, worker.scratch, worker.moves);
          },
          together ? kTogether : 1);
      MoveCounts sum;
      // Sums of integers do not depend on which worker had which system.
      for (const Worker& worker : workers_) sum += worker.moves;
      return sum;
    };
    run_whole(state_, steps, measure, launch, [&](unsigned full) {
      // The numbers of slots are in the layout of the workers' memory.
      grow(state_, full);
      resize_scratch();
    });
  }

  void set_positions(const double* positions, const double* orientations) override {
    adopt(state_, positions, orientations);
    sum_energies(arrays());
  }
  void reset_averages() override {
    std::fill(state_.data.sums.begin(), state_.data.sums.end(), 0.0);
    std::fill(state_.data.profile.begin(), state_.data.profile.end(), 0);
    state_.data.counters.samples = 0;
  }
  std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                            bool empty) override {
    check_species(state_, species);
    // [systems][2]: of w = exp(-beta dU) and of w dU.
    std::vector<double> sums(2 * static_cast<std::size_t>(state_.parameters.systems));
    const TestInsertions<Arrays> t{
        arrays(), state_.data.counters.insertions, insertions, species, empty, sums.data()};
    each_system([&](int system, Worker& worker) {
      kernels_.insert_test_molecules(t, system, worker.scratch);
    });
    state_.data.counters.insertions += insertions;
    return sums;
  }

  std::vector<double> energies() override {
    check_whole(state_);
    if constexpr (!kMolecules) return state_.data.energies;
    // Into arrays of its own: the state keeps what the moves have added up.
    std::vector<double> sums(state_.data.energies.size()), waves(state_.data.waves.size());
    Arrays w = arrays();
    w.energies = sums.data();
    if constexpr (kMolecules) w.waves = waves.data();
    sum_energies(w);
    return sums;
  }
  Snapshot snapshot() const override {
    check_whole(state_);
    return state_.data;
  }

 private:
  struct alignas(128) Worker {
    MoveCounts moves;
    HostArrays memory;
    PointScratch<F> points;
    void* scratch;
  };

  Arrays arrays() {
    auto w = make_arrays<Arrays>(state_, state_.grid->template in<F>().data());
    point_to(w, state_.data);
    w.reached = reached_.empty() ? nullptr : reached_.data();
    return w;
  }
  void resize_scratch() override {
    const Arrays w = arrays();
    for (Worker& worker : workers_) {
      HostArrays& memory = worker.memory;
      memory = {};
      if constexpr (kMolecules) {
        // Fast and slow memory of MoleculeScratch.
        std::byte* bytes;
        memory.make(MoleculeScratch<F>::bytes(w) + sizeof(F) * MoleculeScratch<F>::slow(w), bytes);
        worker.scratch = bytes;
      } else {
        PointScratch<F>& s = worker.points;
        memory.make(static_cast<std::size_t>(w.slots) * kTogether, s.x, s.y, s.z, s.sites);
        memory.make(kMostProposals, s.energy, s.weights, s.proposals);
        memory.make(3 * kMostProposals, s.words);
        worker.scratch = &s;
      }
    }
  }
  void sum_energies(const Arrays& w) {
    each_system(
        [&](int system, Worker& worker) { kernels_.sum_energies(w, system, worker.scratch); });
  }
  // Calls function(system, worker) for each of them, or for every so many.
  void each_system(const auto& function, int at_once = 1) {
    for_each_item(pool_, (state_.parameters.systems + at_once - 1) / at_once,
                  [&](int item, int thread) { function(item * at_once, workers_[thread]); });
  }

  Kernels<Arrays> kernels_;
  ThreadPool pool_;
  std::vector<Worker> workers_;
  std::vector<std::uint64_t> reached_;
};

template <template <class> class Arrays>
std::unique_ptr<Engine> make_engine_of(State state, const Start& start, int threads) {
  if (state.parameters.double_precision)
    return std::make_unique<CpuEngine<Arrays<double>>>(std::move(state), start, threads);
  return std::make_unique<CpuEngine<Arrays<float>>>(std::move(state), start, threads);
}

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(State state, const Start& start, int threads) {
  const auto make =
      state.molecules() ? &make_engine_of<MoleculeArrays> : &make_engine_of<PointArrays>;
  return make(std::move(state), start, threads);
}

}  // namespace manymove::adsorption
