/* The rows of ops/runtime.def: device printf, malloc and free, assertions, memcpy and memset, and the functions that
 * read vectors. Separate from interp.c because they call services of the device instead of steering the warp. Every
 * address is checked, for all lanes, before anything is written or printed. */
#include "core/format.h"
#include "vm/memory/heap.h"
#include "vm/memory/memory.h"
#include "access.h"
#include "block.h"
#include "fifo.h"
#include "hooks.h"
#include "interp.h"
#include "norm.h"
#include "printf.h"

#include <stdlib.h>
#include <string.h>

/* Traps at i because a lane cannot touch `bytes` at `address`. Always NULL. */
static const struct mx_insn *bad_access(struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, unsigned lane,
                                        uint64_t address, uint64_t bytes, bool write) {
  struct mx_trap t = {.kind = kind,
                      .func = x->fn->number,
                      .pc = i->pc,
                      .warp = x->warp->number,
                      .lanes = 1ull << lane,
                      .has_address = true,
                      .is_write = write,
                      .address = address,
                      .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX};
  memcpy(t.block, x->block->ctaid, sizeof t.block);
  mx__trap_raise(x->launch, &t);
  return mx__leave(x, i->pc, MX_EV_TRAP);
}

struct lane_memory {
  struct mx_exec *x;
  unsigned lane;
};

/* Host address of a lane's generic address and the bytes that follow in its allocation; NULL: none. */
static unsigned char *lane_bytes(struct mx_exec *x, unsigned lane, uint64_t address, uint64_t *follow, bool *writable) {
  struct mx_bounds b;
  bool keep;
  if (!mx__access_bounds(x, MX_GENERIC, address, &b, &keep)) return NULL;
  *follow = b.span - (address - b.lo);
  *writable = b.writable;
  return mx__bounds_host(x, &b, address, lane);
}

static const uint8_t *read_at(void *context, uint64_t address, uint64_t *follow) {
  struct lane_memory *m = context;
  bool writable;
  return lane_bytes(m->x, m->lane, address, follow, &writable);
}

/* ---- printing -------------------------------------------------------------------------------------------*/

const struct mx_insn *mx__op_vprintf(struct mx_exec *x, const struct mx_insn *i) {
  int32_t *d = mx__operand(x, i->o[0]), results[MX_MAX_LANES];
  const uint64_t *format = mx__operand(x, i->o[1]), *args = mx__operand(x, i->o[2]);
  uint64_t m = mx__lanes_of(x, i), fault = 0;
  size_t end[MX_MAX_LANES];
  struct mx_text text = {0};
  enum mx_formatted f = MX_FORMATTED;
  MX_FOR_LANES (l, m) {
    struct lane_memory context = {x, (unsigned)l};
    f = mx__printf(&text, &(struct mx_reader){read_at, &context}, format[l], args[l], &results[l], &fault);
    end[l] = text.size;
    if (f == MX_FORMATTED) continue;
    free(text.s);
    return f == MX_FORMAT_FAULT ? bad_access(x, i, MX_TRAP_OUT_OF_BOUNDS, (unsigned)l, fault, 1, false)
                                : mx__trap_at(x, i, MX_TRAP_HOST_MEMORY, 1ull << l, NULL);
  }
  size_t begin = 0;
  MX_FOR_LANES (l, m) {
    if (end[l] > begin) mx__fifo_put(x->launch->fifo, text.s + begin, end[l] - begin);
    begin = end[l];
    d[l] = results[l];
  }
  free(text.s);
  if (x->launch->live) x->launch->services->flush(x->launch->device);
  return i + 1;
}

/* A device string as far as it is readable, at most 1 KiB, malloc'ed; NULL: out of memory. */
static char *string_at(struct mx_exec *x, unsigned lane, uint64_t address) {
  uint64_t follow;
  bool writable;
  const unsigned char *p = address ? lane_bytes(x, lane, address, &follow, &writable) : NULL;
  return p ? strndup((const char *)p, follow < 1024 ? (size_t)follow : 1024) : strdup("?");
}

