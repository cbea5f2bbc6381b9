// SPDX-License-Identifier: BSD-3-Clause
// The HOOMD-blue integrator around the engines of hard disks and spheres, for CPU and GPU.
#pragma once

#include <hoomd/Integrator.h>
#include <hoomd/Variant.h>
#include <pybind11/pybind11.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "MuVT.h"
#include "Peers.h"
#include "core/hard_particles/engine.h"
#include "core/hard_particles/hand_over.h"
#include "core/runtime/errors.h"

namespace manymove::host {

// HardDisks in two and HardSpheres in three dimensions.
class HardParticles : public hoomd::Integrator, protected OnRanks {
 public:
  // dimensions: 2 or 3. threads: of the CPU engine.
  HardParticles(std::shared_ptr<hoomd::SystemDefinition> system, int dimensions, int threads);
  ~HardParticles() override;

  // Sets a function that is called when a run begins and may throw.
  void set_check(std::function<void()> check) { check_ = std::move(check); }
  void prepRun(std::uint64_t timestep) override;
  void update(std::uint64_t timestep) override;

  // By particle type; when a run begins, all types must have the same displacement or 0, with which
  // their particles never move.
  void set_shape(const std::string& type, const pybind11::dict& shape);
  pybind11::dict shape(const std::string& type) const;
  void set_max_displacement(const std::string& type, double d);
  double max_displacement(const std::string& type) const;

  int moves_per_cell() const { return moves_per_cell_; }
  void set_moves_per_cell(int moves) { set(moves_per_cell_, moves); }
  int sweeps_per_step() const { return sweeps_per_step_; }
  void set_sweeps_per_step(int sweeps) { set(sweeps_per_step_, sweeps); }
  // Largest width of a tile in cells along each axis; 0: chosen by the engine.
  void set_tile(int tile) { set(tile_, tile); }
  // A pressure over kT that changes with the time step; null: the number of set_box_moves().
  void set_pressure(std::shared_ptr<hoomd::Variant> pressure) { pressure_ = std::move(pressure); }
  // Constant pressure: pressure over kT (0: constant volume), steps uniform in ln V, in V or in the
  // length of one edge, the largest step (0: chosen), and the shares of it for each edge; with
  // edges apart, the weights and the largest steps of several kinds (all 0: one kind).
  void set_box_moves(double beta_pressure, bool ln_volume, bool edges_apart, double delta,
                     const std::array<double, 3>& edge_shares, const std::array<double, 3>& weights,
                     const std::array<double, 3>& deltas);
  // Swap moves, which exchange types: rounds of pairs (0: none), the largest difference of the
  // diameters (0: any), and the number of cycles between them.
  void set_swap(int rounds, double range, int every);
  // Insertions and deletions; null: a constant number of particles. To be called when a run begins.
  void set_muvt(std::shared_ptr<MuVT> muvt);
  // External fields, each a dictionary with the members of ExternalField; `strengths` are by type,
  // and those of hard walls half the diameters.
  void set_fields(const pybind11::list& fields);
  // Steps of the energies of pairs: ranges and energies by pairs of types.
  using Steps = std::vector<std::pair<std::vector<double>, std::vector<double>>>;
  void set_steps(const Steps& steps);
  // Energies of all particles in the fields, and of all pairs in the steps, in kT. Collective.
  double field_energy();
  double pair_energy();
  double repair_depth() const { return repair_depth_; }
  void set_repair_depth(double depth) { set(repair_depth_, depth); }

