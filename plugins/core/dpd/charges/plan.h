// SPDX-License-Identifier: BSD-3-Clause
// What an engine prepares for the electrostatic forces of its settings, in the memory of the host.
#pragma once

#include <array>
#include <vector>

#include "../../parallel/communicator.h"
#include "../engine.h"
#include "model.h"

namespace manymove::dpd {

struct TaggedCharge {
  std::uint32_t tag;
  double charge;
};
// The number of the charge of a particle, in the order of tags, or -1.
MM_HD int number_of(const TaggedCharge* charge, int charges, std::uint32_t tag) {
  int number = 0;
  for (int end = charges; number < end;) {
    const int middle = number + (end - number) / 2;
    if (charge[middle].tag < tag)
      number = middle + 1;
    else
      end = middle;
  }
  return number < charges && charge[number].tag == tag ? number : -1;
}
// A special neighbor of a charge, and the share of its forces that is left out.
struct SpecialLink {
  std::uint32_t tag, partner;
  double left_out;
};

struct ChargePlan {
  // settings: under shear with the box that is tilted most.
  explicit ChargePlan(const Settings& settings);
  // Under shear: the box has this tilt. Then influence function and waves are filled again.
  void set_tilt(double tilt);
  // Takes the charges and special neighbors of these particles and of those of all other ranks;
  // communicator: null for one rank. Collective. Throws std::invalid_argument for a net charge with
  // waves, because a sum over all periodic images needs a neutral box.
  void take(int count, const Topology& topology, Communicator* communicator);
  int number_of(std::uint32_t tag) const {
    return dpd::number_of(charge.data(), static_cast<int>(charge.size()), tag);
  }

  // The sums of a state; pairs and waves are sums over charges and waves, in the units of the law.
  EnergySum of_pairs(const ChargeTotals& sums) const;
  EnergySum of_waves(const WaveSums& waves, std::int64_t dipole) const;
  // Sums over the waves one by one; sum: ChargeWaves::sum.
  WaveSums add_waves(const std::int64_t* sum) const;

  // Whether places need tails: smeared charges do not depend on their last bits.
  bool has_tails = false;
  int cells() const { return law.cells[0] * law.cells[1] * law.cells[2]; }

  ChargeLaw law{};                                                      // without tables
  ChargeMesh mesh{};                                                    // without arrays
  ChargeWaves waves{};                                                  // the same
  std::vector<Cubic<double>> force, energy, whole_force, whole_energy;  // of the law
  std::vector<Cubic<float>> single_force;
  std::vector<InfluenceLine> line[3];  // of the mesh
  std::vector<Wave> twiddle[3];
  std::vector<ChargeWave> wave;      // without forces
  std::vector<TaggedCharge> charge;  // of all ranks, by number, in the order of tags
  // Special neighbors by number.
  std::vector<int> first_special;  // empty if there are none
  std::vector<SpecialCharge> special;

 private:
  // The entry of a triangular matrix that shear changes.
  auto& sheared(auto& matrix) const { return entry_of_tilt(matrix, shear_.tilt()); }
  void make_waves(const Settings& settings);
  void make_mesh(const Settings& settings);
  std::vector<SpecialLink> links_of(int count, const Topology& topology) const;
  void take_links(const std::vector<SpecialLink>& links);

  double cutoff_, splitting_;
  bool points_;
  Shear shear_;
  double left_out_[4] = {};                          // by kind of special neighbors
  double per_volume_ = 0, period_[3], quarter_ = 0;  // of waves: coupling / V, and 1 / (4 alpha^2)
  ReciprocalLattice lattice_{};
  bool slab_ = false;
  double largest_force_ = 0, largest_energy_ = 0;  // of two unit charges
  double squares_ = 0;                             // sum of q^2
  std::array<double, 3> frame_, frame_widths_;     // edges, and distances of opposite faces
};

}  // namespace manymove::dpd
