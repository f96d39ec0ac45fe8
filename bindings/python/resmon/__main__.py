# SPDX-License-Identifier: MIT
"""``python -m resmon [OPTION]... SCRIPT [ARGUMENT]...``, or ``-m MODULE``, or ``-c CODE``: observes a Python program.

The options are those of ``resmon run``, which takes the place of this process and observes the program, and all that it
starts, from outside: a Python without a trace of this package, with its own arguments, input, output, signals and exit
status. Stacks are on (``--stacks=none`` turns them off), so the summary names the functions and lines that use time and
memory. With ``-o run.html``, the report has flame graphs.
"""
import importlib.metadata
import os
import subprocess
import sys

FLAGS = {"--live", "--quiet", "--verbose", "--redact", "--each", "--smaps"}  # and those of sinks: "--json.late"
USAGE = __doc__.split("\n\n", 1)[0].replace("``", "")


def _takes_next(word):
    is_long = word.startswith("--") and "=" not in word and "." not in word
    return word == "-o" or (is_long and word not in FLAGS)


def _split(arguments):
    """Splits into the options of the command, and the program for Python."""
    for at, word in enumerate(arguments):
        is_value = at > 0 and _takes_next(arguments[at - 1])
        if word == "--":
            return arguments[:at], arguments[at + 1:]
        if not is_value and (not word.startswith("-") or word in ("-m", "-c", "-")):
            return arguments[:at], arguments[at:]
    return arguments, []


def _command():
    """The command that was installed with this package; in a checkout, the one of its library or of PATH."""
    library = os.environ.get("RESMON_LIBRARY", "")
    found = [os.path.join(os.path.dirname(library), "bin", "resmon")] if library else []
    try:
        files = importlib.metadata.files("resmon") or ()
        found += [str(file.locate()) for file in files if file.parts[-2:] == ("bin", "resmon")]
    except importlib.metadata.PackageNotFoundError:
        pass
    return next((path for path in found if os.access(path, os.X_OK)), "resmon")


def main():
    """Becomes ``resmon run``; returns only when it cannot."""
    options, program = _split(sys.argv[1:])
    if not program:
        sys.stderr.write(f"{USAGE}\nOptions: resmon help run\n")
        return 0 if {"-h", "--help"} & set(options) else 125
    if not any(option.startswith("--stacks") for option in options):
        options = ["--stacks=cpu+memory", *options]
    options = [option for option in options if option != "--stacks=none"]
    command = _command()
    try:
        flags = subprocess._args_from_interpreter_flags()  # pylint: disable=protected-access; as multiprocessing does
        os.execvp(command, ["resmon", "run", *options, "--", sys.executable, *flags, *program])
    except OSError as error:
        sys.stderr.write(f"resmon: the command cannot be run: {command}: {error}\n")
        return 125


if __name__ == "__main__":
    sys.exit(main())
