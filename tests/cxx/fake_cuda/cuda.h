// SPDX-License-Identifier: BSD-3-Clause
// The few names of the CUDA driver that the engines use; cuda_runtime.h has the functions.
#pragma once

#include <cstdint>

enum CUresult { CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE };
using CUdevice = int;
using CUcontext = struct FakeContext*;
