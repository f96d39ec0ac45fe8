# SPDX-License-Identifier: MIT
"""Values of a Kubernetes pod from the Prometheus server of its cluster, for notebooks that run in one.

The server is at ``url``, "http://prometheus:9090". Options are token, ca_path, timeout (seconds) and insecure_tls.
"""
from __future__ import annotations

from ctypes import byref, c_double

from . import _abi, http_client
from ._generated_records import PodEnergy, PodPeak
from ._library import encoded, lib
from .options import milliseconds


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PodEnergy", "PodPeak", "pod_energy", "pod_peak", "pods_energy", "value"]


def _options(url: str, token: str | None = None, ca_path: str | None = None, timeout: float = 0.0,
             insecure_tls: bool = False) -> Any:
    http_client.provide()
    return byref(_abi.PromqlOptions(flags=_abi.PROMQL_INSECURE_TLS if insecure_tls else 0, url=encoded(url, "url"),
                                    token=encoded(token, "token"), ca_path=encoded(ca_path, "ca_path"),
                                    timeout_ms=milliseconds(timeout, "timeout")))


def value(url: str, query: str, at: float = 0.0, **options: Any) -> float:
    """Returns the value of an instant query, at a Unix time (0: now); of several series, the largest."""
    result = c_double()
    lib.promql_value(_options(url, **options), encoded(query, "query"), at, byref(result))
    return result.value


def pod_peak(url: str, namespace: str, pod: str, window: float = 864000.0, **options: Any) -> PodPeak:
    """Returns the highest use of CPU, memory and GPUs of a pod over the last `window` seconds (default ten days)."""
    return PodPeak.read(lib.promql_pod_peak, _options(url, **options), encoded(namespace, "namespace"), encoded(pod, "pod"), window)


def pod_energy(url: str, namespace: str, pod: str, begin: float, end: float, **options: Any) -> PodEnergy:
    """Returns the energy of a pod between two Unix times, and its mean power (mean_w)."""
    return PodEnergy.read(lib.promql_pod_energy, _options(url, **options), encoded(namespace, "namespace"), encoded(pod, "pod"),
                          begin, end)


def pods_energy(url: str, namespace: str, selector: str, begin: float, end: float, **options: Any) -> PodEnergy:
    """Returns the energy of all pods that a label selects, between two Unix times.

    :param selector: label as kube-state-metrics has it, for example "job-name=train"
    """
    return PodEnergy.read(lib.promql_pods_energy, _options(url, **options), encoded(namespace, "namespace"),
                          encoded(selector, "selector"), begin, end)
