# SPDX-License-Identifier: MIT
"""Scopes of training frameworks: the real ones where they are installed, else classes with their published interface."""
import sys
import types

import pytest

import resmon
from resmon import frameworks


@pytest.fixture(name="scopes")
def monitored():
    """scopes(): the calls of each path so far."""
    with resmon.Monitor(interval=3600, domains="process", scopes="wall") as monitor:
        yield lambda: {scope.path: scope.calls for scope in monitor.scopes if scope.calls}


def made_module(monkeypatch, name, **members):
    """A module, and those above it, that have these members."""
    parts = name.split(".")
    for at in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:at]), types.ModuleType(".".join(parts[:at])))
    vars(sys.modules[name]).update(members)


class Hooks:
    """Calls each hook of a callback that it has; a framework's base class has all."""

    def __init__(self, callback, *before, **more):
        self._callback, self._before, self._more = callback, before, more

    def __call__(self, *names):
        for name in names:
            getattr(self._callback, name, lambda *_args, **_more: None)(*self._before, **self._more)


def test_lightning(monkeypatch, scopes):
    """The order of its hooks: lightning.ai, "Callback API"."""
    made_module(monkeypatch, "lightning.pytorch.callbacks", Callback=type("Callback", (), {}))
    hooks = Hooks(frameworks.lightning_callback(), object(), object())
    step = ("on_train_batch_start", "on_before_zero_grad", "on_before_backward", "on_after_backward", "on_before_optimizer_step",
            "on_before_zero_grad", "on_train_batch_end")
    evaluation = ("on_validation_start", "on_validation_epoch_start", "on_validation_epoch_end", "on_validation_end")
    hooks("on_fit_start", *evaluation, "on_train_start")
    for _ in range(2):
        hooks("on_train_epoch_start", *step, *step, *evaluation, *step, "on_train_epoch_end")
    hooks("on_train_end", "on_fit_end", "on_test_start", "on_test_end")
    assert scopes() == {"validate": 1, "train": 1, "train/epoch": 2, "train/epoch/load": 10, "train/epoch/step": 6,
                        "train/epoch/step/backward": 6, "train/epoch/step/optimizer": 6, "train/epoch/validate": 2, "test": 1}


def test_lightning_that_fails(monkeypatch, scopes):
    made_module(monkeypatch, "lightning.pytorch.callbacks", Callback=type("Callback", (), {}))
    hooks = Hooks(frameworks.lightning_callback(), object(), object())
    hooks("on_train_start", "on_train_epoch_start", "on_train_batch_start", "on_exception", "on_train_end", "on_train_start", "on_train_end")
    assert scopes() == {"train": 2, "train/epoch": 1, "train/epoch/load": 1, "train/epoch/step": 1}


def test_transformers(monkeypatch, scopes):
    """The order of Trainer._inner_training_loop(): control says after a step what comes."""
    made_module(monkeypatch, "transformers", TrainerCallback=type("TrainerCallback", (), {}))
    control = types.SimpleNamespace(should_evaluate=False, should_save=False)
    hooks = Hooks(frameworks.transformers_callback(), object(), object(), control, model=None)
    step = ("on_step_begin", "on_pre_optimizer_step", "on_optimizer_step", "on_step_end")
    hooks("on_init_end", "on_train_begin", "on_epoch_begin", *step, "on_step_begin", "on_substep_end")
    control.should_evaluate = control.should_save = True
    hooks(*step, "on_prediction_step", "on_prediction_step", "on_evaluate", "on_save")
    control.should_evaluate = control.should_save = False
    hooks(*step)
    control.should_evaluate = True
    hooks("on_epoch_end", "on_prediction_step", "on_evaluate", "on_train_end")
    hooks("on_prediction_step", "on_evaluate")
    assert scopes() == {"train": 1, "train/epoch": 1, "train/epoch/load": 4, "train/epoch/step": 4, "train/epoch/step/optimizer": 3,
                        "train/epoch/evaluate": 1, "train/epoch/save": 1, "train/evaluate": 1, "evaluate": 1}


