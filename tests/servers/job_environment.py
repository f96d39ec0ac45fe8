#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What real launchers put into the environments of their tasks.

    CLUSTER_HOST_NAMES=1 sh slurm_cluster.sh python3 job_environment.py record DIRECTORY
    CLUSTER_HOST_NAMES=1 sh slurm_cluster.sh python3 job_environment.py check DIRECTORY

`record` starts tasks in many ways and writes the variables of each, and an index of what is true of
each.  The index never comes from the variables: a rank is what the launcher names an output file by,
a node is the host name that the kernel has, a job is what sbatch printed.  `check` does the same and
compares the index with the one in DIRECTORY."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

KEPT = re.compile(r"(SLURMD?|PMIX?|OMPI|MPI)_")
# Of this machine or of this minute only, or of no use to know a job by.
LEFT_OUT = re.compile(r"SLURM_.*(CONF|UMASK|WORKING_CLUSTER|TASK_PID|SUBMIT_\w+|PORT|COMM_HOST|IPADDR|"
                      r"_[UG]ID|_USER|TOPOLOGY\w*|PRIO_PROCESS|CPU_BIND\w*|ALIASES|SCRIPT_CONTEXT)$|"
                      r"OMPI_(ALLOW|ARGV|COMMAND|FILE|MCA_(?!orte_(num_nodes|node_regex|ess)|ess_base))|"
                      r"PMIX_(BFROP|GDS|MCA|SECURITY|SERVER|SYSTEM|DSTORE)|PMI_FD")
NAME_SPACE = "1000000001"  # in place of Open MPI's number of the job, another one each time
COLUMNS = ["file", "system", "launcher", "job_id", "step", "array_index", "node_name", "node_index",
           "node_count", "rank", "rank_count", "local_rank"]
TASK = [sys.executable, os.path.abspath(__file__), "task"]
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def task():
    """One task: the host name that the kernel has, and the variables."""
    print(os.uname().nodename)
    for name, value in sorted(os.environ.items()):
        if KEPT.match(name) and not LEFT_OUT.match(name) and value.isprintable():
            print(f"{name}={value}")


