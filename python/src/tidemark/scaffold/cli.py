"""The commands `tidemark init` and `tidemark schema`."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

import click

from tidemark.errors import ConfigError, TidemarkError
from tidemark.home import project_above
from tidemark.printable import counted, one_line, shortened
from tidemark.project import (
    is_jinja,
    mappings_in,
    model_folders,
    model_paths,
    models_in,
    property_files,
    read_properties,
)
from tidemark.scaffold.keys import count_key_problems, nearest_to_key, propose_key
from tidemark.scaffold.locations import Extract, check_date, find_extract
from tidemark.scaffold.new_project import package, project_files, write_project
from tidemark.scaffold.properties import (
    ModelEntry,
    insert_entry,
    scalar,
)
from tidemark.scaffold.samples import Format, Sample, read_sample
from tidemark.scaffold.schema import event_schema_text, schema_text

DEFAULT_ROWS = 100_000
_WIDEST_EXAMPLE = 40
_PERSONAL = re.compile(r"(?i)e?mail|phone|mobile|ssn|passport|iban|birth|salary")


@click.command()
@click.option("--events", is_flag=True, help="Print the schema of canonical change events instead.")
@click.option("--webhook", is_flag=True, help="Print the schema of webhook messages instead.")
def schema(events: bool, webhook: bool) -> None:
    """Print the JSON Schema of the settings for an editor.

    An editor with the schema completes and checks the YAML. In VS Code with the YAML extension,
    write the schema to a file of your project, and name that file in .vscode/settings.json:

    \b
        tidemark schema > tidemark-models.schema.json
        {"yaml.schemas": {"tidemark-models.schema.json": "models/**/*.yml"}}
    """
    if events and webhook:
        raise ConfigError("--events and --webhook are two schemas: ask for one")
    if webhook:
        from tidemark.webhook.summary import summary_schema_text

        click.echo(summary_schema_text(), nl=False)
        return
    click.echo(event_schema_text() if events else schema_text(), nl=False)


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE_OR_GLOB]...")
@click.option("--name", help="The name of the new model.")
@click.option(
    "--project",
    metavar="NAME",
    help="First make a dbt project in a folder of this name, and write the model there.",
)
@click.option(
    "--package",
    "package_text",
    metavar="PLACE",
    help="For a new project, the dbt package with the macros: a folder, or a git URL "
    "with @revision. Default: the checkout of this command.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    help="The key columns, separated by commas. Default: the key that the rows suggest.",
)
@click.option(
    "--extract",
    type=click.Choice(["full", "delta"]),
    default="full",
    show_default=True,
    help="Whether an extract has all rows or only rows that may have changed.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "json", "parquet"]),
    help="The format of the file. Default: by its extension.",
)
@click.option(
    "--folder",
    help="The folder of the model. Default: the folder of the project's other models.",
)
@click.option(
    "--business-date",
    help="The business date in the sample's path, such as 2026-03-04, if it is ambiguous.",
)
@click.option("--source", help="Read this table, SCHEMA.TABLE, in place of files. Needs --key.")
@click.option(
    "--delimiter", help="The delimiter of a CSV file. Default: the one that the rows suggest."
)
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first line of a CSV file has column names.",
)
@click.option("--encoding", help="The encoding of a CSV file. Default: UTF-8.")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=DEFAULT_ROWS,
    show_default=True,
    help="Read at most so many rows.",
)
@click.option(
    "--project-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of dbt_project.yml. Default: this folder or the nearest one above.",
)
@click.option("--dry-run", is_flag=True, help="Print the files, and write nothing.")
def init(
    files: tuple[str, ...],
    name: str | None,
    project: str | None,
    package_text: str | None,
    keys: tuple[str, ...],
    extract: str,
    file_format: str | None,
    folder: str | None,
    business_date: str | None,
    source: str | None,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    rows: int,
    project_dir: Path | None,
    dry_run: bool,
) -> None:
    """Write a cdc model and its YAML from a sample file.

    The command infers types, key, delimiter and header from the first rows. A business date in the
    file's path becomes the placeholder {business_date}. The command explains each choice on stderr.
    It overwrites no file. With --source it does not read the table, so you give the key.

    \b
        tidemark init 'data/airports_*.csv.gz' --name airports
        tidemark init --source staging.customers --name customers --key id
        tidemark init --project shop 'landing/sales_*.csv' --name sales
    """
    has_model = bool(files or source or name)
    if has_model and bool(files) == bool(source):
        raise ConfigError("a sample must come from a file, or from --source SCHEMA.TABLE")
    if package_text is not None and project is None:
        raise ConfigError("--package is for a new project: give --project NAME too")
    if has_model and name is None:
        raise ConfigError("a name for the model is missing. Give --name")
    if project is not None:
        if has_model and dry_run:
            raise ConfigError("--dry-run shows a project or a model: leave one of them out")
        folder_of_projects = project_dir or Path()
        project_dir = _make_project(folder_of_projects / project, project, package_text, dry_run)
        click.echo(f"Next: cd {project_dir} && dbt deps", err=True)
    if name is None:
        if project is None:
            raise ConfigError(
                "a sample is missing. Give a file, or --source SCHEMA.TABLE, and --name"
            )
        return
    if business_date is not None:
        check_date(business_date)
    project_dir = project_dir or project_above(Path.cwd()) or Path()
    place = _place(project_dir, folder, name)
    wanted_keys = [key.strip() for option in keys for key in option.split(",") if key.strip()]
    if source:
        model = _from_source(place, source, wanted_keys, extract)
    else:
        found = find_extract(files, project_dir.absolute(), business_date)
        sample = read_sample(
            found.files,
            format=cast("Format | None", file_format),
            max_rows=rows,
            delimiter=delimiter,
            header=header,
            encoding=encoding,
        )
        model = _from_sample(place, found, sample, wanted_keys, extract)
    for line in model.report:
        click.echo(one_line(line), err=True)
    _write(place, model, dry_run)


def _make_project(folder: Path, name: str, package_text: str | None, dry_run: bool) -> Path:
    """Write a new project, or show it; return its folder."""
    written = project_files(name, package(package_text))
    if dry_run:
        for path, text in written.items():
            click.echo(f"# {folder / path}\n{text}")
        return folder
    write_project(folder, written)
    for path in written:
        click.echo(folder / path)
    return folder


@dataclass(frozen=True)
class _Place:
    """Where the model goes."""

    root: Path
    model_folders: tuple[Path, ...]
    name: str
    sql: Path
    properties: Path

    def shown(self, path: Path) -> str:
        """A path as messages name it."""
        return os.path.relpath(path, self.root)


@dataclass(frozen=True)
class _Model:
    """What is to be written, and said."""

    sql: str
    entry: ModelEntry
    report: tuple[str, ...]
    sources_entry: str | None = None
    first_date: str | None = None


def _place(project_dir: Path, folder: str | None, name: str) -> _Place:
    """Find the model's place in the project, where nothing of its name may be yet."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ConfigError(f"--name {name!r} cannot be a table: use letters, digits and underscores")
    root = project_dir.absolute()
    if not (root / "dbt_project.yml").is_file():
        raise ConfigError(
            f"no dbt_project.yml in {project_dir}: run this in a dbt project's folder, "
            "or give --project-dir"
        )
    folders = model_folders(root)
    target = Path(os.path.normpath(root / folder)) if folder else _folder_of_models(folders)
    file = "_models.yml" if target in folders else f"_{target.name}__models.yml"
    if not any(target.is_relative_to(models) for models in folders):
        if not (target.is_relative_to(root) and any(map(is_jinja, model_paths(root)))):
            names = ", ".join(str(path.relative_to(root)) for path in folders)
            raise ConfigError(
                f"--folder must be below the project's models ({names}), found: {folder}"
            )
        folders.append(target)
    place = _Place(root, tuple(folders), name, target / f"{name}.sql", target / file)
    _check_new(place)
    return place


