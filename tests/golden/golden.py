# SPDX-License-Identifier: MIT
"""What people and programs get of recorded runs, byte for byte: texts, Markdown, pages, tables, exports, comparisons;
and what the doctor says of the machines of tests/fixtures, and of small ones (machines.py).

    golden.py RESMON [--update] [RUN]...

--update writes tests/golden/expected anew, which is a commit of its own that somebody reads.  The command is called as
users call it, so that nothing here knows how it is made.
"""
import concurrent.futures
import difflib
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "servers"))
import mlflow_api  # noqa: E402
from machines import MADE  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RUNS, EXPECTED, MACHINES = HERE / "runs", HERE / "expected", HERE.parent / "fixtures"
RESMON = str(pathlib.Path(sys.argv[1]).resolve())
UPDATES = "--update" in sys.argv
ONLY = [word for word in sys.argv[2:] if not word.startswith("-")]

TEXTS = {"brief.60": ["report", "--width=60"], "brief.100": ["report", "--width=100"], "brief.160": ["report", "--width=160"],
         "full": ["report", "--full", "--width=100"]}
TABLES = ("metrics", "scopes", "tags", "sources", "facts", "energy", "processes", "nodes", "ranks")
FILES = {"md": "out.md", "html": "out.html", "csv": "out.csv", "trace": "out.trace.json", "folded": "out.folded", "pprof": "out.pb.gz"}
# Renderings that say something of a run; all have the brief text.
PLAN = {
    "plain": "mlflow brief.60 brief.160 full md html csv prom metrics facts", "halved": "brief.60 csv prom trace", "one-sample": "full metrics",
    "nothing": "full sources md", "limits": "brief.60 full metrics tags csv", "meters": "mlflow brief.60 brief.160 full md html prom scopes trace energy",
    "phases": "mlflow brief.60 brief.160 full md html prom scopes processes trace", "many-paths": "brief.60 full html scopes",
    "killed": "mlflow full md scopes", "torn": "full", "each": "brief.60 full md html processes", "stacks": "full md html folded",
    "unnamed": "full folded", "peak": "full html", "lines": "full md", "counters": "full metrics", "scope-counters": "mlflow brief.160 full scopes prom",
    "rapl": "mlflow full energy scopes", "gpus": "mlflow full metrics energy", "merged": "mlflow brief.60 brief.160 full md html nodes ranks scopes seff jobstats",
    "merged-with-losses": "brief.60 full html nodes ranks", "hostile-names": "mlflow brief.60 full md html scopes prom trace csv facts",
    "hostile-numbers": "mlflow full md html metrics prom csv trace", "made-hostile-times": "mlflow csv trace",
    "made-stacks": "full md html folded pprof lines.work lines.load lines.square lines.nobody", "made-few-samples": "full",
    "made-recursion": "full lines.work", "made-killed-at-its-limit": "brief.60 full md", "made-far-from-its-limit": "full",
}
DIFFS = {"diff.same": ("bench-before", "bench-same"), "diff.worse": ("bench-before", "bench-worse"),
         "diff.few": ("bench-before", "bench-few"), "diff.runs": ("phases", "hostile-names")}


def resmon(*words, cwd):
    done = subprocess.run([RESMON, *words], cwd=cwd, capture_output=True, text=True, check=False, errors="surrogateescape",
                          env={"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": os.environ["PATH"]})
    return done.stdout + "".join(f"stderr: {line}\n" for line in done.stderr.splitlines()) + \
        (f"status: {done.returncode}\n" if done.returncode else "")


def of_file(words, file, cwd):
    """What a command writes to a file, and what it says."""
    said = resmon(*words, "-o", file, cwd=cwd)
    path = cwd / file
    if file.endswith(".pb.gz"):
        return said + profile(gzip.decompress(path.read_bytes()))
    return said + (path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else "")


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def fields(data):
    """(number, value) of each field of a message in protocol buffers: numbers, and bytes."""
    rest = iter(data)
    for tag in iter(lambda: next(varints(rest), None), None):
        number = next(varints(rest))
        yield tag >> 3, number if tag & 7 == 0 else bytes(next(rest) for _ in range(number))


