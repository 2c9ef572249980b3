/* What a fuzz target is: libFuzzer's entry point, and seeds from which both libFuzzer and the driver start. */
#ifndef MX_TEST_FUZZ_H
#define MX_TEST_FUZZ_H
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Seed number n, malloc'ed; NULL beyond the last one. */
uint8_t *fuzz_seed(unsigned n, size_t *size);
#endif
