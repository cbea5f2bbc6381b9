// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of LAMMPS' pair_style table and bond_style table as an engine has them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "core/dpd/force_tables.h"

namespace LAMMPS_NS {

class Bond;
class Pair;

using SharedTable = std::shared_ptr<const manymove::dpd::ForceTable>;

// The tables of a pair style, each of which is read once.
class PairTables {
 public:
  // The table of types i and j; null for tables that are neither linear nor splines.
  SharedTable of(const Pair& pair, int i, int j);
  // The number of nodes of those that have been read.
  std::size_t nodes() const;

 private:
  std::map<int, SharedTable> read_;
};

// The table of a type of bonds.
SharedTable table_of_bond(const Bond& bond, int type);

}  // namespace LAMMPS_NS
