#!/usr/bin/env bash
# The program starts without LibTorch, and loads it only for a verb that needs it.
# usage: light_start_test.sh PROGRAM yes|no   (whether this build has the learn library)
set -euo pipefail
program=$1
has_learn_library=$2

fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}

# What the loader opens while the program runs with the given arguments. `|| true`: only loading is looked at.
loaded_by() {
  { LD_DEBUG=files "$program" "$@" 2>&1 >/dev/null || true; } | grep -E 'calling init|generating link map' || true
}

if ldd "$program" | grep -E 'torch|libc10'; then fail 'the program is linked with LibTorch'; fi

for arguments in --help --version 'config show --help'; do
  # shellcheck disable=SC2086  # several words are several arguments
  loaded=$(loaded_by $arguments)
  [[ $loaded == *libstdc++* ]] || fail "the loader's report can't be read: LD_DEBUG printed no libstdc++"
  if grep -E 'torch|libc10' <<<"$loaded"; then fail "'forkpoint $arguments' loads LibTorch"; fi
done

# The same look must see LibTorch where it is loaded, or it proves nothing.
if [[ $has_learn_library == yes ]]; then
  [[ $(loaded_by doctor) == *libtorch* ]] || fail "'forkpoint doctor' does not load LibTorch"
fi
