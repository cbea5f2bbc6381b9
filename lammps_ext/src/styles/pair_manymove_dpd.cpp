// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/pair_manymove_dpd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "atom.h"
#include "comm.h"
#include "core/runtime/simd.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "memory.h"
#include "mpi_communicator.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::PairCoefficients;

namespace {

constexpr int kMinimization = 2;  // Update::whichflag
// Settings in restart files begin with this; those without the number of the draw begin with a
// temperature.
constexpr double kWithDraws = -1;

template <class T>
void write_one(FILE* fp, const T& value) {
  fwrite(&value, sizeof(T), 1, fp);
}

bool is_possible(double value) { return value >= 0 && std::isfinite(value); }

}  // namespace

PairManymoveDPD::PairManymoveDPD(LAMMPS* lmp) : Pair(lmp) {
  writedata = 1;
  comm_forward = 3;
  if (comm->nprocs > 1) communicator_of(lmp);  // compares versions, and watches the ranks
}

PairManymoveDPD::~PairManymoveDPD() {
  if (device_) device_->forget_pair();  // a run that has failed may have left it
  if (!allocated) return;
  memory->destroy(setflag);
  for (double** array : created_) memory->destroy(array);
}

// ---- forces ----

void PairManymoveDPD::compute(int eflag, int vflag) {
  ev_init(eflag, vflag);
  const std::uint64_t number = draw();
  const bool each_pair = eflag_atom || vflag_atom || cvflag_atom || num_tally_compute > 0;
  if (device_ && !each_pair) {
    add_forces_of_device(number);
    return add_charges();
  }
  if (list->occasional) neighbor->build_one(list);
  find_images();
  density_ = find_densities();
  if (list->inum > 0) {
    const auto tally = [](void* pair, int i, int j, double energy, double force_over_distance,
                          const double* force, double dx, double dy, double dz) {
      auto* self = static_cast<PairManymoveDPD*>(pair);
      if (force)
        return self->ev_tally_xyz(i, j, self->atom->nlocal, self->force->newton_pair, energy, 0.0,
                                  force[0], force[1], force[2], dx, dy, dz);
      self->ev_tally(i, j, self->atom->nlocal, self->force->newton_pair, energy, 0.0,
                     force_over_distance, dx, dy, dz);
    };
    const manymove::dpd::PairCallback each{tally, this};
    add_forces(number, vflag_either || eflag_atom ? &each : nullptr);
  }
  add_charges();
  if (vflag_fdotr) virial_fdotr_compute();
}

void PairManymoveDPD::add_forces_of_device(std::uint64_t number) {
  const manymove::dpd::EnergyAndVirial sums = device_->add_forces(number);
  if (eflag_global) eng_vdwl += sums.pairs.energy;
  for (int a = 0; vflag_global && a < 6; ++a) virial[a] += sums.pairs.virial[a];
}

// An engine has no forces on ghosts, from which LAMMPS could compute the virial.
void PairManymoveDPD::attach(ForcesOfEngine* device) {
  device_ = device;
  no_virial_fdotr_compute = device ? 1 : 0;
}

// With a callback the energy of each pair goes there, else their sum to LAMMPS.
void PairManymoveDPD::add_forces(std::uint64_t number,
                                 const manymove::dpd::PairCallback* callback) {
  const int all = atom->nlocal + atom->nghost;
  const ScalarsOnHost carried = scalars_on_host();
  const manymove::dpd::Particles particles{
      atom->nlocal,
      reinterpret_cast<const double (*)[3]>(atom->x[0]),
      reinterpret_cast<const double (*)[3]>(atom->v[0]),
      atom->type,
      tags(),
      image_.empty() ? nullptr : reinterpret_cast<const int (*)[3]>(image_.data()),
      density_,
      carried.scalars};
  const manymove::dpd::NeighborList neighbors{list->inum, list->ilist, list->numneigh,
                                              list->firstneigh};
  double energy = 0;
  try {
    forces_->add(
        table_of_step(), particles, neighbors, seed(), number,
        {force->newton_pair ? all : atom->nlocal, reinterpret_cast<double (*)[3]>(atom->f[0]),
         eflag_global && !callback ? &energy : nullptr, callback, carried.flux});
    take_flux();
  } catch (const std::bad_alloc&) {
    error->one(FLERR, "Pair style {}: out of memory for {} particles in {} threads", style_, all,
               threads_);
  }
  eng_vdwl += energy;
}

