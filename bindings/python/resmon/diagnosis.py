# SPDX-License-Identifier: MIT
"""Examines what can be measured on this machine, and how to enable the rest."""
from __future__ import annotations

from ctypes import byref, c_void_p

from . import _abi, html
from ._library import encoded, lib, take_text
from ._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Entry(Record):
    """One finding: ``state`` is "ready", "not readable", "absent" or "garbled"; ``remedy`` is how to change it."""

    __slots__ = ("state", "group", "name", "what", "remedy")
    state: str
    group: str
    name: str
    what: str
    remedy: str
    _struct = "DoctorEntry"
    _shown = ("group", "name", "state")

    @classmethod
    def of(cls, struct: Any) -> Entry:
        finding = super().of(struct)
        finding.state = _abi.DOCTOR_STATES.get(struct.status, "")
        return finding


class Diagnosis:
    """All findings, as a sequence; printed, with their remedies.

    ``rules`` has the files that an administrator can install.
    """

    def __init__(self, findings: list[Entry], report: str, rules: str) -> None:
        self.findings, self._report, self.rules = findings, report, rules

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self):
        return self._report.rstrip("\n")

    def _repr_html_(self):
        rows = [[one.group, one.name, one.state, one.what + (" " + one.remedy if one.remedy else "")]
                for one in self.findings]
        return html.wrap(html.table(["group", "name", "state", "what"], rows, 4))


def doctor(fs_root: str | None = None, group: str | None = None) -> Diagnosis:
    """Examines what this process can measure on this machine, and returns a :class:`Diagnosis`.

    :param fs_root: directory to read proc/, sys/, dev/ and etc/ below; default "/"
    :param group: group that the rules allow to read the energy counters; default "resmon"
    """
    handle = c_void_p()
    options = _abi.DoctorOptions(fs_root=encoded(fs_root, "fs_root"), group=encoded(group, "group"))
    lib.doctor_examine(byref(options), byref(handle))
    try:
        findings = list(Entry.each(lib.doctor_entry_count, lib.doctor_get_entry, handle))
        return Diagnosis(findings, take_text(lib.doctor_report, handle), take_text(lib.doctor_rule, handle, 0))
    finally:
        lib.doctor_free(handle)
