# SPDX-License-Identifier: MIT
"""Wraps functions of every kind so that something is done around the stretches in which they run.

A plain function runs in one stretch.  Coroutines and generators run, are suspended and run on: others run in
between, so what was begun for one must be ended when it is suspended.  Each call makes a stretch object:
``resume()`` before it runs on, ``suspend()`` after, ``fail()`` before that when an error leaves it, and once, at the
very end, ``finish(error)``.  One whose class
has ``begin(args, kwargs)`` is told first what the function is called with.  Where ``whole(*arguments)`` of the class
gives something with ``end()``, that is around all of a coroutine, or a step of an asynchronous generator, instead.
"""
import types

from .errors import ArgumentTypeError

_COROUTINE, _GENERATOR, _ASYNC_GENERATOR = 0x80 | 0x100, 0x20, 0x200  # inspect.CO_*: importing it takes longer


def wrapped(function, make, *arguments):
    """`function`, around each call of which stands ``make(*arguments)``; staticmethod and classmethod stay that."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(wrapped(function.__func__, make, *arguments))
    if isinstance(function, type):
        raise ArgumentTypeError(f"{function.__name__} is a class: decorate its methods, __init__ for one")
    if not callable(function):
        raise ArgumentTypeError(f"a function is wanted, not {type(function).__name__}")
    begun = _maker(make, arguments)
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
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
    """Makes the stretch object of a call with such arguments."""
    if not hasattr(make, "begin"):
        return lambda args, kwargs: make(*arguments)

    def begun(args, kwargs):
        stretch = make(*arguments)
        stretch.begin(args, kwargs)
        return stretch
    return begun


def _wholes(make, arguments):
    """Begins what is around a whole call; gives None where stretches are wanted."""
    whole = getattr(make, "whole", None)
    return (lambda: None) if whole is None else (lambda: whole(*arguments))


def is_failure(error):
    """Whether an exception says that something failed: others are how generators and cancelled tasks end, and
    ``sys.exit()`` without a status."""
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    return isinstance(error, (Exception, KeyboardInterrupt)) and not isinstance(error, (StopIteration, StopAsyncIteration))


def _wrap_plain(function, begun):
    def wrapper(*args, **kwargs):
        stretch = begun(args, kwargs)
        stretch.resume()
        error = None
        try:
            return function(*args, **kwargs)
        except BaseException as caught:
            error = caught
            if is_failure(error):
                stretch.fail()
            raise
        finally:
            stretch.suspend()
            stretch.finish(error)
            del error  # a frame that knows its own exception is a cycle
    return wrapper


def _step(stretch, function, *arguments):
    stretch.resume()
    try:
        return function(*arguments)
    except BaseException as error:
        if is_failure(error):
            stretch.fail()
        raise
    finally:
        stretch.suspend()


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
        stretch.finish(error)
        del error


_drive_awaitable = types.coroutine(_drive)


def _wrap_generator(function, begun):
    def wrapper(*args, **kwargs):
        return (yield from _drive(function(*args, **kwargs), begun(args, kwargs)))
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
        return await _drive_awaitable(function(*args, **kwargs), begun(args, kwargs))
    return wrapper


class _Part:
    """A stretch that outlives one drive: of one step of an async generator."""

    __slots__ = ("resume", "suspend", "fail")

    def __init__(self, stretch):
        self.resume, self.suspend, self.fail = stretch.resume, stretch.suspend, stretch.fail

    def finish(self, error):
        """The generator goes on."""


def _first_step(inner):
    """Begins an async generator of which the event loop does not get to know: at its end, the loop would close both
    this one and the wrapper that is closing it."""
    import sys
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return inner.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _wrap_async_generator(function, begun, whole_of):
    async def wrapper(*args, **kwargs):
        inner, stretch, error = function(*args, **kwargs), begun(args, kwargs), None
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
            stretch.finish(error)
            del error
    return wrapper
