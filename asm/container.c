/* Writes a module image as a container (.mxb). Separate from the encoder because it knows only the image: whatever
 * made it may be written. It must not know the reader; both follow docs/container.md.
 *
 * Compactness is the point of most of this: an instruction takes two or three bytes instead of eight, a register's
 * name mostly two, a line number mostly none. */
#include "container.h"

#include "core/container.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- bytes -------------------------------------------------------------------------------------------*/
struct bytes {
  uint8_t *at;
  size_t size, capacity;
  bool oom;
};

static void put_bytes(struct bytes *b, const void *p, size_t n) {
  if (b->oom || !n) return;
  if (n > b->capacity - b->size) {
    size_t capacity = b->capacity ? b->capacity : 256;
    while (capacity - b->size < n) {
      if (capacity > SIZE_MAX / 2) {
        b->oom = true;
        return;
      }
      capacity *= 2;
    }
    uint8_t *at = realloc(b->at, capacity);
    if (!at) {
      b->oom = true;
      return;
    }
    b->at = at;
    b->capacity = capacity;
  }
  memcpy(b->at + b->size, p, n);
  b->size += n;
}

static void put_byte(struct bytes *b, unsigned v) {
  uint8_t c = (uint8_t)v;
  put_bytes(b, &c, 1);
}

static void put_varint(struct bytes *b, uint64_t v) {
  uint8_t c[10];
  size_t n = 0;
  for (; v >= 128; v >>= 7) c[n++] = (uint8_t)(v | 128);
  c[n++] = (uint8_t)v;
  put_bytes(b, c, n);
}

static void put_signed(struct bytes *b, int64_t v) { put_varint(b, mx__zigzag(v)); }

static void put_le(struct bytes *b, uint64_t v, unsigned n) {
  for (unsigned k = 0; k < n; k++) put_byte(b, (unsigned)(v >> (8 * k) & 255));
}

static unsigned varint_size(uint64_t v) {
  unsigned n = 1;
  while (v >>= 7) n++;
  return n;
}

/* ---- strings -----------------------------------------------------------------------------------------
 * A string is a text of section 'S', or one followed by a decimal number: %r12 is text "%r" and number 12. */
struct text {
  const char *at;
  size_t size;
};
struct strings {
  struct text *list;
  uint32_t count, capacity;
  uint32_t *hash; /* number + 1, or 0 */
  uint32_t hash_size;
  bool oom;
};

static size_t string_hash(const char *s, size_t n) {
  uint64_t h = XXH3_64bits(s, n);
  return (size_t)(h ^ h >> 32);
}

static void strings_grow(struct strings *t) {
  uint32_t size = t->hash_size ? t->hash_size * 2 : 64;
  uint32_t *hash = calloc(size, sizeof *hash);
  struct text *list = realloc(t->list, size / 2 * sizeof *list);
  if (list) t->list = list;
  if (!hash || !list) {
    free(hash);
    t->oom = true;
    return;
  }
  for (uint32_t k = 0; k < t->count; k++) {
    size_t at = string_hash(list[k].at, list[k].size) & (size - 1);
    while (hash[at]) at = (at + 1) & (size - 1);
    hash[at] = k + 1;
  }
  free(t->hash);
  t->hash = hash;
  t->hash_size = size;
  t->capacity = size / 2;
}

static uint32_t string_number(struct strings *t, const char *s, size_t n) {
  if (t->oom) return 0;
  if (t->count == t->capacity) strings_grow(t);
  if (t->oom) return 0;
  size_t at = string_hash(s, n) & (t->hash_size - 1);
  for (; t->hash[at]; at = (at + 1) & (t->hash_size - 1)) {
    struct text *have = &t->list[t->hash[at] - 1];
    if (have->size == n && !memcmp(have->at, s, n)) return t->hash[at] - 1;
  }
  t->list[t->count] = (struct text){s, n};
  t->hash[at] = ++t->count;
  return t->count - 1;
}

/* Length of the text before the number at the end of s; *number is -1 if there is none. */
static size_t split_number(const char *s, int64_t *number) {
  size_t n = strlen(s), at = n;
  while (at && n - at < 9 && s[at - 1] >= '0' && s[at - 1] <= '9') at--;
  while (at < n && s[at] == '0' && at + 1 < n) at++; /* 007 is "00" and 7 */
  *number = -1;
  if (at == n || at > MX__STR_SHARED) return n;
  *number = 0;
  for (size_t k = at; k < n; k++) *number = *number * 10 + (s[k] - '0');
  return at;
}

