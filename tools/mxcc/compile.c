/* Compiles a source that contains kernels to an object, to PTX or to a module. */
#include "cxx/runtime/fatbin.h"
#include "mx/asm.h"
#include "mxcc.h"

#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT ((size_t)1 << 30)

/* Adds the options that both compiles of a source have, the one for the device and the one for the host. Returns at
 * which word the two stand that name the header before the source. */
static size_t add_common(struct words *w, struct job *j) {
  static const char *const fixed[] = {"-x",
                                      "cuda",
                                      "-std=gnu++17", /* as other compilers; the program's own stands behind it */
                                      "-nocudainc",
                                      "-nocudalib",
                                      "--cuda-path=/nonexistent",
                                      "--cuda-gpu-arch=sm_80",
                                      "-Wno-unknown-cuda-version",
                                      "-Wno-register", /* what others only warn of */
                                      "-Wno-c++11-narrowing",
                                      "-Wno-reserved-user-defined-literal",
                                      "-Xclang",
                                      "-target-sdk-version=11.0"}; /* launches as since 9.2 */
  char lanes[32];
  words_add(w, j->clang);
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) words_add(w, fixed[k]);
  for (size_t k = 0; k < j->include.n; k++) words_add(w, "-isystem"), words_add(w, j->include.v[k]);
  const size_t prelude = w->n;
  words_add(w, "-include");
  words_add(w, "mx/prelude.h");
  snprintf(lanes, sizeof lanes, "-D__MX_LANES=%d", j->lanes);
  words_add(w, lanes);
  if (j->references) words_add(w, "-D__MX_REFERENCES");
  words_all(w, &j->both);
  return prelude;
}

/* Whether clang's messages say that the source needs the templates `texture` and `surface` of texture references. Newer
 * programs may use these two words for things of their own, so the templates are declared only for sources that do not
 * compile without them. */
static bool lacks_references(const char *messages) {
  static const char *const lacks[] = {"no template named '", "unknown type name '", "undeclared identifier '"};
  for (size_t k = 0; k < sizeof lacks / sizeof *lacks; k++)
    for (const char *p = messages; (p = strstr(p, lacks[k]));) {
      p += strlen(lacks[k]);
      if (!strncmp(p, "texture'", 8) || !strncmp(p, "surface'", 8)) return true;
    }
  return false;
}

static bool write_file(const char *path, const void *bytes, size_t size) {
  const char *why;
  if (cli_write_file(path, bytes, size, &why)) return true;
  fprintf(stderr, "mxcc: %s: %s\n", cli_file_name(path), why);
  return false;
}

/* Rewrites a file of LLVM code as linkage.c says. */
static bool set_linkage(const char *file, bool device) {
  const char *why;
  size_t size;
  char *code = cli_read_file(file, FILE_LIMIT, &size, &why);
  if (!code) {
    fprintf(stderr, "mxcc: %s: %s\n", file, why);
    return false;
  }
  char *changed = with_linkage(code, device, &size);
  const bool fine = write_file(file, changed, size);
  free(code), free(changed);
  return fine;
}

/* LLVM code -> PTX, with the options that clang itself would use for this second half of its work. */
static bool code_to_ptx(struct job *j, const char *code, const char *ptx) {
  struct words w = {0};
  const char *const words[] = {j->clang,
                               "-cc1",
                               "-triple",
                               "nvptx64-nvidia-cuda",
                               "-target-cpu",
                               "sm_80",
                               "-target-feature",
                               "+ptx70",
                               "-S",
                               j->debug ? "-O0" : "-O3",
                               "-vectorize-loops",
                               "-vectorize-slp",
                               "-fno-dwarf-directory-asm",
                               "-disable-free",
                               "-w",
                               "-x",
                               "ir",
                               code,
                               "-o",
                               ptx};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) words_add(&w, words[k]);
  bool fused = !j->debug; /* multiplications and additions, where nothing forbids it */
  for (size_t k = 0; k < j->both.n; k++)
    if (!strncmp(j->both.v[k], "-ffp-contract=", 14)) fused = !strncmp(j->both.v[k] + 14, "fast", 4);
  if (fused) words_add(&w, "-mllvm"), words_add(&w, "-nvptx-fma-level=2");
  const int status = run_clang(j, &w, NULL);
  words_free(&w);
  return !status;
}

