"""The jars that Maven packages were resolved to: naming them spares Spark to ask Ivy at each start.

What a start found is noted in TIDEMARK_HOME; the next one goes by it while nothing else is asked
for and the jars are there. A version that may change (a snapshot, a range) is asked for each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyspark

from tidemark.errors import ConfigError

PACKAGES = "spark.jars.packages"
_IVY = "spark.jars.ivy"
_FOUND = ("spark.jars", "spark.submit.pyFiles")
_FIXED = re.compile(r"[^:,]+:[^:,]+:(?![^,]*SNAPSHOT|latest)[\w.-]+")


def ivy_folder(conf: Mapping[str, str]) -> Path:
    """Return where Ivy keeps what it fetches.

    Args:
        conf: Spark's settings.
    """
    given = conf.get(_IVY, "")
    return Path(given).expanduser() if given else _home_of_java() / ".ivy2.5.2"


def _home_of_java() -> Path:
    """Return `user.home` of Java, which asks who the user is before the environment."""
    with suppress(ImportError, KeyError):
        import pwd

        known = pwd.getpwuid(os.getuid()).pw_dir
        if len(known) > 2:
            return Path(known)
    return Path.home()


def check_ivy(conf: Mapping[str, str]) -> None:
    """Refuse packages where Ivy cannot write what it fetches: it ends with a trace of Java's.

    Args:
        conf: Spark's settings.

    Raises:
        ConfigError: It cannot.
    """
    # an Ivy settings file may name other folders
    if not conf.get(PACKAGES) or conf.get("spark.jars.ivySettings"):
        return
    folder = ivy_folder(conf)
    for place in (folder, folder / "cache", folder / "jars"):
        above = next(one for one in (place, *place.parents) if one.exists())
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise ConfigError(
                f"{above} cannot be written, and Spark keeps the jars of {PACKAGES} in {folder}. "
                f"Set {_IVY} in server_side_parameters of the profile to a folder of your own, or "
                "give this user the right to write there"
            )


def use_resolved(conf: dict[str, str], note: Path) -> bool:
    """Name the jars of a conf's packages in place of the packages; return whether they are known.

    Args:
        conf: Spark's settings.
        note: Where note_resolved() wrote what a start with the same settings found.
    """
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
        asked, found = noted["asked"], noted["found"]
        jars = [urlsplit(jar) for jar in found["spark.jars"].split(",")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    there = all(jar.scheme == "file" and Path(unquote(jar.path)).exists() for jar in jars)
    if not there or asked != _asked(conf):
        return False
    del conf[PACKAGES]
    conf.update(found)
    return True


def note_resolved(conf: Mapping[str, str], found: Mapping[str, str], note: Path) -> None:
    """Note what the packages of a conf were resolved to.

    Args:
        conf: Spark's settings as it was started with.
        found: Those that it has since.
        note: Where to.
    """
    coordinates = [text.strip() for text in conf.get(PACKAGES, "").split(",") if text.strip()]
    if not coordinates or not all(_FIXED.fullmatch(text) for text in coordinates):
        return
    jars = {key: found[key] for key in _FOUND if found.get(key)}
    written = note.with_suffix(f".{os.getpid()}")
    try:
        written.write_text(json.dumps({"asked": _asked(conf), "found": jars}), encoding="utf-8")
        written.replace(note)
    except OSError:
        pass  # it only saves time


def _asked(conf: Mapping[str, str]) -> str:
    """A hash of all that bears on what is found: addresses of repositories may have passwords."""
    names = sorted(key for key in conf if key.startswith("spark.jars") or key in _FOUND)
    known = [pyspark.__version__, os.environ.get("PYSPARK_SUBMIT_ARGS", "")]
    known += [f"{key}={conf[key]}" for key in names]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()
