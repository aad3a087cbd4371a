# SPDX-License-Identifier: Apache-2.0
"""LazyFork's engine behind lines of JSON. Runs under the Python that LazyFork is installed in.

Two of its parts are replaced, since they want what a benchmark's machine need not have: the image store (nerdctl), by one
image that lies unpacked in /subject; memory accounting by control groups, where version 2 has no controllers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lazyfork.daemon import engine as daemon
from lazyfork.runtime import container
from lazyfork.runtime.images import ImageConfig, ImageStore

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnpackedImage(ImageStore):
    def pull(self, ref: str) -> ImageConfig:
        return ImageConfig(ref=ref, id="subject", env=[PATH], entrypoint=[], cmd=[], workdir="/", user="root")

    def rootfs(self, image: ImageConfig) -> Path:
        return Path("/subject")


class GroupWithoutControllers(container.Cgroup):
    def create(self, memory_limit: str | int | None = None) -> GroupWithoutControllers:
        self.path.mkdir(parents=True, exist_ok=True)
        return self

    def memory(self) -> dict[str, int]:
        return {"current": 0}


def serve(engine: daemon.Engine, ask: dict[str, Any]) -> dict[str, Any]:
    match ask["verb"]:
        case "create":
            made = engine.create("subject", command=ask["command"])
            return {"ids": [made["id"]], "pids": [made["pid"]]}
        case "stop":
            return {"ids": [engine.stop(ask["id"])["id"]]}
        case "fork":
            children = engine.fork(ask["id"], ask["count"])
            snapshot = engine.stats(ask["id"])["snapshot"] or {}
            pids = [child["pid"] for child in children]
            return {"ids": [child["id"] for child in children], "pids": pids, "pauseMs": snapshot.get("frozen_us", 0) / 1000}
        case "delete":
            for one in ask["ids"]:
                engine.delete(one)
            return {}
        case other:
            raise ValueError(f"no such verb: {other}")


def main() -> None:
    container.CGROUP_ROOT = Path("/sys/fs/cgroup") / sys.argv[1]
    if "memory" not in Path("/sys/fs/cgroup/cgroup.controllers").read_text().split():
        daemon.Cgroup = GroupWithoutControllers
    engine = daemon.Engine()
    engine.images = UnpackedImage()
    try:  # What fails ends the program; its last line says why.
        for line in sys.stdin:
            print(json.dumps(serve(engine, json.loads(line))), flush=True)
    finally:
        for one in engine.list_containers():
            engine.delete(one["id"])
        if container.CGROUP_ROOT.is_dir():
            container.CGROUP_ROOT.rmdir()


if __name__ == "__main__":
    main()
