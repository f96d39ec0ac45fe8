# SPDX-License-Identifier: MIT
"""Wraps functions of every kind, to act before and after each stretch in which they run.

A plain function runs in one stretch. Coroutines and generators run, are suspended and continue. Others run in
between, so work that was begun for one must be ended when it is suspended. Each call makes a stretch object:
``resume()`` is called before it continues, ``suspend()`` after, ``fail()`` before suspend() if an error leaves the
call, and ``finish(error)`` at the very end. An interrupt may come anywhere: suspend() is also called after a resume()
that did not return, and suspend() and finish() a second time if the first did not. If its class has ``begin(args, kwargs)``, that is
called first, with the arguments of the function; if it has ``of(inner)``, that gets the coroutine or generator before
it starts. If ``whole(*arguments)`` of the class returns an object with ``end()``, that object is around a whole
coroutine, or around a step of an asynchronous generator, instead.
"""
import types

from .errors import ArgumentTypeError

_COROUTINE, _GENERATOR, _ASYNC_GENERATOR = 0x80 | 0x100, 0x20, 0x200  # inspect.CO_*: importing it takes longer


def _flags_of(function):
    while not hasattr(function, "__code__") and hasattr(function, "func"):
        function = function.func  # functools.partial
    return getattr(getattr(function, "__code__", None), "co_flags", 0)


def is_suspended(function):
    """Whether calls of a function are suspended and continue: coroutines and generators."""
    return _flags_of(function) & (_COROUTINE | _GENERATOR | _ASYNC_GENERATOR) != 0


def wrapped(function, make, *arguments):
    """Returns `function` with ``make(*arguments)`` around each call; staticmethod and classmethod are kept."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(wrapped(function.__func__, make, *arguments))
    if isinstance(function, type):
        raise ArgumentTypeError(f"{function.__name__} is a class: decorate its methods, for example __init__")
    if not callable(function):
        raise ArgumentTypeError(f"expected a function, not {type(function).__name__}")
    begun = _maker(make, arguments)
    flags = _flags_of(function)
    if flags & _COROUTINE:
        wrapper = _wrap_coroutine(function, begun, _wholes(make, arguments))
    elif flags & _ASYNC_GENERATOR:
        wrapper = _wrap_async_generator(function, begun, _wholes(make, arguments))
    elif flags & _GENERATOR:
        wrapper = _wrap_generator(function, begun)
    else:
        wrapper = _wrap_plain(function, begun)
    import functools  # here, as importing it takes a third of the time that importing all of this does
    return functools.wraps(function)(wrapper)


def _maker(make, arguments):
    """Returns a function that makes the stretch object of a call."""
    if not hasattr(make, "begin"):
        return lambda args, kwargs: make(*arguments)

    def begun(args, kwargs):
        stretch = make(*arguments)
        stretch.begin(args, kwargs)
        return stretch
    return begun


def _started(begun, function, args, kwargs):
    """Calls a coroutine function or generator function; returns its object, and the stretch object of the call."""
    inner, stretch = function(*args, **kwargs), begun(args, kwargs)
    if hasattr(stretch, "of"):
        stretch.of(inner)
    return inner, stretch


def _wholes(make, arguments):
    """Returns a function that begins the object around a whole call, or returns None for stretches."""
    whole = getattr(make, "whole", None)
    return (lambda: None) if whole is None else (lambda: whole(*arguments))


def is_failure(error):
    """Whether an exception is a failure.

    Others end generators and cancelled tasks, or are ``sys.exit()`` without a status.
    """
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    return isinstance(error, (Exception, KeyboardInterrupt)) and not isinstance(error, (StopIteration, StopAsyncIteration))


def _wrap_plain(function, begun):
    def wrapper(*args, **kwargs):
        stretch, error = begun(args, kwargs), None
        try:
            stretch.resume()
            return function(*args, **kwargs)
        except BaseException as caught:
            error = caught
            if is_failure(error):
                stretch.fail()
            raise
        finally:
            try:
                stretch.suspend()
            except BaseException:
                stretch.suspend()
                raise
            stretch.finish(error)
            del error  # a frame that knows its own exception is a cycle
    return wrapper


def _step(stretch, function, *arguments):
    try:
        stretch.resume()
        return function(*arguments)
    except BaseException as error:
        if is_failure(error):
            stretch.fail()
        raise
    finally:
        try:
            stretch.suspend()
        except BaseException:
            stretch.suspend()
            raise


def _drive(inner, stretch):
    """Runs a generator or coroutine to its end, stretch by stretch; the generator protocol of PEP 380."""
    error = None
    try:
        advance, argument = inner.send, None
        while True:
            try:
                given = _step(stretch, advance, argument)
            except StopIteration as stop:
                return stop.value
            try:
                advance, argument = inner.send, (yield given)
            except GeneratorExit:
                _step(stretch, inner.close)
                raise
            except BaseException as thrown:  # pylint: disable=broad-except
                advance, argument = inner.throw, thrown
    except GeneratorExit:
        raise
    except BaseException as caught:
        error = caught
        raise
    finally:
        try:
            stretch.finish(error)
        except BaseException:
            stretch.finish(error)
            raise
        del error


_drive_awaitable = types.coroutine(_drive)


def _wrap_generator(function, begun):
    def wrapper(*args, **kwargs):
        return (yield from _drive(*_started(begun, function, args, kwargs)))
    return wrapper


async def _await_whole(inner, whole):
    try:
        return await inner
    except BaseException as error:
        if is_failure(error):
            whole.fail()
        raise
    finally:
        whole.end()


def _wrap_coroutine(function, begun, whole_of):
    async def wrapper(*args, **kwargs):
        whole = whole_of()
        if whole is not None:
            return await _await_whole(function(*args, **kwargs), whole)
        return await _drive_awaitable(*_started(begun, function, args, kwargs))
    return wrapper


class _Part:
    """The stretch object of an async generator for one step, which does not finish it."""

    __slots__ = ("resume", "suspend", "fail")

    def __init__(self, stretch):
        self.resume, self.suspend, self.fail = stretch.resume, stretch.suspend, stretch.fail

    def finish(self, error):
        """Does nothing: the generator continues."""


def _first_step(inner):
    """Begins an async generator without registering it with the event loop.

    At its end, the loop would close both this generator and the wrapper that is closing it.
    """
    import sys
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return inner.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _wrap_async_generator(function, begun, whole_of):
    async def wrapper(*args, **kwargs):
        (inner, stretch), error = _started(begun, function, args, kwargs), None
        part = _Part(stretch)

        def drive(step):
            whole = whole_of()
            return _drive_awaitable(step, part) if whole is None else _await_whole(step, whole)
        try:
            step = _first_step(inner)
            while True:
                try:
                    given = await drive(step)
                except StopAsyncIteration:
                    return
                try:
                    step = inner.asend((yield given))
                except GeneratorExit:
                    await drive(inner.aclose())
                    raise
                except BaseException as thrown:  # pylint: disable=broad-except
                    step = inner.athrow(thrown)
        except GeneratorExit:
            raise
        except BaseException as caught:
            error = caught
            raise
        finally:
            try:
                stretch.finish(error)
            except BaseException:
                stretch.finish(error)
                raise
            del error
    return wrapper
