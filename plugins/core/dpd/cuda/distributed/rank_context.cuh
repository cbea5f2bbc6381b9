// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a rank's engine share: its place among the ranks, its streams, its particles
// and the step that they take.
#pragma once

#include <memory>
#include <vector>

#include "../../../parallel/transport.cuh"
#include "../../decomposition.h"
#include "../step_constants.cuh"
#include "particle_store.cuh"
#include "rank_report.cuh"
#include "rank_streams.cuh"
#include "selection.cuh"

namespace manymove::dpd {

template <class P>
struct RankContext {
  // Collective. The settings and the communicator must outlive this object.
  RankContext(const Settings& settings, Communicator& communicator)
      : settings(settings),
        ranks(settings, communicator, kFarthestAhead * 0.5 * settings.skin),
        streams(communicator, settings.overlap),
        constants(settings, streams.main),
        transport(
            make_transport(communicator, settings.transport, [this] { streams.finish_all(); })),
        report(ranks.parts().size(), streams),
        store(streams),
        selection(streams, report),
        parts(on_device(ranks.parts(), streams.main)),
        base(constants.step()) {
    base.watch = report.watch();
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
  // Particles of this rank that a block of a step has.
  int block() const { return kThreads / lanes; }
  Lists lists() const { return store.lists(kIntegers<P> ? block() : 0); }

  const Settings& settings;
  Decomposition ranks;
  RankStreams streams;
  const StepConstants<P> constants;
  std::unique_ptr<Transport> transport;
  RankReport report;
  ParticleStore<P> store;
  Selection selection;
  const DeviceBuffer<Brick> parts;  // by rank
  Step<P> base;                     // what does not change from step to step
  Cells cells{};
  Depths depths{};
  int lanes = 1;
};

}  // namespace manymove::dpd
