// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/step_variables.h"

#include <cctype>
#include <cstring>
#include <vector>

#include "error.h"
#include "fix.h"
#include "input.h"
#include "library.h"
#include "translation/lammps_members.h"
#include "update.h"
#include "variable.h"

using namespace LAMMPS_NS;

#if defined(MANYMOVE_VECTOR_OF_VARIABLES)  // of CMake: releases that keep variables in a vector
namespace {

struct OfVariable : Variable {
  using Variable::variables;
};

std::string style_of(const Variable& variable, int k) { return variable.get_style(k); }
const char* formula_of(const Variable& variable, int k) {
  return (variable.*(&OfVariable::variables))[static_cast<std::size_t>(k)].data[0];
}

}  // namespace
#else
namespace LAMMPS_NS {

struct OfVariable {
  friend constexpr auto members_of(OfVariable);
};
template struct PrivateMembers<OfVariable, &Variable::style, &Variable::data>;

}  // namespace LAMMPS_NS

namespace {

std::string style_of(const Variable& variable, int k) {
  return Variable::varstyles[static_cast<std::size_t>(
      (variable.*std::get<0>(members_of(OfVariable())))[k])];
}
const char* formula_of(const Variable& variable, int k) {
  return (variable.*std::get<1>(members_of(OfVariable())))[k][0];
}

}  // namespace
#endif

namespace {

constexpr int kLongestName = 4096;

// Functions, constants and keywords of formulas that are the same for all arrangements of atoms and
// have no state, such as random numbers have.
const std::set<std::string> kOfStep{
    "step",     "elapsed",  "elaplong", "dt",        "time",    "PI",     "true",    "yes",
    "on",       "false",    "no",       "off",       "sqrt",    "exp",    "ln",      "log",
    "abs",      "sign",     "sin",      "cos",       "tan",     "asin",   "acos",    "atan",
    "atan2",    "ceil",     "floor",    "round",     "ternary", "ramp",   "stagger", "logfreq",
    "logfreq2", "logfreq3", "stride",   "vdisplace", "swiggle", "cwiggle"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_in_name(char c) { return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)); }

// The names in a formula. Numbers, which may have an exponent, are left out.
std::vector<std::string> names_in(const std::string& formula) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < formula.size();) {
    std::size_t end = at + 1;
    const bool number = formula[at] == '.' || std::isdigit(static_cast<unsigned char>(formula[at]));
    while (end < formula.size() && (number || is_letter(formula[at])) &&
           (is_in_name(formula[end]) || (number && formula[end] == '.')))
      ++end;
    if (is_letter(formula[at])) names.push_back(formula.substr(at, end - at));
    at = end;
  }
  return names;
}

}  // namespace

int StepVariables::find(const std::string& name) const {
  std::set<std::string> above;
  const int index = input->variable->find(name.c_str());
  return index >= 0 && input->variable->equalstyle(index) && depends_on_step(name, above) ? index
                                                                                          : -1;
}

bool StepVariables::all_of_step() const {
  const int count = lammps_id_count(lmp, "variable");
  for (int k = 0; k < count; ++k) {
    if (!input->variable->equalstyle(k)) continue;
    char name[kLongestName];
    if (!lammps_id_name(lmp, "variable", k, name, kLongestName) || find(name) < 0) return false;
  }
  return true;
}

bool StepVariables::depends_on_step(const std::string& name, std::set<std::string>& above) const {
  const int index = input->variable->find(name.c_str());
  if (index < 0 || !above.insert(name).second) return false;
  const std::string style = style_of(*input->variable, index);
  if (style == "index" || style == "loop" || style == "string") return true;
  const char* const formula = style == "equal" ? formula_of(*input->variable, index) : nullptr;
  if (!formula || std::strchr(formula, '[')) return false;
  for (const std::string& each : names_in(formula)) {
    if (kOfStep.count(each)) continue;
    if (each.compare(0, 2, "v_") != 0 || !depends_on_step(each.substr(2), above)) return false;
  }
  above.erase(name);
  return true;
}

double StepVariables::value(int index) const { return input->variable->compute_equal(index); }

double StepVariables::temperature(const Fix* fix, const TargetTemperature& target) const {
  const auto& [first, last, variable] = target;
  const auto done = static_cast<double>(update->ntimestep - update->beginstep);
  const double share =
      done != 0 ? done / static_cast<double>(update->endstep - update->beginstep) : 0;
  const double temperature = variable >= 0 ? value(variable) : first + share * (last - first);
  if (temperature < 0)
    error->all(FLERR, "Fix {} {} has the negative temperature {} in step {}", fix->id, fix->style,
               temperature, update->ntimestep);
  return temperature;
}
