"""Tables of Iceberg whose folder has moved: their files name each other by absolute paths."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

from tidemark.spark.files import java_class

_AVRO = "org.apache.avro"
_ZIPPED = ".gz.metadata.json"


def settle_table(jvm: Any, folder: Path) -> None:
    """Have the files that describe a table name its present folder; nothing if they do.

    The newest description is written last: as long as it names another folder, all is done again.

    Args:
        jvm: The JVM, which has Avro's library.
        folder: The table's.
    """
    files = sorted((folder / "metadata").glob("*.metadata.json"), key=_number)
    was = re.sub("^file:/*", "/", str(_description(files[-1]).get("location", "")))
    if not was or was == str(folder):
        return
    listed = sorted((folder / "metadata").glob("*.avro"), key=lambda file: "snap-" in file.name)
    for file in listed:  # lists of manifests last: they have the lengths of these
        _rewrite(jvm, file, was, folder)
    for file in files:
        text = json.dumps(_moved(_description(file), was, str(folder)))
        data = text.encode()
        _replace(file, gzip.compress(data) if file.name.endswith(_ZIPPED) else data)


def _number(file: Path) -> int:
    found = re.match(r"v?(\d+)", file.name)
    return int(found[1]) if found else -1


def _description(file: Path) -> dict[str, Any]:
    data = file.read_bytes()
    text = gzip.decompress(data) if file.name.endswith(_ZIPPED) else data
    described: dict[str, Any] = json.loads(text)
    return described


def _moved(value: Any, was: str, here: str) -> Any:
    """Return a value with its paths in one folder made those in another."""
    if isinstance(value, dict):
        return {name: _moved(one, was, here) for name, one in value.items()}
    if isinstance(value, list):
        return [_moved(one, was, here) for one in value]
    if isinstance(value, str):
        there = f"^((?:file:(?://)?)?){re.escape(was)}(?=/|$)"
        return re.sub(there, lambda found: found[1] + here, value)
    return value


def _rewrite(jvm: Any, file: Path, was: str, folder: Path) -> None:
    """Write a manifest, or a list of them, with other paths and all else as it was."""
    new = file.with_suffix(f".{os.getpid()}")
    reader = java_class(jvm, f"{_AVRO}.file.DataFileReader")(
        java_class(jvm, "java.io.File")(str(file)),
        java_class(jvm, f"{_AVRO}.generic.GenericDatumReader")(),
    )
    schema = reader.getSchema()
    made = java_class(jvm, f"{_AVRO}.file.DataFileWriter")
    writer = made(java_class(jvm, f"{_AVRO}.generic.GenericDatumWriter")(schema))
    for key in reader.getMetaKeys():
        if not made.isReservedMeta(key):
            writer.setMeta(key, reader.getMeta(key))
    codecs = java_class(jvm, f"{_AVRO}.file.CodecFactory")
    writer.setCodec(codecs.fromString(reader.getMetaString("avro.codec") or "null"))
    writer.create(schema, java_class(jvm, "java.io.File")(str(new)))
    while reader.hasNext():
        record = reader.next()
        if schema.getField("manifest_path") is not None:
            path = _moved(str(record.get("manifest_path")), was, str(folder))
            record.put("manifest_path", path)
            length = (folder / "metadata" / Path(path).name).stat().st_size
            record.put("manifest_length", length)
        else:
            described = record.get("data_file")
            path = str(described.get("file_path"))
            described.put("file_path", _moved(path, was, str(folder)))
        writer.append(record)
    writer.close()
    reader.close()
    _take_place(new, file)


def _replace(file: Path, data: bytes) -> None:
    new = file.with_suffix(f".{os.getpid()}")
    new.write_bytes(data)
    _take_place(new, file)


def _take_place(new: Path, file: Path) -> None:
    # Hadoop would compare it with the checksums that it wrote of the former one
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    new.replace(file)
