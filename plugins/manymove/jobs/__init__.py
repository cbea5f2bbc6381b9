# SPDX-License-Identifier: BSD-3-Clause
"""What the commands have in common: replicas over threads and ranks, and what they leave behind."""
