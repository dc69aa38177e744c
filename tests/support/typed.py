"""`causeway` commands as they are typed, in the process of the tests: starting Python costs a second each."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from causeway.cli.main import main


def causeway(
    *arguments: str | Path, environ: Mapping[str, str] | None = None, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end: its exit code and output. `environ` replaces the environment."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(directory or Path.cwd()):
        patch.setattr(sys, "argv", ["causeway", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.StringIO())
        if environ is not None:
            for name in set(os.environ) - environ.keys():
                patch.delenv(name)
            for name, value in environ.items():
                patch.setenv(name, value)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = ended.code or 0
    assert isinstance(code, int), code
    return subprocess.CompletedProcess(
        ["causeway", *map(str, arguments)], code, out.getvalue(), err.getvalue()
    )
