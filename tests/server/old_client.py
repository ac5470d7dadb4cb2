"""Talks to a server with version 1 of the SDK, in an environment of its own.

python old_client.py COMMAND…, or python old_client.py URL TOKEN
"""

import asyncio
import json
import os
import sys
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters  # type: ignore[attr-defined, unused-ignore]
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client  # type: ignore[attr-defined, unused-ignore]


async def talk(command: list[str]) -> dict[str, object]:
    if command[0].startswith("http:"):
        transport = streamablehttp_client(command[0], headers={"Authorization": f"Bearer {command[1]}"})
    else:
        start = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
        transport = stdio_client(start)
    async with transport as streams, ClientSession(streams[0], streams[1]) as session:
        greeting = await session.initialize()
        tools = await session.list_tools()
        found = await session.call_tool("search", {"query": "port conflict", "limit": 1})
        lost = await session.call_tool("read", {"target": "nothing.md"})
        return {
            "version": version("mcp"),
            "protocol": greeting.protocolVersion,  # type: ignore[attr-defined, unused-ignore]
            "tools": [tool.name for tool in tools.tools],
            "citation": found.structuredContent["hits"][0]["citation"],  # type: ignore[attr-defined, unused-ignore]
            "error": lost.content[0].text,  # type: ignore[union-attr, unused-ignore]
        }


print(json.dumps(asyncio.run(talk(sys.argv[1:]))))