def _folder_of_models(folders: Sequence[Path]) -> Path:
    """The folder of all the models that are there, or the first of the project's."""
    found = {path.parent for path in _model_files(folders) if path.is_relative_to(folders[0])}
    return Path(os.path.commonpath(found)) if found else folders[0]


def _model_files(folders: Sequence[Path]) -> list[Path]:
    return [
        path
        for models in folders
        for path in sorted([*models.rglob("*.sql"), *models.rglob("*.py")])
    ]


def _check_new(place: _Place) -> None:
    """Raise an error if the project has a model of that name."""
    name = place.name
    for path in _model_files(place.model_folders):
        if path.stem.lower() == name.lower():
            raise ConfigError(
                f"model {name} is there already: {place.shown(path)}; "
                "choose another --name, or remove it"
            )
    for path in property_files(place.model_folders):
        for known, _ in models_in(read_properties(path, place.shown(path))):
            if known.lower() == name.lower():
                raise ConfigError(
                    f"model {name} is configured already in {place.shown(path)}; "
                    "choose another --name, or remove that entry"
                )


def _from_sample(
    place: _Place, found: Extract, sample: Sample, wanted_keys: Sequence[str], extract: str
) -> _Model:
    report = [*_report_sample(place, found, sample)]
    keys, why = _choose_keys(place.name, sample, wanted_keys)
    report += [f"Key      {', '.join(keys)}: {why}"]
    report += ["Columns"]
    width = max(len(column.name) for column in sample.columns)
    for column in sample.columns:
        # a load takes "" for an empty text, and nothing between two delimiters for NULL
        none = "empty" if sample.format == "csv" else "NULL"
        nulls = f", {column.nulls:,} {none}" if column.nulls else ""
        reason = f" ({column.reason})" if column.reason else ""
        report.append(f"  {column.name:<{width}}  {column.data_type}{nulls}{reason}")
    report += [f"Note: {note}" for note in sample.notes]
    personal = [column.name for column in sample.columns if _PERSONAL.search(column.name)]
    if personal:
        report.append(
            f"Note: {', '.join(personal)} may be personal data: see the setting sensitive"
        )
    if found.business_date is None:
        report.append(
            "Note: the path has no business date, so every date reads the same file; "
            "put {business_date} into location where the date belongs"
        )
    if found.family is not None:
        report.append(
            f"Note: a day has several files, such as {found.family.name}: location takes them all; "
            "a date is loaded when all of its files are there"
        )
    if found.special:
        report.append(
            f"Note: {' '.join(found.special)} of the path is part of a pattern in location, "
            "by which a run will not find the file: rename it"
        )
    settings: dict[str, Any] = {
        "extract": extract,
        "location": found.location,
        "format": sample.format,
    }
    if sample.options:
        settings["options"] = sample.options
    share = "all" if sample.complete else "the first"
    rows = counted(len(sample.rows), "row")
    entry = ModelEntry(
        name=place.name,
        keys=keys,
        settings=settings,
        columns=sample.columns,
        comment=(
            f"Made by `tidemark init` from {os.path.basename(found.files[0])};",
            f"types and key are inferred from {share} {rows}: check them.",
        ),
    )
    return _Model("{{ tidemark.extract() }}\n", entry, tuple(report), first_date=found.first_date)


