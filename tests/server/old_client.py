"""Talks to a server with version 1 of the SDK, in an environment of its own: python old_client.py COMMAND…"""

import asyncio
import json
import os
import sys
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters  # type: ignore[attr-defined, unused-ignore]
from mcp.client.stdio import stdio_client


async def talk(command: list[str]) -> dict[str, object]:
    start = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with stdio_client(start) as (reading, writing), ClientSession(reading, writing) as session:
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
