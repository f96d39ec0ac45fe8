# SPDX-License-Identifier: MIT
"""line_profiler: profile.

Differences: no kernprof is needed, and recursion does not count time twice.
"""
from ..lines import print_lines, profile_lines as profile

__all__ = ["print_lines", "profile"]
