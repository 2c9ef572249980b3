#!/bin/bash
# Checks that the Debian packages which a part of the build needs are there, and installs what is missing (as root, or by
# sudo where that asks nothing); otherwise prints the one line to run. Arguments: build, test, bench, fuzz.
set -u
arch=$(gcc -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")

# package:file that proves it (the first pattern that exists counts)
part_build="gcc:/usr/bin/gcc make:/usr/bin/make libc6-dev:/usr/include/stdio.h
  libgccjit-12-dev:/usr/lib/gcc/$arch/12/include/libgccjit.h
  libxxhash-dev:/usr/include/xxhash.h libsleef-dev:/usr/include/$arch/sleef.h,/usr/include/sleef.h
  libedit-dev:/usr/include/editline/readline.h libpng-dev:/usr/include/png.h"
part_test="libcmocka-dev:/usr/include/cmocka.h libmpfr-dev:/usr/include/mpfr.h pkg-config:/usr/bin/pkg-config
  g++:/usr/bin/g++"
part_bench="pocl-opencl-icd:/etc/OpenCL/vendors/pocl.icd ocl-icd-libopencl1:/usr/lib/$arch/libOpenCL.so.1
  oclgrind:/usr/bin/oclgrind"
part_deb="dpkg-dev:/usr/bin/dpkg-buildpackage debhelper:/usr/bin/dh"
part_fuzz="clang:/usr/bin/clang libclang-rt-14-dev:/usr/lib/llvm-14/lib/clang/14*/lib/linux/libclang_rt.fuzzer-*.a"

missing=()
for part in "${@:-build}"; do
  list=part_$part
  for item in ${!list:?unknown part $part}; do
    found=
    IFS=, read -ra files <<< "${item#*:}"
    for f in "${files[@]}"; do compgen -G "$f" > /dev/null && found=1; done
    [ "$found" ] || missing+=("${item%%:*}")
  done
done
[ ${#missing[@]} = 0 ] && exit 0

install="apt-get install -y --no-install-recommends ${missing[*]}"
run=
if command -v apt-get > /dev/null; then
  if [ "$(id -u)" = 0 ]; then run="env DEBIAN_FRONTEND=noninteractive"
  elif sudo -n true 2> /dev/null; then run="sudo -n env DEBIAN_FRONTEND=noninteractive"; fi
fi
if [ "$run" ]; then
  echo "  DEPS   ${missing[*]}"
  log=$(mktemp)
  { $run $install || { $run apt-get update && $run $install; }; } > "$log" 2>&1 < /dev/null && { rm -f "$log"; exit 0; }
  tail -5 "$log" >&2
  rm -f "$log"
fi
echo "missing packages; run:  sudo $install" >&2
exit 1
