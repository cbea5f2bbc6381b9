// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/fix_manymove_coulomb.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "modify.h"
#include "update.h"

using namespace LAMMPS_NS;

// fix ID all manymove/coulomb N sweeps seed bjerrum diameter... [keyword value ...]
FixManymoveCoulomb::FixManymoveCoulomb(LAMMPS* lmp, int narg, char** arg)
    : FixMonteCarlo(lmp, narg, arg, 7, "sweeps") {
  const int types = atom->ntypes;
  if (narg < 7 + types || !utils::is_double(arg[6 + types]))
    error->all(FLERR, "{}: {} atom types need as many diameters after bjerrum", name_, types);
  if (igroup != 0) error->all(FLERR, "{}: the group must be all, not {}", name_, arg[1]);
  if (!atom->q_flag) error->all(FLERR, "{} needs atom_style charge", name_);
  if (atom->molecular != Atom::ATOMIC)
    error->all(FLERR, "{} moves single atoms: atom styles with bonds are refused", name_);
  parameters_.seed = seed_;
  parameters_.bjerrum_length = positive("bjerrum", arg[6]);
  diameter_.assign(types + 1, 0);
  for (int type = 1; type <= types; ++type) diameter_[type] = positive("diameter", arg[6 + type]);

  bool surrounding_given = false, precision_given = false;
  for (int k = 7 + types; k < narg; k += 2) {
    const std::string key = arg[k];
    if (key != "radius" && key != "boundary" && key != "surrounding" && key != "max_displacement" &&
        key != "method" && key != "precision" && key != "threads" && key != "device")
      error->all(FLERR,
                 "{}: unknown keyword {} (radius, boundary, surrounding, max_displacement, method, "
                 "precision, threads, device)",
                 name_, key);
    if (k + 1 == narg) utils::missing_cmd_args(FLERR, "fix manymove/coulomb " + key, error);
    if (take(key, arg[k + 1])) continue;
    const std::string value = arg[k + 1];
    if (key == "radius") {
      radius_ = positive("radius", arg[k + 1]);
    } else if (key == "boundary") {
      if (value != "nearest_image" && value != "ewald")
        error->all(FLERR, "{}: boundary {} must be nearest_image or ewald", name_, value);
      parameters_.ewald = value == "ewald";
    } else if (key == "surrounding") {
      if (value != "conductor" && value != "vacuum")
        error->all(FLERR, "{}: surrounding {} must be conductor or vacuum", name_, value);
      surrounding_given = true;
      parameters_.vacuum = value == "vacuum";
    } else if (key == "max_displacement") {
      parameters_.max_displacement = positive(key.c_str(), arg[k + 1]);
    } else if (key == "method") {
      using manymove::coulomb::Method;
      if (value != "brush" && value != "tree" && value != "auto")
        error->all(FLERR, "{}: method {} must be brush, tree or auto", name_, value);
      parameters_.method = value == "brush"  ? Method::brush
                           : value == "tree" ? Method::tree
                                             : Method::automatic;
    } else {
      if (value != "mixed" && value != "double")
        error->all(FLERR, "{}: precision {} must be mixed or double", name_, value);
      precision_given = true;
      parameters_.double_precision = value == "double";
    }
  }
  if (!precision_given)
    parameters_.double_precision = parameters_.method != manymove::coulomb::Method::brush;
  parameters_.periodic = radius_ == 0;
  if (parameters_.ewald && !parameters_.periodic)
    error->all(FLERR, "{}: boundary ewald is for a periodic box, without radius", name_);
  if (surrounding_given && !parameters_.ewald)
    error->all(FLERR, "{}: surrounding is for boundary ewald", name_);
  parameters_.radius = radius_;
  choose_device(true);

  next_reneighbor = update->ntimestep + nevery - update->ntimestep % nevery;
  time_depend = 1;
  restart_global = 1;
  size_vector = 4;
  extvector = 0;
}

void FixManymoveCoulomb::init() {
  check_surroundings();
  check_box();
  check_others();
}

