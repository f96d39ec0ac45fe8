# SPDX-License-Identifier: MIT
"""What test_mlflow_faults.py works with: fakes, the program, and what must hold after every fault."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse
import urllib.request

from server import opener, request

HERE = pathlib.Path(__file__).resolve().parent
SECRETS = ("pw-S3cret-1", "tok-S3cret-2", "pw-S3cret-3", "pw%2DS3cret")  # no output or file may hold one
EXPERIMENT = "faults"
QUICK = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "20", "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0.02",
         "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3"}
SLACK_S = 20.0  # of a machine that is busy: what hangs does so for longer


class Skipped(Exception):
    pass


class Fake:
    """fake_mlflow.py as a child, for `with`."""

    idle = []  # of cases that are over; to start an interpreter costs more than most cases

    def __init__(self, *arguments, port=None, scheme="http"):
        self.directory = tempfile.mkdtemp(prefix="fake-")
        file = pathlib.Path(self.directory, "port")
        words = ["--port", str(port)] if port else []
        self.child = subprocess.Popen([sys.executable, "-B", HERE / "fake_mlflow.py", "--port-file", file,
                                       "--lifetime", "1800", *words, *map(str, arguments)],
                                      stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 90
        while not file.exists():
            if self.child.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("fake_mlflow.py did not start")
            time.sleep(0.01)
        self.port = int(file.read_text(encoding="ascii"))
        self.uri = f"{scheme}://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        shutil.rmtree(self.directory)

    def state(self, experiment=None):
        """Of one experiment only what is in it: all of a server that many cases use is large."""
        query = f"?experiment={urllib.parse.quote(experiment)}" if experiment else ""
        return json.loads(request(f"{self.uri}/_state{query}")[1])

    def faults(self, *rules):
        status, words = request(f"{self.uri}/_fault", json.dumps(rules).encode(), "POST")
        assert status == 200, words

    def lift(self):
        """What hangs goes on, and what is about to."""
        while any(r["fault"] == "hang" and r["status"] is None for r in self.state()["requests"]):
            assert request(f"{self.uri}/_lift", b"", "POST")[0] == 200
            time.sleep(0.01)

    def is_as_new(self):
        """Whether the next case may have it: nothing hangs, and no request is under way."""
        if self.child.poll() is not None:
            return False
        self.lift()
        deadline = time.monotonic() + 5
        while any("seconds" not in request for request in self.state()["requests"]):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        self.reset()
        return True

    def reset(self):
        assert request(f"{self.uri}/_reset", b"", "POST")[0] == 200

    def post(self, path, **words):
        """A call of the API, such as somebody else may make."""
        call = urllib.request.Request(f"{self.uri}/api/2.0/mlflow/{path}", json.dumps(words).encode(),
                                      {"Content-Type": "application/json"}, method="POST")
        with opener.open(call, timeout=60) as answer:
            return json.load(answer)

    def until(self, is_so, seconds=100):
        deadline = time.monotonic() + seconds
        while True:
            state = self.state()
            if is_so(state):
                return state
            assert time.monotonic() < deadline, "it did not come to that"
            time.sleep(0.02)


class Result:
    """What the program said: result["stop"]["status"]; a missing line is a KeyError."""

    def __init__(self, code, output, errors):
        self.code, self.output, self.errors = code, output, errors
        self.lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        self.by_name = {line["what"]: line for line in self.lines}

    def __getitem__(self, name):
        assert name in self.by_name, f"no line {name} in {self.output}\n{self.errors}"
        return self.by_name[name]

    def expect(self, name, status, *words):
        line = self[name]
        assert line["status"] == status, (f"{name} is {line['status']}, not {status}: {line['text']}\n"
                                          f"{self.errors}")
        for word in words:
            assert word in line["text"], f"{name}: no {word!r} in: {line['text']}"
        return line


class Case:
    """A test: its directory, its environment, and the program in both."""

    program = None    # these are set once, before all
    reference = None  # a fake without faults
    largest_kb = 0    # peak memory of the program

    def __init__(self, name):
        self.name = name
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"faults-{name[:40].replace('/', '_')}-"))
        self.outputs = []
        self.resources = contextlib.ExitStack()
        self.borrowed = []

    def fake(self, *arguments, **words):
        if arguments or words:
            return self.resources.enter_context(Fake(*arguments, **words))
        try:
            self.borrowed.append(Fake.idle.pop())
        except IndexError:
            self.borrowed.append(Fake())
        return self.borrowed[-1]

    def give_back(self):
        """After success: those who come later may have them."""
        while self.borrowed:
            fake = self.borrowed.pop()
            if fake.is_as_new():
                Fake.idle.append(fake)
            else:
                fake.__exit__()

    def environment(self, uri, env=None):
        found = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "no_proxy": "127.0.0.1,localhost",
                 "MLFLOW_EXPERIMENT_NAME": EXPERIMENT, "PROGRAM_PASSWORD": SECRETS[0], "PROGRAM_TOKEN": SECRETS[1],
                 **QUICK}
        found.update({name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")})
        if uri is not None:
            found["MLFLOW_TRACKING_URI"] = uri
        found.update(env or {})
        return {name: value for name, value in found.items() if value is not None}

    def popen(self, uri, *words, env=None, wrapper=()):
        return subprocess.Popen([*wrapper, Case.program, *map(str, words)], cwd=self.directory,
                                env=self.environment(uri, env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def result(self, child, seconds=200):
        try:
            output, errors = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            raise AssertionError(f"the program still runs: {child.communicate()}") from None
        self.outputs.append(output + errors)
        return Result(child.returncode, output, errors)

    def run(self, uri, *words, env=None, wrapper=(), code=0):
        """The program must end with `code`, whatever happened to the sink."""
        result = self.result(self.popen(uri, *words, env=env, wrapper=wrapper))
        assert result.code == code, f"exit code {result.code}: {result.output}\n{result.errors}"
        return result

    def kill_at_fault(self, fake, child):
        """SIGKILL once the server is at the fault of its first rule; whether the program was done before."""
        while child.poll() is None and not json.loads(request(f"{fake.uri}/_fault")[1])[0]["fired"]:
            time.sleep(0.01)
        child.kill()
        self.outputs.extend(child.communicate())
        return child.returncode == 0

    def live(self, uri, *words, stop=60000, env=None, wrapper=()):
        """A run that is observed and saved; it stops in time and nobody waited for the server."""
        result = self.run(uri, "run", "save=run.json", f"stop={stop}", *words, env=env, wrapper=wrapper)
        assert result["start"]["seconds"] < SLACK_S, f"start took {result['start']['seconds']} s"
        assert result["stop"]["seconds"] < stop / 1e3 + SLACK_S, f"stop took {result['stop']['seconds']} s"
        result.expect("save", "RESMON_OK")
        return result

    def kept(self):
        """The run documents that wait to be sent."""
        found = sorted(path for path in self.directory.glob("*.json*") if path.name != "run.json")
        for path in found:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, f"{path} is not of mode 0600"
        return found

    def push_kept(self, uri, *words, env=None):
        """Sends the documents that wait; they stay as they were, and are taken away here."""
        for path in self.kept():
            before = path.read_bytes()
            self.run(uri, "push", path, *words, env=env).expect("push", "RESMON_OK")
            assert path.read_bytes() == before, "a push changes no document"
            path.unlink()

    def close(self):
        self.resources.close()
        for fake in self.borrowed:
            fake.__exit__()
        for secret in SECRETS:
            for text in self.outputs:
                assert secret not in text, f"{secret} was said: {text}"
            for path in self.directory.rglob("*"):
                if path.is_file() and not path.is_symlink() and path.name != "credentials":
                    assert secret.encode() not in path.read_bytes(), f"{secret} is in {path}"


# ---- the state of a server ---------------------------------------------------------------------------


def shown(run):
    """What must be the same, however it came there."""
    return {"status": run["info"]["status"], "name": run["info"]["run_name"], "start": run["info"]["start_time"],
            "end": run["info"].get("end_time"), "params": run["params"],
            "tags": {key: value for key, value in run["tags"].items() if key not in ("resmon.uuid", "mlflow.user")},
            "artifacts": sorted(run["artifacts"]),
            "points": sorted((p["key"], p["timestamp"], p["step"], p["value"]) for p in run["points"])}


def runs_of(state, experiment=EXPERIMENT):
    ids = [e["experiment_id"] for e in state["experiments"].values() if e["name"] == experiment]
    assert len(ids) <= 1, f"{len(ids)} experiments of one name"
    return [run for run in state["runs"].values() if run["info"]["experiment_id"] in ids]


def check_clean(state):
    assert state["violations"] == [], state["violations"]
    text = json.dumps(state)
    for secret in SECRETS:
        assert secret not in text, f"{secret} is on the server"


numbers = iter(range(10**9))


def expected(case, *words, env=None, document="run.json"):
    """The run that a push of the document makes on a server without faults."""
    name = f"reference {next(numbers)}"
    result = case.run(Case.reference.uri, "push", document, *words,
                      env={**(env or {}), "MLFLOW_EXPERIMENT_NAME": name})
    result.expect("push", "RESMON_OK")
    runs = runs_of(Case.reference.state(name), name)
    assert len(runs) == 1, runs
    return shown(runs[0])


def differences(found, wanted):
    lines = [f"{key}: {found[key]!r:.300} is not {wanted[key]!r:.300}" for key in wanted
             if key != "points" and found[key] != wanted[key]]
    here, there = set(found["points"]), set(wanted["points"])
    return lines + [f"lost: {p}" for p in sorted(there - here)[:5]] + \
        [f"not wanted: {p}" for p in sorted(here - there)[:5]]


def check_settled(state, wanted, experiment=EXPERIMENT, count=1):
    """Exactly one run of that experiment, with all of it and nothing else."""
    check_clean(state)
    runs = runs_of(state, experiment)
    assert len(runs) == count, f"{len(runs)} runs: {[run['info'] for run in runs]}"
    for run in runs:
        found = differences(shown(run), wanted)
        assert not found, "\n".join(found)


def check_once(state):
    """A store of files keeps what is sent twice, twice."""
    twice = [p for run in state["runs"].values() for p in run["points"] if p["count"] != 1]
    assert not twice, f"{len(twice)} points more than once: {twice[:3]}"


def is_sanitized(path):
    """A program or library; of those without a sanitizer, some ask whether there is one: __asan_init."""
    code = pathlib.Path(path).read_bytes()
    return b"__asan_report_" in code or b"__tsan_read" in code


# ---- running the cases -------------------------------------------------------------------------------


cases = []  # (name, function, whether it runs with nothing beside it)


def case(name=None, alone=False):
    def add(function):
        cases.append((name or function.__name__, function, alone))
        return function
    return add


def run_case(name, function):
    begin = time.monotonic()
    trial = Case(name)
    try:
        try:
            function(trial)
            trial.give_back()
        finally:
            trial.close()
        shutil.rmtree(trial.directory, ignore_errors=True)
        verdict, text = "ok", ""
    except Skipped as why:
        verdict, text = "skipped", str(why)
    except Exception:  # noqa: a test reports whatever went wrong
        verdict, text = "FAILED", traceback.format_exc(limit=-3) + f"in {trial.directory}"
    print(f"{verdict:7} {time.monotonic() - begin:6.2f} s  {name}" + (f": {text}" if text else ""), flush=True)
    return verdict


def main(arguments):
    Case.program = os.path.abspath(arguments[0])
    wanted = [(name, function, alone) for name, function, alone in cases
              if not arguments[1:] or any(part in name for part in arguments[1:])]
    verdicts = []
    Case.largest_kb = (800 if is_sanitized(Case.program) else 80) << 10
    with Fake() as Case.reference, contextlib.ExitStack() as at_end:
        at_end.callback(lambda: [fake.__exit__() for fake in Fake.idle])
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            verdicts += pool.map(lambda c: run_case(c[0], c[1]), [c for c in wanted if not c[2]])
        verdicts += [run_case(name, function) for name, function, alone in wanted if alone]
    failed = verdicts.count("FAILED")
    print(f"{len(verdicts)} cases, {failed} failed, {verdicts.count('skipped')} skipped")
    return 1 if failed else 0
