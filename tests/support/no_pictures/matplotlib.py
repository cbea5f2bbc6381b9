# SPDX-License-Identifier: BSD-3-Clause
"""Replaces matplotlib in programs that tests start, because pictures take long."""

raise ImportError("only tests with the marker `pictures` draw them")
