"""`tidemark feed`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from tidemark.errors import ConfigError
from tidemark.feed.options import FeedOptions
from tidemark.options import profiles_dir_option, project_dir_option, target_option, vars_option
from tidemark.run.options import find_profiles, find_project, parse_vars, prepare_environment

IMAGES = ("pre", "post", "change")

_EPILOG = """
A moment is a commit id, a business date (its first commit) or a timestamp. The range
begins after --from and includes --to.

\b
Exit codes:
  0    all was printed; with --follow: stopped by Ctrl-C
  1    Spark failed while it read
  2    nothing could be read: an option, the range or the project is wrong, Java is missing,
       another run holds the metastore
  130  interrupted (without --follow)

\b
Examples:
  tidemark feed airports --from 2026-02-05 --to 2026-03-04
  tidemark feed airports --from 2026-02-05 --net --images change
  tidemark feed airports --from 260304093000123 --follow --interval 10
"""


def parse_images(text: str | None) -> list[str] | None:
    """Return the images asked for; none means those of the entity's YAML.

    Example:
        >>> parse_images("pre, post")
        ['pre', 'post']

    Raises:
        ConfigError: There is no such image.
    """
    if text is None:
        return None
    images = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [image for image in images if image not in IMAGES]
    if unknown or not images:
        raise ConfigError(
            f"--images {text!r} is not a list of images. Write pre, post or change, with commas "
            "between them"
        )
    return images


@click.command(epilog=_EPILOG)
@click.argument("entity")
@click.option(
    "--from",
    "since",
    metavar="MOMENT",
    help="Print changes after this moment. Default: from the first change.",
)
@click.option(
    "--to",
    "until",
    metavar="MOMENT",
    help="Print changes up to this moment. Default: the last commit.",
)
@click.option(
    "--images",
    "images_text",
    metavar="IMAGES",
    help="Images to print: pre, post, change, separated by commas. Default: the "
    "entity's feed_images.",
)
@click.option("--net", is_flag=True, help="Print one net change per key.")
@click.option(
    "--where",
    metavar="SQL",
    help="Print only changes that match this condition, such as \"icao = 'LSZH'\".",
)
@click.option(
    "--follow", is_flag=True, help="Wait for new commits and print their changes, until Ctrl-C."
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds between two looks of --follow for new commits.",
)
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Stop after N changes.")
@vars_option
@project_dir_option
@profiles_dir_option
@target_option
@click.pass_context
def feed(
    ctx: click.Context,
    entity: str,
    since: str | None,
    until: str | None,
    images_text: str | None,
    net: bool,
    where: str | None,
    follow: bool,
    interval: float,
    limit: int | None,
    vars_text: str | None,
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
) -> None:
    """Print the changes of a cdc or feed model as JSON lines.

    Changes go to stdout, messages go to stderr. The embedded metastore serves one process at a
    time. So --follow starts Spark only while there are changes to read, and other runs can load
    in between. With a shared metastore Spark stays up.
    """
    if follow and until is not None:
        raise ConfigError("--follow has no end and takes no --to. Leave --to out")
    images = parse_images(images_text)
    root = find_project(project_dir or Path.cwd())
    options = FeedOptions(
        entity=entity,
        since=since,
        until=until,
        images=images,
        net=net,
        where=where,
        follow=follow,
        interval=interval,
        limit=limit,
        vars=parse_vars(vars_text),
        project_dir=root,
        profiles_dir=profiles_dir or find_profiles(root),
        target=target,
    )
    prepare_environment(root)
    from tidemark.feed.reader import FeedReader, print_feed

    talk = Console(stderr=True)
    ctx.exit(
        print_feed(options, FeedReader(options, talk), talk, click.get_binary_stream("stdout"))
    )