manymove::dpd::PairTable PairManymoveDPD::table() {
  manymove::dpd::PairTable table;
  table.types = atom->ntypes;
  table.coefficients = fill_table();
  table.largest_cutoff = largest_cutoff_;
  table.special[0] = 1;
  for (int k = 1; k < 4; ++k) table.special[k] = force->special_lj[k];
  table.double_precision = double_precision_ != 0;
  table.ramp = ramp();
  return table;
}

// Temperatures of the run over that of the coefficients.
manymove::dpd::NoiseRamp PairManymoveDPD::ramp() const {
  if (first_temperature_ == last_temperature_) return {};
  return {first_temperature_ / temperature_, last_temperature_ / temperature_, update->beginstep,
          update->endstep};
}

// The law at the temperature of the present step.
manymove::dpd::PairTable PairManymoveDPD::table_of_step() {
  manymove::dpd::PairTable present = table();
  if (present.ramp.is_constant()) return present;
  const double factor = present.ramp.factor(update->ntimestep);
  for (PairCoefficients& c : table_) {
    c.sigma *= factor;
    c.transverse_sigma *= factor;
  }
  return present;
}

bool PairManymoveDPD::is_moving() const { return update->whichflag != kMinimization; }

double PairManymoveDPD::sigma_of(double gamma) const {  // Eq. 9
  return std::sqrt(2.0 * force->boltz * temperature_ * gamma);
}

PairCoefficients& PairManymoveDPD::coefficients_of(int i, int j) {
  return table_[static_cast<std::size_t>(i * (atom->ntypes + 1) + j)];
}

bool PairManymoveDPD::is_active(int i, int j) const {
  return active_[static_cast<std::size_t>(i * (atom->ntypes + 1) + j)] != 0;
}

// Minimization has no time in which anything could dissipate or fluctuate: the conservative force
// alone acts.
const PairCoefficients* PairManymoveDPD::fill_table() {
  const int n = atom->ntypes + 1;
  const bool moving = is_moving();
  const double over_root = moving ? 1.0 / std::sqrt(update->dt) : 0.0;
  table_.resize(static_cast<std::size_t>(n) * n);
  // In a hybrid style other pairs of types belong to other styles.
  const PairCoefficients none{0, 0, 0, 1.0 / largest_cutoff_, 1};
  for (int i = 1; i < n; ++i)
    for (int j = 1; j < n; ++j)
      table_[i * n + j] = is_active(i, j) ? PairCoefficients{a_[i][j], moving ? gamma_[i][j] : 0.0,
                                                             sigma_[i][j] * over_root,
                                                             1.0 / cut_[i][j], exponent_[i][j]}
                                          : none;
  return table_.data();
}

const std::uint32_t* PairManymoveDPD::tags() {
  if constexpr (sizeof(tagint) == sizeof(std::uint32_t)) {
    return reinterpret_cast<const std::uint32_t*>(atom->tag);
  } else {
    short_tags_.assign(atom->tag, atom->tag + atom->nlocal + atom->nghost);
    return short_tags_.data();
  }
}

// ---- random numbers ----

// The number is the step unless steps were repeated. Nothing is drawn during minimization.
std::uint64_t PairManymoveDPD::draw() {
  const bool in_setup = std::exchange(setting_up_, false);
  const std::int64_t step = update->ntimestep;
  if (update->whichflag == kMinimization) return 0;
  const bool same = step == drawn_step_;
  if (step < drawn_step_)
    draws_ahead_ += drawn_step_ + 1;  // beyond all numbers so far
  else if (same && in_setup && drawn_in_setup_ && update->nsteps == 0)
    ++draws_ahead_;
  drawn_in_setup_ = in_setup || (same && drawn_in_setup_);
  drawn_step_ = step;
  return static_cast<std::uint64_t>(step + draws_ahead_);
}

