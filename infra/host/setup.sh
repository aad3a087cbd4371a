# SPDX-License-Identifier: Apache-2.0
# Sourced by the launcher: brings the machine to where the CLI runs. Each step is skipped while what it was made from is unchanged.
# Wants COLLIMATE_ROOT, COLLIMATE_TOOLS, NODE_HOME, PNPM_HOME, PNPM_VERSION.
. "$COLLIMATE_ROOT/infra/host/progress.sh"
. "$COLLIMATE_ROOT/infra/host/preflight.sh"

steps=$COLLIMATE_ROOT/infra/host/setup
# Two clones on one machine keep their marks apart.
marks=$COLLIMATE_TOOLS/setup/$(printf '%s' "$COLLIMATE_ROOT" | sha256sum | cut -c 1-12)

wanted_packages() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$COLLIMATE_ROOT"/infra/host/packages.txt "$COLLIMATE_ROOT"/packages/*/packages.txt 2> /dev/null | sort -u; }

missing_packages() {
  comm -23 <(wanted_packages) <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2> /dev/null | sed -n 's/^installed //p' | sort -u)
}

# A fingerprint of files: names and contents.
fingerprint() { sha256sum -- "$@" | sha256sum | cut -d ' ' -f 1; }
is_fresh() { [[ -f $marks/$1 && $(< "$marks/$1") == "$2" ]]; }
mark() { printf '%s\n' "$2" > "$marks/$1"; }

workspace_files() {
  (cd "$COLLIMATE_ROOT" && ls package.json pnpm-lock.yaml pnpm-workspace.yaml apps/*/package.json packages/*/package.json bench/package.json docs/package.json 2> /dev/null)
}
native_files() { # PACKAGE: what its build reads
  find "$COLLIMATE_ROOT/packages/$1" \( -name node_modules -o -name '*.test.ts' \) -prune -o -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.S' -o -name '*.py' -o -name '*.sh' -o -name '*.txt' -o -name '*.json' -o -name Makefile \) -print | sort
}

# The native programs: package, directory below the tools directory, program, words for people.
native_programs() {
  cat << 'LIST'
criu-holder criu criu criu with the holder linked in
guest guest collimate-init the sandbox's init
host host collimate-hostd the host daemon
LIST
}

# Names the steps that have work to do; nothing when the machine is ready. Reads only.
pending_steps() {
  local package dir program title
  if [[ -n $(missing_packages) ]]; then echo packages; fi
  if [[ ! -x $NODE_HOME/bin/node ]]; then echo node; fi
  if [[ ! -x $PNPM_HOME/bin/pnpm ]]; then echo pnpm; fi
  if ! dependencies_fresh; then echo dependencies; fi
  while read -r package dir program title; do
    if ! native_fresh "$package" "$dir" "$program"; then echo "native:$package"; fi
  done < <(native_programs)
  if ! client_fresh; then echo database-client; fi
}

dependencies_fresh() {
  mapfile -t files < <(workspace_files)
  [[ -d $COLLIMATE_ROOT/node_modules ]] && is_fresh dependencies "$(cd "$COLLIMATE_ROOT" && fingerprint "${files[@]}")"
}
native_fresh() { # PACKAGE DIR PROGRAM
  if [[ ! -f $COLLIMATE_ROOT/packages/$1/build.sh ]]; then return 0; fi
  mapfile -t files < <(native_files "$1")
  [[ -x $COLLIMATE_TOOLS/$2/$3 ]] && is_fresh "native-$1" "$(fingerprint "${files[@]}")"
}
client_fresh() {
  local schema=$COLLIMATE_ROOT/packages/db/prisma/schema.prisma
  [[ -d $COLLIMATE_ROOT/packages/db/src/generated ]] && is_fresh database-client "$(fingerprint "$schema" "$COLLIMATE_ROOT/packages/db/package.json")"
}

set_up() {
  local pending package dir program title
  mkdir -p "$marks" "$COLLIMATE_TOOLS/logs"
  chmod 755 "$COLLIMATE_TOOLS"
  exec {lock}> "$COLLIMATE_TOOLS/setup/lock"
  if ! flock --nonblock "$lock"; then
    echo "  … another set-up is running on this machine; waiting for it" >&2
    flock "$lock"
  fi
  pending=$(pending_steps) # again: somebody may have done it while we waited
  if [[ -z $pending ]]; then return; fi
  echo "Setting up (logs in $COLLIMATE_TOOLS/logs)" >&2
  preflight
  while read -r name; do
    run_pending "$name"
  done <<< "$pending"
  exec {lock}>&-
}

run_pending() {
  local log=$COLLIMATE_TOOLS/logs/${1/:/-}.log
  case $1 in
    packages)
      mapfile -t names < <(missing_packages)
      step "Debian packages (${#names[@]} missing)" "$log" bash "$steps/packages.sh" "${names[@]}" ;;
    node) step "Node ${NODE_HOME##*/}" "$log" bash "$steps/node.sh" ;;
    pnpm) step "pnpm $PNPM_VERSION" "$log" bash "$steps/pnpm.sh" ;;
    dependencies)
      step "npm packages" "$log" bash "$steps/dependencies.sh"
      mapfile -t files < <(workspace_files)
      mark dependencies "$(cd "$COLLIMATE_ROOT" && fingerprint "${files[@]}")" ;;
    native:*) build_native "${1#native:}" "$log" ;;
    database-client)
      step "database client" "$log" bash "$steps/database-client.sh"
      mark database-client "$(fingerprint "$COLLIMATE_ROOT/packages/db/prisma/schema.prisma" "$COLLIMATE_ROOT/packages/db/package.json")" ;;
  esac
}

build_native() { # PACKAGE LOG
  local package dir program title
  while read -r package dir program title; do
    if [[ $package != "$1" ]]; then continue; fi
    mapfile -t files < <(native_files "$package")
    local print
    print=$(fingerprint "${files[@]}")
    STEP_WATCH=$COLLIMATE_TOOLS/$dir/build.log step "$title" "$2" bash "$COLLIMATE_ROOT/packages/$package/build.sh" "$COLLIMATE_TOOLS/$dir"
    mark "native-$package" "$print"
  done < <(native_programs)
}
