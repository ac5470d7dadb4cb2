"""`kebab model`: the models for semantic search. Downloads nothing, removes nothing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.command import CliGroup, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.index import EXIT_UNHEALTHY
from kebab_tui.cli.interrupt import Interrupt
from kebab_tui.cli.output import confirmed, field, notify, plural, table_lines, write, write_json
from kebab_tui.cli.progress import estimated, print_notice, print_waiting
from kebab_tui.domain.errors import UsageError
from kebab_tui.workspace import Callbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.vector_search import ModelInfo

_COLUMNS = ("used", "id", "from", "languages", "dims", "vectors", "problem")
_HANGUL_LANGUAGES = {"ko", "multi"}

as_json_option = option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=CliGroup)
@shared_options
def model_command() -> None:
    """List, check, add or select models for semantic search."""


@model_command.command("list")
@as_json_option
@shared_options
@pass_invocation
def list_(invocation: Invocation, as_json: bool) -> None:
    """List the models, their problems and the one in use."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        found = workspace.models.all()
    if as_json:
        from kebab_tui.wire.encode import listing, model

        write_json(listing("model", map(model, found), len(found)))
        return
    rows = []
    for info in found:
        listed, card = info.listed, info.listed.card
        languages, dims = (",".join(card.languages), str(card.dims)) if card else ("", "")
        used, origin = "used" if info.used else "", "bundled" if listed.bundled else "own"
        rows.append((used, listed.model_id, origin, languages, dims, str(info.vectors), listed.problem))
    for line in table_lines(_COLUMNS, rows):
        write(line)


@model_command.command()
@click.argument("name")
@as_json_option
@shared_options
@pass_invocation
def info(invocation: Invocation, name: str, as_json: bool) -> None:
    """Show the card of model NAME."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        found = workspace.models.get(name)
    if as_json:
        _write_model(found)
        return
    listed, card = found.listed, found.listed.card
    write(f"id: {field(listed.model_id)}")
    write(f"from: {'the package' if listed.bundled else 'the data folder'}")
    write(f"used by this index: {'yes' if found.used else 'no'}, {plural(found.vectors, 'vector')}")
    if card is None:
        write(f"problem: {field(listed.problem)}")
        return
    write(f"name: {field(card.name)}, version {field(card.version)}, licence {field(card.licence)}")
    write(f"languages: {', '.join(card.languages)}")
    write(f"dimensions: {card.dims}")
    write(f"reads: {card.max_tokens} tokens at most")
    write(
        f"pooling: {card.pooling}, {'normalised' if card.normalise else 'the model normalises its vectors'}"
    )
    for prefix_name, prefix in (("query", card.query_prefix), ("passage", card.passage_prefix)):
        if prefix:
            write(f"{prefix_name} prefix: {field(prefix)!r}")
    write(f"vectors: {card.vector_version}")
    write(f"folder: {field(card.folder)}")


@model_command.command()
@click.argument("name", required=False)
@as_json_option
@shared_options
@pass_invocation
def verify(invocation: Invocation, name: str | None, as_json: bool) -> int:
    """Compare models with their cards.

    Checks the sha256 sums and dimensions of model NAME, or of all models.
    Exit code: 0 if everything matches, else 3.
    """
    checked: list[tuple[str, list[str]]] = []
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        models = workspace.models
        for model in [models.get(name)] if name else models.all():
            problems = models.problems(model)
            checked.append((model.listed.model_id, problems))
            if not as_json:
                write(f"{field(model.listed.model_id)}: {field('; '.join(problems)) or 'ok'}")
    if as_json:
        from kebab_tui.wire.encode import model_check

        write_json(model_check(checked))
    return EXIT_UNHEALTHY if any(problems for _, problems in checked) else 0


@model_command.command()
@click.argument("folder", metavar="DIR", type=click.Path())
@as_json_option
@shared_options
@pass_invocation
def add(invocation: Invocation, folder: str, as_json: bool) -> None:
    """Check the model in DIR and copy it to the data folder.

    DIR contains model.toml, model.onnx, tokenizer.json and, if the card lists it, pieces.txt.
    `kebab model use` then selects it.
    """
    if not folder:
        raise UsageError("the folder has an empty name", "is a shell variable unset?")
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace, Interrupt():
        added = workspace.models.add(folder)
    if as_json:
        _write_model(added)
    else:
        write(field(added.listed.model_id))
        notify(f"added; `kebab model use {field(added.listed.model_id)}` selects it")


@model_command.command()
@click.argument("name")
@option("--yes", is_flag=True, help="Do not ask for confirmation.")
@as_json_option
@shared_options
@pass_invocation
def use(invocation: Invocation, name: str, yes: bool, as_json: bool) -> int:
    """Use model NAME for this index.

    Vectors of two models are never mixed: semantic search finds a passage only after
    `kebab index --embed` made its vector. The vectors of the other model are kept.
    """
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        switch = workspace.models.cost(name)
        cost = (
            f"{field(switch.model)} has no vectors yet for {plural(switch.pending, 'passage')} "
            f"({estimated(switch.seconds)} to compute); until then only keyword search finds them"
        )
        if switch.model != switch.before:
            if switch.pending and not confirmed(cost, yes=yes):
                notify(f"{field(switch.before)} stays in use")
                return 1
            workspace.use_model(name, Callbacks(waiting=print_waiting, notice=print_notice))
        languages = set(workspace.models.find(name).languages)
    if as_json:
        from kebab_tui.wire.encode import model_switch

        write_json(model_switch(switch))
    notify(f"{field(switch.model)} is in use {'already' if switch.model == switch.before else 'now'}")
    if switch.pending:
        notify(f"{cost}: run `kebab index --embed`")
    if not languages & _HANGUL_LANGUAGES:
        notify("it does not support Korean: queries in Hangul use keyword search only")
    return 0


def _write_model(model: ModelInfo) -> None:
    from kebab_tui.wire.encode import model as encoded

    write_json(encoded(model))
