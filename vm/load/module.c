/* Reads a container (.mxb) into an image. Separate from the verifier, since this file is about the form of bytes and
 * the verifier about their meaning; it must not know how containers are written. The format: docs/container.md.
 *
 * Nothing in the file is trusted: every count is compared with the bytes that are left before memory is taken for it,
 * and every element takes at least one byte, so that memory stays within a fixed multiple of the file's size. The first
 * error sticks: from there on all reads give 0 and consume nothing, so that callers check only where they loop. */
#include "module.h"

#include "core/container.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- memory ------------------------------------------------------------------------------------------*/
struct mx__image_chunk {
  struct mx__image_chunk *next;
  size_t used, size;
  uint8_t at[] __attribute__((aligned(16)));
};
#define CHUNK_SIZE ((size_t)16 << 10)

struct reader {
  const uint8_t *file;
  size_t at, end; /* of the section being read */
  const char *section;
  struct mx__image *box;
  enum mx__load status;
  char *why;
  struct {
    size_t at, end;
  } place[MX__SECTIONS];
  struct text {
    const char *at;
    size_t size;
  } * strings;
  uint32_t nstrings;
};

static void fail(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct reader *r, const char *fmt, ...) {
  if (r->status != MX__LOAD_OK) return;
  r->status = MX__LOAD_REFUSED;
  char place[80], *text = NULL;
  if (r->section) snprintf(place, sizeof place, "section '%s', byte %zu: ", r->section, r->at);
  else place[0] = 0;
  va_list list;
  va_start(list, fmt);
  int n = vsnprintf(NULL, 0, fmt, list);
  va_end(list);
  size_t head = strlen(place);
  if (n >= 0) text = malloc(head + (size_t)n + 1);
  if (!text) return;
  memcpy(text, place, head);
  va_start(list, fmt);
  vsnprintf(text + head, (size_t)n + 1, fmt, list);
  va_end(list);
  r->why = text;
}

/* n elements of `size` bytes, zeroed; NULL when memory ran out or an error has been found. */
static void *take(struct reader *r, uint64_t n, size_t size) {
  if (r->status != MX__LOAD_OK) return NULL;
  if (n > (SIZE_MAX / 2 - sizeof(struct mx__image_chunk)) / size) {
    r->status = MX__LOAD_OOM;
    return NULL;
  }
  size_t bytes = ((size_t)n * size + 15) & ~(size_t)15;
  struct mx__image_chunk *c = r->box->chunks;
  if (!c || c->size - c->used < bytes) {
    size_t want = bytes > CHUNK_SIZE / 4 ? bytes : CHUNK_SIZE;
    struct mx__image_chunk *fresh = calloc(1, sizeof *fresh + want);
    if (!fresh) {
      r->status = MX__LOAD_OOM;
      return NULL;
    }
    fresh->size = want;
    if (c && want != CHUNK_SIZE) { /* a chunk of its own; the open one stays in front */
      fresh->next = c->next;
      c->next = fresh;
    } else {
      fresh->next = c;
      r->box->chunks = fresh;
    }
    c = fresh;
  }
  void *p = c->at + c->used;
  c->used += bytes;
  return p;
}

