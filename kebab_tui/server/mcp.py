"""The Model Context Protocol, by the official SDK: tools, resources and a prompt over one `AgentView`.

The SDK speaks both eras of the protocol: the handshake of 2024 and 2025, and the stateless one of 2026. The
protocol never waits for the engine. Errors that a model can act on are results with a message and a hint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from kebab_tui import __version__
from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.note_uri import SCHEME
from kebab_tui.domain.text import did_you_mean, one_line
from kebab_tui.server.calls import Calls, failure_for_agent
from kebab_tui.server.stdio import Closed, Connection, Wire
from kebab_tui.server.tools import TOOLS, UNTRUSTED
from kebab_tui.server.view import AgentView
from kebab_tui.workspace import Workspace

T = TypeVar("T")
_Context = ServerRequestContext[Any, Any]

_MARKS = {"kebab/untrusted": True}
_GREETINGS = ("initialize", "server/discover")
"""The requests whose answers have the instructions, in either era."""
_PROMPT = "answer-with-citations"
_MOST_NAMED = 20
_RESOURCE_TOKENS = 20_000
_SECOND_MS = 1_000


def serve(workspace: Workspace, view: AgentView, wire: Wire) -> None:
    """Answer one client until it closes its end."""
    asyncio.run(_serve(workspace, view, wire))


async def _serve(workspace: Workspace, view: AgentView, wire: Wire) -> None:
    server = await Agent(Calls(workspace, view)).server()
    try:
        async with Connection(wire).streams() as (arriving, leaving):
            await server.run(arriving, leaving, server.create_initialization_options())
    except* Closed:
        pass


async def over_http(calls: Calls) -> StreamableHTTPSessionManager:
    """The same server for any number of clients over HTTP.

    No session of any era outlives its request, so none has to be counted or to expire: the server has
    nothing to tell a client unasked.
    """
    server = await Agent(calls).server()

    async def name_present_sources(ctx: _Context, call_next: CallNext) -> HandlerResult:
        if ctx.method in _GREETINGS:
            server.instructions = await calls.run(_instructions)
        return await call_next(ctx)

    server.middleware.append(name_present_sources)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


class Agent:
    """The handlers of one server."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def server(self) -> Server[Any]:
        made: Server[Any] = Server(
            "kebab",
            version=__version__,
            title="kebab",
            description="Search over folders of notes, with exact citations.",
            instructions=await self._calls.run(_instructions),
            get_tool_input_schema=lambda _: None,  # no argument of a tool travels in a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        made.middleware.append(self._warm_after_first)
        return made

    async def _warm_after_first(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Load the model once the first request is answered: usually the handshake."""
        result = await call_next(ctx)
        self._calls.warm_up()
        return result

    async def _list_tools(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        reads = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.input_schema,
                    output_schema=tool.output_schema,
                    annotations=reads,
                )
                for tool in TOOLS.values()
            ],
            ttl_ms=60 * 60 * _SECOND_MS,
        )

    async def _call_tool(self, ctx: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            hint = did_you_mean(params.name, TOOLS) or f"the tools are: {', '.join(TOOLS)}"
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}; {hint}")
        try:
            answer = await self._calls.run(lambda view: tool.answer(view, params.arguments or {}))
        except Exception as error:  # noqa: BLE001 - one failed call must not end the server
            return _failed(error)
        return types.CallToolResult(
            content=[types.TextContent(text=answer.text)], structured_content=answer.data, _meta=_MARKS
        )

    async def _list_resources(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The latest notes; all others are found by the template."""

        def recent(view: AgentView) -> list[types.Resource]:
            return [
                types.Resource(
                    uri=uri,
                    name=one_line(note.path),
                    title=one_line(note.name),
                    mime_type="text/plain",
                )
                for note, uri in view.recent()
            ]

        return types.ListResourcesResult(resources=await self._answered(recent))

    async def _list_templates(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{SCHEME}{{source}}/{{+path}}",
            name="note",
            title="A note, or its lines",
            description="The present lines of a note, numbered; #L3-L9 at the end limits them. " + UNTRUSTED,
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template], ttl_ms=60 * 60 * _SECOND_MS)

    async def _read_resource(
        self, ctx: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if not params.uri.startswith(SCHEME):
            raise MCPError(types.INVALID_PARAMS, f"resources begin with {SCHEME}")
        tool = TOOLS["read"]
        asked = {"target": params.uri, "max_tokens": _RESOURCE_TOKENS}
        answer = await self._answered(lambda view: tool.answer(view, asked))
        contents = types.TextResourceContents(
            uri=params.uri, mime_type="text/plain", text=answer.text, _meta=_MARKS
        )
        return types.ReadResourceResult(contents=[contents])

    async def _list_prompts(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        prompt = types.Prompt(
            name=_PROMPT,
            title="Answer from the notes",
            description="Answer a question from the user's notes, with a citation for each fact.",
            arguments=[types.PromptArgument(name="question", description="The question.", required=True)],
        )
        return types.ListPromptsResult(prompts=[prompt], ttl_ms=60 * 60 * _SECOND_MS)

    async def _get_prompt(self, ctx: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != _PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"unknown prompt {params.name!r}; there is one: {_PROMPT}")
        question = (params.arguments or {}).get("question", "").strip()
        if not question:
            raise MCPError(types.INVALID_PARAMS, f"{_PROMPT}: the argument 'question' is missing")
        text = (
            f"Answer this question from my notes: {question}\n\n"
            "Search with the tool `search`, in the language of the question and, if little is found, in the "
            "other one of Korean and English; read the lines around a passage with `read` if it seems cut. "
            "Use only what the notes say. Put the citation of its passage, such as infra/port.md:L23-L29, "
            f"behind each fact. If the notes do not answer the question, say so. {UNTRUSTED}"
        )
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description="Answer with citations.", messages=[message])

    async def _answered(self, call: Callable[[AgentView], T]) -> T:
        """Errors of resources are errors of the protocol."""
        try:
            return await self._calls.run(call)
        except Exception as error:  # noqa: BLE001 - one failed request must not end the server
            raise MCPError(types.INVALID_PARAMS, _told(error)[1]) from None


def _instructions(view: AgentView) -> str:
    try:
        sources = view.sources()
    except KebabError:
        sources = []
    named = [f"{one.source_id} ({one_line(one.title)})" for one in sources[:_MOST_NAMED]]
    more = ", …" if len(sources) > _MOST_NAMED else ""
    folders = f"Sources: {', '.join(named)}{more}." if named else "Nothing is indexed yet."
    return (
        "kebab searches the user's own notes, in Korean and English. `search` finds passages, `read` "
        "shows the lines around one, `resolve-library-id` and `query-docs` search one library. Cite what "
        f"you use as the answer prints it, such as infra/port.md:L23-L29. {UNTRUSTED} {folders}"
    )[:1_200]


def _failed(error: Exception) -> types.CallToolResult:
    """Text alone: some clients check structured content by the schema of an answer, also of an error."""
    code, message = _told(error)
    return types.CallToolResult(content=[types.TextContent(text=f"error: {code}: {message}")], is_error=True)


def _told(error: Exception) -> tuple[str, str]:
    failure = failure_for_agent(error)
    return failure.code, "; ".join(one_line(text) for text in (failure.message, failure.hint) if text)
