# SPDX-License-Identifier: MIT
"""What the profilers of line_profiler and memory_profiler share: decorator, add_function(), scripts without an import."""
import builtins
import functools
import inspect
import os
import runpy
import sys
import types
import warnings

from ..errors import ArgumentTypeError


_STUB = "<resmon>"  # the file of the code that _handed_over() gives a function


def _handed_over(function, wrapped):
    """Makes all calls of a function calls of another one, whoever has a reference to it; it stays a coroutine or generator."""
    # A function's code has as many free variables as its closure has cells.
    names, flags = ", ".join(function.__code__.co_freevars), function.__code__.co_flags
    use = f"  if 0: ({names},)\n" if names else ""
    is_awaited, is_generator = flags & inspect.CO_COROUTINE, flags & inspect.CO_GENERATOR
    call = f"{'await ' if is_awaited else 'yield from ' if is_generator else ''}'@'(*_resmon_args, **_resmon_kwargs)"
    source = (f"def outer({names}):\n {'async ' if is_awaited else ''}def inner(*_resmon_args, **_resmon_kwargs):\n{use}"
              f"  return ({call})\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "'str' object is not callable": it is replaced
        module = compile(source, _STUB, "exec")
    outer = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    code = next(const for const in outer.co_consts if isinstance(const, types.CodeType))
    function.__code__ = code.replace(co_consts=tuple(wrapped if const == "@" else const for const in code.co_consts),
                                     co_name=function.__code__.co_name)


class Profiler:
    """A decorator for functions, methods and classes; its functions are profiled in every call.

    ``enable()``, ``disable()`` and ``with`` only count in ``enable_count``.
    """

    def __init__(self, *functions):
        self.functions = []  # as they were given
        self.tables = []
        self.enable_count = 0
        for function in functions:
            self.add_function(function)

    _table: type  # of a function

    @staticmethod
    def _decorate(function):
        """profile_lines() or profile_memory()"""
        raise NotImplementedError

    def __call__(self, function):
        """Returns the function that is profiled; of a class, the class, whose functions are. Others are returned as they are."""
        if isinstance(function, type):
            self._add_all(vars(function).values())
            return function
        if isinstance(function, property):
            return property(*(accessor and self(accessor) for accessor in (function.fget, function.fset, function.fdel)),
                            function.__doc__)
        if isinstance(function, functools.cached_property):
            function.func = self(function.func)
            return function
        if isinstance(function, types.MethodType):
            return types.MethodType(self(function.__func__), function.__self__)
        if isinstance(getattr(function, "lines", None), self._table):  # it is profiled already
            self._keep(function, function.lines)
            return function
        if isinstance(function, (functools.partial, functools.partialmethod)):
            return type(function)(self(function.func), *function.args, **function.keywords)
        try:
            wrapped = self._decorate(function)
        except ArgumentTypeError:
            return function  # not written in Python
        self._keep(getattr(function, "__func__", function), getattr(wrapped, "__func__", wrapped).lines)
        return wrapped

    def add_function(self, function):
        """Profiles a function in all of its calls, also those of references that others have."""
        function = getattr(function, "__func__", function)
        if isinstance(function, type):
            self._add_all(vars(function).values())
            return
        if not isinstance(function, types.FunctionType):
            raise ArgumentTypeError(f"add_function() needs a function written in Python, not {function!r}")
        if isinstance(getattr(function, "lines", None), self._table):  # it is profiled already, by whomever
            self._keep(function, function.lines)
            return
        inner = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                                   function.__closure__)
        inner.__dict__.update(function.__dict__)
        inner.__kwdefaults__, inner.__qualname__ = function.__kwdefaults__, function.__qualname__
        wrapped = self._decorate(inner)
        _handed_over(function, wrapped)
        function.__wrapped__, function.lines = inner, wrapped.lines
        self._keep(function, wrapped.lines)

    add_class = add_function

    def _keep(self, function, table):
        if not any(table is own for own in self.tables):
            self.functions.append(function)
            self.tables.append(table)

    def add_module(self, module):
        """Profiles the functions that a module defines, and those of its classes; returns their number."""
        own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
        return self._add_all(own + [value for kind in own if isinstance(kind, type) for value in vars(kind).values()])

    def _add_all(self, values):
        functions = [value for value in (getattr(value, "__func__", value) for value in values) if isinstance(value, types.FunctionType)]
        for function in functions:
            self.add_function(function)
        return len(functions)

    def runcall(self, function, *args, **kwargs):
        """Calls a function; it is not profiled by that alone."""
        with self:
            return function(*args, **kwargs)

    def enable(self, *_args, **_kwargs):
        """Counts: functions are always profiled."""
        self.enable_count += 1

    def disable(self):
        """Counts: functions are always profiled."""
        self.enable_count = max(self.enable_count - 1, 0)

    enable_by_count, disable_by_count = enable, disable

    def __enter__(self):
        self.enable()
        return self

    def __exit__(self, *_error):
        self.disable()


def run_script(name, profile):
    """``python3 -m NAME SCRIPT ARGUMENT...``: the script runs with ``profile`` as a builtin; tables are printed at its end."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(f"usage: python3 -m {name} SCRIPT [ARGUMENT]...\n\nRuns a script in which functions are decorated by @profile, "
              "without an import.\nTheir tables are printed when it ends.")
        sys.exit(0 if len(sys.argv) > 1 else 2)
    del sys.argv[0]
    if not os.path.isfile(sys.argv[0]):
        sys.exit(f"{name}: {sys.argv[0]}: there is no such script")
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    builtins.profile = profile
    runpy.run_path(sys.argv[0], run_name="__main__")
