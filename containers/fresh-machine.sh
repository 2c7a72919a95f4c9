#!/usr/bin/env bash
# Runs README's two commands, `./dev demo` and `./dev test`, on a machine that has nothing: a minimal
# Debian that debootstrap makes in a folder, with a clean clone of HEAD and an empty environment.
#
# Everything happens in private mount and process namespaces: when this script ends, however it ends,
# the kernel takes the mounts and the processes with them, and only a folder is left to remove.
set -euo pipefail

help() {
  cat <<'HELP'
usage: containers/fresh-machine.sh [OPTIONS]      (as root; about 3 GB of disk)

  --suite S      Debian release, default bookworm
  --mirror URL   where packages come from, default http://deb.debian.org/debian
  --dir D        folder to make the machine in; must be new or empty; default: a new one in /var/tmp
  --keep         leave the folder there at the end
  --only COMMAND run just this ./dev command, for example --only "test --preset asan"

http_proxy, https_proxy and no_proxy are passed on. Exits with the first failing command's code.
HELP
}

die() {
  printf 'fresh-machine: error: %s\n' "$*" >&2
  exit 2
}
needs_value() { (($# > 1)) || die "$1 needs a value (see --help)"; }
say() { printf 'fresh-machine: %s\n' "$*"; }

repository=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)

# ---- inside the namespaces -----------------------------------------------------------------------

# The environment of the new machine: nothing of this one's but how to reach the network.
enter() {
  local name passed=()
  for name in http_proxy https_proxy no_proxy; do [[ ! -v $name ]] || passed+=("$name=${!name}"); done
  # Not chroot: the kernel lets nobody make user namespaces, and so sandboxes, inside one.
  # shellcheck disable=SC2016 # for the inner shell
  env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    TERM=dumb "${passed[@]}" unshare --mount bash -c '
      cd -- "$1" && mkdir -p outside && pivot_root . outside && umount -l /outside &&
        cd /root/forkpoint && exec bash -c "$2"' enter "$machine" "$1" </dev/null
}

make_machine() {
  say "making a minimal Debian $suite in $machine"
  debootstrap --variant=minbase "$suite" "$machine" "$mirror" >"$machine.debootstrap.log" 2>&1 || {
    tail -n 20 "$machine.debootstrap.log" >&2
    die "debootstrap failed; its last lines are above"
  }
  mount --bind "$machine" "$machine" # pivot_root wants a mount
  mount -t proc proc "$machine/proc"
  mount --rbind /sys "$machine/sys"
  mount --rbind /dev "$machine/dev"
  cp --dereference /etc/resolv.conf "$machine/etc/resolv.conf"
  git clone --quiet --depth 1 "file://$repository" "$machine/root/forkpoint"
}

run_commands() {
  local command started code log summary=()
  for command in "${commands[@]}"; do
    say "./dev $command"
    started=$SECONDS code=0 log=$machine/root/output
    enter "./dev $command" 2>&1 | tee "$log" || code=$?
    summary+=("./dev $command: exit code $code after $((SECONDS - started)) s")
    mapfile -t -O "${#summary[@]}" summary < <(sed -n '/^Skipped, and why:/,/^$/ { /^  /p }' "$log")
    ((code == 0)) || break
  done
  printf '\nOn a fresh Debian %s, commit %s:\n' "$suite" "$(git -C "$machine/root/forkpoint" rev-parse --short HEAD)"
  printf '%s\n' "${summary[@]}"
  return "$code"
}

# ---- outside -------------------------------------------------------------------------------------

# Runs at every exit. Killing `unshare` kills all that runs in the namespaces; then the folder can go, but never
# across a mount: were one of the machine's here after all, removing /dev or /sys would follow.
# shellcheck disable=SC2317  # the trap calls it
clean_up() {
  if [[ -n $child ]]; then
    kill -KILL "$child"
    wait "$child" 2>/dev/null || true
  fi
  if ((keep)); then
    say "left in $folder"
  elif [[ -n $(awk -v dir="$folder" '$5 == dir || index($5, dir "/") == 1' /proc/self/mountinfo) ]]; then
    say "something is still mounted below $folder: it stays" >&2
  else
    rm -rf --one-file-system -- "$folder"
  fi
}

suite=bookworm mirror=http://deb.debian.org/debian folder='' keep=0 commands=(demo test) inside=0
while (($#)); do
  case $1 in
    --suite) needs_value "$@" && suite=$2 && shift ;;
    --mirror) needs_value "$@" && mirror=$2 && shift ;;
    --dir) needs_value "$@" && folder=$2 && shift ;;
    --only) needs_value "$@" && commands=("$2") && shift ;;
    --keep) keep=1 ;;
    --inside) inside=1 ;; # how this script calls itself in the namespaces
    --help | -h) help && exit ;;
    *) die "unknown option '$1' (see --help)" ;;
  esac
  shift
done

if ((inside)); then
  machine=$folder/machine
  make_machine
  run_commands
  exit
fi

((EUID == 0)) || die "chroot and mount need root: run it with sudo"
for tool in debootstrap unshare git; do
  command -v "$tool" >/dev/null || die "$tool is missing: ./dev setup fresh_machine"
done
[[ -z $folder || ! -e $folder || -z $(ls -A -- "$folder") ]] || die "$folder is not empty"
if [[ -n $folder ]]; then mkdir -p -- "$folder"; else folder=$(mktemp -d /var/tmp/forkpoint-machine.XXXXXX); fi
folder=$(readlink -f -- "$folder")
child=''
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

arguments=(--inside --suite "$suite" --mirror "$mirror" --dir "$folder")
((${#commands[@]} > 1)) || arguments+=(--only "${commands[0]}")
# In the background, because only `wait` lets a signal through at once.
unshare --mount --pid --fork --kill-child bash "$0" "${arguments[@]}" &
child=$! code=0
wait "$child" || code=$?
child=''
exit "$code"
