/* vm/memory/memory.c, vm/memory/heap.c, vm/exec/fifo.c: addresses, reuse, what is said about addresses near
 * allocations, pieces, rings. */
#include "vm/exec/fifo.h"
#include "vm/memory/heap.h"
#include "vm/memory/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct mx_memory m;

static int set_up(void **state) {
  (void)state;
  return mx__memory_init(&m, 64 << 20) == MX_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  mx__memory_done(&m);
  return 0;
}

static uint64_t alloc(uint64_t bytes) {
  uint64_t a = 0;
  assert_int_equal(mx__memory_alloc(&m, &m.global, bytes, 0, 0, NULL, true, &a), MX_OK);
  return a;
}

static void near(uint64_t address, uint64_t bytes, const char *text, uint64_t base) {
  uint64_t b;
  char *s = mx__memory_nearest(&m, address, bytes, &b);
  assert_string_equal(s, text);
  assert_int_equal(b, base);
  free(s);
}

static void addresses_are_the_same_in_every_run(void **state) {
  (void)state;
  uint64_t a = alloc(100), b = alloc(0), c = alloc(1 << 20);
  assert_int_equal(a, MX_GLOBAL_START);
  assert_int_equal(b, a + 512);
  assert_int_equal(c, b + 256);
  assert_int_equal(mx__memory_reset(&m), MX_OK);
  assert_int_equal(alloc(100), a);
  assert_int_equal(alloc(0), b);
  assert_int_equal(alloc(1 << 20), c);
}

static void records_end_where_allocations_end(void **state) {
  (void)state;
  uint64_t a = alloc(100), b = alloc(100);
  const struct mx_alloc *r = mx__memory_record(&m, a + 99, NULL);
  assert_non_null(r);
  assert_int_equal(r->lo, a);
  assert_null(mx__memory_record(&m, a + 100, NULL));
  assert_null(mx__memory_record(&m, a - 1, NULL));
  assert_null(mx__memory_record(&m, 0, NULL));
  assert_null(mx__memory_record(&m, UINT64_MAX, NULL));
  assert_int_equal(mx__memory_record(&m, b, NULL)->number, 2);
  assert_non_null(mx__memory_host(&m, a, 100));
  assert_null(mx__memory_host(&m, a + 1, 100));
  assert_null(mx__memory_host(&m, a + 1, UINT64_MAX));
}

static void new_memory_is_zero_also_when_used_again(void **state) {
  (void)state;
  uint64_t sizes[] = {1, 4095, 4096, 20000, 1 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint64_t a = alloc(sizes[i]);
    memset(mx__memory_host(&m, a, sizes[i]), 0xAB, sizes[i]);
    assert_int_equal(mx__memory_free(&m, a), MX_OK);
  }
  /* the fresh range comes first; then the freed neighbours serve as one */
  uint64_t rest = m.global.capacity - m.global.top - 4096;
  alloc(rest);
  uint64_t b = alloc(1 << 20);
  assert_int_equal(b, MX_GLOBAL_START);
  const uint8_t *p = mx__memory_host(&m, b, 1 << 20);
  for (size_t i = 0; i < 1 << 20; i++) assert_int_equal(p[i], 0);
}

static void freed_memory_is_kept_apart_until_needed(void **state) {
  (void)state;
  uint64_t a = alloc(4096), b = alloc(4096), c;
  assert_int_equal(mx__memory_free(&m, a), MX_OK);
  assert_int_equal(mx__memory_free(&m, a), MX_INVALID_ADDRESS);
  assert_int_equal(mx__memory_free(&m, b + 8), MX_INVALID_ADDRESS);
  assert_true(alloc(4096) > b);
  uint64_t big = 40 << 20;
  uint64_t d = alloc(big);
  assert_int_equal(mx__memory_alloc(&m, &m.global, big, 0, 0, NULL, false, &c), MX_BUSY);
  assert_int_equal(mx__memory_alloc(&m, &m.global, big, 0, 0, NULL, true, &c), MX_OUT_OF_DEVICE_MEMORY);
  assert_int_equal(mx__memory_free(&m, d), MX_OK);
  assert_int_equal(mx__memory_alloc(&m, &m.global, big, 0, 0, NULL, true, &c), MX_OK);
  assert_int_equal(c, d);
  assert_int_equal(mx__memory_alloc(&m, &m.global, UINT64_MAX, 0, 0, NULL, true, &c), MX_OUT_OF_DEVICE_MEMORY);
}

