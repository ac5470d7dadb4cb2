"""Options that several verbs share: filters, format, page.

Declares each option once, with its help and its check, and converts the given values to values of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

from kebab_tui.domain.document import CHUNK_KINDS, LANGUAGES, Trust
from kebab_tui.domain.errors import FilterError, UsageError
from kebab_tui.domain.facets import FACETS, FacetKind
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.query import FacetFilter, SearchFilters, facet_filters
from kebab_tui.workspace import Workspace

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Given = Mapping[str, Any]
"""Option name -> value, as click passes them."""

TRUST_LABELS = tuple(level.label for level in sorted(Trust, reverse=True))
_TYPES = Workspace.document_types()
_MOST = 1_000_000_000
_DATES = "dates are written 2026, 2026-01, 2026-01-31, 7d, 2w, today, yesterday"


_OPTION_OF = {"path": "path-glob", "trust": "trust-min"}
"""Filter key -> option, where their names differ."""


def _filter_of(key: str, value: str) -> SearchFilters:
    """The meaning of an option that does the same as a key of the query language."""

    def spelled(key: str, value: str) -> str:
        return f"--{_OPTION_OF.get(key, key)} {value or repr(value)}"

    try:
        return Workspace.filter_of(key, value, spelled)
    except FilterError as error:
        raise UsageError(error.message, error.hint) from None


class _FilterChoice(click.Choice[str]):
    """The values of a key that has only these; the error is that of the query language."""

    def __init__(self, key: str, choices: Sequence[str]) -> None:
        super().__init__(choices, case_sensitive=False)
        self._key = key

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if str(value).lower() not in self.choices:
            _filter_of(self._key, str(value))
        return super().convert(value, param, ctx)


def _checked(key: str) -> Callable[[click.Context, click.Parameter, Sequence[str]], Sequence[str]]:
    """A callback that checks every value of an option that may be repeated."""

    def check(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> Sequence[str]:
        for value in values:
            _filter_of(key, value)
        return values

    return check


def _facet_options(kind: FacetKind) -> Iterator[Callable[[Decorated], Decorated]]:
    one, several = f"this {kind.id}", f"these {kind.plural}"
    if kind.nested:
        one = f"{one} or one below it"
    elif kind.within:
        one, several = f"this in a {kind.id}", f"these in its {kind.plural}"
    for name, metavar, text in (
        (kind.id, kind.id.upper(), f"With {one}; repeated: with any of them."),
        (kind.plural, "A,B", f"With all of {several}."),
        (f"no-{kind.id}", kind.id.upper(), f"Without {one}."),
    ):
        yield click.option(
            f"--{name}", multiple=True, metavar=metavar, callback=_checked(kind.key or kind.id), help=text
        )


_FACETS = tuple(kind for kind in FACETS.values() if kind.key is not None)
_FILTERS = (
    *(option for kind in _FACETS for option in _facet_options(kind)),
    click.option("--type", "types", multiple=True, type=_FilterChoice("type", _TYPES), help="Of this type."),
    click.option(
        "--kind", "kinds", multiple=True, type=_FilterChoice("kind", CHUNK_KINDS), help="Prose or code."
    ),
    click.option(
        "--lang", "langs", multiple=True, type=_FilterChoice("lang", LANGUAGES), help="In this language."
    ),
    click.option(
        "--path-glob", "paths", multiple=True, metavar="GLOB", callback=_checked("path"),
        help="Below this path; * matches within one folder, ** across folders.",
    ),
    click.option("--in", "sources", multiple=True, metavar="SOURCE", help="In this source."),
    click.option(
        "--version", "--in-version", "versions", multiple=True, metavar="LABEL",
        help="In this version of a source, such as v1.2, instead of the present notes.",
    ),
    click.option("--trust-min", type=_FilterChoice("trust", TRUST_LABELS), help="At least this trust level."),
    click.option(
        "--after", metavar="DATE",
        help=f"Dated since this date by front matter or name, else changed since; {_DATES}.",
    ),
    click.option("--before", metavar="DATE", help="Dated or changed before this date."),
    *(
        click.option(f"--{sign}{key}", f"{sign}{key}".replace("-", "_"), multiple=True, metavar=metavar,
                     callback=_checked(key), help=f"{text}.")
        for sign, key, metavar, text in (
            ("", "modified", "DATE", "Only files changed since this date, or before <DATE"),
            ("", "links", "NOTE", "Only notes that link to this one"),
            ("no-", "links", "NOTE", "Only notes that do not link to this one"),
            ("", "linkedby", "NOTE", "Only notes that this one links to"),
            ("", "has", "KIND", "Only notes with any links, tasks, properties …"),
            ("no-", "has", "KIND", "Only notes without any"),
        )
    ),
    click.option("--doc-id", "doc_ids", multiple=True, metavar="ID", help="Only this note."),
)  # fmt: skip


def filter_options(command: Decorated) -> Decorated:
    """Add every filter option; `filters_from` converts them."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def page_options(*spellings: str, most: int = _MOST, otherwise: str) -> Callable[[Decorated], Decorated]:
    """Add the limit, with these spellings, and `--offset`."""

    def add(command: Decorated) -> Decorated:
        number, start = click.IntRange(1, most), click.IntRange(0, _MOST)
        offset = click.option("--offset", type=start, default=0, metavar="N", help="Skip the first N.")
        limit = click.option(*spellings, "limit", type=number, metavar="N", help=f"At most N; {otherwise}.")
        return limit(offset(command))

    return add


