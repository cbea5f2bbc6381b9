// SPDX-License-Identifier: BSD-3-Clause
// Pointers into the fast memory of a team: on a GPU offsets into the shared memory of the block, so
// that every access is compiled as one to shared memory and takes one register; on a CPU pointers.
#pragma once

#include <type_traits>

#include "../runtime/macros.h"

namespace manymove::adsorption {

#if defined(__CUDACC__)
extern __shared__ __align__(64) char block_memory[];
#endif

template <class T>
struct TeamPointer {
#if defined(__CUDA_ARCH__)
  unsigned place;  // in bytes
#else
  T* place;
#endif
  TeamPointer() = default;
  MM_HD explicit TeamPointer(decltype(place) at) : place(at) {}
  template <class U>  // of what is not const
    requires(!std::is_const_v<U> && std::is_same_v<const U, T>)
  MM_HD TeamPointer(const TeamPointer<U>& other) : place(other.place) {}

  MM_HD T* get() const {
#if defined(__CUDA_ARCH__)
    return reinterpret_cast<T*>(block_memory + place);
#else
    return place;
#endif
  }
  MM_HD T& operator[](int i) const { return get()[i]; }
  MM_HD TeamPointer operator+(int items) const {
#if defined(__CUDA_ARCH__)
    return TeamPointer(place + static_cast<unsigned>(items) * static_cast<unsigned>(sizeof(T)));
#else
    return TeamPointer(place + items);
#endif
  }
  template <class U>
  MM_HD TeamPointer<U> as() const {
#if defined(__CUDA_ARCH__)
    return TeamPointer<U>(place);
#else
    return TeamPointer<U>(reinterpret_cast<U*>(place));
#endif
  }
  MM_HD bool operator==(const TeamPointer& other) const { return place == other.place; }
};

}  // namespace manymove::adsorption