void mx__image_free(struct mx__image *image) {
  if (!image) return;
  for (struct mx__image_chunk *c = image->chunks, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(image);
}

/* ---- elements ----------------------------------------------------------------------------------------*/
static bool good(const struct reader *r) { return r->status == MX__LOAD_OK; }
static size_t left(const struct reader *r) { return r->end - r->at; }

static unsigned get_byte(struct reader *r) {
  if (!good(r)) return 0;
  if (!left(r)) {
    fail(r, "the section ends too early");
    return 0;
  }
  return r->file[r->at++];
}

static uint64_t get_varint(struct reader *r) {
  uint64_t v = 0;
  for (unsigned shift = 0; good(r); shift += 7) {
    unsigned c = get_byte(r);
    if (shift == 63 && c > 1) {
      fail(r, "a number of more than 64 bits");
      break;
    }
    v |= (uint64_t)(c & 127) << shift;
    if (c < 128) {
      if (!c && shift) fail(r, "a number that is longer than needed");
      break;
    }
  }
  return good(r) ? v : 0;
}

static int64_t get_signed(struct reader *r) { return mx__unzigzag(get_varint(r)); }

/* A number of at most `max`. */
static uint32_t get_number(struct reader *r, uint64_t max, const char *what) {
  uint64_t v = get_varint(r);
  if (v <= max) return (uint32_t)v;
  fail(r, "%s is %llu, the most is %llu", what, (unsigned long long)v, (unsigned long long)max);
  return 0;
}

/* base + a signed difference, at most `max`. */
static uint32_t get_near(struct reader *r, uint64_t base, uint64_t max, const char *what) {
  uint64_t v = base + (uint64_t)get_signed(r); /* wraps below 0 to something large */
  if (v <= max) return (uint32_t)v;
  fail(r, "%s is out of range", what);
  return 0;
}

/* A count of elements that take at least a byte each. */
static uint32_t get_count(struct reader *r, const char *what) {
  uint64_t v = get_varint(r);
  if (v <= left(r) && v < UINT32_MAX) return (uint32_t)v;
  fail(r, "%llu %s do not fit into the %zu bytes that are left", (unsigned long long)v, what, left(r));
  return 0;
}

static uint64_t get_le(struct reader *r, unsigned n) {
  uint64_t v = 0;
  for (unsigned k = 0; k < n; k++) v |= (uint64_t)get_byte(r) << (8 * k);
  return v;
}

static const char *const section_names[] = {
#define X(id_, name_) name_,
    MX_SECTIONS(X)
#undef X
};

static void open_section(struct reader *r, enum mx__section s) {
  if (!good(r)) return;
  r->section = section_names[s];
  r->at = r->place[s].at;
  r->end = r->place[s].end;
}

static void close_section(struct reader *r) {
  if (good(r) && left(r)) fail(r, "%zu bytes too many", left(r));
  if (good(r)) r->section = NULL;
}

/* ---- strings -----------------------------------------------------------------------------------------*/
static struct text get_text(struct reader *r, struct text last) {
  unsigned lengths = get_byte(r), most = last.size < MX__STR_SHARED ? (unsigned)last.size : MX__STR_SHARED;
  uint32_t shared = lengths & 15, own = lengths >> 4;
  if (shared == 15) shared = get_number(r, most, "the length shared with the text before");
  if (own == 15) own = get_count(r, "characters");
  if (shared > most) fail(r, "the length shared with the text before is %u, the most is %u", shared, most);
  if (own > left(r)) fail(r, "%u characters do not fit into the %zu bytes that are left", own, left(r));
  char *s = take(r, (uint64_t)shared + own + 1, 1);
  if (!s) return (struct text){"", 0};
  memcpy(s, last.at, shared);
  if (own) memcpy(s + shared, r->file + r->at, own);
  if (own && memchr(s + shared, 0, own)) fail(r, "a text holds a zero byte");
  r->at += own;
  return (struct text){s, (size_t)shared + own};
}

static void read_strings(struct reader *r) {
  open_section(r, MX__SEC_STRINGS);
  uint32_t n = get_count(r, "strings");
  r->strings = take(r, n, sizeof *r->strings);
  for (uint32_t k = 0; k < n && good(r); k++) {
    r->strings[k] = get_text(r, k ? r->strings[k - 1] : (struct text){"", 0});
    r->nstrings = k + 1;
  }
  close_section(r);
}

static const char *numbered(struct reader *r, struct text s, uint32_t number) {
  if (s.size > MX__STR_SHARED) fail(r, "a number follows %zu characters of a name", s.size);
  char digits[16];
  size_t n = (size_t)snprintf(digits, sizeof digits, "%u", number);
  char *full = take(r, s.size + n + 1, 1);
  if (!full) return "";
  memcpy(full, s.at, s.size);
  memcpy(full + s.size, digits, n);
  return full;
}

static const char *get_string(struct reader *r, const char *what) {
  uint64_t v = get_varint(r);
  if (!good(r)) return "";
  if (v >> 1 >= r->nstrings) {
    fail(r, "%s is string %llu of %u", what, (unsigned long long)(v >> 1), r->nstrings);
    return "";
  }
  struct text s = r->strings[v >> 1];
  if (!(v & 1)) return s.at;
  return numbered(r, s, get_number(r, MX__STR_NUMBER_MAX - 1, "the number in a name"));
}

/* ---- target and variables ----------------------------------------------------------------------------*/
static void read_target(struct reader *r) {
  open_section(r, MX__SEC_TARGET);
  struct mx_image *m = &r->box->image;
  m->lanes = get_number(r, MX_MAX_LANES, "the number of lanes");
  m->sm = get_number(r, 10000, "the target");
  m->ptx_version = get_number(r, 10000, "the PTX version");
  m->address_size = get_number(r, 64, "the address size");
  close_section(r);
}

static void read_relocs(struct reader *r, struct mx_var *v) {
  uint32_t n = get_count(r, "addresses");
  struct mx_reloc *list = take(r, n, sizeof *list);
  if (!list) return;
  uint64_t at = 0;
  for (uint32_t k = 0; k < n && good(r); k++) {
    uint64_t step = get_varint(r);
    if (step > v->size - at) fail(r, "an address lies outside its variable");
    at += step;
    list[k].offset = at;
    const unsigned size = get_byte(r);
    list[k].size = size & 15, list[k].byte = (uint8_t)(size >> 4);
    list[k].kind = (uint8_t)get_byte(r);
    list[k].index = get_number(r, UINT32_MAX, "an index");
    list[k].addend = (uint64_t)get_signed(r);
  }
  v->relocs = list;
  v->nrelocs = n;
}

static void read_vars(struct reader *r) {
  open_section(r, MX__SEC_VARS);
  uint32_t n = get_count(r, "variables");
  struct mx_var *list = take(r, n, sizeof *list);
  if (!list) return;
  for (uint32_t k = 0; k < n && good(r); k++) {
    struct mx_var *v = &list[k];
    v->name = get_string(r, "a variable's name");
    v->space = (uint8_t)get_byte(r);
    v->flags = (uint8_t)get_byte(r);
    v->align = get_number(r, UINT32_MAX, "an alignment");
    v->size = get_varint(r);
    v->ninit = get_count(r, "initial bytes");
    uint8_t *init = take(r, v->ninit, 1);
    if (!init) return;
    if (v->ninit) memcpy(init, r->file + r->at, v->ninit);
    v->init = init;
    r->at += v->ninit;
    read_relocs(r, v);
  }
  r->box->image.vars = list;
  r->box->image.nvars = n;
  close_section(r);
}

/* ---- functions ---------------------------------------------------------------------------------------*/
static void read_literal(struct reader *r, struct mx_lit *l) {
  unsigned head = get_byte(r), form = head >> 2 & 7;
  l->kind = (uint8_t)(head & 3);
  if (l->kind != MX_LIT_VALUE) {
    if (form != MX__LIT_PLAIN || head >> 5 != 7) fail(r, "a literal of an unknown form");
    l->index = get_number(r, UINT32_MAX, "an index");
    l->value = (uint64_t)get_signed(r);
    return;
  }
  uint64_t v = head >> 5 < 7 ? head >> 5 : get_varint(r);
  if ((form == MX__LIT_NOT32 || form == MX__LIT_SWAP32) && v > UINT32_MAX) fail(r, "a 32-bit literal of more bits");
  switch (form) {
  case MX__LIT_PLAIN: break;
  case MX__LIT_NOT64: v = ~v; break;
  case MX__LIT_NOT32: v = ~v & UINT32_MAX; break;
  case MX__LIT_SWAP32: v = __builtin_bswap32((uint32_t)v); break;
  case MX__LIT_SWAP64: v = __builtin_bswap64(v); break;
  default: fail(r, "a literal of an unknown form");
  }
  l->value = v;
}

static void read_params(struct reader *r, struct mx_func *f) {
  struct mx_param *list = take(r, f->nparams, sizeof *list);
  if (!list) return;
  uint64_t end = 0;
  for (uint32_t k = 0; k < f->nparams && good(r); k++) {
    struct mx_param *p = &list[k];
    p->name = get_string(r, "a parameter's name");
    unsigned type = get_byte(r);
    p->type = (uint8_t)(type & 63);
    p->is_pointer = type >> 7;
    if (type & 64) { /* size, alignment and place as the type suggests */
      unsigned bytes = p->type < MX_T_raw ? mx__types[p->type].bits / 8u : 0;
      uint64_t offset = bytes ? (end + bytes - 1) / bytes * bytes : UINT64_MAX;
      if (offset > UINT32_MAX) fail(r, "a parameter of type %u has no natural place", p->type);
      p->offset = (uint32_t)offset;
      p->size = bytes;
      p->align = (uint16_t)bytes;
    } else {
      p->offset = get_near(r, end, UINT32_MAX, "a parameter's offset");
      p->size = get_number(r, UINT32_MAX, "a parameter's size");
      p->align = (uint16_t)get_number(r, UINT16_MAX, "a parameter's alignment");
    }
    end = (uint64_t)p->offset + p->size;
  }
  f->params = list;
}

static const struct mx_slot_ref *read_slot_refs(struct reader *r, uint32_t n) {
  struct mx_slot_ref *list = take(r, n, sizeof *list);
  for (uint32_t k = 0; k < n && good(r); k++) {
    uint32_t v = get_number(r, UINT16_MAX << 3 | 7, "a slot");
    list[k] = (struct mx_slot_ref){(uint8_t)(v & 7), (uint16_t)(v >> 3)};
  }
  return list;
}

static void read_tables(struct reader *r, struct mx_func *f) {
  struct mx_table *list = take(r, f->ntables, sizeof *list);
  for (uint32_t k = 0; k < f->ntables && good(r); k++) {
    uint32_t n = get_count(r, "targets"), last = 0;
    uint32_t *targets = take(r, n, sizeof *targets);
    for (uint32_t t = 0; t < n && good(r); t++) targets[t] = last = get_near(r, last, UINT32_MAX, "a jump target");
    list[k] = (struct mx_table){targets, good(r) ? n : 0};
  }
  f->tables = list;
}

static uint8_t *read_classes(struct reader *r, uint16_t *n) {
  uint32_t count = get_count(r, "slot classes");
  if (count > UINT16_MAX) fail(r, "%u slot classes", count);
  uint8_t *list = take(r, count, 1);
  if (!list) return NULL;
  if (count) memcpy(list, r->file + r->at, count);
  r->at += count;
  *n = (uint16_t)count;
  return list;
}

static void read_protos(struct reader *r, struct mx_func *f) {
  struct mx_proto *list = take(r, f->nprotos, sizeof *list);
  for (uint32_t k = 0; k < f->nprotos && good(r); k++) {
    list[k].res = read_classes(r, &list[k].nres);
    list[k].arg = read_classes(r, &list[k].narg);
  }
  f->protos = list;
}

static void read_func(struct reader *r, struct mx_func *f) {
  f->name = get_string(r, "a function's name");
  f->flags = get_number(r, UINT32_MAX, "the flags");
  uint32_t mask = get_number(r, UINT32_MAX, "the mask of fields"), field[24] = {0};
  f->n32 = (uint16_t)get_number(r, UINT16_MAX, "the number of 32-bit slots");
  f->n64 = (uint16_t)get_number(r, UINT16_MAX, "the number of 64-bit slots");
  f->npred = (uint16_t)get_number(r, UINT16_MAX, "the number of predicates");
  f->ncode = get_number(r, MX_MAX_CODE, "the number of code words");
  if (mask >> (sizeof field / sizeof *field)) fail(r, "the mask of fields is %#x", mask);
  for (unsigned k = 0; k < sizeof field / sizeof *field; k++) {
    if (!(mask >> k & 1)) continue;
    bool counts = k == 1 || k == 2 || k == 4 || k == 5 || k == 11 || k == 12 || k == 19;
    if (counts) field[k] = get_count(r, "elements");
    else field[k] = get_number(r, k < 16 ? UINT32_MAX : UINT16_MAX, "a field");
    if (!field[k]) fail(r, "a field that the mask announces is 0");
  }
  f->param_bytes = field[0];
  f->nparams = field[1];
  f->nshared = field[2];
  f->local_bytes = field[3];
  f->nargs = field[4];
  f->nresults = field[5];
  f->arg_bytes = field[6];
  memcpy(f->maxntid, &field[7], sizeof f->maxntid);
  f->minnctapersm = field[10];
  f->ntables = field[11];
  f->nprotos = field[12];
  memcpy(f->reqntid, &field[13], sizeof f->reqntid);
  f->nspill32 = (uint16_t)field[16];
  f->nspill64 = (uint16_t)field[17];
  f->nspillpred = (uint16_t)field[18];
  f->nlocals = field[19];
  memcpy(f->reqncta, &field[20], sizeof f->reqncta);
  f->maxclusterrank = field[23];
  f->nlits = get_count(r, "literals");
  struct mx_lit *lits = take(r, f->nlits, sizeof *lits);
  for (uint32_t k = 0; k < f->nlits && good(r); k++) read_literal(r, &lits[k]);
  f->lits = lits;
  read_params(r, f);
  f->args = read_slot_refs(r, f->nargs);
  f->results = read_slot_refs(r, f->nresults);
  read_tables(r, f);
  read_protos(r, f);
  uint32_t *shared = take(r, f->nshared, sizeof *shared);
  for (uint32_t k = 0; k < f->nshared && good(r); k++) shared[k] = get_number(r, UINT32_MAX, "a shared variable");
  f->shared = shared;
  struct mx_local *locals = take(r, f->nlocals, sizeof *locals);
  for (uint32_t k = 0; k < f->nlocals && good(r); k++) {
    locals[k].name = get_string(r, "a variable's name");
    locals[k].offset = get_number(r, UINT32_MAX, "a variable's offset");
    locals[k].size = get_number(r, UINT32_MAX, "a variable's size");
  }
  f->locals = locals;
}

static struct mx_func *read_funcs(struct reader *r) {
  open_section(r, MX__SEC_FUNCS);
  uint32_t n = get_count(r, "functions");
  struct mx_func *list = take(r, n, sizeof *list);
  if (!list) return NULL;
  for (uint32_t k = 0; k < n && good(r); k++) read_func(r, &list[k]);
  r->box->image.funcs = list;
  r->box->image.nfuncs = n;
  close_section(r);
  return list;
}

/* ---- code --------------------------------------------------------------------------------------------*/
struct bits {
  struct reader *r;
  uint64_t hold;
  unsigned n;
};

static uint32_t get_bits(struct bits *b, unsigned n) { /* n <= 32 */
  for (; b->n < n && good(b->r); b->n += 8) b->hold |= (uint64_t)get_byte(b->r) << b->n;
  uint32_t v = (uint32_t)(b->hold & (((uint64_t)1 << n) - 1));
  b->hold >>= n;
  b->n -= n < b->n ? n : b->n;
  return good(b->r) ? v : 0;
}

/* One of n things. */
static uint32_t get_choice(struct bits *b, uint32_t n, const char *what) {
  uint32_t v = get_bits(b, mx__bits_of(n));
  if (v < n || !good(b->r)) return v;
  fail(b->r, "%s %u of %u", what, v, n);
  return 0;
}

static uint64_t get_long(struct bits *b) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 64; shift += 4) {
    uint32_t c = get_bits(b, 5);
    v |= (uint64_t)(c & 15) << shift;
    if (c < 16) return v;
  }
  fail(b->r, "a number of more than 64 bits");
  return 0;
}

