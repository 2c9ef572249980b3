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
  X(cudaErrorProfilerDisabled, 5, "profiler disabled while using external profiling tool") \
  X(cudaErrorProfilerNotInitialized, 6, "profiler not initialized") \
  X(cudaErrorProfilerAlreadyStarted, 7, "profiler already started") \
  X(cudaErrorProfilerAlreadyStopped, 8, "profiler already stopped") \
  X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument") \
  X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument") \
  X(cudaErrorInvalidSymbol, 13, "invalid device symbol") \
  X(cudaErrorInvalidHostPointer, 16, "invalid host pointer") \
  X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer") \
  X(cudaErrorInvalidTexture, 18, "invalid texture reference") \
  X(cudaErrorInvalidTextureBinding, 19, "texture is not bound to a pointer") \
  X(cudaErrorInvalidChannelDescriptor, 20, "invalid channel descriptor") \
  X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") \
  X(cudaErrorAddressOfConstant, 22, "address of constant") \
  X(cudaErrorTextureFetchFailed, 23, "fetch from texture failed") \
  X(cudaErrorTextureNotBound, 24, "cannot fetch from a texture that is not bound") \
  X(cudaErrorSynchronizationError, 25, "synchronization error") \
  X(cudaErrorInvalidFilterSetting, 26, "linear filtering not supported for non-float type") \
  X(cudaErrorInvalidNormSetting, 27, "read as normalized float not supported for 32-bit non float type") \
  X(cudaErrorMixedDeviceExecution, 28, "mixed device execution") \
  X(cudaErrorNotYetImplemented, 31, "feature not yet implemented") \
  X(cudaErrorMemoryValueTooLarge, 32, "memory value too large") \
  X(cudaErrorStubLibrary, 34, "stub library") \
  X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
  X(cudaErrorCallRequiresNewerDriver, 36, "call requires newer driver") \
  X(cudaErrorInvalidSurface, 37, "invalid surface reference") \
  X(cudaErrorDuplicateVariableName, 43, "duplicate variable name") \
  X(cudaErrorDuplicateTextureName, 44, "duplicate texture name") \
  X(cudaErrorDuplicateSurfaceName, 45, "duplicate surface name") \
  X(cudaErrorDevicesUnavailable, 46, "all CUDA-capable devices are busy or unavailable") \
  X(cudaErrorIncompatibleDriverContext, 49, "incompatible driver context") \
  X(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured") \
  X(cudaErrorPriorLaunchFailure, 53, "unspecified launch failure in prior launch") \
  X(cudaErrorLaunchMaxDepthExceeded, 65, "launch max depth exceeded") \
  X(cudaErrorLaunchFileScopedTex, 66, "launch file scoped tex") \
  X(cudaErrorLaunchFileScopedSurf, 67, "launch file scoped surf") \
  X(cudaErrorSyncDepthExceeded, 68, "sync depth exceeded") \
  X(cudaErrorLaunchPendingCountExceeded, 69, "launch pending count exceeded") \
  X(cudaErrorInvalidDeviceFunction, 98, "invalid device function") \
  X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") \
  X(cudaErrorInvalidDevice, 101, "invalid device ordinal") \
  X(cudaErrorDeviceNotLicensed, 102, "device not licensed") \
  X(cudaErrorSoftwareValidityNotEstablished, 103, "software validity not established") \
  X(cudaErrorStartupFailure, 127, "startup failure") \
  X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid") \
  X(cudaErrorDeviceUninitialized, 201, "invalid device context") \
  X(cudaErrorMapBufferObjectFailed, 205, "mapping of buffer object failed") \
  X(cudaErrorUnmapBufferObjectFailed, 206, "unmapping of buffer object failed") \
  X(cudaErrorArrayIsMapped, 207, "array is mapped") \
  X(cudaErrorAlreadyMapped, 208, "already mapped") \
  X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
  X(cudaErrorAlreadyAcquired, 210, "already acquired") \
  X(cudaErrorNotMapped, 211, "not mapped") \
  X(cudaErrorNotMappedAsArray, 212, "not mapped as array") \
  X(cudaErrorNotMappedAsPointer, 213, "not mapped as pointer") \
  X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered") \
  X(cudaErrorUnsupportedLimit, 215, "limit is not supported on this architecture") \
  X(cudaErrorDeviceAlreadyInUse, 216, "exclusive-thread device already in use by a different thread") \
  X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices") \
  X(cudaErrorInvalidPtx, 218, "a PTX JIT compilation failed") \
  X(cudaErrorInvalidGraphicsContext, 219, "invalid graphics context") \
  X(cudaErrorNvlinkUncorrectable, 220, "uncorrectable NVLink error detected during the execution") \
  X(cudaErrorJitCompilerNotFound, 221, "PTX JIT compiler library not found") \
  X(cudaErrorUnsupportedPtxVersion, 222, "the provided PTX was compiled with an unsupported toolchain") \
  X(cudaErrorJitCompilationDisabled, 223, "jit compilation disabled") \
  X(cudaErrorUnsupportedExecAffinity, 224, "unsupported exec affinity") \
  X(cudaErrorUnsupportedDevSideSync, 225, "unsupported dev side sync") \
  X(cudaErrorContained, 226, "contained") \
  X(cudaErrorInvalidSource, 300, "device kernel image is invalid") \
  X(cudaErrorFileNotFound, 301, "file not found") \
  X(cudaErrorSharedObjectSymbolNotFound, 302, "shared object symbol not found") \
  X(cudaErrorSharedObjectInitFailed, 303, "shared object initialization failed") \
  X(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS") \
  X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle") \
  X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state") \
  X(cudaErrorLossyQuery, 402, "lossy query") \
  X(cudaErrorSymbolNotFound, 500, "named symbol not found") \
  X(cudaErrorNotReady, 600, "device not ready") \
  X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered") \
  X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
  X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated") \
  X(cudaErrorLaunchIncompatibleTexturing, 703, "launch uses incompatible texturing mode") \
  X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") \
  X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled") \
  X(cudaErrorSetOnActiveProcess, 708, "cannot set while device is active in this process") \
  X(cudaErrorContextIsDestroyed, 709, "context is destroyed") \
  X(cudaErrorAssert, 710, "device-side assert triggered") \
  X(cudaErrorTooManyPeers, 711, "peer mapping resources exhausted") \
  X(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped") \
  X(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region") \
  X(cudaErrorHardwareStackError, 714, "hardware stack error") \
  X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered") \
  X(cudaErrorMisalignedAddress, 716, "misaligned address") \
  X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space") \
  X(cudaErrorInvalidPc, 718, "invalid program counter") \
  X(cudaErrorLaunchFailure, 719, "unspecified launch failure") \
  X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
  X(cudaErrorTensorMemoryLeak, 721, "tensor memory leak") \
  X(cudaErrorNotPermitted, 800, "operation not permitted") \
  X(cudaErrorNotSupported, 801, "operation not supported") \
  X(cudaErrorSystemNotReady, 802, "system not yet initialized") \
  X(cudaErrorSystemDriverMismatch, 803, "system has unsupported display driver / cuda driver combination") \
  X(cudaErrorCompatNotSupportedOnDevice, 804, "compat not supported on device") \
  X(cudaErrorMpsConnectionFailed, 805, "mps connection failed") \
  X(cudaErrorMpsRpcFailure, 806, "mps rpc failure") \
  X(cudaErrorMpsServerNotReady, 807, "mps server not ready") \
  X(cudaErrorMpsMaxClientsReached, 808, "mps max clients reached") \
  X(cudaErrorMpsMaxConnectionsReached, 809, "mps max connections reached") \
  X(cudaErrorMpsClientTerminated, 810, "mps client terminated") \
  X(cudaErrorCdpNotSupported, 811, "cdp not supported") \
  X(cudaErrorCdpVersionMismatch, 812, "cdp version mismatch") \
  X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
  X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture") \
  X(cudaErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences") \
  X(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began") \
  X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work") \
  X(cudaErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream") \
  X(cudaErrorStreamCaptureImplicit, 906, \
    "operation would make the legacy stream depend on a capturing blocking stream") \
  X(cudaErrorCapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream") \
  X(cudaErrorStreamCaptureWrongThread, 908, \
    "attempt to terminate a thread-local capture sequence from another thread") \
  X(cudaErrorTimeout, 909, "wait operation timed out") \
  X(cudaErrorGraphExecUpdateFailure, 910, \
    "the graph update was not performed because it included changes which violated constraints specific " \
    "to instantiated graph update") \
  X(cudaErrorExternalDevice, 911, "external device") \
  X(cudaErrorInvalidClusterSize, 912, "invalid cluster configuration") \
  X(cudaErrorFunctionNotLoaded, 913, "function not loaded") \
  X(cudaErrorInvalidResourceType, 914, "invalid resource type") \
  X(cudaErrorInvalidResourceConfiguration, 915, "invalid resource configuration") \
  X(cudaErrorUnknown, 999, "unknown error")
