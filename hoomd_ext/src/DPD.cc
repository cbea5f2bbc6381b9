// SPDX-License-Identifier: BSD-3-Clause
#include "DPD.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "Compat.h"
#include "DPDParticles.h"
#include "core/runtime/text.h"

namespace manymove::host {

using hoomd::Scalar;

namespace {

constexpr const char* kName = "hoomd.manymove.DPD";

// Steps of so many particles in all are made at once: the engine is faster with many steps at a
// time, and HOOMD-blue notices Ctrl-C between them.
constexpr double kParticleStepsOnCpu = 0x1p24, kParticleStepsOnGpu = 0x1p28, kMostSteps = 4096;
// The steps that are made at once have at most so many coefficients of pairs, because a kT that
// changes needs a table of them for each step.
constexpr double kMostCoefficients = 0x1p22;

// The coefficients of forces by the engine's types, which count from 1; none without forces.
template <class Force>
auto by_type(const std::vector<Force>& forces) {
  std::vector<decltype(Force::coefficients)> all(forces.empty() ? 0 : 1);
  for (const Force& each : forces) all.push_back(each.coefficients);
  return all;
}

// An error of the engine in HOOMD-blue's words: the engine's tags are HOOMD-blue's plus 1, and the
// remedy is a command of LAMMPS.
std::string in_host_words(std::string message) {
  message = message.substr(0, message.find("; a larger comm_modify"));
  const std::string word = "particle ";
  for (auto at = message.find(word); at != std::string::npos; at = message.find(word, at + 1)) {
    const auto first = at + word.size();
    auto last = first;
    while (last < message.size() && std::isdigit(static_cast<unsigned char>(message[last]))) ++last;
    if (last == first) continue;
    const auto tag = std::stoull(message.substr(first, last - first));
    message.replace(first, last - first, std::to_string(tag - 1));
  }
  return message;
}

}  // namespace

DPD::DPD(std::shared_ptr<hoomd::SystemDefinition> system, Scalar dt, int threads,
         bool double_precision)
    : Integrator(system, dt),
      OnRanks(*m_exec_conf),
      device_(device_of(*m_exec_conf, kName)),
      threads_(threads),
      double_precision_(double_precision) {
  const std::size_t pairs = std::size_t(m_pdata->getNTypes()) * m_pdata->getNTypes();
  a_.resize(pairs);
  gamma_.resize(pairs);
  weight_exponent_.resize(pairs, 1);
  r_cut_.resize(pairs);
}

void DPD::refuse(const std::string& why) const { throw std::invalid_argument(kName + why); }

// ---- parameters, which dpd.py has checked ----

std::size_t DPD::pair_of(unsigned int i, unsigned int j) const {
  return std::size_t(i) * m_pdata->getNTypes() + j;
}

std::size_t DPD::pair_of(const std::pair<std::string, std::string>& types) const {
  return pair_of(m_pdata->getTypeByName(types.first), m_pdata->getTypeByName(types.second));
}

void DPD::set_params(const std::pair<std::string, std::string>& types,
                     const pybind11::dict& params) {
  for (const std::size_t k : {pair_of(types), pair_of({types.second, types.first})}) {
    set(a_[k], params["A"].cast<double>());
    set(gamma_[k], params["gamma"].cast<double>());
    set(weight_exponent_[k], params["weight_exponent"].cast<double>());
  }
}

pybind11::dict DPD::params(const std::pair<std::string, std::string>& types) const {
  const std::size_t k = pair_of(types);
  pybind11::dict params;
  params["A"] = a_[k];
  params["gamma"] = gamma_[k];
  params["weight_exponent"] = weight_exponent_[k];
  return params;
}

void DPD::set_r_cut(const std::pair<std::string, std::string>& types, double r_cut) {
  for (const std::size_t k : {pair_of(types), pair_of({types.second, types.first})})
    set(r_cut_[k], r_cut);
}

double DPD::r_cut(const std::pair<std::string, std::string>& types) const {
  return r_cut_[pair_of(types)];
}

void DPD::set_dt(double dt) { set(m_deltaT, static_cast<Scalar>(dt)); }

void DPD::set_kT(std::shared_ptr<hoomd::Variant> kT) {
  stale_ = true;
  kT_ = std::move(kT);
}

void DPD::set_group(std::shared_ptr<hoomd::ParticleGroup> group) { group_ = std::move(group); }

void DPD::set_forces(std::vector<BondForce> bonds, std::vector<AngleForce> angles) {
  stale_ = true;
  bonds_ = std::move(bonds);
  angles_ = std::move(angles);
}

void DPD::set_schedule(Triggers readers, Triggers changers, std::uint64_t end) {
  readers_ = std::move(readers);
  changers_ = std::move(changers);
  end_ = end;
}

double DPD::temperature(std::uint64_t timestep) const {
  const double kT = (*kT_)(timestep);
  if (!(kT >= 0 && std::isfinite(kT)))
    refuse(text_of(": kT must be finite and not negative, got ", kT, " at step ", timestep));
  return kT;
}

// ---- the engine ----

void DPD::check_system() const {
  if (m_sysdef->getNDimensions() != 3) refuse(" needs a 3D box");
  if (m_pdata->getNGlobal() == 0) refuse(" needs particles");
  if (m_pdata->getMaximumTag() + 1 != m_pdata->getNGlobal())
    refuse(text_of(" needs the tags 0 to N - 1: of ", m_pdata->getNGlobal(),
                   " particles one has the tag ", m_pdata->getMaximumTag()));
}

// As LAMMPS has it: `low` is a corner, and tilts are lengths.
dpd::Box DPD::box() const {
  const hoomd::BoxDim global = m_pdata->getGlobalBox();
  const auto size = global.getL();
  const double x = size.x, y = size.y, z = size.z;
  dpd::Box box{};
  box.extent[0] = x, box.extent[1] = y, box.extent[2] = z;
  box.tilt[0] = static_cast<double>(global.getTiltFactorXY()) * y;
  box.tilt[1] = static_cast<double>(global.getTiltFactorXZ()) * z;
  box.tilt[2] = static_cast<double>(global.getTiltFactorYZ()) * z;
  box.low[0] = -0.5 * (x + box.tilt[0] + box.tilt[1]);
  box.low[1] = -0.5 * (y + box.tilt[2]);
  box.low[2] = -0.5 * z;
  for (bool& periodic : box.periodic) periodic = true;
  return box;
}

std::vector<dpd::PairCoefficients> DPD::pairs(double kT) const {
  const std::size_t kinds = kinds_.size();
  const double largest = *std::max_element(r_cut_.begin(), r_cut_.end());
  std::vector<dpd::PairCoefficients> pairs((kinds + 1) * (kinds + 1));
  for (std::size_t i = 0; i < kinds; ++i)
    for (std::size_t j = 0; j < kinds; ++j) {
      const std::size_t k = pair_of(kinds_[i].type, kinds_[j].type);
      dpd::PairCoefficients& c = pairs[(i + 1) * (kinds + 1) + j + 1];
      if (r_cut_[k] == 0) {  // no forces, as in HOOMD-blue
        c = {0, 0, 0, 1 / largest, 1};
        continue;
      }
      // sigma^2 = 2 gamma kT.
      c = {a_[k], gamma_[k], std::sqrt(2 * gamma_[k] * kT / dt()), 1 / r_cut_[k],
           weight_exponent_[k]};
    }
  return pairs;
}

dpd::Settings DPD::settings(const std::vector<dpd::PairCoefficients>& pairs) const {
  dpd::Settings settings{};
  settings.box = box();
  settings.cutoff = *std::max_element(r_cut_.begin(), r_cut_.end());
  if (!(settings.cutoff > 0)) refuse(": r_cut must be positive for at least one pair of types");
  settings.pairs.types = static_cast<int>(kinds_.size());
  settings.pairs.coefficients = pairs.data();
  settings.pairs.largest_cutoff = settings.cutoff;
  const double factors[4] = {1, 0, 1, 1};
  std::copy_n(factors, 4, settings.pairs.special);
  settings.pairs.double_precision = double_precision_;
  settings.skin = buffer_;
  if (ranks_) {
    settings.grid = grid();
    settings.bonded_reach = bonded_reach();
  }
  settings.time_step = dt();
  settings.force_to_acceleration = 1;
  settings.mass.push_back(1);  // type 0 has no particles
  for (const Kind& kind : kinds_) settings.mass.push_back(kind.mass);
  settings.seed = m_sysdef->getSeed();
  settings.bonds = by_type(bonds_);
  settings.angles = by_type(angles_);
  return settings;
}

void DPD::guarded(const std::function<void()>& call) {
  try {
    on_all_ranks(call);
  } catch (const std::exception& error) {
    // HOOMD-blue's arrays are those that were shown last; the next run begins with them.
    engine_.reset();
    pending_ = 0;
    const std::string what = text_of(kName, ": ", in_host_words(error.what()));
    if (dynamic_cast<const std::invalid_argument*>(&error)) throw std::invalid_argument(what);
    throw std::runtime_error(what);
  }
}

void DPD::make_engine() {
  check_system();
  pending_ = 0;
  Particles particles = read_particles();
  kinds_ = std::move(particles.kinds);
  const Pairs bonds = all_bonds(), bodies = all_bodies();
  Links links;
  on_each_rank([&] { links = read_links(bonds, bodies); });
  last_kT_ = temperature(timestep_);
  const std::vector<dpd::PairCoefficients> coefficients = pairs(last_kT_);
  const dpd::Settings complete = settings(coefficients);
  guarded([&] {
    engine_.reset();
    engine_ = dpd::make_engine(complete, device_, threads_, ranks_.get());
    // The forces of this time step are those after a step in which no particle moves.
    const auto now = static_cast<std::int64_t>(timestep_);
    const std::vector<std::uint32_t> at_rest(particles.tag.size(), 0);
    engine_->upload(particles.arrays(), links.topology(particles, at_rest),
                    {now - 1, timestep_ - 1});
    engine_->advance(1);
    energies_ = engine_->energy_and_virial();
    dpd::HostArrays forces{};
    forces.count = static_cast<int>(particles.tag.size());
    forces.force = particles.arrays().force;
    engine_->download(forces);
    engine_->upload(particles.arrays(), links.topology(particles, particles.flags),
                    {now, timestep_});
  });
  tag_ = std::move(particles.tag);
  seed_ = m_sysdef->getSeed();
  stale_ = false;
  clear_virials();
  show();
  remember();
}

dpd::ParameterSeries DPD::series(std::int64_t first, std::int64_t last) {
  dpd::ParameterSeries series;
  series.first = first;
  for (std::int64_t step = first; step <= last; ++step) {
    const double kT = temperature(static_cast<std::uint64_t>(step));
    if (kT == last_kT_) continue;
    last_kT_ = kT;
    series.coefficients.push_back({step, pairs(kT), by_type(bonds_), by_type(angles_), {}, {}});
  }
  return series;
}

void DPD::catch_up() {
  if (pending_ == 0) return;
  guarded([&] {
    const std::int64_t now = engine_->step();
    dpd::ParameterSeries changes = series(now + 1, now + pending_);
    if (!changes.coefficients.empty()) engine_->set_parameter_series(std::move(changes));
    engine_->advance(pending_);
    energies_ = engine_->energy_and_virial();
  });
  pending_ = 0;
}

void DPD::be_current() {
  if (!engine_)
    throw std::runtime_error(
        text_of(kName, " has no results after an error: they are there when another run begins"));
  catch_up();
  if (shown_) return;
  show();
  remember();
}

// ---- running ----

void DPD::prepRun(std::uint64_t timestep) {
  timestep_ = timestep;
  recover();
  const auto now = static_cast<std::int64_t>(timestep);
  if (engine_ && engine_->step() + pending_ == now) be_current();  // after an interruption
  if (check_) check_();
  check_system();
  if (!engine_ || stale_ || seed_ != m_sysdef->getSeed() || engine_->step() != now ||
      checksum_ != checksum())
    make_engine();
  may_change_ = due(changers_, timestep);
  first_step_ = timestep;
  started_ = Clock::now();
}

bool DPD::due(const Triggers& triggers, std::uint64_t timestep) const {
  bool any = false;
  for (const auto& trigger : triggers) any |= (*trigger)(timestep);
  return any;
}

void DPD::update(std::uint64_t timestep) {
  timestep_ = timestep;
  const double of_particles =
      m_exec_conf->isCUDAEnabled() ? kParticleStepsOnGpu : kParticleStepsOnCpu;
  const double types = 1 + static_cast<double>(kinds_.size());
  if (pending_ >= std::min({kMostSteps, of_particles / m_pdata->getNGlobal(),
                            kMostCoefficients / (types * types)}))
    catch_up();
  // HOOMD-blue itself notices signals after a step, when its arrays may be those of an earlier one.
  // Several ranks could notice them at different steps.
  if (!ranks_ && PyErr_CheckSignals() != 0) {
    be_current();
    if (!checksum_) remember();
    throw pybind11::error_already_set();
  }
  if (may_change_ && (stale_ || checksum_ != checksum())) make_engine();
  ++pending_;
  timestep_ = timestep + 1;
  shown_ = false;
  may_change_ = due(changers_, timestep_);
  const bool looked_at = due(readers_, timestep_);
  if (may_change_ || looked_at || timestep_ >= end_) {
    catch_up();
    show();
    // A writer does not change particles.
    if (may_change_ || timestep_ >= end_) remember();
  }
}

Scalar DPD::getTranslationalDOF(std::shared_ptr<hoomd::ParticleGroup> group) {
  if (!group_) return 0;
  const unsigned int N = m_pdata->getNGlobal();
  Scalar freedom = 3 * Scalar(group->intersectionSize(group_));
  // Momentum is conserved if all particles move.
  if (group_->getNumMembersGlobal() == N)
    freedom -= 3 * (Scalar(group->getNumMembersGlobal()) / Scalar(N));
  return freedom;
}

// ---- results ----

double DPD::degrees_of_freedom() { return static_cast<double>(getTranslationalDOF(group_)); }

std::uint64_t DPD::builds() {
  return engine_ ? static_cast<std::uint64_t>(engine_->counters().builds) : 0;
}

double DPD::steps_per_second() {
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const auto steps = static_cast<double>(timestep_ - first_step_);
  return seconds > 0 ? steps * m_pdata->getNGlobal() / seconds : 0;
}

}  // namespace manymove::host
