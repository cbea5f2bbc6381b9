// SPDX-License-Identifier: BSD-3-Clause
// What the bindings of the engines share: arrays in and out, checkpoints, Python's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/runtime/devices.h"

namespace manymove::bindings {

namespace nb = nanobind;

struct Positions {
  const double* data;
  std::size_t count;
  nb::object keep;              // owner of the memory, if it is the caller's
  std::vector<double> storage;  // or this
};

// The stream of an array with __cuda_array_interface__ as copy_from_device() takes it.
inline std::optional<std::uintptr_t> stream_of(const nb::dict& face) {
  if (!face.contains("stream")) return {};  // before version 3
  const nb::object stream = face["stream"];
  if (stream.is_none()) return 0;
  std::uintptr_t handle;
  if (!nb::isinstance<nb::int_>(stream) || !nb::try_cast(stream, handle) || handle == 0)
    throw std::invalid_argument(
        "__cuda_array_interface__: stream must be None, 1, 2 or the handle of a stream, got " +
        std::string(nb::repr(stream).c_str()));
  return handle;
}

// Host arrays of float64 are read where they are; others are converted. Arrays on a device are read
// after the work of their producer: in the stream that __cuda_array_interface__ names, or all work
// of the device where no stream is named (DLPack; some libraries ignore the request of the legacy
// default stream, which nanobind makes by naming none).
// Takes anything with the buffer protocol, DLPack or __cuda_array_interface__: float32 or float64,
// [N][columns], C-contiguous.
inline Positions read_positions(const nb::object& object, std::size_t columns = 2) {
  const auto check_shape = [columns](const std::vector<std::size_t>& shape) {
    if (shape.size() == 2 && shape[1] == columns) return;
    std::string found;
    for (const std::size_t extent : shape)
      found += (found.empty() ? "" : ", ") + std::to_string(extent);
    if (shape.size() == 1) found += ',';
    throw std::invalid_argument("positions must have shape (N, " + std::to_string(columns) +
                                "), got (" + found + ")");
  };
  const void* data;
  std::size_t shape[2];
  bool contiguous, is_double, is_float, on_device;
  std::optional<std::uintptr_t> stream;
  nb::object keep = object;
  if (nb::hasattr(object, "__cuda_array_interface__")) {
    const nb::dict face = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
    const auto extent = nb::cast<std::vector<std::size_t>>(face["shape"]);
    check_shape(extent);
    std::copy_n(extent.begin(), 2, shape);
    const auto type = nb::cast<std::string>(face["typestr"]);
    is_double = type == "<f8";
    is_float = type == "<f4";
    contiguous = true;
    if (face.contains("strides") && !face["strides"].is_none()) {
      const nb::tuple strides = nb::cast<nb::tuple>(face["strides"]);
      const std::size_t size = is_double ? 8 : 4;
      contiguous = nb::cast<std::size_t>(strides[0]) == columns * size &&
                   nb::cast<std::size_t>(strides[1]) == size;
    }
    data = reinterpret_cast<const void*>(
        nb::cast<std::uintptr_t>(nb::cast<nb::tuple>(face["data"])[0]));
    stream = stream_of(face);
    on_device = true;
  } else {
    nb::ndarray<nb::ro> array;
    if (!nb::try_cast(object, array))
      throw nb::type_error(
          "positions must be an array (NumPy, DLPack or __cuda_array_interface__)");
    const std::vector<std::size_t> extent(array.shape_ptr(), array.shape_ptr() + array.ndim());
    check_shape(extent);
    std::copy_n(extent.begin(), 2, shape);
    is_double = array.dtype() == nb::dtype<double>();
    is_float = array.dtype() == nb::dtype<float>();
    const auto row = static_cast<std::int64_t>(columns);
    contiguous =
        array.size() == 0 || (array.stride(1) == 1 && (shape[0] == 1 || array.stride(0) == row));
    data = array.data();
    on_device = array.device_type() == nb::device::cuda::value;
    if (!on_device && array.device_type() != nb::device::cpu::value)
      throw std::invalid_argument("positions must be in host memory or on a CUDA device");
    keep = nb::cast(array);
  }
  if (!is_double && !is_float) throw nb::type_error("positions must be float32 or float64");
  if (!contiguous)
    throw std::invalid_argument(
        "positions must be C-contiguous; numpy.ascontiguousarray makes them so");

  Positions p{static_cast<const double*>(data), shape[0], keep, {}};
  if (is_double && !on_device) return p;
  const std::size_t n = columns * shape[0];
  p.storage.resize(n);
  // Python's lock is released, because host functions in the producer's stream may need it.
  const auto fetch = [&](void* to, std::size_t bytes) {
    const nb::gil_scoped_release release;
    copy_from_device(to, data, bytes, stream);
  };
  if (is_double) {
    fetch(p.storage.data(), n * sizeof(double));
  } else {
    std::vector<float> host;
    if (on_device) {
      host.resize(n);
      fetch(host.data(), n * sizeof(float));
      data = host.data();
    }
    const auto* single = static_cast<const float*>(data);
    for (std::size_t i = 0; i < n; ++i) p.storage[i] = static_cast<double>(single[i]);
  }
  p.data = p.storage.data();
  return p;
}

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> vector_from(const nb::handle& object) {
  const auto a = nb::cast<Column<T>>(object);
  return {a.data(), a.data() + a.size()};
}

// A one-dimensional NumPy array that owns the vector's memory.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {owned->data(), {owned->size()}, owner};
}

// Memory of a CUDA device, or of the host if the index is negative: zeros, or a copy of as many
// bytes of the host.
inline std::shared_ptr<void> memory_on(int device, std::size_t bytes,
                                       const void* content = nullptr) {
  if (device >= 0) return device_memory(device, bytes, content);
  const auto memory = std::make_shared<std::vector<std::byte>>(bytes);
  if (content) std::memcpy(memory->data(), content, bytes);
  return {memory, memory->data()};
}

// Float64 [rows][columns], with rows `stride` numbers apart, in memory_on() a device, for all
// libraries that take DLPack.
inline nb::object device_array(std::shared_ptr<void> memory, std::size_t rows, std::size_t columns,
                               std::int64_t stride, int device) {
  auto* owned = new std::shared_ptr<void>(std::move(memory));
  const nb::capsule owner(owned,
                          [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
  const int type = device < 0 ? nb::device::cpu::value : nb::device::cuda::value;
  return nb::cast(nb::ndarray<nb::array_api, double>(owned->get(), {rows, columns}, owner,
                                                     {stride, 1}, nb::dtype<double>(), type,
                                                     std::max(device, 0)));
}

// What a function returns that works without Python.
template <class Function>
auto released(Function&& function) {
  const nb::gil_scoped_release release;
  return function();
}

// Throws std::invalid_argument for what is missing in a checkpoint or has another type.
template <class Snapshot, class Parameters>
std::pair<Snapshot, Parameters> checkpoint_from(const nb::dict& snapshot,
                                                const nb::dict& parameters,
                                                Snapshot (*read_snapshot)(const nb::dict&),
                                                Parameters (*read_parameters)(const nb::dict&)) {
  try {
    return {read_snapshot(snapshot), read_parameters(parameters)};
  } catch (const nb::python_error& error) {
    throw std::invalid_argument(std::string("checkpoint: a value is missing: ") +
                                nb::str(error.value()).c_str());
  } catch (const std::bad_cast&) {
    throw std::invalid_argument("checkpoint: a value has the wrong type or shape");
  }
}

}  // namespace manymove::bindings
