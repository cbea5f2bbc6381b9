// SPDX-License-Identifier: BSD-3-Clause
// The CPU engine for rigid molecules: threads over systems.
#include <utility>

#include "../../cpu/cpu_engine_base.h"
#include "../fill_grid.h"

namespace manymove::adsorption {
namespace {

template <class F>
class MoleculeCpuEngine final : public CpuEngineBase<MoleculeState> {
  using Base = CpuEngineBase<MoleculeState>;

 public:
  MoleculeCpuEngine(MoleculeState state, const AdoptMolecules& molecules, int threads)
      : Base(std::move(state), threads), kernels_(best_level<MoleculeKernels<F>>(MANYMOVE_LEVELS)) {
    fill_molecule_grid(state_, pool_);
    make_scratch();
    if (molecules) {
      molecules(state_);
      if (state_.data.counters.steps == 0) sum_energies();  // a snapshot has its own
    } else {
      each_system([&](const MoleculeArrays<F>& w, int system, int thread) {
        kernels_.place_molecules(w, system, scratch(w, thread), counts_of(thread));
      });
      check_all_placed();
    }
  }

  void run(std::uint64_t steps, bool measure) override {
    const auto launch = [&](bool again) {
      clear_counts();
      each_system([&](MoleculeArrays<F> w, int system, int thread) {
        w.steps = steps;
        w.measure = measure;
        w.again = again;
        kernels_.run_system(w, system, scratch(w, thread), counts_of(thread));
      });
      return sum_of_counts();
    };
    run_whole(state_, steps, measure, launch, [&](unsigned full) {
      grow_molecules(state_, full);
      make_scratch();
    });
  }

  void set_positions(const double* positions, const double* orientations) override {
    adopt_poses(state_, positions, orientations);
    sum_energies();
  }
  std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                            bool empty) override {
    check_species(state_, species);
    std::vector<double> sums(2 * static_cast<std::size_t>(state_.parameters.systems));
    each_system([&](const MoleculeArrays<F>& w, int system, int thread) {
      const MoleculeTestInsertions<F> t{
          w, state_.data.counters.insertions, insertions, species, empty, sums.data()};
      kernels_.insert_test_molecules(t, system, scratch(w, thread));
    });
    state_.data.counters.insertions += insertions;
    return sums;
  }

  std::vector<double> energies() override {
    check_whole(state_);
    std::vector<double> sums(state_.data.energies.size()), waves(state_.data.waves.size());
    each_system([&](MoleculeArrays<F> w, int system, int thread) {
      w.energies = sums.data();
      w.waves = waves.data();
      kernels_.sum_energies(w, system, scratch(w, thread));
    });
    return sums;
  }
  std::vector<IdealChain> ideal_chains() const override { return state_.ideal; }
  void framework_energies(const double* xyz, std::size_t count, int type, bool direct,
                          double* energies) const override {
    site_framework_energies<F>(state_, xyz, count, type, direct, energies);
  }

 private:
  MoleculeArrays<F> work() {
    Snapshot& d = state_.data;
    MoleculeArrays<F> w = make_molecule_arrays(state_, host_grid<F>(state_));
    w.centers = reinterpret_cast<Site*>(d.sites.data());
    w.turns = reinterpret_cast<Quaternion*>(d.orientations.data());
    set_arrays(w);
    w.waves = d.waves.data();
    w.shapes = d.shapes.data();
    return w;
  }
  void make_scratch() {
    const MoleculeArrays<F> w = work();
    Base::make_scratch(MoleculeScratch<F>::bytes(w) + sizeof(F) * MoleculeScratch<F>::slow(w) + 64);
  }
  MoleculeScratch<F> scratch(const MoleculeArrays<F>& w, int thread) {
    auto* const memory = static_cast<char*>(scratch_of(thread));
    return {TeamPointer<char>{memory}, w,
            reinterpret_cast<F*>(memory + MoleculeScratch<F>::bytes(w))};
  }
  void sum_energies() {
    each_system([&](const MoleculeArrays<F>& w, int system, int thread) {
      kernels_.sum_energies(w, system, scratch(w, thread));
    });
  }
  template <class Function>
  void each_system(Function function) {
    const MoleculeArrays<F> w = work();
    for_each_item(pool_, state_.parameters.systems,
                  [&](int system, int thread) { function(w, system, thread); });
  }

  MoleculeKernels<F> kernels_;
};

}  // namespace

std::unique_ptr<Engine> make_molecule_cpu_engine(MoleculeState state,
                                                 const AdoptMolecules& molecules, int threads) {
  if (state.parameters.double_precision)
    return std::make_unique<MoleculeCpuEngine<double>>(std::move(state), molecules, threads);
  return std::make_unique<MoleculeCpuEngine<float>>(std::move(state), molecules, threads);
}

}  // namespace manymove::adsorption
