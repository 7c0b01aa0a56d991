"""Which pod a container belongs to, from the names of the log links that a Kubernetes node keeps."""

import re
from pathlib import Path

# kubelet names each link <pod>_<namespace>_<container>-<container id>.log
_LINK = re.compile(r"(?P<pod>[^_]+)_(?P<namespace>[^_]+)_(?P<container>.+)-(?P<id>[0-9a-f]{64})\.log")


class Workloads:
    """Names containers as namespace/pod/container; the folder is read again only for one that is new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}
        self._asked: set[str] = set()

    def of(self, container: str | None) -> str | None:
        """Name a container's workload; None where this is no Kubernetes node, or its links are not seen."""
        if container is None:
            return None
        if container not in self._known and container not in self._asked:
            self._known = self._read()
            self._asked = {container}
        return self._known.get(container)

    def _read(self) -> dict[str, str]:
        try:
            names = [path.name for path in self._folder.iterdir()]
        except OSError:
            return {}
        links = (match for name in names if (match := _LINK.fullmatch(name)))
        return {link["id"]: f"{link['namespace']}/{link['pod']}/{link['container']}" for link in links}
