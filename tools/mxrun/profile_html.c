/* mxrun profile --html: one page that needs nothing else. The page is tools/mxrun/profile.html with the profile as JSON
 * in it, and the texts of the sources. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

static const char page[] =
#include "profile_page.h"
    ;

/* JSON inside of a page: no tag may end there. */
static void add_json(struct text *t, const struct text *json) {
  for (size_t k = 0; k < json->n;) {
    const size_t n = strcspn(json->s + k, "<");
    text_add(t, json->s + k, n);
    if (json->s[k += n]) text_printf(t, "\\u003c"), k++;
  }
}

void profile_html(struct text *t, const struct profiled *p, const struct profile_source *own) {
  struct text json = {0};
  profile_json(&json, p);
  while (json.n && json.s[json.n - 1] != '}') json.n--;
  json.s[--json.n] = 0; /* the object goes on */
  text_printf(&json, ", \"sources\": {");
  const char *comma = "";
  for (size_t k = 0; k < p->nkernels; k++)
    for (size_t l = 0; l < p->kernels[k].nlines; l++) {
      const char *file = p->kernels[k].lines[l].file, *text;
      size_t size;
      if (!file || (l && p->kernels[k].lines[l - 1].file && !strcmp(p->kernels[k].lines[l - 1].file, file))) continue;
      if (!(text = source_of(own, file, &size))) continue;
      text_printf(&json, "%s", comma), comma = ", ";
      text_json(&json, file), text_printf(&json, ": "), text_json(&json, text);
    }
  text_printf(&json, "}}");
  const char *place = strstr(page, "@PROFILE@");
  text_add(t, page, (size_t)(place - page));
  add_json(t, &json);
  text_printf(t, "%s", place + strlen("@PROFILE@"));
  text_free(&json);
}
