#!/usr/bin/env bash
# The library exports forkpoint_learn_api and no other symbol: what leaks could stand in for another library's.
set -euo pipefail
exported=$(nm --dynamic --defined-only --format=posix "$1" | awk '{ print $1 }' | sort)
if [[ $exported != forkpoint_learn_api ]]; then
  printf 'exported beside forkpoint_learn_api:\n%s\n' "$exported"
  exit 1
fi
