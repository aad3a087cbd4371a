# SPDX-License-Identifier: Apache-2.0
"""The profile file that `collimate up` writes: where the local platform is, and a key for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .json_types import as_object, text

SIZE_MAX = 64 * 1024


@dataclass(frozen=True)
class Profile:
    url: str
    api_key: str


def profile_path(env: Mapping[str, str], home: Path) -> Path:
    """`$COLLIMATE_PROFILE`, else `~/.config/collimate/profile.json`."""
    named = env.get("COLLIMATE_PROFILE")
    return Path(named) if named else home / ".config" / "collimate" / "profile.json"


def read_profile(env: Mapping[str, str], home: Path) -> Profile | None:
    """The profile, or None when there is no file. A file that is there but unusable raises ValueError naming it."""
    path = profile_path(env, home)
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_MAX)
    except OSError as error:
        # A missing default is normal; a missing file that was named is a mistake worth telling.
        if env.get("COLLIMATE_PROFILE"):
            raise ValueError(f"the profile {path} (COLLIMATE_PROFILE) cannot be read: {error.strerror}") from error
        return None
    try:
        fields = as_object(json.loads(content))
    except ValueError as error:
        raise ValueError(f"the profile {path} is not JSON") from error
    url, api_key = text(fields, "url"), text(fields, "apiKey")
    if not url or not api_key:
        raise ValueError(f'the profile {path} needs "url" and "apiKey"')
    return Profile(url.rstrip("/"), api_key)
