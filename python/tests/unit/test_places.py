"""Where a home was, and where it is."""

from __future__ import annotations

import json
from pathlib import Path

from tidemark.spark.moved_iceberg import _moved
from tidemark.spark.places import moves


def test_moves(tmp_path: Path) -> None:
    project = tmp_path / "shop2"
    home = project / "data" / ".tidemark"
    home.mkdir(parents=True)
    assert moves("/old/home", str(home)) == [("/old/home", str(home))]
    (project / "dbt_project.yml").touch()
    # the project goes with it, unless the home lay elsewhere in it
    assert moves("/old/shop/data/.tidemark", str(home)) == [("/old/shop", str(project))]
    assert moves("/old/shop/.tidemark", str(home)) == [("/old/shop/.tidemark", str(home))]


def test_moved__of_iceberg() -> None:
    described = {
        "location": "file:/old/w/t",
        "log": [{"file": "file:///old/w/t/metadata/1.json"}, {"file": "/old/w/t/data/a\\b"}],
        "others": ["/old/w/t2/data", "s3://old/w/t", 3, None],
    }
    assert _moved(described, "/old/w/t", r"/new/\1") == json.loads(
        json.dumps(described)
        .replace("file:/old/w/t\"", r'file:/new/\\1"')
        .replace("/old/w/t/", r"/new/\\1/")
    )  # fmt: skip
