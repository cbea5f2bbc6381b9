// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/step_variables.h"

#include <cctype>
#include <vector>

#include "error.h"
#include "fix.h"
#include "input.h"
#include "plugin_api.h"
#include "update.h"
#include "variable.h"

using namespace LAMMPS_NS;

namespace {

constexpr int kLongestText = 4096;

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

int DeckVariables::find(const std::string& name) const {
  std::set<std::string> above;
  const int index = input->variable->find(name.c_str());
  return index >= 0 && input->variable->equalstyle(index) && depends_on_step(name, above) ? index
                                                                                          : -1;
}

bool DeckVariables::all_of_step() const {
  const int count = lammps_id_count(lmp, "variable");  // its own name for it has changed
  for (int k = 0; k < count; ++k) {
    if (!input->variable->equalstyle(k)) continue;
    std::string name(kLongestText, '\0');
    if (!lammps_id_name(lmp, "variable", k, name.data(), kLongestText)) return false;
    if (find(name.c_str()) < 0) return false;
  }
  return true;
}

// LAMMPS describes a variable as "Variable[  0]: name,  style = equal,  def = formula value", where
// the value is a number or "(undefined)".
bool DeckVariables::depends_on_step(const std::string& name, std::set<std::string>& above) const {
  const int index = input->variable->find(name.c_str());
  if (index < 0 || !above.insert(name).second) return false;
  std::string text(kLongestText, '\0');
  if (!lammps_variable_info(lmp, index, text.data(), kLongestText)) return false;
  text.resize(text.find('\0') == std::string::npos ? 0 : text.find('\0'));
  const std::string begin = "style = ", middle = "def =", no_value = "(undefined)\n";
  if (const std::size_t at = text.rfind(no_value); at != std::string::npos) text.resize(at);
  const std::size_t style = text.find(begin), formula = text.find(middle);
  if (style == std::string::npos || formula == std::string::npos) return false;
  const std::size_t comma = text.find(',', style);
  const std::string is = text.substr(style + begin.size(), comma - style - begin.size());
  if (is == "index" || is == "loop" || is == "string") return true;
  if (is != "equal" || text.find('[', formula) != std::string::npos) return false;
  for (const std::string& each : names_in(text.substr(formula + middle.size()))) {
    if (kOfStep.count(each)) continue;
    if (each.compare(0, 2, "v_") != 0 || !depends_on_step(each.substr(2), above)) return false;
  }
  above.erase(name);
  return true;
}

double DeckVariables::value(int index) const { return input->variable->compute_equal(index); }

double DeckVariables::temperature(const Fix* fix, int variable, double first, double last) const {
  const auto done = static_cast<double>(update->ntimestep - update->beginstep);
  const double share =
      done != 0 ? done / static_cast<double>(update->endstep - update->beginstep) : 0;
  const double temperature = variable >= 0 ? value(variable) : first + share * (last - first);
  if (temperature < 0)
    error->all(FLERR, "Fix {} {} has the negative temperature {} in step {}", fix->id, fix->style,
               temperature, update->ntimestep);
  return temperature;
}
