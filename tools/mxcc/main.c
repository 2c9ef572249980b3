/* mxcc: compiles and links programs in C++ with kernels. Its options are those of compilers: words behind one dash,
 * whose values follow in several ways. getopt_long does not know these, so options are read here. */
#include "mxcc.h"

#include "mx/mx.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Examples:\n"
    "  mxcc saxpy.cu -o saxpy && ./saxpy\n"
    "  mxcc -O3 -I include a.cu b.cu main.cpp -o prog\n"
    "  mxcc --ptx a.cu -o - | less      what clang makes of the kernels\n"
    "  mxcc --mxb a.cu && mxasm -v a.mxb   what mx makes of that\n"
    "\n"
    "Usage: mxcc [options] FILE...    FILE: .cu; .c .cpp .cc .cxx for the host alone; .o .a .so\n"
    "  -o OUT                  write to OUT (default: a.out, or FILE with the suffix .o, .ptx or .mxb); - is stdout, "
    "but for programs and objects\n"
    "  -c                      objects, no program\n"
    "      --ptx               the kernels as PTX\n"
    "      --mxb               the kernels as a module, for mxrun\n"
    "      --lanes=32|64       lanes of a warp (default: 32); warpSize and masks of lanes are as wide\n"
    "  -I DIR, -D NAME[=TEXT], -U NAME, -include FILE, -std=STANDARD, -W..., -f..., -m...   as in clang\n"
    "  -O LEVEL                of the host's code; the kernels' is optimised unless -G is given\n"
    "  -g                      debugging information of the host's code; traps know source lines without it\n"
    "  -G                      kernels without optimisation, too\n"
    "  -L DIR, -l LIBRARY, -shared, -static-libstdc++, -Wl,...   for the linker\n"
    "  -Xcompiler WORDS        for the host's compiler; -Xclang WORD for clang, both sides\n"
    "  -rdc=true               kernels use functions and variables of other files, which are joined when the program "
    "starts; -dc: with -c\n"
    "  -use_fast_math          fast functions in kernels\n"
    "  -v                      show the commands\n"
    "      --print-clang       show which clang is used, compile nothing\n"
    "  -h, --help   --version\n"
    "\n"
    "Options of other compilers of this language that mean nothing here are accepted: -arch, -gencode, -rdc=false, "
    "-lineinfo, -cudart, -ccbin,\n"
    "-m64, -lcudart. clang 14 or later is needed (MXCC_CLANG=PROGRAM: this one) and a C++ library (g++).\n"
    "\n"
    "Exit status: 0 done, 1 input refused, 2 wrong usage, 4 host failure.\n";

static bool ends(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}
static bool begins(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }
static bool is_kernels(const char *file) { return ends(file, ".cu") || ends(file, ".CU") || ends(file, ".maca"); }
static bool is_source(const char *file) {
  static const char *const suffixes[] = {".c", ".cc", ".cpp", ".cxx", ".C"};
  for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
    if (ends(file, suffixes[k])) return true;
  return false;
}

/* Options that mean nothing here: NAME, NAME=VALUE, or NAME VALUE where takes says so. */
static bool ignored(const char *word, bool *takes) {
  static const struct {
    const char *name;
    bool value;
  } list[] = {{"-arch", true},
              {"--gpu-architecture", true},
              {"-code", true},
              {"-gencode", true},
              {"--generate-code", true},
              {"-rdc=false", false},
              {"--relocatable-device-code=false", false},
              {"-lineinfo", false},
              {"--generate-line-info", false},
              {"-cudart", true},
              {"--cudart", true},
              {"-ccbin", true},
              {"--compiler-bindir", true},
              {"-m64", false},
              {"-lcudart", false},
              {"-lcudart_static", false},
              {"-lcuda", false},
              {"--expt-relaxed-constexpr", false},
              {"-expt-relaxed-constexpr", false},
              {"--extended-lambda", false},
              {"-extended-lambda", false},
              {"--expt-extended-lambda", false},
              {"-expt-extended-lambda", false},
              {"-maxrregcount", true},
              {"--maxrregcount", true},
              {"--threads", true},
              {"-Xptxas", true},
              {"--ptxas-options", true},
              {"-allow-unsupported-compiler", false},
              {"-diag-suppress", true},
              {"--default-stream", true},
              {"-default-stream", true},
              {"--ftz", true},
              {"--prec-div", true},
              {"--prec-sqrt", true},
              {"--fmad", true},
              {"-ftz", true},
              {"-prec-div", true},
              {"-prec-sqrt", true},
              {"-fmad", true}};
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
    size_t n = strlen(list[k].name);
    if (strncmp(word, list[k].name, n) || (word[n] && word[n] != '=')) continue;
    *takes = list[k].value && !word[n];
    return true;
  }
  return false;
}