static void put_string(struct bytes *b, struct strings *t, const char *s) {
  int64_t number;
  size_t n = split_number(s ? s : "", &number);
  put_varint(b, (uint64_t)string_number(t, s ? s : "", n) << 1 | (number >= 0));
  if (number >= 0) put_varint(b, (uint64_t)number);
}

/* A text after another: what they share at their beginnings is not repeated. */
static void put_text(struct bytes *b, struct text s, struct text last) {
  size_t shared = 0;
  while (shared < s.size && shared < last.size && shared < MX__STR_SHARED && s.at[shared] == last.at[shared]) shared++;
  size_t own = s.size - shared;
  put_byte(b, (unsigned)((shared < 15 ? shared : 15) | (own < 15 ? own : 15) << 4));
  if (shared >= 15) put_varint(b, shared);
  if (own >= 15) put_varint(b, own);
  put_bytes(b, s.at + shared, own);
}

static void put_strings(struct bytes *b, struct strings *t) {
  put_varint(b, t->count);
  for (uint32_t k = 0; k < t->count; k++) put_text(b, t->list[k], k ? t->list[k - 1] : (struct text){"", 0});
}

static void free_strings(struct strings *t) {
  free(t->list);
  free(t->hash);
}

/* ---- the writer --------------------------------------------------------------------------------------*/
struct dictionary {
  uint32_t number;
  bool used;
};
#define DICTIONARY_KEYS (2048u * 128u)

struct writer {
  const struct mx_image *image;
  struct strings strings;
  struct bytes section[MX__SECTIONS];
  struct dictionary *dictionary; /* by opcode and modifier */
  uint32_t ndictionary;
  uint32_t *file_number; /* new number + 1 of each file, or 0 */
  uint32_t nfiles;
  bool oom;
};

static void put_literal(struct bytes *b, const struct mx_lit *l) {
  unsigned form = MX__LIT_PLAIN;
  uint64_t v = l->value, payload = v;
  if (l->kind == MX_LIT_VALUE) {
    const uint64_t forms[MX__LIT_FORMS] = {v, ~v, v <= UINT32_MAX ? ~v & UINT32_MAX : UINT64_MAX,
                                           v <= UINT32_MAX ? __builtin_bswap32((uint32_t)v) : UINT64_MAX,
                                           __builtin_bswap64(v)};
    for (unsigned k = 1; k < MX__LIT_FORMS; k++) {
      if (varint_size(forms[k]) < varint_size(payload)) form = k, payload = forms[k];
    }
  }
  bool small = l->kind == MX_LIT_VALUE && payload < 7;
  put_byte(b, (l->kind & 3u) | form << 2 | (small ? (unsigned)payload : 7u) << 5);
  if (l->kind != MX_LIT_VALUE) {
    put_varint(b, l->index);
    put_signed(b, (int64_t)v);
  } else if (!small) {
    put_varint(b, payload);
  }
}

static void write_vars(struct writer *w) {
  struct bytes *b = &w->section[MX__SEC_VARS];
  put_varint(b, w->image->nvars);
  for (uint32_t k = 0; k < w->image->nvars; k++) {
    const struct mx_var *v = &w->image->vars[k];
    put_string(b, &w->strings, v->name);
    put_byte(b, v->space);
    put_byte(b, v->flags);
    put_varint(b, v->align);
    put_varint(b, v->size);
    uint64_t ninit = v->init ? v->ninit : 0;
    while (ninit && !v->init[ninit - 1]) ninit--; /* the rest is zero anyway */
    put_varint(b, ninit);
    put_bytes(b, v->init, ninit);
    put_varint(b, v->nrelocs);
    uint64_t at = 0;
    for (uint32_t r = 0; r < v->nrelocs; r++) {
      const struct mx_reloc *x = &v->relocs[r];
      put_varint(b, x->offset - at);
      put_byte(b, (uint8_t)(x->size | x->byte << 4));
      put_byte(b, x->kind);
      put_varint(b, x->index);
      put_signed(b, (int64_t)x->addend);
      at = x->offset;
    }
  }
}

