# SPDX-License-Identifier: Apache-2.0
"""When is a booted image ready to be checkpointed?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .json_types import JsonObject


@dataclass
class Ready:
    """The ready check of a template.

    `cmd` is shell text that must exit 0; `http` a URL polled until it answers 2xx, and wins over `cmd`, for at most
    `http_timeout_s` seconds (0: the server's default). `ports` are exposed, `env` is set inside, `network` asks for an
    interface.

        Ready(cmd="python -c 'import torch'")  # torch costs nothing in any sandbox of this template
    """

    cmd: str = ""
    http: str = ""
    http_timeout_s: int = 0
    ports: list[int] = field(default_factory=list[int])
    env: dict[str, str] = field(default_factory=dict[str, str])
    network: bool = False

    def to_wire(self) -> JsonObject | None:
        """The fields that are set, or None when there are none."""
        fields: JsonObject = {
            "cmd": self.cmd,
            "http": self.http,
            "http_timeout_s": self.http_timeout_s,
            "ports": list(self.ports),
            "env": dict(self.env),
            "network": self.network,
        }
        return {key: value for key, value in fields.items() if value} or None


def merged_ready(ready: Mapping[str, object] | None, env: Mapping[str, str] | None) -> JsonObject | None:
    """`ready` with `env` merged into its `env`; what `ready` says itself wins."""
    merged: JsonObject = dict(ready or {})
    if env:
        merged["env"] = {**env, **(merged.get("env") or {})}
    return merged or None
