"""Lineage as OpenLineage events: a COMPLETE run event for each model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    column_lineage_dataset,
    documentation_dataset,
    job_type_job,
    schema_dataset,
    set_producer,
    sql_job,
    symlinks_dataset,
)
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.uuid import generate_new_uuid

from tidemark import distribution_version
from tidemark.errors import ConfigError, TidemarkError
from tidemark.lineage.graph import Lineage, ModelLineage, Relation
from tidemark.lineage.links import ALL, Column, Link, merged

_CONFIGURED = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")


class OpenLineageError(TidemarkError):
    """Events could not be written or sent."""


def events_of(lineage: Lineage, models: Iterable[ModelLineage]) -> Iterator[RunEvent]:
    """Return the events of models: what each reads and writes, column by column, one step back."""
    set_producer(_producer())
    for made in models:
        # an ephemeral model is a part of the SQL of others
        if made.node.materialized != "ephemeral":
            yield _event(lineage, made)


def _event(lineage: Lineage, made: ModelLineage) -> RunEvent:
    node = made.node
    facets: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet(
            processingType="BATCH", integration="DBT", jobType=node.kind.upper()
        )
    }
    if node.sql:
        facets["sql"] = sql_job.SQLJobFacet(query=node.sql, dialect="spark")
    outputs = [(made.relation, made.columns), *made.sides]
    return RunEvent(
        eventTime=datetime.now(UTC).isoformat(),
        eventType=RunState.COMPLETE,
        producer=_producer(),
        run=Run(runId=str(generate_new_uuid())),
        job=Job(
            namespace=os.environ.get("OPENLINEAGE_NAMESPACE") or lineage.project.name,
            name=f"{node.package}.{node.name}" if node.package else node.name,
            facets=facets,
        ),
        inputs=[_input(lineage, key) for key in made.inputs if key != made.relation.key],
        outputs=[
            _output(lineage, made, relation, columns, node.description)
            for relation, columns in outputs
        ],
    )


def _producer() -> str:
    return f"urn:tidemark:{distribution_version()}"


def _input(lineage: Lineage, key: str) -> InputDataset:
    relation = lineage.relations[key]
    return InputDataset(
        namespace=relation.dataset.namespace,
        name=relation.dataset.name,
        facets=_dataset_facets(relation),
    )


def _output(
    lineage: Lineage,
    made: ModelLineage,
    relation: Relation,
    columns: Iterable[Column],
    description: str,
) -> OutputDataset:
    facets = _dataset_facets(relation)
    if description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            description=description.strip()
        )
    fields = {
        column.name: column_lineage_dataset.Fields(inputFields=_input_fields(lineage, links))
        for column in columns
        if column.name != ALL and (links := _outside(made, column.links))
    }
    rows = _outside(made, made.rows)
    if fields or rows:
        facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(
            fields=fields, dataset=_input_fields(lineage, rows)
        )
    return OutputDataset(
        namespace=relation.dataset.namespace, name=relation.dataset.name, facets=facets
    )


def _outside(made: ModelLineage, links: Iterable[Link]) -> list[Link]:
    """Leave out what a model reads of itself."""
    return [link for link in merged(links) if link.table != made.relation.key]


def _dataset_facets(relation: Relation) -> dict[str, DatasetFacet]:
    facets: dict[str, DatasetFacet] = {}
    if relation.columns:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(
            fields=[
                schema_dataset.SchemaDatasetFacetFields(name=name, type=kind)
                for name, kind in relation.columns.items()
            ]
        )
    if relation.dataset.symlink is not None:
        namespace, name = relation.dataset.symlink
        facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(
            identifiers=[symlinks_dataset.Identifier(namespace, name, "TABLE")]
        )
    return facets


def _input_fields(
    lineage: Lineage, links: Iterable[Link]
) -> list[column_lineage_dataset.InputField]:
    """Return input fields, each with all the ways in which it counts."""
    groups: dict[tuple[str, str], list[Link]] = {}
    for link in links:
        groups.setdefault((link.table, link.column), []).append(link)
    return [
        column_lineage_dataset.InputField(
            namespace=lineage.relations[key].dataset.namespace,
            name=lineage.relations[key].dataset.name,
            field=column,
            transformations=[
                column_lineage_dataset.Transformation(
                    type=link.how.type,
                    subtype=link.how.subtype,
                    description="",
                    masking=link.how.masking,
                )
                for link in group
            ],
        )
        for (key, column), group in groups.items()
    ]


def write_events(events: Iterable[RunEvent], path: Path) -> int:
    """Write events to a file, one JSON text per line, in place of what it held.

    Returns:
        How many.

    Raises:
        OpenLineageError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
        transport = FileTransport(FileConfig(log_file_path=str(path), append=True))
        return _emit(events, OpenLineageClient(transport=transport))
    except OSError as error:
        raise OpenLineageError(
            f"{path} cannot be written. Check the folder and its rights: {error}"
        ) from error


def send_events(events: Iterable[RunEvent]) -> int:
    """Send events to where OpenLineage's own configuration says.

    Returns:
        How many.

    Raises:
        ConfigError: There is no configuration.
        OpenLineageError: The receiver cannot be reached, or refuses.
    """
    is_configured = any(
        name.startswith(known) for name in os.environ for known in _CONFIGURED
    ) or any(
        path.is_file()
        for path in (Path("openlineage.yml"), Path.home() / ".openlineage" / "openlineage.yml")
    )
    if not is_configured:
        raise ConfigError(
            "--emit needs OpenLineage's own configuration, and there is none: set "
            "OPENLINEAGE_URL or OPENLINEAGE_CONFIG, or write openlineage.yml"
        )
    try:
        return _emit(events, OpenLineageClient())
    except Exception as error:  # transports raise what their libraries raise
        raise OpenLineageError(
            f"the events could not be sent. Check OPENLINEAGE_URL and the server: {error}"
        ) from error


def _emit(events: Iterable[RunEvent], client: OpenLineageClient) -> int:
    count = 0
    try:
        for event in events:
            client.emit(event)
            count += 1
    finally:
        client.close()
    return count