static void write_func(struct writer *w, const struct mx_func *f) {
  struct bytes *b = &w->section[MX__SEC_FUNCS];
  put_string(b, &w->strings, f->name);
  /* Most of these are 0 in most functions: a mask says which are there. */
  const uint32_t field[] = {f->param_bytes,  f->nparams,    f->nshared,    f->local_bytes,   f->nargs,
                            f->nresults,     f->arg_bytes,  f->maxntid[0], f->maxntid[1],    f->maxntid[2],
                            f->minnctapersm, f->ntables,    f->nprotos,    f->reqntid[0],    f->reqntid[1],
                            f->reqntid[2],   f->nspill32,   f->nspill64,   f->nspillpred,    f->nlocals,
                            f->reqncta[0],   f->reqncta[1], f->reqncta[2], f->maxclusterrank};
  uint32_t mask = 0;
  for (unsigned k = 0; k < sizeof field / sizeof *field; k++) mask |= (uint32_t)(field[k] != 0) << k;
  put_varint(b, f->flags);
  put_varint(b, mask);
  put_varint(b, f->n32);
  put_varint(b, f->n64);
  put_varint(b, f->npred);
  put_varint(b, f->ncode);
  for (unsigned k = 0; k < sizeof field / sizeof *field; k++) {
    if (field[k]) put_varint(b, field[k]);
  }
  put_varint(b, f->nlits);
  for (uint32_t k = 0; k < f->nlits; k++) put_literal(b, &f->lits[k]);
  uint64_t end = 0;
  for (uint32_t k = 0; k < f->nparams; k++) {
    const struct mx_param *p = &f->params[k];
    put_string(b, &w->strings, p->name);
    uint32_t bytes = p->type < MX_T_raw ? mx__types[p->type].bits / 8u : 0;
    bool natural = bytes && p->size == bytes && p->align == bytes && p->offset == (end + bytes - 1) / bytes * bytes;
    put_byte(b, (p->type & 63u) | (natural ? 64u : 0) | (p->is_pointer ? 128u : 0));
    if (!natural) {
      put_signed(b, (int64_t)p->offset - (int64_t)end);
      put_varint(b, p->size);
      put_varint(b, p->align);
    }
    end = (uint64_t)p->offset + p->size;
  }
  for (uint32_t k = 0; k < f->nargs; k++) put_varint(b, (uint64_t)f->args[k].slot << 3 | (f->args[k].cls & 7));
  for (uint32_t k = 0; k < f->nresults; k++) {
    put_varint(b, (uint64_t)f->results[k].slot << 3 | (f->results[k].cls & 7));
  }
  for (uint32_t k = 0; k < f->ntables; k++) {
    put_varint(b, f->tables[k].ntargets);
    int64_t last = 0;
    for (uint32_t t = 0; t < f->tables[k].ntargets; t++) {
      put_signed(b, (int64_t)f->tables[k].targets[t] - last);
      last = f->tables[k].targets[t];
    }
  }
  for (uint32_t k = 0; k < f->nprotos; k++) {
    const struct mx_proto *p = &f->protos[k];
    put_varint(b, p->nres);
    put_bytes(b, p->res, p->nres);
    put_varint(b, p->narg);
    put_bytes(b, p->arg, p->narg);
  }
  for (uint32_t k = 0; k < f->nshared; k++) put_varint(b, f->shared[k]);
  for (uint32_t k = 0; k < f->nlocals; k++) {
    put_string(b, &w->strings, f->locals[k].name);
    put_varint(b, f->locals[k].offset);
    put_varint(b, f->locals[k].size);
  }
}

/* ---- code --------------------------------------------------------------------------------------------
 * A stream of bits, lowest first: the code of all functions. Every field has as many bits as the number of things that
 * it can name in its function. */
struct bits {
  struct bytes *to;
  uint64_t hold;
  unsigned n;
};

static void put_bits(struct bits *b, uint64_t v, unsigned n) { /* n <= 32 */
  b->hold |= v << b->n;
  for (b->n += n; b->n >= 8; b->n -= 8, b->hold >>= 8) put_byte(b->to, b->hold & 255);
}

static void flush_bits(struct bits *b) {
  if (b->n) put_bits(b, 0, 8 - b->n);
}

