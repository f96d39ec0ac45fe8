# SPDX-License-Identifier: MIT
"""What tests install from registries: what tests/locks lists, each file with its hash, and nothing else.

`bootstrap.sh lock` makes the lists anew, of what PyPI and npm have that day.  locked.py NAME DIRECTORY makes
an environment with what is listed under that name, and says its interpreter.
"""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

LOCKS = pathlib.Path(__file__).resolve().parent / "locks"
REACH = {"PIP_CERT": "--cert", "PIP_PROXY": "--proxy", "PIP_TRUSTED_HOST": "--trusted-host"}
UNREACHABLE = ("No matching distribution", "Temporary failure", "NewConnectionError", "ProxyError",
               "ConnectTimeout", "Read timed out", "Network is unreachable", "Could not fetch URL",
               "Connection refused", "Max retries exceeded", "npm error network", "ECONNREFUSED", "ENOTFOUND")


def skip(reason):
    print(f"skipped: {reason}", flush=True)
    sys.exit(77)


def checked(command):
    """Its output; ends the program, as skipped where the network is the cause, when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return done.stdout
    why = [line.strip() for line in done.stdout.splitlines() if any(words in line for words in UNREACHABLE)]
    if why:
        skip("the registry cannot be reached: " + why[-1])
    print(done.stdout[-4000:], file=sys.stderr)
    sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}")


@contextlib.contextmanager
def made_once(directory, stamp):
    """True when `directory` must be made; then it is, for this stamp, unless an exception leaves the block.

    An environment knows its own place, and cannot be made elsewhere and renamed.  What counts is the file "complete", which
    comes last, whole, and goes first.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{directory}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complete, begun = directory / "complete", directory / "complete.new"
        is_missing = not complete.exists() or complete.read_text(encoding="utf-8") != stamp
        if is_missing:
            complete.unlink(missing_ok=True)
            if directory.exists():
                shutil.rmtree(directory)  # an error is one: what is left would be mixed with what is new
        yield is_missing
        if is_missing:
            begun.write_text(stamp, encoding="utf-8")
            begun.replace(complete)


def stamp_of(*path):
    return hashlib.sha256(LOCKS.joinpath(*path).read_bytes()).hexdigest()


# ---- PyPI ----------------------------------------------------------------------------------------------


def words_of(name):
    """Words for pip: what a lock lists, as it was then."""
    return "--no-deps", "--require-hashes", "-r", LOCKS / f"{name}.txt"


class Environments:
    """Environments of Python in a directory of the build; made by the first who needs one, others wait."""

    def __init__(self, out):
        self.out = pathlib.Path(out).resolve()

    def pip(self, *words, python=None):
        """pip of our own, for the environment of `python`."""
        tools = self.out / "pip"
        with made_once(tools, f"{sys.version} {stamp_of('pip.txt')}") as is_missing:
            if is_missing:
                made = subprocess.run([sys.executable, "-m", "venv", tools], capture_output=True, text=True, check=False)
                if made.returncode != 0:
                    skip("python3 -m venv does not work here (Debian: python3-venv)")
                checked(self.pip_command(tools, (), "install", *words_of("pip")))
        return checked(self.pip_command(tools, ("--python", python) if python else (), *words))

    @staticmethod
    def pip_command(tools, options, action, *words):
        """Without the settings of this host, in variables and files, but for how the registry is reached."""
        reach = [word for name, option in REACH.items() if name in os.environ for word in (option, os.environ[name])]
        index = ("--index-url", os.environ["PIP_INDEX_URL"]) if "PIP_INDEX_URL" in os.environ else ()
        unset = [f"--unset={name}" for name in os.environ if name.startswith("PIP_")]
        return ["env", *unset, tools / "bin/python", "-m", "pip", "--isolated", "--quiet", "--disable-pip-version-check",
                *reach, *options, action, *index, *words]

    def environment(self, name, interpreter, lock=None):
        """The interpreter of an environment with what is locked under that name; None: nothing."""
        directory = self.out / name
        python = directory / "bin/python"
        with made_once(directory, f"{interpreter} {stamp_of(f'{lock}.txt') if lock else ''}") as is_missing:
            if is_missing:
                begin = time.monotonic()
                checked([interpreter, "-m", "venv", "--without-pip", directory])
                if lock:
                    # Compiled when first imported: most never are.
                    self.pip("install", "--no-compile", *words_of(lock), python=python)
                    print(f"{lock}: {time.monotonic() - begin:.0f} s", flush=True)
        return python


# ---- npm -----------------------------------------------------------------------------------------------


def later_node(name):
    """The sentence that what is locked asks for a later node than there is; "": it does not."""
    packages = json.loads((LOCKS / name / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = packages.get(next((path for path in packages if path.endswith(f"/{name}")), ""), {}).get("engines", {}).get("node", "")
    least = re.search(r">= ?(\d+)", wanted)
    there = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    is_old = least is not None and int(re.search(r"\d+", there + "0")[0]) < int(least[1])
    return f"{name} asks for node {wanted}, and this is {there.strip()}" if is_old else ""


def npm_modules(name, directory):
    """The folder node_modules with what is locked under that name, whose own scripts are not run.

    LookupError: it cannot be had here.
    """
    if not shutil.which("npm") or not shutil.which("node"):
        raise LookupError("node and npm are not installed")
    home = pathlib.Path(directory).resolve() / f"npm-{name}"
    with made_once(home, stamp_of(name, "package-lock.json")) as is_missing:
        if is_missing:
            home.mkdir()
            for file in ("package.json", "package-lock.json"):
                shutil.copy(LOCKS / name / file, home)
            done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", home],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0 and "EINTEGRITY" not in done.stderr:
                raise LookupError(f"npm cannot get {name}: {done.stderr.strip().splitlines()[:1]}")
            if done.returncode != 0:
                sys.exit(done.stderr)
    return home / "node_modules"


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        found = Environments(pathlib.Path(sys.argv[2]).parent).environment(pathlib.Path(sys.argv[2]).name, sys.executable,
                                                                           sys.argv[1])
    print(found)
