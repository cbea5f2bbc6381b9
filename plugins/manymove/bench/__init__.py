# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks behind `manymove bench`."""
