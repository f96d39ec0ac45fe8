# SPDX-License-Identifier: MIT
"""What the first pages tell people to type works as it stands there, and prints what stands below, in form."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import place

ROOT = pathlib.Path(__file__).resolve().parents[2]
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

    def follow(self, steps, leave_out=()):
        """Each step in turn, in one directory."""
        status = 0
        for commands, printed in steps:
            if any(word in commands for word in leave_out):
                continue
            commands = commands.replace("$?", str(status))
            done = subprocess.run(["sh", "-c", commands], env=self.environment, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120)
            status = done.returncode
            if "exit" not in commands:
                self.assertEqual(status, 0, (commands, done.stdout))
            self.compare(commands, printed, done.stdout)

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

    def test_first_run(self):
        steps = steps_of(blocks_of("docs/tutorials/first-run.md"))
        self.assertGreater(len(steps), 7)
        self.follow(steps)

    def test_phases_in_c(self):
        """Its program is an example, built as the others are."""
        program = pathlib.Path(os.environ.get("RESMON_EXAMPLES", "")) / "hello"
        if not program.exists():
            self.skipTest("the examples are not built")
        shutil.copy(program, "hello")
        steps = steps_of(blocks_of("docs/tutorials/phases-in-c.md"))
        self.assertGreater(len(steps), 4)
        self.follow(steps, leave_out=("cc ", "cmake "))
        rows = json.loads(place.run("show", "run.json", "scopes", "--json").out)
        self.assertEqual([row["name"] for row in rows], [row["path"].split("/")[-1] for row in rows])
        self.assertTrue(all(row["pcpu_s"] is not None for row in rows), rows)


if __name__ == "__main__":
    place.main()
