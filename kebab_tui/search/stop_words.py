"""Words so common that a relaxed search does better without them."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about an and any are as at be been but by can could did do does for from had has have how i if in
    into is it its me my no not of on or our should so than that the their them then there these they
    this those to us was we were what when where which who why will with would you your
    것 것을 것이 그 그것 그런 그리고 너무 더 때 또는 무엇 무엇을 및 뭐 수 어디 어떤 어떻게 언제 왜 이 이것
    이런 있나 있는 있다 저 좀 등 하는 하나 하려면
    """.split()  # noqa: SIM905 -- running text is easier to read than a list of quoted words
)
