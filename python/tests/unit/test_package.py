"""What is in the wheel and in the sdist, and that the bill of materials names all of it that is others' work."""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from docsite.bill import BUNDLED, cyclonedx, dependencies, licence_of
from tests.macros import ROOT
from tests.packages import build, copy_sources

SOURCES = ROOT / "python" / "src"
#: Files that are no code and Tidemark's own
OWN = (
    "python/src/tidemark/report/assets/LICENSES.txt",
    "python/src/tidemark/report/assets/report.css",
    "python/src/tidemark/report/assets/report.html",
    "python/src/tidemark/report/assets/report.js",
    "python/src/tidemark/scaffold/canonical-event.schema.json",
    "python/src/tidemark/serve/assets/",
    "python/src/tidemark/spark/log4j2.properties",
    "python/docs/assets/LICENSES.txt",
    "python/docs/assets/cost-events.svg",
    "python/docs/assets/cost-extracts.svg",
    "python/docs/assets/diff.png",
    "python/docs/assets/report-phone.png",
    "python/docs/assets/serve.png",
    "python/docs/assets/search-words.js",
    "python/docs/assets/site.css",
    "python/examples/report.png",
    "python/tests/fixtures/debezium/",
    "python/tests/fixtures/warehouse_layout_1.tar.gz",
    "seeds/fuel_prices/",
    "seeds/inventory/",
)


def sources() -> set[str]:
    """What is to be in the wheel: all that is below python/src."""
    return {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not any(part.endswith(".egg-info") for part in path.parts)
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and sdist."""
    folder = tmp_path_factory.mktemp("package")
    copy_sources(folder / "tidemark")
    return build(folder / "tidemark", folder / "dist")


def test_wheel__has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    names = set(zipfile.ZipFile(built[0]).namelist())
    (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    assert {name for name in names if not name.startswith(f"{info}/")} == sources()
    assert {name.removeprefix(f"{info}/") for name in names if name.startswith(f"{info}/")} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt",
    }  # fmt: skip


def test_sdist__has_what_a_wheel_is_made_of(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"python/src/{name}" for name in sources()} <= names
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not any(re.match(r"python/(tests|benchmarks|docs)/|build/|\.", name) for name in names)


def test_bill__names_every_file_of_others() -> None:
    others = tuple(file for part in BUNDLED for file in part.files)
    folders = (
        "python/src",
        "python/docs/assets",
        "python/examples",
        "python/tests/fixtures",
        "seeds",
    )
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            code = path.suffix in (".py", ".sql", ".yml", ".md", ".pyc") or ".egg-info/" in name
            if path.is_file() and not code:
                assert name.startswith((*OWN, *others)), f"{name}: whose is it? see docsite/bill.py"
    for file in (*OWN, *others):
        assert (ROOT / file).exists(), file


def test_bill__versions_are_those_of_the_notices_beside_the_files() -> None:
    for part in BUNDLED:
        for file in part.files if part.purl else ():
            notices = (ROOT / file).with_name("LICENSES.txt").read_text(encoding="utf-8")
            assert f"{part.name} {part.version}" in notices


def test_bill__every_dependency_tells_its_licence() -> None:
    found = dependencies()
    assert len(found) > 50 and len({part.name for part in found}) == len(found)
    assert [part.name for part in found if part.licence == "not told"] == []
    assert licence_of("pydantic") == "MIT" and licence_of("dbt-spark") == "Apache-2.0"


def test_bill__is_cyclonedx() -> None:
    bill = cyclonedx("1.2.3")
    assert bill["metadata"]["component"]["version"] == "1.2.3"
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(set(references)) == len(references)
    for component in bill["components"]:
        (licence,) = component["licenses"]
        assert set(licence) in ({"expression"}, {"license"})
    assert json.dumps(bill) == json.dumps(cyclonedx("1.2.3"))
