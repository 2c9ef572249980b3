#!/bin/bash
# What `make demo` shows; the argument is the build folder.
cd "$(dirname "$0")/.." || exit 1
bin=${1:-build}
say() { printf '\n$ %s\n' "$*" ; "$@"; }
set -e
say "$bin/mxrun" info
say "$bin/mxasm" -c -v examples/saxpy.mxs
say "$bin/mxrun" examples/saxpy.mxs --grid 4 --block 256 --print 'y[0:8]' x=iota:f32[1000] 'y=fill(1):f32[1000]' a=2.5 n=1000
say "$bin/mxrun" examples/mandelbrot.mxs --grid 4096 --block 256 out=zeros:s32[1024,1024] w=1024 h=1024 maxit=256 \
  --stats --save "out=$bin/mandelbrot.png"
echo "(the picture: $bin/mandelbrot.png)"
say "$bin/mxrun" test examples