  // Trials and accepted ones of all engines: changes of the volume and of edges, of the aspect
  // ratio, swaps, insertions and deletions.
  using Moves = std::array<std::uint64_t, 2>;
  struct OtherMoves {
    Moves volume{}, aspect{}, swap{}, insertion{}, deletion{};
  };
  // Accepted and rejected since the start of the last run: moves of particles, and others.
  Moves accepted_and_rejected();
  Moves accepted_and_rejected(Moves OtherMoves::* kind);
  // Numbers of particles by the names of their types. Collective.
  std::map<std::string, std::uint64_t> numbers() const;
  double moves_per_second();
  // Costs of the steps on several ranks since the start of the last run: seconds of this rank, in
  // all and for HOOMD-blue's migration, and the counts of the hand-over, of this rank's time and of
  // the messages of all ranks. Collective.
  struct ExchangeCosts {
    std::uint64_t steps = 0, migrations = 0;
    double seconds = 0, migration_seconds = 0;
    hard_particles::HandOverCounts counts;
  };
  ExchangeCosts exchange_costs();
  // Since it was attached.
  std::array<std::uint64_t, 2> all_accepted_and_rejected();

  // Scales the box and the positions to these edges (that of z is 1 in two dimensions) and pushes
  // apart the particles that then overlap, up to a depth in contact distances. If there
  // are more than `most_overlaps` overlaps per particle, or if they cannot be pushed apart, nothing
  // changes and the result is false. Collective.
  bool resize(const std::array<double, 3>& edges, double depth, double most_overlaps);

  // Number of overlaps and hash of the present configuration.
  std::size_t overlaps();
  std::uint64_t state_hash();
  hard_particles::ScaleDistribution nearest_contacts(double bin_width, int bins);
  std::vector<std::uint64_t> contact_histogram(double bin_width, int bins);
  // Both describe the engine's particles. A mixture has the diameter of the mean area or volume.
  double packing_fraction() const;
  double diameter() const { return mean_diameter_; }
  // The largest displacement of the present box.
  double largest_displacement() const;
  hard_particles::Repair repaired() const { return repaired_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }
  class Arrays;
  // Number of cells that a particle may be outside of its domain before HOOMD-blue migrates
  // particles, unless a step moves particles by less.
  static constexpr double kCellsOutside = 4;
  static constexpr double kAnywhere = std::numeric_limits<double>::infinity();

  template <class T>
  void set(T& parameter, T value) {
    stale_ |= parameter != value;
    parameter = value;
  }
  // After an error that all ranks know of they begin again. Collective.
  void recover();
  void follow_pressure();
  std::array<double, 3> box() const;
  // Makes the engine hold HOOMD-blue's particles as they are now.
  void prepare();
  bool fits() const;  // the engine, but for the positions
  void make_engine();
  // The same, but returns the message of the error if overlaps cannot be pushed apart, otherwise an
  // empty string.
  std::string try_engine();
  void check_system() const;
  // Collective.
  void check_plane() const;
  bool one_size() const;  // whether all types have the same diameter
  // The engine compares HOOMD-blue's types only of other particles.
  bool plain_disks() const {
    return dimensions_ == 2 && one_size() && beta_pressure_ == 0 && !pins() && fields_.empty() &&
           steps_.empty() && !muvt_;
  }
  bool pins() const;  // whether the particles of some type never move
  // Parameters of the box, the sizes and the pressure.
  hard_particles::Parameters parameters() const;
  void check_swaps() const;
  // Gives HOOMD-blue as many particles as the engine has, and returns whether some have come or
  // gone. New particles have no positions yet. Collective.
  bool follow_number();
  double mean_diameter(const std::vector<double>& diameters) const;
  // Gives HOOMD-blue the box of an engine at constant pressure; `scale`: and its particles the
  // places that correspond to theirs. Collective.
  void follow_box(bool scale);
  void set_box(const std::array<double, 3>& edges);
  // Both scale positions from an earlier box to the present one; the second one does so on ranks,
  // where the device has them.
  void scale_positions(const std::array<double, 3>& before);
  void scale_held_positions(const std::array<double, 3>& before);
  double common_displacement() const;
  // Collective, as parameters() of a mixture or with pinned particles is: [N], on all ranks.
  std::vector<double> diameters_by_tag() const;
  std::vector<std::int32_t> types_by_tag() const;
  std::vector<std::uint8_t> pinned_by_tag() const;
  std::vector<hard_particles::ExternalField> fields_by_tag() const;
  // Collective: [N][D] by tag, on the first rank; empty on the others.
  std::vector<double> positions_on_first() const;
  template <class OfType>
  std::vector<double> by_tag(OfType&& of_type) const;
  [[noreturn]] void refuse(const std::string& why) const;
  // How a script names a parameter of the engine.
  std::string name_of(const Parameter& parameter) const;
  // Particles that are spread over several ranks. All calls are collective, but for those that are
  // const, begin_look() and write(), which run on_all_ranks().
  void update_spread();
  bool sweep_spread(int cycles);
  bool same_on_all_ranks();
  void begin_look();
  bool end_look();
  // Whether a particle is farther outside of its domain than allowed; and the migrations that bring
  // it back.
  bool is_far(const std::array<double, 3>& allowed) const;
  void migrate_far(const std::array<double, 3>& allowed);
  bool ghosts_needed() const;
  hard_particles::Domains domains() const;
  // `cells`: upper bound of the distance in cells that a particle has moved along an axis since the
  // previous call.
  void write(double cells);
  // Afterwards no particle is farther outside than between two steps.
  void write_and_migrate(double cells);
  hard_particles::HandOverCounts hand_over_counts() const;
#if defined(ENABLE_MPI)
  hoomd::CommFlags determineFlags(std::uint64_t timestep) override;
  void restore(std::uint64_t timestep);
#endif
  // Waits for the GPU, and counts the moves of all ranks. Collective after a step.
  void settle();
  // Moves of all engines so far.
  hard_particles::Counters total();
  OtherMoves others();
  int rounds() const;
  int cycles_per_step() const { return sweeps_per_step_ / rounds(); }

