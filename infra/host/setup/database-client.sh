#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates the database client from its schema. Needs COLLIMATE_ROOT, and pnpm on the PATH.
set -euo pipefail
cd "$COLLIMATE_ROOT"
pnpm --filter @collimate/db run generate