/* "dir/name.cu" -> "name.o" */
static char *default_output(const char *file, const char *suffix) {
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
  struct text t = {0};
  text_add(&t, name, dot ? (size_t)(dot - name) : strlen(name));
  text_add(&t, suffix, strlen(suffix));
  return t.s;
}

struct request {
  struct words files, linker;
  const char *out;
  bool objects, ptx, module, fast;
};

/* WORD VALUE, WORDVALUE or WORD=VALUE; NULL: it is another option. */
static const char *value_of(int argc, char **argv, int *k, const char *word) {
  size_t n = strlen(word);
  if (strncmp(argv[*k], word, n)) return NULL;
  if (argv[*k][n]) return argv[*k] + n + (argv[*k][n] == '=');
  if (*k + 1 >= argc) cli_usage("mxcc", "%s: a value is missing", word);
  return argv[++*k];
}

static void add_split(struct words *w, const char *list) {
  while (*list) {
    size_t n = strcspn(list, ", ");
    char *one = strndup(list, n);
    if (!one) cli_no_memory();
    if (n) words_add(w, one);
    free(one);
    list += n + (list[n] != 0);
  }
}

static void read_option(struct job *j, struct request *r, int argc, char **argv, int *k) {
  const char *word = argv[*k], *value;
  bool takes;
  if (ignored(word, &takes)) {
    if (takes) ++*k;
  } else if (!strcmp(word, "-c") || !strcmp(word, "--compile")) {
    r->objects = true;
  } else if (!strcmp(word, "--ptx") || !strcmp(word, "-ptx")) {
    r->ptx = true;
  } else if (!strcmp(word, "--mxb")) {
    r->module = true;
  } else if (begins(word, "--lanes")) {
    value = value_of(argc, argv, k, "--lanes");
    if (strcmp(value, "32") && strcmp(value, "64")) cli_usage("mxcc", "--lanes: '%s' is not 32 or 64", value);
    j->lanes = atoi(value);
  } else if (!strcmp(word, "-v") || !strcmp(word, "--verbose")) {
    j->verbose = true;
  } else if (!strcmp(word, "-G") || !strcmp(word, "--device-debug")) {
    j->debug = true;
  } else if (!strcmp(word, "-use_fast_math") || !strcmp(word, "--use_fast_math")) {
    r->fast = true;
  } else if (!strcmp(word, "-rdc=true") || !strcmp(word, "--relocatable-device-code=true") || !strcmp(word, "-dc") ||
             !strcmp(word, "--device-c")) {
    j->across = true;
    if (!strcmp(word, "-dc") || !strcmp(word, "--device-c")) r->objects = true;
  } else if ((value = begins(word, "-Xcompiler") ? value_of(argc, argv, k, "-Xcompiler") : NULL) ||
             (value = begins(word, "--compiler-options") ? value_of(argc, argv, k, "--compiler-options") : NULL)) {
    add_split(&j->host, value);
    add_split(&r->linker, value);
  } else if (begins(word, "-Xlinker")) {
    words_add(&r->linker, "-Xlinker");
    words_add(&r->linker, value_of(argc, argv, k, "-Xlinker"));
  } else if (!strcmp(word, "-Xclang") || !strcmp(word, "-include") || !strcmp(word, "-isystem") ||
             !strcmp(word, "-x")) {
    value = value_of(argc, argv, k, word);
    if (!strcmp(word, "-x")) return; /* the suffix of a file decides what it is */
    words_add(&j->both, word);
    words_add(&j->both, value);
  } else if (!strcmp(word, "-I") || !strcmp(word, "-D") || !strcmp(word, "-U") || !strcmp(word, "-std") ||
             !strcmp(word, "--std")) {
    value = value_of(argc, argv, k, word);
    struct text t = {0};
    text_printf(&t, "%s%s%s", strstr(word, "std") ? "-std" : word, strstr(word, "std") ? "=" : "", value);
    words_add(&j->both, t.s);
    text_free(&t);
  } else if (begins(word, "--std=")) {
    words_add(&j->both, word + 1);
  } else if (begins(word, "-L") || begins(word, "-l")) {
    value = value_of(argc, argv, k, word[1] == 'L' ? "-L" : "-l");
    struct text t = {0};
    text_printf(&t, "-%c%s", word[1], value);
    words_add(&r->linker, t.s);
    text_free(&t);
  } else if (begins(word, "-Wl,") || begins(word, "-static") || !strcmp(word, "-shared") || !strcmp(word, "-pthread") ||
             !strcmp(word, "-rdynamic")) {
    words_add(&r->linker, word);
  } else if (begins(word, "-O") || begins(word, "-g") || begins(word, "-fPI") || begins(word, "-fpi") ||
             begins(word, "-march") || begins(word, "-mtune") || !strcmp(word, "-fopenmp")) {
    words_add(&j->host, word);
    if (!strcmp(word, "-fopenmp")) words_add(&r->linker, word);
  } else if (strchr("IDUWfmsMwp", word[1]) && word[1]) {
    words_add(&j->both, word);
  } else {
    cli_usage("mxcc", "unknown option '%s'", word);
  }
}

