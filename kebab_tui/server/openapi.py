"""The OpenAPI document of the endpoints, made from the registry of tools and the schemas of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kebab_tui import __version__
from kebab_tui.server.tools import Tool, schema
from kebab_tui.wire.encode import Json

API = "/api/v1/"

_COMPONENTS = "#/components/schemas/"
_ERROR, _STATUS = "error.v1", "serve_status.v1"
_FORMAT: Json = {
    "enum": ["json", "txt"],
    "description": "The answer as JSON, or as the text that a language model gets; without it, by Accept.",
}


def openapi(tools: Mapping[str, Tool]) -> Json:
    """Version 3.1; `tools`: by the paths of their endpoints."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kebab",
            "version": __version__,
            "summary": "Search over folders of notes, with exact citations.",
            "description": "The same as the tools of the Model Context Protocol at /mcp. Nothing is changed "
            "by any request.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": {
            **{path: {"get": _get(tool), "post": _post(tool)} for path, tool in tools.items()},
            f"{API}status": {
                "get": {
                    "operationId": "status",
                    "summary": "Show the state of the server and of its index",
                    "responses": {"200": _content("The state.", _reference(_STATUS)), **_ERRORS},
                }
            },
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"error": _content("Why there is no answer.", _reference(_ERROR))},
            "schemas": _schemas({_ERROR, _STATUS, *(tool.answers for tool in tools.values())}),
        },
    }


_ERRORS: Json = {status: {"$ref": "#/components/responses/error"} for status in ("4XX", "5XX")}


def _get(tool: Tool) -> Json:
    required = tool.input_schema.get("required", [])
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": found.get("description", ""),
            "schema": {key: value for key, value in found.items() if key != "description"},
        }
        for name, found in {**tool.input_schema["properties"], "format": _FORMAT}.items()
    ]
    return {**_operation(tool, tool.name), "parameters": parameters}


def _post(tool: Tool) -> Json:
    arguments = deepcopy(tool.input_schema)
    arguments["properties"]["format"] = _FORMAT
    body = {"required": True, "content": {"application/json": {"schema": arguments}}}
    return {**_operation(tool, f"{tool.name}-post"), "requestBody": body}


def _operation(tool: Tool, name: str) -> Json:
    answer = _content("The answer.", _reference(tool.answers))
    answer["content"]["text/plain"] = {"schema": {"type": "string"}}
    return {
        "operationId": name,
        "summary": tool.title,
        "description": tool.description,
        "responses": {"200": answer, **_ERRORS},
    }


def _content(description: str, found: Json) -> Json:
    return {"description": description, "content": {"application/json": {"schema": found}}}


def _reference(name: str) -> Json:
    return {"$ref": _COMPONENTS + name}


def _schemas(names: set[str]) -> Json:
    """Many programs do not resolve references within a component: each definition becomes one of its own."""
    found: Json = {}
    for name in sorted(names):
        own: Json = _rewritten(schema(name), name)
        del own["$schema"], own["$id"]
        for part, definition in own.pop("$defs", {}).items():
            found[f"{name}.{part}"] = definition
        found[name] = own
    return found


def _rewritten(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {
            key: part.replace("#/$defs/", f"{_COMPONENTS}{name}.")
            if key == "$ref"
            else _rewritten(part, name)
            for key, part in value.items()
        }
    return [_rewritten(one, name) for one in value] if isinstance(value, list) else value
