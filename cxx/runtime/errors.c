/* Errors: numbers, names and texts, the last one of each thread, what mx says as one of them. */
#include "rt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local cudaError_t last;

cudaError_t rt_error(cudaError_t e) {
  if (e != cudaSuccess) last = e;
  return e;
}

cudaError_t cudaGetLastError(void) {
  cudaError_t e = last;
  last = cudaSuccess;
  return e;
}

cudaError_t cudaPeekAtLastError(void) { return last; }

const char *cudaGetErrorName(cudaError_t e) {
  switch (e) {
#define X(name_, number_, text_) \
  case name_: return #name_;
    MX_CUDA_ERRORS(X)
#undef X
  }
  return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t e) {
  switch (e) {
#define X(name_, number_, text_) \
  case name_: return text_;
    MX_CUDA_ERRORS(X)
#undef X
  }
  return "unrecognized error code";
}

void rt_say(const char *format, ...) {
  va_list ap;
  fflush(stdout);
  flockfile(stderr);
  fputs("mx: ", stderr);
  va_start(ap, format);
  vfprintf(stderr, format, ap);
  va_end(ap);
  fputc('\n', stderr);
  funlockfile(stderr);
}

static cudaError_t of_trap(mx_trap_kind kind) {
  switch (kind) {
  case MX_TRAP_NONE: return cudaSuccess;
  case MX_TRAP_OUT_OF_BOUNDS:
  case MX_TRAP_READ_ONLY: return cudaErrorIllegalAddress;
  case MX_TRAP_MISALIGNED: return cudaErrorMisalignedAddress;
  case MX_TRAP_WRONG_SPACE: return cudaErrorInvalidAddressSpace;
  case MX_TRAP_ASSERT: return cudaErrorAssert;
  case MX_TRAP_STACK_OVERFLOW: return cudaErrorHardwareStackError;
  case MX_TRAP_BAD_CALL:
  case MX_TRAP_BAD_BRANCH: return cudaErrorInvalidPc;
  case MX_TRAP_UNSUPPORTED: return cudaErrorIllegalInstruction;
  default: return cudaErrorLaunchFailure;
  }
}

bool (*rt_host_memory)(uint64_t address, char *text, size_t size);

/* The text of a trap is printed once: all later calls fail with the same error, and would only repeat it. */
static cudaError_t trapped(struct rt_device *d) {
  mx_trap_info trap = {.struct_size = sizeof trap};
  if (!d || mx_device_trap(d->mx, &trap) != MX_OK) return cudaErrorLaunchFailure;
  char more[512];
  if (trap.kind == MX_TRAP_ASSERT || atomic_exchange(&d->told, true)) return of_trap(trap.kind);
  if (trap.kind == MX_TRAP_OUT_OF_BOUNDS && trap.has_address && rt_host_memory(trap.address, more, sizeof more))
    rt_say("%s\n  %s", trap.text, more);
  else rt_say("%s", trap.text);
  return of_trap(trap.kind);
}

/* Printed even though the call returns an error: many programs do not look at errors, and would do nothing without a
 * word. */
void rt_explain(struct rt_device *d) {
  char *text = d ? mx_last_error_text(d->mx) : NULL;
  if (text) rt_say("%s", text);
  mx_text_free(text);
}

cudaError_t rt_status(struct rt_device *d, mx_status s) {
  switch (s) {
  case MX_OK: return cudaSuccess;
  case MX_OUT_OF_MEMORY:
  case MX_OUT_OF_DEVICE_MEMORY: return rt_error(cudaErrorMemoryAllocation);
  case MX_INVALID_MODULE: return rt_error(cudaErrorInvalidKernelImage);
  case MX_NOT_FOUND: return rt_error(cudaErrorSymbolNotFound);
  case MX_FILE_ERROR: return rt_error(cudaErrorFileNotFound);
  case MX_INVALID_LAUNCH: return rt_explain(d), rt_error(cudaErrorInvalidConfiguration);
  case MX_TOO_LARGE: return rt_explain(d), rt_error(cudaErrorCooperativeLaunchTooLarge);
  case MX_TRAPPED: return rt_error(trapped(d));
  case MX_STEP_LIMIT:
  case MX_TIME_LIMIT:
  case MX_INTERRUPTED:
    if (d && !atomic_exchange(&d->stopped, true)) rt_explain(d);
    return rt_error(cudaErrorLaunchTimeout);
  case MX_NOT_READY: return cudaErrorNotReady;
  case MX_UNSUPPORTED: return rt_error(cudaErrorNotSupported);
  case MX_HOST_FAILURE: return rt_error(cudaErrorOperatingSystem);
  default: return rt_error(cudaErrorInvalidValue);
  }
}
