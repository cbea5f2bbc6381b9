// SPDX-License-Identifier: BSD-3-Clause
// The functions of an MPI library as a table, so that one adaptor serves every library: the host
// program's, known when its adaptor is compiled (mpi_host.h), and that of mpi4py, known at run time
// (bindings/ranks.cpp).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace manymove {

// Names without "MPI_".
#define MANYMOVE_MPI_FUNCTIONS(F) \
  F(Comm_create_keyval)           \
  F(Comm_get_attr)                \
  F(Comm_idup)                    \
  F(Comm_rank)                    \
  F(Comm_set_attr)                \
  F(Comm_size)                    \
  F(Error_string)                 \
  F(Iallgather)                   \
  F(Ialltoall)                    \
  F(Ialltoallv)                   \
  F(Improbe)                      \
  F(Irecv)                        \
  F(Isend)                        \
  F(Mrecv)                        \
  F(Test)                         \
  F(Testall)

// Handle: int in MPICH and libraries with its binary interface, a pointer in Open MPI and in the
// standard binary interface of MPI 5.
template <class Handle>
struct Mpi {
  using CopyAttribute = int(Handle, int, void*, void*, void*, int*);
  using DeleteAttribute = int(Handle, int, void*, void*);

  int (*Comm_create_keyval)(CopyAttribute*, DeleteAttribute*, int* key, void*);
  int (*Comm_get_attr)(Handle comm, int key, void* value, int* exists);
  int (*Comm_idup)(Handle comm, Handle* copy, Handle* request);
  int (*Comm_rank)(Handle comm, int* rank);
  int (*Comm_set_attr)(Handle comm, int key, void* value);
  int (*Comm_size)(Handle comm, int* size);
  int (*Error_string)(int code, char* text, int* length);
  int (*Iallgather)(const void* mine, int count, Handle type, void* all, int each, Handle all_type,
                    Handle comm, Handle* request);
  int (*Ialltoall)(const void* to, int count, Handle type, void* from, int each, Handle from_type,
                   Handle comm, Handle* request);
  int (*Ialltoallv)(const void* to, const int* counts, const int* places, Handle type, void* from,
                    const int* from_counts, const int* from_places, Handle from_type, Handle comm,
                    Handle* request);
  int (*Improbe)(int source, int tag, Handle comm, int* found, Handle* message, void* status);
  int (*Irecv)(void* data, int count, Handle type, int source, int tag, Handle comm,
               Handle* request);
  int (*Isend)(const void* data, int count, Handle type, int target, int tag, Handle comm,
               Handle* request);
  int (*Mrecv)(void* data, int count, Handle type, Handle* message, void* status);
  int (*Test)(Handle* request, int* done, void* status);
  int (*Testall)(int count, Handle* requests, int* done, void* statuses);

  Handle byte, no_request;   // MPI_BYTE, MPI_REQUEST_NULL
  int any_source;            // MPI_ANY_SOURCE
  std::size_t status_bytes;  // of an MPI_Status

  // What a function has returned. Libraries of which a program has not asked otherwise end it.
  void check(int code) const {
    if (code == 0) return;  // MPI_SUCCESS
    char text[2048] = "";
    int length;
    Error_string(code, text, &length);
    throw std::runtime_error(std::string("MPI: ") + text);
  }
};

}  // namespace manymove
