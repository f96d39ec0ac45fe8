# SPDX-License-Identifier: MIT
"""`resmon bench` and `resmon diff`: commands in turns, and whether something has become worse."""
import collections
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import place

HELLO = os.environ.get("RESMON_EXAMPLES", "") + "/hello"


def benchmark(path, **commands):
    """A file as hyperfine writes it: seconds of each run of each command."""
    results = [{"command": name, "times": times, "exit_codes": [0] * len(times)} for name, times in commands.items()]
    pathlib.Path(path).write_text(json.dumps({"results": results}), encoding="utf-8")


def around(middle, runs=8):
    return [middle * (1 + 0.001 * (i - runs / 2)) for i in range(runs)]


@place.needs_json
class Bench(place.Case):
    def bench(self, *words, **how):
        """The result of `resmon bench WORD...`, by command."""
        done = place.run("bench", "-q", "-o", "bench.json", *words, **how)
        self.assertTrue(os.path.exists("bench.json"), done.err)
        with open("bench.json", encoding="utf-8") as file:
            return {result["command"]: result for result in json.load(file)["results"]}

    def test_two_commands(self):
        results = self.bench("-n", "4", "--", "sh", "-c", "echo a >>log", "--", "echo b >>log; exit 0")
        self.assertEqual(list(results), ["sh -c echo a >>log", "echo b >>log; exit 0"])
        for result in results.values():
            figures = {row["figure"]: row for row in result["figures"] if row["scope"] == ""}
            self.assertEqual(len(result["times"]), 4)
            self.assertEqual(figures["wall"]["values"], result["times"])
            self.assertTrue(all(time > 0 for time in result["times"]))
            self.assertEqual(result["exit_codes"], [0] * 4)
            self.assertTrue(result["min"] <= result["median"] <= result["max"])
        order = pathlib.Path("log").read_text(encoding="utf-8").split()
        self.assertEqual(collections.Counter(order), {"a": 5, "b": 5})  # that they are short, the first round tells
        for at in range(0, 10, 2):  # in turns, whatever the order of each round is
            self.assertEqual(set(order[at:at + 2]), {"a", "b"})

    def test_short_commands_are_only_waited_for(self):
        """As posix_spawn() and wait4() alone have them, but where samples are asked for."""
        def bare():
            pid = os.posix_spawn("/bin/true", ["true"], os.environ, file_actions=[
                (os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)])
            return os.wait4(pid, 0)[2].ru_minflt
        faults = statistics.median(bare() for _ in range(20))
        for options, figure, least in ((["--domains=process"], "peak", 20), ([], "energy", 0)):
            [result] = self.bench("-n", "20", *options, "--", "/bin/true").values()
            figures = {row["figure"]: row["values"] for row in result["figures"]}
            self.assertAlmostEqual(statistics.median(figures["minor_faults"]), faults, delta=4)
            self.assertEqual(len(figures.get(figure, [])), least)
            for wall, cpu, user, system in zip(*(figures[name] for name in ("wall", "cpu", "user", "system"))):
                self.assertAlmostEqual(cpu, user + system, delta=1e-6)
                self.assertLess(cpu, wall + 1e-3)

    def test_a_script_that_names_no_interpreter(self):
        pathlib.Path("script").write_text("echo $1 >>log\n", encoding="utf-8")
        os.chmod("script", 0o755)
        self.bench("-n", "3", "--", "./script", "word")
        self.assertEqual(pathlib.Path("log").read_text(encoding="utf-8"), "word\n" * 4)

    def test_runs_that_do_not_count(self):
        results = self.bench("-n", "2", "-w", "3", "--prepare", "echo p >>log", "--", "sh", "-c", "echo r >>log")
        self.assertEqual(len(results["sh -c echo r >>log"]["times"]), 2)
        self.assertEqual(pathlib.Path("log").read_text(encoding="utf-8").split(), ["p", "r"] * 5)

    def test_scopes_of_programs(self):
        if not os.path.exists(HELLO):
            self.skipTest("the examples are not built")
        [result] = self.bench("-n", "3", "--", HELLO).values()
        rows = {(row["scope"], row["figure"]): row["values"] for row in result["figures"]}
        self.assertEqual(rows["main/round", "calls"], [3, 3, 3])
        self.assertEqual(len(rows["main/round/sort", "wall"]), 3)

    @place.needs_live("root, and caches of files that are emptied")
    def test_each_cold(self):
        """Each run reads the file from the disk; without, none does."""
        kind = subprocess.run(["stat", "-f", "-c", "%T", "."], capture_output=True, text=True, check=True).stdout.strip()
        if kind == "tmpfs" or not os.access("/proc/sys/vm/drop_caches", os.W_OK):
            self.skipTest(f"files are on {kind}, or caches cannot be emptied by this user")
        pathlib.Path("data").write_bytes(os.urandom(4 << 20))
        read = {}
        for options in ((), ("--each-cold",)):
            figures = self.bench(*options, "-n", "3", "--", "cat", "data")["cat data"]["figures"]
            read[options] = next(row["values"] for row in figures if row["figure"] == "from_storage" and not row["scope"])
        self.assertTrue(max(read[()]) < 4 << 20 <= min(read["--each-cold",]), read)

    def test_a_command_that_fails(self):
        done = place.run("bench", "-n", "3", "--", "sh", "-c", "exit 7")
        self.assertEqual(done.code, 1)
        self.assertIn("exit status 7", done.err)
        [result] = self.bench("-n", "3", "-i", "--", "sh", "-c", "exit 7").values()
        self.assertEqual(result["exit_codes"], [7] * 3)
        [result] = self.bench("-n", "2", "-i", "--", "sh", "-c", "kill -KILL $$").values()
        self.assertEqual(result["exit_codes"], [137] * 2)
        self.assertIn("not found", place.run("bench", "--", "nonexistent-command").err)

    def test_what_was_measured_before_the_end_is_kept(self):
        command = "echo >>log; test $(wc -l <log) -lt 4 || { touch waits; exec sleep 100; }"
        with subprocess.Popen([place.RESMON, "bench", "-n", "9", "-o", "bench.json", "--", "sh", "-c", command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            place.until(lambda: os.path.exists("waits"))
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        with open("bench.json", encoding="utf-8") as file:
            [result] = json.load(file)["results"]
        self.assertEqual(len(result["times"]), 2)  # the first tells that it is short

    def test_text(self):
        done = place.run("bench", "-n", "6", "--", "true", "--", "true")
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(done.out, r"(?m)^true, 6 runs$")
        self.assertRegex(done.out, r"(?m)^true \(2\), 6 runs$")
        self.assertRegex(done.out, r"(?m)^  wall time +\S+ \ws +\S+ \ws to \S+ \ws ")
        self.assertRegex(done.out, r"(?m)^true \(2\): wall time .*, p ")

    def test_forms(self):
        place.run("bench", "-q", "-n", "2", "--format=go", "--domains=process", "-o", "bench.txt", "--", "true")
        lines = pathlib.Path("bench.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"^BenchmarkRun/command=true 1 [\d.e-]+ sec/op [\d.e-]+ cpu-sec/op \d+ peak-B/op")
        place.run("bench", "-q", "-n", "2", "--format=bmf", "-o", "bench.bmf", "--", "true")
        self.assertGreater(json.loads(pathlib.Path("bench.bmf").read_text())["true"]["wall"]["value"], 0)
        place.run("bench", "-q", "-n", "2", "--format=github", "-o", "bench.github", "--", "true")
        first = json.loads(pathlib.Path("bench.github").read_text())[0]
        self.assertEqual((first["name"], first["unit"]), ("true: wall time", "s"))
        self.assertIn("json, bmf, github, go",
                      place.run("bench", "-n", "1", "--format=csv", "-o", "bench.csv", "--", "true").err)

    def test_wrong_words(self):
        for words in ((), ("-n", "0", "--", "true"), ("--for", "3", "--", "true"), ("--", "true", "--"),
                      ("--", "true", "--", "--", "true"), ("-n", "x", "--", "true")):
            done = place.run("bench", *words)
            self.assertEqual(done.code, 125, (words, done.err))
            self.assertTrue(done.err)


@place.needs_json
class Diff(place.Case):
    def diff(self, *words):
        return place.run("diff", *words)

    def test_three_outcomes(self):
        benchmark("old.json", job=around(1.0))
        for name, times, code, words in (("same", around(1.0), 0, "Not worse"), ("slow", around(1.2), 1, "Worse"),
                                         ("fast", around(0.8), 0, "Not worse"),
                                         ("vague", [0.7, 1.4, 0.8, 1.3, 1.0, 1.2, 0.9, 1.1], 3, "Cannot tell")):
            benchmark("new.json", job=times)
            done = self.diff("--fail=wall>5%+10ms", "old.json", "new.json")
            self.assertEqual(done.code, code, (name, done.out, done.err))
            self.assertTrue(done.out.startswith(words), done.out)
        self.assertRegex(done.out, r"about \d+ runs per side\s+are needed")
        for said, code in (("pass", 0), ("fail", 1)):
            self.assertEqual(self.diff("--fail=wall>5%", f"--inconclusive={said}", "old.json", "new.json").code, code)

    def test_p_is_that_of_the_test(self):
        benchmark("old.json", job=around(1.0))
        benchmark("new.json", job=around(1.2))
        [row] = json.loads(self.diff("--json", "--fail=wall>5%", "old.json", "--", "new.json").out)["figures"]
        self.assertAlmostEqual(row["p"], 2 / 12870, places=12)  # 16 runs, 8 of each side, in the utmost order
        self.assertAlmostEqual(row["shift"]["value"], 0.2, delta=0.002)
        self.assertEqual((row["verdict"], row["rule"]), ("worse", "wall>5%"))

    def test_documents_of_runs(self):
        """A peak is exact: one run a side tells 8 MiB."""
        for name, mib in (("old", 8), ("new", 16)):
            done = place.run("run", "-q", "-o", f"{name}.json", "--", sys.executable, "-c",
                             f"b = bytearray({mib} << 20)")
            self.assertEqual(done.code, 0, done.err)
        done = self.diff("--fail", "peak>2%+2MiB", "old.json", "new.json")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertRegex(done.out, r"(?m)^  worse: peak RSS \+[\d.]+ % \(\+[678]\.\d+ MiB\)")
        self.assertEqual(self.diff("--fail", "peak>2%+2MiB", "new.json", "old.json").code, 0)
        self.assertEqual(self.diff("--fail", "wall>50%", "new.json", "old.json").code, 3)  # of one run nobody can tell
        self.assertEqual(self.diff("old.json", "new.json", "--", "old.json", "new.json").code, 3)

    def test_files_of_rules(self):
        benchmark("old.json", job=around(1.0))
        benchmark("new.json", job=around(1.2))
        pathlib.Path(".resmon-gate").write_text("# slow machine\nwall > 30% + 10ms\n", encoding="utf-8")
        self.assertEqual(self.diff("old.json", "new.json").code, 0)
        self.assertEqual(self.diff("--fail=wall>10%", "old.json", "new.json").code, 1)
        pathlib.Path("gate").write_text("wall>1%\ncalls>3\n", encoding="utf-8")
        done = self.diff("--gate=gate", "old.json", "new.json")
        self.assertEqual(done.code, 1)
        self.assertIn("'calls>3' matches nothing", done.out)
        for rule in ("wall>5%+3MB", "speed>5%", "wall"):
            done = self.diff("--fail", rule, "old.json", "new.json")
            self.assertEqual(done.code, 2)
            self.assertIn(rule, done.err)

    def test_outputs(self):
        benchmark("old.json", job=around(1.0))
        benchmark("new.json", job=around(1.2))
        outputs = [word for ending in ("md", "json", "xml", "txt") for word in ("-o", f"out.{ending}")]
        done = self.diff("-q", *outputs, "--fail=wall>5%", "--fail=peak>5%", "old.json", "new.json")
        self.assertEqual((done.code, done.out, done.err), (1, "", ""))
        self.assertIn("| wall time |", pathlib.Path("out.md").read_text(encoding="utf-8"))
        self.assertEqual(json.loads(pathlib.Path("out.json").read_text(encoding="utf-8"))["verdict"], "worse")
        suite = xml.etree.ElementTree.parse("out.xml").getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        self.assertIn("+20", suite.find("testcase/failure").get("message"))
        self.assertTrue(pathlib.Path("out.txt").read_text(encoding="utf-8").startswith("Worse"))
        self.assertEqual(self.diff("-o", "out.pdf", "old.json", "new.json").code, 2)
        self.assertEqual(self.diff("-o", "/nonexistent/out.md", "old.json", "new.json").code, 2)

    def test_width_decides_how_and_never_what(self):
        benchmark("before.json", true=around(1.0))
        benchmark("after.json", true=around(1.2))
        seen = {}
        for width in (60, 80, 200):
            done = place.run("diff", "before.json", "--", "after.json", env={**os.environ, "COLUMNS": str(width)})
            self.assertEqual(done.code, 1, done.err)
            seen[width] = set(done.out.split())
            table = [line for line in done.out.splitlines() if line.startswith(("  wall time", "   "))]
            self.assertLessEqual(max(map(len, table)), width)
        self.assertEqual(seen[60], seen[80])
        self.assertEqual(seen[80], seen[200])
        self.assertTrue({"worse", "interval", "verdict"} <= seen[60], seen[60])

    def test_pages(self):
        """Verdict, a dot for each run, and nothing of a name as markup."""
        benchmark("old.json", **{"<b>job</b>": around(1.0)})
        benchmark("new.json", **{"<b>job</b>": around(1.2)})
        self.assertEqual(self.diff("-q", "-o", "out.html", "--fail=wall>5%", "old.json", "new.json").code, 1)
        page = pathlib.Path("out.html").read_text(encoding="utf-8")
        self.assertIn('<p class="verdict worse">Worse: 1 of 1', page)
        self.assertEqual(page.count("<i class=dot"), 16 + 1)  # and the change of the wall time
        self.assertIn("&lt;b&gt;job", page)
        self.assertNotIn("<b>job", page)
        self.assertNotIn("<script", page)
        done = place.run("bench", "-q", "-n", "3", "-o", "bench.html", "--", "true", "--", "sh", "-c", ": '<b>'")
        self.assertEqual(done.code, 0, done.err)
        page = pathlib.Path("bench.html").read_text(encoding="utf-8")
        self.assertIn("sh -c : &#39;&lt;b&gt;&#39;, 3 runs", page)
        self.assertGreaterEqual(page.count("<i class=dot"), 2 * 3 * 2)  # at least of wall time and peak
        self.assertNotIn("<script", page)

    def test_page_of_runs(self):
        """Charts of a run of each side on one axis."""
        for name in ("one", "two", "three"):
            self.assertEqual(place.run("run", "-q", "-o", f"{name}.json", "--", "sleep", "0.2").code, 0)
        done = self.diff("-q", "--fail=", "-o", "out.html", "one.json", "--", "two.json", "three.json")
        self.assertEqual(done.code, 0, done.err)
        page = pathlib.Path("out.html").read_text(encoding="utf-8")
        self.assertIn("<div class=charts data-run=all>", page)
        self.assertIn('"labels":["before","after"]', page)

    def test_gate_as_a_test_of_ctest(self):
        """As README has it."""
        if shutil.which("ctest") is None:
            self.skipTest("there is no ctest")
        line = f"add_test(NAME cost COMMAND {place.RESMON} diff --gate ${{PROJECT_SOURCE_DIR}}/gate main.json mine.json)\n"
        text = "cmake_minimum_required(VERSION 3.16)\nproject(cost NONE)\nenable_testing()\n" + line
        pathlib.Path("CMakeLists.txt").write_text(text, encoding="utf-8")
        pathlib.Path("gate").write_text("wall>5%\n", encoding="utf-8")
        os.mkdir("build")
        benchmark("build/main.json", job=around(1.0))
        subprocess.run(["cmake", "-S", ".", "-B", "build"], stdout=subprocess.DEVNULL, check=True)
        for middle, is_passed in ((1.01, True), (1.1, False)):
            benchmark("build/mine.json", job=around(middle))
            done = subprocess.run(["ctest", "--test-dir", "build"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode == 0, is_passed, done.stdout)

    def test_names(self):
        for name in ("main", "mine"):
            self.assertEqual(place.run("bench", "-q", "-n", "2", "--domains=process", "--save", name, "--", "true").code, 0)
        self.assertEqual(self.diff("--fail=wall>1000%+10s", "main", "mine").code, 3)  # two runs tell nothing
        self.assertEqual(self.diff("--fail=peak>1000%+1GiB", "main", "--", "mine").code, 0)
        self.assertEqual(place.run("bench", "-q", "-n", "1", "--save", "a/b", "--", "true").code, 1)

    def test_runs_as_a_benchmark(self):
        for name in ("one", "two"):
            self.assertEqual(place.run("run", "-q", "-o", f"{name}.json", "--", "true").code, 0)
        done = place.run("export", "one.json", "two.json", "--format=bench", "-o", "both.bench")
        self.assertEqual(done.code, 0, done.err)
        [result] = json.loads(pathlib.Path("both.bench").read_text(encoding="utf-8"))["results"]
        self.assertEqual((result["command"], len(result["times"])), ("one.json", 2))
        self.assertEqual(place.run("export", "both.bench", "--format=go", "-o", "both.txt").code, 0)
        self.assertEqual(pathlib.Path("both.txt").read_text(encoding="utf-8").count("BenchmarkRun/command=one.json 1 "), 2)
        self.assertEqual(place.run("export", "missing.json", "--format=go", "-o", "x.txt").code, 1)

    def test_benchmarks_of_several_commands(self):
        benchmark("old.json", a=around(1.0), b=around(2.0))
        benchmark("new.json", b=around(2.0), a=around(1.5))
        self.assertEqual(self.diff("--fail=wall>5%", "old.json").code, 1)  # a and b
        self.assertEqual(self.diff("--fail=wall>5%", "old.json", "new.json").code, 1)
        self.assertEqual(self.diff("--fail=wall>5%", "--command=b", "old.json", "new.json").code, 0)
        self.assertEqual(self.diff("--command=c", "old.json", "new.json").code, 2)

    def test_files_that_are_none(self):
        benchmark("old.json", job=around(1.0))
        for text in ("", "{}", "[]", '{"results": []}', '{"results": [{"command": "x"}]}',
                     '{"results": [{"times": [1]}]}', '{"results": [{"command": "x", "times": []}]}',
                     '{"results": [7]}', "\0" * 100):
            pathlib.Path("bad.json").write_text(text, encoding="utf-8")
            done = self.diff("old.json", "bad.json")
            self.assertEqual(done.code, 2, text)
            self.assertTrue(done.err, text)
        benchmark("null.json", job=[None, None, None])
        self.assertEqual(self.diff("--fail=wall>5%", "old.json", "null.json").code, 3)
        self.assertEqual(self.diff("old.json", "missing.json").code, 2)
        self.assertEqual(self.diff("old.json").code, 2)
        self.assertEqual(self.diff().code, 2)


@place.needs_json
class Trend(place.Case):
    def make(self, directory="trend"):
        os.mkdir(directory)
        for i in range(14):
            benchmark(f"{directory}/c{i:02}.json", job=around(1.0 if i < 8 else 1.2))

    def test_text(self):
        self.make()
        done = place.run("trend", "trend")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertIn("14 benchmarks", done.out)
        self.assertRegex(done.out, r"wall time at c08: .*\+20\.0 %.*, p 0\.00")
        series = json.loads(place.run("trend", "--json", "trend").out)["series"]
        self.assertEqual(series[0]["changes"][0]["benchmark"], 8)

    def test_order_of_words_and_of_time(self):
        """Of benchmarks of resmon the time counts, not the name."""
        for name in ("b", "a"):
            self.assertEqual(place.run("bench", "-q", "-n", "1", "--save", name, "--", "true").code, 0)
        done = place.run("trend", "--json")  # of .resmon
        self.assertEqual([one["label"] for one in json.loads(done.out)["benchmarks"]], ["b", "a"])

    def test_outputs(self):
        self.make()
        done = place.run("trend", "-q", "-o", "trend.html", "-o", "trend.json", "-o", "trend.txt", "trend")
        self.assertEqual((done.code, done.out, done.err), (0, "", ""))
        page = pathlib.Path("trend.html").read_text(encoding="utf-8")
        self.assertEqual(page.count('<i class="change worse"'), 1)
        self.assertEqual(page.count("<i class=dot"), 14)
        self.assertNotIn("<script", page)

    def test_files_that_are_none(self):
        self.make()
        pathlib.Path("trend/broken.json").write_text("{", encoding="utf-8")
        done = place.run("trend", "trend")
        self.assertEqual(done.code, 1)
        self.assertIn("14 benchmarks", done.out)
        self.assertIn("trend/broken.json is left out", done.err)
        self.assertEqual(place.run("trend", "nowhere").code, 1)
        os.mkdir("empty")
        self.assertIn("there is no benchmark", place.run("trend", "empty").err)



if __name__ == "__main__":
    place.main()
