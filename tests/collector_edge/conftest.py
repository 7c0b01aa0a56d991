import pytest


@pytest.fixture(autouse=True)
def no_gpu_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs started here sample no GPUs: these tests are about what comes over the network."""
    monkeypatch.setenv("TAXIMETER_COLLECTOR__NVML", "off")
