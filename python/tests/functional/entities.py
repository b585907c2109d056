"""Small entities for functional tests: a model, its YAML and CSV extracts, as literals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Columns = dict[str, str]
"""Name → data_type, in order."""


# of a few rows more than half are soon rejected: what the guard of rejects does is told where it is tested
MANY_REJECTS = {"max_reject_fraction": 1}


class Entity:
    """A cdc model of a test's project, fed with one CSV text per business date."""

    def __init__(
        self,
        project: Any,
        name: str,
        columns: Columns,
        key: str | list[str] = "id",
        *,
        body: str = "{{ tidemark.extract() }}",
        not_null: tuple[str, ...] = (),
        config: dict[str, Any] | None = None,
        compare_as: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.compare_as = compare_as or {}
        self.project = project
        self.name = name
        self.columns = columns
        self.key = key
        self.body = body
        self.not_null = not_null
        self.config = config or {}
        self.settings = settings
        self.write()

    @property
    def folder(self) -> Path:
        """Where the extracts lie."""
        return Path(self.project.root) / "extracts" / self.name

    def write(
        self, columns: Columns | None = None, key: str | list[str] | None = None, **settings: Any
    ) -> None:
        """(Re)write model and YAML, with some of it changed."""
        self.columns = columns if columns is not None else self.columns
        self.key = key if key is not None else self.key
        self.settings = {**self.settings, **settings}
        meta = {
            "extract": "full",
            "location": f"{self.folder}/{{business_date}}.csv",
            **(MANY_REJECTS if self.settings.get("on_reject") == "quarantine" else {}),
            **self.settings,
        }
        meta = {name: value for name, value in meta.items() if value is not None}
        model = {
            "name": self.name,
            "config": {
                "materialized": "cdc",
                "unique_key": self.key,
                "file_format": self.project.file_format,
                **self.config,
                "meta": {"tidemark": meta},
            },
            "columns": [
                {
                    "name": name,
                    **({"data_type": kind} if kind else {}),
                    **({"constraints": [{"type": "not_null"}]} if name in self.not_null else {}),
                    **self._compared(name),
                }
                for name, kind in self.columns.items()
            ],
        }
        self.project.write(f"models/{self.name}.sql", self.body)
        # JSON is YAML; Jinja must not see the names that tests make up
        text = json.dumps({"version": 2, "models": [model]}, indent=1, ensure_ascii=False)
        (Path(self.project.root) / f"models/{self.name}.yml").write_text(text, encoding="utf-8")

    def _compared(self, name: str) -> dict[str, Any]:
        """What is compared in place of a column's value."""
        if name not in self.compare_as:
            return {}
        return {"config": {"meta": {"tidemark": {"compare_as": self.compare_as[name]}}}}

    def extract(self, day: str, text: str | bytes, suffix: str = "csv") -> None:
        """Write the extract of a date."""
        self.folder.mkdir(parents=True, exist_ok=True)
        data = text.encode() if isinstance(text, str) else text
        (self.folder / f"{day}.{suffix}").write_bytes(data)

    def run(self, day: str, *arguments: str, expect_pass: bool = True, **vars: Any) -> Any:
        """`dbt run` of this entity for a date."""
        return self.project.dbt(
            "run",
            "--select",
            self.name,
            *arguments,
            vars={"business_date": day, **vars},
            expect_pass=expect_pass,
        )

    def load(self, day: str, text: str | bytes, *arguments: str, **options: Any) -> Any:
        """Write the extract of a date and run it."""
        self.extract(day, text)
        return self.run(day, *arguments, **options)

    def operate(self, operation: str, *, expect_pass: bool = True, **arguments: Any) -> Any:
        """`dbt run-operation` on this entity."""
        pairs = {"entity": self.name, **arguments}.items()
        text = "{" + ", ".join(f"{name}: {value}" for name, value in pairs) + "}"
        return self.project.dbt("run-operation", operation, "--args", text, expect_pass=expect_pass)

    def check(self, *tests: str, expect_pass: bool = True) -> Any:
        """Run generic tests: unless told, that current is the open intervals of the log, and its history replays to it."""
        path = Path(self.project.root) / f"models/{self.name}.yml"
        text = path.read_text(encoding="utf-8")
        properties = json.loads(text)
        properties["models"][0]["data_tests"] = list(tests) or [
            "tidemark.current_equals_open_intervals",
            "tidemark.history_replays_to_current",
            "tidemark.no_current_key_last_deleted",
        ]
        path.write_text(json.dumps(properties), encoding="utf-8")
        result = self.project.dbt("test", "--select", self.name, expect_pass=expect_pass)
        path.write_text(text, encoding="utf-8")
        return result

    def rows(self, columns: str, relation: str = "", where: str = "true") -> list[tuple[Any, ...]]:
        """Rows of current, or of `relation` such as `__history`, sorted."""
        rows = self.project.sql(f"select {columns} from {self.name}{relation} where {where}")
        return sorted(
            (tuple(row) for row in rows),
            key=lambda row: tuple((v is not None, str(v)) for v in row),
        )

    def commits(self, columns: str = "kind, state") -> list[tuple[Any, ...]]:
        """This entity's commits in order."""
        rows = self.project.sql(
            f"select {columns} from tidemark_commits where entity = '{self.name}' order by commit_id"
        )
        return [tuple(row) for row in rows]

    def exists(self, relation: str = "") -> bool:
        """Whether the entity's table, or a side relation, is there."""
        return len(self.project.sql(f"show tables like '{self.name}{relation}'")) == 1

    def versions(self) -> dict[str, int]:
        """Version of every table of the entity."""
        tables = ("", "__log", "__rejects")
        return {table: self.project.version(self.name + table) for table in tables}