/* Four bits at a time, each followed by whether more follow. */
static void put_long(struct bits *b, uint64_t v) {
  for (; v >> 4; v >>= 4) put_bits(b, (v & 15) | 16, 5);
  put_bits(b, v, 5);
}

static bool is_operand(const struct mx_func *f, struct mx_opnd o, unsigned field) {
  if (o.type == MX_T_raw) return true;
  if (field >= MX_LIT) return o.role == MX_IN && field - MX_LIT < mx__lits_of(f);
  return o.type != MX_T_off && field < mx__slots_of(f, mx__types[o.type].slot_class);
}

/* Whether the words from pc on are an instruction that these fields can give back exactly. Others, which no verifier
 * would pass, travel as raw words. */
static bool is_plain(const struct mx_func *f, uint32_t pc) {
  const mx_word *w = &f->code[pc];
  unsigned op = mx_w_op(*w);
  if (op >= MX_OP_COUNT) return false;
  const struct mx_op_info *o = &mx__ops[op];
  unsigned length = mx_w_length(*w), n = o->flags & MX_F_CALL ? 4 + mx_w_nres(*w) + mx_w_narg(*w) : o->nopnds;
  if (length > f->ncode - pc) return false;
  unsigned guard = mx_w_guard(*w);
  if (guard == MX_GUARD_NONE ? mx_w_guard_neg(*w) : guard >= mx__guards_of(f) || o->flags & MX_F_NOGUARD) return false;
  if (o->flags & MX_F_MOVI) return mx_w_mod(*w) < 4 && is_operand(f, o->opnd[0], mx_w_field(*w, 0));
  if (mx_w_mod(*w) >= o->mods) return false;
  if (o->flags & MX_F_BRANCH) return true;
  for (unsigned k = n; k < 4; k++) {
    if (mx_w_field(*w, k)) return false;
  }
  for (unsigned k = 1; k < length; k++) {
    for (unsigned x = 0; x < MX_EXT_FIELDS; x++) {
      if (4 + (k - 1) * MX_EXT_FIELDS + x >= n && mx_w_ext_field(w[k], x)) return false;
    }
    if (w[k] >> 60) return false;
  }
  for (unsigned k = 0; k < n && !(o->flags & MX_F_CALL); k++) {
    if (!is_operand(f, o->opnd[k], mx_w_operand(w, k))) return false;
  }
  return true;
}

static uint32_t dictionary_key(const struct mx_func *f, uint32_t pc) {
  if (!is_plain(f, pc)) return MX__DICTIONARY_RAW << 7;
  mx_word w = f->code[pc];
  return mx_w_op(w) << 7 | (mx__ops[mx_w_op(w)].flags & MX_F_MOVI ? 0 : mx_w_mod(w));
}

static uint32_t next_pc(const struct mx_func *f, uint32_t pc) {
  return pc + (is_plain(f, pc) ? mx_w_length(f->code[pc]) : 1);
}

static void put_dictionary(struct writer *w) {
  w->dictionary = calloc(DICTIONARY_KEYS, sizeof *w->dictionary);
  if (!w->dictionary) {
    w->oom = true;
    return;
  }
  bool used[DICTIONARY_KEYS >> 7] = {0}; /* opcodes: most of the keys are in memory that nobody has touched */
  for (uint32_t k = 0; k < w->image->nfuncs; k++) {
    const struct mx_func *f = &w->image->funcs[k];
    for (uint32_t pc = 0; pc < f->ncode; pc = next_pc(f, pc)) {
      const uint32_t key = dictionary_key(f, pc);
      struct dictionary *p = &w->dictionary[key];
      if (!p->used) w->ndictionary++;
      p->used = used[key >> 7] = true;
    }
  }
  struct bytes *b = &w->section[MX__SEC_CODE];
  put_varint(b, w->ndictionary);
  for (uint32_t key = 0, n = 0, last = 0; n < w->ndictionary; key++) {
    uint32_t op = key >> 7;
    if (!used[op]) {
      key |= 127;
      continue;
    }
    if (!w->dictionary[key].used) continue;
    w->dictionary[key].number = n++;
    put_varint(b, op - last);
    if (op < MX_OP_COUNT && mx__ops[op].mods > 1) put_byte(b, key & 127);
    last = op;
  }
}

