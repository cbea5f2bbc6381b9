// SPDX-License-Identifier: BSD-3-Clause
// Snapshots as dictionaries and back, by the for_each_field of an engine.h (core/runtime/fields.h).
// Vectors are one-dimensional NumPy arrays; structs that have fields themselves, arrays of fixed
// length and several fields under one name are tuples.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/runtime/fields.h"
#include "core/runtime/text.h"
#include "positions.h"

namespace manymove::bindings {

namespace nb = nanobind;

template <class S>
nb::tuple tuple_of(S s);

template <class T>
nb::object object_of(T& field) {
  if constexpr (has_fields<T>)
    return tuple_of(field);
  else
    return nb::cast(field);
}
// The array takes the vector's memory.
template <class T>
nb::object object_of(std::vector<T>& field) {
  return nb::cast(array_of(std::move(field)));
}
template <class T, std::size_t Count>
nb::object object_of(std::array<T, Count>& field) {
  return nb::tuple(nb::cast(field));
}

// The values of a struct, such as Counters, without their names.
template <class S>
nb::tuple tuple_of(S s) {
  nb::list values;
  for_each_field(s, [&](const char*, auto&... fields) { (values.append(object_of(fields)), ...); });
  return nb::tuple(values);
}

// What a checkpoint holds. Fields that are optional are there where this snapshot has them.
template <class S>
nb::dict dict_of(S snapshot) {
  nb::dict d;
  for_each_field(snapshot, [&](auto name, auto&... fields) {
    if constexpr (std::is_same_v<decltype(name), OptionalField>)
      if (!name.stored) return;
    if constexpr (sizeof...(fields) == 1)
      d[static_cast<const char*>(name)] = object_of(fields...);
    else
      d[static_cast<const char*>(name)] = nb::make_tuple(object_of(fields)...);
  });
  return d;
}

// Settings of a dictionary by their names: read(d, "seed", p.seed, "rounds", p.rounds).
template <class T, class... More>
void read(const nb::dict& d, const char* name, T& value, More&&... more) {
  value = nb::cast<T>(d[name]);
  if constexpr (sizeof...(more) > 0) read(d, more...);
}
// Those that the dictionary has.
template <class T, class... More>
void read_some(const nb::dict& d, const char* name, T& value, More&&... more) {
  if (d.contains(name)) read(d, name, value);
  if constexpr (sizeof...(more) > 0) read_some(d, more...);
}

// The value that a name stands for; other names are an error with the names that are known.
template <class E, std::size_t Count>
E named(const nb::dict& d, const char* key, const std::pair<const char*, E> (&all)[Count]) {
  const auto name = nb::cast<std::string>(d[key]);
  std::string names;
  for (std::size_t k = 0; k < Count; ++k) {
    const auto& [known, value] = all[k];
    if (name == known) return value;
    names += text_of(k == 0 ? "" : k + 1 < Count ? ", " : " or ", "\"", known, "\"");
  }
  refuse("unknown ", key, " \"", name, "\"; it must be ", names);
}

template <class T>
void read_field(const nb::handle& object, T& field);

template <class... Fields>
void read_sequence(const nb::handle& object, Fields&... fields) {
  const auto values = nb::cast<std::vector<nb::object>>(object);
  if (values.size() != sizeof...(fields)) throw std::bad_cast();
  std::size_t next = 0;
  (read_field(values[next++], fields), ...);
}

template <class T>
void read_field(const nb::handle& object, std::vector<T>& field) {
  field = vector_from<T>(object);
}
template <class T>
void read_field(const nb::handle& object, T& field) {
  if constexpr (has_fields<T>) {
    const auto values = nb::cast<std::vector<nb::object>>(object);
    std::size_t next = 0;
    for_each_field(field, [&](const char*, auto&... fields) {
      if (values.size() < next + sizeof...(fields)) throw std::bad_cast();
      (read_field(values[next++], fields), ...);
    });
    if (next != values.size()) throw std::bad_cast();
  } else {
    field = nb::cast<T>(object);
  }
}

// The snapshot that a checkpoint holds. Throws as nanobind does, nb::python_error for a field that
// is missing and std::bad_cast for one of another type or length: checkpoint_from makes them
// messages. Names that the snapshot does not have are ignored.
template <class S>
S fields_from(const nb::dict& d) {
  S snapshot;
  for_each_field(snapshot, [&](auto name, auto&... fields) {
    const char* const key = name;
    if constexpr (std::is_same_v<decltype(name), OptionalField>)
      if (!d.contains(key)) return;
    const nb::object value = d[key];
    if constexpr (sizeof...(fields) == 1)
      (read_field(value, fields), ...);
    else
      read_sequence(value, fields...);
  });
  return snapshot;
}

// A method of an engine that returns a vector, as a method that returns an array.
template <class Engine, class T>
Engine& engine_of(std::vector<T> (Engine::*)());
template <class Engine, class T>
const Engine& engine_of(std::vector<T> (Engine::*)() const);
template <auto Method>
auto array_from(decltype(engine_of(Method)) engine) {
  return array_of(released([&] { return (engine.*Method)(); }));
}

}  // namespace manymove::bindings
