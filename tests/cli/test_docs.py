# SPDX-License-Identifier: MIT
"""What the first pages tell people to type works as it stands there, and prints what stands below, in form."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import place

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = os.environ.get("RESMON_LIBRARY_BUILT", "")
EXAMPLES = pathlib.Path(os.environ.get("RESMON_EXAMPLES", ""))
PYTHON = "python3"  # as pages have it; which one with_python() says
needs_python = unittest.skipUnless(os.path.exists(LIBRARY), "Python cannot load this library")
needs_examples = unittest.skipUnless((EXAMPLES / "hello").exists(), "the examples are not built")
# Lines that depend on the machine: whether there is energy, what others do, what cannot be measured.
OF_HOST = re.compile(r"(energy|note|missing|cost|limit|hot|slowest)\b|\s{20}|absent|ok ")


def blocks_of(page, section=None):
    """(kind, lines) of each fenced block, of one section if that is named."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section is not None:
        text = text[text.index(f"\n## {section}\n"):]
        text = text[:text.find("\n## ", 5)]
    return [(kind, body.split("\n")) for kind, body in re.findall(r"^```(\w+)\n(.*?)\n```$", text, re.S | re.M)]


def steps_of(blocks):
    """(commands, what is printed) of each step: an sh block with the text below it, or each command of a console block."""
    steps = []
    for number, (kind, lines) in enumerate(blocks):
        if kind == "sh":
            is_text = number + 1 < len(blocks) and blocks[number + 1][0] == "text"
            steps.append(("\n".join(lines), blocks[number + 1][1] if is_text else []))
        elif kind == "console":
            for line in lines:
                if line.startswith("$ "):
                    steps.append((line[2:], []))
                else:
                    steps[-1][1].append(line)
    return steps


def code_of(page, kind):
    return ["\n".join(lines) for found, lines in blocks_of(page) if found == kind]


def are_in(lines, text):
    """Whether the lines are in it, in this order; "..." stands for any."""
    rest = iter(line.strip() for line in text.split("\n"))
    return all(line.strip() in ("", "...") or line.strip() in rest for line in lines)


def form(line):
    """What stands before the first value."""
    return " ".join(re.split(r"[~<>|=]*\s[-~<>=|]*\d", f" {line}", maxsplit=1)[0].split())