static void put_operand(struct bits *b, const struct mx_func *f, struct mx_opnd o, unsigned field) {
  if (o.type == MX_T_raw) {
    put_long(b, field);
    return;
  }
  bool literal = field >= MX_LIT;
  if (o.role == MX_IN && o.type != MX_T_off) put_bits(b, literal, 1);
  if (literal) put_bits(b, field - MX_LIT, mx__bits_of(mx__lits_of(f)));
  else put_bits(b, field, mx__bits_of(mx__slots_of(f, mx__types[o.type].slot_class)));
}

static void put_call(struct bits *b, const mx_word *w) {
  unsigned n = mx_w_nres(*w) + mx_w_narg(*w);
  put_long(b, mx_w_callee(*w));
  put_long(b, mx_w_nres(*w));
  put_long(b, mx_w_narg(*w));
  for (unsigned k = 0; k < n; k++) put_bits(b, mx_w_operand(w, 4 + k), 10);
}

static void put_instruction(struct writer *w, struct bits *b, const struct mx_func *f, uint32_t pc) {
  const mx_word *at = &f->code[pc];
  uint32_t key = dictionary_key(f, pc);
  put_bits(b, w->dictionary[key].number, mx__dictionary_bits(w->ndictionary));
  if (key == MX__DICTIONARY_RAW << 7) {
    put_bits(b, *at & UINT32_MAX, 32);
    put_bits(b, *at >> 32, 32);
    return;
  }
  const struct mx_op_info *o = &mx__ops[mx_w_op(*at)];
  if (!(o->flags & MX_F_NOGUARD)) {
    bool guarded = mx_w_guard(*at) != MX_GUARD_NONE;
    put_bits(b, guarded, 1);
    if (guarded) put_bits(b, mx_w_guard_neg(*at), 1), put_bits(b, mx_w_guard(*at), mx__bits_of(mx__guards_of(f)));
  }
  if (o->flags & MX_F_BRANCH) {
    uint32_t target = mx_w_target(*at), reconv = mx_w_reconv(*at);
    put_long(b, mx__zigzag((int64_t)target - pc));
    put_long(b, reconv == MX_PC_RET ? 0 : 1 + mx__zigzag((int64_t)reconv - target));
  } else if (o->flags & MX_F_MOVI) {
    put_operand(b, f, o->opnd[0], mx_w_field(*at, 0));
    put_long(b, mx__zigzag((int32_t)mx_w_movi(*at)));
  } else if (o->flags & MX_F_CALL) {
    put_call(b, at);
  } else {
    for (unsigned k = 0; k < o->nopnds; k++) put_operand(b, f, o->opnd[k], mx_w_operand(at, k));
  }
}

static void write_code(struct writer *w) {
  put_dictionary(w);
  if (w->oom) return;
  struct bits bits = {.to = &w->section[MX__SEC_CODE]};
  for (uint32_t k = 0; k < w->image->nfuncs; k++) {
    const struct mx_func *f = &w->image->funcs[k];
    for (uint32_t pc = 0; pc < f->ncode; pc = next_pc(f, pc)) put_instruction(w, &bits, f, pc);
  }
  flush_bits(&bits);
}

/* ---- lines -------------------------------------------------------------------------------------------
 * Entries as differences to the one before; a difference that repeats is counted. Line 0 is "none", of no file. */
struct line_walk {
  uint32_t next;
  bool begun;
  struct mx_line last;
};

static bool next_line(struct writer *w, const struct mx_func *f, struct line_walk *walk) {
  while (walk->next < f->nlines) {
    struct mx_line l = f->lines[walk->next++];
    if (walk->next < f->nlines && f->lines[walk->next].pc <= l.pc) continue; /* the last of one pc counts */
    if (walk->begun && l.pc <= walk->last.pc) continue;
    bool none = !l.line || l.file >= w->image->nfiles;
    if (none) {
      l.file = l.line = 0;
    } else {
      if (!w->file_number[l.file]) w->file_number[l.file] = ++w->nfiles;
      l.file = w->file_number[l.file] - 1;
    }
    if (l.line == walk->last.line && l.file == walk->last.file) continue;
    walk->last = l;
    walk->begun = true;
    return true;
  }
  return false;
}

