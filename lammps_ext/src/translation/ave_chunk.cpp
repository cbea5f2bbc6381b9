// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/ave_chunk.h"

#include <utility>

#include "arg_info.h"
#include "atom.h"
#include "compute_chunk_atom.h"
#include "domain.h"
#include "error.h"
#include "fix_ave_chunk.h"
#include "lammps.h"
#include "translation/lammps_members.h"
#include "translation/readers.h"
#include "update.h"

namespace LAMMPS_NS {

struct OfAveChunk {
  friend constexpr auto members_of(OfAveChunk);
};
template struct PrivateMembers<OfAveChunk, &FixAveChunk::values, &FixAveChunk::nvalid,
                               &FixAveChunk::nvalid_last, &FixAveChunk::nrepeat,
                               &FixAveChunk::irepeat, &FixAveChunk::normflag,
                               &FixAveChunk::biasflag, &FixAveChunk::nchunk, &FixAveChunk::cchunk,
                               &FixAveChunk::count_many, &FixAveChunk::values_many>;
struct OfChunks {
  friend constexpr auto members_of(OfChunks);
};
template struct PrivateMembers<
    OfChunks, &ComputeChunkAtom::which, &ComputeChunkAtom::regionflag, &ComputeChunkAtom::discard,
    &ComputeChunkAtom::scaleflag, &ComputeChunkAtom::ndim, &ComputeChunkAtom::dim,
    &ComputeChunkAtom::nlayers, &ComputeChunkAtom::minflag, &ComputeChunkAtom::maxflag,
    &ComputeChunkAtom::offset, &ComputeChunkAtom::invdelta, &ComputeChunkAtom::nchunkflag,
    &ComputeChunkAtom::lockfix, &ComputeChunkAtom::invoked_setup>;

}  // namespace LAMMPS_NS

using namespace LAMMPS_NS;
using manymove::dpd::Profile;

namespace {

// LAMMPS' values of normflag, nchunkflag, idsflag, scaleflag and discard.
constexpr int kNormAll = 1, kOnce = 0, kIdsEvery = 2, kReduced = 2, kNoDiscard = 0, kMixed = 1;

// For the fix, in its scope there are no atoms.
class NoAtoms {
 public:
  explicit NoAtoms(Atom* atom) : atom_(atom), count_(std::exchange(atom->nlocal, 0)) {}
  ~NoAtoms() { atom_->nlocal = count_; }
  NoAtoms(const NoAtoms&) = delete;

 private:
  Atom* const atom_;
  const int count_;
};

std::optional<Profile::Column> column_of(const auto& value) {
  switch (value.which) {
    case ArgInfo::V:
      return Profile::Column{Profile::kVelocity, value.argindex};
    case ArgInfo::F:
      return Profile::Column{Profile::kForce, value.argindex};
    case ArgInfo::DENSITY_NUMBER:
      return Profile::Column{Profile::kNumber, 0};
    case ArgInfo::DENSITY_MASS:
    case ArgInfo::MASS:
      return Profile::Column{Profile::kMass, 0};
    case ArgInfo::TEMPERATURE:
      return Profile::Column{Profile::kSquare, 0};
    default:
      return {};
  }
}

// Whether the chunks are bins along axes, of all atoms at their present places.
bool has_bins(ComputeChunkAtom* chunks) {
  const auto [which, region, discard, scale, ndim, dim, layers, low, high, offset, per_length,
              times, lock, setup] = members_of(OfChunks());
  const int style = chunks->*which;
  return (style == ArgInfo::BIN1D || style == ArgInfo::BIN2D || style == ArgInfo::BIN3D) &&
         !(chunks->*region) && !chunks->compress && chunks->idsflag == kIdsEvery &&
         chunks->igroup == 0;
}

// Whether LAMMPS may make other bins in the first of several samples, because the box may have
// changed since it made the present ones.
bool may_set_up(ComputeChunkAtom* chunks, bigint first_step) {
  const auto [which, region, discard, scale, ndim, dim, layers, low, high, offset, per_length,
              times, lock, setup] = members_of(OfChunks());
  const bool is_settled = chunks->*lock || (chunks->*times == kOnce && chunks->*setup >= 0);
  return !is_settled && chunks->*setup < first_step;
}

void add_axes(ComputeChunkAtom* chunks, const Domain& box, Profile& profile) {
  const auto [which, region, discard, scale, ndim, dim, layers, low, high, offset, per_length,
              times, lock, setup] = members_of(OfChunks());
  const int rule = chunks->*discard;
  const bool reduced = chunks->*scale == kReduced;
  profile.axes = chunks->*ndim;
  for (int k = 0; k < profile.axes; ++k) {
    const int a = (chunks->*dim)[k];
    Profile::Axis& axis = profile.axis[k];
    axis = {a, (chunks->*layers)[k], 0, 1, box.boxlo[a], box.boxhi[a], box.prd[a]};
    if (reduced) axis = {a, axis.layers, box.boxlo[a], box.h_inv[a], 0, 1, 1};
    if (!box.periodicity[a]) axis.period = 0;
    axis.offset = (chunks->*offset)[k];
    axis.per_length = (chunks->*per_length)[k];
    axis.takes_lower = rule == kNoDiscard || (rule == kMixed && !(chunks->*low)[a]);
    axis.takes_upper = rule == kNoDiscard || (rule == kMixed && !(chunks->*high)[a]);
  }
}

}  // namespace

