/* mxasm: text to module bytes and back, and views of both. Only options and files here; the work is the library's. */
#include "mxasm.h"

#include "asm/disassemble.h"
#include "core/module.h"
#include "mx/mx.h"
#include "tools/common/cli.h"
#include "vm/load/module.h"
#include "vm/load/verify.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Examples:\n"
    "  mxasm saxpy.mxs                 assemble into saxpy.mxb\n"
    "  mxasm -c kernel.ptx             check only: all errors of the text\n"
    "  mxasm -v kernel.ptx             and say what each kernel needs\n"
    "  mxasm -l saxpy.mxs              source lines beside the words made of them\n"
    "  mxasm -d saxpy.mxb | less       the text of a module\n"
    "  mxasm --cfg saxpy.mxs | dot -Tsvg > saxpy.svg\n"
    "  mxasm --list-ops setp           the forms of an instruction\n"
    "\n"
    "Usage: mxasm [options] FILE    FILE: MX assembly or PTX, or a module (.mxb); - is stdin\n"
    "  -o, --output OUT        write the module to OUT; - is stdout (default: FILE with suffix .mxb)\n"
    "  -c, --check             write nothing\n"
    "  -d, --disassemble       text that assembles to the same bytes, on stdout or into OUT\n"
    "  -l, --listing           listing, on stdout or into OUT\n"
    "  -v, --verbose           a line for each kernel: slots, spills, bytes, depth of nested branches, barriers\n"
    "      --cfg               control-flow graph for dot, on stdout or into OUT\n"
    "      --list-ops[=NAME]   the instructions, or the forms of one (also --list-ops NAME); then no FILE\n"
    "      --reference         the whole instruction table in Markdown\n"
    "      --functions=LIST    the vendor functions that LIST names (docs/guide.tsv) in Markdown\n"
    "      --syntax=vim|vscode   a syntax file for the editor\n"
    "      --json              -v, diagnostics and --list-ops for programs\n"
    "      --Werror            warnings are errors\n"
    "      --one-slot          registers share no slots, as debuggers want it\n"
    "      --color=auto|always|never\n"
    "  -h, --help   --version\n"
    "\n"
    "Exit status: 0 done, 1 input refused, 2 wrong usage, 4 host failure.\n";

enum {
  O_OUT = 1,
  O_CHECK,
  O_DIS,
  O_LIST,
  O_VERBOSE,
  O_CFG,
  O_OPS,
  O_REFERENCE,
  O_FUNCTIONS,
  O_SYNTAX,
  O_JSON,
  O_WERROR,
  O_SLOT,
  O_COLOR,
  O_HELP,
  O_VERSION
};
static const struct cli_option options[] = {{"output", 'o', CLI_REQUIRED, O_OUT},
                                            {"check", 'c', CLI_NONE, O_CHECK},
                                            {"disassemble", 'd', CLI_NONE, O_DIS},
                                            {"listing", 'l', CLI_NONE, O_LIST},
                                            {"verbose", 'v', CLI_NONE, O_VERBOSE},
                                            {"cfg", 0, CLI_NONE, O_CFG},
                                            {"list-ops", 0, CLI_OPTIONAL, O_OPS},
                                            {"reference", 0, CLI_NONE, O_REFERENCE},
                                            {"functions", 0, CLI_REQUIRED, O_FUNCTIONS},
                                            {"syntax", 0, CLI_REQUIRED, O_SYNTAX},
                                            {"json", 0, CLI_NONE, O_JSON},
                                            {"Werror", 0, CLI_NONE, O_WERROR},
                                            {"one-slot", 0, CLI_NONE, O_SLOT},
                                            {"color", 0, CLI_REQUIRED, O_COLOR},
                                            {"colour", 0, CLI_REQUIRED, O_COLOR},
                                            {"help", 'h', CLI_NONE, O_HELP},
                                            {"version", 0, CLI_NONE, O_VERSION},
                                            {0}};

#define FILE_LIMIT ((size_t)1 << 30)

static int refuse(const char *file, const char *why, int status) {
  fflush(stdout);
  fprintf(stderr, "mxasm: %s: %s\n", cli_file_name(file), why);
  return status;
}

/* "dir/name.ptx" -> "dir/name.mxb"; stdin -> "a.mxb" */
static char *default_output(const char *file) {
  if (!strcmp(file, "-")) return cli_strdup("a.mxb");
  const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
  size_t n = dot && (!slash || dot > slash + 1) && dot != file ? (size_t)(dot - file) : strlen(file);
  struct text t = {0};
  text_add(&t, file, n);
  text_add(&t, ".mxb", 4);
  return t.s;
}

static void show_diagnostics(const mx_asm_result *r, bool json) {
  size_t errors = 0;
  static const char *const levels[] = {[MX_ASM_ERROR] = "error", [MX_ASM_WARNING] = "warning", [MX_ASM_NOTE] = "note"};
  for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++) {
    const mx_asm_diagnostic *d = mx_asm_diagnostic_at(r, k);
    errors += d->level == MX_ASM_ERROR;
    if (json) {
      struct text t = {0};
      text_printf(&t, "{\"level\": \"%s\", \"id\": ", levels[d->level]);
      text_json(&t, d->id);
      text_printf(&t, ", \"file\": ");
      text_json(&t, d->file);
      text_printf(&t, ", \"line\": %u, \"col\": %u, \"width\": %u, \"text\": ", d->line, d->col, d->width);
      text_json(&t, d->text);
      if (d->hint) text_printf(&t, ", \"hint\": "), text_json(&t, d->hint);
      fprintf(stderr, "%s}\n", t.s);
      text_free(&t);
      continue;
    }
    char *s = mx_asm_format(d, cli_color(stderr));
    if (s) fputs(s, stderr), fputs(s[0] && s[strlen(s) - 1] == '\n' ? "" : "\n", stderr);
    free(s);
  }
  if (errors > 1 && !json) fprintf(stderr, "%zu errors\n", errors);
}

