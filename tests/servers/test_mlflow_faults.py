#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The MLflow sink against servers, networks, settings and programs that fail.

test_mlflow_faults.py PROGRAM [PART-OF-A-CASE...]: PROGRAM is mlflow_program.  After each fault nothing is lost (it is
on the server, or in a run document of mode 0600, from which it arrives when the fault is over), nothing is there
twice, the message says what to do, the program was not held up, no credential is to be seen, and the server has
nothing to complain of.
"""
import sys

import mlflow_ends  # noqa: F401, as the following: they add their cases
import mlflow_faults_answers  # noqa: F401
import mlflow_faults_processes  # noqa: F401
import mlflow_faults_settings  # noqa: F401
import mlflow_faults_kept  # noqa: F401
import mlflow_rig

sys.exit(mlflow_rig.main(sys.argv[1:]))