static char *to_ptx(struct job *j, const char *source) {
  struct words w = {0};
  char *code = scratch_file(j, ".ll"), *messages = scratch_file(j, ".messages");
  const char *why;
  size_t size;
  static const char *const fixed[] = {
      "--cuda-device-only", "-Xclang", "-disable-llvm-passes", "-Xclang", "-target-feature", "-Xclang", "+ptx70",
      "-gline-tables-only"};
  const size_t prelude = add_common(&w, j);
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) words_add(&w, fixed[k]);
  /* Programs pass variables to shuffles and votes that only some lanes have set, and use only what those lanes pass:
   * `int r; if (lane == 0) r = atomicAdd(...); r = __shfl_sync(mask, r, 0);`. By the rules of C++ passing an unset
   * value is undefined, from which the compiler would conclude that all lanes have taken the `if`. */
  words_add(&w, "-Xclang");
  words_add(&w, j->is_14 ? "-disable-noundef-analysis" : "-no-enable-noundef-analysis");
  words_add(&w, j->debug ? "-O0" : "-O3");
  words_all(&w, &j->device);
  use_precompiled(j, &w, prelude, true);
  words_add(&w, "-S");
  words_add(&w, "-emit-llvm");
  words_add(&w, source);
  words_add(&w, "-o");
  words_add(&w, code);
  if (cli_color(stderr)) words_add(&w, "-fcolor-diagnostics");
  const int status = run_clang(j, &w, messages);
  words_free(&w);
  char *said = cli_read_file(messages, FILE_LIMIT, &size, &why);
  const bool again = status && said && !j->references && lacks_references(said);
  if (said && !again) fwrite(said, 1, size, stderr);
  free(said), free(messages);
  char *ptx = status ? NULL : scratch_file(j, ".ptx");
  const bool fine = ptx && set_linkage(code, true) && code_to_ptx(j, code, ptx);
  free(code);
  if (fine) return ptx;
  free(ptx);
  j->references = again;
  return again ? to_ptx(j, source) : NULL;
}

/* Replaces the text's target by mx64 where --lanes=64 asks for warps of 64 lanes. */
static char *retarget(struct job *j, char *text, size_t *size) {
  char *at = j->lanes == 64 ? strstr(text, "\n.target ") : NULL;
  if (!at) return text;
  struct text t = {0};
  text_add(&t, text, (size_t)(at - text));
  text_printf(&t, "\n.target mx64");
  const char *rest = at + 1 + strcspn(at + 1, "\n,");
  text_add(&t, rest, strlen(rest));
  free(text);
  *size = t.n;
  return t.s;
}

/* Prints from which line of the source a line of the PTX was compiled: the one that the last .loc before it names.
 * Prints nothing if there is none. */
static void say_source(const char *text, uint32_t line) {
  uint32_t number = 0, at = 0;
  unsigned file = 0, f, l;
  for (const char *p = text; p && *p && number + 1 < line; number++) {
    if (sscanf(p, " .loc %u %u", &f, &l) == 2) file = f, at = l;
    if (!strncmp(p, ".func", 5) || !strncmp(p, ".visible", 8)) at = 0;
    p = strchr(p, '\n');
    if (p) p++;
  }
  for (const char *p = at ? strstr(text, ".file") : NULL; p; p = strstr(p + 1, ".file")) {
    char name[1024];
    if (sscanf(p, ".file %u \"%1023[^\"]\"", &f, name) != 2 || f != file) continue;
    fprintf(stderr, "  compiled from %s:%u\n", name, at);
    return;
  }
}

