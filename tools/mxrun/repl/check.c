/* Tools that look for errors in the launches of a session: turning them on, and what they have found. */
#include "repl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool finding_at(struct repl *r, size_t number, mx_finding *f) {
  *f = (mx_finding){.struct_size = sizeof *f};
  return mx_device_finding(r->d, number, f) == MX_OK;
}
static bool is_suppressed(const struct repl *r, const mx_finding *f) {
  return r->suppressed && finding_matches(r->suppressed->at, r->suppressed->n, f) >= 0;
}

bool findings_are_new(struct repl *r) {
  mx_finding f;
  while (finding_at(r, r->seen, &f) && is_suppressed(r, &f)) r->seen++;
  return finding_at(r, r->seen, &f);
}
bool findings_tell(struct repl *r) {
  bool told = false;
  mx_finding f;
  for (; r->seen < mx_device_findings(r->d) && finding_at(r, r->seen, &f); r->seen++) {
    if (is_suppressed(r, &f)) continue;
    printf("Finding %zu: %s\n", r->seen + 1, f.text);
    told = r->found = true;
  }
  return told;
}

bool info_findings(struct repl *r, const char *rest) {
  (void)rest;
  mx_finding f;
  size_t told = 0;
  for (size_t k = 0; finding_at(r, k, &f); k++) {
    if (is_suppressed(r, &f)) continue;
    printf("%s%zu: %s\n", told++ ? "\n" : "", k + 1, f.text);
    if (f.count > 1) printf("  %" PRIu64 " times\n", f.count);
  }
  if (!told) printf(r->machine.check ? "nothing has been found\n" : "no tools are on: 'check', then 'run'\n");
  return true;
}

bool do_check(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  uint32_t tools = MX_CHECK_ALL;
  if (r->calc) return complain(r, "the calculator is not checked: load a program");
  if (word && !strcmp(word, "off")) tools = 0;
  else if (word && strcmp(word, "on") && !parse_tools(word, &tools))
    return complain(r, "'%s' is not on, off or some of memory,uninit,race,sync,lanes", word);
  if (tools && r->recording) return complain(r, "a launch that tools watch cannot be recorded: 'record off' first");
  r->machine.check = tools;
  r->unused = false;
  if (r->g) printf("From the next run on.\n");
  return true;
}