#define X(name_, number_, text_) name_ = number_,
typedef enum cudaError { MX_CUDA_ERRORS(X) } cudaError_t;
#undef X

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUfunc_st *cudaFunction_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct CUlib_st *cudaLibrary_t;
/* Options of a PTX compiler. They are accepted and ignored. */
enum cudaJitOption {
  cudaJitMaxRegisters = 0,
  cudaJitThreadsPerBlock = 1,
  cudaJitWallTime = 2,
  cudaJitInfoLogBuffer = 3,
  cudaJitInfoLogBufferSizeBytes = 4,
  cudaJitErrorLogBuffer = 5,
  cudaJitErrorLogBufferSizeBytes = 6,
  cudaJitOptimizationLevel = 7
};
enum cudaLibraryOption { cudaLibraryHostUniversalFunctionAndDataTable = 0, cudaLibraryBinaryIsPreserved = 1 };
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
#define cudaEventRecordExternal 1
#define cudaEventWaitDefault 0
#define cudaEventWaitExternal 1
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaHostRegisterIoMemory 0x04
#define cudaHostRegisterReadOnly 0x08
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaMemAttachSingle 0x04
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceBlockingSync 0x04
#define cudaDeviceScheduleMask 0x07
#define cudaDeviceMapHost 0x08
#define cudaDeviceLmemResizeToMax 0x10
#define cudaDeviceSyncMemops 0x80
#define cudaDeviceMask 0xFF
#define cudaPeerAccessDefault 0x00
#define cudaOccupancyDefault 0x00
#define cudaOccupancyDisableCachingOverride 0x01
#define cudaCooperativeLaunchMultiDeviceNoPreSync 0x01
#define cudaCooperativeLaunchMultiDeviceNoPostSync 0x02
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
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeClusterDimMustBeSet = 10,
  cudaFuncAttributeRequiredClusterWidth = 11,
  cudaFuncAttributeRequiredClusterHeight = 12,
  cudaFuncAttributeRequiredClusterDepth = 13,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
  cudaFuncAttributeClusterSchedulingPolicyPreference = 15
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxShared = 100,
  cudaSharedmemCarveoutMaxL1 = 0
};
enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported = 2,
  cudaDevP2PAttrNativeAtomicSupported = 3,
  cudaDevP2PAttrCudaArrayAccessSupported = 4
};
enum cudaMemRangeAttribute {
  cudaMemRangeAttributeReadMostly = 1,
  cudaMemRangeAttributePreferredLocation = 2,
  cudaMemRangeAttributeAccessedBy = 3,
  cudaMemRangeAttributeLastPrefetchLocation = 4
};
#define CUDA_IPC_HANDLE_SIZE 64
#define cudaIpcMemLazyEnablePeerAccess 0x01
typedef struct cudaIpcMemHandle_st {
  char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle_st {
  char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcEventHandle_t;

/* X(name, number, value): the attributes of a device. The value is an expression for the runtime's properties.c. */
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
  X(MaxTexture1DWidth, 21, p.maxTexture1D) \
  X(MaxTexture2DWidth, 22, p.maxTexture2D[0]) \
  X(MaxTexture2DHeight, 23, p.maxTexture2D[1]) \
  X(MaxTexture3DWidth, 24, p.maxTexture3D[0]) \
  X(MaxTexture3DHeight, 25, p.maxTexture3D[1]) \
  X(MaxTexture3DDepth, 26, p.maxTexture3D[2]) \
  X(MaxTexture2DLayeredWidth, 27, p.maxTexture2DLayered[0]) \
  X(MaxTexture2DLayeredHeight, 28, p.maxTexture2DLayered[1]) \
  X(MaxTexture2DLayeredLayers, 29, p.maxTexture2DLayered[2]) \
  X(SurfaceAlignment, 30, p.surfaceAlignment) \
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
  X(MaxTexture1DLayeredWidth, 42, p.maxTexture1DLayered[0]) \
  X(MaxTexture1DLayeredLayers, 43, p.maxTexture1DLayered[1]) \
  X(MaxTexture2DGatherWidth, 45, p.maxTexture2DGather[0]) \
  X(MaxTexture2DGatherHeight, 46, p.maxTexture2DGather[1]) \
  X(MaxTexture3DWidthAlt, 47, p.maxTexture3DAlt[0]) \
  X(MaxTexture3DHeightAlt, 48, p.maxTexture3DAlt[1]) \
  X(MaxTexture3DDepthAlt, 49, p.maxTexture3DAlt[2]) \
  X(PciDomainId, 50, 0) \
  X(TexturePitchAlignment, 51, p.texturePitchAlignment) \
  X(MaxTextureCubemapWidth, 52, p.maxTextureCubemap) \
  X(MaxTextureCubemapLayeredWidth, 53, p.maxTextureCubemapLayered[0]) \
  X(MaxTextureCubemapLayeredLayers, 54, p.maxTextureCubemapLayered[1]) \
  X(MaxSurface1DWidth, 55, p.maxSurface1D) \
  X(MaxSurface2DWidth, 56, p.maxSurface2D[0]) \
  X(MaxSurface2DHeight, 57, p.maxSurface2D[1]) \
  X(MaxSurface3DWidth, 58, p.maxSurface3D[0]) \
  X(MaxSurface3DHeight, 59, p.maxSurface3D[1]) \
  X(MaxSurface3DDepth, 60, p.maxSurface3D[2]) \
  X(MaxSurface1DLayeredWidth, 61, p.maxSurface1DLayered[0]) \
  X(MaxSurface1DLayeredLayers, 62, p.maxSurface1DLayered[1]) \
  X(MaxSurface2DLayeredWidth, 63, p.maxSurface2DLayered[0]) \
  X(MaxSurface2DLayeredHeight, 64, p.maxSurface2DLayered[1]) \
  X(MaxSurface2DLayeredLayers, 65, p.maxSurface2DLayered[2]) \
  X(MaxSurfaceCubemapWidth, 66, p.maxSurfaceCubemap) \
  X(MaxSurfaceCubemapLayeredWidth, 67, p.maxSurfaceCubemapLayered[0]) \
  X(MaxSurfaceCubemapLayeredLayers, 68, p.maxSurfaceCubemapLayered[1]) \
  X(MaxTexture1DLinearWidth, 69, p.maxTexture1DLinear) \
  X(MaxTexture2DLinearWidth, 70, p.maxTexture2DLinear[0]) \
  X(MaxTexture2DLinearHeight, 71, p.maxTexture2DLinear[1]) \
  X(MaxTexture2DLinearPitch, 72, p.maxTexture2DLinear[2]) \
  X(MaxTexture2DMipmappedWidth, 73, p.maxTexture2DMipmap[0]) \
  X(MaxTexture2DMipmappedHeight, 74, p.maxTexture2DMipmap[1]) \
  X(ComputeCapabilityMajor, 75, p.major) \
  X(ComputeCapabilityMinor, 76, p.minor) \
  X(MaxTexture1DMipmappedWidth, 77, p.maxTexture1DMipmap) \
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
  X(CanFlushRemoteWrites, 98, 0) \
  X(HostRegisterSupported, 99, 1) \
  X(PageableMemoryAccessUsesHostPageTables, 100, 0) \
  X(DirectManagedMemAccessFromHost, 101, 0) \
  X(MaxBlocksPerMultiprocessor, 106, p.maxBlocksPerMultiProcessor) \
  X(MaxPersistingL2CacheSize, 108, p.persistingL2CacheMaxSize) \
  X(MaxAccessPolicyWindowSize, 109, p.accessPolicyMaxWindowSize) \
  X(ReservedSharedMemoryPerBlock, 111, 0) \
  X(SparseCudaArraySupported, 112, 0) \
  X(HostRegisterReadOnlySupported, 113, 0) \
  X(TimelineSemaphoreInteropSupported, 114, 0) \
  X(MemoryPoolsSupported, 115, 1) \
  X(GPUDirectRDMASupported, 116, 0) \
  X(GPUDirectRDMAFlushWritesOptions, 117, 0) \
  X(GPUDirectRDMAWritesOrdering, 118, 0) \
  X(MemoryPoolSupportedHandleTypes, 119, 0) \
  X(ClusterLaunch, 120, p.clusterLaunch) \
  X(DeferredMappingCudaArraySupported, 121, 0) \
  X(IpcEventSupport, 125, 0) \
  X(MemSyncDomainCount, 126, 0) \
  X(NumaConfig, 130, 0) \
  X(NumaId, 131, 0) \
  X(MpsEnabled, 133, 0) \
  X(HostNumaId, 134, 0) \
  X(D3D12CigSupported, 135, 0) \
  X(VulkanCigSupported, 138, 0) \
  X(GpuPciDeviceId, 139, 0) \
  X(GpuPciSubsystemId, 140, 0) \
  X(HostNumaMemoryPoolsSupported, 142, 0) \
  X(HostNumaMultinodeIpcSupported, 143, 0) \
  X(HostMemoryPoolsSupported, 144, 0) \
  X(OnlyPartialHostNativeAtomicSupported, 147, 0)
#define X(name_, number_, value_) cudaDevAttr##name_ = number_,
enum cudaDeviceAttr { MX_CUDA_ATTRIBUTES(X) };
#undef X

/* Laid out as in version 12 of the runtime. */
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
struct cudaMemcpy3DPeerParms {
  cudaArray_t srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  int srcDevice;
  cudaArray_t dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  int dstDevice;
  struct cudaExtent extent;
};
struct cudaLaunchParams {
  void *func;
  dim3 gridDim, blockDim;
  void **args;
  size_t sharedMem;
  cudaStream_t stream;
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
  cudaLaunchAttributeProgrammaticEvent = 7,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributeMemSyncDomainMap = 9,
  cudaLaunchAttributeMemSyncDomain = 10
};
/* Which memory should stay in the cache. The runtime keeps this for queries; it has no effect. */
enum cudaAccessProperty {
  cudaAccessPropertyNormal = 0,
  cudaAccessPropertyStreaming = 1,
  cudaAccessPropertyPersisting = 2
};
struct cudaAccessPolicyWindow {
  void *base_ptr;
  size_t num_bytes;
  float hitRatio;
  enum cudaAccessProperty hitProp, missProp;
};
enum cudaSynchronizationPolicy {
  cudaSyncPolicyAuto = 1,
  cudaSyncPolicySpin = 2,
  cudaSyncPolicyYield = 3,
  cudaSyncPolicyBlockingSync = 4
};
enum cudaClusterSchedulingPolicy {
  cudaClusterSchedulingPolicyDefault = 0,
  cudaClusterSchedulingPolicySpread = 1,
  cudaClusterSchedulingPolicyLoadBalancing = 2
};
typedef union cudaLaunchAttributeValue {
  char pad[64];
  struct cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative, priority, programmaticStreamSerializationAllowed;
  enum cudaClusterSchedulingPolicy clusterSchedulingPolicyPreference;
  enum cudaSynchronizationPolicy syncPolicy;
  struct {
    unsigned int x, y, z;
  } clusterDim;
} cudaLaunchAttributeValue;
#define cudaStreamAttrID cudaLaunchAttributeID
#define cudaStreamAttrValue cudaLaunchAttributeValue
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributePriority cudaLaunchAttributePriority
#define cudaKernelNodeAttrID cudaLaunchAttributeID
#define cudaKernelNodeAttrValue cudaLaunchAttributeValue
#define cudaKernelNodeAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaKernelNodeAttributeCooperative cudaLaunchAttributeCooperative
#define cudaKernelNodeAttributePriority cudaLaunchAttributePriority
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
