/* Random command lines: commands with arguments of all kinds, their beginnings, instructions, and bytes. Endless loops
 * are bounded by `set limit` and by programs that end. */
#include "repl.h"

#include <stdlib.h>

static uint64_t state;
static uint64_t random_below(uint64_t n) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (z ^ z >> 31) % n;
}
#define PICK(list_) list_[random_below(sizeof list_ / sizeof *list_)]

/* Words in which commands are written; what a command makes of a wrong one is its business. */
static const char *const names[] = {
#define C(id_, name_, brief_, ...) name_, brief_,
#include "tools/mxrun/repl/commands.def"
};
static const char *const values[] = {"%v",
                                     "%i",
                                     "%n",
                                     "%p",
                                     "%out",
                                     "%tid.x",
                                     "%laneid",
                                     "%a",
                                     "%b",
                                     "out",
                                     "1",
                                     "0",
                                     "-1",
                                     "63",
                                     "64",
                                     "0x100000000",
                                     "1.5",
                                     "0f7FC00000",
                                     "[out]",
                                     "[out + %i*4]",
                                     "u8[out+3]",
                                     "f32[0]",
                                     "any(%v > 3)",
                                     "all(%p)",
                                     "count(%p)",
                                     "sum(%i)",
                                     "isnan(f32(%v))",
                                     "lane(3, %v)",
                                     "%v @ 5",
                                     "%v @ 99",
                                     "differs(%v)",
                                     "min(%v)",
                                     "abs(-%i)",
                                     "s16(%v)",
                                     "18446744073709551615",
                                     "9223372036854775808 / -1",
                                     "1 / 0",
                                     "1 % 0",
                                     "1 << 70",
                                     "out[3]",
                                     "out[%i]",
                                     "out[1:4]",
                                     "f32 out[2]",
                                     "out[-1]",
                                     "%v @ 3..9",
                                     "%v @ 9..70",
                                     "$",
                                     "$$",
                                     "$1",
                                     "$99",
                                     "$pc",
                                     "$lane",
                                     "$nothing",
                                     "nothing",
                                     "%nothing",
                                     "(",
                                     ")",
                                     "[",
                                     "]",
                                     "@",
                                     "?",
                                     ":"};
static const char *const operators[] = {
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", ">", "&&", "||", "@", "?", ":", ",", "="};
static const char *const words[] = {"19",
                                    "20",
                                    "9",
                                    "0",
                                    "1",
                                    "2",
                                    "even",
                                    "meet",
                                    "twice",
                                    "branches",
                                    "branches+3",
                                    "*5",
                                    "*99999",
                                    "branches.mxs:21",
                                    "if",
                                    "block",
                                    "warp",
                                    "lane",
                                    "thread",
                                    "(0,0,0)",
                                    "(1,0,0)",
                                    "(9,9,9)",
                                    "barrier",
                                    "divergence",
                                    "trap",
                                    "printf",
                                    "assert",
                                    "on",
                                    "off",
                                    "/x",
                                    "/8xw",
                                    "/2i",
                                    "/f",
                                    "at",
                                    "end",
                                    "mask",
                                    "stack",
                                    "registers",
                                    "lanes",
                                    "warps",
                                    "blocks",
                                    "locals",
                                    "kernel",
                                    "line",
                                    "breakpoints",
                                    "record",
                                    "hang",
                                    "limit",
                                    "schedule",
                                    "1000000000000",
                                    "out=zeros:u32[256]",
                                    "32",
                                    "v",
                                    "iota:u32[8]",
                                    "/dev/null"};
static const char *const instructions[] = {"add.u32 %a, %laneid, 5;",
                                           "mul.lo.u32 %b, %a, %a",
                                           "mov.u32 %a, 7",
                                           "bar.sync 0",
                                           "exit;",
                                           "@%p exit;",
                                           "setp.gt.u32 %p, %a, 9",
                                           "trap;",
                                           "ld.global.u32 %c, [%d];",
                                           "mov.u64 %d, 64",
                                           ".shared .align 4 .b8 s[64];",
                                           "st.shared.u32 [s], %a;",
                                           "{",
                                           "}",
                                           "l:",
                                           "bra l;",
                                           ".macro m",
                                           ".endm",
                                           ".func f",
                                           "add.f32 %a, %a",
                                           "vote.sync.ballot.b64 %m, %p, -1;",
                                           "shfl.sync.idx.b32 %s, %a, 3, 63, -1;",
                                           ".reg .u32 %q;",
                                           ".entry k ()"};

static void expression(int depth) {
  unsigned n = 1 + (unsigned)random_below(3);
  for (unsigned k = 0; k < n; k++) {
    if (k) printf(" %s ", PICK(operators));
    if (depth < 4 && !random_below(6)) printf("("), expression(depth + 1), printf(")");
    else printf("%s", PICK(values));
  }
}

static void argument(void) {
  switch (random_below(4)) {
  case 0: expression(0); break;
  case 1: printf("%s", PICK(values)); break;
  default: printf("%s", PICK(words));
  }
}

int random_lines(uint64_t seed, uint64_t lines) {
  state = seed;
  for (uint64_t n = 0; n < lines; n++) {
    uint64_t kind = random_below(20);
    if (kind == 0) {
      for (uint64_t k = random_below(60); k--;)
        putchar((int)(1 + random_below(255)) == '\n' ? ' ' : (int)(1 + random_below(254)));
    } else if (kind < 3) {
      printf("%s", PICK(instructions));
    } else {
      const char *name = PICK(names);
      /* those that end the session, or take long by what they are for, or write files */
      if (name[0] == 'q' || name[0] == 'h' || (name[0] == 'e' && name[1] == 'x') ||
          (name[0] == 's' && name[1] == 'a') || (name[0] == 's' && name[1] == 'o'))
        name = "print";
      if (!random_below(30)) printf("%.2s", name);
      else printf("%s", name);
      for (uint64_t k = random_below(4); k--;) putchar(' '), argument();
    }
    putchar('\n');
    if (n % 50 == 0) printf("end\nclear\n}\n.endm\nset limit 1000\nset hang 4\nclear\n");
    if (n % 50 == 5)
      printf("}\n.endm\nload branches.mxs\nkernel branches\nargs out=zeros:u32[256]\nlaunch 2 128\n%s\nstart\n",
             random_below(3) ? "record off" : "record 1");
    if (n % 50 == 10) printf("break %s\nrun\n", PICK(words));
  }
  return 0;
}
