// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/source_fixes.h"

#include <algorithm>
#include <string>

#include "domain.h"
#include "fix_edpd_source.h"
#include "fix_tdpd_source.h"
#include "styles/scalars_of_atoms.h"
#include "translation/blocks.h"
#include "translation/kept_atoms.h"

using namespace LAMMPS_NS;

namespace {

// FixEDPDSource or FixTDPDSource
template <class Source>
struct OfSource : Source {
  using Source::center, Source::dLx, Source::dLy, Source::dLz, Source::option, Source::region,
      Source::value;
  static int scalar(const Source& fix) {
    if constexpr (requires { &OfSource::cc_index; }) return fix.*(&OfSource::cc_index) - 1;
    return 0;
  }
};
constexpr int kCuboid = 1, kRegion = 2;  // of OfSource::option

}  // namespace

bool SourceFixes::take(Fix* fix, Refusals& refusals) {
  const std::string style = fix->style;
  if (style == "edpd/source")
    take_source(static_cast<FixEDPDSource*>(fix), refusals);
  else if (style == "tdpd/source")
    take_source(static_cast<FixTDPDSource*>(fix), refusals);
  else
    return false;
  return true;
}

bool SourceFixes::has(const Fix* fix) const {
  return std::ranges::find(sources_, fix, &Source::fix) != sources_.end();
}

// As in Integrators::why_not_nve(), what is read is checked by what the fix does.
template <class Own>
void SourceFixes::take_source(Own* fix, Refusals& refusals) {
  using Of = OfSource<Own>;
  Source source{fix, Of::scalar(*fix), fix->*(&Of::value), {}, {}};
  const int option = fix->*(&Of::option);
  Region* const region = fix->*(&Of::region);
  if (option == kRegion ? !is_fixed_block(lmp, region) : option != kCuboid)
    return refusals.add(name_of(fix) + " that is neither a cuboid nor a fixed block");
  const int scalars = atom->edpd_flag ? 1 : std::min(atom->cc_species, manymove::dpd::kScalars);
  if (source.scalar < 0 || source.scalar >= scalars)
    return refusals.add(name_of(fix) + " of a species that atoms do not have");
  if (domain->triclinic) return refusals.add(name_of(fix) + " in a triclinic box");
  const double length[3] = {fix->*(&Of::dLx), fix->*(&Of::dLy), fix->*(&Of::dLz)};
  for (int a = 0; a < 3; ++a) {
    const double center = (fix->*(&Of::center))[a];
    source.low[a] = option == kRegion ? extent(region, a, false) : center - 0.5 * length[a];
    source.high[a] = option == kRegion ? extent(region, a, true) : center + 0.5 * length[a];
  }
  sources_.push_back(source);
}

void SourceFixes::check(Refusals& refusals) const {
  for (const Source& source : sources_) {
    const auto place = [&](double* x) {
      for (int a = 0; a < 3; ++a) x[a] = 0.5 * source.low[a] + 0.5 * source.high[a];
    };
    const auto same = [&] { return acts_as_read(source); };
    if (!with_first_atom(atom, source.fix, place, same) || !same())
      return refusals.add(name_of(source.fix) + " of another kind");
  }
}

// Lets the fix act once more, and expects what was read.
bool SourceFixes::acts_as_read(const Source& source) const {
  ScalarArrays before, found;
  read_scalars(*atom, atom->nlocal, true, before);
  ScalarArrays expected = before;
  for (int i = 0; i < atom->nlocal; ++i) {
    bool acts = atom->mask[i] & source.fix->groupbit;
    for (int a = 0; a < 3; ++a)
      acts = acts && atom->x[i][a] >= source.low[a] && atom->x[i][a] <= source.high[a];
    if (acts)
      expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(source.scalar)] +=
          source.rate * (atom->edpd_flag ? atom->edpd_cv[i] : 1);
  }
  source.fix->post_force(0);
  read_scalars(*atom, atom->nlocal, true, found);
  write_scalars(*atom, atom->nlocal, true, before);
  return found == expected;
}