// Finds which images of their particles the ghosts are, if an edge is shorter than twice the
// cutoff.
void PairManymoveDPD::find_images() {
  const double* h = domain->h;
  double height[3] = {h[0], h[1], h[2]};
  if (domain->triclinic) {
    // The volume over the area of each face; h = xx, yy, zz, yz, xz, xy.
    const double volume = h[0] * h[1] * h[2];
    height[0] =
        volume / std::hypot(h[1] * h[2], std::hypot(h[5] * h[2], h[5] * h[3] - h[1] * h[4]));
    height[1] = volume / std::hypot(h[0] * h[2], h[0] * h[3]);
  }
  for (int a = 0; a < domain->dimension; ++a)
    narrow_[a] = domain->periodicity[a] && height[a] < 2 * largest_cutoff_;
  image_.clear();
  if (!narrow_[0] && !narrow_[1] && !narrow_[2]) return;
  image_.resize(static_cast<std::size_t>(atom->nlocal) + atom->nghost);
  comm->forward_comm(this);
}

// A ghost has the image of the atom or ghost that it copies, plus the periods between the two.
int PairManymoveDPD::pack_forward_comm(int n, int* list, double* buffer, int, int* pbc) {
  for (int k = 0; k < n; ++k)
    for (int a = 0; a < 3; ++a) *buffer++ = image_[list[k]][a] + (narrow_[a] ? pbc[a] : 0);
  return 3 * n;
}

void PairManymoveDPD::unpack_forward_comm(int n, int first, double* buffer) {
  for (int k = first; k < first + n; ++k)
    for (int a = 0; a < 3; ++a) image_[k][a] = static_cast<int>(*buffer++);
}

// ---- settings ----

void PairManymoveDPD::allocate() {
  allocated = 1;
  const int n = atom->ntypes + 1;
  memory->create(setflag, n, n, "pair:setflag");
  std::fill_n(setflag[0], n * n, 0);
  create(cutsq, "pair:cutsq");
  create(a_, "pair:a");
  create(gamma_, "pair:gamma");
  create(sigma_, "pair:sigma");
  create(cut_, "pair:cut");
  create(exponent_, "pair:weight_exponent");
}

void PairManymoveDPD::create(double**& array, const char* name) {
  const int n = atom->ntypes + 1;
  memory->create(array, n, n, name);
  std::fill_n(array[0], n * n, 0.0);
  created_.push_back(array);
}

std::vector<std::pair<int, int>> PairManymoveDPD::types_in(char** range) const {
  int ilo, ihi, jlo, jhi;
  utils::bounds(FLERR, range[0], 1, atom->ntypes, ilo, ihi, error);
  utils::bounds(FLERR, range[1], 1, atom->ntypes, jlo, jhi, error);
  std::vector<std::pair<int, int>> pairs;
  for (int i = ilo; i <= ihi; ++i)
    for (int j = std::max(jlo, i); j <= jhi; ++j) pairs.emplace_back(i, j);
  return pairs;
}

// pair_style manymove/dpd T cutoff seed [weight_exponent s] [precision mixed|double]
// [threads n]; instead of T, thermostats have Tstart Tstop
void PairManymoveDPD::settings(int narg, char** arg) {
  const int more = thermostat_ ? 1 : 0;
  if (narg < 3 + more) utils::missing_cmd_args(FLERR, "pair_style " + style_, error);
  first_temperature_ = not_negative("Pair style", "temperature", arg[0]);
  last_temperature_ = not_negative("Pair style", "temperature", arg[more]);
  temperature_ = std::max(first_temperature_, last_temperature_);
  arg += more;
  narg -= more;
  cutoff_ = positive("Pair style", "cutoff", arg[1]);
  seed_ = utils::inumeric(FLERR, arg[2], false, lmp);
  if (seed_ <= 0) error->all(FLERR, "Pair style {}: seed {} must be positive", style_, arg[2]);

  weight_exponent_ = 1;
  double_precision_ = 0;
  threads_ = 1;
  for (int k = 3; k < narg; k += 2) {
    const std::string keyword = arg[k];
    if (keyword != "weight_exponent" && keyword != "precision" && keyword != "threads")
      error->all(FLERR, "Pair style {}: unknown keyword {} (weight_exponent, precision, threads)",
                 style_, keyword);
    if (k + 1 == narg)
      utils::missing_cmd_args(FLERR, "pair_style " + style_ + " " + keyword, error);
    const std::string value = arg[k + 1];
    if (keyword == "weight_exponent") {
      weight_exponent_ = not_negative("Pair style", "weight_exponent", arg[k + 1]);
    } else if (keyword == "threads") {
      threads_ = utils::inumeric(FLERR, value, false, lmp);
      if (threads_ < 1)
        error->all(FLERR, "Pair style {}: threads {} must be positive", style_, value);
    } else if (value == "mixed" || value == "double") {
      double_precision_ = value == "double";
    } else {
      error->all(FLERR, "Pair style {}: precision {} must be mixed or double", style_, value);
    }
  }

  if (allocated) {
    for (int i = 1; i <= atom->ntypes; ++i)
      for (int j = i; j <= atom->ntypes; ++j)
        if (setflag[i][j]) cut_[i][j] = cutoff_;
  }
}

