#!/bin/bash
# Installs the Debian packages that a part of the work needs, or says how. See usage.
set -u
arch=$(gcc -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")

# package:file that proves it (the first pattern that exists counts)
part_build="gcc:/usr/bin/gcc make:/usr/bin/make libc6-dev:/usr/include/stdio.h
  libgccjit-12-dev:/usr/lib/gcc/$arch/12/include/libgccjit.h
  libxxhash-dev:/usr/include/xxhash.h libsleef-dev:/usr/include/$arch/sleef.h,/usr/include/sleef.h
  libedit-dev:/usr/include/editline/readline.h libpng-dev:/usr/include/png.h"
part_test="libcmocka-dev:/usr/include/cmocka.h libmpfr-dev:/usr/include/mpfr.h pkg-config:/usr/bin/pkg-config
  g++:/usr/bin/g++ clang:/usr/bin/clang,/usr/bin/clang-14,/usr/bin/clang-16,/usr/bin/clang-19 procps:/usr/bin/pgrep
  clang-format:/usr/bin/clang-format"
part_bench="pocl-opencl-icd:/etc/OpenCL/vendors/pocl.icd ocl-icd-libopencl1:/usr/lib/$arch/libOpenCL.so.1
  oclgrind:/usr/bin/oclgrind gnuplot-nox:/usr/bin/gnuplot"
part_deb="git:/usr/bin/git build-essential:/usr/share/build-essential/list
 dpkg-dev:/usr/bin/dpkg-buildpackage debhelper:/usr/bin/dh"
part_fuzz="clang:/usr/bin/clang libclang-rt-14-dev:/usr/lib/llvm-14/lib/clang/14*/lib/linux/libclang_rt.fuzzer-*.a"
parts="build test bench deb fuzz"

usage() {
  cat << END
Usage: tools/deps.sh [PART...]     PART: $parts; without one: build

Checks that the Debian packages which these parts need are there. What is missing is installed, as root or by sudo where
that asks nothing; otherwise the line to run is printed, and the exit status is 1.
END
}
wanted=()
for word in "$@"; do
  case $word in
  -h | --help) usage; exit 0 ;;
  build | test | bench | deb | fuzz) wanted+=("$word") ;;
  *) echo "tools/deps.sh: '$word' is none of: $parts" >&2; echo "Try 'tools/deps.sh --help'" >&2; exit 2 ;;
  esac
done

missing=()
for part in "${wanted[@]:-build}"; do
  list=part_$part
  for item in ${!list}; do
    found=
    IFS=, read -ra files <<< "${item#*:}"
    for f in "${files[@]}"; do compgen -G "$f" > /dev/null && found=1; done
    [ "$found" ] || missing+=("${item%%:*}")
  done
done
[ ${#missing[@]} = 0 ] && exit 0

run=
if command -v apt-get > /dev/null; then
  if [ "$(id -u)" = 0 ]; then run="env DEBIAN_FRONTEND=noninteractive"
  elif sudo -n true 2> /dev/null; then run="sudo -n env DEBIAN_FRONTEND=noninteractive"; fi
fi
if [ ! "$run" ]; then
  echo "missing packages; as root, run:  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

# What apt is doing, in a line that is written over, or, where that cannot be, in one every ten seconds.
follow() {
  local line last=$SECONDS packages=0
  while IFS= read -r line; do
    echo "$line" >> "$log"
    case $line in
    Setting\ up*) packages=$((packages + 1)) ;;
    Get:* | Unpacking* | Waiting* | *lock*) ;;
    *) continue ;;
    esac
    line=${line%%(*}
    if [ -t 1 ]; then printf '\r\033[K  DEPS   %.60s' "$line"
    elif [ $((SECONDS - last)) -ge 10 ]; then last=$SECONDS; echo "  DEPS   ... $line"; fi
  done
  [ -t 1 ] && printf '\r\033[K'
  return 0
}
# apt-get; while another one holds its locks, it waits for up to ten minutes.
apt() {
  local tries=0 status
  while :; do
    : > "$log"
    $run apt-get -o DPkg::Lock::Timeout=600 "$@" 2>&1 < /dev/null | follow
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] && return 0
    grep -q 'Could not get lock\|Unable to lock' "$log" && [ $tries -lt 200 ] || return "$status"
    [ $tries = 0 ] && echo "  DEPS   waiting for another apt-get"
    tries=$((tries + 1))
    sleep 3
  done
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "  DEPS   apt-get install ${missing[*]}"
install=(install -y --no-install-recommends "${missing[@]}")
apt "${install[@]}" || { echo "  DEPS   apt-get update, and once more" && apt update && apt "${install[@]}"; } && exit 0
echo "tools/deps.sh: apt-get failed:" >&2
tail -n 5 "$log" >&2
exit 1
