# SPDX-License-Identifier: MIT
"""resmon.report(): one or several runs as a file for people: self-contained HTML, PDF, or Markdown."""
from __future__ import annotations

import contextlib
import errno
import os
import stat

from .errors import AccessError, ArgumentError, ArgumentTypeError, Error, InputOutputError, NoSpaceError, NotFoundError
from .run import Recorded, Run, load_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._types import Path

_ERRORS = {
    NotFoundError: (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO),
    AccessError: (errno.EACCES, errno.EPERM, errno.EROFS),
    NoSpaceError: (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    ArgumentError: (errno.EINVAL, errno.ENAMETOOLONG),
}
_FORMS = {".html": 0, ".htm": 0, ".md": 1, ".markdown": 1}  # as in pages
_CLASS_OF = {number: cls for cls, numbers in _ERRORS.items() for number in numbers}


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


def _failure(error, what, path):
    cls = _CLASS_OF.get(error.errno, InputOutputError)
    return cls(f"{what} {path}: {error.strerror or error}")


@contextlib.contextmanager
def _written(path):
    """Yields a binary file that replaces `path` on success and is removed on failure."""
    # Renaming over a device, a FIFO or a link would destroy it.
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise ArgumentError(f"{path} exists and is not a regular file")
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise _failure(error, "cannot write", path) from None
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f"{name[:200]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _failure(error, "cannot create a file for", path) from None
    try:
        try:
            with open(handle, "wb") as file:
                yield file
            os.replace(temporary, path)
        except OSError as error:
            if isinstance(error, Error) or error.filename not in (None, temporary):
                raise  # of another file: a font, say
            raise _failure(error, "cannot write", path) from None
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def report(runs: Recorded | Path | Sequence[Recorded | Path], path: Path, *, title: str | None = None) -> None:
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
        pages.save(found, target, _FORMS[ending], title)
        return
    page = pages.page_of(found, title=title)
    with _written(target) as file:
        report_pdf.write(page, page.title, file)
