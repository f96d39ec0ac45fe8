# SPDX-License-Identifier: MIT
"""For tests that need real time to be right, figures of this host, or programs that they get from elsewhere."""
import os
import sys


def needs_live(name, why):
    """`test all` runs it."""
    if "RESMON_TEST_LIVE" not in os.environ:
        print(f"live: {name}: needs {why}", flush=True)
        sys.exit(77)