/* Whether the words for the linker are such that any linker does the same with them. */
static bool are_for_any_linker(const struct words *linker) {
  static const char *const plain[] = {"-L", "-l", "-pthread"};
  for (size_t k = 0; k < linker->n; k++) {
    bool is = false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) is |= begins(linker->v[k], plain[i]);
    if (!is) return false;
  }
  return true;
}

/* Links with gold, which takes a quarter of the processor time that the usual linker takes, besides clang's own. What
 * gold does not link is left to the usual one, which also says why, so that its messages are those that users know. */
static bool link_with_gold(struct job *j, const struct words *words) {
  struct words w = {0};
  char *messages = scratch_file(j, ".messages");
  words_all(&w, words);
  words_add(&w, "-fuse-ld=gold");
  const bool fine = !run_clang(j, &w, messages);
  words_free(&w);
  free(messages);
  return fine;
}

static bool link_program(struct job *j, const struct request *r, const struct words *objects) {
  struct words w = {0};
  struct text path = {0}, run = {0};
  text_printf(&path, "-L%s", j->library);
  text_printf(&run, "-Wl,-rpath,%s", j->library);
  words_add(&w, j->clang);
  words_add(&w, "--driver-mode=g++");
  words_all(&w, objects);
  words_all(&w, &r->linker);
  const char *const more[] = {path.s, run.s, "-lmxrt", "-lm", "-o", r->out ? r->out : "a.out"};
  for (size_t k = 0; k < sizeof more / sizeof *more; k++) words_add(&w, more[k]);
  const bool fine =
      (are_for_any_linker(&r->linker) && has_program("ld.gold") && link_with_gold(j, &w)) || !run_clang(j, &w, NULL);
  words_free(&w);
  text_free(&path);
  text_free(&run);
  return fine;
}

/* Compiles a source for the host alone, as plain C or C++ that may include the runtime's headers. */
static bool compile_host(struct job *j, const char *source, const char *out) {
  struct words w = {0};
  words_add(&w, j->clang);
  if (!ends(source, ".c")) words_add(&w, "--driver-mode=g++");
  for (size_t k = 0; k < j->include.n; k++) words_add(&w, "-isystem"), words_add(&w, j->include.v[k]);
  words_all(&w, &j->both);
  words_all(&w, &j->host);
  const char *const more[] = {"-c", source, "-o", out};
  for (size_t k = 0; k < sizeof more / sizeof *more; k++) words_add(&w, more[k]);
  const int status = run_clang(j, &w, NULL);
  words_free(&w);
  return !status;
}

