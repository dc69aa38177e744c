"""A response of the API's schema."""

from __future__ import annotations

from starlette.responses import Response

from causeway.web.api_base import ApiModel


class JsonModel(Response):
    media_type = "application/json"

    def __init__(self, model: ApiModel, status_code: int = 200) -> None:
        super().__init__(model.model_dump_json(), status_code)
