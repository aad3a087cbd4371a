# SPDX-License-Identifier: Apache-2.0
"""The version, as pyproject.toml has it (a test compares them)."""

__version__ = "1.0.0a1"
