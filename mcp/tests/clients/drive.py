"""Drives a server with the official Python client: lists the tools, makes the calls that it is given, and says what a
program that uses this client gets. Usage: drive.py MODE CALLS PROGRAM ARG...; CALLS is JSON: [[tool, arguments], ...]."""

import asyncio
import json
import sys

import jsonschema
from mcp import Client, StdioServerParameters


async def main():
    mode, calls, program, *args = sys.argv[1:]
    async with Client(StdioServerParameters(command=program, args=args), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        answers = []
        for name, arguments in json.loads(calls):
            result = await client.call_tool(name, arguments)
            structured = result.structured_content
            if structured is not None:
                jsonschema.validate(structured, tools[name].output_schema)
            answers.append({"error": bool(result.is_error), "structured": structured, "text": result.content[0].text})
    print(json.dumps({"tools": sorted(tools), "answers": answers}))


asyncio.run(main())
