# SPDX-License-Identifier: MIT
"""HTTP for the library where it finds no libcurl: by Python's own modules, with Python's TLS.

Threads of the library call it. They wait for Python's global interpreter lock; the sampling does not wait.
"""
from __future__ import annotations

import ctypes

from . import _abi
from ._library import lib

_CHUNK = 1 << 16
_function = None  # kept as long as the library may call it


_is_needed = False


def provide():
    """Gives the library Python's HTTP client. Returns whether it is needed, as libcurl cannot be loaded."""
    global _function, _is_needed
    if _function is None:
        _function = _abi.HttpFn(_exchange)
        _is_needed = lib.set_http(_function, None) != 0
    return _is_needed


def withdraw():
    """Before the interpreter ends."""
    if _function is not None:
        lib.set_http(_abi.HttpFn(), None)


def _exchange(_context, given, reply):
    try:
        status, reason = _ask(given[0], reply)
    except BaseException as error:  # pylint: disable=broad-except  # nothing may be raised into the library
        status, reason = _abi.ENET, f"{type(error).__name__}: {error}"
    if status != 0:
        text = reason.encode("utf-8", "replace")
        lib.http_reply_add(reply, text, len(text))
    return status


def _ask(given, reply):
    """Makes the exchange. Returns a status, and the reason of a failure."""
    import http.client
    import ssl
    import time
    import urllib.error
    import urllib.request

    deadline = time.monotonic() + given.timeout_ms * 1e-3
    try:
        answer = _opener(given).open(_request(given), timeout=given.timeout_ms * 1e-3)
    except urllib.error.HTTPError as error:
        answer = error  # an answer, too
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        return (_abi.EACCES if isinstance(reason, ssl.SSLCertVerificationError) else
                _abi.ETIMEDOUT if isinstance(reason, TimeoutError) else _abi.ENET), str(reason) or type(reason).__name__
    except ValueError as error:
        return _abi.EINVAL, str(error)
    with answer:
        after = answer.headers.get("Retry-After", "")
        reply[0].code = answer.status if hasattr(answer, "status") else answer.code
        reply[0].retry_after_s = int(after) if after.isdecimal() and len(after) < 9 else 0
        try:
            while chunk := answer.read(_CHUNK):
                if time.monotonic() > deadline:
                    return _abi.ETIMEDOUT, "the reply did not end in time"
                lib.http_reply_add(reply, chunk, len(chunk))
        except (OSError, http.client.HTTPException) as error:
            return _abi.ETIMEDOUT if isinstance(error, TimeoutError) else _abi.ENET, f"{type(error).__name__}: {error}"
    return 0, ""


def _opener(given):
    import os
    import ssl
    import urllib.request

    class Stays(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            """A redirect is an answer: credentials go to no other server."""

    handlers = [Stays]
    if given.url.lower().startswith(b"https:"):
        path = os.fsdecode(given.ca_path) if given.ca_path else None
        is_directory = path is not None and os.path.isdir(path)
        context = ssl.create_default_context(cafile=None if is_directory else path, capath=path if is_directory else None)
        if given.flags & _abi.HTTP_INSECURE_TLS:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if given.client_cert:
            context.load_cert_chain(os.fsdecode(given.client_cert), os.fsdecode(given.client_key) if given.client_key else None)
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


def _request(given):
    import urllib.request
    # As a pointer: c_char_p ends at a 0.
    body = ctypes.c_void_p.from_buffer(given, _abi.HttpRequest.body.offset).value
    data = ctypes.string_at(body, given.length) if body else None
    made = urllib.request.Request(given.url.decode("utf-8", "replace"), data=data, method=given.method.decode())
    made.add_header("User-Agent", "libresmon")
    for line in given.headers.decode("latin-1").split("\n"):
        name, _, value = line.partition(": ")
        if name:
            made.add_header(name, value)
    return made
