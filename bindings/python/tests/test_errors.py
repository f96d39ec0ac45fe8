# SPDX-License-Identifier: MIT
"""Exceptions: one class for each status, with Python's own among its bases, and a text that says what to do."""
import importlib.util
import pickle
import shutil
import subprocess

import pytest

import resmon
from resmon import errors

CLASSES = [*errors._CLASSES.values()]


def test_all_have_their_own_number_and_name():
    assert sorted(errors._CLASSES) == list(range(-17, 0))
    assert len(set(CLASSES)) == 17 == len({one.name for one in CLASSES})
    for status, kind in errors._CLASSES.items():
        assert kind.status == status and kind.name == errors.name_of(status)
        assert issubclass(kind, resmon.Error) and getattr(errors, kind.__name__) is kind
    assert errors.name_of(0) == "RESMON_OK" and errors.name_of(-99) == "RESMON_UNKNOWN"


def test_names_are_those_of_the_library():
    import ctypes

    from resmon import _library
    name = ctypes.CDLL(_library.path, handle=_library._library._handle)["resmon_status_name"]
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.c_int32]
    for status in range(-20, 1):
        assert name(status).decode() == errors.name_of(status)


@pytest.mark.parametrize("kind, builtin", [
    (resmon.ArgumentError, ValueError), (resmon.StateError, RuntimeError), (resmon.errors.OutOfMemoryError, MemoryError),
    (resmon.NotFoundError, FileNotFoundError), (resmon.NotFoundError, LookupError), (resmon.NotFoundError, KeyError),
    (resmon.AccessError, PermissionError), (resmon.FormatError, ValueError), (resmon.errors.InputOutputError, OSError),
    (resmon.errors.NoSpaceError, OSError), (resmon.NotSupportedError, NotImplementedError), (resmon.errors.RangeError, ValueError),
    (resmon.errors.NoProcessError, ProcessLookupError), (resmon.errors.TimedOutError, TimeoutError),
    (resmon.errors.NetworkError, ConnectionError), (resmon.errors.LibraryError, ImportError), (resmon.ResmonWarning, UserWarning)])
def test_caught_as_python_says_it(kind, builtin):
    assert issubclass(kind, builtin)


@pytest.mark.parametrize("kind", CLASSES + [resmon.errors.LibraryError, resmon.Error])
def test_text_and_pickle(kind):
    error = kind("what failed: it's \"here\"")
    assert str(error) == "what failed: it's \"here\""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and again.status == error.status == kind.status


def test_a_status_of_a_newer_library():
    error = errors.error_of(-77, "new")
    assert type(error) is resmon.Error and error.status == -77 and str(error) == "new"
    assert pickle.loads(pickle.dumps(error)).status == -77


def test_raised_with_the_library_s_text(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        resmon.load(tmp_path / "no.json")
    assert isinstance(caught.value, resmon.NotFoundError) and "no.json" in str(caught.value)
    assert caught.value.name == "RESMON_ENOENT" and caught.value.status == -4


# ---- the library ------------------------------------------------------------------------------------

IMPORT = """
    try:
        import resmon
    except ImportError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("library, words", [
    ("/nonexistent/libresmon.so", "/nonexistent/libresmon.so"), ("/", "cannot be loaded"),
    ("/dev/null", "cannot be loaded"), ("libm.so.6", "no resmon_version")])
def test_library_that_is_none(library, words, script):
    output, _ = script(IMPORT, env={"RESMON_LIBRARY": library})
    assert output.startswith("LibraryError") and words in output
    assert "RESMON_LIBRARY" in output or "no libresmon" in output


def test_library_of_another_version(script):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler, to make a library of another version with")

    def made(version, name):
        path = script.directory / name
        source = 'const char *resmon_version(void) { return "%s"; }\nconst char *resmon_last_error(void) { return ""; }'
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=(source % version).encode(),
                       check=True)
        return str(path)
    output, _ = script(IMPORT, env={"RESMON_LIBRARY": made("7.3.1", "other.so")})
    assert output.startswith("LibraryError") and "7.3.1" in output and "0.1" in output
    output, _ = script("""
        try:
            import resmon
            resmon.Monitor()
        except ImportError as error:
            print(type(error).__name__, error)
    """, env={"RESMON_LIBRARY": made(resmon.__version__, "empty.so")})
    assert output.startswith("LibraryError") and "not from the same release" in output


def test_importing_takes_no_optional_package(script):
    output, _ = script("""
        import sys
        import resmon
        with resmon.Monitor(3600) as monitor:
            with resmon.scope("x"), resmon.timer("y", log=False):
                pass
        repr(monitor), monitor.summary, monitor._repr_html_()
        heavy = {"numpy", "pandas", "pyarrow", "matplotlib", "IPython", "mlflow", "logging", "threading", "asyncio"}
        print(sorted(heavy & set(sys.modules)))
        print(len([name for name in sys.modules if name.startswith("resmon")]) <= 23)
    """)
    assert output in ("[]\nTrue\n", "['threading']\nTrue\n")


def test_names_of_the_package():
    assert set(resmon.__all__) <= set(dir(resmon))
    with pytest.raises(AttributeError, match="nonsense"):
        resmon.nonsense  # pylint: disable=pointless-statement
    absent = set()
    for name in resmon.__all__:
        home = resmon._home_of.get(name)
        if home in ("lines", "reports") and importlib.util.find_spec(f"resmon.{home}") is None:
            absent.add(home)
        else:
            assert getattr(resmon, name) is not None
    if absent:
        pytest.skip(f"all but the names of {', '.join(sorted(absent))} are there")


@pytest.mark.parametrize("place", [True, {"g_per_kwh": True}, {"pue": 0}, {"pue": 0.5}, {"g_per_kwh": -1}, float("nan")])
def test_what_is_no_place(place):
    with pytest.raises(resmon.ArgumentError, match="carbon"):
        resmon.carbon.set_place(place)
    assert resmon.options.current_place() is None
    with pytest.raises(resmon.Error):
        resmon.Monitor(3600, carbon=place).start()


def test_true_is_no_number():
    for key in ("interval", "rows", "max_overhead"):
        with pytest.raises(resmon.ArgumentError, match=f"{key}: a .*number is wanted, not bool"):
            resmon.Monitor(**{key: True})


def test_a_place_takes_all_the_keys_that_are_listed():
    keys = {"codecarbon": True, "no_site": True, "country": "FR"}
    there = resmon.carbon.intensity(keys)
    assert there.iso3 == "FRA"
    assert there.g_per_kwh != resmon.carbon.intensity({"country": "FR", "no_site": True}).g_per_kwh  # codecarbon's
    with resmon.Monitor(3600, carbon=keys):
        pass
