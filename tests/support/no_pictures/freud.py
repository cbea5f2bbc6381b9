# SPDX-License-Identifier: BSD-3-Clause
"""Replaces freud in programs that tests start, because psi_6 is for pictures."""

raise ImportError("only tests with the marker `pictures` draw them")
