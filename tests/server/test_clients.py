"""Real clients over stdio: the SDK's in both eras, an older SDK, and the MCP Inspector."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from kebab_tui.server.tools import TOOLS
from tests.command_line import ROOT, Kebab

pytestmark = pytest.mark.slow

OLD_SDK = ROOT / ".venv/old-sdk/bin/python"
INSPECTOR = ROOT / ".venv/inspector"
ERAS = ("2026-07-28", "legacy", "auto")


def parameters(kebab: Kebab, *argv: str) -> StdioServerParameters:
    program, *rest = kebab.argv
    return StdioServerParameters(command=program, args=[*rest, "mcp", *argv], env=kebab.environ)


@pytest.mark.parametrize("era", ERAS)
def test_the_sdk_in_each_era(embedded: Kebab, era: str) -> None:
    async def talk() -> None:
        async with Client(parameters(embedded), mode=era) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == list(TOOLS)
            for tool in tools:
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint
                assert tool.description is not None
                assert len(tool.description) <= 350

            # The client checks each answer by the tool's output schema.
            found = await client.call_tool("search", {"query": "port conflict", "limit": 2})
            assert found.structured_content["hits"][0]["citation"] == "infra/port-conflict.md:L23-L29"
            assert "infra/port-conflict.md:L23-L29" in found.content[0].text  # type: ignore[union-attr]
            by_meaning = await client.call_tool(
                "search", {"query": "how do I free a busy port", "mode": "vector"}
            )
            assert by_meaning.structured_content["returned"] == 8
            read = await client.call_tool("read", {"target": "infra/port-conflict.md:L9"})
            assert read.structured_content["text"] == "9: # Port already in use"
            libraries = await client.call_tool("resolve-library-id", {"libraryName": "note"})
            library = libraries.structured_content["libraries"][0]["library_id"]
            docs = await client.call_tool("query-docs", {"libraryId": library, "query": "포트 충돌"})
            assert docs.structured_content["library_id"] == "notes"

            wrong = await client.call_tool("search", {"query": "port", "limit": 0})
            assert wrong.is_error
            assert wrong.structured_content is None
            assert wrong.content[0].text.startswith("error: invalid_input: ")  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="did you mean search"):
                await client.call_tool("serach", {"query": "port"})

            uri = found.structured_content["hits"][0]["uri"]
            resource = await client.read_resource(uri)
            assert "23: ## Resolve the conflict" in resource.contents[0].text  # type: ignore[union-attr]
            assert (await client.list_resources()).resources
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "kebab://{source}/{+path}"
            (prompt,) = (await client.list_prompts()).prompts
            answer = await client.get_prompt(prompt.name, {"question": "왜 포트가 충돌하나?"})
            assert "왜 포트가 충돌하나?" in answer.messages[0].content.text  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="not in the index"):
                await client.read_resource("kebab://notes/nothing.md")

    asyncio.run(talk())


def test_an_older_sdk(embedded: Kebab) -> None:
    """mcp 1: what most clients have that are installed today."""
    if not OLD_SDK.exists():
        pytest.skip("the older SDK is not installed; `make test` installs it")
    program = Path(__file__).with_name("old_client.py")
    done = subprocess.run(
        [OLD_SDK, str(program), *embedded.argv, "mcp"],
        capture_output=True,
        text=True,
        env=embedded.environ | {"PYTHONPATH": ""},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["version"].startswith("1.")
    assert told["protocol"] == "2025-11-25"
    assert told["tools"] == list(TOOLS)
    assert told["citation"] == "infra/port-conflict.md:L23-L29"
    assert told["error"].startswith("error: not_found: ")


@pytest.mark.program
class TestInspector:
    def run(self, kebab: Kebab, *argv: str, code: int = 0) -> tuple[Any, str]:
        if not (INSPECTOR / "ready").exists():
            pytest.skip("the MCP Inspector is not installed; `make test-more` installs it")
        node, inspector = (INSPECTOR / "ready").read_text().splitlines()
        done = subprocess.run(
            [node, inspector, "--cli", *kebab.argv, "mcp", *argv],
            capture_output=True, text=True, env=kebab.environ, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout), done.stderr

    def test_the_tools_have_no_problem(self, embedded: Kebab) -> None:
        listed, said = self.run(embedded, "--method", "tools/list", "--strict")
        assert [tool["name"] for tool in listed["tools"]] == list(TOOLS)
        assert "warning" not in said.lower()

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    def test_a_search(self, embedded: Kebab, era: str) -> None:
        call = ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=port conflict")
        found, _ = self.run(embedded, *call, "--protocol-era", era)
        assert found["structuredContent"]["hits"][0]["citation"] == "infra/port-conflict.md:L23-L29"


def test_four_clients_with_a_hundred_calls_each(embedded: Kebab) -> None:
    queries = ["port conflict", "포트 충돌", "rust workspace", "밥 짓는 법", "docker"]

    async def talk(number: int) -> int:
        async with Client(parameters(embedded), mode=ERAS[number % 2]) as client:
            calls = [client.call_tool("search", {"query": queries[n % len(queries)]}) for n in range(100)]
            answers = await asyncio.gather(*calls)
            return sum(not one.is_error and one.structured_content["returned"] > 0 for one in answers)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(talk(number) for number in range(4)))

    assert asyncio.run(all_of_them()) == [100] * 4


def test_connecting_to_a_missing_index_and_indexing_afterwards(kebab: Kebab, notes: Path) -> None:
    async def talk() -> None:
        async with Client(parameters(kebab), mode="legacy") as client:
            missing = await client.call_tool("search", {"query": "port"})
            assert missing.is_error
            assert missing.content[0].text.startswith("error: not_indexed: ")  # type: ignore[union-attr]
            subprocess.run(
                [*kebab.argv, "ingest", str(notes)], env=kebab.environ, check=True, capture_output=True
            )
            found = await client.call_tool("search", {"query": "port"})
            assert found.structured_content["hits"][0]["citation"].startswith("port.md:")

    asyncio.run(talk())


def test_the_sdk_is_imported_by_the_server_alone() -> None:
    modules = "kebab_tui.cli.main, kebab_tui.cli.mcp, kebab_tui.workspace, kebab_tui.server.tools"
    code = f"import sys, {modules}; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
