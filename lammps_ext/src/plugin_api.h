// SPDX-License-Identifier: GPL-2.0-only
// What LAMMPS' installed headers leave out: how a plugin introduces its styles. The layout is that
// of LAMMPS' PLUGIN package since 2022; the version check in manymoveplugin.cpp stands before its
// use.
#pragma once

namespace manymove::lammps_plugin {

struct StyleRegistration {
  const char* version;  // of the LAMMPS that the plugin was built for
  const char* category;
  const char* name;
  const char* info;
  const char* author;
  void* creator;  // (LAMMPS*), for fixes and run styles (LAMMPS*, int, char**)
  void* handle;   // of the shared object
};

using Register = void (*)(StyleRegistration*, void* lammps);

}  // namespace manymove::lammps_plugin

// Part of LAMMPS' C library interface, whose arguments do not change between versions.
extern "C" {
int lammps_version(void* lammps);
void lammps_error(void* lammps, int kind, const char* text);
int lammps_extract_setting(void* lammps, const char* keyword);
void* lammps_last_thermo(void* lammps, const char* what, int index);
int lammps_id_count(void* lammps, const char* category);
int lammps_id_name(void* lammps, const char* category, int index, char* text, int size);
int lammps_variable_info(void* lammps, int index, char* text, int size);
}
