// SPDX-License-Identifier: BSD-3-Clause
// The random numbers and weights of DPD for arrays: manymove._core.dpd. LAMMPS' plugin
// calls the engines.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "core/dpd/model.h"
#include "core/dpd/pair_forces.h"
#include "positions.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace manymove::dpd {

using namespace bindings;

namespace {

using Words = Column<std::uint32_t>;

int count_of(std::size_t a, std::size_t b) {
  if (a != b) throw std::invalid_argument("the arrays must have equal lengths");
  if (a > 0x7fffffffu) throw std::invalid_argument("more than 2^31 - 1 elements");
  return static_cast<int>(a);
}

template <class T>
auto raise_array(Column<T> base, T exponent) {
  std::vector<T> result(base.size());
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = power(base.data()[k], exponent);
  return array_of(std::move(result));
}

}  // namespace

void bind_dpd(nb::module_& module) {
  nb::module_ dpd = module.def_submodule("dpd", "Random numbers and weights of DPD.");
  dpd.def(
      "noise",
      [](std::uint64_t seed, std::uint64_t step, Words tag_i, Words tag_j) {
        const int count = count_of(tag_i.size(), tag_j.size());
        std::vector<float> result(count);
        draw_noise(seed, step, count, tag_i.data(), tag_j.data(), result.data());
        return array_of(std::move(result));
      },
      "seed"_a, "step"_a, "tag_i"_a, "tag_j"_a,
      "Normal variables for pairs of tags (uint32) at one step, float32.");
  dpd.def("power", &raise_array<float>, "base"_a.noconvert(), "exponent"_a,
          "base**exponent for bases in [0, 1], in float32.");
  dpd.def("power", &raise_array<double>, "base"_a.noconvert(), "exponent"_a,
          "base**exponent for bases in [0, 1], in float64.");
}

}  // namespace manymove::dpd
