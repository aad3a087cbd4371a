#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the workspace's npm packages as the lock file says. Needs COLLIMATE_ROOT, and pnpm on the PATH.
set -euo pipefail
cd "$COLLIMATE_ROOT"
# CI: never ask a question.
CI=true pnpm install --frozen-lockfile --prefer-offline --reporter=append-only
