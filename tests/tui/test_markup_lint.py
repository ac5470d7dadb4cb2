"""No `str` reaches a widget of the screen where Textual would read it as markup.

Reads the sources of `kebab_tui/tui`. A text of ours, written out and without a bracket,
is fine; so is `Content`, in whatever way it can be seen to be that; so is `markup=False`.
Everything else given to a place that parses markup is a violation, whether or not it could
hold a bracket today. Knows types only by what the sources say of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

import kebab_tui

_PACKAGE = Path(kebab_tui.__file__).parent
_SINKS = {"Static", "Label", "OptionList", "Option", "Button", "Tooltip", "notify"}
_SINKS_OF_SOME = {"update", "set_content"}
"""Methods that dicts and sets have too: only what is seen to be a `str` is a violation."""
_PARSED_ATTRIBUTES = {"border_title", "border_subtitle", "tooltip", "BORDER_TITLE", "BORDER_SUBTITLE"}
_MARKUP_MAKERS = {"from_markup", "to_content", "escape_markup"}
_SAFE_TYPES = {"Content", "Strip", "Text", "Visual"}
_MAKES_STR = {"str", "join", "format", "strip", "clean", "visible", "cut", "repr", "replace"}

Kind = Literal["safe", "str", "unknown"]
Types = dict[str, str]


def violations(source: str, known: Types) -> Iterator[str]:
    """What a module gives to a place that parses markup, as `line: code`."""
    tree = ast.parse(source)
    for scope in _scopes(tree):
        types = known | _types_in(scope)
        for node in _own_nodes(scope):
            if any(_is_violation(node, types)):
                yield f"{getattr(node, 'lineno', 0)}: {ast.unparse(node)}"


def _is_violation(node: ast.AST, types: Types) -> Iterator[bool]:
    if isinstance(node, ast.Attribute | ast.Name):
        yield (node.attr if isinstance(node, ast.Attribute) else node.id) in _MARKUP_MAKERS
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(_name(target) in _PARSED_ATTRIBUTES for target in targets):
            yield _kind(node.value, types) != "safe"
    elif isinstance(node, ast.Call):
        yield from _call_is_violation(node, types)


def _call_is_violation(call: ast.Call, types: Types) -> Iterator[bool]:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    plain = keywords.get("markup")
    if isinstance(plain, ast.Constant) and plain.value is False:
        return
    given = [*call.args, *(keywords[name] for name in ("content", "message", "label") if name in keywords)]
    if _name(call.func) in _SINKS:
        yield from (_kind(value, types) != "safe" for value in given)
    elif _name(call.func) in _SINKS_OF_SOME:
        yield from (_kind(value, types) == "str" for value in given)


def _kind(value: ast.expr, types: Types) -> Kind:
    match value:
        case ast.Constant(value=str(text)):
            return "str" if "[" in text else "safe"
        case ast.Constant():
            return "safe"
        case ast.JoinedStr():
            return "str"
        case ast.Starred(value=inner) | ast.Await(value=inner) | ast.NamedExpr(value=inner):
            return _kind(inner, types)
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            return _kind(element, types)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return _weakest([_kind(element, types) for element in elements])
        case ast.IfExp(body=body, orelse=other) | ast.BinOp(left=body, right=other):
            return _weakest([_kind(body, types), _kind(other, types)])
        case ast.BoolOp(values=values):
            return _weakest([_kind(part, types) for part in values])
        case ast.Call(func=called):
            return _kind_of_call(called, types)
        case _:
            return _kind_of_type(types.get(_name(value), ""))


def _kind_of_call(called: ast.expr, types: Types) -> Kind:
    names = [part.id for part in ast.walk(called) if isinstance(part, ast.Name)]
    if _name(called) in {*_SAFE_TYPES, "Option"} or names == ["Content"]:
        return "safe"
    return _kind_of_type(types.get(f"{_name(called)}()", "str" if _name(called) in _MAKES_STR else ""))


def _kind_of_type(annotation: str) -> Kind:
    if annotation.split("[")[0].split(".")[-1] in _SAFE_TYPES:
        return "safe"
    return "str" if annotation == "str" else "unknown"


def _weakest(kinds: list[Kind]) -> Kind:
    return "str" if "str" in kinds else "unknown" if "unknown" in kinds else "safe"


def _name(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, those of the functions inside it left to themselves."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _own_nodes(child)


def _types_in(scope: ast.AST) -> Types:
    """What the names of a scope are said to be: parameters, annotated names, names made of Content."""
    found: Types = {}
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        for parameter in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs):
            found[parameter.arg] = ast.unparse(parameter.annotation) if parameter.annotation else ""
    for node in _own_nodes(scope):
        if isinstance(node, ast.AnnAssign):
            found[_name(node.target)] = ast.unparse(node.annotation)
        elif isinstance(node, ast.Assign) and _kind(node.value, found) == "safe":
            values = not isinstance(node.value, ast.Constant)
            found |= {_name(target): "Content" for target in node.targets if values}
    return found


def _returned(tree: ast.Module) -> Types:
    """What the functions of a module return (`name()`), and its fields and properties (`name`) are."""
    found: Types = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            is_property = any(_name(decorator) == "property" for decorator in node.decorator_list)
            found[node.name if is_property else f"{node.name}()"] = ast.unparse(node.returns)
        elif isinstance(node, ast.AnnAssign):
            found.setdefault(_name(node.target), ast.unparse(node.annotation))
    return found


@cache
def _known() -> Types:
    """Names that have one type wherever the domain and the screen speak of them."""
    known: Types = {}
    for path in [*_PACKAGE.glob("domain/*.py"), *_PACKAGE.glob("tui/**/*.py")]:
        for name, kind in _returned(ast.parse(path.read_text())).items():
            known[name] = kind if known.get(name, kind) == kind else ""
    return known


@pytest.mark.parametrize("path", sorted(_PACKAGE.glob("tui/**/*.py")), ids=lambda path: path.stem)
def test_no_str_reaches_a_widget_as_markup(path: Path) -> None:
    assert list(violations(path.read_text(), _known())) == []


_KNOWN = {"title": "str", "heading()": "Content", "words()": "str", "path": ""}


@pytest.mark.parametrize(
    "code",
    [
        "Static(f'{hit.title}')",
        "Static(hit.title)",
        "Static(words())",
        "Label(name)",
        "yield_ = Static('a [b] c')",
        "OptionList(*[hit.title for hit in hits])",
        "Option(hit.title)",
        "self.notify(message)",
        "self.notify('saved ' + name)",
        "self.notify(message=str(error))",
        "self.notify(text, markup=True)",
        "panel.update(f'{count} hits')",
        "panel.update(', '.join(names))",
        "def show(text: str) -> None:\n    panel.update(text)",
        "pane.border_title = f'{mode}'",
        "pane.border_title = mode",
        "Content.from_markup(text)",
        "Static(Content.from_markup(text))",
        "Static(clean(text))",
    ],
)
def test_the_lint_sees_a_violation(code: str) -> None:
    assert list(violations(code, _KNOWN))


@pytest.mark.parametrize(
    "code",
    [
        "Static('a plain word')",
        "Static()",
        "Static(Content(text), id='x')",
        "Static(content(text))",
        "Static(heading())",
        "Static(self.heading())",
        "Static(text, markup=False)",
        "self.notify(clean(text), markup=False, title='Copied')",
        "def show(text: Content) -> None:\n    panel.update(text)",
        "made = Content.assemble((text, 'bold'))\npanel.update(made)",
        "OptionList(*[Option(Content(hit.title)) for hit in hits])",
        "styles.update({'a': 1})",
        "seen.update(names)",
        "pane.border_title = Content(mode)",
        "Static(Content(a) if a else heading())",
    ],
)
def test_the_lint_lets_content_pass(code: str) -> None:
    assert list(violations(code, {**_KNOWN, "content()": "Content"})) == []