int main(int argc, char **argv) {
  cli_begin();
  const char *file = NULL, *out = NULL, *value;
  bool check = false, disassemble = false, listing = false, verbose = false, cfg = false, ops = false,
       reference = false, json = false;
  const char *op_name = NULL;
  mx_asm_options opt = {.struct_size = sizeof(mx_asm_options), .allow_include = true};
  struct cli c = {.tool = "mxasm", .options = options, .argc = argc, .argv = argv, .next = 1};
  for (int id; (id = cli_next(&c, &value)) != CLI_END;) switch (id) {
    case CLI_WORD:
      if (ops && !op_name) op_name = value;
      else if (file) cli_usage("mxasm", "one file at a time: '%s' and '%s'", file, value);
      else file = value;
      break;
    case O_OUT: out = value; break;
    case O_CHECK: check = true; break;
    case O_DIS: disassemble = true; break;
    case O_LIST: listing = true; break;
    case O_VERBOSE: verbose = true; break;
    case O_CFG: cfg = true; break;
    case O_OPS: ops = true, op_name = value; break;
    case O_REFERENCE: reference = true; break;
    case O_FUNCTIONS: return cli_finish("mxasm", print_functions(value));
    case O_SYNTAX:
      if (!print_syntax(value)) cli_usage("mxasm", "--syntax: '%s' is not vim or vscode", value);
      return cli_finish("mxasm", CLI_DONE);
    case O_JSON: json = true; break;
    case O_WERROR: opt.warnings_are_errors = true; break;
    case O_SLOT: opt.one_slot_per_name = true; break;
    case O_COLOR:
      if (!cli_color_mode(value)) cli_usage("mxasm", "--color: '%s' is not auto, always or never", value);
      break;
    case O_HELP: fputs(help, stdout); return cli_finish("mxasm", CLI_DONE);
    case O_VERSION: printf("mxasm %s\n", mx_version_string()); return cli_finish("mxasm", CLI_DONE);
    default: break;
    }
  if (disassemble + listing + cfg + check + ops + reference > 1)
    cli_usage("mxasm", "only one of --check, --disassemble, --listing, --cfg, --list-ops, --reference");
  if (ops || reference) {
    if (file) cli_usage("mxasm", "'%s': --list-ops and --reference take no file", file);
    if (out) cli_usage("mxasm", "--list-ops and --reference write to stdout");
    if (reference) print_reference();
    return cli_finish("mxasm", ops ? list_ops(op_name, json) : CLI_DONE);
  }
  if (!file) cli_usage("mxasm", "no file given");
  if (out && check) cli_usage("mxasm", "--check writes no output: leave out -o");
  if (out && !*out) cli_usage("mxasm", "-o: empty file name");

  size_t size, nbytes;
  const char *why;
  char *text = cli_read_file(file, FILE_LIMIT, &size, &why);
  if (!text) return refuse(file, why, CLI_REFUSED);
  bool binary = size >= 4 && !memcmp(text, MX_CONTAINER_MAGIC, 4);
  const uint8_t *bytes = (const uint8_t *)text;
  nbytes = size;
  opt.file_name = cli_file_name(file);
  mx_asm_result *r = NULL;
  int status = CLI_DONE;
  if (!binary) {
    r = mx_assemble(text, size, &opt);
    if (!r) cli_no_memory();
    show_diagnostics(r, json);
    bytes = mx_asm_bytes(r, &nbytes);
    if (!bytes) status = CLI_REFUSED;
  }
  bool view = disassemble || listing || cfg;
  struct text t = {0};
  if (status == CLI_DONE && (view || verbose || binary)) {
    char *error = NULL;
    struct mx__image *image = NULL;
    enum mx__load loaded = mx__image_read(bytes, nbytes, &image, &error);
    /* The views trust code that is verified, and nobody should get a module's text that no machine would run. */
    if (loaded == MX__LOAD_OK && (loaded = mx__verify(&image->image, &error)) != MX__LOAD_OK) mx__image_free(image);
    if (loaded != MX__LOAD_OK) {
      if (loaded == MX__LOAD_OOM) cli_no_memory();
      status = refuse(file, error ? error : "refused", CLI_REFUSED);
    } else {
      const struct mx_image *m = &image->image;
      if (verbose) {
        struct text v = {0};
        print_resources(&v, m, json);
        fwrite(v.s ? v.s : "", 1, v.n, view || (out && !strcmp(out, "-")) ? stderr : stdout);
        text_free(&v);
      }
      if (disassemble) {
        char *s = mx__disassemble(m);
        if (!s) cli_no_memory();
        text_add(&t, s, strlen(s));
        free(s);
      }
      if (listing) print_listing(&t, m, binary ? NULL : text, size, opt.file_name);
      if (cfg) print_cfg(&t, m);
      mx__image_free(image);
    }
    free(error);
  }
  /* A module that was given needs no second copy, unless -o asks for one. */
  if (status == CLI_DONE && !check && (view || !binary || out)) {
    char *name = out ? cli_strdup(out) : view ? cli_strdup("-") : default_output(file);
    bool good = view ? cli_write_file(name, t.s ? t.s : "", t.n, &why) : cli_write_file(name, bytes, nbytes, &why);
    if (!good) status = refuse(name, why, CLI_HOST);
    free(name);
  }
  text_free(&t);
  if (r) mx_asm_free(r);
  free(text);
  return cli_finish("mxasm", status);
}
