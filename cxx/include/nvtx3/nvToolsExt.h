/* NVTX, by which programs mark ranges and events for a profiler. The calls do nothing here. */
#ifndef MX_CXX_NVTX_H
#define MX_CXX_NVTX_H
#include <stddef.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
enum { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 };
enum { NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE = 2 };
enum {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3
};
typedef union {
  const char *ascii;
  const wchar_t *unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType, reserved0;
  union {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_t;

#define MX_NVTX(result_, name_, parameters_, value_) \
  static inline result_ name_ parameters_ { return value_; }
MX_NVTX(int, nvtxRangePushA, (const char *message), ((void)message, 0))
MX_NVTX(int, nvtxRangePushEx, (const nvtxEventAttributes_t *a), ((void)a, 0))
MX_NVTX(int, nvtxRangePop, (void), 0)
MX_NVTX(nvtxRangeId_t, nvtxRangeStartA, (const char *message), ((void)message, 0))
MX_NVTX(nvtxRangeId_t, nvtxRangeStartEx, (const nvtxEventAttributes_t *a), ((void)a, 0))
MX_NVTX(void, nvtxRangeEnd, (nvtxRangeId_t id), (void)id)
MX_NVTX(void, nvtxMarkA, (const char *message), (void)message)
MX_NVTX(void, nvtxMarkEx, (const nvtxEventAttributes_t *a), (void)a)
MX_NVTX(void, nvtxNameOsThreadA, (uint32_t id, const char *name), ((void)id, (void)name))
MX_NVTX(void, nvtxNameCategoryA, (uint32_t id, const char *name), ((void)id, (void)name))
MX_NVTX(nvtxDomainHandle_t, nvtxDomainCreateA, (const char *name), ((void)name, (nvtxDomainHandle_t)0))
MX_NVTX(void, nvtxDomainDestroy, (nvtxDomainHandle_t domain), (void)domain)
MX_NVTX(int, nvtxDomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a),
        ((void)domain, (void)a, 0))
MX_NVTX(int, nvtxDomainRangePop, (nvtxDomainHandle_t domain), ((void)domain, 0))
MX_NVTX(void, nvtxDomainMarkEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a), ((void)domain, (void)a))
#undef MX_NVTX
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxDomainCreate nvtxDomainCreateA

#endif
