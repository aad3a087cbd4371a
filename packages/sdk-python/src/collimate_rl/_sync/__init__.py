# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/__init__.py by tools/generate_sync.py; edit that file instead.
"""The asyncio face, and the text from which tools/generate_sync.py writes the other one."""