// pair_coeff i j a gamma [cutoff] [weight_exponent s]; thermostats have no a
void PairManymoveDPD::coeff(int narg, char** arg) {
  refuse_name_of_style(narg, arg);
  char zero[] = "0";
  std::vector<char*> with_a(arg, arg + narg);
  if (thermostat_ && narg >= 3) {
    with_a.insert(with_a.begin() + 2, zero);
    arg = with_a.data();
    ++narg;
  }
  if (narg < 4)
    utils::missing_cmd_args(
        FLERR, fmt::format("pair_coeff i j {}gamma ({})", thermostat_ ? "" : "a ", style_), error);
  if (!allocated) allocate();

  const auto types = types_in(arg);
  const double a = utils::numeric(FLERR, arg[2], false, lmp);
  if (!std::isfinite(a)) error->all(FLERR, "Pair coeff {}: a {} must be finite", style_, arg[2]);
  const double gamma = not_negative("Pair coeff", "gamma", arg[3]);

  int next = 4;
  double cutoff = cutoff_, exponent = weight_exponent_;
  if (next < narg && strcmp(arg[next], "weight_exponent") != 0)
    cutoff = positive("Pair coeff", "cutoff", arg[next++]);
  if (next < narg) {
    if (strcmp(arg[next], "weight_exponent") != 0)
      error->all(FLERR, "Pair coeff {}: unknown keyword {} (weight_exponent)", style_, arg[next]);
    if (next + 1 == narg)
      utils::missing_cmd_args(FLERR, "pair_coeff (" + style_ + ") weight_exponent", error);
    exponent = not_negative("Pair coeff", "weight_exponent", arg[next + 1]);
    next += 2;
  }
  if (next < narg) error->all(FLERR, "Pair coeff {}: unexpected argument {}", style_, arg[next]);

  for (const auto& [i, j] : types) {
    a_[i][j] = a;
    gamma_[i][j] = gamma;
    cut_[i][j] = cutoff;
    exponent_[i][j] = exponent;
    setflag[i][j] = 1;
  }
  if (types.empty())
    error->all(FLERR, "Pair coeff {}: no pair of types with i <= j among {} {}", style_, arg[0],
               arg[1]);
}

double PairManymoveDPD::not_negative(const char* command, const char* name,
                                     const char* text) const {
  const double value = utils::numeric(FLERR, text, false, lmp);
  if (value < 0)
    error->all(FLERR, "{} {}: {} {} must not be negative", command, style_, name, text);
  if (!is_possible(value))
    error->all(FLERR, "{} {}: {} {} must be finite", command, style_, name, text);
  return value;
}

double PairManymoveDPD::positive(const char* command, const char* name, const char* text) const {
  const double value = utils::numeric(FLERR, text, false, lmp);
  if (value <= 0) error->all(FLERR, "{} {}: {} {} must be positive", command, style_, name, text);
  return not_negative(command, name, text);
}

// Input scripts for hybrid/overlay have the name of the style after the types.
void PairManymoveDPD::refuse_name_of_style(int narg, char** arg) {
  if (narg < 3 || !strstr(arg[2], "dpd")) return;
  error->all(FLERR,
             "Pair coeff {}: {} is not a number; the name of a style is given in hybrid pair "
             "styles only",
             style_, arg[2]);
}

bool PairManymoveDPD::is_noisy(int i, int j) const { return sigma_of(gamma_[i][j]) > 0; }

