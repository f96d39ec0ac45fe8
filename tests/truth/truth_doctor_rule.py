# SPDX-License-Identifier: MIT
"""The files of resmon_doctor_rule() as the programs that they are for take them: every zone is opened,
and nothing else.

    truth_doctor_rule.py LIBRARY tmpfiles|sysusers|udev
"""
import ctypes
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

FILES = {"sysusers": 1, "udev": 2, "tmpfiles": 3}
GROUP, GID = "resmon", 987


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def rule(lib, kind):
    doctor, text = ctypes.c_void_p(), ctypes.c_void_p()
    if lib.resmon_doctor_examine(None, ctypes.byref(doctor)) != 0:
        sys.exit("resmon_doctor_examine failed")
    if lib.resmon_doctor_rule(doctor, ctypes.c_int32(FILES[kind]), ctypes.byref(text)) != 0:
        sys.exit("resmon_doctor_rule failed")
    result = ctypes.string_at(text.value).decode()
    lib.resmon_text_free(text)
    lib.resmon_doctor_free(doctor)
    return result


def run(program, *arguments):
    path = shutil.which(program) or skip(f"{program} is not installed")
    result = subprocess.run([path, *arguments], capture_output=True, text=True)
    output = result.stdout + result.stderr
    if result.returncode != 0 or output.strip():
        sys.exit(f"{program}: {result.returncode}: {output}")


def make_zone(devices, links, directory, name):
    """A zone as the kernel shows it: its directory, and a link in the class."""
    zone = devices / directory
    zone.mkdir(parents=True)
    for file, text, mode in (("name", name, 0o400), ("max_energy_range_uj", "262143328850", 0o444),
                             ("energy_uj", "1", 0o400), ("enabled", "1", 0o644),
                             ("constraint_0_power_limit_uw", "165000000", 0o600)):
        (zone / file).write_text(text + "\n")
        (zone / file).chmod(mode)
    (links / zone.name).symlink_to(os.path.relpath(zone, links))
    return zone


def make_machine(root):
    """Two sockets of two dies, their parts, a second driver and the platform."""
    devices, links = root / "sys/devices/virtual/powercap", root / "sys/class/powercap"
    links.mkdir(parents=True)
    zones = []
    for package in range(4):
        outer = f"intel-rapl/intel-rapl:{package}"
        zones.append(make_zone(devices, links, outer, f"package-{package // 2}-die-{package % 2}"))
        for part, name in enumerate(("core", "uncore", "dram")):
            zones.append(make_zone(devices, links, f"{outer}/intel-rapl:{package}:{part}", name))
    zones.append(make_zone(devices, links, "intel-rapl/intel-rapl:4", "psys"))
    zones.append(make_zone(devices, links, "intel-rapl-mmio/intel-rapl-mmio:0", "package-0"))
    for driver in ("intel-rapl", "intel-rapl-mmio"):
        (devices / driver / "enabled").write_text("1\n")
    return zones


def state_of(path):
    facts = path.stat()
    return stat.S_IMODE(facts.st_mode), facts.st_uid, facts.st_gid


def check_tmpfiles(text, root):
    zones = make_machine(root)
    file = root / "etc/tmpfiles.d/resmon.conf"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text(f"root:x:0:\n{GROUP}:x:{GID}:\n")
    run("systemd-tmpfiles", f"--root={root}", "--create", str(file))
    wanted = {"energy_uj": (0o440, 0, GID), "name": (0o444, 0, 0), "max_energy_range_uj": (0o444, 0, 0),
              "enabled": (0o644, 0, 0), "constraint_0_power_limit_uw": (0o600, 0, 0)}
    for zone in zones:
        for name, state in wanted.items():
            if state_of(zone / name) != state:
                sys.exit(f"{zone / name}: {state_of(zone / name)}, not {state}")
    found = sorted(path.parent for path in root.rglob("energy_uj") if not path.parent.is_symlink())
    assert found == sorted(zones), found
    print(f"{len(zones)} zones are open to the group, and nothing else has changed")


def check_sysusers(text, root):
    file = root / "etc/sysusers.d/resmon.conf"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (root / "etc/group").write_text("root:x:0:\n")
    path = shutil.which("systemd-sysusers") or skip("systemd-sysusers is not installed")
    subprocess.run([path, f"--root={root}"], check=True)
    groups = [line.split(":")[0] for line in (root / "etc/group").read_text().splitlines()]
    assert groups.count(GROUP) == 1, groups
    print(f"group {GROUP} was made")


def check_udev(text, root):
    """No machine for tests has zones: the same rule for another device says what it would run."""
    udevadm = shutil.which("udevadm") or os.environ.get("RESMON_UDEVADM") or skip("udevadm is not installed (Debian: udev)")
    device = "/sys/devices/system/cpu/cpu0"
    if not os.path.exists(f"{device}/uevent"):
        skip(f"there is no {device}")
    other = text.replace('SUBSYSTEM=="powercap"', 'SUBSYSTEM=="cpu"').replace('TEST=="energy_uj"', 'TEST=="uevent"')
    assert other != text
    (root / "70-resmon.rules").write_text(text)
    (root / "71-other.rules").write_text(other)
    (root / "72-never.rules").write_text(other.replace('TEST=="uevent"', 'TEST=="energy_uj"'))
    (root / "73-wrong.rules").write_text(other.replace("TEST==", "TESTS=="))
    script = (f"mount -t tmpfs none /run && mkdir -p /run/udev/rules.d && cp '{root}'/*.rules /run/udev/rules.d && "
              f"exec '{udevadm}' test --action=add {device}")
    result = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    output = result.stdout + result.stderr
    if result.returncode != 0 or "Reading rules file" not in output:
        skip(f"udevadm test does not run here: {output[-300:]}")
    version = re.match(r"\d+", subprocess.run([udevadm, "--version"], capture_output=True, text=True).stdout)
    if version is None or int(version[0]) >= 256:
        skip(f"{udevadm} says in other words than those of systemd 255 what it would run")
    runs = [line for line in output.splitlines() if line.startswith("run: ") and "energy" in line]
    assert runs == [f"run: '/bin/chgrp {GROUP} {device}/energy_uj'", f"run: '/bin/chmod 0440 {device}/energy_uj'",
                    f"run: '/bin/chmod 0444 {device}/name {device}/max_energy_range_uj'"], runs
    ours = ("70-resmon.rules:", "71-other.rules:", "72-never.rules:", "73-wrong.rules:")  # this machine's may be worse
    complaints = [line for line in output.splitlines() if any(map(line.__contains__, ours)) and " RUN " not in line]
    assert complaints and all("73-wrong.rules" in line for line in complaints), complaints
    print("udevadm takes the rule, and would run:", *runs, sep="\n  ")


library, kind = sys.argv[1:]
if os.geteuid() != 0:
    skip("only root can give files to a group")
library = ctypes.CDLL(library)
with tempfile.TemporaryDirectory() as directory:
    globals()[f"check_{kind}"](rule(library, kind), pathlib.Path(directory))
