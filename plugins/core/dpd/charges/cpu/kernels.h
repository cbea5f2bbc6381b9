// SPDX-License-Identifier: BSD-3-Clause
// What a thread does of the electrostatic forces at a time; kernels.cpp has the code, compiled once
// per SIMD level.
#pragma once

#include "../../../runtime/simd.h"
#include "../model.h"

namespace manymove::dpd {

struct ChargeArguments {
  ChargeLaw law;
  ChargeMesh mesh;    // of order 0: none
  ChargeWaves waves;  // without a mesh
  SpecialCharges special{};
  const int* start;           // of each cell in `place`, and the end
  const ChargedPlace* place;  // of all ranks, in the order of cells
  int charges;                // of all ranks
  const std::uint8_t* own;    // by number: whether this rank has it
  std::int64_t dipole = 0;    // of all
  bool shared;                // several threads add to the mesh at a time
  Vector<double>* force;      // by number
};

// In a precision of waves and fields.
struct MeshKernels {
  // The forces on those of the places from first to before last that this rank has; their energies
  // are added to sums if it is not null.
  void (*forces)(const ChargeArguments& arguments, int first, int last, ChargeTotals* sums);
  void (*spread)(const ChargeArguments& arguments, int first, int last);
  // A plane [z] of waves: from charges to potential and field along z. Their energies are added to
  // sums if it is not null.
  void (*solve)(const ChargeArguments& arguments, int plane, WaveSums* sums);
  // The same: from the transform along z of the potential to the fields along x and y.
  void (*slopes)(const ChargeArguments& arguments, int plane);
  // The forward transform along an axis, y or z, of a group of lines. memory: 4 doubles for each
  // point of the lines.
  void (*transform)(const ChargeArguments& arguments, Wave* values, int axis, int group,
                    double* memory);
  // The transforms along x of groups of pairs of rows.
  void (*charges_to_waves)(const ChargeArguments& arguments, int group, double* memory);
  void (*waves_to_fields)(const ChargeArguments& arguments, int axis, int group, double* memory);
};

struct ChargeKernels {
  // The sums of the waves from first to before last.
  void (*waves)(const ChargeArguments& arguments, int first, int last);
  MeshKernels mesh[2];  // in double and in single precision
  int lines;            // in a group
};

MANYMOVE_KERNELS(ChargeKernels)

}  // namespace manymove::dpd