void FixManymoveCoulomb::check_box() const {
  for (int axis = 0; axis < 3; ++axis) {
    if (radius_ == 0 && !domain->periodicity[axis])
      error->all(FLERR, "{}: the box is not periodic along {}; give the radius of a spherical cell",
                 name_, "xyz"[axis]);
    if (2 * radius_ > domain->prd[axis])
      error->all(
          FLERR,
          "{}: a cell of radius {} does not fit into the box; use a larger box or a smaller radius",
          name_, radius_);
  }
}

// Several of these fixes sample one ensemble only if they have the same model.
void FixManymoveCoulomb::check_others() const {
  for (const Fix* fix : modify->get_fix_by_style("^manymove/coulomb$")) {
    const auto* other = static_cast<const FixManymoveCoulomb*>(fix);
    if (other == this) continue;
    const auto same = [&](const std::string& what, double own, double others) {
      if (own != others)
        error->all(FLERR,
                   "{}: fixes {} and {} have different values of {}, {} and {}; give both the same "
                   "value, or remove one of them (unfix {})",
                   name_, id, other->id, what, own, others, other->id);
    };
    same("bjerrum", parameters_.bjerrum_length, other->parameters_.bjerrum_length);
    for (int type = 1; type <= atom->ntypes; ++type)
      same("diameter_" + std::to_string(type), diameter_[type], other->diameter_[type]);
    same("radius", radius_, other->radius_);
    same("boundary ewald", parameters_.ewald, other->parameters_.ewald);
    same("surrounding vacuum", parameters_.vacuum, other->parameters_.vacuum);
    if (seed_ == other->seed_)
      error->all(FLERR,
                 "{}: fixes {} and {} have the same seed {} and would draw the same random "
                 "numbers; give each of them its own seed",
                 name_, id, other->id, seed_);
  }
}

// Finds bad input before the first step.
void FixManymoveCoulomb::setup_pre_exchange() {
  collectively([this] {
    const std::vector<Particle> ions = gather(true);
    on_moving_ranks([&] { follow(ions, centered(ions)); });
  });
  energy_.reset();
}

// Positions relative to the center of the box, nearest images.
std::vector<double> FixManymoveCoulomb::centered(const std::vector<Particle>& ions) const {
  std::vector<double> position;
  position.reserve(3 * ions.size());
  for (const Particle& ion : ions)
    for (int a = 0; a < 3; ++a) {
      const double edge = domain->prd[a];
      double x = ion.x[a] - 0.5 * (domain->boxlo[a] + domain->boxhi[a]);
      if (domain->periodicity[a]) x -= edge * std::nearbyint(x / edge);
      position.push_back(x);
    }
  return position;
}

// The images that belong to centered(); empty unless a vacuum is around.
std::vector<std::int32_t> FixManymoveCoulomb::images_of(const std::vector<Particle>& ions) const {
  std::vector<std::int32_t> image;
  if (!parameters_.vacuum) return image;
  image.reserve(3 * ions.size());
  for (const Particle& ion : ions)
    for (int a = 0; a < 3; ++a) {
      const double x = ion.x[a] - 0.5 * (domain->boxlo[a] + domain->boxhi[a]);
      image.push_back(ion.image[a] + static_cast<int>(std::nearbyint(x / domain->prd[a])));
    }
  return image;
}

