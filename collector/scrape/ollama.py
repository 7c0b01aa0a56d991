"""What Ollama's `/api/ps` tells, as figures: it has no page of metrics.

It lists the models that lie in memory. An empty list is a figure too: no model is loaded. How many requests
run it does not tell, so that stays unknown.
"""

import json
from typing import Any

from prometheus_client.core import GaugeMetricFamily

from collector.scrape.page import Page
from taximeter.errors import BadInputError

PATH = "/api/ps"
_MOST_MODELS = 1_000


def read_ps(text: str) -> Page:
    """Make the families `ollama_models_loaded`, `ollama_model_bytes` and `ollama_model_vram_bytes`.

    Raises:
        BadInputError: the text is no such answer.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    models = answer.get("models") if isinstance(answer, dict) else None
    if not isinstance(models, list) or len(models) > _MOST_MODELS:
        message = "no answer of Ollama's /api/ps"
        raise BadInputError(message)
    loaded = GaugeMetricFamily("ollama_models_loaded", "", value=len(models))
    sizes = GaugeMetricFamily("ollama_model_bytes", "", labels=["model_name"])
    in_vram = GaugeMetricFamily("ollama_model_vram_bytes", "", labels=["model_name"])
    for model in models:
        name = _name(model)
        for family, key in ((sizes, "size"), (in_vram, "size_vram")):
            if name and (value := _count(model.get(key))) is not None:
                family.add_metric([name], value)
    families = tuple(family for family in (loaded, sizes, in_vram) if family.samples)
    return Page(families, sum(len(family.samples) for family in families))


def _name(model: Any) -> str:
    return str(model.get("model") or model.get("name") or "") if isinstance(model, dict) else ""


def _count(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value >= 0 else None
