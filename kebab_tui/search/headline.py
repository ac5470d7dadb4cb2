"""An explanation in one sentence, and a hit compared with another one.

Both say only what the tree of numbers says: which of the words a passage has, how close it is in meaning,
what put it there beside its score. The parts of a comparison add up to the difference of the two scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from kebab_tui.domain.hit import Correction, SearchHit
from kebab_tui.domain.text import format_sum
from kebab_tui.search.match import All, Any, Match, Not, Raw, Term
from kebab_tui.search.match_tree import SoughtWord
from kebab_tui.search.ports import FieldCounts

if TYPE_CHECKING:
    from kebab_tui.search.explanation import Explanation
    from kebab_tui.search.ranking import Fused, FusionSettings

CLOSE = 0.6
SOMEWHAT_CLOSE = 0.4
_ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")
_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MOST_NAMED = 3
_DIGITS = 2
_MOST_DIGITS = 4
_FIELDS = FieldCounts._fields
_BY_NAME = "first by name"
"""The part that lifts the score of a note whose name is the query to 1."""
_IS_NAMED = "the query is a name of that note"


class FoundWord(NamedTuple):
    """A word or phrase of the query, and where a passage has it."""

    text: str
    kind: str
    found: bool
    in_heading: bool = False
    in_name: bool = False


class ComparedPart(NamedTuple):
    """A part of two scores. `measure`, `other_measure`: what it was computed from, as a cosine or a rank."""

    label: str
    value: float
    other: float
    measure: float = 0.0
    other_measure: float = 0.0

    @property
    def loss(self) -> float:
        return self.other - self.value


@dataclass(frozen=True, slots=True)
class HitComparison:
    """A hit beside one with a better rank. The losses of the parts sum to the difference of the scores.

    `reason`: what orders the two if their scores do not. `decides`: the label of the part that costs most.
    """

    other_rank: int
    score: float
    other_score: float
    parts: tuple[ComparedPart, ...]
    text: str
    reason: str = ""

    @property
    def difference(self) -> float:
        return self.other_score - self.score

    @property
    def decides(self) -> str:
        most = max(self.parts, key=lambda part: part.loss, default=None)
        return most.label if most is not None and most.loss > 0 else ""

    @property
    def digits(self) -> int:
        """Digits with which the difference does not read as zero."""
        return _DIGITS if abs(self.difference) >= 0.1**_DIGITS or not self.difference else _MOST_DIGITS

    def losses(self) -> tuple[list[str], str]:
        """The losses of the parts and their sum as printed numbers, which add up."""
        return format_sum([part.loss for part in self.parts], self.digits)


def ordinal(rank: int) -> str:
    return _ORDINALS[rank - 1] if 0 < rank <= len(_ORDINALS) else f"Place {rank:,}"


# Words


def found_words(
    sought: Sequence[SoughtWord], phrases: Sequence[Term], bm25: Explanation
) -> tuple[FoundWord, ...]:
    """Which of the words a passage has, by the counts in the tree of its bm25."""
    counts = {
        phrase: FieldCounts(*(int(count.value) for count in term.at("tf").children[::2]))
        for phrase, term in zip(phrases, bm25.children, strict=True)
    }
    return tuple(
        FoundWord(
            word.text, word.kind, _holds(word.match, counts, _FIELDS),
            _holds(word.match, counts, ("heading",)), _holds(word.match, counts, ("title",)),
        )
        for word in sought
    )  # fmt: skip


def _holds(match: Match, counts: Mapping[Term, FieldCounts], fields: Sequence[str]) -> bool:
    if isinstance(match, Any):
        return any(_holds(part, counts, fields) for part in match.parts)
    if isinstance(match, All):
        return all(_holds(part, counts, fields) for part in match.parts)
    if isinstance(match, Not):
        return _holds(match.part, counts, fields)
    if isinstance(match, Raw):
        return False
    return match in counts and any(getattr(counts[match], field) for field in fields)


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count}"


def words_clause(words: Sequence[FoundWord], *, relaxed: bool) -> str:
    """`all 2 words, one in the heading`."""
    found = [word for word in words if word.found]
    noun = {"phrase": "phrase", "prefix": "beginning"}.get(words[0].kind, "word") if words else "word"
    if len({word.kind for word in words}) > 1:
        noun = "words and phrases"
    elif len(words) > 1:
        noun += "s"
    if len(words) == 1 and found:
        clause = f"the {noun} “{words[0].text}”"
    elif len(found) == len(words):
        clause = f"all {len(words)} {noun}" + (" except common ones" if relaxed else "")
    else:
        clause = f"{len(found)} of {len(words)} {noun}"
        missing = [f"“{word.text}”" for word in words if not word.found]
        if relaxed and len(missing) <= _MOST_NAMED:
            clause += f" (not {' or '.join(missing)})"
    for where, count in (
        ("in the heading", sum(word.in_heading for word in words)),
        ("in a name of the note", sum(word.in_name for word in words)),
    ):
        if count:
            how_many = "" if len(words) == 1 else "all " if count == len(words) else f"{_number(count)} "
            return f"{clause}, {how_many}{where}"
    return clause


# The sentence


@dataclass(frozen=True, slots=True)
class HitFacts:
    """What a sentence may say of a hit beside the numbers of its tree."""

    hit: SearchHit
    rank: int
    words: tuple[FoundWord, ...] = ()
    corrections: tuple[Correction, ...] = ()
    fused: Fused | None = None
    settings: FusionSettings | None = None
    is_raw: bool = False


def closeness(cosine: float) -> str:
    """In words, by the cosine as it is printed."""
    cosine = round(cosine, _DIGITS)
    return "close" if cosine >= CLOSE else "somewhat close" if cosine >= SOMEWHAT_CLOSE else "not close"


def headline(facts: HitFacts) -> str:
    """Why a hit has its place."""
    hit, fused, detail = facts.hit, facts.fused, facts.hit.retrieval
    is_keyword = hit.score_kind == "bm25" and fused is None
    by_words = (fused.evidence.lexical_rank if fused else detail.lexical_rank) is not None
    is_named = fused.named if fused else hit.score_kind == "name"
    clauses: list[str] = []
    if by_words and facts.is_raw:
        clauses.append("it matches the raw query")
    elif by_words and facts.words:
        clauses.append(words_clause(facts.words, relaxed=hit.relaxed))
    clauses += _meaning(facts, by_words=by_words)
    if fused and fused.evidence.name and not fused.named and facts.settings and facts.settings.rerank:
        clauses.append(f"a name like the query ({fused.evidence.name:.2f})")
    if is_keyword and by_words and clauses:
        clauses[0] += f" (keyword score {hit.score:.2f})"
    named = ["the query is a name of its note"] if is_named else []
    main = "; ".join((*named, *([_joined(clauses)] if clauses else [])))
    sentences = [main or "listed by the filters without a score, most recently changed first"]
    sentences += _remarks(facts, by_words=by_words)
    first, *others = sentences
    return " ".join((f"{ordinal(facts.rank)}: {first}.", *(f"{one[0].upper()}{one[1:]}." for one in others)))


def _meaning(facts: HitFacts, *, by_words: bool) -> list[str]:
    fused, detail = facts.fused, facts.hit.retrieval
    cosine = fused.evidence.cosine if fused else detail.vector_score
    if cosine is None:
        if fused is None or fused.assumed_cosine is None:
            return []
        return [f"not embedded yet, so its similarity is estimated ({fused.assumed_cosine:.2f})"]
    cosine = max(cosine, 0.0)
    degree = closeness(cosine)
    by_name = fused is not None and bool(fused.evidence.name) and fused.evidence.vector_rank is None
    is_only = not by_words and not by_name and detail.method == "hybrid"
    other = ", in the other language" if fused and fused.evidence.other_script else ""
    if detail.method == "vector" and facts.rank == 1:
        return [f"closest in meaning ({cosine:.2f})"]
    if is_only:
        return [f"by meaning only, {degree} ({cosine:.2f}){other}"]
    return [f"{degree} in meaning ({cosine:.2f}){other}"]


def _joined(clauses: Sequence[str]) -> str:
    *before, last = clauses
    if not before:
        return last
    comma = "," if len(before) > 1 or "," in before[0] else ""
    return f"{', '.join(before)}{comma} and {last}"


def _remarks(facts: HitFacts, *, by_words: bool) -> list[str]:
    hit, fused, settings = facts.hit, facts.fused, facts.settings
    remarks = []
    if fused is not None and settings is not None:
        if not settings.rerank:
            legs = {"words": fused.evidence.lexical_rank, "meaning": fused.evidence.vector_rank}
            ranks = [f"{rank:,} by {leg}" for leg, rank in legs.items() if rank is not None]
            order = (
                f"ordered by its ranks: {' and '.join(ranks)}" if ranks else "no list of the fusion has it"
            )
            remarks.append(order)
        elif fused.kept_place:
            remarks.append("its place was kept for the other language")
        elif fused.name_place:
            remarks.append("its place was kept for its name")
        elif fused.rerank_rank is None:
            remarks.append(f"it is not among the best {settings.rerank_depth} of the fusion")
    if hit.further:
        remarks.append("further keyword matches are listed behind the others, by words alone")
    if hit.distant:
        remarks.append("nothing nearer was found")
    if by_words:
        remarks += [f"“{one.typed}” was searched as “{one.searched}”" for one in facts.corrections]
    return remarks


# Comparison


def score_parts(tree: Explanation) -> dict[str, tuple[float, float]]:
    """The parts that the score of a tree is the sum of, each with what it was computed from."""
    step = tree.children[0] if tree.children else tree
    if step.label == "name" and len(tree.children) > 1:
        rest = tree._replace(value=tree.children[1].value, children=tree.children[1:])
        return score_parts(rest) | {_BY_NAME: (tree.value - rest.value, 1.0)}
    if step.label == "rerank":
        raw, whole = step.children
        measured = {"words": "of the best", "meaning": "cosine", "name": "match"}
        return {
            part.label: (
                part.value / whole.value,
                part.at(measured[part.label]).value if part.children else 0.0,
            )
            for part in raw.children
        }
    if step.label == "fused":
        raw, whole = step.children
        return {
            part.label: (part.value / whole.value, part.at("rank").value if part.children else 0.0)
            for part in raw.children
        }
    if step.label == "words" and step.children:
        bm25 = step.children[0]
        found: dict[str, tuple[float, float]] = {}
        for term in bm25.children if bm25.value else ():
            share, count = found.get(term.label, (0.0, 0.0))
            found[term.label] = share + tree.value * term.value / bm25.value, count + term.at("tf").value
        return found
    label = step.label if step.label in ("words", "meaning") else "score"
    return {label: (tree.value, tree.value)}


@dataclass(frozen=True, slots=True)
class Compared:
    """One side of a comparison. `hit` and `words` are missing of a candidate that is not on the page."""

    rank: int
    tree: Explanation
    fused: Fused | None = None
    hit: SearchHit | None = None
    words: tuple[FoundWord, ...] = ()


def compare(mine: Compared, other: Compared, settings: FusionSettings | None) -> HitComparison:
    """Why `mine` comes after `other`."""
    own, others = score_parts(mine.tree), score_parts(other.tree)
    if _ordering(mine.tree) != _ordering(other.tree):
        own, others = {"score": (mine.tree.value, 0.0)}, {"score": (other.tree.value, 0.0)}
    labels = dict.fromkeys((*others, *own))
    none = (0.0, 0.0)
    parts = []
    for label in labels:
        (value, measure), (theirs, their_measure) = own.get(label, none), others.get(label, none)
        parts.append(ComparedPart(label, value, theirs, measure, their_measure))
    reason = _reason(mine, other, settings)
    found = HitComparison(other.rank, mine.tree.value, other.tree.value, tuple(parts), "", reason)
    return replace(found, text=_text(found, mine, other))


def _ordering(tree: Explanation) -> str:
    """The label of the step that orders hits, those of the name tier among each other."""
    return next((step.label for step in tree.children if step.label != "name"), "")


def _reason(mine: Compared, other: Compared, settings: FusionSettings | None) -> str:
    """What puts `other` first whatever the scores are; empty if the scores decide."""
    if other.fused is not None:
        if other.fused.named:
            return _IS_NAMED
        if settings is not None and settings.rerank:
            if other.fused.kept_place:
                return "a place was kept there for the other language"
            if other.fused.name_place:
                return "a place was kept there for its name"
            if mine.fused is not None and mine.fused.rerank_rank is None and other.fused.rerank_rank:
                return f"this one is not among the best {settings.rerank_depth} of the fusion"
    if mine.hit is None or other.hit is None:
        return ""
    if other.hit.score_kind == "name" != mine.hit.score_kind:
        return _IS_NAMED
    if mine.hit.further and not other.hit.further:
        return "further keyword matches are listed behind the others, by words alone"
    if mine.hit.score_kind == "bm25" and mine.hit.relaxed and not other.hit.relaxed:
        return "passages with all the words come first"
    return ""


def _text(found: HitComparison, mine: Compared, other: Compared) -> str:
    losses, total = found.losses()
    who = ordinal(found.other_rank).lower()
    who = who if who.startswith("place") else f"the {who}"
    if found.difference > 0:
        head = f"{total} below {who}"
    elif found.difference < 0:
        head = f"{total.lstrip('-')} more than {who}, yet after it"
    else:
        head = f"the same score as {who}"
    is_by_name = any(part.label == _BY_NAME for part in found.parts)
    clauses = [found.reason] if found.reason and not is_by_name else []
    changed = sum(bool(float(loss)) for loss in losses)
    ranked = sorted(zip(found.parts, losses, strict=True), key=lambda pair: -pair[0].loss)
    for part, loss in ranked:
        if clause := _part_clause(part, loss, mine, other, is_alone=changed == 1):
            clauses.append(clause)
    if not clauses:
        clauses.append("by its score" if found.difference else "a tie, in a fixed order")
    return f"{head}: {'; '.join(clauses)}"


def _beside(measure: float, other: float) -> str:
    """Both with as many digits as it takes to tell them apart, up to four."""
    digits = _DIGITS if f"{measure:.{_DIGITS}f}" != f"{other:.{_DIGITS}f}" else _MOST_DIGITS
    return f"({measure:.{digits}f} against {other:.{digits}f})"


def _part_clause(part: ComparedPart, loss: str, mine: Compared, other: Compared, *, is_alone: bool) -> str:
    number = "" if is_alone else f", {-float(loss):+.{len(loss.rpartition('.')[2])}f}"
    measures = _beside(part.measure, part.other_measure)
    step = _ordering(mine.tree)
    is_same, is_less = not float(loss), part.loss > 0
    if part.label == "score":
        return ""
    if part.label == _BY_NAME:
        return f"{_IS_NAMED}{number}" if is_less else ""
    if step == "fused":
        ranks = [f"{int(rank):,}" if rank else "none" for rank in (part.measure, part.other_measure)]
        ranked = f"rank by {part.label} {ranks[0]} against {ranks[1]}"
        if is_same:
            return f"same rank by {part.label}" if part.value else ""
        return f"{ranked}{number}"
    if part.label == "meaning":
        if is_same:
            return "same meaning" if part.value else ""
        return f"{'less close' if is_less else 'closer'} in meaning {measures}{number}"
    if part.label == "name" and step == "rerank":
        if is_same:
            return "same name" if part.value else ""
        return f"{'a less' if is_less else 'a more'} similar name {measures}{number}"
    if part.label == "words" and step == "rerank":
        return _compared_words(is_same, is_less, measures, number, part, mine, other)
    if is_same:
        return ""
    if part.label == "words":
        return f"a {'lower' if is_less else 'higher'} keyword score {measures}"
    return f"{'less' if is_less else 'more'} of “{part.label}”{number}"


def _compared_words(
    is_same: bool,
    is_less: bool,
    measures: str,
    number: str,
    part: ComparedPart,
    mine: Compared,
    other: Compared,
) -> str:
    if is_same:
        return "same words" if part.value else ""
    if mine.words and other.words:
        own, theirs = (sum(word.found for word in one.words) for one in (mine, other))
        if (own < theirs) is is_less and own != theirs:
            return f"{'fewer' if is_less else 'more'} of the words ({own} against {theirs}){number}"
    return f"{'weaker' if is_less else 'stronger'} in words {measures}{number}"
