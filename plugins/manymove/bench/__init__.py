# SPDX-License-Identifier: BSD-3-Clause
"""The speed of the engines, and the harness of the benchmarks."""
