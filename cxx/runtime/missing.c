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
X(cudaGLUnregisterBufferObject) X(cudaGraphAddExternalSemaphoresSignalNode) X(cudaGraphAddExternalSemaphoresWaitNode)
X(cudaGraphAddNode) X(cudaGraphConditionalHandleCreate) X(cudaGraphExecExternalSemaphoresSignalNodeSetParams)
X(cudaGraphExecExternalSemaphoresWaitNodeSetParams) X(cudaGraphExecNodeSetParams)
X(cudaGraphExternalSemaphoresSignalNodeGetParams) X(cudaGraphExternalSemaphoresSignalNodeSetParams)
X(cudaGraphExternalSemaphoresWaitNodeGetParams) X(cudaGraphExternalSemaphoresWaitNodeSetParams)
X(cudaGraphKernelNodeCopyAttributes) X(cudaGraphNodeSetParams) X(cudaGraphicsEGLRegisterImage)
X(cudaGraphicsGLRegisterBuffer) X(cudaGraphicsGLRegisterImage) X(cudaGraphicsMapResources)
X(cudaGraphicsResourceGetMappedEglFrame) X(cudaGraphicsResourceGetMappedMipmappedArray)
X(cudaGraphicsResourceGetMappedPointer) X(cudaGraphicsResourceSetMapFlags) X(cudaGraphicsSubResourceGetMappedArray)
X(cudaGraphicsUnmapResources) X(cudaGraphicsUnregisterResource) X(cudaGraphicsVDPAURegisterOutputSurface)
X(cudaGraphicsVDPAURegisterVideoSurface) X(cudaImportExternalMemory) X(cudaImportExternalSemaphore)

 X(cudaKernelSetAttributeForDevice) X(cudaLibraryEnumerateKernels) X(cudaLibraryGetGlobal)
X(cudaLibraryGetKernel) X(cudaLibraryGetKernelCount) X(cudaLibraryGetManaged) X(cudaLibraryGetUnifiedFunction)
X(cudaLibraryLoadData) X(cudaLibraryLoadFromFile) X(cudaLibraryUnload) X(cudaLogsCurrent) X(cudaLogsDumpToFile)
X(cudaLogsDumpToMemory) X(cudaLogsRegisterCallback) X(cudaLogsUnregisterCallback)
X(cudaMemDiscardAndPrefetchBatchAsync) X(cudaMemDiscardBatchAsync) X(cudaMemGetMemPool) X(cudaMemPoolExportPointer)
X(cudaMemPoolExportToShareableHandle) X(cudaMemPoolImportFromShareableHandle) X(cudaMemPoolImportPointer)
X(cudaMemPrefetchBatchAsync) X(cudaMemSetMemPool) X(cudaMemcpy3DBatchAsync) X(cudaMemcpyBatchAsync)
X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties)
X(cudaSignalExternalSemaphoresAsync) X(cudaStreamBeginCaptureToGraph) X(cudaStreamUpdateCaptureDependencies)
X(cudaVDPAUGetDevice) X(cudaVDPAUSetVDPAUDevice) X(cudaWaitExternalSemaphoresAsync)
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
