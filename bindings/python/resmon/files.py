# SPDX-License-Identifier: MIT
"""Files that are written atomically."""
import contextlib
import errno
import os
import tempfile

from .errors import AccessError, InputOutputError, NoSpaceError, NotFoundError

_CLASSES = {errno.ENOENT: NotFoundError, errno.ENOTDIR: NotFoundError, errno.EACCES: AccessError, errno.EPERM: AccessError,
            errno.EROFS: AccessError, errno.ENOSPC: NoSpaceError, errno.EDQUOT: NoSpaceError}


def failure(error, path):
    """Returns an OSError as the exception that the library would raise."""
    return _CLASSES.get(error.errno, InputOutputError)(f"cannot write {path}: {error.strerror or error}")


@contextlib.contextmanager
def written(path):
    """Yields (file, path) of a temporary file beside `path`, which replaces `path` at the end; removed on failure."""
    path = os.fspath(path)
    temporary = None
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "it is a directory")
        descriptor, temporary = tempfile.mkstemp(prefix="." + os.path.basename(path)[:100], suffix=".tmp",
                                                 dir=os.path.dirname(path) or ".")
        with os.fdopen(descriptor, "wb") as file:
            yield file, temporary
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise error if hasattr(error, "name") else failure(error, path) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