def test_keras(scopes, monkeypatch):
    keras = None
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    try:
        import keras
    except ImportError:
        pytest.skip("frameworks: Keras is not installed")
    import numpy
    inputs = numpy.random.default_rng(1).random((200, 4))
    targets = (inputs[:, 0] > 0.5).astype(int)
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    callback = frameworks.keras_callback()
    model.fit(inputs, targets, epochs=2, batch_size=40, validation_split=0.2, verbose=0, callbacks=[callback])
    model.evaluate(inputs, targets, batch_size=50, verbose=0, callbacks=[callback])
    model.predict(inputs, batch_size=100, verbose=0, callbacks=[callback])
    assert {path: calls for path, calls in scopes().items() if not path.endswith("load")} == {
        "train": 1, "train/epoch": 2, "train/epoch/step": 8, "train/epoch/validate": 2, "train/epoch/validate/step": 2,
        "test": 1, "test/step": 4, "predict": 1, "predict/step": 2}


def test_sklearn(scopes):
    pipeline_module = pytest.importorskip("sklearn.pipeline", reason="frameworks: scikit-learn is not installed")
    import numpy
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    inputs = numpy.random.default_rng(1).random((200, 4))
    pipeline = pipeline_module.make_pipeline(StandardScaler(), LogisticRegression())
    before = set(vars(pipeline))
    with frameworks.sklearn_scopes(pipeline) as same:
        assert same.fit(inputs, inputs[:, 0] > 0.5) is pipeline
        pipeline.predict(inputs)
    pipeline.predict(inputs)
    assert set(vars(pipeline)) == before and "fit" not in vars(pipeline[0])
    assert scopes() == {
        "Pipeline.fit": 1, "Pipeline.fit/standardscaler.fit_transform": 1, "Pipeline.fit/logisticregression.fit": 1,
        "Pipeline.predict": 1, "Pipeline.predict/standardscaler.transform": 1, "Pipeline.predict/logisticregression.predict": 1}
    with frameworks.sklearn_scopes(pipeline), pytest.raises(ValueError):
        pipeline.fit([["text"]], None)
    with resmon.scope("after"):
        pass
    assert scopes()["after"] == 1, "the scopes of the failure have ended"


class Estimator:
    """With what an estimator has."""

    def __init__(self, steps=()):
        self.steps = steps

    def fit(self, number):
        if number < 0:
            raise ValueError(number)
        for step in filter(None, dict(self.steps).values()):
            step.fit(number)
        return self.transform(number)

    def transform(self, number):
        return number + 1


def test_estimators(scopes):
    """As scikit-learn's: methods that call each other, steps, errors."""
    pipeline = Estimator([("first", Estimator()), ("none", None), ("second", Estimator([("inner", Estimator())]))])
    with frameworks.sklearn_scopes(pipeline):
        assert pipeline.fit(3) == 4
        with pytest.raises(ValueError):
            pipeline.steps[0][1].fit(-1)
    assert scopes() == {"Estimator.fit": 1, "Estimator.fit/first.fit": 1, "Estimator.fit/second.fit": 1,
                        "Estimator.fit/second.fit/inner.fit": 1, "first.fit": 1}
    assert vars(pipeline).keys() == {"steps"}
    with pytest.raises(resmon.errors.ArgumentTypeError, match="int"), frameworks.sklearn_scopes(3):
        pass


@pytest.mark.parametrize("name, make", [("lightning", frameworks.lightning_callback), ("transformers", frameworks.transformers_callback),
                                        ("keras", frameworks.keras_callback)])
def test_missing(monkeypatch, name, make):
    for module in (name, "pytorch_lightning", "tensorflow"):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setitem(sys.modules, f"{module}.callbacks", None)
        monkeypatch.setitem(sys.modules, f"{module}.trainer_callback", None)
        monkeypatch.setitem(sys.modules, f"{module}.pytorch.callbacks", None)
        monkeypatch.setitem(sys.modules, f"{module}.keras.callbacks", None)
    with pytest.raises(resmon.MissingPackage, match=f"pip install {name}"):
        make()