static uint32_t get_long_below(struct bits *b, uint32_t n, const char *what) {
  uint64_t v = get_long(b);
  if (v < n) return (uint32_t)v;
  fail(b->r, "%s is %llu, the most is %u", what, (unsigned long long)v, n - 1);
  return 0;
}

struct sink {
  struct bits bits;
  const struct mx_func *f;
  mx_word *code;
  uint32_t pc;
};

static unsigned get_operand(struct sink *s, struct mx_opnd o) {
  struct bits *b = &s->bits;
  if (o.type == MX_T_raw) return get_long_below(b, 1024, "a raw field");
  bool literal = o.type == MX_T_off || (o.role == MX_IN && get_bits(b, 1));
  if (literal) return MX_LIT + get_choice(b, mx__lits_of(s->f), "literal");
  return get_choice(b, mx__slots_of(s->f, mx__types[o.type].slot_class), "slot");
}

static mx_word get_branch(struct sink *s) {
  uint64_t target = s->pc + (uint64_t)mx__unzigzag(get_long(&s->bits)), code = get_long(&s->bits);
  uint64_t reconv = code ? target + (uint64_t)mx__unzigzag(code - 1) : MX_PC_RET;
  if (target > 0xFFFFF || reconv > 0xFFFFF) fail(s->bits.r, "a branch's target is out of range");
  return good(s->bits.r) ? mx_w_put_branch((uint32_t)target, (uint32_t)reconv) : 0;
}

