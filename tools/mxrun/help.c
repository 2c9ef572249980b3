/* What mxrun --help prints: one text for all commands, whichever of them is asked. */
#include "mxrun.h"

static const char help[] =
    "Examples:\n"
    "  mxrun saxpy.mxs --grid 4 --block 256 --print y[0:8] x=iota:f32[1000] y=zeros:f32[1000] a=2.5 n=1000\n"
    "  mxrun kernel.ptx -k main --block 128 @input.npy zeros:f32[128] --save 1=out.npy\n"
    "  mxrun mandelbrot.mxs --grid 4096 --block 256 out=zeros:u32[1024,1024] w=1024 h=1024 maxit=256 --save out=m.png\n"
    "  mxrun test tests/golden          run every launch manifest in a folder\n"
    "  mxrun info                       version, CPU level, limits, compiler, cache\n"
    "\n"
    "Usage: mxrun [options] FILE [-k KERNEL] [ARG...]     FILE: .mxs, .ptx or .mxb; - is stdin\n"
    "       mxrun test [options] PATH...\n"
    "       mxrun check [options] FILE [-k KERNEL] [ARG...]   the same run, watched by tools that find races and more\n"
    "       mxrun info [--json]\n"
    "       mxrun -i [options] FILE [ARG...]   an interactive session\n"
    "       mxrun repl [options] [FILE]    the same; without a file, a calculator\n"
    "       mxrun profile [options] FILE [ARG...]   a run that counts what each line does\n"
    "       mxrun cache list | why FILE | clear\n"
    "       mxrun exec [options] PROGRAM [ARG...]   a program built for CUDA with a shared runtime, on mx\n"
    "\n";
static const char run_help[] =
    "Options of a run, before or behind FILE; -- ends them:\n"
    "  -k, --kernel NAME       which kernel; not needed where there is one\n"
    "  --grid X[,Y[,Z]]  --block X[,Y[,Z]]   blocks, threads of a block; default 1, or what the kernel requires "
    "(.reqntid)\n"
    "  --grid auto             a thread for each element of the largest buffer; without --block, in blocks of a good "
    "size\n"
    "  --then                  another launch behind this one, of the same program on the same device: its -k, --grid, "
    "--block,\n"
    "                          --cluster, --shared, --cooperative and ARGs follow; same(ARG) is a buffer of an earlier "
    "one. "
    "Options below that\n"
    "                          name an ARG mean the last launch that has it, or, as 1.ARG, the first\n"
    "  --cluster X[,Y[,Z]]     blocks of a cluster, which reach each other's shared memory; default 1, or what the "
    "kernel requires\n"
    "  --shared BYTES  --cooperative   dynamic shared memory; all blocks at once, so that they may wait for one "
    "another\n"
    "  --devices N             a cooperative launch on each of so many devices, up to 8; all have the same arguments\n"
    "  --print ARG[LO:HI]      elements of a buffer after the launch; ARG is a name or a number from 0; ARG:TYPE reads "
    "another type\n"
    "  --save ARG=FILE         .npy, .png, .pgm, and bytes for all other suffixes\n"
    "  --expect ARG=FILE       compare with .npy or bytes, or with a made array; --ulp N allows floats that distance\n"
    "  --stats                 what the launch did, on stderr    --json   everything as one object on stdout\n"
    "  --trace[=FILE]          a line for every warp instruction, on stderr or into FILE; one thread, interpreted\n"
    "  --threads N  --resident N   workers; blocks that may be resident at once\n"
    "  --live                  text that the kernel prints appears at once, not when the launch has ended\n"
    "  --limit NAME=N          a limit of the device, by its name in mxrun info: stack_bytes, heap_bytes, "
    "constant_bytes ...\n"
    "  --steps N  --timeout SECONDS   stop after so many warp instructions, or so long\n"
    "  --jit=auto|on|off  --no-cache  compiled code; without the cache of it\n"
    "  --jit-dump[=FILE]       does not run: writes the compiled code as assembly with the source's lines, on stdout "
    "or into FILE\n"
    "  --compare               runs on both engines and compares; where they differ, says which instruction does "
    "first\n"
    "  --async=late|now|SEED   when asynchronous copies land: as late as may be, at once, or at random\n"
    "  --jit-stress SEED       switch engines at random, for tests\n"
    "  --color=auto|always|never  -h, --help  --version\n"
    "\n"
    "ARG, in the order of the parameters or as NAME=ARG; in quotes where it has parentheses:\n"
    "  5 | 0x10 | -1.5 | 0f3F800000          read as the parameter's type     bytes:HEX    a structure\n"
    "  zeros:f32[1024] | iota:u32[1024] | fill(1.5):f32[64,64] | random(SEED):f32[1024] | values(1,2,3):u32[3]\n"
    "  unset:f32[1024]                       zeros that nobody wrote, for 'mxrun check'\n"
    "  'the cat'                             text, with a 0 at its end; \\n, \\t, \\0 and \\' in it\n"
    "  like(ARG) | len(ARG)                  zeros in the shape of another argument's array; how many elements that "
    "has\n"
    "  same(ARG)                             behind --then: the buffer that an earlier launch had\n"
    "  @file.npy | @file.bin                 buffers: the kernel gets the address\n"
    "  const:@file.npy | const:iota:f32[16]  in constant memory, for ld.const through a parameter: OpenCL's "
    "__constant\n"
    "  @file.png | @file.png:f32             u8[height,width] or u8[height,width,3]; or those values, 0 to 255, as "
    "another type\n"
    "  @file.png:linear,wrap,normalized      a texture: also clamp mirror border point texel float srgb cube volume "
    "layers mips\n"
    "  new:u8x4[480,640] | @file.npy:surface a surface\n"
    "\n";

