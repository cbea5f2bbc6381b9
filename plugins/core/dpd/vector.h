// SPDX-License-Identifier: BSD-3-Clause
// Vectors of three components.
#pragma once

#include "../runtime/macros.h"

namespace manymove::dpd {

template <class Real>
struct Vector {
  Real x, y, z;

  MM_HD friend Vector operator+(const Vector& a, const Vector& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  MM_HD friend Vector operator-(const Vector& a, const Vector& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
};

template <class To, class From>
MM_HD Vector<To> vector_of(const From& a) {
  return {static_cast<To>(a.x), static_cast<To>(a.y), static_cast<To>(a.z)};
}
template <class To>
MM_HD Vector<To> vector_from(const double* a) {
  return {static_cast<To>(a[0]), static_cast<To>(a[1]), static_cast<To>(a[2])};
}

template <class Real>
MM_HD Real dot(const Vector<Real>& a, const Vector<Real>& b) {
  return fused(a.x, b.x, fused(a.y, b.y, a.z * b.z));
}
// sum += factor r
template <class Real>
MM_HD void add_scaled(Vector<Real>& sum, const Vector<Real>& r, Real factor) {
  sum.x = fused(r.x, factor, sum.x);
  sum.y = fused(r.y, factor, sum.y);
  sum.z = fused(r.z, factor, sum.z);
}

}  // namespace manymove::dpd