static void read_instruction(struct sink *s, const uint32_t *dictionary, uint32_t ndictionary) {
  struct bits *b = &s->bits;
  struct reader *r = b->r;
  uint32_t entry = get_bits(b, mx__dictionary_bits(ndictionary));
  if (good(r) && entry >= ndictionary) fail(r, "word %u is entry %u of a dictionary of %u", s->pc, entry, ndictionary);
  if (!good(r)) return;
  unsigned op = dictionary[entry] & 2047, guard = MX_GUARD_NONE, neg = 0;
  mx_word *w = &s->code[s->pc];
  if (op == MX__DICTIONARY_RAW) {
    *w = get_bits(b, 32);
    *w |= (mx_word)get_bits(b, 32) << 32;
    s->pc++;
    return;
  }
  const struct mx_op_info *o = &mx__ops[op];
  if (!(o->flags & MX_F_NOGUARD) && get_bits(b, 1)) {
    neg = get_bits(b, 1);
    guard = get_choice(b, mx__guards_of(s->f), "guard predicate");
  }
  *w = mx_w_make(op, guard, neg, dictionary[entry] >> 11);
  if (o->flags & MX_F_BRANCH) {
    *w |= get_branch(s);
    s->pc++;
    return;
  }
  if (o->flags & MX_F_MOVI) {
    unsigned d = get_operand(s, o->opnd[0]);
    uint64_t v = get_long(b);
    if (v > UINT32_MAX) fail(r, "a constant of more than 32 bits");
    *w |= mx_w_put_movi(d, (uint32_t)mx__unzigzag(v));
    s->pc++;
    return;
  }
  unsigned first = 0, n = o->nopnds;
  if (o->flags & MX_F_CALL) {
    uint32_t callee = get_long_below(b, 1 << 20, "a function number");
    uint32_t nres = get_long_below(b, 1024, "the number of results"),
             narg = get_long_below(b, 1024, "the number of arguments");
    *w |= (mx_word)callee << 24 | mx_w_put(2, nres) | mx_w_put(3, narg);
    first = 4;
    n = 4 + nres + narg;
  }
  unsigned length = n <= 4 ? 1 : 1 + (n - 4 + MX_EXT_FIELDS - 1) / MX_EXT_FIELDS;
  if (length > s->f->ncode - s->pc) {
    fail(r, "the instruction at word %u goes beyond its function's %u words", s->pc, s->f->ncode);
  }
  for (unsigned k = first; k < n && good(r); k++) {
    unsigned field = first ? get_bits(b, 10) : get_operand(s, o->opnd[k]);
    if (good(r)) mx_w_set_operand(&s->code[s->pc], k, field);
  }
  s->pc += length;
}

