# SPDX-License-Identifier: GPL-2.0-or-later
"""Search inputs for a target that is written in Python: ``search.py TARGET``, then libFuzzer's arguments."""

import contextlib
import gc
import importlib
import sys
import tempfile
from typing import Any


def main(name: str, arguments: list[str]) -> None:
    """Run libFuzzer in this process; it ends with 0, or with a finding."""
    fuzzer: Any = importlib.import_module("atheris")  # not in `make venv`; `make soak` installs it
    with fuzzer.instrument_imports(include=["slurmhooks"]):
        from tests.fuzz import targets
    # What has been imported needs no look at each collection.
    gc.freeze()

    target = getattr(targets, name)
    with contextlib.ExitStack() as stack:
        if tokens := targets.TOKENS.get(name):
            file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".dict"))
            file.writelines('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in tokens)
            file.flush()
            arguments = [f"-dict={file.name}", *arguments]
        fuzzer.Setup([sys.argv[0], *arguments, f"-max_len={targets.LONGEST.get(name, 1024)}"], target)
        fuzzer.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