/* Random allocations and frees against a list: no two overlap or touch, contents stay. */
static void random_use(void **state) {
  (void)state;
  enum { N = 64 };
  struct {
    uint64_t at, size;
    uint8_t fill;
  } live[N] = {0};
  uint32_t x = 12345;
  for (int step = 0; step < 20000; step++) {
    x = x * 1664525u + 1013904223u;
    unsigned k = x >> 8 & (N - 1);
    if (live[k].at) {
      const uint8_t *p = mx__memory_host(&m, live[k].at, live[k].size);
      assert_non_null(p);
      for (uint64_t i = 0; i < live[k].size; i += 97) assert_int_equal(p[i], live[k].fill);
      assert_int_equal(mx__memory_free(&m, live[k].at), MX_OK);
      live[k].at = 0;
      continue;
    }
    uint64_t size = (x >> 16) % (1u << (x >> 20 & 15)) + 1, align = 256u << (x >> 28 & 3), a;
    size *= 64;
    mx_status s = mx__memory_alloc(&m, &m.global, size, align, 0, NULL, true, &a);
    if (s == MX_OUT_OF_DEVICE_MEMORY) continue;
    assert_int_equal(s, MX_OK);
    assert_int_equal(a % align, 0);
    for (unsigned j = 0; j < N; j++)
      if (live[j].at)
        assert_true(a >= live[j].at + live[j].size + MX_ALLOC_GUARD || a + size + MX_ALLOC_GUARD <= live[j].at);
    live[k].at = a;
    live[k].size = size;
    live[k].fill = (uint8_t)step;
    memset(mx__memory_host(&m, a, size), live[k].fill, size);
  }
}

static void what_is_near(void **state) {
  (void)state;
  near(0, 4, "null pointer", 0);
  near(16, 4, "null pointer plus 16", 0);
  near(MX_GLOBAL_START, 4, "nothing is allocated there", 0);
  uint64_t a = alloc(100), b = alloc(4096);
  assert_int_equal(mx__memory_name(&m, b, "x"), MX_OK);
  near(a + 100, 4, "right past the end of buffer #1 (100 bytes at 0x100000000)", a);
  near(a + 98, 4, "the last 2 of 4 bytes are past the end of buffer #1 (100 bytes at 0x100000000)", a);
  near(a + 164, 4, "64 bytes past the end of buffer #1 (100 bytes at 0x100000000)", a);
  near(b - 4, 4, "4 bytes before the start of buffer #2 'x' (4096 bytes at 0x100000200)", b);
  near(b + 8, 4, "8 bytes into buffer #2 'x' (4096 bytes at 0x100000200)", b);
  assert_int_equal(mx__memory_free(&m, b), MX_OK);
  near(b + 1, 4, "1 byte into freed buffer #2 'x' (4096 bytes at 0x100000200)", b);
  near(MX_WINDOW(MX_WINDOW_SHARED) + 4, 4, "an address of shared memory", 0);
  near(MX_WINDOW(MX_WINDOW_LOCAL), 4, "an address of local memory", 0);
  near(MX_WINDOW(MX_WINDOW_PARAM), 4, "an address of parameters", 0);
  near(MX_WINDOW(MX_WINDOW_FUNC) + 16, 4, "the address of a function", 0);
  near(MX_WINDOW(MX_WINDOW_FUNC + 1), 4, "an address in no memory window", 0);
  near(UINT64_MAX, 4, "an address in no memory window", 0);
}

static void more_memory_than_addresses_is_refused(void **state) {
  (void)state;
  struct mx_memory n;
  assert_int_equal(mx__memory_init(&n, UINT64_MAX), MX_INVALID_VALUE);
}

/* ---- the heap of device malloc ---------------------------------------------------------------------------*/

