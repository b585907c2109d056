"""The lineage of a project: each model's columns from what it reads, and from the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tidemark.lineage.datasets import Dataset, FileDataset
from tidemark.lineage.entities import (
    SIDES,
    added_columns,
    is_reserved,
    side_columns,
)
from tidemark.lineage.links import ALL, IDENTITY, TRANSFORMATION, Column, Link, merged
from tidemark.lineage.project import Columns, Node, Project, in_order
from tidemark.lineage.query import Query, SqlNotReadError, read_query
from tidemark.lineage.streams import Stream, stream_of
from tidemark.lineage.trace import Traced, trace

_FILE_FORMATS = {"avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml"}
_FIXED: dict[str, Columns] = {"text": {"value": "string"}}


@dataclass(frozen=True)
class Relation:
    """Something that is read or written.

    Attributes:
        key: What links call it.
        dataset: Its names.
        columns: Its columns and their types, as far as they are known.
        owner: The node whose relation it is, or None.
    """

    key: str
    dataset: Dataset
    columns: Columns
    owner: str | None = None


@dataclass(frozen=True)
class ModelLineage:
    """A model and what it follows from, one step back.

    Attributes:
        node: The model.
        relation: Its table or view.
        columns: Its columns.
        rows: What decides which rows there are.
        inputs: The relations that it reads, by key.
        sides: The relations beside it.
        remarks: What could not be told, and what was told in a weaker way.
    """

    node: Node
    relation: Relation
    columns: tuple[Column, ...]
    rows: tuple[Link, ...] = ()
    inputs: tuple[str, ...] = ()
    sides: tuple[tuple[Relation, tuple[Column, ...]], ...] = ()
    remarks: tuple[str, ...] = ()


class Lineage:
    """The lineage of all models of a project.

    Example:
        >>> lineage = Lineage(project)                                    # doctest: +SKIP
        >>> lineage.sources("model.shop.orders", "id")                    # doctest: +SKIP
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.relations: dict[str, Relation] = {}
        self.models: dict[str, ModelLineage] = {}
        self._columns: dict[str, dict[str, Column]] = {}
        self._sources: dict[tuple[str, str], tuple[Link, ...]] = {}
        self._extracts = {
            f"tidemark__{schema}__{identifier}__extract": project.nodes[key]
            for (schema, identifier), key in project.places.items()
        }
        ordered = in_order(project.nodes)
        for key in ordered:
            self._add(project.nodes[key])
        # upstream first, so that a long chain of models is no deep recursion
        for key in ordered:
            for name in self._columns.get(key, ()):
                self.sources(key, name)

    # --- asking

    def sources(self, key: str, column: str) -> tuple[Link, ...]:
        """Return what a column follows from through all models: links to where columns begin.

        A column begins in a source, a file, a seed, a Python model, or in the model that makes it
        of nothing else.
        """
        place = (key, column.lower())
        if place not in self._sources:
            known = self._columns.get(key, {}).get(column.lower())
            begin = Link(key, known.name if known else column, IDENTITY)
            self._sources[place] = (begin,)  # a model that reads itself adds nothing
            links = [link for link in known.links if link.table != key] if known else []
            if links:
                self._sources[place] = self.beginnings(links)
        return self._sources[place]

    def beginnings(self, links: Iterable[Link]) -> tuple[Link, ...]:
        """Return the same links from where their columns begin."""
        return merged(
            begin.via(link.how) for link in links for begin in self.sources(link.table, link.column)
        )

    def column(self, key: str, name: str) -> Column | None:
        """Return a column of a relation if it is one of a model's."""
        return self._columns.get(key, {}).get(name.lower())

    # --- relations

    def _keep(self, relation: Relation) -> Relation:
        return self.relations.setdefault(relation.key, relation)

    def _relation_of(self, node: Node) -> Relation:
        dataset = self.project.warehouse.table(node.schema, node.identifier, node.location_root)
        stream = stream_of(node, self.project) if node.kind == "source" else None
        if stream is not None:
            dataset = stream.dataset
        return Relation(node.unique_id, dataset, dict(node.known), node.unique_id)

    def _file(self, path: str, columns: Columns) -> Relation:
        dataset: FileDataset = self.project.warehouse.file(path)
        return self._keep(Relation(dataset.uri, dataset, columns))

    def _stream(self, stream: Stream, columns: Columns) -> Relation:
        key = f"{stream.dataset.namespace}/{stream.dataset.name}"
        return self._keep(Relation(key, stream.dataset, columns))

    def find(self, parts: tuple[str, ...]) -> Relation:
        """Return the relation that a query names."""
        lower = tuple(part.lower() for part in parts)
        if len(lower) == 1 and lower[0] in self._extracts:
            return self._extract(self._extracts[lower[0]])
        if len(lower) == 2 and lower[0] in _FILE_FORMATS:
            return self._file(parts[1], dict(_FIXED.get(lower[0], {})))
        schema, identifier = lower[-2] if len(lower) > 1 else "", lower[-1]
        places = self.project.places
        if (schema, identifier) in places:
            key = places[(schema, identifier)]
            return self.relations.get(key) or self._relation_of(self.project.nodes[key])
        base, _, side = identifier.rpartition("__")
        if base and side in SIDES and (schema, base) in places:
            return self._side(self.project.nodes[places[(schema, base)]], side)
        dataset = self.project.warehouse.table(schema and parts[-2], parts[-1])
        return self._keep(Relation(f"{dataset.namespace}/{dataset.name}", dataset, {}))

    def _extract(self, node: Node) -> Relation:
        """Return what `tidemark.extract()` reads."""
        stream = stream_of(node, self.project)
        if stream is not None:
            return self._stream(stream, {})
        return self._file(str(node.settings.get("location") or f"{node.name}/extract"), {})

    def _side(self, node: Node, side: str) -> Relation:
        key = f"{node.unique_id}__{side}"
        if key not in self.relations:
            name = f"{node.identifier}__{side}"
            dataset = self.project.warehouse.table(node.schema, name, node.location_root)
            return self._keep(Relation(key, dataset, {}, node.unique_id))
        return self.relations[key]

    # --- models

    def _add(self, node: Node) -> None:
        if node.kind in ("source", "seed"):
            self._keep(self._relation_of(node))
            return
        made = self._make(node)
        relation = replace(
            made.relation,
            columns={column.name: column.type for column in made.columns if column.name != ALL},
        )
        made = replace(made, relation=relation)
        self.relations[relation.key] = relation
        self._columns[relation.key] = {column.name.lower(): column for column in made.columns}
        sides = []
        for side, columns in side_columns(node, made.columns).items():
            beside = replace(
                self._side(node, side),
                columns={column.name: column.type for column in columns if column.name != ALL},
            )
            self.relations[beside.key] = beside
            self._columns[beside.key] = {column.name.lower(): column for column in columns}
            sides.append((beside, columns))
        # sensitive columns are kept beside the model, not in it
        hidden = _sensitive(node)
        if hidden:
            columns = tuple(item for item in made.columns if item.name.lower() not in hidden)
            relation = replace(
                relation, columns={item.name: item.type for item in columns if item.name != ALL}
            )
            self.relations[relation.key] = relation
            self._columns[relation.key] = {item.name.lower(): item for item in columns}
            made = replace(made, relation=relation, columns=columns)
        self.models[node.unique_id] = replace(made, sides=tuple(sides))

    def _make(self, node: Node) -> ModelLineage:
        relation = self._relation_of(node)
        if node.language == "python":
            return self._of_python(node, relation)
        makers: dict[str, Callable[[Node, Relation], ModelLineage]] = {
            "cdc": self._of_entity,
            "atomic": self._of_atomic,
            "shred": self._of_shred,
        }
        return makers.get(node.materialized, self._of_select)(node, relation)

    def _of_python(self, node: Node, relation: Relation) -> ModelLineage:
        """A Python model: which of its inputs' columns it uses is not known."""
        inputs = [self.relations[key] for key in node.depends_on if key in self.relations]
        links = tuple(Link(item.key, ALL, TRANSFORMATION) for item in inputs)
        columns = [Column(name, kind) for name, kind in node.known.items()]
        return ModelLineage(
            node,
            relation,
            (*columns, Column(ALL, None, links)),
            inputs=tuple(item.key for item in inputs),
            remarks=("a Python model: by table only",),
        )

    def _of_select(self, node: Node, relation: Relation) -> ModelLineage:
        body = self._body(node)
        if isinstance(body, str):
            return self._by_name(node, relation, body)
        traced, inputs = body
        columns = self._with_added(node, self._columns_of(node, traced))
        # what extract() reads has the columns that the YAML names
        is_extract = node.materialized == "cdc" and inputs == (self._extract(node).key,)
        remarks = () if is_extract and node.known else _remarks(node, traced)
        return ModelLineage(node, relation, columns, traced.rows, inputs, remarks=remarks)

    def _of_entity(self, node: Node, relation: Relation) -> ModelLineage:
        stream = stream_of(node, self.project)
        if stream is not None:
            return self._of_stream(node, relation, stream)
        made = self._of_select(node, relation)
        columns = tuple(
            column for column in made.columns if column.is_added or _is_chosen(node, column.name)
        )
        return replace(made, columns=columns)

    def _of_stream(self, node: Node, relation: Relation, stream: Stream) -> ModelLineage:
        """Change events of one table: columns have the names that they have in it."""
        names = {
            name: kind
            for name, kind in node.known.items()
            if not is_reserved(name) and _is_chosen(node, name)
        }
        source = self._stream(stream, dict(names))
        columns = [
            Column(
                name,
                kind,
                tuple(Link(source.key, former, IDENTITY) for former in stream.names_of(name)),
            )
            for name, kind in names.items()
        ]
        remarks = []
        if not names:
            columns.append(Column(ALL, None, (Link(source.key, ALL, IDENTITY),)))
            remarks.append(
                "the columns come with the events: `tidemark docs` makes a catalogue of them"
            )
        return ModelLineage(
            node,
            relation,
            self._with_added(node, columns),
            inputs=(source.key,),
            remarks=tuple(remarks),
        )

    def _of_atomic(self, node: Node, relation: Relation) -> ModelLineage:
        """Enriched events: 131 columns by their place in the line, or by their names."""
        from tidemark.shred.enriched import TYPES

        body = self._body(node)
        if isinstance(body, str):
            rows: tuple[Link, ...] = ()
            inputs: tuple[str, ...] = (self._extract(node).key,)
            found: Mapping[str, tuple[Link, ...]] = {}
        else:
            traced, inputs = body
            rows, found = traced.rows, {name.lower(): it for name, it in traced.columns.items()}
        columns = [
            Column(
                name,
                kind,
                found.get(name) or tuple(Link(key, name, IDENTITY) for key in inputs),
            )
            for name, kind in TYPES.items()
        ]
        return ModelLineage(node, relation, self._with_added(node, columns), rows, inputs)

    def _of_shred(self, node: Node, relation: Relation) -> ModelLineage:
        """Entities of one schema: each declared column is a property of their data."""
        made = self._of_select(node, relation)
        body = {column.name.lower(): column.links for column in made.columns}
        fixed = {"schema": "string", "hierarchy": "string"}
        columns = [
            Column(
                name,
                kind,
                body.get(name.lower(), ())
                if name.lower() in fixed
                else merged(link.via(TRANSFORMATION) for link in body.get("data", ())),
            )
            for name, kind in (fixed | node.known).items()
            if not is_reserved(name)
        ]
        remarks = made.remarks
        if not node.known:
            remarks = (*remarks, "the registry has the columns: `tidemark docs` finds them")
        return replace(made, columns=self._with_added(node, columns), remarks=remarks)

    # --- SQL

    def _body(self, node: Node) -> tuple[Traced, tuple[str, ...]] | str:
        """Trace a model's SQL; a text says why that cannot be done."""
        if node.sql is None:
            return node.remark or "it has no compiled SQL"
        try:
            query = read_query(node.sql)
            return self._trace(query)
        except SqlNotReadError as error:
            return f"its SQL cannot be read ({error})"

    def _trace(self, query: Query) -> tuple[Traced, tuple[str, ...]]:
        found = {table.key: self.find(table.parts) for table in query.tables}
        schemas = {key: item.columns for key, item in found.items() if self._is_whole(item)}
        traced = trace(query, schemas)

        def named(links: Iterable[Link]) -> tuple[Link, ...]:
            return merged(
                Link(found[link.table].key, _spelled(found[link.table], link.column), link.how)
                for link in links
            )

        return (
            replace(
                traced,
                columns={name: named(links) for name, links in traced.columns.items()},
                rows=named(traced.rows),
                opened=named(traced.opened),
            ),
            tuple(dict.fromkeys(item.key for item in found.values())),
        )

    def _is_whole(self, relation: Relation) -> bool:
        """Are all columns of a relation known, so that `*` is just these?"""
        if not relation.columns:
            return False
        if ALL in self._columns.get(relation.key, {}):
            return False
        node = self.project.nodes.get(relation.owner or "")
        # the YAML may name only a few columns of a source or seed
        return node is None or node.kind not in ("source", "seed") or bool(node.measured)

    def _columns_of(self, node: Node, traced: Traced) -> list[Column]:
        spelled = {name.lower(): name for name in node.known}
        types = {name.lower(): kind for name, kind in (node.columns | node.measured).items()}
        columns = [
            Column(
                spelled.get(name.lower(), name),
                types.get(name.lower()) or self._type_of(links),
                links,
            )
            for name, links in traced.columns.items()
        ]
        if traced.opened:
            there = {column.name.lower() for column in columns}
            for name, kind in (node.known or self._columns_above(traced)).items():
                if name.lower() not in there and not is_reserved(name):
                    columns.append(Column(name, kind, _named(traced.opened, name)))
            if not node.known:
                columns.append(Column(ALL, None, traced.opened))
        return columns

    def _columns_above(self, traced: Traced) -> Columns:
        """Return what is known of the columns of the one relation that `*` is of."""
        tables = {link.table for link in traced.opened if link.how == IDENTITY}
        return self.relations[tables.pop()].columns if len(tables) == 1 else {}

    def _type_of(self, links: tuple[Link, ...]) -> str | None:
        """A column that is another one has its type."""
        direct = [link for link in links if link.how.direct]
        if len(direct) != 1 or direct[0].how != IDENTITY or direct[0].table not in self.relations:
            return None
        columns = self.relations[direct[0].table].columns
        return {name.lower(): kind for name, kind in columns.items()}.get(direct[0].column.lower())

    def _by_name(self, node: Node, relation: Relation, reason: str) -> ModelLineage:
        """Without SQL: columns that an input has under the same name are taken for the same."""
        inputs = [self.relations[key] for key in node.depends_on if key in self.relations]
        columns = []
        for name, kind in node.known.items():
            links = tuple(
                Link(item.key, _spelled(item, name), IDENTITY)
                for item in inputs
                if name.lower() in {known.lower() for known in item.columns}
            )
            columns.append(Column(name, kind, links, is_reserved(name) and not links))
        if not node.known:
            links = tuple(Link(item.key, ALL, TRANSFORMATION) for item in inputs)
            columns.append(Column(ALL, None, links))
        return ModelLineage(
            node,
            relation,
            self._with_added(node, columns),
            inputs=tuple(item.key for item in inputs),
            remarks=(f"{reason}: columns are matched by name",),
        )

    def _with_added(self, node: Node, columns: Iterable[Column]) -> tuple[Column, ...]:
        added = added_columns(node)
        if node.materialized == "cdc":
            # what an extract brings under these names are its own to use, not columns of current
            columns = [column for column in columns if not is_reserved(column.name)]
        columns = list(columns)
        there = {column.name.lower() for column in columns}
        return (
            *columns,
            *(
                Column(name, kind, is_added=True)
                for name, kind in added.items()
                if name.lower() not in there
            ),
        )