def format_options(*formats: str) -> Callable[[Decorated], Decorated]:
    """Add `--format`, and `--json` as its short form; the first format is the default."""

    def add(command: Decorated) -> Decorated:
        form = click.option("--format", "form", type=click.Choice(formats), help="The output format.")
        as_json = click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
        return as_json(form(command))

    return add


def chosen_format(given: Given) -> str:
    form, as_json = given["form"], given["as_json"]
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} exclude each other", "leave one of them out")
    return "json" if as_json else form or "human"


def share(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Check a score."""
    if value is not None and not 0 <= value <= 1:  # NaN fails here too
        raise click.BadParameter("expected a score from 0 to 1")
    return value


def raw_score(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Check a sum of reciprocal ranks."""
    if value is not None and not 0 <= value < float("inf"):
        raise click.BadParameter("expected a number from 0, such as 0.02")
    return value


def filters_from(given: Given, workspace: Workspace) -> SearchFilters:
    """Convert the filter options; an unknown source is an error, because it would find nothing."""
    names, trust = given["sources"], given["trust_min"]
    after, before = given["after"], given["before"]
    if names and (known := [source.source_id for source in workspace.sources()]):
        for name in names:
            if name not in known:
                raise UsageError(f"there is no source named {name!r}", f"the sources are: {', '.join(known)}")
    facets: list[FacetFilter] = []
    for kind in _FACETS:
        facets += facet_filters(kind, "any", given[kind.id])
        facets += facet_filters(kind, "all", ",".join(given[kind.plural]).split(","))
        facets += facet_filters(kind, "none", given[f"no_{kind.id}"])
    more = SearchFilters()
    for key in ("modified", "links", "linkedby", "has"):
        for value in given[key]:
            more = Workspace.merge_filters(more, _filter_of(key, value))
    for key in ("links", "has"):
        for value in given[f"no_{key}"]:
            more = Workspace.merge_filters(more, _filter_of(key, value).excluding())
    return SearchFilters(
        facets=tuple(facets),
        types=given["types"],
        kinds=given["kinds"],
        langs=given["langs"],
        sources=tuple(SourceId(name) for name in names),
        versions=given["versions"],
        paths=given["paths"],
        trust_min=None if trust is None else Trust.parse(trust),
        after_ns=None if after is None else _filter_of("after", after).after_ns,
        before_ns=None if before is None else _filter_of("before", before).before_ns,
        doc_ids=tuple(DocId(doc_id) for doc_id in given["doc_ids"]),
        modified_after_ns=more.modified_after_ns,
        modified_before_ns=more.modified_before_ns,
        links=more.links,
        has=more.has,
    )
