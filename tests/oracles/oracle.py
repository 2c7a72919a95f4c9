"""Runs a test inside build/oracles, the virtual environment of the peers, or skips it with the reason."""

import importlib.util
import os
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PYTHON = _ROOT / "build" / "oracles" / "bin" / "python"


def skip(reason):
    """Ends the test as skipped: 77 is what ctest is told to look for."""
    print(f"SKIP: {reason}")
    sys.exit(77)


def require(package):
    """Returns once the package can be imported; starts this script anew with the environment's Python if need be."""
    inside = Path(sys.prefix) == _PYTHON.parent.parent
    if not inside and _PYTHON.exists():
        os.execv(_PYTHON, [str(_PYTHON), *sys.argv])
    if importlib.util.find_spec(package) is None:
        skip(f"no Python package {package}: ./dev oracles installs it")