static void read_code(struct reader *r, struct mx_func *funcs) {
  open_section(r, MX__SEC_CODE);
  uint32_t n = get_count(r, "dictionary entries"), op = 0;
  uint32_t *dictionary = take(r, n, sizeof *dictionary);
  for (uint32_t k = 0; k < n && good(r); k++) {
    op += get_number(r, 2047 - op, "an opcode's distance");
    if (op >= MX_OP_COUNT && op != MX__DICTIONARY_RAW)
      fail(r, "dictionary entry %u names opcode %u of %u", k, op, MX_OP_COUNT);
    uint32_t mod = op < MX_OP_COUNT && mx__ops[op].mods > 1 ? get_byte(r) : 0;
    if (mod > 127) fail(r, "dictionary entry %u has modifier %u", k, mod);
    dictionary[k] = op | mod << 11;
  }
  struct sink s = {.bits = {.r = r}};
  for (uint32_t f = 0; f < r->box->image.nfuncs && good(r); f++) {
    if (funcs[f].ncode > (left(r) + 8) * MX__WORDS_OF_BYTE) {
      fail(r, "%u code words do not fit into the %zu bytes that are left", funcs[f].ncode, left(r));
    }
    s.f = &funcs[f];
    s.code = take(r, funcs[f].ncode, sizeof *s.code);
    for (s.pc = 0; s.pc < funcs[f].ncode && good(r);) read_instruction(&s, dictionary, n);
    funcs[f].code = s.code;
  }
  if (s.bits.hold) fail(r, "bits are left over");
  close_section(r);
}