static void write_lines(struct writer *w) {
  struct bytes *b = &w->section[MX__SEC_LINES];
  w->file_number = calloc(w->image->nfiles + 1u, sizeof *w->file_number);
  if (!w->file_number) {
    w->oom = true;
    return;
  }
  for (uint32_t k = 0; k < w->image->nfuncs; k++) {
    const struct mx_func *f = &w->image->funcs[k];
    struct line_walk count = {0}, walk = {0};
    uint32_t n = 0;
    while (next_line(w, f, &count)) n++;
    put_varint(b, n);
    struct mx_line last = {0};
    int64_t pc = -1, line = 0, run = 0;
    while (next_line(w, f, &walk)) {
      struct mx_line l = walk.last;
      if (l.file == last.file && l.pc - last.pc == pc && (int64_t)l.line - last.line == line) {
        run++;
      } else {
        if (run) put_varint(b, (uint64_t)run << 1 | 1);
        run = 0;
        pc = l.pc - last.pc;
        line = (int64_t)l.line - last.line;
        put_varint(b, (uint64_t)pc << 2 | (uint64_t)(l.file != last.file) << 1);
        put_signed(b, line);
        if (l.file != last.file) put_varint(b, l.file);
      }
      last = l;
    }
    if (run) put_varint(b, (uint64_t)run << 1 | 1);
  }
  uint32_t *by_number = calloc(w->nfiles + 1u, sizeof *by_number);
  if (!by_number) {
    w->oom = true;
    return;
  }
  for (uint32_t k = 0; k < w->image->nfiles; k++) {
    if (w->file_number[k]) by_number[w->file_number[k] - 1] = k;
  }
  put_varint(b, w->nfiles);
  for (uint32_t k = 0; k < w->nfiles; k++) put_string(b, &w->strings, w->image->files[by_number[k]]);
  free(by_number);
}

/* ---- names -------------------------------------------------------------------------------------------*/
/* The class of a name's slot follows from its type. */
static unsigned class_of(const struct mx_name *n) {
  return n->type < MX_T_COUNT ? mx__types[n->type].slot_class : MX_NOCLASS;
}