static bool build(struct job *j, struct request *r) {
  const enum product product = r->ptx ? P_PTX : r->module ? P_MODULE : P_OBJECT;
  const bool program = !r->objects && product == P_OBJECT;
  const char *suffix = product == P_PTX ? ".ptx" : product == P_MODULE ? ".mxb" : ".o";
  struct words objects = {0};
  bool fine = true;
  for (size_t k = 0; k < r->files.n && fine; k++) {
    const char *file = r->files.v[k];
    if (!is_kernels(file) && (!is_source(file) || product != P_OBJECT)) {
      words_add(&objects, file);
      continue;
    }
    char *out = program ? scratch_file(j, ".o") : r->out ? cli_strdup(r->out) : default_output(file, suffix);
    fine = is_kernels(file) ? compile(j, file, product, out) : compile_host(j, file, out);
    words_add(&objects, out);
    free(out);
  }
  if (fine && program) fine = link_program(j, r, &objects);
  words_free(&objects);
  return fine;
}

/* The options that have a meaning here, for shells' completion. */
static const struct cli_option options[] = {
    {NULL, 'o', CLI_REQUIRED, 1}, {NULL, 'c', CLI_NONE, 1},      {"ptx", 0, CLI_NONE, 1},
    {"mxb", 0, CLI_NONE, 1},      {"lanes", 0, CLI_REQUIRED, 1}, {NULL, 'I', CLI_REQUIRED, 1},
    {NULL, 'D', CLI_REQUIRED, 1}, {NULL, 'U', CLI_REQUIRED, 1},  {NULL, 'O', CLI_REQUIRED, 1},
    {NULL, 'g', CLI_NONE, 1},     {NULL, 'G', CLI_NONE, 1},      {NULL, 'L', CLI_REQUIRED, 1},
    {NULL, 'l', CLI_REQUIRED, 1}, {NULL, 'v', CLI_NONE, 1},      {"print-clang", 0, CLI_NONE, 1},
    {"help", 'h', CLI_NONE, 1},   {"version", 0, CLI_NONE, 1},   {0}};

int main(int argc, char **argv) {
  cli_begin();
  if (argc == 2 && !strcmp(argv[1], "--list-options")) {
    const char *value;
    cli_next(&(struct cli){.tool = "mxcc", .options = options, .argc = argc, .argv = argv, .next = 1}, &value);
  }
  struct job j = {.lanes = 32};
  struct request r = {0};
  for (int k = 1; k < argc; k++) {
    const char *word = argv[k];
    if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
      fputs(help, stdout);
      return cli_finish("mxcc", CLI_DONE);
    }
    if (!strcmp(word, "--print-clang")) {
      if (!find_clang(&j)) return CLI_HOST;
      printf("%s\n", j.clang);
      return cli_finish("mxcc", CLI_DONE);
    }
    if (!strcmp(word, "--version")) {
      printf("mxcc %s\n", mx_version_string());
      return cli_finish("mxcc", CLI_DONE);
    }
    if (word[0] != '-') words_add(&r.files, word);
    else if (!strncmp(word, "-o", 2)) r.out = value_of(argc, argv, &k, "-o");
    else read_option(&j, &r, argc, argv, &k);
  }
  if (!r.files.n) cli_usage("mxcc", "no file given");
  if (r.ptx + r.module + r.objects > 1) cli_usage("mxcc", "only one of -c, --ptx, --mxb");
  if (r.out && !*r.out) cli_usage("mxcc", "-o: empty file name");
  if (r.out && r.files.n > 1 && (r.ptx || r.module || r.objects))
    cli_usage("mxcc", "-o with -c, --ptx or --mxb: one file at a time");
  if (r.fast)
    words_add(&j.device, "-fcuda-approx-transcendentals"), words_add(&j.device, "-fcuda-flush-denormals-to-zero");
  if (!find_clang(&j) || !find_folders(&j, argv[0])) return CLI_HOST;
  for (size_t k = 0; k < j.host.n; k++)
    if (!strcmp(j.host.v[k], "-fopenmp")) {
      if (!find_openmp(&j, &r.linker)) return CLI_HOST;
      break;
    }
  const bool fine = build(&j, &r);
  end_scratch(&j);
  words_free(&j.include), words_free(&j.both), words_free(&j.host), words_free(&j.device), words_free(&r.files),
      words_free(&r.linker);
  free(j.library);
  return cli_finish("mxcc", fine ? CLI_DONE : CLI_REFUSED);
}
