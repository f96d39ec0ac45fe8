# SPDX-License-Identifier: MIT
"""What the verbs beside run do with files, and what they say."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import place

LIBRARY = os.environ.get("RESMON_LIBRARY_BUILT", "")
MANUAL = pathlib.Path(place.RESMON).parent.parent / "bindings/cli/man"
VERBS = ["run", "attach", "report", "show", "export", "push", "recover", "doctor", "baseline", "metrics", "help"]



class Harm(place.Case):
    """What others have put there is shown, and neither obeyed nor run."""

    def test_names_do_not_reach_the_terminal_raw(self):
        name = "no\033]0;TITLE\007\u009b2J\u202ename"
        done = place.run("run", "--", name)
        self.assertEqual(done.code, 127)
        self.assertIn("no?]0;TITLE??2J?name", done.err)
        pathlib.Path("1\033]0;TITLE\007.rec").write_text("x", encoding="utf-8")
        for words in (["merge", "."], ["trend", ".", "-o", "trend.html"], ["report", "1\033]0;TITLE\007.rec"]):
            done = place.run(*words)
            self.assertNotRegex(done.out + done.err, "[\033\007]", words)

    @place.needs_json
    def test_no_module_of_the_working_directory_runs(self):
        self.document("--", "true")
        for module in ("warnings", "linecache", "resmon", "re"):
            pathlib.Path(module + ".py").write_text("open('ran', 'w').close()", encoding="utf-8")
        for words in (["export", "--dataset", "run.json", "-o", "runs/"], ["report", "run.json", "-o", "run.pdf"]):
            place.run(*words)
            self.assertFalse(os.path.exists("ran"), words)

    def test_spool_files_of_earlier_versions_are_named(self):
        pathlib.Path("old.spool").write_text('resmon-mlflow-spool 1 {"uri":"http://127.0.0.1:1"}\n', encoding="utf-8")
        done = place.run("push", "old.spool")
        self.assertEqual((done.code, done.err), (1, "resmon push: old.spool is a spool file of an earlier version of resmon, "
                                                    "which alone can send it\n"))

    def test_a_token_leaves_the_command_line(self):
        for word, shown in (("--mlflow.token=SECRET", "--mlflow.token=x"), ("--mlflow=http://me:SECRET@127.0.0.1:1", "--mlflow=x")):
            child = subprocess.Popen([place.RESMON, "run", "-q", "--mlflow.no_spool", "--mlflow=http://127.0.0.1:1", word, "--",
                                      "sh", "-c", "touch begun; exec sleep 60"], stderr=subprocess.DEVNULL)
            try:
                place.until(lambda: os.path.exists("begun") or child.poll() is not None)
                words = pathlib.Path(f"/proc/{child.pid}/cmdline").read_bytes()
            finally:
                child.terminate()
                child.wait()
                os.remove("begun")
            self.assertNotIn(b"SECRET", words)
            self.assertIn(shown.encode(), words)

    @place.needs_json
    def test_nothing_of_others_is_written_to(self):
        """Neither through a link that waits for what is written beside the file, nor in its own place beside it."""
        secret = pathlib.Path("secret")
        secret.write_text("precious", encoding="utf-8")
        for name in ("bench.json", "run.txt"):
            os.symlink("secret", name + ".new")
        for words in (["bench", "-n", "2", "-q", "-o", "bench.json", "--", "true"], ["run", "-q", "-o", "run.txt", "--", "true"]):
            done = place.run(*words)
            self.assertEqual(done.code, 0, done.err)
            self.assertTrue(os.path.islink(words[words.index("-o") + 1] + ".new"))
        self.assertEqual(secret.read_text(encoding="utf-8"), "precious")
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(os.stat("bench.json").st_mode & 0o777, 0o666 & ~mask)
        self.assertEqual(os.stat("run.txt").st_mode & 0o777, 0o600)  # command lines hold secrets
        self.assertEqual(sorted(os.listdir()), ["bench.json", "bench.json.new", "run.txt", "run.txt.new", "secret"])


PAGE = ".TH PAGE 1\n.SH NAME\npage \\- one that is in order\n.SH DESCRIPTION\nText.\n"


@place.needs_json
class Files(place.Case):
    def setUp(self):
        super().setUp()
        self.document("--name=first", "--interval=5ms", "--", "sh", "-c", "sleep 0.05")

    def test_report(self):
        done = place.run("report", "run.json")
        self.assertEqual(done.code, 0, done.err)
        self.assertTrue(done.out.startswith("first took "), done.out)
        self.assertIn("\n", place.run("report", "--full", "run.json").out)
        self.assertGreater(len(place.run("report", "--full", "run.json").out), len(done.out))
        both = place.run("report", "run.json", "run.json")
        self.assertEqual(both.out.count("first took "), 2)
        self.assertEqual(place.run("report", "-o", "text", "run.json").code, 0)
        self.assertEqual(pathlib.Path("text").read_text(encoding="utf-8"), done.out)

    def test_pages(self):
        """Of one run as it ends, of its file, and one page of several."""
        done = place.run("run", "-q", "-o", "one.html", "--name=<first>", "--", "sh", "-c", "sleep 0.05; exit 3")
        self.assertEqual((done.code, done.out, done.err), (3, "", ""))
        for words in (["report", "run.json", "-o", "of_file.html"], ["export", "run.json", "-o", "exported.htm"],
                      ["report", "run.json", "run.json", "-o", "several.html"]):
            done = place.run(*words)
            self.assertEqual((done.code, done.out, done.err), (0, "", ""), words)
        pages = {name: pathlib.Path(name).read_text(encoding="utf-8")
                 for name in ("one.html", "of_file.html", "exported.htm", "several.html")}
        for text in pages.values():
            self.assertTrue(text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n"))
        self.assertIn("failed: exit status 3", pages["one.html"])
        self.assertIn("&lt;first&gt;", pages["one.html"])
        self.assertEqual(pages["of_file.html"], pages["exported.htm"])
        self.assertIn("<h2>All together</h2>", pages["several.html"])
        self.assertIn("<bdi>first (2)</bdi>", pages["several.html"])
        self.assertEqual(os.stat("one.html").st_mode & 0o777, 0o600)
        self.assertEqual(place.run("report", "run.json", "-o", "run.md").code, 0)
        self.assertTrue(pathlib.Path("run.md").read_text(encoding="utf-8").startswith("# first on "))
        done = place.run("report", "run.json", "none.json", "-o", "none.html")
        self.assertEqual(done.code, 1)
        self.assertFalse(os.path.exists("none.html"))
        done = place.run("report", "run.json", "-o", "/nowhere/at/all.html")
        self.assertEqual(done.code, 1)
        self.assertIn("/nowhere/at", done.err)

    @unittest.skipUnless(os.path.exists(LIBRARY) and place.can_be_loaded, "Python cannot load this library")
    def test_pdf(self):
        """It is drawn by the Python package, where that and matplotlib are there."""
        environment = {**os.environ, "PYTHONPATH": os.environ["RESMON_PACKAGE"], "RESMON_LIBRARY": LIBRARY}
        done = place.run("report", "run.json", "run.json", "-o", "both.pdf", env=environment)
        if done.code == 0:
            self.assertTrue(pathlib.Path("both.pdf").read_bytes().startswith(b"%PDF-"))
        else:
            self.assertIn("pip install matplotlib", done.err)
        self.assertEqual(len(done.err.splitlines()), done.code)
        for environment, words in (({**environment, "PYTHONPATH": "", "RESMON_LIBRARY": ""}, "-o report.html"),
                                   ({"PATH": "/nowhere"}, "python3, which cannot be started")):
            done = place.run("report", "run.json", "-o", "none.pdf", env=environment)
            self.assertEqual((done.code, done.out), (1, ""))
            self.assertIn(words, done.err)
            self.assertFalse(os.path.exists("none.pdf"))

    def test_endings(self):
        """A name with an ending that a verb does not write is refused, before anything runs."""
        for words in (("report", "run.json", "-o", "b.h5"), ("bench", "-o", "b.pdf", "true"), ("trend", "-o", "b.md", "run.json"),
                      ("diff", "-o", "b.csv", "run.json", "run.json"), ("run", "-o", "b.xls", "true")):
            done = place.run(*words)
            self.assertNotEqual(done.code, 0, words)
            self.assertIn(".html", done.err, words)
            self.assertEqual(list(pathlib.Path().glob("b.*")), [], words)

    def test_interval_in_seconds(self):
        """A bare number is ms: who comes from a tool that takes seconds is told."""
        self.assertIn("--interval=30 is 30 ms; for seconds, write 30s", place.run("run", "-q", "--interval=30", "--", "true").err)
        self.assertEqual(place.run("run", "-q", "--interval=30ms", "--", "true").err, "")

    def test_labels(self):
        odd = 'a, "b" = \x1b[31m \N{SNOWMAN}'
        place.run("run", "-q", "--label", "team=a", "--label.lr.start=0.1", f"--label=odd={odd}", "--label", "team=b", "-o", "labels.json",
                  "-o", "labels.md", "--", "true")
        labels = json.loads(pathlib.Path("labels.json").read_text(encoding="utf-8"))["labels"]
        self.assertEqual(labels, {"lr.start": "0.1", "odd": odd.replace("\x1b", "?"), "team": "b"})
        self.assertIn('labels     lr.start=0.1, odd=a, "b" = ?[31m \N{SNOWMAN}, team=b', place.run("report", "labels.json").out)
        self.assertIn("labels: lr.start=0.1", pathlib.Path("labels.md").read_text(encoding="utf-8"))
        self.assertRegex(place.run("show", "labels.json", "facts").out, "labels +team +b")
        place.run("merge", "labels.json", "-o", "merged.json")
        self.assertEqual(json.loads(pathlib.Path("merged.json").read_text(encoding="utf-8"))["labels"]["team"], "b")
        for wrong in ("team", "=a", "a b=c"):
            self.assertIn("NAME=VALUE is wanted", place.run("run", "--label", wrong, "--", "true").err)

    def test_verbose(self):
        done = place.run("run", "-v", "--", "true")
        self.assertRegex(done.err, r"resmon run: reads with every sample: proc_cpu, .*\n")
        self.assertRegex(done.err, r"resmon run: does not read \w+: \S")
        self.assertIn("true took", done.err)  # the summary is there, too
        self.assertIn("give one", place.run("run", "-v", "--live", "--", "true").err)

    def test_directories_are_made(self):
        self.assertEqual(place.run("run", "-q", "-o", "new/er/run.json", "-o", "other/run.csv", "--", "true").code, 0)
        self.assertTrue(os.path.exists("new/er/run.json") and os.path.exists("other/run.csv"))
        self.assertEqual(place.run("export", "run.json", "-o", "third/run.txt").code, 0)

    def test_plot(self):
        """Any metric gets a chart; an unknown one is named, with the one that was meant."""
        self.assertEqual(place.run("report", "run.json", "--plot=tree.fds,proc.ctx.voluntary", "-o", "plot.html").code, 0)
        page = pathlib.Path("plot.html").read_text(encoding="utf-8")
        self.assertIn('"tree.fds"', page)
        self.assertIn('"proc.ctx.voluntary"', page)
        done = place.run("report", "run.json", "--plot=tree.fd", "-o", "none.html")
        self.assertEqual(done.code, 1)
        self.assertIn("no metric 'tree.fd'; did you mean tree.fds?", done.err)
        self.assertFalse(os.path.exists("none.html"))
        done = place.run("report", "run.json", "--plot=tree.fds")
        self.assertEqual(done.code, 2)
        self.assertIn("-o FILE.html", done.err)

    @unittest.skipUnless(os.path.exists(LIBRARY) and place.can_be_loaded, "Python cannot load this library")
    def test_other_formats_by_python(self):
        environment = {**os.environ, "PYTHONPATH": os.environ["RESMON_PACKAGE"], "RESMON_LIBRARY": LIBRARY}
        for ending, begin, package in (("h5", b"\x89HDF", "tables"), ("feather", b"ARROW1", "pyarrow"), ("orc", b"ORC", "pyarrow"),
                                       ("pkl", b"\x80", "pandas"), ("svg", b"<?xml", "matplotlib"), ("png", b"\x89PNG", "matplotlib")):
            done = place.run("export", "run.json", "-o", f"made.{ending}", env=environment)
            if done.code == 0:
                self.assertTrue(pathlib.Path(f"made.{ending}").read_bytes().startswith(begin), ending)
            else:
                self.assertIn("pip install", done.err)
                self.assertIn(package, done.err)

    @unittest.skipUnless(os.path.exists(LIBRARY) and place.can_be_loaded, "Python cannot load this library")
    def test_dataset(self):
        """It is written by the Python package, where that and pyarrow are there."""
        environment = {**os.environ, "PYTHONPATH": os.environ["RESMON_PACKAGE"], "RESMON_LIBRARY": LIBRARY}
        pathlib.Path("damaged.json").write_text("{", encoding="ascii")
        done = place.run("export", "--dataset", "run.json", "damaged.json", "-o", "stored", env=environment)
        if done.code == 0:
            self.assertEqual(done.out, "1 runs are new in stored\n")
            self.assertIn("resmon export: damaged.json is left out", done.err)
            self.assertTrue(list(pathlib.Path("stored/runs").rglob("*.parquet")))
        else:
            self.assertIn("pip install pyarrow", done.err)
        done = place.run("export", "--dataset", "run.json", "-o", "none", env={**environment, "PYTHONPATH": "", "RESMON_LIBRARY": ""})
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertIn("a dataset needs the Python package resmon", done.err)

    @unittest.skipUnless(os.path.exists(LIBRARY) and place.can_be_loaded, "Python cannot load this library")
    def test_parquet(self):
        """It is written by the Python package, where that and pyarrow are there; without, no run is lost."""
        environment = {**os.environ, "PYTHONPATH": os.environ["RESMON_PACKAGE"], "RESMON_LIBRARY": LIBRARY}
        done = place.run("export", "run.json", "-o", "run.parquet", env=environment)
        if done.code == 0:
            table = pathlib.Path("run.parquet").read_bytes()  # test_library.py of the binding has it read by others
            self.assertEqual((table[:4], table[-4:]), (b"PAR1", b"PAR1"))
        else:
            self.assertIn("pip install pyarrow", done.err)
        self.assertEqual(place.run("export", "run.json", "-o", "none/run.parquet", env=environment).code, 1)
        nothing = {**environment, "PYTHONPATH": "", "RESMON_LIBRARY": ""}
        done = place.run("export", "run.json", "-o", "lost.parquet", env=nothing)
        self.assertEqual(done.code, 1)
        self.assertIn("resmon export: Parquet needs the Python package resmon", done.err)
        self.assertEqual(list(pathlib.Path().glob("lost*")), [])
        done = place.run("run", "-q", "-o", "lost.parquet", "--", "true", env=nothing)
        document, = pathlib.Path().glob("lost*")
        self.assertIn(f"the run is in {document}; later: resmon export {document} -o lost.parquet", done.err)
        for some in (environment, nothing):  # what the message says to do takes nothing away
            place.run("export", str(document), "-o", "lost.parquet", env=some)
            self.assertIn("columns", json.loads(document.read_text(encoding="utf-8")))

    @unittest.skipUnless(os.path.exists(LIBRARY) and place.can_be_loaded, "Python cannot load this library")
    def test_python_writes_the_same(self):
        """The ending of a name selects the format, by the one table, of the command and of the package."""
        environment = {**os.environ, "PYTHONPATH": os.environ["RESMON_PACKAGE"], "RESMON_LIBRARY": LIBRARY}
        endings = ("json", "csv", "trace.json", "md", "html", "txt")
        code = f"import resmon; run = resmon.load('run.json'); [run.save(f'ours.{{ending}}') for ending in {endings}]"
        subprocess.run([sys.executable, "-B", "-c", code], env=environment, check=True)
        for ending in endings:
            self.assertEqual(place.run("export", "run.json", "-o", f"theirs.{ending}").code, 0)
            self.assertEqual(pathlib.Path(f"ours.{ending}").read_bytes(), pathlib.Path(f"theirs.{ending}").read_bytes(), ending)

    def test_show(self):
        for table, key in (("metrics", "name"), ("facts", "key"), ("sources", "source")):
            done = place.run("show", "run.json", table, "--json")
            self.assertEqual(done.code, 0, done.err)
            rows = json.loads(done.out)
            self.assertGreater(len(rows), 1, table)
            self.assertTrue(key in rows[0] or "metric" in rows[0])
            text = place.run("show", "run.json", table).out
            self.assertEqual(len(text.splitlines()), len(rows) + 1)
        rows = json.loads(place.run("show", "run.json", "-m", "tree.cpu", "--json").out)
        self.assertEqual({row["metric"] for row in rows}, {"tree.cpu.time", "tree.cpu.percent"})
        self.assertEqual(json.loads(place.run("show", "run.json", "scopes", "--json").out), [])
        self.assertIn("has no scopes", place.run("show", "run.json", "scopes").err)

    def test_energy(self):
        rows = json.loads(place.run("show", "run.json", "energy", "--json").out)
        self.assertEqual([row["component"] for row in rows], ["cpu", "ram", "gpu"])

    def test_export(self):
        for name in ("run2.json", "run.csv", "run.trace.json", "run.txt"):
            done = place.run("export", "run.json", "-o", name)
            self.assertEqual(done.code, 0, done.err)
            self.assertGreater(os.path.getsize(name), 100)
        self.assertEqual(json.loads(pathlib.Path("run2.json").read_text(encoding="utf-8")),
                         json.loads(pathlib.Path("run.json").read_text(encoding="utf-8")))
        done = place.run("export", "run.json", "run2.json", "-o", "both.trace.json")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("traceEvents", json.loads(pathlib.Path("both.trace.json").read_text(encoding="utf-8")))
        self.assertEqual(place.run("export", "run.json", "-o", "x", "-f", "csv").code, 0)
        self.assertTrue(pathlib.Path("x").read_text(encoding="utf-8").startswith("time_s,"))
        os.mkdir("scraped")
        self.assertEqual(place.run("export", "run.json", "-o", "scraped", "-f", "prometheus").code, 0)
        self.assertEqual(len(os.listdir("scraped")), 1)

    def test_export_to_stdout(self):
        """Also where that is a file, which it does not replace."""
        self.assertTrue(place.run("export", "run.json", "-f", "csv", "-o", "-").out.startswith("time_s,"))
        self.assertEqual(json.loads(place.run("export", "run.json", "-f", "json", "-o", "-").out)["format"], "resmon-run")
        before = os.lstat("/dev/stdout")
        for words in (["export", "run.json", "-f", "go", "-o", "-"], ["report", "run.json", "-o", "-"]):
            with open("out", "wb") as out:
                subprocess.run([place.RESMON, *words], stdout=out, check=True)
            self.assertGreater(os.path.getsize("out"), 20, words)
        self.assertEqual(os.lstat("/dev/stdout").st_ino, before.st_ino)
        self.assertFalse(os.path.exists("-"))
        self.assertEqual(place.run("export", "run.json", "-o", "-").code, 2)

    def test_wrong_files(self):
        pathlib.Path("garbage").write_bytes(b"\0\1\2 no run")
        for words in (["report", "none.json"], ["report", "garbage"], ["show", "garbage"], ["recover", "."],
                      ["export", "none.json", "-o", "y.csv"], ["push", "none.json", "--mlflow=http://127.0.0.1:9"]):
            done = place.run(*words)
            self.assertEqual(done.code, 1, (words, done.err))
            self.assertTrue(done.err.startswith("resmon "), done.err)
            self.assertLess(len(done.err.splitlines()), 3)
        self.assertIn("garbage", place.run("report", "garbage").err)
        pathlib.Path("bench.json").write_text('{"results": [{"command": "true", "times": [1.0]}]}', encoding="utf-8")
        self.assertIn("bench.json: the JSON is not a run document, but a benchmark", place.run("report", "bench.json").err)

    def test_wrong_words(self):
        for words in (["report"], ["show"], ["show", "run.json", "moon"], ["export", "run.json"], ["doctor", "x"],
                      ["export", "a", "b", "-o", "c.csv"], ["recover"], ["recover", "a", "b"], ["rnu"], ["push"], ["attach"], ["attach", "x"],
                      ["attach", "0"], ["attach", "--for=soon", "1"], ["attach", "--for=30", "1"], ["attach", "--interval=0", "1"],
                      ["report", "--width=7", "run.json"], ["doctor", "--rule=moon"], ["help", "moon"]):
            done = place.run(*words)
            self.assertEqual(done.code, 2, (words, done.err))
            self.assertTrue(done.err.startswith("resmon"), words)

    def test_a_full_disk_at_the_end(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "wb") as full:
            for words in (["report", "run.json"], ["metrics"], ["help"], ["doctor"]):
                done = subprocess.run([place.RESMON, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 1, words)
                self.assertIn("No space left", done.stderr)


class Texts(place.Case):
    def test_help(self):
        self.assertEqual(place.run("--help").code, 0)
        self.assertEqual(place.run().code, 2)
        self.assertRegex(place.run("--version").out, r"^resmon \d+\.\d+\.\d+\n$")
        for verb in VERBS:
            done = place.run("help", verb)
            self.assertEqual(done.code, 0, done.err)
            lines = done.out.splitlines()
            self.assertIn(f"resmon {verb}", lines[0])
            self.assertLessEqual(len(lines), 50, verb)  # one screen
            self.assertLessEqual(max(len(line) for line in lines if not line.startswith("  resmon")), 80, verb)
            self.assertEqual(place.run(verb, "--help").out, done.out)
            whole = place.run("help", "--all", verb)
            self.assertEqual(place.run(verb, "--help-all").out, whole.out)
            self.assertLessEqual(max(map(len, whole.out.splitlines())), 100, verb)

    def test_words_that_are_nearly_right(self):
        for words, meant in ((["rnu", "true"], "'resmon run'"), (["run", "--intervall=1s", "true"], "'--interval'"),
                             (["diff", "--fial=x", "a", "b"], "'--fail'"), (["zzz"], "resmon run -- zzz"),
                             (["run", "--zzz", "true"], None), (["zzz" * 99], None)):
            done = place.run(*words)
            if meant is not None:
                self.assertIn(meant, done.err)
            else:
                self.assertNotIn("did you mean", done.err)
        self.assertIn("--quiet takes no value", place.run("run", "--quiet=3", "true").err)

    def test_all_options_of_the_library_have_a_flag(self):
        text = place.run("help", "--all", "run").out
        for key in ("interval", "domains", "record", "json", "csv", "carbon", "summary"):
            self.assertRegex(text, rf"(?m)^  --{key}\b", key)
        self.assertNotIn("--pid", text)

    def test_the_manual_pages(self):
        pages = sorted(MANUAL.glob("*.[1-9]"))
        if not pages:
            self.skipTest("the manual pages were not made")
        self.assertLessEqual({f"resmon-{verb}.1" for verb in VERBS} | {"resmon.1", "resmon.5", "resmon.7", "libresmon.3"},
                             {page.name for page in pages})
        for tool in (["man", "--warnings", "-l", "-"], ["groff", "-man", "-ww", "-z"], ["mandoc", "-T", "lint"]):
            def read(text, tool=tool):
                done = subprocess.run(tool, input=text, capture_output=True, text=True, check=False,
                                      env={**os.environ, "MANWIDTH": "90", "LC_ALL": "C.UTF-8"})
                return done.returncode, done.stderr
            if shutil.which(tool[0]) and read(PAGE) == (0, ""):
                for page in pages:
                    self.assertEqual(read(page.read_text(encoding="utf-8")), (0, ""), (tool, page.name))
                return
        self.skipTest("nothing that reads manual pages is installed (Debian: groff-base)")

    def test_completions(self):
        for shell in ("bash", "zsh", "fish"):
            done = place.run("help", f"--completion={shell}")
            self.assertEqual(done.code, 0)
            self.assertIn(" complete ", done.out)
            if not shutil.which(shell):
                print(f"not checked here: completions of {shell} (Debian: {shell})")
            else:
                checked = subprocess.run([shell, "-n"], input=done.out, capture_output=True, text=True, check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""), shell)
        self.assertEqual(place.run("help", "--completion=tcsh").code, 1)

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash_completes(self):
        pathlib.Path("c.bash").write_text(place.run("help", "--completion=bash").out, encoding="utf-8")

        def completed(*words):
            script = ('. ./c.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _resmon; '
                      'printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(["bash", "--norc", "-c", script, "bash", place.RESMON, *words], capture_output=True,
                                  text=True, check=True).stdout.split()
        self.assertEqual(completed("rep"), ["report"])
        self.assertEqual(completed("run", "--inter"), ["--interval="])
        self.assertIn("sleep", completed("run", "slee"))
        self.assertEqual(completed("help", "doc"), ["doctor"])
        self.assertEqual(completed("report", "--mlflow"), [])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes(self):
        pathlib.Path("c.fish").write_text(place.run("help", "--completion=fish").out, encoding="utf-8")

        def completed(line):
            done = subprocess.run(["fish", "-c", f"source c.fish; complete -C '{place.RESMON} {line}'"], capture_output=True,
                                  text=True, check=True, env={**os.environ, "HOME": os.getcwd()})
            return [word.split("\t")[0] for word in done.stdout.splitlines()]
        self.assertEqual(completed("rep"), ["report"])
        self.assertEqual(completed("run --inter"), ["--interval="])
        self.assertIn("sleep", completed("run -q -- slee"))
        self.assertIn("c.fish", completed("report c.f"))

    def test_what_completions_ask(self):
        """What is behind the options of run is a command of the user's, from that word on."""
        for words, answer in ((["run", ""], "@command 2"), (["run", "-q", "--interval", "=", "1s", "ls", ""], "@command 6"),
                              (["run", "--", "a", "-"], "@command 3"), (["bench", "-q", "a", "-"], "@command 3"),
                              (["report", ""], ""), (["run", "--interval", "=", ""], ""), (["none", ""], "")):
            self.assertEqual(place.run("complete", *words).out.strip(), answer, words)
        for verb in VERBS:
            keys = [line.split("\t")[0] for line in place.run("complete", verb, "--").out.splitlines()]
            self.assertIn("--help", keys)
            shown = place.run(verb, "--help-all").out
            self.assertEqual([key for key in keys if not key.startswith("--help") and key.rstrip("=") not in shown], [], verb)

    def test_metrics(self):
        rows = json.loads(place.run("metrics", "--json").out)
        self.assertGreater(len(rows), 100)
        self.assertEqual(set(rows[0]), {"name", "unit", "kind", "level", "origin", "help"})
        self.assertEqual(len(place.run("metrics", "proc.mem.rss").out.splitlines()), 2)
        self.assertEqual(place.run("metrics", "moon").code, 1)

    def test_doctor(self):
        self.assertEqual(place.run("doctor").code, 0)
        self.assertGreater(len(json.loads(place.run("doctor", "--json").out)), 5)
        self.assertIn("resmon", place.run("doctor", "--rule", "udev").out)
        self.assertEqual(place.run("doctor", "--rule=udev").out, place.run("doctor", "--rule", "udev").out)


if __name__ == "__main__":
    place.main()
