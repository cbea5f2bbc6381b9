// SPDX-License-Identifier: BSD-3-Clause
// The fields of a checkpoint, spelled once per algorithm. Next to a struct S whose values a
// checkpoint holds, its engine.h has, found by argument-dependent lookup,
//
//   template <class Fields, class Visitor, FieldsOf<Fields, S> = 0>
//   void for_each_field(Fields& s, Visitor&& visit) {
//     visit("name in the checkpoint", s.field);
//     visit("pair", s.first, s.second);  // several fields that the checkpoint holds as one tuple
//     visit(OptionalField{"list", !s.list.empty()}, s.list);
//   }
//
// Fields is S or const S. The checkpoint has the order of the calls. C++17, because headers
// of engines are.
#pragma once

#include <type_traits>
#include <utility>

namespace manymove {

// Restricts a for_each_field to S and const S.
template <class Fields, class S>
using FieldsOf = std::enable_if_t<std::is_same_v<std::remove_const_t<Fields>, S>, int>;

// The name of a field that a checkpoint can lack; the field keeps its default then.
struct OptionalField {
  const char* name;
  bool stored;  // whether a checkpoint of this state has it
  constexpr operator const char*() const { return name; }
};

// Whether there is a for_each_field for S.
struct AnyFieldVisitor {
  template <class... Fields>
  void operator()(const char*, Fields&...) const {}
};
template <class S, class = void>
inline constexpr bool has_fields = false;
template <class S>
inline constexpr bool has_fields<
    S, std::void_t<decltype(for_each_field(std::declval<S&>(), std::declval<AnyFieldVisitor>()))>> =
    true;

}  // namespace manymove
