"""Finds the functions, classes and other named parts of source code, with tree-sitter.

Runs foreign code (the grammars) on untrusted bytes: call it in the isolated child only. Each grammar has a
query. Its captures: a kind of symbol, with `@name`; `@owner`, the type or object that the symbol belongs to
without being inside it; `@declarator`, a declaration of C in which the name is nested; `@above`, a comment,
decorator or attribute, which belongs to the symbol below it; `@before`, the parameters of a template.

Lines are 1-based and inclusive.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from kebab_tui.domain.checkpoint import Checkpoint, TookTooLongError, too_long
from kebab_tui.formats.code_languages import Symbol, language_of_file

_BLOCK = 64 * 1024
"""Bytes that the parser reads at a time."""
_LONGEST_NAME = 80
_MOST_DECLARATORS = 20
_MOST_PAIRS_IN_ERRORS = 500_000_000
_OWNER = re.compile(r"(?!(?:module\.)?exports$|this$|self$|window$|globalThis$)[\w$.]+")
"""An object whose name says something about its members."""

_C = """
(comment) @above
(function_definition declarator: (_) @declarator) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @union
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition type: (struct_specifier !name body: (_)) declarator: (type_identifier) @name) @struct
(type_definition type: (union_specifier !name body: (_)) declarator: (type_identifier) @name) @union
(type_definition type: (enum_specifier !name body: (_)) declarator: (type_identifier) @name) @enum
"""
_JAVASCRIPT = """
[(comment) (decorator)] @above
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(function_expression name: (_) @name) @function
(class name: (_) @name) @class
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression left: (identifier) @name
  right: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: (member_expression object: (_) @owner property: (_) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @method
(assignment_expression left: (member_expression object: (_) @owner property: (_) @name) right: (class)) @class
(pair key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)]) @method
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(function_signature name: (_) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(class_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(type_alias_declaration name: (_) @name) @type
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
"""
)
QUERIES = {
    "bash": """
(comment) @above
(function_definition name: (_) @name) @function
""",
    "c": _C,
    "cpp": _C
    + """
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: [(template_type) (qualified_identifier)] @name body: (_)) @struct
(template_parameter_list) @before
(namespace_definition name: (_) @name) @namespace
""",
    "csharp": """
(comment) @above
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(struct_declaration name: (_) @name) @struct
(record_declaration name: (_) @name) @record
(enum_declaration name: (_) @name) @enum
(namespace_declaration name: (_) @name) @namespace
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(destructor_declaration name: (_) @name) @method
(local_function_statement name: (_) @name) @function
(property_declaration name: (_) @name accessors: (accessor_list (accessor_declaration body: (_)))) @method
""",
    "go": """
(comment) @above
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (type_identifier) @owner
  (generic_type type: (_) @owner)
  (pointer_type (type_identifier) @owner)
  (pointer_type (generic_type type: (_) @owner))])) name: (_) @name) @method
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name
  type: [(function_type) (map_type) (slice_type) (type_identifier) (qualified_type) (pointer_type)]) @type
""",
    "java": """
