// SPDX-License-Identifier: BSD-3-Clause
#include "MuVT.h"

#include <stdexcept>
#include <utility>

#include "core/runtime/text.h"

namespace manymove::host {

namespace {

const std::string kName = "hoomd.manymove.update.MuVT";

}  // namespace

MuVT::MuVT(std::shared_ptr<hoomd::SystemDefinition> system, std::shared_ptr<hoomd::Trigger> trigger)
    : Updater(std::move(system), std::move(trigger)),
      fugacity_(m_pdata->getNTypes(), std::make_shared<hoomd::VariantConstant>(0)) {}

void MuVT::update(std::uint64_t timestep) {
  Updater::update(timestep);
  if (std::exchange(due_, true))
    throw std::runtime_error(kName +
                             ": the integrator with which it was attached has been replaced by one "
                             "that is not of hoomd.manymove: remove the updater");
}

std::vector<double> MuVT::take_fugacities(std::uint64_t timestep) {
  std::vector<double> found(fugacity_.size());
  if (!std::exchange(due_, false)) return found;
  for (const std::string& type : transfer_types_) {
    const unsigned int at = m_pdata->getTypeByName(type);
    found[at] = (*fugacity_[at])(timestep);
    if (!(found[at] > 1e-200 && found[at] < 1e200))
      throw std::invalid_argument(text_of(
          kName, ": fugacity[\"", type, "\"] must be positive, from 1e-200 to 1e200, because ",
          type, " is in transfer_types; it is ", found[at], " at step ", timestep));
  }
  return found;
}

void MuVT::set_transfer_types(const std::vector<std::string>& types) {
  for (const std::string& type : types) m_pdata->getTypeByName(type);  // throws
  transfer_types_ = types;
}

void MuVT::set_fugacity(const std::string& type, std::shared_ptr<hoomd::Variant> fugacity) {
  fugacity_.at(m_pdata->getTypeByName(type)) = std::move(fugacity);
}

std::shared_ptr<hoomd::Variant> MuVT::fugacity(const std::string& type) const {
  return fugacity_.at(m_pdata->getTypeByName(type));
}

}  // namespace manymove::host
