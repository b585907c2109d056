"""The Java virtual machine of this process. It starts once: JPype cannot start a second one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError, JavaError
from tidemark.java import check_java

_INSTALL = "install it with: pip install 'dbt-tidemark[capture]'"


def import_jpype() -> Any:
    """Return the module `jpype`, which belongs to the extra `capture`.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import jpype
    except ImportError as error:
        raise ConfigError(f"capture needs the Python package {error.name}: {_INSTALL}") from error
    return jpype


def start_jvm(jars: Sequence[Path], options: Sequence[str] = ()) -> Any:
    """Start Java with these jars, unless it runs already, and return `jpype`.

    Raises:
        JavaError: There is no Java, it is too old, or it does not start.
    """
    jpype = import_jpype()
    if jpype.isJVMStarted():
        return jpype
    check_java()
    java = shutil.which("java")
    if not os.environ.get("JAVA_HOME") and java is not None:
        # JPype looks in the usual folders only
        os.environ["JAVA_HOME"] = str(Path(java).resolve().parent.parent)
    try:
        jpype.startJVM(
            # signals stay Python's: SIGTERM lands what has come before it stops
            "-Xrs",
            *options,
            classpath=[str(jar) for jar in jars],
            convertStrings=True,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise JavaError(
            f"Java did not start: {error}. Check JAVA_HOME, and that Java runs: java -version"
        ) from error
    return jpype


def java_message(error: BaseException) -> str:
    """Return what a Java exception says, with the innermost cause: that one tells the reason."""
    parts: list[str] = []
    cause: Any = error
    while cause is not None:
        text = " ".join(str(_ask(cause, "getMessage") or type(cause).__name__).split())
        # a wrapper repeats its cause after the name of its class
        if text and not any(text in part for part in parts):
            parts = [part for part in parts if part not in text]
            parts.append(text)
        following = _ask(cause, "getCause")
        cause = None if following is cause else following
    return ": ".join(parts) or type(error).__name__


def _ask(error: Any, method: str) -> Any:
    question = getattr(error, method, None)
    if question is None:
        return str(error) if method == "getMessage" else None
    return question()
