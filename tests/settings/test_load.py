"""The order of the layers, and the errors for invalid values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import get_args
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from kebab_tui.domain.document import MOST_STARS, Trust
from kebab_tui.domain.errors import ConfigError
from kebab_tui.domain.query import SEARCH_MODES, SearchMode
from kebab_tui.domain.toml import line_of
from kebab_tui.settings.load import load_settings
from kebab_tui.settings.settings import ModeName, Settings, SourceSettings, TrustLabel, expectation


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def load(
    file: Path | None = None,
    variables: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Settings:
    environ = {"HOME": "/h", **(variables or {})}
    return load_settings(str(file) if file else None, environ, flags or {})


def refusal(file: Path, text: str, **layers: Mapping[str, str]) -> ConfigError:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, **layers)
    return caught.value


# which layer wins


def test_without_a_file_the_defaults_hold() -> None:
    settings_ = load()
    assert settings_.search.default_k == 10
    assert settings_.data_dir == "/h/.local/share/kebab"


def test_a_file_wins_over_the_defaults_a_variable_over_the_file_and_a_flag_over_both(file: Path) -> None:
    file.write_text("[search]\ndefault_k = 1\nsnippet_chars = 100\n[search.weights]\ntitle = 9")
    variables = {"KEBAB_SEARCH_DEFAULT_K": "2", "KEBAB_SEARCH_WEIGHTS_HEADING": "2.5"}
    assert load(file).search.default_k == 1
    assert load(file, variables).search.default_k == 2
    both = load(file, variables, {"search.default_k": 3})
    assert both.search.default_k == 3
    assert both.search.snippet_chars == 100
    assert (both.search.weights.title, both.search.weights.heading) == (9.0, 2.5)


def test_a_flag_that_was_not_given_changes_nothing() -> None:
    assert load(variables={"KEBAB_DATA_DIR": "/d"}, flags={"data_dir": None}).data_dir == "/d"


def test_an_empty_variable_is_an_unset_one() -> None:
    assert load(variables={"KEBAB_SEARCH_DEFAULT_K": "", "KEBAB_DATA_DIR": "", "KEBAB_CONFIG": ""}) == load()


def test_the_default_file_is_read_where_the_platform_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "kebab").mkdir()
    (tmp_path / "kebab/config.toml").write_text("search.default_k = 7")
    assert load(variables={"XDG_CONFIG_HOME": str(tmp_path)}).search.default_k == 7


def test_default_top_is_another_name_for_default_k(file: Path) -> None:
    file.write_text("[search]\ndefault_top = 4")
    assert load(file).search.default_k == 4
    assert load(variables={"KEBAB_SEARCH_DEFAULT_TOP": "5"}).search.default_k == 5
    assert load(file, {"KEBAB_SEARCH_DEFAULT_K": "6"}).search.default_k == 6


def test_a_renamed_key_still_works_and_a_warning_names_the_new_one(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("[search]\nsecond_look = false")
    assert not load(file).search.rerank
    assert capsys.readouterr().err == (
        f"warning: {file}:2: search.second_look was renamed; use search.rerank\n"
    )
    assert load(file, {"KEBAB_SEARCH_RERANK": "true"}).search.rerank
    capsys.readouterr()
    assert not load(variables={"KEBAB_SEARCH_SECOND_LOOK": "false"}).search.rerank
    assert capsys.readouterr().err == (
        "warning: KEBAB_SEARCH_SECOND_LOOK was renamed; use KEBAB_SEARCH_RERANK\n"
    )
    assert (
        "search.second_look is another name"
        in refusal(file, "search.rerank = true\nsearch.second_look = true").message
    )


def test_an_old_action_name_still_works_with_a_warning(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("[keys]\nsecond_look = ['f9']")
    assert load(file).keys == {"rerank": ("f9",)}
    assert f"{file}:2: keys.second_look was renamed; use keys.rerank" in capsys.readouterr().err


def test_a_removed_key_is_ignored_with_a_warning(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[index]\nbulk_chunks = 5")
    assert load(file, {"KEBAB_INDEX_BULK_CHUNKS": "7"}) == load()
    assert f"{file}:2: index.bulk_chunks has no effect any more" in capsys.readouterr().err


def test_the_weight_of_a_folder_is_ignored_with_a_warning(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("[[sources]]\npath = 'a'\nstars = 7\n[[sources]]\npath = 'b'\nweight = 2.5")
    assert [source.stars for source in load(file).sources] == [7, 0]
    assert f"{file}:6: sources[2].weight has no effect any more" in capsys.readouterr().err


def test_a_byte_order_mark_and_windows_line_ends_are_no_obstacle(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf[search]\r\ndefault_k = 4\r\n")
    assert load(file).search.default_k == 4


# paths


def test_a_relative_data_folder_starts_where_it_was_written(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    file.write_text('data_dir = "index"')
    assert load(file).data_dir == str(tmp_path / "index")
    assert load(file, {"KEBAB_DATA_DIR": "index"}).data_dir == str(elsewhere / "index")
    assert load(flags={"data_dir": "flag"}).data_dir == str(elsewhere / "flag")


def test_an_index_at_a_path_is_an_index_in_that_data_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file.write_text('[index]\nurl = "team://host/notes"\n')
    from_file = load(file)
    assert from_file.index.url == "team://host/notes"
    assert from_file.data_dir == "/h/.local/share/kebab", "the URL names the index, not the local folder"
    assert load(file, {"KEBAB_INDEX": "team://other"}).index.url == "team://other"
    for other in (load(file, {"KEBAB_INDEX": "a"}), load(file, flags={"index.url": "a"})):
        assert (other.index.url, other.data_dir) == ("", str(tmp_path / "a"))
    (tmp_path / "b").write_text("")
    with pytest.raises(ConfigError, match="--index: the data folder is a file"):
        load(flags={"index.url": "b"})


def test_folders_of_notes_can_be_declared(file: Path, tmp_path: Path) -> None:
    file.write_text('[[sources]]\npath = "notes"\ntrust = "secondary"\nexclude = ["drafts/"]\n')
    [source] = load(file).sources
    assert source.path == str(tmp_path / "notes")
    assert (source.trust, source.exclude) == ("secondary", ("drafts/",))


def test_a_data_folder_whose_name_is_no_text_survives() -> None:
    assert load(variables={"KEBAB_DATA_DIR": "/d/\udcff"}).data_dir == "/d/\udcff"
    odd = load(variables={"KEBAB_DATA_DIR": "/d/\udcff", "KEBAB_SEARCH_DEFAULT_K": "3"})
    assert odd.data_dir == "/d/\udcff"


def test_trust_and_modes_are_spelt_as_the_domain_spells_them() -> None:
    mode: SearchMode = load().search.mode
    assert mode in get_args(ModeName)
    assert get_args(ModeName) == SEARCH_MODES
    assert set(get_args(TrustLabel)) == {trust.label for trust in Trust}
    stars = next(item for item in fields(SourceSettings) if item.name == "stars")
    assert expectation(stars) == f"an integer from 0 to {MOST_STARS}"


# refusals: the place, the reason, the way out


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("\n[search]\ndefualt_k = 5", 3, "unknown key search.defualt_k", "did you mean search.default_k?"),
        ("default_k = 5", 1, "unknown key default_k", "did you mean search.default_k?"),
        ("\n\n[serach]\ndefault_k = 5", 3, "unknown key serach", "did you mean search?"),
        ("[index]\nzzz = 5", 2, "unknown key index.zzz", "known here: url, lock_timeout_s, embed_threads"),
        (
            "[search]\n\ndefault_k = '5'",
            3,
            "search.default_k: expected an integer, got a string",
            "from 1 to 1000",
        ),
        ("[search]\ndefault_k = 0", 2, "search.default_k: expected an integer >= 1", "from 1 to 1000"),
        ("[search]\ndefault_top = 0", 2, "search.default_k: expected an integer >= 1", "from 1 to 1000"),
        ("[search]\ndefault_k = true", 2, "got true or false", "from 1 to 1000"),
        ("[search]\nmode = 'fuzzy'", 2, "'fuzzy'", 'one of "lexical", "vector", "hybrid"'),
        ("[search]\nhybrid_fusion = 'sum'", 2, "'sum'", '"rrf"'),
        ("[screen]\nlayout = 'above'", 2, "'above'", 'one of "", "auto", "beside", "below"'),
        ("[screen]\nwrap = true", 2, "screen.wrap: expected a string", 'one of "", "on", "off"'),
        ("[search.weights]\ntitle = nan", 2, "search.weights.title", "from 0 to 100"),
        ("search = 3", 1, "search: expected a table", ""),
        ("data_dir = 3", 1, "data_dir: expected a string, got an integer", "expected a string"),
        ("[chunking]\ntarget = 5000", 1, "the cap (4000) is below the target (5000)", ""),
        ("sources = 3", 1, "sources: expected a list", ""),
        ("sources = [3]", 1, "sources[1]: expected a table", ""),
        ("[[sources]]\npath = 'a'\n[[sources]]\npaht = 'b'", 4, "unknown key sources[2].paht", "path"),
        ("[[sources]]\npath = 'a'\n[[sources]]\nid = 'b'", 3, "missing required field path", ""),
        ("[[sources]]\npath = ''", 2, "sources[1].path", "expected a string"),
        ("[[sources]]\npath = 'a'\ntrust = 'total'", 3, "'total'", '"secondary"'),
        ("a = '''\n[search]\ndefault_k = 1\n'''\n[search]\ndefault_k = 'x'", 1, "unknown key a", ""),
        ("data_dir = '''\n[search]\ndefault_k = 1\n'''\n[search]\ndefault_k = 'x'", 6, "default_k", "1000"),
        ("search = {\ndefault_k = 1 }", 1, "not TOML", "key = value"),
        ("[search]\ndefault_k 5", 2, "not TOML", "key = value"),
        ("[search]\ndefault_k = ", 2, "not TOML", "key = value"),
        ("x = " + "[" * 5000, 1, "not TOML", "key = value"),
        ("[search]\ndefault_k = 1\ndefault_top = 2", 3, "both are set", "keep search.default_k"),
        ("[keys]\nrerank = ['f9']\nsecond_look = ['f8']", 3, "both are set", ""),
    ],
)
def test_an_invalid_file_is_an_error_with_its_line_and_a_hint(
    file: Path, text: str, line: int, message: str, hint: str
) -> None:
    error = refusal(file, text)
    assert error.message.startswith(f"{file}:{line}: ")
    assert message in error.message
    assert hint in error.hint


def test_bytes_that_are_no_text_are_refused_with_their_line(file: Path) -> None:
    file.write_bytes(b"[search]\n# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"config\.toml:2: not UTF-8"):
        load(file)


def test_a_named_file_that_is_missing_is_an_error_with_its_flag_or_variable(file: Path) -> None:
    with pytest.raises(ConfigError, match=f"--config: there is no file {file}"):
        load(file)
    with pytest.raises(ConfigError, match=f"KEBAB_CONFIG: there is no file {file}"):
        load(variables={"KEBAB_CONFIG": str(file)})


def test_below_a_file_there_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert load(variables={"XDG_CONFIG_HOME": str(tmp_path / "file")}).search == Settings().search
    with pytest.raises(ConfigError, match="KEBAB_CONFIG: there is no file"):
        load(variables={"KEBAB_CONFIG": str(tmp_path / "file" / "config.toml")})


def test_a_folder_or_an_endless_file_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--config: cannot read the configuration .*: Is a dir") as refused:
        load(tmp_path)
    assert "name another one with --config" in refused.value.hint
    with pytest.raises(ConfigError, match="too large") as refused:
        load(Path("/dev/zero"))
    assert "name another one with --config" in refused.value.hint


@pytest.mark.parametrize(
    ("variables", "message", "hint"),
    [
        (
            {"KEBAB_SEARCH_DEFAULT_K": "many"},
            "KEBAB_SEARCH_DEFAULT_K: search.default_k: expected an integer",
            "1000",
        ),
        (
            {"KEBAB_SEARCH_DEFAULT_TOP": "0"},
            "KEBAB_SEARCH_DEFAULT_TOP: search.default_k: expected an integer >= 1",
            "1000",
        ),
        (
            {"KEBAB_SEARCH_DEFUALT_K": "1"},
            "unknown variable KEBAB_SEARCH_DEFUALT_K",
            "KEBAB_SEARCH_DEFAULT_K",
        ),
        ({"KEBAB_DATADIR": "/d"}, "unknown variable KEBAB_DATADIR", "KEBAB_DATA_DIR"),
        ({"KEBAB_CONFG": "/d"}, "unknown variable KEBAB_CONFG", "KEBAB_CONFIG"),
        ({"KEBAB_CHUNKING_CAP": "300"}, "KEBAB_CHUNKING_CAP: chunking: the cap", ""),
        ({"KEBAB_HYPERLINKS": "maybe"}, "KEBAB_HYPERLINKS: cli.hyperlinks: invalid", "auto"),
        ({"KEBAB_DATA_DIR": " "}, "not a path: ' '", "expected a path"),
        ({"KEBAB_DATA_DIR": "~no such user/d"}, "there is no user 'no such user'", "./~no such user/d"),
        ({"KEBAB_CONFIG": "~no such user/c"}, "there is no user 'no such user'", "./~no such user/c"),
    ],
)
def test_a_wrong_variable_is_named(variables: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(variables=variables)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


@pytest.mark.parametrize("links", ["", "always", "never", "auto"])
def test_links_may_be_wanted_always_never_or_where_they_are_shown(links: str) -> None:
    assert load(variables={"KEBAB_HYPERLINKS": links}).cli.hyperlinks == (links or "auto")


def test_variables_of_other_programs_are_left_alone() -> None:
    assert load(variables={"KEBAB_SHOP_TOKEN": "x", "KEBAB_DEBUG": "1"}) == load()


def test_a_wrong_flag_is_named() -> None:
    with pytest.raises(ConfigError, match=r"--default-k: search\.default_k: expected an integer >= 1"):
        load(flags={"search.default_k": 0})


def test_a_variable_may_mend_what_the_file_alone_would_not_allow_for(file: Path) -> None:
    file.write_text("[chunking]\ncap = 9000")
    assert load(file, {"KEBAB_CHUNKING_TARGET": "5000"}).chunking.target == 5000


# robustness


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("[]{}=\"'.,#\n abdefkt_1-", max_size=60).map(str.encode))
def test_any_bytes_give_settings_or_a_refusal_that_names_the_file(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    try:
        load(file)
    except ConfigError as error:
        refused = error.message
    else:
        return
    assert refused.startswith(f"{file}:")


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_line_of_a_key_is_where_its_statement_begins(before: int, within: int) -> None:
    text = "# x\n" * before + "a = [\n" + "1,\n" * within + "]\nb = 2\n"
    assert line_of(text, ("a",)) == before + 1
    assert line_of(text, ("b",)) == before + within + 3


def test_the_line_after_a_long_string_is_found_with_few_attempts() -> None:
    text = 'a = """' + "long\n" * 4000 + '"""\n[table]\nb = 1\n'
    with mock.patch.object(tomllib, "loads", wraps=tomllib.loads) as loads:
        assert line_of(text, ("table", "b")) == 4003
    assert sum(len(call.args[0]) for call in loads.call_args_list) < 17 << 20


def test_a_switch_takes_true_or_false(file: Path) -> None:
    error = refusal(file, '[search]\nrerank = "yes"\n')
    assert error.message.endswith("2: search.rerank: expected true or false, got a string")
    assert error.hint == "expected true or false"


def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("not a folder")
    with pytest.raises(ConfigError, match="--data-dir: the data folder is a file"):
        load(flags={"data_dir": str(tmp_path / "index")})


@pytest.mark.parametrize("variable", ["HOME", "XDG_DATA_HOME", "KEBAB_DATA_DIR"])
def test_a_data_folder_below_a_file_is_refused_with_its_variable(tmp_path: Path, variable: str) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "index" if variable == "KEBAB_DATA_DIR" else tmp_path / "file"
    with pytest.raises(ConfigError, match=f"^{variable}: the data folder is below a file: ") as refused:
        load(variables={variable: str(place)})
    assert (
        f"change {variable} to a folder, or choose a folder for the index with --data-dir"
        in refused.value.hint
    )
    assert refused.value.exit_code == 2


def test_a_data_folder_that_is_not_there_yet_is_none_of_that(tmp_path: Path) -> None:
    assert load(variables={"HOME": str(tmp_path / "new")}).data_dir.startswith(str(tmp_path / "new"))
