"""`kebab doctor`: shows every finding as it is made, each with its fix. Repairs nothing."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.context import Invocation, pass_invocation, shared_options
from kebab_tui.cli.output import field, write, write_json
from kebab_tui.cli.style import Style
from kebab_tui.cli.terminal import detect
from kebab_tui.workspace import Workspace

if TYPE_CHECKING:
    from kebab_tui.storage.sqlite.health import Finding

EXIT_UNHEALTHY = 3


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As a doctor.v1 object.")
@shared_options
@pass_invocation
def command(invocation: Invocation, as_json: bool) -> int:
    """Check that everything is sound, and say how to mend it.

    Ends with 0 when all is well (warnings allowed) and 3 when there is a problem.
    """
    found: list[Finding] = []
    style = Style(detect(sys.stdout, os.environ))
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        for finding in workspace.doctor():
            found.append(finding)
            if not as_json:
                _show(finding, style)
    if as_json:
        from kebab_tui.wire.reports import doctor

        write_json(doctor(found))
    return EXIT_UNHEALTHY if any(finding.level == "problem" for finding in found) else 0


def _show(finding: Finding, style: Style) -> None:
    line = f"{finding.level:<7}  {field(finding.check)}: {field(finding.detail)}"
    write(line if finding.level == "ok" else style.strong(line))
    if finding.fix:
        write(f"         {field(finding.fix)}")
