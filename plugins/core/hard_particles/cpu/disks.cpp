// SPDX-License-Identifier: BSD-3-Clause
// The policy `EqualDisks` on a CPU.
#include "../../runtime/host_arrays.h"
#include "cpu_engine.h"

namespace manymove::hard_particles {
namespace {

class CpuDisks final : public CpuEngine {
 public:
  CpuDisks(State state, int threads)
      : CpuEngine(std::move(state), threads),
        geometry_(equal_disks::geometry_of(state_)),
        run_tile_(best_level<Kernels>(MANYMOVE_LEVELS).disks),
        memory_(pool_.size()) {
    const auto plane = static_cast<std::size_t>(geometry_.plane);
    for (equal_disks::Workspace& w : memory_) {
      arrays_.make(equal_disks::kSlots * plane, w.tile, w.order);
      arrays_.make(plane, w.count);
      arrays_.make(4 * plane, w.list);
    }
  }

 private:
  void run_tile(const Draw& draw, int tile, const TileBounds& bounds, const CycleArrays& arrays,
                int thread) override {
    run_tile_(geometry_, draw, tile, bounds, arrays, memory_[thread], workers_[thread].moves);
  }

  std::vector<std::array<double, 2>> bond_order_sums(float reach2) const override {
    std::vector<std::array<double, 2>> rows(static_cast<std::size_t>(state_.rows()));
    fetch_neighbors({2, 2, 2, 2});
    for_cells([&](const int cell[3], std::size_t at, int) {
      std::array<double, 2>& sum = rows[static_cast<std::size_t>(cell[1] - state_.first_row())];
      for (int slot = 0; slot < static_cast<int>(now_.counts[at]); ++slot) {
        const Sphere& p = now_.spheres[at * equal_disks::kSlots + slot];
        equal_disks::BondOrder psi;
        // 12: the cell itself among the 5 by 5 around it
        for_particles_around<2, 1, 1>(local_, now_.spheres.data(), now_.counts.data(), cell, 2, 0,
                                      0,
                                      [&](const Sphere& q, const float away[3], int other, int t) {
                                        if (other != 12 || t != slot)
                                          psi.add(q.x - p.x + away[0], q.y - p.y + away[1], reach2);
                                      });
        psi.add_to(sum[0], sum[1]);
      }
    });
    return rows;
  }

  const equal_disks::Geometry geometry_;  // of local storage
  const equal_disks::RunTile run_tile_;
  std::vector<equal_disks::Workspace> memory_;  // of each thread
  HostArrays arrays_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(State state, int threads) {
  if (!state.equal_disks()) return make_cpu_particles(std::move(state), threads);
  return std::make_unique<CpuDisks>(std::move(state), threads);
}

}  // namespace manymove::hard_particles
