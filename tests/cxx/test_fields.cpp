// SPDX-License-Identifier: BSD-3-Clause
// Each member of a snapshot and of its counters has a name in checkpoints.
#include "core/adsorption/engine.h"
#include "core/coulomb/engine.h"
#include "support/fields.h"
#include "support/test.h"

using namespace manymove;
using namespace support;

TEST("a checkpoint of an electrolyte has each field of its snapshot") {
  CHECK(visited_members<coulomb::Counters>() == members<coulomb::Counters>());
  CHECK(visited_members<coulomb::Snapshot>() == members<coulomb::Snapshot>());
}

TEST("a checkpoint of adsorbates has each field of its snapshot") {
  CHECK(visited_members<adsorption::Counters>() == members<adsorption::Counters>());
  CHECK(visited_members<adsorption::Snapshot>() == members<adsorption::Snapshot>());
}