static const char check_help[] =
    "Options of 'mxrun check', besides those of a run:\n"
    "  --tool=NAME[,NAME]      memory, uninit, race, sync, lanes; without it all of them\n"
    "  --suppress FILE         findings that match a line of FILE are not told: TOOL:KIND:KERNEL:FILE:LINE, with * and "
    "?;\n"
    "                          # begins a comment\n"
    "  --json                  one object on stdout, with the findings in it\n"
    "  -i                      a session that stops where something is found\n"
    "  Exit status 3: something was found, that is not suppressed and that the run confirmed.\n"
    "\n";

static const char profile_help[] =
    "Options of 'mxrun profile', besides those of a run (but --json, --trace, --compare and sessions):\n"
    "  --all                   all lines in the order of the source, not the hottest only\n"
    "  --json                  everything as one object on stdout\n"
    "  --html FILE             one page with annotated source, timeline and tables, for any browser\n"
    "  --coverage FILE         which lines and branches ran, in lcov's format: genhtml shows it\n"
    "  --trace-events FILE     launches, blocks, warps and barriers in time, for Perfetto or chrome://tracing\n"
    "  --no-memory             without the columns that need the addresses of accesses\n"
    "\n";

static const char repl_help[] =
    "Options of the interactive session, `mxrun -i FILE [options] [ARG...]` or `mxrun repl` (then 'help'):\n"
    "  -i, --interactive       look at the launch while it runs: breakpoints, steps, registers, backwards\n"
    "  -x FILE  --ex COMMAND   commands from a file, or one; in the order given. Then those of a terminal, or of a "
    "pipe\n"
    "  --batch                 no more commands behind -x and --ex   --keep-going   errors do not end the commands\n"
    "  --tui                   source, lanes and registers side by side, above the commands; `layout` does it, too\n"
    "  --schedule SEED         warps take turns at random   --record   keep what going back needs\n"
    "\n";

static const char test_help[] =
    "Options of test:\n"
    "  PATH...                 manifests, and every *.launch under a folder\n"
    "  -v, --verbose           a line for each test, passed ones too     -j, --jobs N   tests at the same time\n"
    "  --filter TEXT           only tests whose name holds TEXT          --list         names only\n"
    "  --round-trip            also assemble, disassemble, assemble: the same bytes\n"
    "  --stats                 sums over all launches, on stderr         --json\n"
    "  --coverage FILE         which lines and branches of the programs ran, in lcov's format\n"
    "  --check[=TOOL,...]      tools of 'mxrun check' watch the launches: a finding is a failure   --suppress FILE\n"
    "  --threads N  --resident N  --jit=auto|on|off  --jit-stress SEED  --async late|now|SEED  --steps N  --timeout "
    "SECONDS (default 60)\n"
    "\n";

static const char info_help[] = "Options of info:\n"
                                "  --json\n"
                                "\n";

static const char cache_help[] =
    "Commands of cache:\n"
    "  list                    the entries, the most recently used first\n"
    "  why FILE                for each kernel: in the cache, or what differs from the entry that is nearest\n"
    "  clear                   removes all entries\n"
    "\n";

static const char exec_help[] =
    "Options of exec, before PROGRAM; what stands behind it is the program's:\n"
    "  --threads=N, --jit=auto|on|off   as above\n"
    "  --timeout=SECONDS       stop a launch after SECONDS\n"
    "  --stats                 a line on stderr for each launch: kernel, grid and block, warps, compiled or not, time\n"
    "  --lenient               room behind each allocation, for programs that go a little beyond them\n"
    "  --trap-info             when a kernel traps, all that is known of it, line by line: which launch, arguments, "
    "who\n"
    "  --break KERNEL[:N]      an interactive session before the n-th launch of a kernel (default 1), on a copy of it; "
    "--ex COMMAND\n"
    "                          as there. When the session ends the program goes on\n"
    "  --record-launch KERNEL[:N] FOLDER   writes that launch, with the memory before and behind it, for 'mxrun test "
    "FOLDER'\n"
    "\n";

static const char help_end[] = "Exit status: 0 done, 1 input refused or not as expected, 2 wrong usage, 3 the kernel "
                               "trapped or was stopped, or a check found something, 4 host failure.\n";

void print_help(void) {
  printf("%s%s%s%s%s%s%s%s%s%s", help, run_help, check_help, profile_help, repl_help, test_help, info_help, cache_help,
         exec_help, help_end);
}
