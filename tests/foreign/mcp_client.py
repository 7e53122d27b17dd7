"""Speaks to the server with the official SDK of the Model Context Protocol, and prints what it reads.

The arguments are the command of the server; standard input has a list of calls, [tool, arguments] each.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main():
    calls = json.load(sys.stdin)
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = plain(await session.initialize())
        tools = plain(await session.list_tools())
        results = [plain(await session.call_tool(tool, arguments)) for tool, arguments in calls]
    print(json.dumps({"server": hello["serverInfo"], "tools": tools["tools"], "results": results}))


asyncio.run(main())
