// SPDX-License-Identifier: BSD-3-Clause
// The HOOMD-blue updater of insertions and deletions, which the engine of an integrator makes.
#pragma once

#include <hoomd/Updater.h>
#include <hoomd/Variant.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace manymove::host {

// Holds the settings. In a step in which it is triggered, it comes before the integrator, which
// asks for the fugacities of the step.
class MuVT : public hoomd::Updater {
 public:
  MuVT(std::shared_ptr<hoomd::SystemDefinition> system, std::shared_ptr<hoomd::Trigger> trigger);

  void update(std::uint64_t timestep) override;
  void begin() { due_ = false; }  // of a run of the integrator
  // The fugacities [types] of a step, all 0 if it was not triggered. Throws std::invalid_argument
  // if one of a type that is transferred is not positive.
  std::vector<double> take_fugacities(std::uint64_t timestep);

  void set_transfer_types(const std::vector<std::string>& types);
  std::vector<std::string> transfer_types() const { return transfer_types_; }
  void set_fugacity(const std::string& type, std::shared_ptr<hoomd::Variant> fugacity);
  std::shared_ptr<hoomd::Variant> fugacity(const std::string& type) const;
  // Trial insertions and deletions in a visit of a cell.
  int attempts() const { return attempts_; }
  void set_attempts(int attempts) { attempts_ = attempts; }

 private:
  std::vector<std::string> transfer_types_;
  std::vector<std::shared_ptr<hoomd::Variant>> fugacity_;  // by type
  int attempts_ = 4;
  bool due_ = false;  // in this step, and no integrator has asked yet
};

}  // namespace manymove::host
