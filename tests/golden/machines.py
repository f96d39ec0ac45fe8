# SPDX-License-Identifier: MIT
"""Small machines for the doctor: what is in the tree of files of each; None: a directory, "-> ": a symbolic link."""

INTEL = {"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\n"}
AMD = {"proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\n"}
VIRTUAL = {"proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor\n"}
ARM = {"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\n"}
POWERCAP = {"sys/class/powercap": None}
COMMON, MSR = ({f"sys/module/{name}/refcnt": "1\n"} for name in ("intel_rapl_common", "intel_rapl_msr"))
PARANOID = "proc/sys/kernel/perf_event_paranoid"
LOCK = "proc/sys/kernel/perf_event_mlock_kb"
DEVICES = "sys/bus/event_source/devices"
PMUS = {f"{DEVICES}/power/type": "21\n", f"{DEVICES}/power/events/energy-pkg": "event=0x02\n", f"{DEVICES}/cpu/type": "4\n"}
ALL_USERS = "         0          0 4294967295\n"
SITE = "etc/resmon/site.conf"


def zones(**names):
    """Zones of powercap: intel_rapl_0_1="dram" is intel-rapl:0:1."""
    files = {}
    for key, name in names.items():
        driver, *numbers = key.replace("intel_rapl", "intel-rapl").split("_")
        files[f"sys/class/powercap/{':'.join([driver, *numbers])}/name"] = f"{name}\n"
        files[f"sys/class/powercap/{':'.join([driver, *numbers])}/energy_uj"] = "1\n"
    return files


def level(text, mask=None, users=ALL_USERS):
    files = {**PMUS, PARANOID: text}
    if mask is not None:
        files.update({"proc/self/status": f"Name:\tx\nCapEff:\t{mask}\n", "proc/self/uid_map": users})
    return files


TWO_SOCKETS = {**INTEL, **zones(intel_rapl_0="package-0", intel_rapl_0_0="dram", intel_rapl_1="package-1", intel_rapl_1_0="dram")}

MADE = {
    # Counters of energy
    "two sockets": TWO_SOCKETS,
    "dies of AMD": {**AMD, **zones(intel_rapl_0="package-0-die-0", intel_rapl_1="package-0-die-1")},
    "dies of Intel": {**INTEL, **zones(intel_rapl_0="package-0-die-0", intel_rapl_1="package-0-die-1")},
    "two drivers": {**zones(intel_rapl_0="package-0"), "sys/class/powercap/intel-rapl-mmio:0/name": "package-0\n",
                    "sys/class/powercap/intel-rapl-mmio:0/energy_uj": "1\n"},
    "nested zones": {f"sys/class/powercap/intel-rapl/{path}": text for path, text in (
        ("intel-rapl:0/name", "package-0\n"), ("intel-rapl:0/energy_uj", "1\n"),
        ("intel-rapl:0/intel-rapl:0:1/name", "dram\n"), ("intel-rapl:0/intel-rapl:0:1/energy_uj", "1\n"))},
    "garbled zones": {f"sys/class/powercap/{zone}/{file}": text for zone, name, energy in (
        ("intel-rapl:0", "package-0", "12x"), ("intel-rapl:1", "package-1", "x\n"), ("intel-rapl:2", "package-2", ""),
        ("intel-rapl::::", "\033[31mdram", "1\n")) for file, text in (("name", name), ("energy_uj", energy))},
    "no powercap": INTEL,
    "no module": {**INTEL, **POWERCAP},
    "one module": {**INTEL, **POWERCAP, **COMMON},
    "unknown processors": {**INTEL, **POWERCAP, **COMMON, **MSR},
    "virtual machine": {**VIRTUAL, **POWERCAP},
    "ARM": {**ARM, **POWERCAP},
    "masked by a container": {**POWERCAP, "sys/devices/virtual/powercap": None},
    "masked behind a link": {"sys/class/powercap/intel-rapl:0": "-> ../../devices/virtual/powercap/intel-rapl/intel-rapl:0"},
    "modules of memory": {"sys/devices/system/edac/mc/mc0/dimm0/size": "16384\n", "sys/devices/system/edac/mc/mc0/dimm1/size": "0\n",
                          "sys/devices/system/edac/mc/mc1/dimm0/size": "16384\n"},
    # Counters of perf events
    **{f"level {number}": level(f"{number}\n", "0000000000000000") for number in (-1, 0, 1, 2, 3, 4)},
    "level 4, CAP_PERFMON": level("4\n", "0000004000000000"),
    "level 3, CAP_SYS_ADMIN": level("3\n", "0000000000200000"),
    "level 3, all capabilities of a user namespace": level("3\n", "000001ffffffffff", "0 1000 1\n"),
    "level 3, garbled capabilities": level("3\n", "00000Z4000000000"),
    "level -9": level("-9\n"),
    "highest level": level("9223372036854775807\n"),
    "higher than the highest": level("9223372036854775808\n"),
    "level 2x": level("2x\n"),
    "level of an escape sequence": level("\033[2J\n"),
    "empty level": level(""),
    "PMU beside zones": {**TWO_SOCKETS, **level("2\n")},
    "no event of energy": {f"{DEVICES}/power/type": "21\n", f"{DEVICES}/power/events/energy-pkg": "garbage\n"},
    "no PMU of processors": {PARANOID: "2\n", f"{DEVICES}/uncore_imc_0/cpumask": "0\n", f"{DEVICES}/software/type": "1\n"},
    "PMU of efficient cores": {PARANOID: "2\n", f"{DEVICES}/cpu_atom/cpus": "8-15\n"},
    "PMU of ARM": {PARANOID: "2\n", f"{DEVICES}/armv8_pmuv3_0/type": "8\n"},
    **{f"{text!r} KiB of rings": {PARANOID: paranoid, LOCK: text} for paranoid, text in (
        ("2\n", "516\n"), ("3\n", "4\n"), ("3\n", "\n"), ("3\n", "x\n"), ("3\n", "-1\n"), ("3\n", "12x\n"),
        ("3\n", "18446744073709551616\n"))},
    # GPUs
    "driver of NVIDIA": {"proc/driver/nvidia/version": "NVRM version: 535\n"},
    "device of NVIDIA": {"proc/driver/nvidia/version": "NVRM version: 535\n", "dev/nvidiactl": ""},
    # The site
    "site without a place": {SITE: "pue = 1.2\n"},
    "site": {SITE: "country = DE\n"},
    "unknown country": {SITE: "country = Atlantis\n"},
    "mistake in the site's file": {SITE: "country = DE\npue = 0.9\n"},
    # The kernel
    "pressure, group": {"proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "proc/self/smaps_rollup": "Rss: 4 kB\n",
                        "proc/self/cgroup": "0::/job\n", "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                        "sys/fs/cgroup/job/memory.current": "1\n"},
}