/* ---- lines, names, labels ----------------------------------------------------------------------------*/
static void read_func_lines(struct reader *r, struct mx_func *f) {
  uint64_t n = get_varint(r); /* runs make entries from nothing, but each has a pc of its own */
  if (n > f->ncode) {
    fail(r, "%llu line entries for %u words", (unsigned long long)n, f->ncode);
    return;
  }
  struct mx_line *list = take(r, n, sizeof *list), last = {0};
  uint64_t dpc = 0;
  int64_t dline = 0;
  for (uint32_t k = 0; k < n && good(r);) {
    uint64_t head = get_varint(r), count = 1;
    if (head & 1) {
      count = head >> 1;
      if (!k || !count || count > n - k) fail(r, "a run of %llu line entries", (unsigned long long)count);
    } else {
      dpc = head >> 2;
      dline = get_signed(r);
      if (head & 2) last.file = get_number(r, UINT32_MAX, "a file number");
    }
    for (; count && good(r); count--, k++) {
      uint64_t pc = last.pc + dpc, line = last.line + (uint64_t)dline;
      if ((k && !dpc) || dpc > MX_MAX_CODE || pc >= f->ncode) fail(r, "line entry %u lies outside the code", k);
      if (line > UINT32_MAX) fail(r, "a line number is out of range");
      if (!good(r)) break;
      last.pc = (uint32_t)pc;
      last.line = (uint32_t)line;
      list[k] = last;
    }
  }
  f->lines = list;
  f->nlines = (uint32_t)n;
}