[(line_comment) (block_comment)] @above
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @record
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(method_declaration name: (_) @name) @method
(annotation_type_element_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(compact_constructor_declaration name: (_) @name) @method
""",
    "javascript": _JAVASCRIPT
    + """
(class_declaration name: (_) @name) @class
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
""",
    "python": """
[(comment) (decorator)] @above
(function_definition name: (_) @name) @function
(class_definition name: (_) @name) @class
""",
    "ruby": """
(comment) @above
(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
""",
    "rust": """
[(line_comment) (block_comment) (attribute_item)] @above
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @union
(enum_item name: (_) @name) @enum
(trait_item name: (_) @name) @trait
(impl_item !trait type: (_) @name) @impl
(impl_item trait: (_) @owner type: (_) @name) @impl
(mod_item name: (_) @name body: (_)) @module
(macro_definition name: (_) @name) @type
""",
    "tsx": _TYPESCRIPT,
    "typescript": _TYPESCRIPT,
}
_GRAMMARS = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
"""The module of each grammar, imported at its first file, and its function."""


def find_symbols(data: bytes, path: str, checkpoint: Checkpoint) -> list[Symbol]:
    """The symbols of a text in UTF-8, in the order of its lines, outer ones first.

    Raises TookTooLongError; for some noise the system must end this process instead.
    """
    late: list[TookTooLongError] = []

    def is_over(*_: object) -> bool:
        try:
            checkpoint()
        except TookTooLongError as error:
            late.append(error)
        return bool(late)

    language = language_of_file(path)
    assert language is not None
    grammar, query = _loaded(language.grammar)
    try:
        # Without a function that reads, the other function is never called.
        tree = Parser(grammar).parse(lambda at, _: data[at : at + _BLOCK], progress_callback=is_over)
    except ValueError:
        raise late[0] from None
    rows = data.split(b"\n")
    _check_errors(tree.root_node, checkpoint)
    found: list[tuple[str, dict[str, list[Node]]]] = []
    above: dict[int, int] = {}
    before: dict[int, int] = {}
    for _, captured in QueryCursor(query).matches(tree.root_node):
        if nodes := captured.get("above"):
            first, last = _rows(nodes[0])
            if not rows[first][: nodes[0].start_point.column].strip():
                above[last] = first
                # A blank line may follow documentation; at the top of a file it is rather a licence.
                if first and data.startswith(b"/**", nodes[0].start_byte) and not rows[last + 1].strip():
                    above[last + 1] = first
        elif nodes := captured.get("before"):
            first, last = _rows(nodes[0])
            before[last] = before[last + 1] = first
        else:
            kind = next(kind for kind in captured if kind not in ("name", "owner", "declarator"))
            found.append((kind, captured))
    checkpoint()
    found.sort(key=lambda one: (one[1][one[0]][0].start_byte, -one[1][one[0]][0].end_byte))
    done: list[Symbol] = []
    around: list[tuple[int, Symbol]] = []
    for kind, captured in found:
        node = captured[kind][0]
        while around and around[-1][0] < node.end_byte:
            around.pop()
        names = _names(data, kind, captured)
        if not names:
            continue
        first, last = _rows(node)
        line = captured["name" if "name" in captured else "declarator"][0].start_point.row
        first = before.get(first, first)
        while first - 1 in above:
            first = above[first - 1]
        outer = around[-1][1].path if around else ()
        if around and (line + 1, names[-1:]) == (around[-1][1].line, outer[-1:]):
            continue  # `a.b = function b() {}`
        symbol = Symbol(kind, (*outer, *names), first + 1, last + 1, line + 1)
        done.append(symbol)
        around.append((node.end_byte, symbol))
    return done


def _check_errors(root: Node, checkpoint: Checkpoint) -> None:
    """Raise TookTooLongError if the query would: for children of an error its time is quadratic."""
    pending = [root] if root.has_error else []
    left = _MOST_PAIRS_IN_ERRORS
    while pending:
        checkpoint()
        node = pending.pop()
        if node.is_error:
            left -= node.child_count**2
            if left < 0:
                raise too_long(checkpoint.seconds)
        pending += [child for child in node.children if child.has_error]


def _rows(node: Node) -> tuple[int, int]:
    """The first and the last row, from 0; a node that ends with its line feed does not reach the next row."""
    first, end = node.start_point.row, node.end_point
    return first, end.row - (end.column == 0 and end.row > first)


def _names(data: bytes, kind: str, captured: dict[str, list[Node]]) -> tuple[str, ...]:
    """The names that a symbol adds to those around it; none if it has no name."""

    def text(node: Node) -> str:
        long = data[node.start_byte : min(node.end_byte, node.start_byte + 8 * _LONGEST_NAME)]
        name = " ".join(long.decode("utf-8", "replace").split())
        return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"

    if "declarator" in captured:
        return _declared(captured["declarator"][0], text)
    name = text(captured["name"][0]).strip("\"'")
    owner = text(captured["owner"][0]) if "owner" in captured else ""
    if kind == "impl":
        return (f"impl {owner} for {name}" if owner else f"impl {name}",)
    if (owner, name) == ("module", "exports"):
        return ()
    owner = owner.removesuffix(".prototype")
    return tuple(filter(None, (owner if _OWNER.fullmatch(owner) else "", name)))


def _declared(node: Node | None, text: Callable[[Node], str]) -> tuple[str, ...]:
    """The name within a declaration of C, such as `*(*name(int))[]`; of C++ also the types before `::`."""
    names = []
    for _ in range(_MOST_DECLARATORS):
        if node is None:
            break
        if node.type == "qualified_identifier":
            if scope := node.child_by_field_name("scope"):
                names.append(text(scope))
            node = node.child_by_field_name("name")
        elif inner := node.child_by_field_name("declarator"):
            node = inner
        elif node.type in ("parenthesized_declarator", "reference_declarator") and node.named_child_count:
            node = node.named_child(node.named_child_count - 1)
        else:
            return (*names, text(node))
    return ()


@lru_cache
def _loaded(grammar: str) -> tuple[Language, Query]:
    module, function = _GRAMMARS[grammar]
    language = Language(getattr(import_module(module), function)())
    return language, Query(language, QUERIES[grammar])
