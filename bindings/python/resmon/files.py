# SPDX-License-Identifier: MIT
"""Files that are written atomically."""
from __future__ import annotations

import contextlib
import errno
import os
import stat

from .errors import AccessError, ArgumentError, Error, InputOutputError, NoSpaceError, NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from ._types import Path

_CLASS_OF: dict[int, type[Error]] = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO), NotFoundError),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), AccessError),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), NoSpaceError),
    **dict.fromkeys((errno.EINVAL, errno.ENAMETOOLONG), ArgumentError),
}


def _failure(error: OSError, path: object) -> Error:
    """Returns an OSError as the exception that the library would raise."""
    return _CLASS_OF.get(error.errno or 0, InputOutputError)(f"cannot write {path}: {error.strerror or error}")


@contextlib.contextmanager
def written(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Yields (file, path) of a temporary file beside `path`, which replaces `path` at the end; removed on failure."""
    path = os.fsdecode(path)
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f".{name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        # Renaming over a device, a FIFO or a link would destroy it.
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise ArgumentError(f"{path} exists and is not a regular file")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _failure(error, path) from None
    try:
        with open(descriptor, "wb") as file:
            yield file, temporary
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if isinstance(error, Error) or error.filename not in (None, temporary):
            raise  # of another file: a font, say
        raise _failure(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