def _report_sample(place: _Place, found: Extract, sample: Sample) -> list[str]:
    files = place.shown(found.files[0]) + (
        f" and {len(found.files) - 1} more" if found.files[1:] else ""
    )
    if found.found > 1:
        files += f" (of {found.found} that match)"
    read = counted(len(sample.rows), "row") + (
        "" if sample.complete else ", the limit of --rows; there are more"
    )
    options = ", ".join(f"{name} {value!r}" for name, value in sample.options.items())
    return [
        f"Sample   {files}: {sample.format}, {read}" + (f", {options}" if options else ""),
        f"Location {found.location}"
        + (f" (business date {found.business_date})" if found.business_date else ""),
    ]


def _choose_keys(entity: str, sample: Sample, wanted: Sequence[str]) -> tuple[list[str], str]:
    """Return the key's columns and why they are it."""
    names = [column.name for column in sample.columns]
    if wanted:
        lowered = {name.lower(): name for name in names}
        for key in wanted:
            if key.lower() not in lowered:
                near = difflib.get_close_matches(key.lower(), lowered, n=1)
                hint = (
                    f"did you mean {lowered[near[0]]}?" if near else f"there are {', '.join(names)}"
                )
                raise ConfigError(f"--key must name columns of the sample, found: {key}; {hint}")
        keys = [lowered[key.lower()] for key in wanted]
        if len(set(keys)) < len(keys):
            raise ConfigError(f"--key must name each column once, found: {', '.join(keys)}")
        nulls, repeated = count_key_problems(
            [names.index(key) for key in keys], sample.rows, lambda value: not str(value).strip()
        )
        if not nulls and not repeated:
            return keys, "as given; unique and never NULL in the sample"
        return keys, (
            f"as given, BUT in the sample {nulls:,} rows have NULL in it "
            f"and {repeated:,} repeat the key of another row"
        )
    if not sample.rows:
        raise ConfigError("the sample has no rows, so no key can be proposed: name it with --key")
    proposal = propose_key(sample.columns, sample.rows, entity)
    if not proposal.columns:
        raise ConfigError(
            "no 1, 2 or 3 columns are unique and never NULL in the "
            f"sample{_nearest_key(entity, sample)}: name the key with --key"
        )
    why = "unique and never NULL in the sample"
    if len(proposal.columns) > 1:
        why = f"the smallest set of columns that is {why}"
    if proposal.others:
        others = ["+".join(other) for other in proposal.others[:3]]
        why += f"; chosen by name before {', '.join(others)}"
    if len(sample.rows) < 20:
        why += f"; only {counted(len(sample.rows), 'row')}, so a guess"
    return list(proposal.columns), why


