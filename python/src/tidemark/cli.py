"""The `tidemark` command. Each subcommand lives in a module of its own, imported when called."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

import click

from tidemark import distribution_version
from tidemark.defects import report_defect
from tidemark.errors import TidemarkError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# heading of `--help` → name of the command → module and attribute of its click command or group
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Set up": {
        "init": ("tidemark.scaffold.cli", "init"),
        "check": ("tidemark.check.cli", "check"),
        "test": ("tidemark.unit_tests.cli", "test"),
        "schema": ("tidemark.scaffold.cli", "schema"),
        "demo": ("tidemark.demo.cli", "demo"),
        "datagen": ("tidemark.datagen.cli", "datagen"),
    },
    "Load": {
        "run": ("tidemark.run.cli", "run"),
        "plan": ("tidemark.plan.cli", "plan"),
        "apply": ("tidemark.plan.cli", "apply"),
        "clone": ("tidemark.operate.clones_cli", "clone"),
        "promote": ("tidemark.operate.clones_cli", "promote"),
        "replay": ("tidemark.replay.cli", "replay"),
        "shell": ("tidemark.shell.cli", "shell"),
    },
    "Look": {
        "status": ("tidemark.read.cli", "status"),
        "runs": ("tidemark.read.cli", "runs"),
        "changes": ("tidemark.read.cli", "changes"),
        "diff": ("tidemark.diff.cli", "diff"),
        "history": ("tidemark.read.cli", "history"),
        "rejects": ("tidemark.read.cli", "rejects"),
        "feed": ("tidemark.feed.cli", "feed"),
        "lineage": ("tidemark.lineage.cli", "lineage"),
        "report": ("tidemark.report.cli", "report"),
        "serve": ("tidemark.serve.cli", "serve"),
        "docs": ("tidemark.lineage.cli", "docs"),
    },
    "Correct": {
        "restate": ("tidemark.operate.cli", "restate"),
        "rollback": ("tidemark.operate.cli", "rollback"),
        "rehash": ("tidemark.operate.cli", "rehash"),
        "rebuild": ("tidemark.operate.cli", "rebuild"),
        "erase": ("tidemark.operate.cli", "erase"),
    },
    "Keep house": {
        "savepoint": ("tidemark.operate.cli", "savepoint"),
        "clean": ("tidemark.operate.cli", "clean"),
        "compact": ("tidemark.operate.cli", "compact"),
    },
    "Mirror databases": {
        "replicator": ("tidemark.replicator.cli", "replicator"),
        "capture": ("tidemark.capture.cli", "capture"),
        "connectors": ("tidemark.capture.connectors_cli", "connectors"),
    },
}
COMMANDS = {name: place for group in GROUPS.values() for name, place in group.items()}


class LazyGroup(click.Group):
    """A group that imports a subcommand's module when the subcommand is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands that this installation has."""
        return sorted(name for name, (module, _) in COMMANDS.items() if _is_there(module))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        module, attribute = COMMANDS.get(cmd_name, ("", ""))
        if not module or not _is_there(module):
            return None
        command: Any = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.{attribute} is not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands below what they are for."""
        there = self.list_commands(ctx)
        widest = max(map(len, there), default=0)
        own = [name for name in there if name not in COMMANDS]
        for heading, names in {"Here": own, **GROUPS}.items():
            rows = [
                (f"{name:<{widest}}", command.get_short_help_str(formatter.width - 6 - widest))
                for name in names
                if name in there and (command := self.get_command(ctx, name)) is not None
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; of one that is not there, name the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near or args[0].startswith("-"):
                raise
            raise click.UsageError(f"{error} Did you mean '{near[0]}'?", error.ctx) from None


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(distribution_version(), prog_name="tidemark")
def cli() -> None:
    """Turn extracts and change events into current tables, history and a change feed."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one message and no traceback.

    Args:
        arguments: What follows `tidemark`; by default that of this process.
    """
    sys.exit(call(cli, arguments))


def call(
    group: click.Group,
    arguments: Sequence[str] | None = None,
    *,
    obj: Any = None,
    defaults: dict[str, Any] | None = None,
) -> int:
    """Run a command in this process, tell what is wrong with it, return its exit code.

    Args:
        group: Whose command.
        arguments: Its name and what follows; by default that of this process.
        obj: For commands that pass it on.
        defaults: Values of options that are not given, by command and name of the parameter.
    """
    given = list(arguments) if arguments is not None else None
    try:
        code = group.main(given, "tidemark", standalone_mode=False, obj=obj, default_map=defaults)
    except click.exceptions.Exit as exit_:
        code = exit_.exit_code
    except click.Abort:
        code = EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except TidemarkError as error:
        click.echo(f"Error: {error}", err=True)
        code = EXIT_USAGE
    except BrokenPipeError:  # who read what it prints has gone
        sys.stdout = click.utils.PacifyFlushWrapper(sys.stdout)
        code = EXIT_FAILED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        else:
            words = sys.argv[1:] if given is None else given
            message = report_defect(error, " ".join(["tidemark", *words[:1]]))
        click.echo(f"Error: {message}", err=True)
        code = EXIT_FAILED
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    main()
