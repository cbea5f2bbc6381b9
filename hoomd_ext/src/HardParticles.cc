// SPDX-License-Identifier: BSD-3-Clause
#include "HardParticles.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "Arrays.h"
#include "Compat.h"
#include "HostArray.h"
#include "core/runtime/text.h"

namespace manymove::host {
using hoomd::access_mode;
using hoomd::Scalar;
using hoomd::Scalar4;

namespace {

// Among several ranks the first has all positions.
std::unique_ptr<hard_particles::Engine> engine_with(const std::vector<double>& r,
                                                    std::size_t particles,
                                                    const hard_particles::Parameters& parameters,
                                                    const std::string& device, int threads,
                                                    Communicator* ranks,
                                                    hard_particles::Repair& repaired) {
  if (!ranks) {
    auto engine = make_engine(r.data(), particles, parameters, device, threads);
    repaired = engine->repair();
    return engine;
  }
  hard_particles::Snapshot whole;
  const bool first = ranks->rank() == 0;
  together(*ranks, [&] {
    if (first) whole = make_snapshot(r.data(), particles, parameters, repaired);
  });
  auto engine =
      make_engine(first ? &whole : nullptr, particles, parameters, device, threads, *ranks);
  std::vector<hard_particles::Repair> all(static_cast<std::size_t>(ranks->ranks()));
  ranks->gather(&repaired, all.data(), sizeof repaired);
  repaired = all[0];
  return engine;
}

}  // namespace

HardParticles::HardParticles(std::shared_ptr<hoomd::SystemDefinition> system, int dimensions,
                             int threads)
    : Integrator(system, Scalar(0)),
      OnRanks(*m_exec_conf),
      dimensions_(dimensions),
      name_(dimensions == 2 ? "hoomd.manymove.HardDisks" : "hoomd.manymove.HardSpheres"),
      device_(device_of(*m_exec_conf, name_)),
      threads_(threads),
      diameter_(m_pdata->getNTypes(), NAN),
      max_displacement_(m_pdata->getNTypes(), NAN) {
#if defined(ENABLE_MPI)
  if (ranks_)
    m_comm->getComputeCallbackSignal().connect<HardParticles, &HardParticles::restore>(this);
#endif
}

HardParticles::~HardParticles() {
#if defined(ENABLE_MPI)
  if (m_sysdef->isDomainDecomposed())
    m_comm->getComputeCallbackSignal().disconnect<HardParticles, &HardParticles::restore>(this);
#endif
}

void HardParticles::refuse(const std::string& why) const {
  throw std::invalid_argument(name_ + why);
}

// ---- parameters, which hard_disks.py has checked ----

void HardParticles::set_shape(const std::string& type, const pybind11::dict& shape) {
  set(diameter_.at(m_pdata->getTypeByName(type)), shape["diameter"].cast<double>());
}

pybind11::dict HardParticles::shape(const std::string& type) const {
  pybind11::dict shape;
  shape["diameter"] = diameter_.at(m_pdata->getTypeByName(type));
  for (const char* name : {"orientable", "ignore_statistics"}) shape[name] = false;  // as in HPMC
  return shape;
}

void HardParticles::set_max_displacement(const std::string& type, double d) {
  set(max_displacement_.at(m_pdata->getTypeByName(type)), d);
}

void HardParticles::set_box_moves(double beta_pressure, bool ln_volume, bool edges_apart,
                                  double delta, const std::array<double, 3>& edge_shares,
                                  const std::array<double, 3>& weights,
                                  const std::array<double, 3>& deltas) {
  set(box_weights_, weights);
  set(box_deltas_, deltas);
  set(edges_apart_, edges_apart);
  set(edge_shares_, edge_shares);
  set(beta_pressure_, beta_pressure);
  set(ln_volume_, ln_volume);
  set(volume_delta_, delta);
}

void HardParticles::set_swap(int rounds, double range, int every) {
  set(swap_rounds_, rounds);
  set(swap_range_, range);
  set(swap_every_, every);
}

void HardParticles::set_fields(const pybind11::list& fields) {
  using hard_particles::FieldKind;
  using hard_particles::WallShape;
  std::vector<hard_particles::ExternalField> all;
  for (const pybind11::handle& each : fields) {
    const auto given = pybind11::cast<pybind11::dict>(each);
    const auto kind = given["kind"].cast<std::string>(), shape = given["shape"].cast<std::string>();
    hard_particles::ExternalField& field = all.emplace_back();
    field.kind = kind == "wall"     ? FieldKind::wall
                 : kind == "linear" ? FieldKind::linear
                                    : FieldKind::springs;
    field.shape = shape == "plane"    ? WallShape::plane
                  : shape == "sphere" ? WallShape::sphere
                                      : WallShape::cylinder;
    field.inside = given["inside"].cast<bool>();
    field.origin = given["origin"].cast<std::array<double, 3>>();
    field.direction = given["direction"].cast<std::array<double, 3>>();
    field.radius = given["radius"].cast<double>();
    field.values = given["strengths"].cast<std::vector<double>>();
    field.points = given["points"].cast<std::vector<double>>();
  }
  fields_ = std::move(all);
  stale_ = true;
}

void HardParticles::set_steps(const Steps& steps) {
  steps_.clear();
  for (const auto& [ranges, energies] : steps) steps_.push_back({ranges, energies});
  stale_ = true;
}

double HardParticles::max_displacement(const std::string& type) const {
  return max_displacement_.at(m_pdata->getTypeByName(type));
}

// Sweeps between two shifts of the grid.
int HardParticles::rounds() const {
  int rounds = 4;
  while (sweeps_per_step_ % rounds) --rounds;
  return rounds;
}

double HardParticles::common_displacement() const {
  const auto moves = [](double d) { return d != 0; };
  const auto begin = max_displacement_.begin(), end = max_displacement_.end();
  const auto first = std::find_if(begin, end, moves);
  if (first == end) refuse(": d is 0 for all particle types, so that no particle would move");
  const auto other = std::find_if(first, end, [&](double d) { return d != 0 && d != *first; });
  const auto name_of_type = [&](auto type) {
    return m_pdata->getNameByType(static_cast<unsigned int>(type - begin));
  };
  if (other != end)
    refuse(text_of(" has one d for all particle types, not d per type: ", name_of_type(first),
                   " and ", name_of_type(other), " have different d, ", *first, " and ", *other,
                   "; give all types the same, or 0 to those that never move"));
  return *first;
}

bool HardParticles::pins() const {
  return std::find(max_displacement_.begin(), max_displacement_.end(), 0.0) !=
         max_displacement_.end();
}

bool HardParticles::one_size() const {
  return std::all_of(diameter_.begin(), diameter_.end(),
                     [&](double diameter) { return diameter == diameter_[0]; });
}

// Types are identified by their diameters.
void HardParticles::check_swaps() const {
  if (swap_rounds_ == 0) return;
  if (!steps_.empty())
    refuse(": pair_potentials cannot be combined with swap moves, which exchange diameters");
  if (one_size()) refuse(": swap needs particle types of different diameters");
  std::vector<double> sizes = diameter_;
  std::sort(sizes.begin(), sizes.end());
  if (std::adjacent_find(sizes.begin(), sizes.end()) != sizes.end())
    refuse(": swap needs particle types of which no two have the same diameter");
}

// ---- running ----

void HardParticles::prepRun(std::uint64_t timestep) {
  timestep_ = timestep;
  if (check_) check_();
  follow_pressure();
  recover();
  prepare();
  if (!ranks_ && !engine_->saw_plane()) check_plane();  // a look of ranks includes z
  at_start_ = total();
  others_at_start_ = others();
  costs_ = {};
  counts_at_start_ = hand_over_counts();
  noticed_ = false;
  started_ = Clock::now();
  seconds_ = 0;
}

void HardParticles::update(std::uint64_t timestep) {
  timestep_ = timestep;
  follow_pressure();
  check_system();
  if (muvt_) engine_->set_fugacities(fugacities_ = muvt_->take_fugacities(timestep));
  if (ranks_) {
    update_spread();
    return;
  }
  const int all = cycles_per_step();
  int left = all;
  if (muvt_) {
    prepare();
  } else if (fits()) {
    const int some = std::min(left, engine_->cycles_between_writes());
    if (engine_->enqueue_if_same(static_cast<std::uint64_t>(some),
                                 Arrays(*this, access_mode::readwrite).particles()))
      left -= some;
  }
  if (left == all && !muvt_) make_engine();
  while (left > 0) {
    const int some = std::min(left, engine_->cycles_between_writes());
    if (muvt_) {
      engine_->enqueue(static_cast<std::uint64_t>(some));
      follow_number();
      engine_->write_positions(Arrays(*this, access_mode::readwrite).particles());
    } else {
      engine_->enqueue(static_cast<std::uint64_t>(some),
                       Arrays(*this, access_mode::readwrite).particles());
    }
    left -= some;
  }
  follow_box(false);
  running_ = true;
  timestep_ = timestep + 1;  // what is read or made from now on belongs there
  seconds_ = seconds_since(started_);
}

void HardParticles::recover() {
  if (!ranks_ || ranks_->watchdog().can_go_on()) return;
  running_ = false;  // its last sweeps cannot be counted
  before_ = total();
  others_before_ = others();
  engine_.reset();
  hand_over_.reset();
  stale_ = true;
  ranks_ = peers_of(*m_exec_conf);
}

void HardParticles::prepare() {
  check_system();
  if (!fits() || !(ranks_ ? same_on_all_ranks()
                          : engine_->same_positions(Arrays(*this, access_mode::read).particles())))
    make_engine();
  if (ranks_) settle();  // an engine of ranks answers for a state that is complete
}

std::string HardParticles::name_of(const Parameter& parameter) const {
  const std::string moves = edges_apart_ ? "box_moves['length']" : "box_moves['volume']";
  const std::pair<const char*, std::string> names[] = {
      {"max_displacement", "d"},
      {"moves_per_cell", "nselect"},
      {"swap_rounds", "swap['rounds']"},
      {"swap_range", "swap['range']"},
      {"pinned", "a d of 0"},
      {"fields", "external_potentials"},
      {"steps", "pair_potentials"},
      {"fugacity", "update.MuVT"},
      {"volume_delta", moves + "['delta']"},
      {"box_volume_delta", "box_moves['volume']['delta']"},
      {"box_length_delta", "box_moves['length']['delta']"},
      {"box_aspect_delta", "box_moves['aspect']['delta']"}};
  for (const auto& [ours, theirs] : names)
    if (parameter.name == ours) return theirs;
  return parameter.name;
}

bool HardParticles::fits() const {
  return !stale_ && engine_->particles() == m_pdata->getNGlobal() && box_ == box() &&
         seed_ == m_sysdef->getSeed();
}

void HardParticles::check_system() const {
  if (static_cast<int>(m_sysdef->getNDimensions()) != dimensions_)
    refuse(dimensions_ == 2 ? " needs a 2D box (Lz = 0): hoomd.manymove.HardSpheres is for 3D"
                            : " needs a 3D box: hoomd.manymove.HardDisks is for 2D");
  const hoomd::BoxDim global = m_pdata->getGlobalBox();
  if (global.getTiltFactorXY() != 0 ||
      (dimensions_ == 3 && (global.getTiltFactorXZ() != 0 || global.getTiltFactorYZ() != 0)))
    refuse(text_of(" needs a rectangular box without tilts; xy, xz and yz are ",
                   global.getTiltFactorXY(), ", ", global.getTiltFactorXZ(), " and ",
                   global.getTiltFactorYZ()));
  if (m_pdata->getMaximumTag() + 1 != m_pdata->getNGlobal())
    refuse(text_of(" needs the tags 0 to N - 1: of ", m_pdata->getNGlobal(),
                   " particles one has the tag ", m_pdata->getMaximumTag()));
}

// A snapshot of a 2D box may have particles above and below the plane.
void HardParticles::check_plane() const {
  if (dimensions_ != 2 || m_sysdef->getNDimensions() != 2) return;
  struct Found {
    std::int64_t tag;
    double z;
  } found{-1, 0};
  on_all_ranks([&] {
    const HostArray<Scalar4> position(m_pdata->getPositions());
    const HostArray<unsigned int> tag(m_pdata->getTags());
    for (unsigned int i = 0; i < m_pdata->getN(); ++i)
      if (position.data[i].z != 0 && (found.tag < 0 || tag.data[i] < found.tag))
        found = {tag.data[i], static_cast<double>(position.data[i].z)};
    if (!ranks_) return;
    std::vector<Found> all(static_cast<std::size_t>(ranks_->ranks()));
    ranks_->gather(&found, all.data(), sizeof found);
    for (const Found& other : all)
      if (other.tag >= 0 && (found.tag < 0 || other.tag < found.tag)) found = other;
  });
  if (found.tag >= 0)
    refuse(text_of(" needs z = 0 in a 2D box: the particle with tag ", found.tag,
                   " has z = ", found.z));
}

hard_particles::Parameters HardParticles::parameters() const {
  hard_particles::Parameters parameters;
  parameters.dimensions = dimensions_;
  const auto edges = box();
  std::copy_n(edges.begin(), dimensions_, parameters.box);
  parameters.steps = steps_;
  parameters.fugacities = fugacities_;
  parameters.insertion_attempts = insertion_attempts_;
  // Steps belong to pairs of types, and fugacities to types.
  if ((!steps_.empty() || muvt_) && diameter_.size() > 1) {
    parameters.types = types_by_tag();
    for (const double a : diameter_)
      for (const double b : diameter_) parameters.contacts.push_back(0.5 * (a + b));
  } else if (one_size()) {
    parameters.diameter = diameter_.at(0);
  } else {
    parameters.diameters = diameters_by_tag();
  }
  if (pins()) parameters.pinned = pinned_by_tag();
  parameters.fields = fields_by_tag();
  parameters.beta_pressure = beta_pressure_;
  parameters.ln_volume = ln_volume_;
  parameters.edges_apart = edges_apart_;
  parameters.volume_delta = volume_delta_;
  std::copy(edge_shares_.begin(), edge_shares_.end(), parameters.edge_shares);
  parameters.box_weights = box_weights_;
  parameters.box_deltas = box_deltas_;
  parameters.swap_rounds = swap_rounds_;
  parameters.swap_range = swap_range_;
  parameters.swap_every = swap_every_;
  return parameters;
}

double HardParticles::largest_displacement() const {
  check_system();
  hard_particles::Parameters of_box = parameters();
  of_box.beta_pressure = 0;
  of_box.swap_rounds = 0;
  return hard_particles::largest_displacement(of_box, m_pdata->getNGlobal());
}

void HardParticles::make_engine() {
  if (const std::string overlap = try_engine(); !overlap.empty()) refuse(overlap);
}

std::string HardParticles::try_engine() {
  check_plane();
  check_swaps();
  const double displacement = common_displacement();
  const hard_particles::Counters so_far = total();
  const OtherMoves others_so_far = others();
  const std::vector<double> r = positions_on_first();
  const std::size_t particles = m_pdata->getNGlobal();
  std::unique_ptr<hard_particles::Engine> engine;
  hard_particles::Repair repaired;
  double mean = diameter_.at(0);
  try {
    hard_particles::Parameters complete = parameters();
    complete.max_displacement = displacement;
    complete.moves_per_cell = moves_per_cell_;
    complete.rounds = rounds();
    std::fill_n(complete.tile.begin(), dimensions_, tile_);
    complete.seed = m_sysdef->getSeed();
    complete.repair_depth = repair_depth_;
    // Random numbers belong to a cycle: none is used twice, for a step has fewer cycles than 2^20.
    complete.first_cycle = std::max(timestep_ << 20, so_far.cycles);
    engine = engine_with(r, particles, complete, device_, threads_, ranks_.get(), repaired);
    if (swap_rounds_) engine->set_type_diameters(diameter_);
    if (!one_size())
      mean = mean_diameter(complete.types.empty() ? complete.diameters : diameters_by_tag());
  } catch (const ParameterError& error) {
    refuse(": " + name_of(error.about) + ' ' + error.problem);
  } catch (const ParticleError& error) {
    const std::string who = error.about.text("the particle with tag", "particles with tags");
    const std::string problem = ": " + who + ' ' + error.problem;
    if (dynamic_cast<const OverlapError*>(&error)) return problem;
    refuse(problem);
  } catch (const std::invalid_argument& error) {
    refuse(text_of(": ", error.what()));
  }
  before_.trial_moves = so_far.trial_moves;
  before_.accepted_moves = so_far.accepted_moves;
  others_before_ = others_so_far;
  engine_ = std::move(engine);
  box_ = box();
  seed_ = m_sysdef->getSeed();
  mean_diameter_ = mean;
  stale_ = false;
  repaired_ = repaired;
  if (repaired_.count)
    m_exec_conf->msg->notice(std::exchange(noticed_, true) ? 5 : 2)
        << name_ << ": pushed " << repaired_.count << " overlapping pairs apart, the deepest by "
        << repaired_.depth << (one_size() ? " diameters\n" : " contact distances\n");
  if (ranks_ && noticed_transport_ != engine_->transport()) {
    noticed_transport_ = engine_->transport();
    m_exec_conf->msg->notice(2) << name_ << ": rows of cells travel through " << noticed_transport_
                                << "\n";
  }
  // The engine realizes ratios of edges with a small error.
  if (ranks_) {
    if (!hand_over_) hand_over_ = hard_particles::make_hand_over(*ranks_, device_);
    follow_box(true);
    // Without repairs these are HOOMD-blue's positions, but for rounding.
    write_and_migrate(repaired_.count ? kAnywhere : 1);
  } else {
    engine_->write_positions(Arrays(*this, access_mode::readwrite).particles());
    follow_box(false);
  }
  return {};
}

// ---- results ----

void HardParticles::settle() {
  if (!std::exchange(running_, false) || !engine_) return;
  const auto began = Clock::now();
  if (ranks_)
    engine_->enqueue(0);  // adds the counters of ranks
  else
    engine_->counters();
  seconds_ += seconds_since(began);
}

hard_particles::Counters HardParticles::total() {
  settle();
  if (!engine_) return before_;
  hard_particles::Counters sum = engine_->counters();
  sum.trial_moves += before_.trial_moves;
  sum.accepted_moves += before_.accepted_moves;
  return sum;
}

std::array<std::uint64_t, 2> HardParticles::accepted_and_rejected() {
  const hard_particles::Counters now = total();
  const std::uint64_t accepted = now.accepted_moves - at_start_.accepted_moves;
  return {accepted, now.trial_moves - at_start_.trial_moves - accepted};
}

HardParticles::OtherMoves HardParticles::others() {
  settle();
  OtherMoves sum = others_before_;
  if (!engine_) return sum;
  const auto add = [](std::array<std::uint64_t, 2>& to,
                      const hard_particles::TrialCounters& counters) {
    to[0] += counters.trials;
    to[1] += counters.accepted;
  };
  add(sum.volume, engine_->volume_counters());
  add(sum.aspect, engine_->box_counters(hard_particles::BoxMove::aspect));
  add(sum.swap, engine_->swap_counters());
  add(sum.insertion, engine_->insertion_counters());
  add(sum.deletion, engine_->deletion_counters());
  return sum;
}

std::array<std::uint64_t, 2> HardParticles::accepted_and_rejected(Moves OtherMoves::* kind) {
  const Moves now = others().*kind, before = others_at_start_.*kind;
  const std::uint64_t accepted = now[1] - before[1];
  return {accepted, now[0] - before[0] - accepted};
}

std::array<std::uint64_t, 2> HardParticles::all_accepted_and_rejected() {
  const hard_particles::Counters now = total();
  return {now.accepted_moves, now.trial_moves - now.accepted_moves};
}

double HardParticles::moves_per_second() {
  const auto moves = accepted_and_rejected();
  return seconds_ > 0 ? static_cast<double>(moves[0] + moves[1]) / seconds_ : 0;
}

std::size_t HardParticles::overlaps() {
  check_system();
  const std::size_t particles = m_pdata->getNGlobal();
  const std::vector<double> r = positions_on_first();
  std::size_t number = 0;
  const hard_particles::Parameters sizes = parameters();
  on_first_rank([&] { number = hard_particles::count_overlaps(r.data(), particles, sizes); });
  among_ranks([&](Communicator& ranks) { ranks.sum(&number, 1); });
  return number;
}

hard_particles::ScaleDistribution HardParticles::nearest_contacts(double bin_width, int bins) {
  check_system();
  const std::vector<double> r = positions_on_first();
  const hard_particles::Parameters sizes = parameters();
  const auto all = static_cast<std::size_t>(bins);
  hard_particles::ScaleDistribution found{std::vector<double>(all), std::vector<double>(all)};
  on_first_rank([&] {
    found =
        hard_particles::nearest_contacts(r.data(), m_pdata->getNGlobal(), sizes, bin_width, bins);
  });
  among_ranks([&](Communicator& ranks) {
    for (auto* each : {&found.compression, &found.expansion}) ranks.sum(each->data(), all);
  });
  return found;
}

double HardParticles::field_energy() {
  prepare();
  double sum = 0;
  for (const double energy : engine_->field_energies()) sum += energy;
  return sum;
}

double HardParticles::pair_energy() {
  prepare();
  double sum = 0;
  for (const double energy : engine_->step_energies()) sum += energy;
  return sum / 2;
}

std::uint64_t HardParticles::state_hash() {
  prepare();
  return engine_->state_hash();
}

std::vector<std::uint64_t> HardParticles::contact_histogram(double bin_width, int bins) {
  prepare();
  return engine_->contact_histogram(bin_width, bins);
}

double HardParticles::packing_fraction() const {
  double fraction = std::acos(-1.0) / (2 * dimensions_) * m_pdata->getNGlobal();
  const auto edges = box();
  for (int a = 0; a < dimensions_; ++a)
    fraction *= mean_diameter_ / edges[static_cast<std::size_t>(a)];
  return fraction;
}

}  // namespace manymove::host
