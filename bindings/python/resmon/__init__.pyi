# SPDX-License-Identifier: MIT
# The names of the package are loaded when they are first used; here is where they are, for tools that read types.
from typing import Any

from . import carbon as carbon
from . import mlflow as mlflow
from . import promql as promql
from .baseline import compare as compare
from .baseline import measure_idle as measure_idle
from .benches import Bench as Bench
from .benches import Diff as Diff
from .benches import Trend as Trend
from .benches import bench as bench
from .benches import diff as diff
from .benches import trend as trend
from .datasets import Dataset as Dataset
from .datasets import dataset as dataset
from .diagnosis import doctor as doctor
from .errors import AccessError as AccessError
from .errors import ArgumentError as ArgumentError
from .errors import ArgumentTypeError as ArgumentTypeError
from .errors import BusyError as BusyError
from .errors import Error as Error
from .errors import FormatError as FormatError
from .errors import InputOutputError as InputOutputError
from .errors import LibraryError as LibraryError
from .errors import NetworkError as NetworkError
from .errors import NoDeviceError as NoDeviceError
from .errors import NoProcessError as NoProcessError
from .errors import NoSpaceError as NoSpaceError
from .errors import NotFoundError as NotFoundError
from .errors import NotSupportedError as NotSupportedError
from .errors import OutOfMemoryError as OutOfMemoryError
from .errors import RangeError as RangeError
from .errors import RemoteError as RemoteError
from .errors import ResmonWarning as ResmonWarning
from .errors import StateError as StateError
from .errors import TimedOutError as TimedOutError
from .errors import VersionError as VersionError
from .frames import MissingPackage as MissingPackage
from .jobs import hostlist as hostlist
from .jobs import job as job
from .lines import print_lines as print_lines
from .lines import profile_lines as profile_lines
from .lines import profile_memory as profile_memory
from .merging import merge as merge
from .monitor import Monitor as Monitor
from .options import keywords as keywords
from .plots import plot as plot
from .reports import report as report
from .run import Run as Run
from .run import load as load
from .run import load_all as load_all
from .run import metrics as metrics
from .run import parse as parse
from .run import save_trace as save_trace
from .scopes import scope as scope
from .tasks import here as here
from .watch import Watch as Watch
from .wrappers import log_start_finish as log_start_finish
from .wrappers import peak_rss as peak_rss
from .wrappers import timer as timer

__version__: str

def load_ipython_extension(shell: Any) -> None: ...
def unload_ipython_extension(shell: Any) -> None: ...
