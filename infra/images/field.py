# SPDX-License-Identifier: Apache-2.0
"""field.py IMAGE_JSON NAME: prints a field of an image's definition, a list one item a line."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    value = json.load(file)[sys.argv[2]]
for item in value if isinstance(value, list) else [value]:
    print(item)