# Of the messages of pprof's profile.proto: names, fields that are indices of strings, and those that are messages or packed.
PPROF = {1: ("type", {1, 2}), 2: ("sample", {}), 3: ("mapping", {5, 6}), 4: ("location", {}), 5: ("function", {2, 3, 4}), 11: ("period", {1, 2})}
PACKED = {("sample", 1), ("sample", 2)}
INNER = {("sample", 3): {1, 2}, ("location", 4): {}}


def profile(data):
    """A profile of pprof as text: a message on a line, with strings in place of their indices."""
    strings = [value.decode("utf-8") for number, value in fields(data) if number == 6]

    def shown(name, message, texts):
        parts = []
        for number, value in fields(message):
            if (name, number) in PACKED:
                value = list(varints(value))
            elif (name, number) in INNER:
                value = shown("", value, INNER[name, number])
            elif number in texts:
                value = strings[value]
            parts.append(f"{number}={value!r}" if isinstance(value, str) and not value.startswith("{") else f"{number}={value}")
        return "{" + " ".join(parts) + "}"
    lines = [PPROF[number][0] + " " + shown(PPROF[number][0], value, PPROF[number][1]) if number in PPROF
             else f"{number}={strings[value] if number in (13, 14) else value}" for number, value in fields(data) if number != 6]
    return "\n".join([*lines, ""])


def page(text):
    """Without scripts and styles, an element in a line; the data of charts, for people to read, too."""
    data = "".join(re.findall(r"<script[^>]*type=.?application/json.?[^>]*>(.*?)</script>", text, re.S))
    text = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S)
    return re.sub(r">\s*<(?=[a-z])", ">\n<", text) + "\n" + data.replace("],", "],\n")


def table(run, cwd, name):
    text = resmon("show", run, name, "--json", cwd=cwd)
    return re.sub(r"\}, ?\{", "},\n{", text)


def textfile(run, cwd):
    """The file for node_exporter, which names itself."""
    (cwd / "textfile").mkdir()
    said = resmon("export", "--format=prometheus", "-o", "textfile", run, cwd=cwd)
    return said + "".join(path.read_text(encoding="utf-8", errors="surrogateescape") for path in (cwd / "textfile").iterdir())


def render(run, name, cwd):
    if name in TEXTS:
        return resmon(*TEXTS[name], run, cwd=cwd)
    if name in ("seff", "jobstats"):
        return resmon("report", f"--form={name}", run, cwd=cwd)
    if name == "mlflow":
        return mlflow(run, cwd)
    if name == "prom":
        return textfile(run, cwd)
    if name.startswith("lines."):
        return resmon("report", f"--lines={name[6:]}", "--width=100", run, cwd=cwd)
    if name in TABLES:
        return table(run, cwd, name)
    text = of_file(["report" if name in ("md", "html") else "export", run], FILES[name], cwd)
    return page(text) if name == "html" else text


