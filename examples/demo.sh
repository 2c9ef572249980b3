#!/bin/bash
# What `make demo` shows; the argument is the build folder.
cd "$(dirname "$0")/.." || exit 1
bin=${1:-build}
say() { printf '\n%s\n' "$@"; }
run() { printf '\n$ %s\n' "$*"; "$@" 2>&1; }
set -e
mandelbrot=("$bin/mxrun" examples/mandelbrot.mxs --grid 4096 --block 256
  out=zeros:s32[1024,1024] w=1024 h=1024 maxit=256 --stats)

say "A kernel, examples/mandelbrot.mxs, and what the assembler makes of it:"
run "$bin/mxasm" -c -v examples/mandelbrot.mxs

say "A million threads, a pixel each, in warps of 64. Lanes whose point has escaped wait for others (splits, rejoins):"
run "${mandelbrot[@]}" --save "out=$bin/mandelbrot.png"

say "The same again, in machine code that the compiler has made for this processor:"
"${mandelbrot[@]}" --jit=on 2> /dev/null # waits for the compiler where it is not ready
run "${mandelbrot[@]}" --save "out=$bin/mandelbrot.png"

say "Textures and surfaces; each line makes a picture, in $bin:"
out=$(cd "$bin" && pwd) work=$(mktemp -d)
cp examples/*.mxs examples/*.png "$work"
for name in rotate resize skybox perlin edges; do
  line=$(sed -n 's/^\/\/   mxrun //p' "examples/$name.mxs")
  printf '\n$ mxrun %s\n' "$line"
  (cd "$work" && eval "\"$out/mxrun\" $line")
  mv "$work/${line##*=}" "$out/$name.png"
done
rm -rf "$work"

say "All examples, against results that are known:"
run "$bin/mxrun" test examples

say "The picture is $bin/mandelbrot.png. README.md says how to go on; \`make check\` runs all tests."
