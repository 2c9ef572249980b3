/* Types and numbers of the runtime, for C and C++. */
#ifndef MX_CXX_TYPES_H
#define MX_CXX_TYPES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include "mx/vector.h"
#else
#include <stdbool.h>
typedef struct dim3 {
  unsigned int x, y, z;
} dim3;
#endif

/* X(name, number, text) */
#define MX_CUDA_ERRORS(X) \
  X(cudaSuccess, 0, "no error") \
  X(cudaErrorInvalidValue, 1, "invalid argument") \
  X(cudaErrorMemoryAllocation, 2, "out of memory") \
  X(cudaErrorInitializationError, 3, "initialization error") \
  X(cudaErrorCudartUnloading, 4, "driver shutting down") \
  X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument") \
  X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument") \
  X(cudaErrorInvalidSymbol, 13, "invalid device symbol") \
  X(cudaErrorInvalidHostPointer, 16, "invalid host pointer") \
  X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer") \
  X(cudaErrorInvalidTexture, 18, "invalid texture reference") \
  X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") \
  X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
  X(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured") \
  X(cudaErrorInvalidDeviceFunction, 98, "invalid device function") \
  X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") \
  X(cudaErrorInvalidDevice, 101, "invalid device ordinal") \
  X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid") \
  X(cudaErrorDeviceUninitialized, 201, "invalid device context") \
  X(cudaErrorMapBufferObjectFailed, 205, "mapping of buffer object failed") \
  X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
  X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices") \
  X(cudaErrorInvalidPtx, 218, "a PTX JIT compilation failed") \
  X(cudaErrorInvalidSource, 300, "device kernel image is invalid") \
  X(cudaErrorFileNotFound, 301, "file not found") \
  X(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS") \
  X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle") \
  X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state") \
  X(cudaErrorSymbolNotFound, 500, "named symbol not found") \
  X(cudaErrorNotReady, 600, "device not ready") \
  X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered") \
  X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
  X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated") \
  X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") \
  X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled") \
  X(cudaErrorSetOnActiveProcess, 708, "cannot set while device is active in this process") \
  X(cudaErrorContextIsDestroyed, 709, "context is destroyed") \
  X(cudaErrorAssert, 710, "device-side assert triggered") \
  X(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped") \
  X(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region") \
  X(cudaErrorHardwareStackError, 714, "hardware stack error") \
  X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered") \
  X(cudaErrorMisalignedAddress, 716, "misaligned address") \
  X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space") \
  X(cudaErrorInvalidPc, 718, "invalid program counter") \
  X(cudaErrorLaunchFailure, 719, "unspecified launch failure") \
  X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
  X(cudaErrorNotPermitted, 800, "operation not permitted") \
  X(cudaErrorNotSupported, 801, "operation not supported") \
  X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
  X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture") \
  X(cudaErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences") \
  X(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began") \
  X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work") \
  X(cudaErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream") \
  X(cudaErrorStreamCaptureImplicit, 906, \
    "operation would make the legacy stream depend on a capturing blocking stream") \
  X(cudaErrorCapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream") \
  X(cudaErrorGraphExecUpdateFailure, 910, \
    "the graph update was not performed because it included changes which violated constraints specific to " \
    "instantiated graph update") \
  X(cudaErrorUnknown, 999, "unknown error")
#define X(name_, number_, text_) name_ = number_,
typedef enum cudaError { MX_CUDA_ERRORS(X) } cudaError_t;
#undef X

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUfunc_st *cudaFunction_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct CUuuid_st {
  char bytes[16];
} cudaUUID_t;
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaEventRecordDefault 0
#define cudaEventWaitDefault 0
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaMemAttachSingle 0x04
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceMapHost 0x08
#define cudaDeviceLmemResizeToMax 0x10
#define cudaOccupancyDefault 0x00
#define cudaCpuDeviceId ((int)-1)
#define cudaInvalidDeviceId ((int)-2)

enum cudaLimit {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
  cudaLimitDevRuntimeSyncDepth = 3,
  cudaLimitDevRuntimePendingLaunchCount = 4,
  cudaLimitMaxL2FetchGranularity = 5,
  cudaLimitPersistingL2CacheSize = 6
};
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault,
  cudaSharedMemBankSizeFourByte,
  cudaSharedMemBankSizeEightByte
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum cudaComputeMode {
  cudaComputeModeDefault,
  cudaComputeModeExclusive,
  cudaComputeModeProhibited,
  cudaComputeModeExclusiveProcess
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy
};
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess,
  cudaDriverEntryPointSymbolNotFound,
  cudaDriverEntryPointVersionNotSufficent
};
#define cudaEnableDefault 0
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