// Two instances with one seed give a pair of atoms the same random number: their noise adds up
// coherently, and the temperature is too high.
void PairManymoveDPD::check_seeds(int i, int j) {
  if (!is_noisy(i, j)) return;
  const Pair* previous = nullptr;
  for (int k = 1;; ++k) {
    Pair* const pair = force->pair_match("^manymove/", 0, k);
    if (pair == nullptr || pair == previous) return;
    previous = pair;
    const auto* const other = dynamic_cast<const PairManymoveDPD*>(pair);
    if (other == nullptr || other == this || other->seed_ != seed_) continue;
    // Those that LAMMPS has asked before this one.
    if (other->is_active(i, j) && other->is_noisy(i, j))
      error->all(FLERR,
                 "Pair styles {} and {} have the same seed {} and both act on types {} {}: their "
                 "random forces would be equal; give them different seeds",
                 other->style_, style_, seed_, i, j);
  }
}

void PairManymoveDPD::init_style() {
  if (!atom->tag_enable)
    error->all(FLERR, "Pair style {} needs atom IDs (atom_modify id yes)", style_);
  if (!comm->ghost_velocity)
    error->all(FLERR,
               "Pair style {} needs the velocities of ghost atoms "
               "(comm_modify vel yes)",
               style_);
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR,
               "Pair style {} draws one random number per pair and step and does "
               "not work with run_style respa",
               style_);
  if (is_moving() && !(update->dt > 0))
    error->all(FLERR, "Pair style {}: timestep {} must be positive, because of the random forces",
               style_, update->dt);
  try {
    manymove::simd_level();
    forces_ = std::make_unique<manymove::dpd::PairForces>(threads_);
  } catch (const std::exception& failure) {
    error->all(FLERR, "Pair style {}: {}", style_, failure.what());
  }
  neighbor->add_request(this,
                        lists_on_demand_ ? NeighConst::REQ_OCCASIONAL : NeighConst::REQ_DEFAULT);
  largest_cutoff_ = 0;
  active_.assign(static_cast<std::size_t>(atom->ntypes + 1) * (atom->ntypes + 1), 0);
}

double PairManymoveDPD::init_one(int i, int j) {
  if (!setflag[i][j]) error->all(FLERR, "Pair style {}: pair_coeff {} {} is missing", style_, i, j);
  // Styles with a single temperature: fix adapt may have changed it.
  if (!thermostat_) first_temperature_ = last_temperature_ = temperature_;
  sigma_[i][j] = sigma_of(gamma_[i][j]);
  for (double** array : created_) array[j][i] = array[i][j];
  largest_cutoff_ = std::max(largest_cutoff_, cut_[i][j]);
  const std::size_t n = static_cast<std::size_t>(atom->ntypes) + 1;
  active_[i * n + j] = active_[j * n + i] = 1;
  check_seeds(i, j);
  return cut_[i][j];
}

void PairManymoveDPD::setup() { setting_up_ = true; }

// ---- restart and data files ----

std::vector<double**> PairManymoveDPD::coefficients_in_restarts() const {
  std::vector<double**> all{a_, gamma_, cut_, exponent_};
  for (double** const array : more_coefficients()) all.push_back(array);
  return all;
}

void PairManymoveDPD::write_restart(FILE* fp) {
  write_restart_settings(fp);
  const std::vector<double**> arrays = coefficients_in_restarts();
  for (int i = 1; i <= atom->ntypes; ++i) {
    for (int j = i; j <= atom->ntypes; ++j) {
      write_one(fp, setflag[i][j]);
      if (!setflag[i][j]) continue;
      for (double** const array : arrays) write_one(fp, array[i][j]);
    }
  }
}

void PairManymoveDPD::read_restart(FILE* fp) {
  read_restart_settings(fp);
  allocate();
  const std::vector<double**> arrays = coefficients_in_restarts();
  for (int i = 1; i <= atom->ntypes; ++i) {
    for (int j = i; j <= atom->ntypes; ++j) {
      if (comm->me == 0) utils::sfread(FLERR, &setflag[i][j], sizeof(int), 1, fp, nullptr, error);
      MPI_Bcast(&setflag[i][j], 1, MPI_INT, 0, world);
      if (!setflag[i][j]) continue;
      for (double** const array : arrays) {
        if (comm->me == 0)
          utils::sfread(FLERR, &array[i][j], sizeof(double), 1, fp, nullptr, error);
        MPI_Bcast(&array[i][j], 1, MPI_DOUBLE, 0, world);
      }
      if (!std::isfinite(a_[i][j]) || !is_possible(gamma_[i][j]) || !is_possible(cut_[i][j]) ||
          cut_[i][j] == 0 || !is_possible(exponent_[i][j]) || !are_possible(i, j))
        error->all(FLERR, "Pair style {}: the restart file is damaged (types {} {})", style_, i, j);
    }
  }
}

