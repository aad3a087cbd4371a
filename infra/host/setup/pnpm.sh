#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs pnpm by npm into $PNPM_HOME. Needs PNPM_HOME, PNPM_VERSION, and node on the PATH.
set -euo pipefail

mkdir -p "$(dirname "$PNPM_HOME")"
fresh=$(mktemp -d "$PNPM_HOME.new-XXXXXX")
trap 'rm -rf "$fresh"' EXIT
chmod 755 "$fresh"

npm install --prefix "$fresh" --ignore-scripts --no-audit --no-fund --no-update-notifier "pnpm@$PNPM_VERSION"
# The native program lies in a package of its own per platform.
program=$(cd "$fresh" && echo node_modules/@pnpm/exe.linux-*/pnpm)
test -x "$fresh/$program"
mkdir "$fresh/bin"
ln -s "../$program" "$fresh/bin/pnpm"
"$fresh/bin/pnpm" --version
rm -rf "$PNPM_HOME"
mv -T "$fresh" "$PNPM_HOME"
