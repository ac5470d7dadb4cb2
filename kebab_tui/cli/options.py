"""Options that several verbs share: filters, format, page.

Declares each option once, with its help and its check, and converts the given values to values of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from kebab_tui.cli.command import option
from kebab_tui.cli.output import working_folder
from kebab_tui.domain.document import CHUNK_KINDS, LANGUAGES, Trust
from kebab_tui.domain.errors import FilterError, UsageError
from kebab_tui.domain.facets import FACETS, FacetKind
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.query import FacetFilter, SearchFilters, facet_filters
from kebab_tui.domain.scope import SourcePart
from kebab_tui.workspace import Workspace

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Given = Mapping[str, Any]
"""Option name -> value, as click passes them."""

TRUST_LABELS = tuple(level.label for level in sorted(Trust, reverse=True))
_TYPES = Workspace.document_types()
_MOST = 1_000_000_000
OUTPUT = "Output"
"""The heading of options for the printed results."""


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


_SOURCES, FILTERS = "What to search", "Filters"
_NOUNS = {"prop": "property"}
"""Facet -> its name in help texts, if that is not its id."""


def _facet_options(kind: FacetKind) -> Iterator[Callable[[Decorated], Decorated]]:
    noun = _NOUNS.get(kind.id, kind.id)
    one, several = f"this {noun}", f"these {kind.plural}"
    if kind.nested:
        one = f"{one} or one below it"
    elif kind.within:
        one, several = f"this in a {noun}", f"these in its {kind.plural}"
    metavar = "KEY[=VALUE]" if kind.compared else kind.id.upper()
    for name, shown, text in (
        (kind.id, metavar, f"With {one}; repeat it for any of several."),
        (kind.plural, "A,B", f"With all of {several}."),
        (f"no-{kind.id}", metavar, f"Without {one}."),
    ):
        yield option(
            f"--{name}", multiple=True, metavar=shown, callback=_checked(kind.key or kind.id), group=FILTERS,
            help=text,
        )  # fmt: skip


_FACETS = tuple(kind for kind in FACETS.values() if kind.key is not None)
_OPTIONS = (
    option(
        "--in", "sources", multiple=True, metavar="SOURCE", group=_SOURCES,
        help="Only this source; repeat it for several.",
    ),
    option(
        "--path-glob", "paths", multiple=True, metavar="GLOB", callback=_checked("path"), group=_SOURCES,
        help="Only below this path; * matches within one folder, ** across folders.",
    ),
    option(
        "--version", "versions", multiple=True, metavar="LABEL", group=_SOURCES, also=("--in-version",),
        help="This version of a source, such as v1.2, instead of the present notes.",
    ),
    option("--doc-id", "doc_ids", multiple=True, metavar="ID", group=_SOURCES, help="Only this note."),
    option(
        "--type", "types", multiple=True, type=_FilterChoice("type", _TYPES), metavar="TYPE", group=FILTERS,
        help=f"Only this type: {', '.join(_TYPES)}.",
    ),
    option(
        "--kind", "kinds", multiple=True, type=_FilterChoice("kind", CHUNK_KINDS), metavar="KIND",
        group=FILTERS, help="Only prose (info) or code.",
    ),
    option(
        "--lang", "langs", multiple=True, type=_FilterChoice("lang", LANGUAGES), metavar="LANG",
        group=FILTERS, help=f"Only this language: {', '.join(LANGUAGES)}.",
    ),
    *(one for kind in _FACETS for one in _facet_options(kind)),
    option(
        "--after", metavar="DATE", group=FILTERS,
        help="From this date on, as stated in front matter or name, else of the file. "
        "DATE: 2026, 2026-01, 2026-01-31, 7d, 2w, today or yesterday.",
    ),
    option("--before", metavar="DATE", group=FILTERS, help="Before this date."),
    *(
        option(f"--{sign}{key}", f"{sign}{key}".replace("-", "_"), multiple=True, metavar=metavar,
               callback=_checked(key), group=FILTERS, help=f"{text}.")
        for sign, key, metavar, text in (
            ("", "modified", "DATE", "With a file changed since this date, or before <DATE"),
            ("", "links", "NOTE", "With a link to this note"),
            ("no-", "links", "NOTE", "Without a link to this note"),
            ("", "linkedby", "NOTE", "With a link from this note"),
            ("", "has", "WHAT", "With any links, tasks, properties, tags, aliases, titles, dates or urls"),
            ("no-", "has", "WHAT", "Without any"),
        )
    ),
    option(
        "--trust-min", type=_FilterChoice("trust", TRUST_LABELS), metavar="LEVEL", group=FILTERS,
        help=f"At least this trust level: {', '.join(TRUST_LABELS)}.",
    ),
)  # fmt: skip


def filter_options(command: Decorated) -> Decorated:
    """Add every filter option; `filters_from` converts them."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def scope_option(command: Decorated) -> Decorated:
    """Add `--all`, which turns `scope_here` off."""
    text = "All sources; without it only the one around the working folder, if there is one."
    return option("--all", "everywhere", is_flag=True, group=_SOURCES, help=text)(command)


def scope_here(given: Given, workspace: Workspace, text: str = "") -> SourceId | None:
    """The source around the working folder; None if it is the only one, or others are named."""
    stated = Workspace.parse(text).filters
    if given["everywhere"] or given["sources"] or given["doc_ids"] or stated.sources or stated.doc_ids:
        return None
    here = working_folder()
    around = workspace.source_around(here) if here else None
    return around.source if around is not None and len(workspace.source_ids()) > 1 else None


def within(filters: SearchFilters, scope: SourceId | None) -> SearchFilters:
    """The filters, in one source if there is a scope."""
    return filters if scope is None else replace(filters, scope=(SourcePart(scope),))


def page_options(
    *, default: str = "10", most: int = _MOST, also: Sequence[str] = ()
) -> Callable[[Decorated], Decorated]:
    """Add `--limit`, with other spellings, and `--offset`."""

    def add(command: Decorated) -> Decorated:
        command = option(
            "--offset", type=click.IntRange(0, _MOST), default=0, metavar="N", group=OUTPUT,
            help="Skip the first N results.",
        )(command)  # fmt: skip
        return option(
            "-n", "--limit", "limit", type=click.IntRange(1, most), metavar="N", also=also, group=OUTPUT,
            help=f"Number of results (default: {default}).",
        )(command)  # fmt: skip

    return add


def format_options(*formats: str) -> Callable[[Decorated], Decorated]:
    """Add `--format`, and `--json` as its short form; the first format is the default."""

    def add(command: Decorated) -> Decorated:
        command = option("--json", "as_json", is_flag=True, group=OUTPUT, help="Short for --format json.")(
            command
        )
        return option(
            "--format", "form", type=click.Choice(formats), metavar="FORMAT", group=OUTPUT,
            help=f"The output format: {', '.join(formats)}.",
        )(command)  # fmt: skip

    return add


def chosen_format(given: Given, default: str = "human") -> str:
    form, as_json = given["form"], given["as_json"]
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} cannot be combined", "use one of them")
    return "json" if as_json else form or default


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
