/* Cache policies: operands that have no effect here and go before a row is chosen, so that the table need not hold
 * every memory instruction a second time. Knows no rows, only spellings. */
#include "lower.h"

#include <string.h>

static const char hint[] = ".L2::cache_hint";

/* Takes the policy from the end of the operands; false: there is none of 64 bits. */
static bool drop_policy(struct vals *vs) {
  const struct val *last = vs->n ? &vs->v[vs->n - 1] : NULL;
  if (!last || last->is_address || (last->kind != V_CONST && last->kind != V_REG)) return false;
  if (last->kind == V_REG && last->type != MX_T_none && mx__types[last->type].bits != 64) return false;
  vs->n--;
  return true;
}

/* The mnemonic without its hint, or NULL: reported. */
const char *mx__lower_hints(struct lower *l, const struct stmt *s, struct vals *vs) {
  const char *m = s->mnemonic->text, *at = strstr(m, hint);
  if (mx__base_is(m, "createpolicy") && !strncmp(m, "createpolicy.range.", 19) && vs->n > 1) {
    vs->n = 1; /* of which addresses does not matter */
    at = NULL;
    const char *rest = m + 18 + (strncmp(m + 18, ".global", 7) ? 0 : 7);
    char plain[256] = "createpolicy.fractional";
    strncat(plain, rest, sizeof plain - strlen(plain) - 1);
    return mx__name(&l->f->names, plain, strlen(plain))->text;
  }
  if (!at) return m;
  if (!drop_policy(vs)) {
    ERR(l->f, "operand-type", s->loc, NULL, "%s: the last operand must be a cache policy of 64 bits", m);
    return NULL;
  }
  char plain[256];
  const size_t before = (size_t)(at - m), after = strlen(at + sizeof hint - 1);
  memcpy(plain, m, before); /* mnemonics are shorter than this */
  memcpy(plain + before, at + sizeof hint - 1, after);
  return mx__name(&l->f->names, plain, before + after)->text;
}
