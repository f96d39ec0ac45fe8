# SPDX-License-Identifier: MIT
from .errors import Error

class MissingPackage(Error, ImportError): ...  # type: ignore[misc]