bigint AveChunk::next_sample() const {
  return static_cast<FixAveChunk*>(fix_)->*std::get<1>(members_of(OfAveChunk()));
}

unsigned AveChunk::reads(bool has_body_forces) const {
  unsigned what = kPositions;
  for (const auto& value :
       static_cast<FixAveChunk*>(fix_)->*std::get<0>(members_of(OfAveChunk()))) {
    if (value.which == ArgInfo::V) what |= kVelocityX << value.argindex;
    if (value.which == ArgInfo::TEMPERATURE) what |= kVelocities;
    if (value.which == ArgInfo::F) what |= has_body_forces ? kEverything : kForces;
  }
  return what;
}

std::optional<Profile> AveChunk::profile(bool has_body_forces) const {
  const auto [values, valid, last, repeats, repeat, norm, bias, nchunk, cchunk, count, sum] =
      members_of(OfAveChunk());
  auto* const fix = static_cast<FixAveChunk*>(fix_);
  ComputeChunkAtom* const chunks = fix->*cchunk;
  if (fix->igroup != 0 || fix->*norm != kNormAll || fix->*bias || lmp_->domain->triclinic ||
      fix->*last < lmp_->update->firststep || !has_bins(chunks) ||
      (fix->*values).size() >= Profile::kMostColumns ||
      (fix->*repeat == 0 && may_set_up(chunks, lmp_->update->firststep)))
    return {};
  Profile profile;
  profile.column[profile.columns++] = {Profile::kNumber, 0};
  for (const auto& value : fix->*values) {
    const auto column = column_of(value);
    if (!column || (column->kind == Profile::kForce && has_body_forces)) return {};
    profile.column[profile.columns++] = *column;
  }
  add_axes(chunks, *lmp_->domain, profile);
  if (profile.sums() != static_cast<std::size_t>(fix->*nchunk) * profile.columns) return {};
  return profile;
}

// The fix adds what it finds to its sums over several samples. With the first of them it clears
// these sums, and with the last one it writes averages; between these acts, or where both are one,
// it finds what the engine has found.
void AveChunk::take_sample(const std::vector<double>& sums) const {
  const auto [values, valid, last, repeats, repeat, norm, bias, nchunk, cchunk, count, sum] =
      members_of(OfAveChunk());
  auto* const fix = static_cast<FixAveChunk*>(fix_);
  const NoAtoms none(lmp_->atom);
  const std::size_t columns = (fix->*values).size() + 1;
  const bool first = fix->*repeat == 0, only = fix->*repeats == 1;
  if (only) {
    (fix->*cchunk)->setup_chunks();
    fix->*repeat = 1;  // the fix does not clear its sums
  } else if (first) {
    fix->end_of_step();
  }
  if (sums.size() != columns * static_cast<std::size_t>(fix->*nchunk))
    lmp_->error->all(FLERR, "Fix ave/chunk {}: its chunks have changed during a run", fix->id);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const std::size_t m = k / columns, c = k % columns;
    double& to = c == 0 ? (fix->*count)[m] : (fix->*sum)[m][c - 1];
    to = only ? sums[k] : to + sums[k];
  }
  if (only || !first) fix->end_of_step();
}
