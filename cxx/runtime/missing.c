/* Calls that the runtime does not support. They exist so that programs which are linked with them start; the first use
 * of each prints its name. */
#include "rt.h"

#include <string.h>

cudaError_t rt_missing(const char *name) {
  static const char *said[64];
  static size_t n;
  pthread_mutex_lock(&rt_lock);
  bool known = false;
  for (size_t k = 0; k < n && !known; k++) known = !strcmp(said[k], name);
  if (!known && n < sizeof said / sizeof *said) said[n++] = name;
  pthread_mutex_unlock(&rt_lock);
  if (!known) rt_say("%s is not supported", name);
  return rt_error(cudaErrorNotSupported);
}

/* They are declared without their parameters, which a call that is always refused does not look at. */
#define X(name_) \
  cudaError_t name_(void); \
  cudaError_t name_(void) { return rt_missing(#name_); }
// clang-format off
X(cudaArrayGetMemoryRequirements) X(cudaArrayGetPlane) X(cudaArrayGetSparseProperties) X(cudaDestroyExternalMemory)
X(cudaDestroyExternalSemaphore) X(cudaDeviceFlushGPUDirectRDMAWrites) X(cudaDeviceGetGraphMemAttribute)
X(cudaDeviceGetHostAtomicCapabilities) X(cudaDeviceGetNvSciSyncAttributes) X(cudaDeviceGetP2PAtomicCapabilities)
X(cudaDeviceRegisterAsyncNotification) X(cudaDeviceSetGraphMemAttribute) X(cudaDeviceUnregisterAsyncNotification)
X(cudaEGLStreamConsumerAcquireFrame) X(cudaEGLStreamConsumerConnect) X(cudaEGLStreamConsumerConnectWithFlags)
X(cudaEGLStreamConsumerDisconnect) X(cudaEGLStreamConsumerReleaseFrame) X(cudaEGLStreamProducerConnect)
X(cudaEGLStreamProducerDisconnect) X(cudaEGLStreamProducerPresentFrame) X(cudaEGLStreamProducerReturnFrame)
X(cudaEventCreateFromEGLSync) X(cudaExternalMemoryGetMappedBuffer) X(cudaExternalMemoryGetMappedMipmappedArray)
X(cudaGLGetDevices) X(cudaGLMapBufferObject) X(cudaGLMapBufferObjectAsync) X(cudaGLRegisterBufferObject)
X(cudaGLSetBufferObjectMapFlags) X(cudaGLSetGLDevice) X(cudaGLUnmapBufferObject) X(cudaGLUnmapBufferObjectAsync)
X(cudaGLUnregisterBufferObject) X(cudaGetExportTable) X(cudaGraphAddExternalSemaphoresSignalNode)
X(cudaGraphAddExternalSemaphoresWaitNode) X(cudaGraphConditionalHandleCreate)
X(cudaGraphExecExternalSemaphoresSignalNodeSetParams) X(cudaGraphExecExternalSemaphoresWaitNodeSetParams)
X(cudaGraphExternalSemaphoresSignalNodeGetParams) X(cudaGraphExternalSemaphoresSignalNodeSetParams)
X(cudaGraphExternalSemaphoresWaitNodeGetParams) X(cudaGraphExternalSemaphoresWaitNodeSetParams)
X(cudaGraphicsEGLRegisterImage) X(cudaGraphicsGLRegisterBuffer) X(cudaGraphicsGLRegisterImage)
X(cudaGraphicsMapResources) X(cudaGraphicsResourceGetMappedEglFrame) X(cudaGraphicsResourceGetMappedMipmappedArray)
X(cudaGraphicsResourceGetMappedPointer) X(cudaGraphicsResourceSetMapFlags) X(cudaGraphicsSubResourceGetMappedArray)
X(cudaGraphicsUnmapResources) X(cudaGraphicsUnregisterResource) X(cudaGraphicsVDPAURegisterOutputSurface)
X(cudaGraphicsVDPAURegisterVideoSurface) X(cudaImportExternalMemory) X(cudaImportExternalSemaphore)
X(cudaLibraryGetUnifiedFunction) X(cudaLogsCurrent) X(cudaLogsDumpToFile) X(cudaLogsDumpToMemory)
X(cudaLogsRegisterCallback) X(cudaLogsUnregisterCallback) X(cudaMemDiscardAndPrefetchBatchAsync)
X(cudaMemDiscardBatchAsync) X(cudaMemGetDefaultMemPool) X(cudaMemGetMemPool) X(cudaMemPoolExportPointer)
X(cudaMemPoolExportToShareableHandle) X(cudaMemPoolImportFromShareableHandle) X(cudaMemPoolImportPointer)
X(cudaMemPrefetchBatchAsync) X(cudaMemSetMemPool) X(cudaMemcpy3DBatchAsync)
X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties)
X(cudaSignalExternalSemaphoresAsync) X(cudaStreamBeginCaptureToGraph) X(cudaStreamUpdateCaptureDependencies)
X(cudaVDPAUGetDevice) X(cudaVDPAUSetVDPAUDevice) X(cudaWaitExternalSemaphoresAsync) X(__cudaGetProcAddress)
X(__cudaRegisterHostVar) X(__cudaRegisterUnifiedTable)
// clang-format on
#undef X

/* The same for the driver's API. Some programs check whether such a symbol exists before they call it; the error that
 * the call returns tells them as much. */
#define X(name_) \
  int name_(void); \
  int name_(void) { return (int)rt_missing(#name_); }
    // clang-format off
X(cuArrayGetMemoryRequirements) X(cuArrayGetPlane) X(cuArrayGetSparseProperties) X(cuCheckpointProcessCheckpoint)
X(cuCheckpointProcessGetRestoreThreadId) X(cuCheckpointProcessGetState) X(cuCheckpointProcessLock)
X(cuCheckpointProcessRestore) X(cuCheckpointProcessUnlock) X(cuCoredumpGetAttribute) X(cuCoredumpGetAttributeGlobal)
X(cuCoredumpSetAttribute) X(cuCoredumpSetAttributeGlobal) X(cuCtxCreate_v3) X(cuCtxFromGreenCtx)
X(cuCtxGetDevResource) X(cuCtxGetDevice_v2) X(cuCtxGetExecAffinity) X(cuCtxGetId) X(cuCtxRecordEvent) X(cuCtxSetFlags)
X(cuCtxSynchronize_v2) X(cuCtxWaitEvent) X(cuDestroyExternalMemory) X(cuDestroyExternalSemaphore)
X(cuDevResourceGenerateDesc) X(cuDevSmResourceSplitByCount) X(cuDeviceGetDevResource)
X(cuDeviceGetExecAffinitySupport) X(cuDeviceGetGraphMemAttribute) X(cuDeviceGetHostAtomicCapabilities)
X(cuDeviceGetLuid) X(cuDeviceGetNvSciSyncAttributes) X(cuDeviceGetP2PAtomicCapabilities) X(cuDeviceGetProperties)
X(cuDeviceGetTexture1DLinearMaxWidth) X(cuDeviceGraphMemTrim) X(cuDeviceRegisterAsyncNotification)
X(cuDeviceSetGraphMemAttribute) X(cuDeviceUnregisterAsyncNotification) X(cuEventRecordWithFlags)
X(cuExternalMemoryGetMappedBuffer) X(cuExternalMemoryGetMappedMipmappedArray) X(cuFlushGPUDirectRDMAWrites)
X(cuFuncGetModule) X(cuFuncGetParamInfo) X(cuFuncSetBlockShape) X(cuFuncSetSharedSize) X(cuGetExportTable)
X(cuGraphAddBatchMemOpNode) X(cuGraphAddExternalSemaphoresSignalNode) X(cuGraphAddExternalSemaphoresWaitNode)
X(cuGraphAddNode_v2) X(cuGraphBatchMemOpNodeGetParams) X(cuGraphBatchMemOpNodeSetParams)
X(cuGraphConditionalHandleCreate) X(cuGraphEventRecordNodeGetEvent) X(cuGraphEventRecordNodeSetEvent)
X(cuGraphEventWaitNodeGetEvent) X(cuGraphEventWaitNodeSetEvent) X(cuGraphExecBatchMemOpNodeSetParams)
X(cuGraphExecChildGraphNodeSetParams) X(cuGraphExecEventRecordNodeSetEvent) X(cuGraphExecEventWaitNodeSetEvent)
X(cuGraphExecExternalSemaphoresSignalNodeSetParams) X(cuGraphExecExternalSemaphoresWaitNodeSetParams)
X(cuGraphExecHostNodeSetParams) X(cuGraphExecMemcpyNodeSetParams) X(cuGraphExecMemsetNodeSetParams)
X(cuGraphExecNodeSetParams) X(cuGraphExternalSemaphoresSignalNodeGetParams)
X(cuGraphExternalSemaphoresSignalNodeSetParams) X(cuGraphExternalSemaphoresWaitNodeGetParams)
X(cuGraphExternalSemaphoresWaitNodeSetParams) X(cuGraphGetEdges_v2) X(cuGraphKernelNodeCopyAttributes)
X(cuGraphKernelNodeGetAttribute) X(cuGraphKernelNodeSetAttribute) X(cuGraphMemAllocNodeGetParams)
X(cuGraphMemFreeNodeGetParams) X(cuGraphMemcpyNodeGetParams) X(cuGraphMemcpyNodeSetParams)
X(cuGraphMemsetNodeGetParams) X(cuGraphMemsetNodeSetParams) X(cuGraphNodeGetDependencies_v2)
X(cuGraphNodeGetDependentNodes_v2) X(cuGraphNodeSetParams) X(cuGraphReleaseUserObject) X(cuGraphRemoveDependencies_v2)
X(cuGraphRetainUserObject) X(cuGraphicsMapResources) X(cuGraphicsResourceGetMappedMipmappedArray)
X(cuGraphicsResourceGetMappedPointer_v2) X(cuGraphicsResourceSetMapFlags_v2) X(cuGraphicsSubResourceGetMappedArray)
X(cuGraphicsUnmapResources) X(cuGraphicsUnregisterResource) X(cuGreenCtxCreate) X(cuGreenCtxDestroy)
X(cuGreenCtxGetDevResource) X(cuGreenCtxGetId) X(cuGreenCtxRecordEvent) X(cuGreenCtxStreamCreate)
X(cuGreenCtxWaitEvent) X(cuImportExternalMemory) X(cuImportExternalSemaphore) X(cuIpcCloseMemHandle)
X(cuIpcGetEventHandle) X(cuIpcGetMemHandle) X(cuIpcOpenEventHandle) X(cuIpcOpenMemHandle_v2) X(cuKernelGetLibrary)
X(cuKernelGetParamInfo) X(cuKernelSetCacheConfig) X(cuLaunch) X(cuLaunchCooperativeKernelMultiDevice) X(cuLaunchGrid)
X(cuLaunchGridAsync) X(cuLibraryGetUnifiedFunction) X(cuLogsCurrent) X(cuLogsDumpToFile) X(cuLogsDumpToMemory)
X(cuLogsRegisterCallback) X(cuLogsUnregisterCallback) X(cuMemAdvise_v2) X(cuMemBatchDecompressAsync)
X(cuMemDiscardAndPrefetchBatchAsync) X(cuMemDiscardBatchAsync) X(cuMemExportToShareableHandle) X(cuMemGetAccess)
X(cuMemGetAllocationPropertiesFromHandle) X(cuMemGetDefaultMemPool) X(cuMemGetHandleForAddressRange)
X(cuMemGetMemPool) X(cuMemImportFromShareableHandle) X(cuMemMapArrayAsync) X(cuMemPoolExportPointer)
X(cuMemPoolExportToShareableHandle) X(cuMemPoolGetAccess) X(cuMemPoolImportFromShareableHandle)
X(cuMemPoolImportPointer) X(cuMemPrefetchAsync_v2) X(cuMemPrefetchBatchAsync) X(cuMemRangeGetAttribute)
X(cuMemRangeGetAttributes) X(cuMemRetainAllocationHandle) X(cuMemSetMemPool) X(cuMemcpy3DBatchAsync_v2)
X(cuMemcpy3DPeer) X(cuMemcpy3DPeerAsync) X(cuMemcpyAtoA_v2) X(cuMemcpyAtoHAsync_v2) X(cuMemcpyBatchAsync_v2)
X(cuMemcpyHtoAAsync_v2) X(cuMipmappedArrayCreate) X(cuMipmappedArrayDestroy) X(cuMipmappedArrayGetLevel)
X(cuMipmappedArrayGetMemoryRequirements) X(cuMipmappedArrayGetSparseProperties) X(cuModuleGetSurfRef)
X(cuModuleGetTexRef) X(cuMulticastAddDevice) X(cuMulticastBindAddr) X(cuMulticastBindMem) X(cuMulticastCreate)
X(cuMulticastGetGranularity) X(cuMulticastUnbind) X(cuOccupancyAvailableDynamicSMemPerBlock)
X(cuOccupancyMaxActiveClusters) X(cuOccupancyMaxPotentialBlockSizeWithFlags) X(cuOccupancyMaxPotentialClusterSize)
X(cuParamSetSize) X(cuParamSetTexRef) X(cuParamSetf) X(cuParamSeti) X(cuParamSetv) X(cuPointerGetAttributes)
X(cuPointerSetAttribute) X(cuSignalExternalSemaphoresAsync) X(cuStreamBatchMemOp_v2) X(cuStreamBeginCaptureToGraph)
X(cuStreamCopyAttributes) X(cuStreamGetAttribute) X(cuStreamGetCaptureInfo_v3) X(cuStreamGetCtx_v2)
X(cuStreamGetDevice) X(cuStreamGetGreenCtx) X(cuStreamSetAttribute) X(cuStreamUpdateCaptureDependencies_v2)
X(cuStreamWaitValue32_v2) X(cuStreamWaitValue64_v2) X(cuStreamWriteValue32_v2) X(cuStreamWriteValue64_v2)
X(cuSurfObjectGetResourceDesc) X(cuSurfRefGetArray) X(cuSurfRefSetArray) X(cuTensorMapEncodeIm2col)
X(cuTensorMapEncodeIm2colWide) X(cuTensorMapEncodeTiled) X(cuTensorMapReplaceAddress) X(cuTexObjectGetResourceDesc)
X(cuTexObjectGetResourceViewDesc) X(cuTexObjectGetTextureDesc) X(cuTexRefCreate) X(cuTexRefDestroy)
X(cuTexRefGetAddressMode) X(cuTexRefGetAddress_v2) X(cuTexRefGetArray) X(cuTexRefGetBorderColor)
X(cuTexRefGetFilterMode) X(cuTexRefGetFlags) X(cuTexRefGetFormat) X(cuTexRefGetMaxAnisotropy)
X(cuTexRefGetMipmapFilterMode) X(cuTexRefGetMipmapLevelBias) X(cuTexRefGetMipmapLevelClamp)
X(cuTexRefGetMipmappedArray) X(cuTexRefSetAddress2D_v2) X(cuTexRefSetAddress2D_v3) X(cuTexRefSetAddressMode)
X(cuTexRefSetAddress_v2) X(cuTexRefSetArray) X(cuTexRefSetBorderColor) X(cuTexRefSetFilterMode) X(cuTexRefSetFlags)
X(cuTexRefSetFormat) X(cuTexRefSetMaxAnisotropy) X(cuTexRefSetMipmapFilterMode) X(cuTexRefSetMipmapLevelBias)
X(cuTexRefSetMipmapLevelClamp) X(cuTexRefSetMipmappedArray) X(cuUserObjectCreate) X(cuUserObjectRelease)
X(cuUserObjectRetain) X(cuWaitExternalSemaphoresAsync)
// clang-format on
#undef X

    /* What the headers declare: memory and events of another process. */
    cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p) {
  return (void)handle, (void)p, RT_MISSING();
}
cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned int flags) {
  return (void)p, (void)handle, (void)flags, RT_MISSING();
}
cudaError_t cudaIpcCloseMemHandle(void *p) { return (void)p, RT_MISSING(); }
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
  return (void)handle, (void)event, RT_MISSING();
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle) {
  return (void)event, (void)handle, RT_MISSING();
}