def run(*command):
    done = subprocess.run(command, env={**os.environ, **MPI_ENVIRONMENT}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def wait_for_nodes():
    """Until the nodes of the job before are free again: else this one gets others."""
    end = time.monotonic() + 60
    while set(run("sinfo", "-h", "-N", "-o", "%t").split()) != {"idle"}:
        if time.monotonic() > end:
            sys.exit(f"the nodes do not become idle:\n{run('sinfo', '-N')}")
        time.sleep(0.1)


def batch(work, *command, options):
    """Runs commands as a job, to its end; the record of the batch script is in work/script*."""
    script = work / "job.sh"
    lines = [" ".join(f"'{word}'" for word in words) for words in [TASK, *command]]
    script.write_text("#!/bin/sh\n" + "".join(f"{line} || exit 1\n" for line in lines))
    wait_for_nodes()
    job = run("sbatch", "--parsable", f"--output={work}/script.%j.%a", *options, str(script)).strip()
    end = time.monotonic() + 60
    while run("squeue", "-h", "-j", job, "-t", "all", "-o", "%T").split() != ["COMPLETED"] * (
            2 if any(option.startswith("--array") for option in options) else 1):
        if time.monotonic() > end:
            sys.exit(f"job {job}: {run('scontrol', 'show', 'job', job)}")
        time.sleep(0.1)
    return job


def srun_tasks(work):
    """(rank, file, what srun says) of srun --output=RANK.JOB.STEP."""
    for path in work.glob("srun.*"):
        _, rank, job, step = path.name.split(".")
        yield int(rank), path, {"job_id": job, "step": step}


def openmpi_tasks(work):
    for path in work.glob("*/*/rank.*/stdout"):
        yield int(path.parent.name.split(".")[1]), path, {}


def hydra_tasks(work):
    for path in work.glob("hydra.*"):
        yield int(path.name.split(".")[1]), path, {}


class Recorder:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.rows = []

    def write(self, name, path, facts):
        lines = path.read_text().splitlines()[1:]
        space = next((line.split("=")[1] for line in lines if line.startswith("PMIX_NAMESPACE=")), None)
        text = "".join(f"{line}\n" for line in lines)
        if space:
            text = text.replace(space, NAME_SPACE)
        (self.directory / f"{name}.env").write_text(text)
        self.rows.append({"file": f"{name}.env", **facts})

    def parallel(self, case, tasks, **facts):
        """The ranks of one parallel program."""
        tasks = sorted(tasks, key=lambda entry: entry[0])
        hosts = [path.read_text().split("\n", 1)[0] for _, path, _ in tasks]
        nodes = sorted(set(hosts))
        for position, (rank, path, more) in enumerate(tasks):
            self.write(f"{case}.{rank}", path, {
                "node_name": hosts[position], "node_index": nodes.index(hosts[position]),
                "node_count": len(nodes), "rank": rank, "rank_count": len(tasks),
                "local_rank": hosts[:position].count(hosts[position]), **facts, **more})

    def script(self, case, path, **facts):
        """A batch script: one process, on the first node."""
        self.write(case, path, {"system": "slurm", "node_name": path.read_text().split("\n", 1)[0],
                                "node_index": 0, "rank": 0, "rank_count": 1, "local_rank": 0, **facts})

    def finish(self):
        rows = [[str(row.get(column, "-")) for column in COLUMNS] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(COLUMNS, *rows)]
        text = "".join(" ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in [COLUMNS, *rows])
        (self.directory / "index").write_text(text)


def srun(recorder, case, *options):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        wait_for_nodes()
        run("srun", *options, f"--output={work}/srun.%t.%j.%s", *TASK)
        recorder.parallel(case, srun_tasks(work), system="slurm")


def sbatch(recorder):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        job = batch(work, ["srun", f"--output={work}/srun.%t.%j.%s", *TASK],
                    options=["-N3", "--ntasks-per-node=2"])
        recorder.script("batch.script", next(work.glob("script.*")), job_id=job, node_count=3)
        recorder.parallel("batch.step", srun_tasks(work), system="slurm")


def array(recorder):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        batch(work, options=["-N1", "-n1", "--array=3,5"])
        for path in sorted(work.glob("script.*"), key=lambda path: path.suffix):
            _, job, index = path.name.split(".")
            recorder.script(f"array.{index}", path, job_id=job, array_index=index, node_count=1)


def openmpi(recorder):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        run("unshare", "--uts", "sh", "-c", 'hostname host1; exec "$@"', "host1", "mpirun.openmpi",
            "--oversubscribe", "-np", "3", "--output-filename", f"{work}/openmpi", *TASK)
        recorder.parallel("openmpi", openmpi_tasks(work), system="openmpi", launcher="openmpi",
                          job_id=NAME_SPACE, node_index="-")


def hydra(recorder):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        run("unshare", "--uts", "sh", "-c", 'hostname host1; exec "$@"', "host1", "mpirun.mpich",
            "-np", "3", f"-outfile-pattern={work}/hydra.%r", *TASK)
        recorder.parallel("hydra", hydra_tasks(work), system="hydra", launcher="hydra", node_index="-",
                          node_count="-")


def openmpi_in_batch(recorder):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        job = batch(work, ["mpirun.openmpi", "--output-filename", f"{work}/openmpi", *TASK],
                    options=["-N3", "--ntasks-per-node=2"])
        recorder.parallel("batch.openmpi", openmpi_tasks(work), system="slurm", launcher="openmpi",
                          job_id=job)


def hydra_in_batch(recorder):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        job = batch(work, ["mpirun.mpich", f"-outfile-pattern={work}/hydra.%r", *TASK],
                    options=["-N3", "--ntasks-per-node=2"])
        recorder.parallel("batch.hydra", hydra_tasks(work), system="slurm", launcher="hydra", job_id=job)


def record(directory):
    recorder = Recorder(directory)
    srun(recorder, "srun", "-N4", "--ntasks-per-node=2")
    srun(recorder, "srun.single", "-N2", "--ntasks-per-node=1")
    srun(recorder, "srun.cyclic", "-N2", "-n4", "--distribution=cyclic")
    srun(recorder, "srun.pmi2", "--mpi=pmi2", "-N2", "--ntasks-per-node=2")
    sbatch(recorder)
    array(recorder)
    for program, cases in {"mpirun.openmpi": [openmpi, openmpi_in_batch],
                           "mpirun.mpich": [hydra, hydra_in_batch]}.items():
        if not shutil.which(program):
            print(f"not recorded: what needs {program} (Debian: openmpi-bin, mpich)")
            continue
        for case in cases:
            case(recorder)
    recorder.finish()
    return recorder


# With which the index was recorded: others name some things otherwise.
RECORDED_WITH = {"srun": "22.05", "mpirun.openmpi": "4.1", "mpirun.mpich": "4.0"}


def other_releases():
    """What is installed here of another release."""
    found = []
    for program, release in RECORDED_WITH.items():
        if shutil.which(program):
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
            if f" {release}." not in f" {said}":
                found.append(f"{program} is of another release than {release}: {' '.join(said.split()[:6])}")
    return found


def check(directory):
    """The index of now against the stored one; job ids count the jobs of a recording, and may differ."""
    def rows(index):
        lines = [line.split() for line in (pathlib.Path(index) / "index").read_text().splitlines()]
        return {line[0]: [value for name, value in zip(COLUMNS, line) if name != "job_id"]
                for line in lines[1:]}
    with tempfile.TemporaryDirectory() as now:
        record(now)
        new, old = rows(now), rows(directory)
    different = [name for name in new if new[name] != old.get(name)]
    for name in different:
        print(f"{name}: {' '.join(new[name])}\n  stored: {' '.join(old.get(name, ['nothing']))}")
    print(f"{len(new)} tasks, of {len(old)} in the index, {len(different)} of them unlike it")
    others = other_releases() if different else []
    if others:
        print("skipped: " + "; ".join(others))
        return 77
    return 1 if different else 0


def main():
    if sys.argv[1:] == ["task"]:
        task()
    elif len(sys.argv) == 3 and sys.argv[1] == "record":
        record(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "check":
        return check(sys.argv[2])
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
