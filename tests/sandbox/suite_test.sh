#!/usr/bin/env bash
# suite_test.sh BUILD SUITE LEVEL: plays a suite at a level. "unprivileged" and "L1-unprivileged": as a user that owns nothing,
# from copies of the programs in a folder of its own, since it may not be able to read the build.
set -euo pipefail
build=$1 suite=$2 level=$3

skip() {
  echo "skipped: $*"
  exit 77
}

[[ -f $suite ]] || skip "$suite is not there"
options=()
[[ $level != L1* ]] || options=(--level L1)
if [[ $level != *unprivileged ]]; then
  [[ $level != L3 || $EUID == 0 ]] || skip "level L3 needs root"
  exec "$build/forkpoint" sandbox test "$suite" --level "$level"
fi

((EUID == 0)) || exec "$build/forkpoint" sandbox test "$suite" "${options[@]}"
folder=$(mktemp -d)
user=$((30000 + RANDOM % 10000))
trap 'rm -rf "$folder" "/var/tmp/forkpoint-$user" "/dev/shm/forkpoint-$user"' EXIT
cp "$build/forkpoint" "$build/forkpoint-sandboxd" "$build/forkpoint-init" "$suite" "$folder"
chmod -R a+rX "$folder"
setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all --bounding-set=-all \
  env -i PATH="$PATH" HOME=/nonexistent "$folder/forkpoint" sandbox test "$folder/${suite##*/}" "${options[@]}"