@place.needs_json
@place.not_sanitized
class Docs(place.Case):
    def setUp(self):
        super().setUp()
        os.mkdir("bin")
        os.symlink(place.RESMON, "bin/resmon")
        self.environment = {**os.environ, "PATH": f"{os.path.abspath('bin')}:{os.environ['PATH']}"}

    def follow(self, steps, leave_out=(), few=()):
        """Each step in turn, in one directory; `few`: pairs of what there is less of here, to save time."""
        status = 0
        for commands, printed in steps:
            if any(word in commands for word in leave_out):
                continue
            commands = commands.replace("$?", str(status))
            for many, less in few:
                commands = commands.replace(many, less)
            done = self.shell(commands)
            status = done.returncode
            if "exit" not in commands:
                self.assertEqual(status, 0, (commands, done.stdout))
            self.compare(commands, printed, done.stdout)

    def shell(self, commands):
        return subprocess.run(["sh", "-c", commands], env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120)

    def with_python(self):
        """`python3` is one that has the package, as in the environment that the reader made."""
        os.symlink(sys.executable, "bin/python3")
        self.environment.update(RESMON_LIBRARY=LIBRARY, PYTHONPATH=str(ROOT / "bindings/python"), PYTHONDONTWRITEBYTECODE="1")

    def compare(self, commands, printed, output):
        """What is told is there, in this order."""
        found = iter([form(line) for line in output.split("\n")])
        for line in printed:
            if not line.strip() or line.strip() == "..." or OF_HOST.match(line.strip()) or OF_HOST.match(line):
                continue
            if line.startswith("Processes") and "Processes" not in output:
                print("skipped: processes one by one, which this kernel does not tell")
                return
            self.assertIn(form(line), found, (commands, line, output))

    def test_readme(self):
        blocks = blocks_of("README.md", "Quick start")
        self.assertEqual([kind for kind, _ in blocks], ["console", "sh"])
        self.follow(steps_of(blocks[:1]))

    @needs_examples
    def test_other_commands_of_readme(self):
        """With a program ./train, a script train.py, and the process 4711 that there is."""
        shutil.copy(EXAMPLES / "hello", "train")
        pathlib.Path("train.py").write_text("sum(range(1000000))\n", encoding="utf-8")
        commands = [line for section in ("Quick start", "Phases") for kind, lines in blocks_of("README.md", section) if kind == "sh"
                    for line in lines]
        self.assertGreater(len(commands), 5)
        for command in commands:
            done = self.shell(command.replace("resmon live 4711", f"resmon live --once {os.getpid()}"))
            self.assertEqual(done.returncode, 0, (command, done.stdout))
        self.assertLessEqual({"run.html", "run.json", "run.rec"}, set(os.listdir(".")))
        self.assertEqual(self.shell("resmon recover run.rec").returncode, 0)

    @needs_python
    def test_programs_of_readme(self):
        (_, in_c), _, (_, in_python) = blocks_of("README.md", "Phases")
        pathlib.Path("phases.c").write_text("\n".join(in_c).replace("...", ";") + "\nint main(void) { train(); }\n", encoding="utf-8")
        if shutil.which("cc"):
            self.follow([(f"cc -Wall -Werror phases.c -I'{ROOT}/include' '{LIBRARY}' -Wl,-rpath,'{os.path.dirname(LIBRARY)}' && "
                          "RESMON=summary ./a.out 2>&1 | grep 'train/epoch\\|epoch  *10'", [])])
        self.with_python()
        program = "def load():\n    return 1\n\n\ndef train(data):\n    assert data == 1\n\n\n" + "\n".join(in_python)
        pathlib.Path("phases.py").write_text(program, encoding="utf-8")
        self.follow([(f"{PYTHON} phases.py", ["load 1 0 s"])])

    def test_first_run(self):
        steps = steps_of(blocks_of("docs/tutorials/first-run.md"))
        self.assertGreater(len(steps), 7)
        self.follow(steps)

    @needs_examples
    def test_phases_in_c(self):
        """Its program is an example, built as the others are."""
        page = "docs/tutorials/phases-in-c.md"
        self.assertTrue(are_in(blocks_of(page)[0][1], (ROOT / "examples/hello.c").read_text(encoding="utf-8")))
        shutil.copy(EXAMPLES / "hello", "hello")
        steps = steps_of(blocks_of(page))
        self.assertGreater(len(steps), 4)
        self.follow(steps, leave_out=("cc ", "cmake "))
        rows = json.loads(place.run("show", "run.json", "scopes", "--json").out)
        self.assertEqual([row["name"] for row in rows], [row["path"].split("/")[-1] for row in rows])
        # Of a scope of a few ms the error may exceed the value, which is then not known.
        self.assertTrue(all(row["pcpu_s"] is not None for row in rows if row["name"] != "make_numbers"), rows)

    @needs_python
    def test_phases_in_python(self):
        page = "docs/tutorials/phases-in-python.md"
        script, monitor, function, *_ = code_of(page, "python")
        notebook = json.loads((ROOT / "examples/notebooks/training_loop.ipynb").read_text(encoding="utf-8"))
        cells = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
        self.assertTrue(are_in(script[script.index("def load"):script.index("with open(\"data\"")].split("\n"), cells))
        self.with_python()
        pathlib.Path("train.py").write_text(script, encoding="utf-8")
        steps = [step for step in steps_of(blocks_of(page)) if "train.py" in step[0]]
        self.assertEqual(len(steps), 2)
        self.follow(steps)
        kept = [line for line in monitor.split("\n") if "plot" not in line and "pandas" not in line]
        pathlib.Path("measure.py").write_text("\n".join(kept), encoding="utf-8")
        pathlib.Path("function.py").write_text(function + "\nfit()\nbig()\nprint(fit.last.seconds, big.last.peak_bytes)\n",
                                               encoding="utf-8")
        printed = [lines for kind, lines in blocks_of(page) if kind == "text"]
        self.follow([(f"{PYTHON} measure.py", printed[1]), ("ls run.json run.html", []), (f"{PYTHON} function.py", printed[2])])

    @needs_python
    def test_job(self):
        page = "docs/tutorials/job.md"
        self.with_python()
        pathlib.Path("work.py").write_text(code_of(page, "python")[0], encoding="utf-8")
        blocks = blocks_of(page, "1. On one machine")
        script = next("\n".join(lines) for kind, lines in blocks if kind == "sh" and "RESMON_RANK" in lines[0])
        self.compare(script, next(lines for kind, lines in blocks if kind == "text"), self.shell(script).stdout)
        names = next(lines for kind, lines in blocks if kind == "console")[1:]

        def of_any_node(name):
            return re.sub(r"^demo\..*?(\.r\d)\.p\d+", r"demo\1", name)
        self.assertEqual(sorted(map(of_any_node, os.listdir("job"))), sorted(map(of_any_node, names)))
        reading = next((lines, blocks[number + 1][1]) for number, (kind, lines) in enumerate(blocks) if kind == "sh" and "merge" in lines[-1])
        self.follow([("\n".join(reading[0]), reading[1])])

    @needs_examples
    @unittest.skipUnless(shutil.which("cc") and os.path.exists(LIBRARY), "nothing that compiles for this library")
    def test_gate(self):
        """Peaks are counted, so that two runs per side tell; how many more are worse depends on the machine."""
        page = "docs/tutorials/ci-gate.md"
        source = (ROOT / "examples/hello.c").read_text(encoding="utf-8")
        flags = f"-I'{ROOT}/include' '{LIBRARY}' -Wl,-rpath,'{os.path.dirname(LIBRARY)}'"
        few = (("-n 8", "-n 2"), ("-n 15", "-n 2"), ("$(pkg-config --cflags --libs resmon)", flags))
        rules = next("\n".join(lines) for kind, lines in blocks_of(page) if kind == "text" and lines[0] == "# gate")
        pathlib.Path("gate").write_text(rules + "\n", encoding="utf-8")
        answers = []
        for commands, _ in steps_of(blocks_of(page)):
            self.assertIn("count = 1000000", source)
            text = source.replace("count = 1000000", "count = 1300000") if "mine" in commands else source
            pathlib.Path("hello.c").write_text(text, encoding="utf-8")
            for many, less in few:
                commands = commands.replace(many, less)
            done = self.shell(commands)
            answers.append((done.returncode, done.stdout))
            if "diff" in commands:
                self.assertEqual(done.returncode, 1, (commands, done.stdout))
                self.assertRegex(done.stdout, r"(?ms)^Worse: .*worse: peak RSS \+\d", commands)
            else:
                self.assertEqual(done.returncode, 0, (commands, done.stdout))
        self.assertGreater(len(answers), 4)


if __name__ == "__main__":
    place.main()
