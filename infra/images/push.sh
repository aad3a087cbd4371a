#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a catalog image when it is not built yet, pushes it to a registry on this machine, prints its reference by digest.
#   push.sh NAME HOST:PORT [IMAGES_DIR]
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
name=${1:?usage: push.sh NAME HOST:PORT [IMAGES_DIR]}
registry=${2:?usage: push.sh NAME HOST:PORT [IMAGES_DIR]}
layout=$("$here/build.sh" "$name" "${@:3}")

digest_file=$(mktemp)
trap 'rm -f "$digest_file"' EXIT
printf '%s: pushing to %s\n' "$name" "$registry" >&2
# A registry on this machine speaks plain HTTP. Layers that it has already are not sent again.
skopeo --insecure-policy copy --quiet --preserve-digests --dest-tls-verify=false --digestfile "$digest_file" \
  "oci:$layout:latest" "docker://$registry/collimate/$name:latest" >&2
echo "$registry/collimate/$name@$(< "$digest_file")"