void PairManymoveDPD::write_restart_settings(FILE* fp) {
  write_one(fp, kWithDraws);
  for (const double value : {temperature_, cutoff_, weight_exponent_}) write_one(fp, value);
  for (const int value : {seed_, double_precision_, mix_flag}) write_one(fp, value);
  for (const std::int64_t value : {drawn_step_, draws_ahead_}) write_one(fp, value);
  if (thermostat_)
    for (const double value : {first_temperature_, last_temperature_}) write_one(fp, value);
}

void PairManymoveDPD::read_restart_settings(FILE* fp) {
  const auto read = [&](auto& value) {
    if (comm->me == 0) utils::sfread(FLERR, &value, sizeof value, 1, fp, nullptr, error);
    MPI_Bcast(&value, sizeof value, MPI_BYTE, 0, world);
  };
  read(temperature_);
  const bool with_draws = temperature_ == kWithDraws;
  if (with_draws) read(temperature_);
  for (double* value : {&cutoff_, &weight_exponent_}) read(*value);
  for (int* value : {&seed_, &double_precision_, &mix_flag}) read(*value);
  drawn_step_ = update->ntimestep;
  draws_ahead_ = 0;
  drawn_in_setup_ = false;
  if (with_draws)
    for (std::int64_t* value : {&drawn_step_, &draws_ahead_}) read(*value);
  first_temperature_ = last_temperature_ = temperature_;
  if (thermostat_)
    for (double* value : {&first_temperature_, &last_temperature_}) read(*value);
  if (!is_possible(first_temperature_) || !is_possible(last_temperature_) ||
      temperature_ != std::max(first_temperature_, last_temperature_) || !is_possible(cutoff_) ||
      cutoff_ == 0 || !is_possible(weight_exponent_) || seed_ <= 0 || drawn_step_ < -1 ||
      draws_ahead_ < 0)
    error->all(FLERR, "Pair style {}: the restart file is damaged", style_);
}

void PairManymoveDPD::write_data(FILE* fp) {
  for (int i = 1; i <= atom->ntypes; ++i) {
    fprintf(fp, "%d", i);
    write_coefficients(fp, i, i);
  }
}

void PairManymoveDPD::write_data_all(FILE* fp) {
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = i; j <= atom->ntypes; ++j) {
      fprintf(fp, "%d %d", i, j);
      write_coefficients(fp, i, j);
    }
}

void PairManymoveDPD::write_coefficients(FILE* fp, int i, int j) {
  if (!thermostat_) fprintf(fp, " %.15g", a_[i][j]);
  fprintf(fp, " %.15g %.15g weight_exponent %.15g\n", gamma_[i][j], cut_[i][j], exponent_[i][j]);
}

// ---- what other commands ask ----

// As with LAMMPS' dpd, the conservative part alone.
double PairManymoveDPD::single(int, int, int itype, int jtype, double rsq, double, double factor_lj,
                               double& fforce) {
  const double r = std::sqrt(rsq), cut = cut_[itype][jtype], a = factor_lj * a_[itype][jtype];
  const double w = 1.0 - r / cut;
  fforce = r > 1e-10 ? a * w / r : 0.0;
  return 0.5 * a * cut * w * w;
}

void* PairManymoveDPD::extract(const char* name, int& dim) {
  dim = 0;
  if (strcmp(name, "temperature") == 0) return thermostat_ ? nullptr : &temperature_;
  dim = 2;
  if (strcmp(name, "a") == 0) return thermostat_ ? nullptr : a_;
  if (strcmp(name, "gamma") == 0) return gamma_;
  if (strcmp(name, "weight_exponent") == 0) return exponent_;
  return nullptr;
}

double PairManymoveDPD::memory_usage() {
  return Pair::memory_usage() + (forces_ ? forces_->bytes() : 0.0) +
         static_cast<double>(table_.capacity() * sizeof(PairCoefficients)) +
         static_cast<double>(short_tags_.capacity() * sizeof(std::uint32_t)) +
         static_cast<double>(image_.capacity() * sizeof(image_[0]));
}