static mx_asm_result *assemble(const char *source, const char *text, size_t size) {
  mx_asm_options o = MX_ASM_OPTIONS_INIT;
  struct text name = {0};
  text_printf(&name, "<ptx of %s>", source);
  o.file_name = name.s;
  o.source_lines = true;
  mx_asm_result *r = mx_assemble(text, size, &o);
  if (!r) cli_no_memory();
  for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++) {
    const mx_asm_diagnostic *d = mx_asm_diagnostic_at(r, k);
    char *s = d->level != MX_ASM_WARNING ? mx_asm_format(d, cli_color(stderr))
                                         : NULL; /* the compiler's text is not the author's to mend */
    if (s) fputs(s, stderr);
    if (s && d->level == MX_ASM_ERROR) say_source(text, d->line);
    mx_text_free(s);
  }
  text_free(&name);
  return r;
}

static bool code_to_object(struct job *j, const char *code, const char *out) {
  struct words w = {0};
  const char *const more[] = {"-Wno-unused-command-line-argument", "-c", "-x", "ir", code, "-o", out};
  words_add(&w, j->clang);
  words_all(&w, &j->host);
  for (size_t k = 0; k < sizeof more / sizeof *more; k++) words_add(&w, more[k]);
  const int status = run_clang(j, &w, NULL);
  words_free(&w);
  return !status;
}

static bool to_object(struct job *j, const char *source, const void *module, size_t size, const char *out) {
  struct text t = {0};
  const size_t padded = (size + 7) & ~(size_t)7;
  const struct fatbin f = {FATBIN_MAGIC, 1, sizeof f, sizeof(struct fatbin_entry) + padded};
  const struct fatbin_entry e = {.kind = j->across ? FATBIN_PART : FATBIN_MODULE,
                                 .version = 1,
                                 .header_bytes = sizeof e,
                                 .bytes = padded,
                                 .arch = (uint32_t)j->lanes,
                                 .plain_bytes = size};
  text_add(&t, (const char *)&f, sizeof f);
  text_add(&t, (const char *)&e, sizeof e);
  text_add(&t, module, size);
  text_add(&t, "\0\0\0\0\0\0\0", padded - size);
  char *image = scratch_file(j, ".fatbin");
  bool fine = write_file(image, t.s, t.n);
  text_free(&t);
  struct words w = {0};
  char *code = j->across ? scratch_file(j, ".ll") : NULL;
  const size_t prelude = add_common(&w, j);
  const char *const more[] = {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", image, source, "-o", code ? code : out};
  static const char *const between[] = {"-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes"};
  words_add(&w, "--cuda-host-only");
  words_all(&w, &j->host);
  use_precompiled(j, &w, prelude, false);
  for (size_t k = 0; k < sizeof more / sizeof *more; k++) words_add(&w, more[k]);
  for (size_t k = 0; code && k < sizeof between / sizeof *between; k++) words_add(&w, between[k]);
  if (!code) words_add(&w, "-c");
  fine = fine && !run_clang(j, &w, NULL);
  words_free(&w);
  if (code && fine) fine = set_linkage(code, false) && code_to_object(j, code, out);
  free(code), free(image);
  return fine;
}

bool compile(struct job *j, const char *source, enum product product, const char *out) {
  const char *why;
  j->references = false;
  char *ptx = to_ptx(j, source);
  if (!ptx) return false;
  size_t size, bytes = 0;
  char *text = cli_read_file(ptx, FILE_LIMIT, &size, &why);
  if (!text) {
    fprintf(stderr, "mxcc: %s: %s\n", ptx, why);
    free(ptx);
    return false;
  }
  text = retarget(j, text, &size);
  const bool part = j->across && product != P_MODULE; /* it is assembled when all of it is there */
  mx_asm_result *r = part ? NULL : assemble(source, text, size);
  const uint8_t *module = r ? mx_asm_bytes(r, &bytes) : NULL;
  const bool fine = (module || part) && (product == P_PTX      ? write_file(out, text, size)
                                         : product == P_MODULE ? write_file(out, module, bytes)
                                         : part                ? to_object(j, source, text, size, out)
                                                               : to_object(j, source, module, bytes, out));
  if (r) mx_asm_free(r);
  free(text);
  free(ptx);
  return fine;
}
