"""`kebab model`: the models that find notes by meaning. Downloads nothing, removes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.index import EXIT_UNHEALTHY
from kebab_tui.cli.output import field, plural, say, table_lines, write, write_json
from kebab_tui.cli.progress import Interrupt, tell_notice, tell_waiting
from kebab_tui.domain.errors import UsageError
from kebab_tui.workspace import Callbacks, Workspace

if TYPE_CHECKING:
    from kebab_tui.vector_search import ModelInfo, Switch

_COLUMNS = ("used", "id", "from", "languages", "dims", "vectors", "problem")
_HANGUL_LANGUAGES = {"ko", "multi"}

as_json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group()
@shared_options
def model_command() -> None:
    """List, check, add or choose the models that find notes by meaning."""


@model_command.command("list")
@as_json_option
@shared_options
@pass_invocation
def list_(invocation: Invocation, as_json: bool) -> None:
    """List the models, which one this index uses, and what is wrong with any."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        found = workspace.models.all()
    if as_json:
        from kebab_tui.wire.encode import listing, model

        write_json(listing("model", map(model, found), len(found)))
        return
    for line in table_lines(_COLUMNS, map(_row, found)):
        write(line)


def _row(model: ModelInfo) -> tuple[str, ...]:
    listed, card = model.listed, model.listed.card
    languages, dims = (",".join(card.languages), str(card.dims)) if card else ("", "")
    origin = "bundled" if listed.bundled else "own"
    used = "used" if model.used else ""
    return (used, listed.model_id, origin, languages, dims, str(model.vectors), listed.problem)


@model_command.command()
@click.argument("name")
@as_json_option
@shared_options
@pass_invocation
def info(invocation: Invocation, name: str, as_json: bool) -> None:
    """Show all that the card of the model NAME says."""
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        found = workspace.models.get(name)
    if as_json:
        _write_model(found)
    else:
        for line in _facts(found):
            write(line)


def _facts(model: ModelInfo) -> Iterator[str]:
    listed, card = model.listed, model.listed.card
    yield f"id: {field(listed.model_id)}"
    yield f"from: {'the package' if listed.bundled else 'the data folder'}"
    yield f"used by this index: {'yes' if model.used else 'no'}, {plural(model.vectors, 'vector')}"
    if card is None:
        yield f"problem: {field(listed.problem)}"
        return
    yield f"name: {field(card.name)}, version {field(card.version)}, licence {field(card.licence)}"
    yield f"languages: {', '.join(card.languages)}"
    yield f"dimensions: {card.dims}"
    yield f"reads: {card.max_tokens} tokens at most"
    yield f"pooling: {card.pooling}, {'normalised' if card.normalise else 'as the graph gives it'}"
    for name, prefix in (("query", card.query_prefix), ("passage", card.passage_prefix)):
        if prefix:
            yield f"{name} prefix: {field(prefix)!r}"
    yield f"vectors: {card.vector_version}"
    yield f"folder: {field(card.folder)}"


@model_command.command()
@click.argument("name", required=False)
@as_json_option
@shared_options
@pass_invocation
def verify(invocation: Invocation, name: str | None, as_json: bool) -> int:
    """Compare the model NAME, or all of them, with their cards: sha256 sums, dimensions.

    Ends with 0 when all is as the cards say and 3 when something is not.
    """
    checked: list[tuple[str, list[str]]] = []
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        shelf = workspace.models
        for model in [shelf.get(name)] if name else shelf.all():
            problems = shelf.problems(model)
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
    """Copy the model in DIR into the data folder, once it is checked and has answered.

    DIR holds model.toml, model.onnx, tokenizer.json and, if the card names it, pieces.txt.
    `kebab model use` then uses it.
    """
    if not folder:
        raise UsageError("the folder has an empty name", "is a variable of your shell not set?")
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace, Interrupt():
        added = workspace.models.add(folder)
    if as_json:
        _write_model(added)
    else:
        write(field(added.listed.model_id))
        say(f"added; `kebab model use {field(added.listed.model_id)}` uses it")


@model_command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json_option
@shared_options
@pass_invocation
def use(invocation: Invocation, name: str, yes: bool, as_json: bool) -> int:
    """Let the model NAME answer for this index.

    Vectors of two models are never mixed: what NAME has not read yet is found by words
    only until `kebab index --embed` has made its vectors. The other model's are kept.
    """
    with closing(Workspace(invocation.settings, invocation.data_dir)) as workspace:
        switch = workspace.models.cost(name)
        if switch.model != switch.before:
            if switch.pending and not yes and not _agreed(_cost(switch)):
                say(f"{field(switch.before)} stays in use")
                return 1
            workspace.use_model(name, Callbacks(waiting=tell_waiting, notice=tell_notice))
        languages = set(workspace.models.find(name).languages)
    if as_json:
        from kebab_tui.wire.encode import model_switch

        write_json(model_switch(switch))
    for line in _told(switch, knows_korean=bool(languages & _HANGUL_LANGUAGES)):
        say(line)
    return 0


def _cost(switch: Switch) -> str:
    from kebab_tui.cli.progress import estimated

    return (
        f"{field(switch.model)} has yet to read {plural(switch.pending, 'passage')}, "
        f"{estimated(switch.seconds)} here; until then they are found by words only"
    )


def _told(switch: Switch, *, knows_korean: bool) -> Iterator[str]:
    was = "is in use already" if switch.model == switch.before else "is in use now"
    yield f"{field(switch.model)} {was}"
    if switch.pending:
        yield f"{_cost(switch)}: `kebab index --embed` makes the vectors"
    if not knows_korean:
        yield "it knows no Korean: queries in Hangul are answered by words only"


def _agreed(what: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"{what}; nobody is here to be asked", "add --yes to go ahead")
    return click.confirm(f"{what}. Go ahead?", err=True)


def _write_model(model: ModelInfo) -> None:
    from kebab_tui.wire.encode import model as encoded

    write_json(encoded(model))
