# SPDX-License-Identifier: MIT
"""resmon.report(): one or several runs as a file for people: self-contained HTML, PDF, or Markdown."""
from __future__ import annotations

import os

from . import _abi
from .errors import ArgumentError, ArgumentTypeError
from .files import written
from .run import Recorded, Run, load_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._types import Path

_FORMS = {".html": _abi.PAGE_HTML, ".htm": _abi.PAGE_HTML, ".md": _abi.PAGE_MARKDOWN, ".markdown": _abi.PAGE_MARKDOWN}


def _runs_of(runs: Any) -> list[Run]:
    """Returns the runs of the argument of report()."""
    if isinstance(runs, (Recorded, str, bytes, os.PathLike)):
        runs = [runs]
    found = []
    for one in runs:
        if isinstance(one, Recorded):
            found.append(one._get_run())
        elif isinstance(one, (str, bytes, os.PathLike)):
            found.extend(load_all(os.fsdecode(one)))
        else:
            raise ArgumentTypeError(f"runs: expected a run, monitor, path or a list of them, not {type(one).__name__}")
    if not found:
        raise ArgumentError("runs: there is no run to report on")
    return found


def report(runs: Recorded | Path | Sequence[Recorded | Path], path: Path, *, title: str | None = None,
           plots: Sequence[str] = ()) -> None:
    """Writes a report for people: resource use over time and by phase, energy, and what is not known.

    ::

        resmon.report(m, "report.html")
        resmon.report(["old.json", "new.json"], "compare.pdf", title="old and new")

    ArgumentError: another suffix, no run, or the path is not a regular file. AccessError, NoSpaceError,
    NotFoundError: the file cannot be written. MissingPackage: PDF without matplotlib.

    :param runs: a run, a monitor, the path of a run's file, or a list of them: nodes of a job, or runs to compare
    :param path: suffix ".html": one self-contained file with charts that can be zoomed; ".pdf": needs matplotlib;
        ".md": Markdown, without charts. The file is replaced atomically. "%p", "%h", "%j", "%r" become process, host,
        job and rank, but not in the path of a PDF
    :param title: default: the name of the run and its host
    :param plots: metrics that get a chart besides: ``["gpu.temp", "proc.threads"]``. NotFoundError: no run has one of them
    """
    target = os.fsdecode(os.fspath(path))
    ending = os.path.splitext(target)[1].lower()
    if ending != ".pdf" and ending not in _FORMS:
        raise ArgumentError(f"path: {target!r} must end in .html, .pdf or .md, which selects the format of the report")
    if ending == ".pdf":
        from . import report_pdf
        report_pdf.need_matplotlib()
    from . import pages
    found, title = _runs_of(runs), None if title is None else str(title)
    if ending != ".pdf":
        pages.save(found, target, _FORMS[ending], title, plots)
        return
    page = pages.page_of(found, title=title, plots=plots)
    with written(target) as (file, _):
        report_pdf.write(page, page.title, file, found)