def _remarks(node: Node, traced: Traced) -> tuple[str, ...]:
    remarks = [node.remark] if node.remark else []
    if traced.opened and node.known and not node.measured:
        remarks.append(
            "`select *` reads from something whose columns are not known: columns are "
            "matched by name"
        )
    return (*remarks, *traced.notes)


def _named(links: Iterable[Link], name: str) -> tuple[Link, ...]:
    return tuple(replace(link, column=name) if link.column == ALL else link for link in links)


def _spelled(relation: Relation, column: str) -> str:
    for name in relation.columns:
        if name.lower() == column.lower():
            return name
    return column


def _sensitive(node: Node) -> set[str]:
    given = node.settings.get("sensitive") if node.materialized == "cdc" else None
    names = [given] if isinstance(given, str) else given or []
    return {str(name).lower() for name in names}


def _is_chosen(node: Node, name: str) -> bool:
    """Does the setting `columns` of an events entity have a column?"""
    chosen = node.settings.get("columns")
    if isinstance(chosen, Mapping):
        if "exclude" in chosen:
            return name.lower() not in {str(item).lower() for item in chosen["exclude"]}
        chosen = chosen.get("include")
    if isinstance(chosen, list):
        return name == ALL or name.lower() in {str(item).lower() for item in chosen}
    return True
