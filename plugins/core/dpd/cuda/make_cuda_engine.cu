// SPDX-License-Identifier: BSD-3-Clause
// The choice of a CUDA engine, and what keeps the caller's current device as it was.
#include "../../runtime/device.cuh"
#include "../engines.h"
#include "../fixed_point.h"
#include "cuda_engines.h"

namespace manymove::dpd {
namespace {

template <class P>
std::unique_ptr<Engine> make(const Settings& settings, Communicator* communicator) {
  return communicator ? make_distributed_engine<P>(settings, *communicator)
                      : make_single_engine<P>(settings);
}

class GuardedEngine final : public Engine {
 public:
  template <class Make>
  GuardedEngine(int device, const Make& make) : engine_(device, make) {}

  std::string device() const override { return engine_->device(); }
  std::string transport() const override { return engine_->transport(); }
  void upload(const HostArrays& arrays, const Topology& topology, Clock clock) override {
    engine_->upload(arrays, topology, clock);
  }
  void advance(std::int64_t steps, bool (*interrupted)()) override {
    engine_->advance(steps, interrupted);
  }
  std::int64_t step() const override { return engine_->step(); }
  Tally tally() const override { return engine_->tally(); }
  void download(const HostArrays& arrays) override { engine_->download(arrays); }
  void set_velocities(int count, const std::uint32_t* tag, const double (*velocity)[3]) override {
    engine_->set_velocities(count, tag, velocity);
  }
  void set_origins(int count, const std::uint32_t* tag) override {
    engine_->set_origins(count, tag);
  }
  EngineCounters counters() const override { return engine_->counters(); }

 private:
  OnDevice<Engine> engine_;
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(const Settings& settings, int device,
                                         Communicator* communicator) {
  return std::make_unique<GuardedEngine>(device, [&] {
    return settings.pairs.double_precision ? make<Double>(settings, communicator)
                                           : make<Mixed>(settings, communicator);
  });
}

}  // namespace manymove::dpd