/* X(name, number, value): what a device says of itself; of what an expression in the runtime's device.c gives. */
#define MX_CUDA_ATTRIBUTES(X) \
  X(MaxThreadsPerBlock, 1, p.maxThreadsPerBlock) \
  X(MaxBlockDimX, 2, p.maxThreadsDim[0]) \
  X(MaxBlockDimY, 3, p.maxThreadsDim[1]) \
  X(MaxBlockDimZ, 4, p.maxThreadsDim[2]) \
  X(MaxGridDimX, 5, p.maxGridSize[0]) \
  X(MaxGridDimY, 6, p.maxGridSize[1]) \
  X(MaxGridDimZ, 7, p.maxGridSize[2]) \
  X(MaxSharedMemoryPerBlock, 8, p.sharedMemPerBlock) \
  X(TotalConstantMemory, 9, p.totalConstMem) \
  X(WarpSize, 10, p.warpSize) \
  X(MaxPitch, 11, p.memPitch) \
  X(MaxRegistersPerBlock, 12, p.regsPerBlock) \
  X(ClockRate, 13, p.clockRate) \
  X(TextureAlignment, 14, p.textureAlignment) \
  X(GpuOverlap, 15, 1) \
  X(MultiProcessorCount, 16, p.multiProcessorCount) \
  X(KernelExecTimeout, 17, 0) \
  X(Integrated, 18, 0) \
  X(CanMapHostMemory, 19, 1) \
  X(ComputeMode, 20, 0) \
  X(ConcurrentKernels, 31, 1) \
  X(EccEnabled, 32, 0) \
  X(PciBusId, 33, p.pciBusID) \
  X(PciDeviceId, 34, p.pciDeviceID) \
  X(TccDriver, 35, 0) \
  X(MemoryClockRate, 36, p.memoryClockRate) \
  X(GlobalMemoryBusWidth, 37, p.memoryBusWidth) \
  X(L2CacheSize, 38, p.l2CacheSize) \
  X(MaxThreadsPerMultiProcessor, 39, p.maxThreadsPerMultiProcessor) \
  X(AsyncEngineCount, 40, p.asyncEngineCount) \
  X(UnifiedAddressing, 41, 1) \
  X(PciDomainId, 50, 0) \
  X(ComputeCapabilityMajor, 75, p.major) \
  X(ComputeCapabilityMinor, 76, p.minor) \
  X(StreamPrioritiesSupported, 78, 1) \
  X(GlobalL1CacheSupported, 79, 1) \
  X(LocalL1CacheSupported, 80, 1) \
  X(MaxSharedMemoryPerMultiprocessor, 81, p.sharedMemPerMultiprocessor) \
  X(MaxRegistersPerMultiprocessor, 82, p.regsPerMultiprocessor) \
  X(ManagedMemory, 83, 1) \
  X(IsMultiGpuBoard, 84, 0) \
  X(MultiGpuBoardGroupID, 85, 0) \
  X(HostNativeAtomicSupported, 86, 1) \
  X(SingleToDoublePrecisionPerfRatio, 87, 2) \
  X(PageableMemoryAccess, 88, 0) \
  X(ConcurrentManagedAccess, 89, 1) \
  X(ComputePreemptionSupported, 90, 1) \
  X(CanUseHostPointerForRegisteredMem, 91, 1) \
  X(CooperativeLaunch, 95, 1) \
  X(CooperativeMultiDeviceLaunch, 96, 0) \
  X(MaxSharedMemoryPerBlockOptin, 97, p.sharedMemPerBlockOptin) \
  X(HostRegisterSupported, 99, 1) \
  X(MaxBlocksPerMultiprocessor, 106, p.maxBlocksPerMultiProcessor) \
  X(ReservedSharedMemoryPerBlock, 111, 0) X(MemoryPoolsSupported, 115, 1)
#define X(name_, number_, value_) cudaDevAttr##name_ = number_,
enum cudaDeviceAttr { MX_CUDA_ATTRIBUTES(X) };
#undef X

/* As programs built for version 12 of the runtime have it. */
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2],
      maxTexture2DLinear[3], maxTexture2DGather[2];
  int maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3],
      maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap,
      maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing,
      memoryClockRate;
  int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
      globalL1CacheSupported;
  int localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
      singleToDoublePrecisionPerfRatio;
  int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
      cooperativeLaunch;
  int cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
      accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported,
      memoryPoolsSupported;
  int gpuDirectRDMASupported;
  unsigned int gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned int memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers, reserved[63];
};

struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
      preferredShmemCarveout;
  int clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth,
      clusterSchedulingPolicyAllowed;
  int nonPortableClusterSizeAllowed, reserved[16];
};
struct cudaPointerAttributes {
  enum cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPos {
  size_t x, y, z;
};
struct cudaPitchedPtr {
  void *ptr;
  size_t pitch, xsize, ysize;
};
typedef struct cudaArray *cudaArray_t;
struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  enum cudaMemcpyKind kind;
};
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *user);
typedef void (*cudaHostFn_t)(void *user);

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8
};
typedef union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative, priority, programmaticStreamSerializationAllowed, clusterSchedulingPolicyPreference;
  struct {
    unsigned int x, y, z;
  } clusterDim;
} cudaLaunchAttributeValue;
typedef struct cudaLaunchAttribute {
  enum cudaLaunchAttributeID id;
  char pad[4];
  cudaLaunchAttributeValue val;
} cudaLaunchAttribute;
typedef struct cudaLaunchConfig_st {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned int numAttrs;
} cudaLaunchConfig_t;

#endif
