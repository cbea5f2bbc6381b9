// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a rank's engine share: its place among the ranks, its streams, its particles
// and the step that they take.
#pragma once

#include <memory>

#include "../../../parallel/transport.cuh"
#include "../../settings.h"
#include "particle_store.cuh"

namespace manymove::dpd {

// Cells all of whose particles are farther than the reach of lists from other ranks' parts, from
// first to last along each edge of the frame.
struct Core {
  int first[3], last[3];
  bool operator==(const Core&) const = default;
};
// Whether a cell is in the core; c: its place along each edge of the frame.
MM_HD bool is_core_cell(const Core& core, const int (&c)[3]) {
  bool inside = true;
  for (int a = 0; a < 3; ++a) inside = inside && c[a] >= core.first[a] && c[a] <= core.last[a];
  return inside;
}

// How far from other ranks' parts a particle is: 0 outer, 1 near, with outer ones among its
// neighbors perhaps, 2 far.
struct Depths {
  Core core, deep;
  __device__ unsigned of(const Cells& cells, unsigned x, unsigned y, unsigned z) const {
    const auto along = [&](unsigned u, int a) {
      return static_cast<int>(bin_of(u, static_cast<unsigned>(cells.count[a])));
    };
    const int cell[3] = {along(x, 0), along(y, 1), along(z, 2)};
    return !is_core_cell(core, cell) ? 0 : is_core_cell(deep, cell) ? 2 : 1;
  }
};

// The core: cells whose particles have no neighbors in other parts and are not within the reach of
// particles there. Deep: cells that are surrounded by such cells only. here: the part, grown by the
// reach of lists.
inline Depths depths_of(const Cells& cells, const Brick& own, const Brick& here) {
  Depths depths;
  auto& [core, deep] = depths;
  for (int a = 0; a < 3; ++a) {
    deep.first[a] = core.first[a] = 0;
    deep.last[a] = core.last[a] = cells.count[a] - 1;
    if (own.beyond[a] == 0xffffffffu) continue;
    // The reach of lists on one side, from the part that is grown by it on both.
    const std::uint64_t reach =
        here.beyond[a] == 0xffffffffu ? 0xffffffffu : own.low[a] - here.low[a];
    if (own.beyond[a] < 2 * reach) {
      deep.last[a] = core.last[a] = -1;
      continue;
    }
    const auto along = static_cast<std::uint32_t>(cells.count[a]);
    const auto low = own.low[a] + static_cast<std::uint32_t>(reach),
               high = own.low[a] + own.beyond[a] - static_cast<std::uint32_t>(reach);
    core.first[a] = static_cast<int>(bin_of(low, along)) + 1;
    core.last[a] = static_cast<int>(bin_of(high, along)) - 1;
    deep.first[a] = core.first[a] + 1;
    deep.last[a] = core.last[a] - 1;
  }
  return depths;
}

template <Precision P>
struct RankContext {
  // Collective. The settings and the communicator must outlive this object. tilted: the settings
  // with the box that is tilted most; base: a step of the engine.
  RankContext(const Settings& settings, const Settings& tilted, Communicator& communicator,
              const EngineStream& main, Step<P>& base)
      : settings(settings),
        ranks(decomposition(tilted, communicator, 0)),
        streams(communicator, main, settings.overlap),
        transport(
            make_transport(communicator, settings.transport, [this] { streams.finish_all(); })),
        report(ranks.parts().size(), streams),
        store(streams, settings.pairs.has_densities()),
        selection(streams, report),
        parts(on_device(ranks.parts(), main)),
        base(base) {
    base.status = report.status();
  }
  // Each rank knows the spheres of other ranks' particles that are within cutoff + skin + more of
  // its part of the box.
  static BrickDecomposition decomposition(const Settings& tilted, Communicator& communicator,
                                          double more) {
    return decomposition_of(tilted, communicator, kFarthestAhead * 0.5 * tilted.skin + more);
  }

  // In the handler of an exception, or at the end: ends what is in the streams. What other ranks
  // have not sent is undefined then, so kernels are told first to leave it alone.
  void give_up() noexcept {
    report.give_up();
    transport->abandon();
    streams.settle();
  }

  Communicator& communicator() const { return ranks.communicator(); }
  const Brick& own() const { return ranks.parts()[static_cast<std::size_t>(ranks.rank())]; }
  Absent absent() const { return {report.control(), own()}; }

  // What a sort begins with, and its result.
  CellOrder<P> to_sort() const {
    return {cells, base.motion, base.shorts, store.key[0].data(), store.order[0].data()};
  }
  CellOrder<P> sorted() const {
    return {cells, base.motion, base.shorts, store.sorted_key, store.sorted};
  }

  const Settings& settings;
  BrickDecomposition ranks;
  RankStreams streams;
  std::unique_ptr<Transport> transport;
  RankReport report;
  ParticleStore<P> store;
  Selection selection;
  const DeviceBuffer<Brick> parts;  // by rank
  Step<P>& base;                    // what does not change from step to step
  Cells cells{};
  Depths depths{};
};

}  // namespace manymove::dpd
