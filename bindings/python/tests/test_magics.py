# SPDX-License-Identifier: MIT
"""%resmon and %%resmon in IPython, and in a notebook that is run."""
import json
import math

import pytest
from conftest import MIB, child_environment, ends

import resmon

IPython = pytest.importorskip("IPython", reason="IPython is not installed")


@pytest.fixture(scope="module")
def the_shell():
    """There is one in a process."""
    from IPython.testing.globalipapp import start_ipython
    started = start_ipython()
    if started is None:
        from IPython import get_ipython
        started = get_ipython()
    return started


@pytest.fixture
def shell(the_shell):
    """A shell with the extension, and without it afterwards."""
    the_shell.run_line_magic("load_ext", "resmon")
    yield the_shell
    the_shell.run_line_magic("unload_ext", "resmon")
    for name in ("_resmon", "mine", "x", "y"):
        the_shell.user_ns.pop(name, None)


def magics(shell):
    from resmon import magics as module
    return module._loaded[shell]


def run(shell, source):
    result = shell.run_cell(source, store_history=True)
    return result


def test_cell(shell, capsys):
    result = run(shell, "%%resmon -i 0.005\nimport resmon\nwith resmon.scope('load'):\n    x = bytearray(30 << 20)\nlen(x)")
    assert result.success and result.result == 30 << 20 and len(shell.user_ns["x"]) == 30 << 20
    monitor = shell.user_ns["_resmon"]
    assert monitor.state == "stopped" and monitor.info.samples >= 2
    assert monitor.scopes["load"].calls == 1 and monitor.scopes["load"].rss_peak_bytes >= 30 * MIB
    assert "resmon.Monitor" in capsys.readouterr().out


def test_cell_lines(shell, capsys):
    """Stacks name cells by their numbers, with their lines, and end at them."""
    run(shell, "import time\n\ndef spin(seconds):\n    end = time.thread_time() + seconds\n"
               "    while time.thread_time() < end:\n        sum(map(abs, range(500)))  # of the earlier cell")
    earlier = shell.execution_count - 1
    run(shell, "%%resmon -k cpu\nspin(0.4)  # of the cell itself")
    monitor, text = shell.user_ns["_resmon"], capsys.readouterr().out
    if not monitor.stack_info["cpu"].available:
        pytest.skip(monitor.stack_info["cpu"].reason)
    assert f"In [{earlier}]" in text and "# of the earlier cell" in text and "# of the cell itself" in text
    stacks = [[frame.file for frame in stack.frames] for stack in monitor.stacks
              if "spin" in [frame.function for frame in stack.frames]]
    assert f"Function: In [{earlier + 1}]" in text
    assert stacks and all(files[-1] == f"In [{earlier + 1}]" for files in stacks), stacks


def test_cell_options(shell, capsys):
    run(shell, "%%resmon -q -o mine -s wall\ny = 5;")
    assert shell.user_ns["mine"].info.samples == 2 and "_resmon" not in shell.user_ns
    assert "Monitor" not in capsys.readouterr().out
    assert run(shell, "%%resmon -q\n5 + 5;").result is None
    assert run(shell, "%%resmon -q\n# nothing").success


def test_cell_plots(shell):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    before = len(pyplot.get_fignums())
    assert run(shell, "%%resmon -q -p\nsum(range(100000))").success
    assert len(pyplot.get_fignums()) == before + 1
    pyplot.close("all")


@pytest.mark.parametrize("line, words", [("-x", "-x"), ("-i", "-i"), ("-i abc", "abc"), ("stray", "stray"),
                                         ("-s cpux", "cpux"), ("-i 0.00001", "millisecond")])
def test_cell_options_that_are_none(shell, line, words, capsys):
    result = run(shell, f"%%resmon {line}\nx = 1")
    assert isinstance(result.error_in_exec, ValueError) and words in str(result.error_in_exec)
    assert "x" not in shell.user_ns


