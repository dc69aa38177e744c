"""Responses to requests that fail: the reason as JSON, and what to do."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from causeway.errors import CausewayError
from causeway.web.api_schema import ApiError
from causeway.web.headers import HEADERS
from causeway.web.json_model import JsonModel


async def rejected(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = JsonModel(ApiError(error=error.detail, todo=""), error.status_code)
    response.headers.update(error.headers or {})
    return response


async def impossible(request: Request, error: Exception) -> Response:
    assert isinstance(error, CausewayError)
    return JsonModel(ApiError(error=str(error), todo=error.todo), 409)


async def bug(request: Request, error: Exception) -> Response:
    # Runs outside of the middleware, so it sets the headers itself.
    response = JsonModel(ApiError(error="this is a bug: see the log of the process", todo=""), 500)
    response.headers.update(HEADERS)
    return response
