# SPDX-License-Identifier: MIT
"""What can be measured here, and who must do what so that more can."""
from ctypes import byref, c_void_p

from . import _abi, html, records
from ._library import encoded, lib, take_text


class Finding(records.Record):
    """One finding: ``state`` is "ready", "not readable", "absent" or "garbled"."""

    __slots__ = ("state", "group", "name", "what", "remedy")
    _shown = ("group", "name", "state")

    @classmethod
    def of(cls, struct):
        finding = super().of(struct)
        finding.state = _abi.DOCTOR_STATES.get(struct.status, "")
        return finding


class Diagnosis:
    """Findings, one by one; printed, all of them with what is to be done."""

    def __init__(self, findings, report, rules):
        self.findings, self._report, self.rules = findings, report, rules

    def __iter__(self):
        return iter(self.findings)

    def __len__(self):
        return len(self.findings)

    def __repr__(self):
        return self._report.rstrip("\n")

    def _repr_html_(self):
        rows = [[one.group, one.name, one.state, one.what + (" " + one.remedy if one.remedy else "")]
                for one in self.findings]
        return html.wrap(html.table(["group", "name", "state", "what"], rows, 4))


def doctor(fs_root=None, group=None):
    """Examines the machine for this process.  ``.rules`` are the files that an administrator installs."""
    handle = c_void_p()
    options = _abi.DoctorOptions(fs_root=encoded(fs_root, "fs_root"), group=encoded(group, "group"))
    lib.doctor_examine(byref(options), byref(handle))
    try:
        struct, findings = _abi.DoctorEntry(), []
        for index in range(lib.doctor_entry_count(handle)):
            lib.doctor_get_entry(handle, index, byref(struct))
            findings.append(Finding.of(struct))
        return Diagnosis(findings, take_text(lib.doctor_report, handle), take_text(lib.doctor_rule, handle, 0))
    finally:
        lib.doctor_free(handle)
