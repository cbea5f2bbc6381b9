// SPDX-License-Identifier: BSD-3-Clause
// Which core this is, for programs that are compiled against its headers and load it at run time.
#pragma once

// Version and digest of the headers, e.g. "0.1.0 (headers 1a2b3c4d)". Code that was compiled with
// other headers must not call anything else in the library.
extern "C" __attribute__((visibility("default"))) const char* manymove_core_build();
