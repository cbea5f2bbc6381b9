// SPDX-License-Identifier: BSD-3-Clause
#include "build.h"

const char* manymove_core_build() { return MANYMOVE_CORE_BUILD; }
