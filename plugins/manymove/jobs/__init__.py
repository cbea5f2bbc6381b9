# SPDX-License-Identifier: BSD-3-Clause
"""The common part of the commands: replicas over threads and ranks, and their files."""