static int by_place(const void *a, const void *b) {
  const struct mx_name *x = a, *y = b;
  if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
  if (x->spilled != y->spilled) return x->spilled ? 1 : -1;
  if (class_of(x) != class_of(y)) return class_of(x) < class_of(y) ? -1 : 1;
  if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  if (x->type != y->type) return x->type < y->type ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_pc(const void *a, const void *b) {
  const struct mx_label *x = a, *y = b;
  if (x->pc != y->pc) return x->pc < y->pc ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void *sorted(struct writer *w, const void *list, uint32_t n, size_t size,
                    int (*order)(const void *, const void *)) {
  void *copy = malloc((n + 1u) * size);
  if (!copy) {
    w->oom = true;
    return NULL;
  }
  if (n) memcpy(copy, list, n * size);
  qsort(copy, n, size, order);
  return copy;
}

/* Kinds of names: text before the number, and type. Few in a module, so that a name is mostly kind and number. */
_Static_assert(MX_T_COUNT <= 32, "a kind keeps its type in five bits");
struct kind {
  uint64_t key;
  uint32_t count, number;
  const struct mx_func *func;
  int64_t last; /* number of the last one in func */
};
struct kinds {
  struct strings texts;
  struct kind *list;
  uint32_t count, capacity;
  uint32_t *hash;
  uint32_t hash_size;
  bool oom;
};

static uint64_t kind_key(struct kinds *t, const struct mx_name *n, int64_t *number) {
  size_t size = split_number(n->name, number);
  return (uint64_t)string_number(&t->texts, n->name, size) << 7 | (*number >= 0 ? 64u : 0) | (n->spilled ? 32u : 0) |
         (n->type & 31u);
}

static void kinds_grow(struct kinds *t) {
  uint32_t size = t->hash_size ? t->hash_size * 2 : 64;
  uint32_t *hash = calloc(size, sizeof *hash);
  struct kind *list = realloc(t->list, size / 2 * sizeof *list);
  if (list) t->list = list;
  if (!hash || !list) {
    free(hash);
    t->oom = true;
    return;
  }
  for (uint32_t k = 0; k < t->count; k++) {
    size_t at = string_hash((const char *)&list[k].key, sizeof list[k].key) & (size - 1);
    while (hash[at]) at = (at + 1) & (size - 1);
    hash[at] = k + 1;
  }
  free(t->hash);
  t->hash = hash;
  t->hash_size = size;
  t->capacity = size / 2;
}

/* NULL: out of memory, which cannot be where the kind is known already. */
static struct kind *find_kind(struct kinds *t, uint64_t key) {
  if (!t->oom && t->count == t->capacity) kinds_grow(t);
  if (t->oom) return NULL;
  size_t at = string_hash((const char *)&key, sizeof key) & (t->hash_size - 1);
  for (; t->hash[at]; at = (at + 1) & (t->hash_size - 1)) {
    if (t->list[t->hash[at] - 1].key == key) return &t->list[t->hash[at] - 1];
  }
  t->list[t->count] = (struct kind){.key = key};
  t->hash[at] = ++t->count;
  return &t->list[t->count - 1];
}

struct kind_order {
  struct kind *kind;
  struct text text;
};
static int by_text(const void *a, const void *b) {
  const struct kind_order *x = a, *y = b;
  size_t n = x->text.size < y->text.size ? x->text.size : y->text.size;
  int c = n ? memcmp(x->text.at, y->text.at, n) : 0;
  if (c) return c;
  if (x->text.size != y->text.size) return x->text.size < y->text.size ? -1 : 1;
  return x->kind->key < y->kind->key ? -1 : x->kind->key > y->kind->key;
}
static int by_kind_count(const void *a, const void *b) {
  const struct kind *x = ((const struct kind_order *)a)->kind, *y = ((const struct kind_order *)b)->kind;
  return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_text(a, b);
}

static void put_kinds(struct writer *w, struct kinds *t) {
  struct bytes *b = &w->section[MX__SEC_NAMES];
  for (uint32_t f = 0; f < w->image->nfuncs; f++) {
    for (uint32_t k = 0; k < w->image->funcs[f].nnames; k++) {
      int64_t number;
      struct kind *kind = find_kind(t, kind_key(t, &w->image->funcs[f].names[k], &number));
      if (kind) kind->count++;
    }
  }
  struct kind_order *order = t->oom || t->texts.oom ? NULL : malloc((t->count + 1u) * sizeof *order);
  if (!order) {
    w->oom = true;
    return;
  }
  for (uint32_t k = 0; k < t->count; k++)
    order[k] = (struct kind_order){&t->list[k], t->texts.list[t->list[k].key >> 7]};
  qsort(order, t->count, sizeof *order, by_kind_count);
  uint32_t frequent = t->count < MX__KINDS_SHORT ? t->count : MX__KINDS_SHORT;
  qsort(order, frequent, sizeof *order, by_text);
  qsort(order + frequent, t->count - frequent, sizeof *order, by_text);
  put_varint(b, t->count);
  for (uint32_t k = 0; k < t->count; k++) {
    order[k].kind->number = k;
    put_text(b, order[k].text, k ? order[k - 1].text : (struct text){"", 0});
    put_byte(b, order[k].kind->key & 127);
  }
  free(order);
}

struct name_walk {
  struct mx__result *results;
  size_t nresults, at;
  struct mx__covered covered;
  uint32_t lo;
};

/* The place of a name: which result begins it, or class and slot and pc. */
static void put_place(struct writer *w, struct name_walk *walk, const struct mx_name *n, uint64_t kind, bool numbered,
                      int64_t step) {
  struct bytes *b = &w->section[MX__SEC_NAMES];
  size_t at = mx__next_result(&walk->covered, walk->results, walk->nresults, walk->at), skipped = 0;
  while (!n->spilled && at < walk->nresults && walk->results[at].lo <= n->lo) {
    const struct mx__result *r = &walk->results[at];
    if (r->lo == n->lo && r->cls == class_of(n) && r->slot == n->slot) break;
    at = mx__next_result(&walk->covered, walk->results, walk->nresults, at + 1);
    skipped++;
  }
  bool found = !n->spilled && at < walk->nresults && walk->results[at].lo == n->lo;
  bool here = found && !skipped, ends = found && walk->results[at].hi == n->hi;
  put_varint(b, kind << 2 | (uint64_t)here << 1 | ends);
  if (numbered) put_signed(b, step);
  if (!here) put_varint(b, found ? skipped : 0);
  if (!found) put_varint(b, n->slot), put_varint(b, n->lo - walk->lo);
  if (!ends) put_signed(b, (int64_t)n->hi - (found ? walk->results[at].hi : n->lo));
  walk->at = found ? at + 1 : mx__pass_results(walk->results, walk->nresults, walk->at, n->lo);
  if (!n->spilled) *mx__covered_at(&walk->covered, class_of(n), n->slot) = n->hi;
  walk->lo = n->lo;
}

static void write_func_names(struct writer *w, struct kinds *kinds, const struct mx_func *f) {
  struct bytes *b = &w->section[MX__SEC_NAMES];
  struct mx_name *names = sorted(w, f->names, f->nnames, sizeof *names, by_place);
  struct name_walk walk = {.nresults = mx__results(f, NULL)};
  walk.results = malloc((walk.nresults + 1) * sizeof *walk.results);
  if (!names || !walk.results) {
    free(names);
    free(walk.results);
    w->oom = true;
    return;
  }
  mx__results(f, walk.results);
  put_varint(b, f->nnames);
  for (uint32_t k = 0; k < f->nnames; k++) {
    int64_t number;
    struct kind *kind = find_kind(kinds, kind_key(kinds, &names[k], &number));
    int64_t last = kind->func == f ? kind->last : 0;
    put_place(w, &walk, &names[k], kind->number, number >= 0, number - last);
    kind->func = f;
    kind->last = number;
  }
  free(names);
  free(walk.results);
  struct mx_label *labels = sorted(w, f->labels, f->nlabels, sizeof *labels, by_pc);
  if (!labels) return;
  put_varint(b, f->nlabels);
  uint32_t at = 0;
  for (uint32_t k = 0; k < f->nlabels; k++) {
    put_string(b, &w->strings, labels[k].name);
    put_varint(b, labels[k].pc - at);
    at = labels[k].pc;
  }
  free(labels);
}

static void write_names(struct writer *w) {
  struct kinds kinds = {0};
  put_kinds(w, &kinds);
  for (uint32_t k = 0; k < w->image->nfuncs && !w->oom; k++) write_func_names(w, &kinds, &w->image->funcs[k]);
  free_strings(&kinds.texts);
  free(kinds.list);
  free(kinds.hash);
}

/* ---- the file ----------------------------------------------------------------------------------------*/
static uint8_t *finish(struct writer *w, size_t *size) {
  struct bytes out = {0};
  static const uint8_t zero[MX_CONTAINER_HEADER];
  put_bytes(&out, zero, sizeof zero);
  bool oom = w->oom || w->strings.oom;
  for (unsigned k = 0; k < MX__SECTIONS; k++) {
    put_varint(&out, w->section[k].size);
    put_bytes(&out, w->section[k].at, w->section[k].size);
    oom |= w->section[k].oom;
  }
  if (oom || out.oom) {
    free(out.at);
    return NULL;
  }
  const uint8_t *body = out.at + MX_CONTAINER_HEADER;
  size_t nbody = out.size - MX_CONTAINER_HEADER;
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(body, nbody));
  struct bytes head = {.at = out.at, .capacity = MX_CONTAINER_HEADER};
  put_bytes(&head, MX_CONTAINER_MAGIC, 4);
  put_le(&head, MX_CONTAINER_VERSION, 2);
  put_le(&head, MX_CONTAINER_HEADER, 2);
  put_le(&head, mx__table_digest(), 8);
  put_bytes(&head, digest.digest, sizeof digest.digest);
  *size = out.size;
  return out.at;
}

uint8_t *mx__image_write(const struct mx_image *image, size_t *size) {
  struct writer w = {.image = image};
  struct bytes *target = &w.section[MX__SEC_TARGET];
  put_varint(target, image->lanes);
  put_varint(target, image->sm);
  put_varint(target, image->ptx_version);
  put_varint(target, image->address_size);
  write_vars(&w);
  put_varint(&w.section[MX__SEC_FUNCS], image->nfuncs);
  for (uint32_t k = 0; k < image->nfuncs; k++) write_func(&w, &image->funcs[k]);
  write_code(&w);
  if (!w.oom) write_lines(&w);
  if (!w.oom) write_names(&w);
  put_strings(&w.section[MX__SEC_STRINGS], &w.strings);
  uint8_t *out = finish(&w, size);
  for (unsigned k = 0; k < MX__SECTIONS; k++) free(w.section[k].at);
  free_strings(&w.strings);
  free(w.dictionary);
  free(w.file_number);
  return out;
}