def _nearest_key(entity: str, sample: Sample) -> str:
    """Return which column is nearest to a key, and what keeps it from being one."""
    near = nearest_to_key(sample.columns, sample.rows, entity)
    if near is None:
        return ""
    why = []
    if near.repeated:
        text = shortened(one_line(str(near.example)), _WIDEST_EXAMPLE)
        example = "" if _PERSONAL.search(near.column) else f", such as {text}"
        why.append(f"{counted(near.repeated, 'row')} with a value of an earlier row{example}")
    if near.nulls:
        why.append(f"{counted(near.nulls, 'row')} without a value")
    return f". The nearest is {near.column}, with {' and '.join(why)}" if why else ""


def _from_source(place: _Place, source: str, keys: Sequence[str], extract: str) -> _Model:
    """A model over a table of a dbt source, which is not read: columns keep the table's types."""
    schema_name, dot, table = source.partition(".")
    if not dot or not all(re.fullmatch(r"\w+", part) for part in (schema_name, table)):
        raise ConfigError(f"--source must be SCHEMA.TABLE, found: {source}")
    if not keys:
        raise ConfigError("--source needs --key: the table is not read, so no key can be proposed")
    entry = ModelEntry(name=place.name, keys=keys, settings={"extract": extract})
    sources_entry: str | None = (
        f"- name: {scalar(schema_name)}\n  tables:\n    - name: {scalar(table)}\n"
    )
    for path in property_files(place.model_folders):
        for item in mappings_in(read_properties(path, place.shown(path)), "sources"):
            if item.get("name") != schema_name:
                continue
            tables = [known.get("name") for known in mappings_in(item, "tables")]
            if table not in tables:
                raise ConfigError(
                    f"source {schema_name} stands in {place.shown(path)} without table {table}: "
                    f"add `- name: {table}` to its tables, then run this again"
                )
            sources_entry = None
    return _Model(
        sql=f"select * from {{{{ source('{schema_name}', '{table}') }}}}\n",
        entry=entry,
        report=(
            f"Source   {source}, not read: columns keep the table's types",
            f"Key      {', '.join(keys)}: as given",
        ),
        sources_entry=sources_entry,
    )


def _write(place: _Place, model: _Model, dry_run: bool) -> None:
    """Write the YAML, then the SQL; everything is checked before the first byte."""
    shown = place.shown(place.properties)
    text = ""
    if place.properties.exists():
        read_properties(place.properties, shown)
        text = place.properties.read_bytes().decode("utf-8")
    entry = model.entry.to_yaml()
    try:
        text = insert_entry(text, "models", entry, shown)
        if model.sources_entry is not None:
            text = insert_entry(text, "sources", model.sources_entry, shown)
    except ConfigError:
        if not dry_run:
            raise
        text = entry
    if dry_run:
        click.echo(f"# {place.shown(place.sql)}\n{model.sql}")
        click.echo(f"# {shown}\n{text}", nl=False)
        return
    temporary = place.properties.with_name(f".{place.properties.name}.tmp")
    try:
        place.properties.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(text.encode("utf-8"))
        with place.sql.open("x", encoding="utf-8", newline="\n") as file:
            file.write(model.sql)
        os.replace(temporary, place.properties)
    except OSError as error:
        raise TidemarkError(
            f"{shown} cannot be written. Check the folder and its rights: {error}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    click.echo(place.shown(place.sql))
    click.echo(shown)
    first = model.first_date or date.today().isoformat()
    click.echo(
        f"Next: dbt run --select {place.name} --vars '{{business_date: \"{first}\"}}'", err=True
    )