class MLflow(http.server.BaseHTTPRequestHandler):
    """A strict server (tests/servers), which keeps what it is asked."""

    protocol_version = "HTTP/1.1"

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.server.api.answer(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.server.asked.append((self.command, self.path, body))
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": len(answer.body)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = serve

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def mlflow(run, cwd):
    """The requests of a push, with one id for all runs; whole files are only named."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), MLflow) as server:
        server.api, server.asked = mlflow_api.Api(), []
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        said = resmon("push", f"--mlflow=http://127.0.0.1:{server.server_address[1]}", "--mlflow.series", run, cwd=cwd)
        server.shutdown()
    lines = [said.replace(str(server.server_address[1]), "PORT")] + [f"violation: {text}\n" for text in server.api.violations]
    for method, path, body in server.asked:
        lines.append(f"{method} {path}\n")
        if "/artifacts/" not in path and body:
            lines += [f"  {key}: {json.dumps(value)}\n" for key, values in sorted(json.loads(body).items())
                      for value in (values if isinstance(values, list) else [values])]
    text = "".join(lines)
    for found in set(re.findall(r"\b[0-9a-f]{32}\b", text)):
        text = text.replace(found, "RUN")
    return text


def lay_out(run, room):
    """Its file, as somebody would have it."""
    shutil.copy(RUNS / "made.c", room)  # that stacks name
    packed = RUNS / f"{run}.rec.gz"
    path = room / (f"{run}.rec" if packed.exists() else f"{run}.json")
    path.write_bytes(gzip.decompress(packed.read_bytes()) if packed.exists() else (RUNS / f"{run}.json").read_bytes())
    return path.name


def made_of(run):
    """(name, text) of each rendering, and whether the document is the same when it is read and written again."""
    with tempfile.TemporaryDirectory(prefix="resmon-golden-") as name:
        room = pathlib.Path(name)
        file = lay_out(run, room)
        made = [(f"{run}.{what}", render(file, what, room)) for what in ["brief.100", *PLAN[run].split()]]
        if file.endswith(".json") and not run.startswith("made-"):
            again = of_file(["export", file], "again.json", room)
            if not again.startswith("{") or json.loads(again) != json.loads((room / file).read_text(encoding="utf-8")):
                made.append((f"{run}.again", "a document that is read and written again is another one\n"))
        return made


def compared(name):
    with tempfile.TemporaryDirectory(prefix="resmon-golden-") as directory:
        room = pathlib.Path(directory)
        files = [lay_out(run, room) for run in DIFFS[name]]
        made = [(name, resmon("diff", *files, cwd=room))]
        made += [(f"{name}.{what}", of_file(["diff", "-q", *files], f"out.{what}", room)) for what in ("md", "json", "xml")]
        return made + [(f"{name}.html", page(of_file(["diff", "-q", *files], "out.html", room)))]


def examined(machine):
    text = resmon("doctor", f"--root={machine}/t0", cwd=MACHINES)
    return [(f"doctor.{machine}", text.replace(f"user id {os.geteuid()} ", "a user "))]


def lay_out_machine(root, files):
    root.mkdir()
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            place.mkdir()
        elif text.startswith("-> "):
            place.symlink_to(text[3:])
        else:
            place.write_text(text, encoding="utf-8")


def findings(text):
    """Each on one line, however wide its columns are; remedies without their numbers."""
    _, rest = text.split("\n", 1)  # the first line names the root
    lines = re.sub(r"\n {4,}(?=\S)", " ", rest).replace(f"user id {os.geteuid()} ", "a user ").splitlines()
    return [re.sub(r"^\d+\. ", "remedy: ", " ".join(line.split())) for line in lines]


def made_machines():
    """Of each machine of machines.py, what the doctor does not say of an empty tree; and the files that it makes."""
    with tempfile.TemporaryDirectory(prefix="resmon-golden-") as directory:
        room = pathlib.Path(directory)
        lay_out_machine(room / "empty", {})
        empty = findings(resmon("doctor", "--root=empty", cwd=room))
        lines = list(empty)
        for name, files in MADE.items():
            lay_out_machine(room / name, files)
            found = findings(resmon("doctor", f"--root={name}", cwd=room))
            lines += ["", f"==== {name}", *(line for line in found if line not in empty)]
        rules = []
        for name in ("level 4", "level 2", "level 1"):
            before, rules = rules, resmon("doctor", f"--root={name}", "--group=power", "--rule", cwd=room).splitlines()
            lines += ["", f"==== files for {name}", *(line for line in rules if line not in before)]
        return [("doctor.made", "\n".join(lines) + "\n")]


def main():
    machines = sorted(path.parent.name for path in MACHINES.glob("*/t0"))
    jobs = [(made_of, run) for run in PLAN] + [(compared, name) for name in DIFFS] + [(examined, name) for name in machines]
    jobs.append((lambda _: made_machines(), "machines"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = [pair for pairs in pool.map(lambda job: job[0](job[1]) if not ONLY or job[1] in ONLY else [], jobs) for pair in pairs]
    if UPDATES:
        EXPECTED.mkdir(exist_ok=True)
        for name, text in made:
            (EXPECTED / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    wrong = 0
    for name, text in made:
        path = EXPECTED / name
        expected = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
        if text != expected:
            wrong += 1
            difference = list(difflib.unified_diff(expected.splitlines(), text.splitlines(), f"expected/{name}", "now", lineterm="", n=1))
            print("\n".join(difference[:24]).encode("utf-8", "backslashreplace").decode())
    left = set() if ONLY else {path.name for path in EXPECTED.iterdir()} - {name for name, _ in made}
    for name in sorted(left):
        print(f"expected/{name}: nothing makes it any more")
    print(f"{len(made)} renderings, {wrong} are not as expected" + (": golden.py RESMON --update writes them" if wrong else ""))
    sys.exit(1 if wrong or left or not made else 0)


main()