/* The guides' message about lane l, without a newline; NULL: out of memory. */
static char *assertion_text(struct mx_exec *x, const struct mx_insn *i, unsigned l) {
  char *message = string_at(x, l, ((const uint64_t *)mx__operand(x, i->o[0]))[l]);
  char *file = string_at(x, l, ((const uint64_t *)mx__operand(x, i->o[1]))[l]);
  char *function = string_at(x, l, ((const uint64_t *)mx__operand(x, i->o[3]))[l]);
  uint32_t line = ((const uint32_t *)mx__operand(x, i->o[2]))[l];
  const uint32_t *c = x->block->ctaid, *const *tid = x->warp->tid;
  char *text = message && file && function
                   ? mx__format("%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.", file, line,
                                function, c[0], c[1], c[2], tid[0][l], tid[1][l], tid[2][l], message)
                   : NULL;
  free(message);
  free(file);
  free(function);
  return text;
}

/* Each failing lane has its message and ends; the launch goes on to those of the others, and fails then. A session
 * stops here instead: everything is still there to be seen. */
const struct mx_insn *mx__op_assertfail(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t m = mx__lanes_of(x, i);
  if (!m) return i + 1;
  char *first = assertion_text(x, i, (unsigned)__builtin_ctzll(m));
  if (x->launch->debug) return mx__trap_at(x, i, MX_TRAP_ASSERT, m, first);
  struct mx_text all = {0};
  bool good = true;
  MX_FOR_LANES (l, m) {
    char *text = assertion_text(x, i, (unsigned)l);
    good = good && text && mx__text_append(&all, text, strlen(text)) && mx__text_append(&all, "\n", 1);
    free(text);
  }
  if (!good) {
    free(all.s);
    free(first);
    return mx__trap_at(x, i, MX_TRAP_HOST_MEMORY, m, NULL);
  }
  struct mx_trap t = {
      .kind = MX_TRAP_ASSERT, .func = x->fn->number, .pc = i->pc, .warp = x->warp->number, .lanes = m, .detail = first};
  memcpy(t.block, x->block->ctaid, sizeof t.block);
  x->launch->services->assert_failed(x->launch, x->block->index, &t, all.s, all.size);
  free(all.s);
  return mx__op_exit(x, i);
}

/* ---- the heap -------------------------------------------------------------------------------------------*/

const struct mx_insn *mx__op_malloc(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t *d = mx__operand(x, i->o[0]);
  const uint64_t *bytes = mx__operand(x, i->o[1]);
  MX_FOR_LANES (l, mx__lanes_of(x, i)) d[l] = mx__heap_alloc(x->launch->heap, bytes[l], 1);
  return i + 1;
}

const struct mx_insn *mx__op_aligned_malloc(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t *d = mx__operand(x, i->o[0]);
  const uint64_t *bytes = mx__operand(x, i->o[1]), *align = mx__operand(x, i->o[2]);
  MX_FOR_LANES (l, mx__lanes_of(x, i)) d[l] = mx__heap_alloc(x->launch->heap, bytes[l], align[l]);
  return i + 1;
}

const struct mx_insn *mx__op_free(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t *address = mx__operand(x, i->o[0]);
  MX_FOR_LANES (l, mx__lanes_of(x, i))
    if (!mx__heap_release(x->launch->heap, address[l]))
      return bad_access(x, i, MX_TRAP_BAD_FREE, (unsigned)l, address[l], 0, false);
  return i + 1;
}

/* ---- memory ---------------------------------------------------------------------------------------------*/

