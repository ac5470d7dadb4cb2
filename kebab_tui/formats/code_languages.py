"""The programming languages that are read as code: their file names, their grammars, what a grammar finds.

A new language is a line in `LANGUAGES`; if it has a grammar, also a query in `code_symbols.QUERIES`. A file
of a language without a grammar is cut by its indentation.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeLanguage:
    id: str
    """As in the info string of a Markdown fence."""
    extensions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """File names without an extension."""
    grammar: str = ""
    """The key of its query; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function, a class or another named part of a file, in lines from 1.

    `path`: the names around it, and its own. `line`: that of its name.
    """

    kind: str
    path: tuple[str, ...]
    first: int
    last: int
    line: int


FUNCTIONS = frozenset({"function", "method"})
"""Kinds of symbols whose inner symbols matter only if they are long."""

LANGUAGES = (
    CodeLanguage("bash", (".sh", ".bash", ".zsh"), grammar="bash"),
    CodeLanguage("c", (".c",), grammar="c"),
    # Headers may be C or C++, and the grammar of C++ reads both.
    CodeLanguage("c", (".h",), grammar="cpp"),
    CodeLanguage("cpp", (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), grammar="cpp"),
    CodeLanguage("csharp", (".cs",), grammar="csharp"),
    CodeLanguage("go", (".go",), grammar="go"),
    CodeLanguage("java", (".java",), grammar="java"),
    CodeLanguage("javascript", (".js", ".cjs", ".mjs", ".jsx"), grammar="javascript"),
    CodeLanguage("python", (".py", ".pyi", ".pyw"), grammar="python"),
    CodeLanguage("ruby", (".rb", ".rake", ".gemspec"), ("Gemfile", "Rakefile"), grammar="ruby"),
    CodeLanguage("rust", (".rs",), grammar="rust"),
    CodeLanguage("typescript", (".ts", ".cts", ".mts"), grammar="typescript"),
    CodeLanguage("tsx", (".tsx",), grammar="tsx"),
    CodeLanguage("cmake", (".cmake",)),
    CodeLanguage("clojure", (".clj", ".cljs", ".cljc")),
    CodeLanguage("css", (".css", ".less", ".scss")),
    CodeLanguage("dart", (".dart",)),
    CodeLanguage("dockerfile", (".dockerfile",), ("Dockerfile", "Containerfile")),
    CodeLanguage("elisp", (".el",)),
    CodeLanguage("elixir", (".ex", ".exs")),
    CodeLanguage("erlang", (".erl", ".hrl")),
    CodeLanguage("fish", (".fish",)),
    CodeLanguage("graphql", (".graphql", ".gql")),
    CodeLanguage("groovy", (".groovy", ".gradle"), ("Jenkinsfile",)),
    CodeLanguage("haskell", (".hs",)),
    CodeLanguage("hcl", (".hcl", ".tf")),
    CodeLanguage("ini", (".ini", ".cfg")),
    CodeLanguage("json", (".json", ".jsonc")),
    CodeLanguage("julia", (".jl",)),
    CodeLanguage("kotlin", (".kt", ".kts")),
    CodeLanguage("lua", (".lua",)),
    CodeLanguage("makefile", (".mk",), ("Makefile", "GNUmakefile")),
    CodeLanguage("nix", (".nix",)),
    CodeLanguage("ocaml", (".ml", ".mli")),
    CodeLanguage("perl", (".pl", ".pm")),
    CodeLanguage("php", (".php",)),
    CodeLanguage("powershell", (".ps1", ".psm1")),
    CodeLanguage("protobuf", (".proto",)),
    CodeLanguage("r", (".r",)),
    CodeLanguage("scala", (".scala", ".sc")),
    CodeLanguage("sql", (".sql",)),
    CodeLanguage("svelte", (".svelte",)),
    CodeLanguage("swift", (".swift",)),
    CodeLanguage("toml", (".toml",)),
    CodeLanguage("vim", (".vim",)),
    CodeLanguage("vue", (".vue",)),
    CodeLanguage("yaml", (".yaml", ".yml")),
    CodeLanguage("zig", (".zig",)),
)

EXTENSIONS = tuple(extension for language in LANGUAGES for extension in language.extensions)
NAMES = tuple(name for language in LANGUAGES for name in language.names)

_BY_ENDING = {
    ending: language for language in LANGUAGES for ending in (*language.extensions, *language.names)
}


def language_of_file(path: str) -> CodeLanguage | None:
    """The language by the extension, in any case, or by the whole name of the file."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return _BY_ENDING.get(name[dot:].lower() if dot > 0 else name)


def code_language(path: str, type_: str) -> str:
    """The language of a document of code, as in the info string of a fence; empty for other types."""
    language = language_of_file(path) if type_ == "code" else None
    return language.id if language else ""
