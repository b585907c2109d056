"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

project_dir_option = click.option(
    "--project-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where dbt_project.yml lies. Default: this folder or the nearest above it.",
)
profiles_dir_option = click.option(
    "--profiles-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where profiles.yml lies. Default: DBT_PROFILES_DIR, the project, its profiles/, ~/.dbt.",
)
target_option = click.option("--target", "-t", help="dbt's --target.")
vars_option = click.option("--vars", "vars_text", metavar="YAML", help="dbt's --vars.")
select_option = click.option(
    "--select", "-s", multiple=True, help="dbt's --select. May be repeated."
)
exclude_option = click.option("--exclude", multiple=True, help="dbt's --exclude. May be repeated.")
verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Show dbt's own lines, on stderr."
)
