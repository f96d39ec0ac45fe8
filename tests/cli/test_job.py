# SPDX-License-Identifier: MIT
"""`resmon job start` and `stop` in a batch script, where nodes are reached by a remote shell: a made job of PBS, and a
made ssh to three nodes that are all this machine.  Under a real Slurm: servers/test_jobs.py."""
import contextlib
import json
import os
import pathlib
import signal

import place

# What ssh gives a command: the line for the user's shell, none of our variables, its own stdin.
SSH = """#!/bin/sh
[ "$1 $2" = "-o BatchMode=yes" ] || exit 64
[ "$3" != "$BROKEN" ] || { echo "ssh: connect to host $3 port 22: No route to host" >&2; exit 255; }
exec env -i PATH="$PATH" TMPDIR="$TMPDIR" RESMON_NODE_NAME="$3" sh -c "$4"
"""


def attached(directory):
    """The monitors that have their files in a directory."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"--output={directory}/".encode() in words and b"attach" in words[1:2]:
            found.append(int(path.parent.name))
    return found


@place.needs_json
class Monitors(place.Case):
    def setUp(self):
        super().setUp()
        pathlib.Path("bin").mkdir()
        pathlib.Path("bin/ssh").write_text(SSH, encoding="ascii")
        pathlib.Path("bin/ssh").chmod(0o755)
        pathlib.Path("nodes").write_text("n1\nn1\nn2\nn3\n", encoding="ascii")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("SLURM", "PBS", "OAR", "LSB", "FLUX", "RESMON_"))}
        self.environment.update(PBS_JOBCOOKIE="a-secret", SLURM_JWT="a-secret")
        self.environment.update(PATH=f"{self.room}/bin:{os.environ['PATH']}", PBS_JOBID="77.server", PBS_JOBNAME="it's a job",
                                PBS_NODEFILE=f"{self.room}/nodes", TMPDIR=str(self.room))
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for pid in attached(self.room / "resmon"):
            with contextlib.suppress(ProcessLookupError):  # it may just be ending
                os.kill(pid, signal.SIGKILL)

    def job(self, *words, code=0, **variables):
        done = place.run("job", *words, env={**self.environment, **variables})
        self.assertEqual(done.code, code, done.err)
        return done

    def merged(self):
        return json.loads(pathlib.Path("resmon/77_server.json").read_text(encoding="utf-8"))

    def test_start_and_stop(self):
        done = self.job("start", "--interval=20ms")
        self.assertIn("3 nodes are observed; 'resmon job stop' ends this and creates resmon/77_server.json", done.err)
        self.assertEqual(len(attached(self.room / "resmon")), 3)
        done = self.job("stop")
        place.until(lambda: not attached(self.room / "resmon"))
        run = self.merged()
        self.assertEqual([node["name"] for node in run["nodes"]], ["n1", "n2", "n3"])
        self.assertEqual({node["state"] for node in run["nodes"]}, {"stopped"})
        self.assertEqual(run["ranks"], [])
        self.assertEqual((run["job"]["id"], run["job"]["name"]), ("77.server", "it's a job"))
        self.assertIn("it's a job was observed for", done.err)
        self.assertEqual(run["run"]["end"]["reason"], "unknown")  # its tasks may have failed
        self.assertIn("State: UNKNOWN", place.run("report", "--form=seff", "resmon/77_server.json").out)
        self.assertNotIn(" ranks have files", done.err)
        self.assertEqual(sorted(path.suffix for path in pathlib.Path("resmon").iterdir()), [".json"] * 4 + [".log"])

    def test_nothing_else_is_passed_on(self):
        """Variables of batch systems that are secrets would be seen by all users in the command line."""
        pathlib.Path("bin/ssh").write_text('#!/bin/sh\necho "$@" >>said\n', encoding="ascii")
        self.job("start", code=1)
        said = pathlib.Path("said").read_text(encoding="utf-8")
        self.assertIn("'PBS_JOBID=77.server'", said)
        self.assertNotIn("a-secret", said)

    def test_a_second_time(self):
        """Both times are of one run."""
        for _ in range(2):
            self.job("start", "-q", "--interval=20ms")
            self.job("stop", "-q")
        self.assertEqual(len(list(pathlib.Path("resmon").glob("77_server.n?.monitor.*.json"))), 6)
        self.assertEqual(len(self.merged()["nodes"]), 3)

    def test_the_job_ends(self):
        """The batch system kills what it has started on the first node: monitors of the others end, too."""
        self.job("start", "-q", "--interval=20ms")
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                is_ours = b"\0job\0start\0" in (path / "cmdline").read_bytes() and (path / "cwd").resolve() == self.room
            except OSError:
                continue
            if is_ours:
                os.kill(int(path.name), signal.SIGKILL)
        place.until(lambda: not attached(self.room / "resmon"))
        self.assertEqual(len(list(pathlib.Path("resmon").glob("77_server.n?.monitor.*.json"))), 3)
        self.assertEqual(list(pathlib.Path("resmon").glob("*.rec")), [])

    def test_a_job_that_is_cancelled(self):
        """As scancel does it: SIGTERM to all."""
        self.job("start", "-q", "--interval=20ms")
        for pid in attached(self.room / "resmon"):
            os.kill(pid, signal.SIGTERM)
        place.until(lambda: not attached(self.room / "resmon"))
        self.assertEqual(place.run("merge", "resmon", "-o", "resmon/77_server.json").code, 0)
        end = self.merged()["run"]["end"]
        self.assertEqual((end["reason"], end["signal"]), ("killed", signal.SIGTERM))
        self.assertIn("State: CANCELLED", place.run("report", "--form=seff", "resmon/77_server.json").out)

    def test_a_node_that_cannot_be_reached(self):
        done = self.job("start", "--interval=20ms", BROKEN="n2")
        self.assertIn("of 3 nodes, only 2 are observed: see resmon/77_server.log", done.err)
        self.assertIn("No route to host", pathlib.Path("resmon/77_server.log").read_text(encoding="utf-8"))
        done = self.job("stop")
        self.assertEqual({node["name"]: node["state"] for node in self.merged()["nodes"]},
                         {"n1": "stopped", "n2": "missing", "n3": "stopped"})
        self.assertIn("missing: n2", done.err)

    def test_another_remote_shell(self):
        pathlib.Path("bin/ssh").rename("bin/rsh")
        self.job("start", "-q", "--interval=20ms", "--remote-shell", "rsh -o BatchMode=yes")
        self.job("stop", "-q")
        self.assertEqual(len(self.merged()["nodes"]), 3)

    def test_no_shell_at_all(self):
        self.job("start", "--interval=20ms", "--remote-shell=no-such-shell", code=1)
        self.assertIn("cannot start the monitor on n1", pathlib.Path("resmon/77_server.log").read_text(encoding="utf-8"))

    def test_what_is_wrong(self):
        self.assertIn("this is not a job of a batch system", self.job("start", code=1, PBS_JOBID="").err)
        self.assertIn("'begin' must be start or stop", self.job("begin", code=2).err)
        self.job(code=2)
        self.assertIn("there is no run to merge", self.job("stop", code=1).err)


if __name__ == "__main__":
    place.main()
