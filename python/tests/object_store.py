"""A throw-away object store that speaks S3, on a free port of the loopback.

with object_store(tmp_path) as store:
    store.put("landing/a.csv", "id\n1\n")       # s3a://lake/landing/a.csv
    store.names("warehouse/")
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers import free_port

BUCKET = "lake"
KEYS = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "a secret of the tests"}
_START = 60
"""Seconds that it may take to answer."""


@dataclass(frozen=True)
class ObjectStore:
    """A running store with one bucket.

    Attributes:
        endpoint: Its address.
        client: boto3's, of S3.
    """

    endpoint: str
    client: Any

    def put(self, name: str, text: str) -> str:
        """Write an object; return it as Spark calls it."""
        self.client.put_object(Bucket=BUCKET, Key=name, Body=text.encode())
        return f"s3a://{BUCKET}/{name}"

    def names(self, prefix: str) -> list[str]:
        """The names of objects that begin so."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def environment(self) -> dict[str, str]:
        """The keys, for Spark too, and what tells delta-rs where it is."""
        return {
            **KEYS,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """A store whose log is in a folder, and whose objects are in its memory."""
    import boto3

    port = free_port()
    program = Path(sys.executable).with_name("moto_server")
    log = folder / "object_store.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(program), "-H", "127.0.0.1", "-p", str(port)],
            env={**os.environ, "MOTO_ENABLE_ISO_REGIONS": "false"},
            cwd=folder, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        _wait(port, process, log)
        endpoint = f"http://127.0.0.1:{port}"
        client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"], aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )  # fmt: skip
        client.create_bucket(Bucket=BUCKET)
        yield ObjectStore(endpoint, client)
    finally:
        process.kill()
        process.wait(60)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return
        except OSError as error:
            if time.monotonic() > until or process.poll() is not None:
                pytest.fail(f"no object store ({error}): {log.read_text()[-2000:]}")
            time.sleep(0.2)
