# SPDX-License-Identifier: MIT
"""Nobody takes the first Python of PATH: cmake/ResmonPython.cmake says which it is."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
# As a command of CTest or a shell, where RESMON_PYTHON is not set, and as an argument vector.
COMMAND = re.compile(r"""(?:COMMAND |exec |:-|^\s*|[\[(]["'])python3(?=[ "'}])""")
problems = []
files = [path for kind in ("CMakeLists.txt", "*.cmake", "*.sh", "*.py", "*.c") for place in ("tests", "cmake")
         for path in sorted((root / place).rglob(kind))]
for path in files:
    for number, text in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if COMMAND.search(text) and "skip(" not in text:
            problems.append(f"{path.relative_to(root)}:{number}: the first python3 of PATH: {text.strip()}")
print("\n".join(problems) or f"{len(files)} files take the Python that was chosen")
sys.exit(1 if problems or len(files) < 50 else 0)
