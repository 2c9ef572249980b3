#include "tests/bench/micro/native.h"

#include <string.h>

#define NAME__(level_, name_) level_##_##name_
#define NAME_(level_, name_) NAME__(level_, name_)
#define NATIVE(name_) void NAME_(LEVEL, name_)(void *data, uint32_t *out, unsigned blocks)
/* Work of one block must not be thought to be that of the next. */
#define FORGET() __asm__ volatile("" : : "r"(data), "r"(out) : "memory")
typedef struct {
  float x, y, z, w;
} quad;

#define LOADS(name_, type_, sum_, index_, add_) \
  NATIVE(name_) { \
    const type_ *a = data; \
    for (unsigned b = 0; b < blocks; b++) { \
      sum_ s[BLOCK] = {0}; \
      for (uint32_t i = 0; i < ROUNDS; i++) \
        for (uint32_t t = 0; t < BLOCK; t++) { \
          const uint32_t n = index_; \
          add_; \
        } \
      for (uint32_t t = 0; t < BLOCK; t++) out[t] = (uint32_t)s[t]; \
      FORGET(); \
    } \
  }
#define ROW (t + i * BLOCK)
LOADS(load_row_u8, uint8_t, uint32_t, ROW, s[t] += a[n])
LOADS(load_row_u16, uint16_t, uint32_t, ROW, s[t] += a[n])
LOADS(load_row_f32, float, float, ROW, s[t] += a[n])
LOADS(load_row_f64, double, double, ROW, s[t] += a[n])
LOADS(load_row_v4, quad, float, ROW, s[t] += a[n].x + a[n].y + a[n].z + a[n].w)
LOADS(gather_u8, uint8_t, uint32_t, INDEX(t, i), s[t] += a[n])
LOADS(gather_u16, uint16_t, uint32_t, INDEX(t, i), s[t] += a[n])
LOADS(gather_f32, float, float, INDEX(t, i), s[t] += a[n])
LOADS(gather_f64, double, double, INDEX(t, i), s[t] += a[n])
LOADS(gather_v4, quad, float, INDEX(t, i), s[t] += a[n].x + a[n].y + a[n].z + a[n].w)

#define STORES(name_, type_, index_) \
  NATIVE(name_) { \
    type_ *a = data; \
    for (unsigned b = 0; b < blocks; b++) { \
      for (uint32_t i = 0; i < ROUNDS; i++) \
        for (uint32_t t = 0; t < BLOCK; t++) a[index_] = (type_)(t + i); \
      FORGET(); \
    } \
    out[0] = 0; \
  }
STORES(store_row_u8, uint8_t, ROW)
STORES(store_row_u16, uint16_t, ROW)
STORES(store_row_f32, float, ROW)
STORES(store_row_f64, double, ROW)
STORES(scatter_u8, uint8_t, INDEX(t, i))
STORES(scatter_f32, float, INDEX(t, i))

/* an array of 16 words in each thread, written once and read in another order; half of the accesses are stores */
#define PRIVATE(name_, index_) \
  NATIVE(name_) { \
    for (unsigned b = 0; b < blocks; b++) { \
      for (uint32_t t = 0; t < BLOCK; t++) { \
        uint32_t mine[16], s = 0; \
        for (uint32_t i = 0; i < ROUNDS / 2; i++) mine[i * 3 & 15] = t + i; \
        __asm__ volatile("" : : "r"(mine) : "memory"); \
        for (uint32_t i = 0; i < ROUNDS / 2; i++) s += mine[index_]; \
        out[t] = s; \
      } \
      FORGET(); \
    } \
    (void)data; \
  }
PRIVATE(private_same, i * 3 & 15)
PRIVATE(private_apart, (i + (t & 1)) * 3 & 15)

#define SHARED(name_, index_) \
  NATIVE(name_) { \
    for (unsigned b = 0; b < blocks; b++) { \
      uint8_t tile[CELLS]; \
      uint32_t s[BLOCK] = {0}; \
      memcpy(tile, data, CELLS); \
      for (uint32_t i = 0; i < ROUNDS; i++) \
        for (uint32_t t = 0; t < BLOCK; t++) s[t] += tile[index_]; \
      for (uint32_t t = 0; t < BLOCK; t++) out[t] = s[t]; \
      FORGET(); \
    } \
  }
SHARED(shared_row_u8, ROW)
SHARED(shared_any_u8, INDEX(t, i))

#define ATOMICS(name_, setup_, act_) \
  NATIVE(name_) { \
    for (unsigned b = 0; b < blocks; b++) { \
      uint32_t s[BLOCK] = {0}; \
      setup_; \
      for (uint32_t i = 0; i < ROUNDS; i++) \
        for (uint32_t t = 0; t < BLOCK; t++) { act_; } \
      for (uint32_t t = 0; t < BLOCK; t++) out[t] = s[t]; \
      FORGET(); \
    } \
  }
ATOMICS(atomic_shared, uint32_t cell[CELLS] = {0}, cell[INDEX(t, i)] += t; s[t] += cell[t])
ATOMICS(atomic_shared_old, uint32_t cell[CELLS] = {0}, const uint32_t n = INDEX(t, i); s[t] += cell[n]; cell[n] += t)
ATOMICS(atomic_global, uint32_t *cell = data, __atomic_fetch_add(&cell[INDEX(t, i)], t, __ATOMIC_RELAXED))
ATOMICS(atomic_global_old, uint32_t *cell = data, s[t] += __atomic_fetch_add(&cell[INDEX(t, i)], t, __ATOMIC_RELAXED))
static void add_float(float *at, float v) {
  uint32_t was = __atomic_load_n((uint32_t *)at, __ATOMIC_RELAXED), now;
  do {
    float f;
    memcpy(&f, &was, 4);
    f += v;
    memcpy(&now, &f, 4);
  } while (!__atomic_compare_exchange_n((uint32_t *)at, &was, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
ATOMICS(atomic_float, float *cell = data, add_float(&cell[INDEX(t, i)], 1.0f))