/* Host addresses of `bytes[l]` bytes at address[l] for the lanes m. False: trapped. */
static bool ranges(struct mx_exec *x, const struct mx_insn *i, uint64_t m, const uint64_t *address,
                   const uint64_t *bytes, bool write, unsigned char **host) {
  MX_FOR_LANES (l, m) {
    uint64_t follow = 0;
    bool writable = true;
    host[l] = bytes[l] ? lane_bytes(x, (unsigned)l, address[l], &follow, &writable) : NULL;
    if (bytes[l] && (!host[l] || follow < bytes[l])) {
      bad_access(x, i, MX_TRAP_OUT_OF_BOUNDS, (unsigned)l, address[l], bytes[l], write);
      return false;
    }
    if (write && !writable) {
      bad_access(x, i, MX_TRAP_READ_ONLY, (unsigned)l, address[l], bytes[l], write);
      return false;
    }
  }
  if (write && x->launch->debug && x->launch->hooks->sees_writes(x->launch->debug))
    MX_FOR_LANES (l, m)
      if (bytes[l]) x->launch->hooks->writes(x, 1ull << l, address, 0, bytes[l], host);
  if (mx__sees_accesses(x->launch))
    MX_FOR_LANES (l, m) {
      const struct mx_access a = {1ull << l, address, 0, bytes[l], host, write};
      if (bytes[l] && !x->launch->probe->touches(x, i, &a)) return false;
    }
  return true;
}

const struct mx_insn *mx__op_memcpy(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t *d = mx__operand(x, i->o[0]), m = mx__lanes_of(x, i);
  const uint64_t *to = mx__operand(x, i->o[1]), *from = mx__operand(x, i->o[2]), *bytes = mx__operand(x, i->o[3]);
  unsigned char *t[MX_MAX_LANES], *f[MX_MAX_LANES];
  if (!ranges(x, i, m, to, bytes, true, t) || !ranges(x, i, m, from, bytes, false, f)) return NULL;
  MX_FOR_LANES (l, m) {
    if (bytes[l]) memmove(t[l], f[l], bytes[l]);
    d[l] = to[l];
  }
  return i + 1;
}

const struct mx_insn *mx__op_memset(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t *d = mx__operand(x, i->o[0]), m = mx__lanes_of(x, i);
  const uint64_t *to = mx__operand(x, i->o[1]), *bytes = mx__operand(x, i->o[3]);
  const uint32_t *value = mx__operand(x, i->o[2]);
  unsigned char *t[MX_MAX_LANES];
  if (!ranges(x, i, m, to, bytes, true, t)) return NULL;
  MX_FOR_LANES (l, m) {
    if (bytes[l]) memset(t[l], (int)(value[l] & 0xFF), bytes[l]);
    d[l] = to[l];
  }
  return i + 1;
}

/* ---- lengths of vectors ---------------------------------------------------------------------------------*/

/* Each lane's vector lies at its address; a dimension below 1 counts as 1. */
static bool vectors(struct mx_exec *x, const struct mx_insn *i, uint64_t m, size_t size, uint64_t *dimension,
                    unsigned char **host) {
  const int32_t *n = mx__operand(x, i->o[1]);
  const uint64_t *base = mx__operand(x, i->o[2]);
  uint64_t address[MX_MAX_LANES], bytes[MX_MAX_LANES];
  MX_FOR_LANES (l, m) {
    address[l] = base[l] + (uint64_t)i->off;
    dimension[l] = n[l] < 1 ? 1 : (uint64_t)n[l];
    bytes[l] = dimension[l] * size;
  }
  return ranges(x, i, m, address, bytes, false, host);
}
#define NORM(name_, t_, value_) \
  const struct mx_insn *mx__op_##name_(struct mx_exec *x, const struct mx_insn *i) { \
    t_ *d = mx__operand(x, i->o[0]); \
    uint64_t m = mx__lanes_of(x, i), n[MX_MAX_LANES]; \
    unsigned char *v[MX_MAX_LANES]; \
    if (!vectors(x, i, m, sizeof(t_), n, v)) return NULL; \
    MX_FOR_LANES (l, m) d[l] = (value_); \
    return i + 1; \
  }
NORM(norm_f32, float, CANON(f32, (float)mx__norm_of_floats(v[l], n[l], mx__float_at)))
NORM(rnorm_f32, float, CANON(f32, (float)(1 / mx__norm_of_floats(v[l], n[l], mx__float_at))))
NORM(norm_f64, double, mx__norm(v[l], n[l], mx__double_at))
NORM(rnorm_f64, double, mx__rnorm(v[l], n[l], mx__double_at))