  std::function<void()> check_;
  const int dimensions_;
  const std::string name_, device_;
  const int threads_;
  std::unique_ptr<hard_particles::HandOver> hand_over_;  // null: there was no engine on ranks yet
  hard_particles::HandOverCounts counts_at_start_;
  ExchangeCosts costs_;
  hard_particles::Look look_;  // the last one
  bool was_same_ = false;      // nothing had moved particles before the last step
  std::vector<double> diameter_, max_displacement_;  // by type
  int moves_per_cell_ = 4, sweeps_per_step_ = 4;
  double repair_depth_ = 1e-4;
  int tile_ = 0;
  std::shared_ptr<hoomd::Variant> pressure_;
  double beta_pressure_ = 0, volume_delta_ = 0;
  bool ln_volume_ = true, edges_apart_ = false;
  std::array<double, 3> edge_shares_{1, 1, 1}, box_weights_{}, box_deltas_{};
  int swap_rounds_ = 0, swap_every_ = 1;
  double swap_range_ = 0;
  std::shared_ptr<MuVT> muvt_;
  std::vector<double> fugacities_;  // of this step, by type; empty without `muvt_`
  int insertion_attempts_ = 0;
  std::vector<hard_particles::ExternalField> fields_;  // with values by type
  std::vector<hard_particles::PairStep> steps_;

  std::unique_ptr<hard_particles::Engine> engine_;
  bool stale_ = true;                    // a parameter has changed since the engine was made
  std::array<double, 3> box_{};          // of the engine; edges beyond the dimensions are 1
  double mean_diameter_ = 0;             // of the engine
  std::uint64_t seed_ = 0;               // of the engine
  hard_particles::Counters before_{};    // moves of earlier engines
  hard_particles::Counters at_start_{};  // of the last run
  OtherMoves others_before_{}, others_at_start_{};
  hard_particles::Repair repaired_{};
  bool noticed_ = false;  // a repair, in this run
  std::string noticed_transport_;
  std::uint64_t timestep_ = 0;
  Clock::time_point started_;
  double seconds_ = 0;
  bool running_ = false;  // a step has been made since settle()
};

}  // namespace manymove::host
