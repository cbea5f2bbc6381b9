# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of all variants, next to other programs: `python -m benchmarks` in the root of the
repository."""
