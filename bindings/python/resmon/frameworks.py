# SPDX-License-Identifier: MIT
"""Scopes of training frameworks by themselves: epochs, steps, waiting for data, evaluation.

::

    import resmon
    with resmon.Monitor(scopes="wall+cpu+rss") as m:
        lightning.Trainer(callbacks=[resmon.frameworks.lightning_callback()]).fit(model)
        transformers.Trainer(..., callbacks=[resmon.frameworks.transformers_callback()]).train()
        model.fit(..., callbacks=[resmon.frameworks.keras_callback()])
        with resmon.frameworks.sklearn_scopes(pipeline):
            pipeline.fit(X, y)
    print(m.scopes)

Each uses the public hooks of its framework, which is imported when the function is called. Names are those of the
phases, not of the data: "train/epoch/step" is one row for all steps. "load" is the time between two steps, in which the
framework fetches the next batch. Without a running monitor nothing is recorded.
"""
from __future__ import annotations

import contextlib
import importlib
import threading

from .errors import ArgumentTypeError
from .frames import MissingPackage
from .scopes import Stretch, site_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class _Phases(threading.local):
    """The open scopes of one training, by name, on the thread that calls the hooks."""

    def __init__(self):
        self._open = []
        self.estimators = []  # whose methods run

    def begin(self, name):
        """Begins a scope inside those that are open."""
        stretch = Stretch()
        stretch.begin_stretch(site_of(name, __file__, name))
        self._open.append((name, stretch))

    def is_open(self, name):
        """Whether a scope of the name is open."""
        return any(one == name for one, _ in self._open)

    def end(self, *names):
        """Ends the scopes with these names that are open, with what is still open inside them."""
        while any(self.is_open(name) for name in names):
            self._open.pop()[1].end()

    def instead(self, name, *others):
        """Ends the others, and begins a scope."""
        self.end(*others)
        self.begin(name)

    def end_all(self, is_failure=False):
        """Ends all; after an error, hooks that would have ended them were not called."""
        while self._open:
            stretch = self._open.pop()[1]
            if is_failure:
                stretch.fail()
            stretch.end()


def _base(names, what):
    """The class to inherit from: the first that is there."""
    for name in names:
        module, _, member = name.rpartition(".")
        try:
            return getattr(importlib.import_module(module), member)
        except (ImportError, AttributeError):
            pass
    raise MissingPackage(f"{what} needs {names[0].split('.', 1)[0]}: pip install {names[0].split('.', 1)[0]}")


def _with_hooks(base, hooks):
    return type("ResmonCallback", (base,), {**hooks, "__doc__": "Scopes for resmon.", "__module__": __name__})()


# ---- PyTorch Lightning ---------------------------------------------------------------------------


def _evaluation(phases, name):
    """Hooks before and after an evaluation, which may interrupt the steps of an epoch."""
    def start(*_args):
        phases.end("load")
        phases.begin(name)

    def end(*_args):
        phases.end(name)
        if phases.is_open("epoch"):
            phases.begin("load")
    return start, end


def lightning_callback() -> Any:
    """Returns a callback for lightning.Trainer (or pytorch_lightning's): train/epoch/load, train/epoch/step with
    backward and optimizer, validate, test, predict."""
    phases = _Phases()
    hooks: dict[str, Any] = {}
    for name, hook in (("validate", "validation"), ("test", "test"), ("predict", "predict")):
        start, end = _evaluation(phases, name)
        hooks[f"on_{hook}_start"] = lambda _self, *_args, _start=start: _start()
        hooks[f"on_{hook}_end"] = lambda _self, *_args, _end=end: _end()

    def on_exception(_self, *_args):
        phases.end_all(is_failure=True)

    def on_train_epoch_start(_self, *_args):
        phases.begin("epoch")
        phases.begin("load")
    hooks.update({
        "on_train_start": lambda _self, *_args: phases.begin("train"),
        "on_train_end": lambda _self, *_args: phases.end("train"),
        "on_train_epoch_start": on_train_epoch_start,
        "on_train_epoch_end": lambda _self, *_args: phases.end("epoch"),
        "on_train_batch_start": lambda _self, *_args: phases.instead("step", "load"),
        "on_train_batch_end": lambda _self, *_args, **_more: phases.instead("load", "step"),
        "on_before_backward": lambda _self, *_args: phases.begin("backward"),
        "on_after_backward": lambda _self, *_args: phases.end("backward"),
        "on_before_optimizer_step": lambda _self, *_args: phases.begin("optimizer"),
        "on_before_zero_grad": lambda _self, *_args: phases.end("optimizer"),
        "on_exception": on_exception,
    })
    return _with_hooks(_base(("lightning.pytorch.callbacks.Callback", "pytorch_lightning.callbacks.Callback"),
                             "lightning_callback()"), hooks)


# ---- Hugging Face --------------------------------------------------------------------------------