// Gives these ions at these positions to the engine, or makes a new engine if others have changed.
void FixManymoveCoulomb::follow(const std::vector<Particle>& ions,
                                const std::vector<double>& position) {
  std::vector<double> valence, sizes;
  std::vector<std::int64_t> tags;
  std::vector<std::int32_t> image = images_of(ions);
  const std::int32_t* const images = image.empty() ? nullptr : image.data();
  for (const Particle& ion : ions) {
    valence.push_back(static_cast<float>(ion.charge));
    sizes.push_back(diameter_[static_cast<int>(ion.type)]);
    tags.push_back(static_cast<std::int64_t>(ion.tag));
  }
  if (engine_ && valence == valence_ && sizes == sizes_ && tags == tags_ &&
      std::equal(domain->prd, domain->prd + 3, made_box_)) {
    if (position != left_ || image != left_image_) engine_->set_positions(position.data(), images);
  } else {
    engine_.reset();
    parameters_.first_sweep = static_cast<std::uint64_t>(totals_[0]);
    std::copy_n(domain->prd, 3, parameters_.box);
    const std::vector<std::int32_t> species(ions.size(), 0);
    engine_ = manymove::coulomb::make_engine({position.data(), valence.data(), sizes.data(),
                                              species.data(), ions.size(), tags.data(), images},
                                             parameters_, device_, threads_,
                                             // Its memory stays the same (collectively()).
                                             shared_ ? &*ranks_ : nullptr);
    valence_ = std::move(valence);
    sizes_ = std::move(sizes);
    tags_ = std::move(tags);
    std::copy_n(domain->prd, 3, made_box_);
  }
  left_ = position;
  left_image_ = std::move(image);
}

void FixManymoveCoulomb::make_sweeps(std::vector<Particle>& ions) {
  follow(ions, centered(ions));
  std::vector<double> before(left_.size()), after(left_.size());
  engine_->positions(before.data());
  const manymove::coulomb::Counters earlier = engine_->counters();
  try {
    engine_->run(count_);
  } catch (...) {  // ranks may have ended at different sweeps
    engine_.reset();
    throw;
  }
  const manymove::coulomb::Counters counters = engine_->counters();
  totals_[0] = static_cast<double>(counters.sweeps);
  totals_[1] += static_cast<double>(counters.trial_moves - earlier.trial_moves);
  totals_[2] += static_cast<double>(counters.accepted_moves - earlier.accepted_moves);
  engine_->positions(after.data());
  if (parameters_.vacuum) engine_->images(left_image_.data());
  for (std::size_t i = 0; i < ions.size(); ++i) {
    if (std::equal(&after[3 * i], &after[3 * i] + 3, &before[3 * i])) continue;
    double to[3];
    for (int a = 0; a < 3; ++a) {
      const double center = 0.5 * (domain->boxlo[a] + domain->boxhi[a]);
      const double x = after[3 * i + a] + center;
      to[a] = std::clamp(x, domain->boxlo[a], std::nextafter(domain->boxhi[a], -1e300));
      left_[3 * i + a] = to[a] - center;
    }
    move(ions[i], to);
    if (parameters_.vacuum) std::copy_n(&left_image_[3 * i], 3, ions[i].image.begin());
  }
}

void FixManymoveCoulomb::pre_exchange() {
  if (next_reneighbor != update->ntimestep) return;
  next_reneighbor = update->ntimestep + nevery;
  check_box();
  collectively([this] {
    std::vector<Particle> ions = gather(true);
    on_moving_ranks([&] { make_sweeps(ions); });
    spread(totals_);
    leave(ions);
  });
  energy_.reset();
}

// 1: sweeps made, 2: trial moves, 3: accepted moves, 4: electrostatic energy in kT.
double FixManymoveCoulomb::compute_vector(int n) {
  if (n < 3) return totals_[n];
  if (!energy_)
    collectively([this] {
      std::vector<double> energy(1);
      on_first_rank([&] {
        if (!engine_) throw std::logic_error("the energy is not known before the first run");
      });
      on_moving_ranks([&] { energy[0] = engine_->energy(); });
      spread(energy);
      energy_ = energy[0];
    });
  return *energy_;
}

// Sweeps and moves so far: the sequence of random numbers continues.
void FixManymoveCoulomb::write_restart(FILE* file) {
  if (comm->me != 0) return;
  const int size = static_cast<int>(totals_.size() * sizeof(double));
  fwrite(&size, sizeof size, 1, file);
  fwrite(totals_.data(), size, 1, file);
}

void FixManymoveCoulomb::restart(char* buffer) {
  std::copy_n(buffer, totals_.size() * sizeof(double), reinterpret_cast<char*>(totals_.data()));
  for (const double count : totals_)
    if (!(count >= 0 && count < 0x1p63))
      error->all(FLERR, "{}: the restart file is damaged", name_);
}
