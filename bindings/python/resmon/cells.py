# SPDX-License-Identifier: MIT
"""Names and sources of notebook cells, for stacks: a cell's code has a made-up file, and is shown as "In [7]"."""
from __future__ import annotations

import sys

from ._library import lib
from .errors import Error

_MAGIC = ("%%resmon", "get_ipython().run_cell_magic('resmon'")  # the code in such a cell has a name of its own
_number = 0  # of the cell that runs


def _shell():
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _name_cell(file, number, source):
    if source.startswith(_MAGIC):
        return
    try:
        lib.name_source(file.encode("utf-8", "replace"), b"In [%d]" % number,
                        source.expandtabs(4).encode("utf-8", "replace").replace(b"\0", b""))
    except Error:
        pass  # the lines have the made-up file


def _name_earlier(shell):
    import linecache  # IPython has loaded both
    import re
    numbers = dict(getattr(shell.compile, "_filename_map", {}))  # IPython 8
    for file, entry in list(linecache.cache.items()):
        old = re.match(r"<ipython-input-(\d+)-", file)
        number = numbers.get(file) or (int(old.group(1)) if old else None)
        if number is not None and len(entry) > 2:
            _name_cell(file, number, "".join(entry[2]))


def current_number() -> int:
    """The number of the cell that runs: that of the shell is the next one's already, in IPython 9."""
    return _number or _shell().execution_count


def name_cells() -> None:
    """Names the cells that were run, and those that are run from now on."""
    shell = _shell()
    if shell is None:
        return
    _name_earlier(shell)
    cache = shell.compile.cache
    if getattr(cache, "__name__", "") == "cache_and_name":
        return

    def cache_and_name(code, number=0, *more, **options):
        """As the shell's own, which names the code of a cell just before it runs."""
        global _number
        name = cache(code, number, *more, **options)
        _number = number
        _name_cell(name, number, options.get("raw_code") or code)
        return name
    shell.compile.cache = cache_and_name
