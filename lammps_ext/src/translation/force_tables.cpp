// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/force_tables.h"

#include "bond_table.h"
#include "pair_table.h"

using namespace LAMMPS_NS;
using manymove::dpd::ForceTable;

namespace {

struct OfPairTable : PairTable {
  using PairTable::tablength, PairTable::tables, PairTable::tabindex, PairTable::tabstyle;
};
struct OfBondTable : BondTable {
  using BondTable::tablength, BondTable::tables, BondTable::tabindex, BondTable::tabstyle;
};
constexpr int kSpline = 2;  // of BondTable; 1: linear

// The first `nodes` values of a table of either style.
SharedTable table_from(const auto& table, double low, int nodes, bool is_spline) {
  ForceTable result{low, table.delta, {}};
  for (int k = 0; k < nodes; ++k) {
    const double sixth = is_spline ? table.deltasq6 : 0;
    result.node.push_back({table.f[k], table.e[k], is_spline ? table.f2[k] * sixth : 0,
                           is_spline ? table.e2[k] * sixth : 0});
  }
  return std::make_shared<const ForceTable>(std::move(result));
}

}  // namespace

SharedTable PairTables::of(const Pair& pair, int i, int j) {
  const auto& style = static_cast<const PairTable&>(pair);
  const int kind = style.*(&OfPairTable::tabstyle);
  if (kind != PairTable::LINEAR && kind != PairTable::SPLINE) return nullptr;
  const int index = (style.*(&OfPairTable::tabindex))[i][j];
  SharedTable& read = read_[index];
  const auto& table = (style.*(&OfPairTable::tables))[index];
  if (!read)
    read = table_from(table, table.innersq, style.*(&OfPairTable::tablength),
                      kind == PairTable::SPLINE);
  return read;
}

std::size_t PairTables::nodes() const {
  std::size_t sum = 0;
  for (const auto& [index, table] : read_) sum += table ? table->node.size() : 0;
  return sum;
}

SharedTable LAMMPS_NS::table_of_bond(const Bond& bond, int type) {
  const auto& style = static_cast<const BondTable&>(bond);
  const int kind = style.*(&OfBondTable::tabstyle);
  const auto& table = (style.*(&OfBondTable::tables))[(style.*(&OfBondTable::tabindex))[type]];
  return table_from(table, table.lo, style.*(&OfBondTable::tablength), kind == kSpline);
}