def transformers_callback() -> Any:
    """Returns a callback for transformers.Trainer: train/epoch/load, train/epoch/step with
    optimizer, evaluate and save where they are done."""
    phases = _Phases()

    def go_on(control, evaluates=True):
        """What the trainer does next: its control says so."""
        if control.should_evaluate and evaluates:
            phases.begin("evaluate")
        elif control.should_save:
            phases.begin("save")
        else:
            load()

    def load():
        if phases.is_open("epoch"):
            phases.begin("load")

    def on_epoch_begin(_self, _args, _state, _control, **_more):
        phases.end("epoch")
        phases.begin("epoch")
        phases.begin("load")

    def on_step_begin(_self, _args, _state, _control, **_more):
        phases.end("step", "load")  # accumulated gradients: a step has several beginnings
        phases.begin("step")

    def on_step_end(_self, _args, _state, control, **_more):
        phases.end("step")
        go_on(control)

    def on_epoch_end(_self, _args, _state, control, **_more):
        phases.end("epoch")
        if control.should_evaluate or control.should_save:
            go_on(control)

    def on_prediction_step(_self, _args, _state, _control, **_more):
        if not phases.is_open("evaluate"):  # evaluate() and predict() without a training; the first batch is over
            phases.begin("evaluate")

    def on_evaluate(_self, _args, _state, control, **_more):
        phases.end("evaluate")
        if phases.is_open("train"):
            go_on(control, evaluates=False)

    def on_save(_self, _args, _state, _control, **_more):
        phases.end("save")
        load()
    return _with_hooks(_base(("transformers.TrainerCallback", "transformers.trainer_callback.TrainerCallback"),
                             "transformers_callback()"), {
        "on_train_begin": lambda _self, *_args, **_more: phases.begin("train"),
        "on_train_end": lambda _self, *_args, **_more: phases.end_all(),
        "on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end,
        "on_step_begin": on_step_begin, "on_step_end": on_step_end,
        "on_pre_optimizer_step": lambda _self, *_args, **_more: phases.begin("optimizer"),
        "on_optimizer_step": lambda _self, *_args, **_more: phases.end("optimizer"),
        "on_prediction_step": on_prediction_step, "on_evaluate": on_evaluate,
        "on_predict": lambda _self, *_args, **_more: phases.end("evaluate"), "on_save": on_save,
    })


# ---- Keras ---------------------------------------------------------------------------------------


def keras_callback() -> Any:
    """Returns a callback for Model.fit(), evaluate() and predict(): train/epoch/load, train/epoch/step,
    train/epoch/validate, test, predict."""
    phases = _Phases()
    hooks: dict[str, Any] = {}
    for kind, name in (("train", "train"), ("test", "test"), ("predict", "predict")):
        def begin(_self, logs=None, _name=name):
            phases.end("load")
            phases.begin("validate" if _name == "test" and phases.is_open("epoch") else _name)
            if _name != "train":
                phases.begin("load")

        def end(_self, logs=None, _name=name):
            phases.end(_name, "validate")
            if phases.is_open("epoch"):
                phases.begin("load")
        hooks[f"on_{kind}_begin"], hooks[f"on_{kind}_end"] = begin, end
        hooks[f"on_{kind}_batch_begin"] = lambda _self, batch, logs=None: phases.instead("step", "load")
        hooks[f"on_{kind}_batch_end"] = lambda _self, batch, logs=None: phases.instead("load", "step")

    def on_epoch_begin(_self, epoch, logs=None):
        phases.begin("epoch")
        phases.begin("load")
    hooks["on_epoch_begin"] = on_epoch_begin
    hooks["on_epoch_end"] = lambda _self, epoch, logs=None: phases.end("epoch")
    return _with_hooks(_base(("keras.callbacks.Callback", "tensorflow.keras.callbacks.Callback"), "keras_callback()"), hooks)


# ---- scikit-learn --------------------------------------------------------------------------------

_METHODS = ("fit", "fit_transform", "fit_predict", "partial_fit", "transform", "predict", "predict_proba",
            "decision_function", "score")


def _observed_method(phases, method, label):
    def observed(*args, **options):
        if id(method.__self__) in phases.estimators:
            return method(*args, **options)  # called by another of its own
        phases.estimators.append(id(method.__self__))
        phases.begin(label)
        try:
            return method(*args, **options)
        except BaseException:
            phases.end_all(is_failure=True)
            raise
        finally:
            phases.end(label)
            phases.estimators.pop()
    return observed


@contextlib.contextmanager
def sklearn_scopes(estimator: Any) -> Iterator[Any]:
    """While the block runs, methods of an estimator, and of the steps of a Pipeline, are scopes ("scaler.fit_transform").

    Estimators that scikit-learn copies, as for a grid search or in a ColumnTransformer, are not observed: what they take
    is in the scope of the estimator around them.

    :param estimator: a Pipeline, or any estimator
    """
    if not any(callable(getattr(estimator, name, None)) for name in _METHODS):
        raise ArgumentTypeError(f"sklearn_scopes(): expected an estimator, not {type(estimator).__name__}")
    phases, changed = _Phases(), []
    steps = [(type(estimator).__name__, estimator)]
    for label, step in steps:
        steps.extend((name, inner) for name, inner in getattr(step, "steps", ()) if hasattr(inner, "fit"))
        for name in _METHODS:
            if hasattr(step, name) and name not in vars(step):
                changed.append((step, name))
                vars(step)[name] = _observed_method(phases, getattr(step, name), f"{label}.{name}")
    try:
        yield estimator
    finally:
        for step, name in changed:
            vars(step).pop(name, None)
