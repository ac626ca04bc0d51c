"""The OpenAPI document, derived from the table of routes."""

from __future__ import annotations

import re
from typing import Any

from pyke import __version__
from pyke.use.serve.parameters import Numbers, Parameter
from pyke.use.serve.routes import ROUTES, Route

_ERROR = {"$ref": "#/components/responses/Error"}


def document() -> dict[str, Any]:
    """Describe every address, its parameters with their limits, and its answers."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "PYKE explorer",
            "version": __version__,
            "description": "Read an embedding of a knowledge graph. All requests are GET. "
            "Terms have ids: find them with /api/search.",
        },
        "paths": {route.path: {"get": _operation(route)} for route in ROUTES},
        "components": {
            "responses": {
                "Error": {
                    "description": "A code for programs and a sentence for people.",
                    "content": {"application/json": {"schema": _error_schema()}},
                }
            }
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    kind = "application/octet-stream" if route.binary else "application/json"
    schema = {"type": "string", "format": "binary"} if route.binary else {"type": "object"}
    answers: dict[str, Any] = {
        "200": {
            "description": f"Little-endian: {route.binary}." if route.binary else "The answer.",
            "content": {kind: {"schema": schema}},
        },
        "4XX": _ERROR,
    }
    if route.computes:
        answers["202"] = {"description": "Being computed. Ask again in a moment."}
    return {
        "summary": route.summary,
        "operationId": "_".join(re.findall(r"\w+", route.path)[1:]),
        "parameters": [_parameter(one, route.path) for one in route.parameters],
        "responses": answers,
    }


def _parameter(parameter: Parameter, path: str) -> dict[str, Any]:
    schema = parameter.schema()
    if parameter.default is not None:
        schema["default"] = parameter.default
    in_path = f"{{{parameter.name}}}" in path
    found = {
        "name": parameter.name,
        "in": "path" if in_path else "query",
        "required": parameter.required,
        "description": parameter.text,
        "schema": schema,
    }
    return found | ({"style": "form", "explode": False} if isinstance(parameter, Numbers) else {})


def _error_schema() -> dict[str, Any]:
    text = {"type": "string"}
    error = {"type": "object", "properties": {"code": text, "message": text}}
    return {"type": "object", "properties": {"error": error}}