def test_cell_that_raises(shell, capsys):
    result = run(shell, "%%resmon\nx = 1\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError) and shell.user_ns["x"] == 1
    assert [tag.label for tag in shell.user_ns["_resmon"].tags] == ["ZeroDivisionError: division by zero"]
    assert isinstance(run(shell, "%%resmon\nx = (").error_in_exec, SyntaxError)
    assert ends("rm-sample")


def test_cell_with_magics_in_it(shell):
    assert run(shell, "%%resmon -q\n%time x = 7\ny = !echo shell\nx").result == 7
    assert shell.user_ns["y"] == ["shell"]


def test_cell_while_another_monitor_has_the_scopes(shell):
    with resmon.Monitor(3600, scopes="wall") as owner:
        assert run(shell, "%%resmon -q\nimport resmon\nwith resmon.scope('inside'):\n    x = 1").success
    assert owner.scopes["inside"].calls == 1 and len(shell.user_ns["_resmon"].scopes) == 0


def test_every_cell(shell, capsys):
    assert run(shell, "%resmon on").success
    capsys.readouterr()
    run(shell, "x = bytearray(50 << 20)\nx[::4096] = bytes(len(x[::4096]))\nprint('mine')")
    output = capsys.readouterr().out
    assert "mine" in output and "resmon: wall " in output and "peak RSS" in output
    run(shell, "del x\nimport time\nx = time.process_time() + 0.02\nwhile time.process_time() < x: pass")
    run(shell, "1 / 0")
    run(shell, "pass")
    child = "import time\\nwhile time.process_time() < 0.1: pass"
    run(shell, f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{child}'])")
    cells = run(shell, "%resmon table").result
    assert [cell.error for cell in cells][:5] == ["", "", "ZeroDivisionError", "", ""]
    first, second, _, nothing, parent = cells[0:5]
    assert nothing.cpu_s <= nothing.wall_s * 2 + 0.0005, "without what the account itself costs"
    assert parent.cpu_s > 0.05, "with what children used"
    assert first.source.startswith("x = bytearray") and first.rss_peak_bytes >= 50 * MIB
    assert second.cpu_s > 0.01 and second.wall_s > 0.01 and second.number == first.number + 1
    assert not first.rss_is_exact or first.rss_peak_bytes > 50 * MIB
    assert math.isnan(first.energy_j) or first.energy_j >= 0
    assert "ZeroDivisionError" in repr(cells) and "<table" in cells._repr_html_()
    assert run(shell, "%resmon last").result.source == "%resmon table"
    run(shell, "%resmon clear")
    assert len(cells) <= 1
    run(shell, "%resmon off")
    count = len(cells)
    run(shell, "x = 1")
    assert len(cells) == count and ends("rm-sample")


def test_one_place_for_monitors_and_cells(shell, capsys):
    """What a place costs is said once in a notebook, by whichever way."""
    try:
        run(shell, "%resmon on FR")
        run(shell, "import resmon\nwith resmon.Monitor(3600) as monitor:\n    sum(range(300_000))")
        run(shell, "%%resmon -q -o cell\nsum(range(300_000))")
        wanted = resmon.carbon.intensity("FR").g_per_kwh
        assert 0 < wanted != resmon.carbon.intensity("PL").g_per_kwh
        assert shell.user_ns["monitor"].energy.g_per_kwh == shell.user_ns["cell"].energy.g_per_kwh == wanted
        accounts = [cell for cell in magics(shell).cells if cell.energy_j > 0]
        assert all(cell.gco2eq == pytest.approx(cell.energy_j / 3.6e6 * wanted, rel=1e-6) for cell in accounts)
        resmon.carbon.set_place("PL")
        run(shell, "%%resmon -q -o cell\nsum(range(300_000))")
        assert shell.user_ns["cell"].energy.g_per_kwh == resmon.carbon.intensity().g_per_kwh != wanted
    finally:
        resmon.carbon.set_place(None)


def test_on_and_off_any_number_of_times(shell, capsys):
    for line in ("off", "on", "on", "off", "off", "on"):
        assert run(shell, f"%resmon {line}").success
    run(shell, "x = 1")
    sources = [cell.source for cell in magics(shell).cells]
    assert sources == ["%resmon on", "x = 1"], "once, however often it was switched on"
    assert isinstance(run(shell, "%resmon what").error_in_exec, ValueError)
    assert "no cells" in resmon.magics.Cells()._repr_html_()


def test_cells_to_pandas(shell, capsys):
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert len(magics(shell).cells.to_pandas()) == 0
    run(shell, "%resmon on")
    run(shell, "x = 1")
    frame = magics(shell).cells.to_pandas()
    assert list(frame["source"]) == ["x = 1"] and frame.index.name == "number" and frame["wall_s"].iloc[0] > 0


def test_loaded_twice_and_unloaded(shell):
    first = magics(shell)
    shell.run_line_magic("reload_ext", "resmon")
    resmon.load_ipython_extension(shell)
    assert magics(shell) is not first
    resmon.unload_ipython_extension(shell)
    resmon.unload_ipython_extension(shell)
    assert "resmon" not in shell.magics_manager.magics["cell"]
    resmon.load_ipython_extension(shell)


def test_cells_are_bounded():
    cells = resmon.magics.Cells()
    cells.LIMIT = 10
    for i in range(25):
        cells.add(i)
    assert len(cells) == 10 and cells[0] == 15 and cells.dropped == 15


def test_notebook(tmp_path, monkeypatch):
    """As a kernel runs it: cells, live figures, and an account."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (
        "%load_ext resmon\nimport resmon",
        "%%resmon\nwith resmon.scope('phase'):\n    x = sum(range(1_000_000))\nx",
        "_resmon.state, _resmon.scopes['phase'].calls, _resmon.facts['run']['name']",
        "m = resmon.Monitor(0.05).start()\nm.live(0.05)",
        "m.stop()\nm.facts['run']['name']",
        "%resmon on", "y = 1", "with resmon.timer('said'):\n    pass", "%resmon")])
    for name, value in child_environment(JPY_SESSION_NAME="").items():
        monkeypatch.setenv(name, value)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [[output for output in cell["outputs"]] for cell in notebook["cells"]]
    assert any("text/html" in output.get("data", {}) and "phase" in output["data"]["text/html"] for output in cells[1])
    assert cells[2][0]["data"]["text/plain"] == "('stopped', 1, 'cell')"
    assert "svg" in json.dumps(cells[3]) or "tile" in json.dumps(cells[3])
    assert cells[4][0]["data"]["text/plain"] == "'notebook'"
    assert "resmon: wall" in json.dumps(cells[6])
    said = [output for output in cells[7] if "said finished" in output.get("text", "")]
    assert said and said[0]["name"] == "stdout"
    assert "y = 1" in json.dumps(cells[8])


def test_bench(shell):
    shell.user_ns["x"] = []
    bench = run(shell, "%resmon_bench -n 3 x.append(1)").result
    assert bench.names == ["x.append(1)"] and len(bench.values("wall")) == 3 and len(shell.user_ns["x"]) > 3
    assert "median" in str(bench)
    assert run(shell, "%resmon_bench len(x)").result.values("wall")[0] < 1e-3
    assert not run(shell, "%resmon_bench").success
    assert not run(shell, "%resmon_bench -n x len(x)").success
    assert isinstance(run(shell, "%resmon_bench 1 / 0").error_in_exec, ZeroDivisionError)
