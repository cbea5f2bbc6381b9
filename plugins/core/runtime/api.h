// SPDX-License-Identifier: BSD-3-Clause
// What the core's shared library shows; everything else is hidden.
#pragma once

#define MANYMOVE_API __attribute__((visibility("default")))