static void read_lines(struct reader *r, struct mx_func *funcs) {
  open_section(r, MX__SEC_LINES);
  for (uint32_t f = 0; f < r->box->image.nfuncs && good(r); f++) read_func_lines(r, &funcs[f]);
  uint32_t n = get_count(r, "files");
  const char **files = take(r, n, sizeof *files);
  for (uint32_t k = 0; k < n && good(r); k++) files[k] = get_string(r, "a file's name");
  r->box->image.files = files;
  r->box->image.nfiles = n;
  close_section(r);
}

struct kind {
  struct text text;
  uint8_t type;
  bool spilled, numbered;
  uint32_t func;
  int64_t last;
};
struct name_walk {
  struct kind *kinds;
  uint32_t nkinds, func; /* func: number + 1 of the function at hand */
  struct mx__result *results;
  size_t nresults, at;
  struct mx__covered covered;
  uint32_t lo;
};

static void read_kinds(struct reader *r, struct name_walk *w) {
  w->nkinds = get_count(r, "kinds of names");
  w->kinds = take(r, w->nkinds, sizeof *w->kinds);
  for (uint32_t k = 0; k < w->nkinds && good(r); k++) {
    w->kinds[k].text = get_text(r, k ? w->kinds[k - 1].text : (struct text){"", 0});
    unsigned bits = get_byte(r);
    if (bits > 127) fail(r, "kind %u has bits %#x", k, bits);
    w->kinds[k].type = bits & 31;
    w->kinds[k].spilled = bits >> 5 & 1;
    w->kinds[k].numbered = bits >> 6 & 1;
  }
}

/* The result at which a name begins, or nresults if the file gives its place otherwise. */
static size_t get_result(struct reader *r, struct name_walk *w, bool here) {
  uint64_t skip = here ? 0 : get_varint(r);
  if (!here && !skip) return w->nresults;
  size_t at = mx__next_result(&w->covered, w->results, w->nresults, w->at);
  for (; skip && at < w->nresults; skip--) at = mx__next_result(&w->covered, w->results, w->nresults, at + 1);
  if (at == w->nresults) fail(r, "a name begins at a result that does not exist");
  return at;
}

static void read_name(struct reader *r, struct name_walk *w, struct mx_name *n) {
  uint64_t head = get_varint(r);
  if (head >> 2 >= w->nkinds) {
    fail(r, "a name of kind %llu of %u", (unsigned long long)(head >> 2), w->nkinds);
    return;
  }
  struct kind *kind = &w->kinds[head >> 2];
  if (kind->func != w->func) kind->func = w->func, kind->last = 0;
  n->name = kind->text.at;
  if (kind->numbered) {
    kind->last = get_near(r, (uint64_t)kind->last, MX__STR_NUMBER_MAX - 1, "the number in a name");
    n->name = numbered(r, kind->text, (uint32_t)kind->last);
  }
  n->type = kind->type;
  n->cls = n->type < MX_T_COUNT ? mx__types[n->type].slot_class : MX_NOCLASS;
  n->spilled = kind->spilled;
  size_t at = get_result(r, w, head >> 1 & 1);
  if (!good(r)) return;
  uint32_t guess;
  if (at < w->nresults) {
    n->slot = w->results[at].slot;
    n->lo = w->results[at].lo;
    guess = w->results[at].hi;
    if (w->results[at].cls != n->cls || n->lo < w->lo) fail(r, "a name begins at a result of another class");
    w->at = at + 1;
  } else {
    n->slot = (uint16_t)get_number(r, UINT16_MAX, "a slot");
    guess = n->lo = w->lo + get_number(r, UINT32_MAX - w->lo, "a pc");
    if (head & 1) fail(r, "a name without a place");
    w->at = mx__pass_results(w->results, w->nresults, w->at, n->lo);
  }
  n->hi = head & 1 ? guess : get_near(r, guess, UINT32_MAX, "a pc");
  if (!n->spilled) *mx__covered_at(&w->covered, n->cls, n->slot) = n->hi;
  w->lo = n->lo;
}

