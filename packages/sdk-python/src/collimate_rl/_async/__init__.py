# SPDX-License-Identifier: Apache-2.0
"""The asyncio face, and the text from which tools/generate_sync.py writes the other one."""
