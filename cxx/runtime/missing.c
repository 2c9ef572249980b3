/* Calls of the runtime that are not there: a program that is linked with them starts, and who makes one is told its
 * name. */
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

/* What they would take does not matter to who only refuses them. */
#define X(name_) \
  cudaError_t name_(void); \
  cudaError_t name_(void) { return rt_missing(#name_); }
// clang-format off
X(cudaArrayGetMemoryRequirements) X(cudaArrayGetPlane) X(cudaArrayGetSparseProperties)
X(cudaDestroyExternalMemory) X(cudaDestroyExternalSemaphore) X(cudaDeviceFlushGPUDirectRDMAWrites)
X(cudaDeviceGetGraphMemAttribute) X(cudaDeviceGetHostAtomicCapabilities)
X(cudaDeviceGetNvSciSyncAttributes) X(cudaDeviceGetP2PAtomicCapabilities) X(cudaDeviceGetTexture1DLinearMaxWidth)
X(cudaDeviceGraphMemTrim) X(cudaDeviceRegisterAsyncNotification) X(cudaDeviceSetGraphMemAttribute)
X(cudaDeviceUnregisterAsyncNotification) X(cudaEGLStreamConsumerAcquireFrame) X(cudaEGLStreamConsumerConnect)
X(cudaEGLStreamConsumerConnectWithFlags) X(cudaEGLStreamConsumerDisconnect) X(cudaEGLStreamConsumerReleaseFrame)
X(cudaEGLStreamProducerConnect) X(cudaEGLStreamProducerDisconnect) X(cudaEGLStreamProducerPresentFrame)
X(cudaEGLStreamProducerReturnFrame) X(cudaEventCreateFromEGLSync) X(cudaExternalMemoryGetMappedBuffer)
X(cudaExternalMemoryGetMappedMipmappedArray) X(cudaFuncGetParamInfo) X(cudaGLGetDevices) X(cudaGLMapBufferObject)
X(cudaGLMapBufferObjectAsync) X(cudaGLRegisterBufferObject) X(cudaGLSetBufferObjectMapFlags) X(cudaGLSetGLDevice)
X(cudaGLUnmapBufferObject) X(cudaGLUnmapBufferObjectAsync) X(cudaGLUnregisterBufferObject)
X(cudaGetKernel) X(cudaGetSurfaceObjectResourceDesc)
X(cudaGetTextureObjectResourceDesc) X(cudaGetTextureObjectResourceViewDesc) X(cudaGetTextureObjectTextureDesc)
X(cudaGraphAddExternalSemaphoresSignalNode) X(cudaGraphAddExternalSemaphoresWaitNode) X(cudaGraphAddMemAllocNode)
X(cudaGraphAddMemFreeNode) X(cudaGraphAddNode) X(cudaGraphChildGraphNodeGetGraph) X(cudaGraphConditionalHandleCreate)
X(cudaGraphDebugDotPrint) X(cudaGraphDestroyNode) X(cudaGraphEventRecordNodeGetEvent)
X(cudaGraphEventRecordNodeSetEvent) X(cudaGraphEventWaitNodeGetEvent) X(cudaGraphEventWaitNodeSetEvent)
X(cudaGraphExecChildGraphNodeSetParams) X(cudaGraphExecEventRecordNodeSetEvent) X(cudaGraphExecEventWaitNodeSetEvent)
X(cudaGraphExecExternalSemaphoresSignalNodeSetParams) X(cudaGraphExecExternalSemaphoresWaitNodeSetParams)
X(cudaGraphExecGetFlags) X(cudaGraphExecMemcpyNodeSetParams) X(cudaGraphExecMemcpyNodeSetParamsFromSymbol)
X(cudaGraphExecMemcpyNodeSetParamsToSymbol) X(cudaGraphExecNodeSetParams)
X(cudaGraphExternalSemaphoresSignalNodeGetParams) X(cudaGraphExternalSemaphoresSignalNodeSetParams)
X(cudaGraphExternalSemaphoresWaitNodeGetParams) X(cudaGraphExternalSemaphoresWaitNodeSetParams) X(cudaGraphGetEdges)
X(cudaGraphHostNodeGetParams) X(cudaGraphHostNodeSetParams) X(cudaGraphInstantiateWithParams)
X(cudaGraphKernelNodeCopyAttributes) X(cudaGraphKernelNodeGetAttribute) X(cudaGraphKernelNodeSetAttribute)
X(cudaGraphMemAllocNodeGetParams) X(cudaGraphMemFreeNodeGetParams) X(cudaGraphMemcpyNodeGetParams)
X(cudaGraphMemcpyNodeSetParams) X(cudaGraphMemcpyNodeSetParams1D) X(cudaGraphMemcpyNodeSetParamsFromSymbol)
X(cudaGraphMemcpyNodeSetParamsToSymbol) X(cudaGraphMemsetNodeGetParams) X(cudaGraphMemsetNodeSetParams)
X(cudaGraphNodeFindInClone) X(cudaGraphNodeGetDependencies) X(cudaGraphNodeGetDependentNodes) X(cudaGraphNodeGetEnabled)
X(cudaGraphNodeSetEnabled) X(cudaGraphNodeSetParams) X(cudaGraphReleaseUserObject) X(cudaGraphRemoveDependencies)
X(cudaGraphRetainUserObject) X(cudaGraphicsEGLRegisterImage) X(cudaGraphicsGLRegisterBuffer)
X(cudaGraphicsGLRegisterImage) X(cudaGraphicsMapResources) X(cudaGraphicsResourceGetMappedEglFrame)
X(cudaGraphicsResourceGetMappedMipmappedArray) X(cudaGraphicsResourceGetMappedPointer)
X(cudaGraphicsResourceSetMapFlags) X(cudaGraphicsSubResourceGetMappedArray) X(cudaGraphicsUnmapResources)
X(cudaGraphicsUnregisterResource) X(cudaGraphicsVDPAURegisterOutputSurface) X(cudaGraphicsVDPAURegisterVideoSurface)
X(cudaImportExternalMemory) X(cudaImportExternalSemaphore) X(cudaIpcCloseMemHandle) X(cudaIpcGetEventHandle)
X(cudaIpcGetMemHandle) X(cudaIpcOpenEventHandle) X(cudaIpcOpenMemHandle) X(cudaKernelSetAttributeForDevice)
X(cudaLibraryEnumerateKernels) X(cudaLibraryGetGlobal) X(cudaLibraryGetKernel) X(cudaLibraryGetKernelCount)
X(cudaLibraryGetManaged) X(cudaLibraryGetUnifiedFunction) X(cudaLibraryLoadData) X(cudaLibraryLoadFromFile)
X(cudaLibraryUnload) X(cudaLogsCurrent) X(cudaLogsDumpToFile) X(cudaLogsDumpToMemory) X(cudaLogsRegisterCallback)
X(cudaLogsUnregisterCallback) X(cudaMemDiscardAndPrefetchBatchAsync) X(cudaMemDiscardBatchAsync) X(cudaMemGetMemPool)
X(cudaMemPoolExportPointer) X(cudaMemPoolExportToShareableHandle) X(cudaMemPoolGetAccess)
X(cudaMemPoolImportFromShareableHandle) X(cudaMemPoolImportPointer) X(cudaMemPrefetchBatchAsync)
X(cudaMemRangeGetAttribute) X(cudaMemRangeGetAttributes) X(cudaMemSetMemPool) X(cudaMemcpy3DBatchAsync)
X(cudaMemcpy3DPeer) X(cudaMemcpy3DPeerAsync) X(cudaMemcpyArrayToArray) X(cudaMemcpyBatchAsync)
X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties) X(cudaOccupancyMaxActiveClusters)
X(cudaOccupancyMaxPotentialClusterSize) X(cudaSignalExternalSemaphoresAsync) X(cudaStreamBeginCaptureToGraph)
X(cudaStreamCopyAttributes) X(cudaStreamGetAttribute) X(cudaStreamGetCaptureInfo) X(cudaStreamGetId)
X(cudaStreamSetAttribute) X(cudaStreamUpdateCaptureDependencies) X(cudaUserObjectCreate) X(cudaUserObjectRelease)
X(cudaUserObjectRetain) X(cudaVDPAUGetDevice) X(cudaVDPAUSetVDPAUDevice) X(cudaWaitExternalSemaphoresAsync)
// clang-format on
#undef X
