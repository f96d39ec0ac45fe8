# SPDX-License-Identifier: MIT
"""hyperfine's own scripts read the file of `resmon bench`."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from live import needs_live  # noqa: E402
from locked import Environments  # noqa: E402

RESMON = os.path.abspath(sys.argv[1])
MANIFEST = '[package]\nname = "scripts"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nhyperfine = "=1.20.0"\n'
# Without plot_parametrized.py: resmon bench has no parameters.
SCRIPTS = {
    "advanced_statistics.py": (),
    "welch_ttest.py": (),
    "plot_whisker.py": ("-o", "whisker.png"),
    "plot_histogram.py": ("-o", "histogram.png"),
    "plot_progression.py": ("-o", "progression.png"),
    "plot_benchmark_comparison.py": ("-o", "comparison.png"),
}


def skipped(why):
    print(f"skipped: {why}")
    return 77


def fetch_scripts(cargo):
    """hyperfine's sources, which have them."""
    os.mkdir("src")
    pathlib.Path("src/lib.rs").touch()
    pathlib.Path("Cargo.toml").write_text(MANIFEST, encoding="utf-8")
    return subprocess.run([cargo, "vendor", "-q", "vendor"], stdout=subprocess.DEVNULL, check=False).returncode == 0


def reads(python, name, options):
    script = pathlib.Path("vendor/hyperfine/scripts", name)
    environment = dict(os.environ, MPLBACKEND="Agg")
    done = subprocess.run([python, script, *options, "bench.json"], capture_output=True, text=True, check=False,
                          env=environment)
    made = [option for option in options if option.endswith(".png")]
    is_read = done.returncode == 0 and all(os.path.exists(file) for file in made)
    print(f"{name}: {'read' if is_read else done.stderr}\n{done.stdout}")
    return is_read


def main():
    cargo = shutil.which("cargo")
    if cargo is None:
        return skipped("there is no cargo to fetch hyperfine with")
    if not fetch_scripts(cargo):
        return skipped("hyperfine cannot be had from Rust's registry")
    python = Environments(".").environment("venv", sys.executable, "hyperfine")
    subprocess.run([RESMON, "bench", "-q", "-n", "8", "-o", "bench.json", "--", "true", "--", "sleep", "0.01"], check=True)
    return 0 if all([reads(python, name, options) for name, options in SCRIPTS.items()]) else 1


needs_live("hyperfine's scripts", "cargo, and packages from PyPI")
with tempfile.TemporaryDirectory(prefix="resmon-truth-") as directory:
    os.chdir(directory)
    status = main()
    os.chdir("/")
sys.exit(status)