static void read_func_names(struct reader *r, struct name_walk *w, struct mx_func *f) {
  w->nresults = mx__results(f, NULL);
  w->results = malloc((w->nresults + 1) * sizeof *w->results);
  if (!w->results) {
    r->status = MX__LOAD_OOM;
    return;
  }
  mx__results(f, w->results);
  w->at = 0;
  w->lo = 0;
  memset(&w->covered, 0, sizeof w->covered);
  uint32_t n = get_count(r, "names");
  struct mx_name *names = take(r, n, sizeof *names);
  for (uint32_t k = 0; k < n && good(r); k++) read_name(r, w, &names[k]);
  free(w->results);
  f->names = names;
  f->nnames = n;
  n = get_count(r, "labels");
  struct mx_label *labels = take(r, n, sizeof *labels);
  uint32_t at = 0;
  for (uint32_t k = 0; k < n && good(r); k++) {
    labels[k].name = get_string(r, "a label");
    labels[k].pc = at += get_number(r, UINT32_MAX - at, "a pc");
  }
  f->labels = labels;
  f->nlabels = n;
}

static void read_names(struct reader *r, struct mx_func *funcs) {
  struct name_walk w = {0};
  open_section(r, MX__SEC_NAMES);
  read_kinds(r, &w);
  for (uint32_t f = 0; f < r->box->image.nfuncs && good(r); f++) {
    w.func = f + 1;
    read_func_names(r, &w, &funcs[f]);
  }
  close_section(r);
}

/* ---- the file ----------------------------------------------------------------------------------------*/
static void read_header(struct reader *r, size_t size) {
  r->end = size;
  if (size < 4 || memcmp(r->file, MX_CONTAINER_MAGIC, 4)) {
    fail(r, "not a module: it does not begin with \"MXB\"");
    return;
  }
  if (size < MX_CONTAINER_HEADER) {
    fail(r, "the file ends inside its header");
    return;
  }
  r->at = 4;
  unsigned version = (unsigned)get_le(r, 2), header = (unsigned)get_le(r, 2);
  uint64_t table = get_le(r, 8);
  if (version != MX_CONTAINER_VERSION) {
    fail(r, "format version %u, this library reads version %u", version, MX_CONTAINER_VERSION);
  }
  if (header != MX_CONTAINER_HEADER) fail(r, "the header is damaged");
  if (table != mx__table_digest()) {
    fail(r, "assembled with another instruction table (%016llx, here %016llx): assemble it again",
         (unsigned long long)table, (unsigned long long)mx__table_digest());
  }
  if (!good(r)) return;
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(r->file + MX_CONTAINER_HEADER, size - MX_CONTAINER_HEADER));
  if (memcmp(digest.digest, r->file + 16, sizeof digest.digest))
    fail(r, "the digest does not fit: the file is damaged");
}

static void find_sections(struct reader *r, size_t size) {
  r->at = MX_CONTAINER_HEADER;
  r->end = size;
  for (unsigned k = 0; k < MX__SECTIONS && good(r); k++) {
    size_t at = r->at;
    uint64_t n = get_varint(r);
    if (good(r) && n > left(r)) fail(r, "byte %zu: section '%s' is longer than the file", at, section_names[k]);
    if (!good(r)) return;
    r->place[k].at = r->at;
    r->place[k].end = r->at += n;
  }
  if (good(r) && left(r)) fail(r, "%zu bytes after the last section", left(r));
}

enum mx__load mx__image_read(const uint8_t *bytes, size_t size, struct mx__image **out, char **why) {
  struct reader r = {.file = bytes, .status = MX__LOAD_OK};
  *out = NULL;
  if (why) *why = NULL;
  r.box = calloc(1, sizeof *r.box);
  if (!r.box) return MX__LOAD_OOM;
  read_header(&r, size);
  if (good(&r)) find_sections(&r, size);
  read_strings(&r);
  read_target(&r);
  read_vars(&r);
  struct mx_func *funcs = read_funcs(&r);
  read_code(&r, funcs);
  read_lines(&r, funcs);
  read_names(&r, funcs);
  if (good(&r)) {
    *out = r.box;
  } else {
    mx__image_free(r.box);
    if (why && r.status == MX__LOAD_REFUSED) *why = r.why;
    else free(r.why);
  }
  return r.status;
}
