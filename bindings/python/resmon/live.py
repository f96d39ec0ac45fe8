# SPDX-License-Identifier: MIT
"""Live values of a monitor in a notebook."""
import threading
import weakref

from . import html
from .errors import ArgumentError, Error
from .frames import wanted
from .run_html import small


class _Renewal:
    """Updates one output from its own thread, until the monitor stops or is freed."""

    def __init__(self, monitor, handle, seconds):
        self._monitor, self._handle, self._seconds = weakref.ref(monitor), handle, seconds
        self._over = threading.Event()
        threading.Thread(target=self._renew, name="resmon-live", daemon=True).start()

    def _renew(self):
        is_running = True
        while is_running:
            self._over.wait(self._seconds)
            monitor = self._monitor()
            if monitor is None:
                return
            is_running = monitor.state == "running"
            try:
                self._handle.update(_Html(html.wrap(small(monitor._get_run()))))
            except Error:
                return  # freed, or in the child of a fork
            del monitor


class _Html:
    """HTML for IPython, without importing more of it."""

    def __init__(self, text):
        self._text = text

    def _repr_html_(self):
        return self._text

    def __repr__(self):
        return "<resmon live>"


def show(monitor, seconds):
    """Shows the values of a monitor, and updates them."""
    display = wanted("IPython.display", "live()", "ipython")
    if not seconds > 0:
        raise ArgumentError(f"live: {seconds!r} is not a time in seconds, above 0")
    if monitor.state == "new":
        monitor.start()
    handle = display.display(_Html(html.wrap(small(monitor._get_run()))), display_id=True)
    if handle is not None and monitor.state == "running":
        _Renewal(monitor, handle, seconds)