static void pieces(void **state) {
  (void)state;
  struct mx_heap *h;
  assert_int_equal(mx__heap_new(&m, 1 << 20, &h), MX_OK);
  assert_false(mx__heap_in_use(h));
  assert_int_equal(mx__heap_alloc(h, 0, 1), 0);
  assert_int_equal(mx__heap_alloc(h, 1 << 20, 1), 0);
  uint64_t a = mx__heap_alloc(h, 16, 1), b = mx__heap_alloc(h, 100, 1), lo, n;
  assert_int_equal(a, MX_HEAP_START);
  assert_true(b > a + 16 && b % 16 == 0);
  assert_true(mx__heap_find(h, b + 99, &lo, &n));
  assert_int_equal(lo, b);
  assert_int_equal(n, 100);
  assert_false(mx__heap_find(h, b + 100, &lo, &n));
  assert_false(mx__heap_find(h, a - 1, &lo, &n));
  assert_false(mx__heap_release(h, b + 16));
  assert_true(mx__heap_release(h, b));
  assert_false(mx__heap_release(h, b));
  assert_true(mx__heap_release(h, 0));
  assert_true(mx__heap_release(h, a));
  assert_false(mx__heap_in_use(h));
  assert_int_equal(mx__heap_alloc(h, (1 << 20) - 16, 1), a); /* all came together again */
  assert_true(mx__heap_release(h, a));
  assert_int_equal(mx__heap_alloc(h, 16, 0), 0);
  assert_int_equal(mx__heap_alloc(h, 16, 48), 0);
  assert_int_equal(mx__heap_alloc(h, 16, 1ull << 40), 0);
  a = mx__heap_alloc(h, 16, 1);
  b = mx__heap_alloc(h, 100, 4096);
  assert_int_equal(b % 4096, 0);
  uint64_t c = mx__heap_alloc(h, 5000, 256);
  assert_int_equal(c % 256, 0);
  assert_true(mx__heap_find(h, b + 99, &lo, &n) && lo == b && n == 100);
  assert_true(mx__heap_release(h, c) && mx__heap_release(h, a) && mx__heap_release(h, b));
  a = mx__heap_alloc(h, (1 << 20) - 16, 1); /* and again */
  assert_true(a != 0);
  mx__heap_free(h);
}

static void random_pieces(void **state) {
  (void)state;
  enum { N = 256 };
  struct mx_heap *h;
  struct {
    uint64_t at, size;
  } live[N] = {0};
  assert_int_equal(mx__heap_new(&m, 1 << 16, &h), MX_OK);
  uint32_t x = 99;
  for (int step = 0; step < 100000; step++) {
    x = x * 1664525u + 1013904223u;
    unsigned k = x >> 8 & (N - 1);
    uint64_t lo, n;
    if (live[k].at) {
      assert_true(mx__heap_find(h, live[k].at + live[k].size / 2, &lo, &n));
      assert_int_equal(lo, live[k].at);
      assert_int_equal(n, live[k].size);
      assert_true(mx__heap_release(h, live[k].at));
      live[k].at = 0;
    } else {
      live[k].size = (x >> 16 & 1023) + 1;
      live[k].at = mx__heap_alloc(h, live[k].size, 1);
      for (unsigned j = 0; live[k].at && j < N; j++)
        if (j != k && live[j].at)
          assert_true(live[k].at > live[j].at + live[j].size || live[k].at + live[k].size < live[j].at);
    }
  }
  for (unsigned k = 0; k < N; k++) assert_true(mx__heap_release(h, live[k].at));
  assert_int_equal(mx__heap_alloc(h, (1 << 16) - 16, 1), MX_HEAP_START);
  mx__heap_free(h);
}

/* ---- the ring of printed records ---------------------------------------------------------------------------*/

struct text {
  char s[256];
  size_t n;
};
static void collect(void *user, const char *text, size_t n) {
  struct text *t = user;
  assert_true(t->n + n < sizeof t->s);
  memcpy(t->s + t->n, text, n);
  t->n += n;
}

static void the_oldest_records_make_room(void **state) {
  (void)state;
  struct mx_fifo *f = mx__fifo_new(64);
  struct text t = {0};
  for (int i = 0; i < 10; i++) {
    char s[16];
    int n = snprintf(s, sizeof s, "record %d.", i);
    assert_true(mx__fifo_put(f, s, (size_t)n));
  }
  assert_false(mx__fifo_put(f, (char[65]){0}, 65));
  mx__fifo_drain(f, collect, &t);
  assert_int_equal(mx__fifo_lost(f), 6 * 9 + 65); /* 13 bytes each: four fit */
  assert_string_equal(t.s, "record 6.record 7.record 8.record 9.");
  mx__fifo_drain(f, collect, &t);
  assert_int_equal(mx__fifo_lost(f), 0);
  mx__fifo_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(addresses_are_the_same_in_every_run, set_up, tear_down),
      cmocka_unit_test_setup_teardown(records_end_where_allocations_end, set_up, tear_down),
      cmocka_unit_test_setup_teardown(new_memory_is_zero_also_when_used_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(freed_memory_is_kept_apart_until_needed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(random_use, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_near, set_up, tear_down),
      cmocka_unit_test(more_memory_than_addresses_is_refused),
      cmocka_unit_test_setup_teardown(pieces, set_up, tear_down),
      cmocka_unit_test_setup_teardown(random_pieces, set_up, tear_down),
      cmocka_unit_test(the_oldest_records_make_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
