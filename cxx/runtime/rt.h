/* What the files of the runtime share. It stands on mx.h alone: a CUDA device is an mx_device, a registered image a
 * module of each device that has launched one of its kernels.
 *
 * One lock guards all tables here. Calls of mx are made without it where they may take long: launches, copies,
 * synchronisation. */
#ifndef MX_CXX_RT_H
#define MX_CXX_RT_H
#include "cxx/include/mx/runtime.h"
#include "mx/mx.h"
#include "mx/text.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RT_MOST_DEVICES = 8 /* as many as mx has beside one another */ };

/* ---- images: what compilers embed -------------------------------------------------------------------------------*/
struct rt_image {
  struct rt_image *next;
  const void *data;                   /* a fat binary, PTX or a module */
  const void *const *parts;           /* or fat binaries that are joined, up to a null */
  size_t number;                      /* its number among parts that are joined: RT_OF_PART */
  mx_module *module[RT_MOST_DEVICES]; /* loaded when first used */
  bool gone;                          /* unregistered, or refused: nothing of it can be used any more */
  bool mirrored;                      /* it has managed variables that the host has, too (mirrors.c) */
};
struct rt_function {
  struct rt_function *next;
  const void *host; /* address of the host's function of that name (its stub), by which the program names the kernel */
  struct rt_image *image;
  char *name;
  mx_kernel *kernel[RT_MOST_DEVICES];
  bool cluster_known; /* the blocks of its clusters have been looked for */
  uint32_t cluster[3];
};
struct rt_variable {
  struct rt_variable *next;
  const void *host;
  void **managed; /* of a managed variable: the program's pointer to it, which is to be set; else NULL */
  struct rt_image *image;
  char *name;
  size_t size;
  bool said; /* a message has said that the module has no such variable */
};

/* ---- devices, streams, events -----------------------------------------------------------------------------------*/
struct rt_device {
  mx_device *mx;
  mx_addr first; /* where its memory begins */
  int number;
  uint32_t reaches;     /* a bit for each peer whose memory its kernels may use; rt_lock */
  _Atomic bool told;    /* the text of its trap has been printed */
  _Atomic bool stopped; /* a launch was stopped at its time limit; until a reset */
};
struct CUstream_st {
  struct CUstream_st *next; /* of all; rt_lock */
  struct rt_device *device;
  mx_stream *mx;
  unsigned flags;
  int priority;
  unsigned long long number; /* which stream of the program it is, in the order in which they were made */
  struct cudaAccessPolicyWindow window;
  enum cudaSynchronizationPolicy policy;
  struct rt_capture *capture; /* NULL: work that it is given is executed; else it becomes nodes of a graph */
  bool captures;              /* the capture began with this stream */
};
struct CUevent_st {
  struct rt_device *device;
  mx_event *mx;
  unsigned flags;
  _Atomic bool recorded;
  struct rt_capture *capture; /* it was recorded in a stream that was captured */
};

extern pthread_mutex_t rt_lock;
extern struct rt_settings { /* from the environment, when the first device is made */
  double timeout;           /* MX_TIMEOUT: of a launch, seconds; 0: none */
  bool stats;               /* MX_STATS: a line for each launch */
  size_t slack;             /* MX_LENIENT: bytes behind each allocation */
} rt_settings;

/* errors.c */
cudaError_t rt_error(cudaError_t e); /* remembers the error for cudaGetLastError, and returns it */
/* The error for an mx_status; the text of a trap is printed when it is first met. */
cudaError_t rt_status(struct rt_device *d, mx_status s);
void rt_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* prints a line on stderr */

/* missing.c */
cudaError_t rt_missing(const char *name); /* says once that a call is not supported */
#define RT_MISSING() rt_missing(__func__)

/* device.c */
int rt_device_count(void);
struct rt_device *rt_current(void); /* the thread's device, made when first used; NULL: that failed */
struct rt_device *rt_device(int number);
struct rt_device *rt_owner(const void *address); /* the device in whose memory the address lies, or NULL */
bool rt_is_device_address(uint64_t address);     /* in the range of some device, allocated or not */
void rt_flush(void);                             /* writes what kernels have printed to stdout */
/* How many bytes of printed text wait for rt_flush. *text, which the caller frees, gets those behind the first `from`.
 */
size_t rt_printed(size_t from, char **text);
int rt_lanes(void); /* lanes of a warp in the program's modules */

/* Prints on stderr why the last call to mx was refused. */
void rt_explain(struct rt_device *d);
/* Whether an address belongs to the host's memory; the text then says to what of it. A pointer, set by host_memory.c,
 * since errors.c asks, which must not know devices and variables. */
extern bool (*rt_host_memory)(uint64_t address, char *text, size_t size);

/* registry.c */
struct rt_function *rt_find_function(const void *host);
void rt_add_variable(void **handle, const void *host, void **managed, const char *name, size_t size);
mx_kernel *rt_kernel(struct rt_device *d, const void *host, cudaError_t *e);
const char *rt_variable_at(
    const void *host); /* name of the variable at that address of the host; NULL: none is there */
cudaError_t rt_symbol(struct rt_device *d, const void *host, mx_addr *address, uint64_t *bytes);
void rt_forget_modules(int device); /* after a reset of the device */
void rt_forget_function(const void *host);
/* The image's module on the device, which is loaded when first asked for. */
mx_module *rt_image_module(struct rt_device *d, struct rt_image *image, cudaError_t *e);
void rt_image_unload(struct rt_image *image);
cudaError_t rt_load(struct rt_device *d, const void *data, mx_module **module, char **why);
mx_status rt_load_module(struct rt_device *d, const char *bytes, size_t size,
                         mx_module **module); /* bytes of an .mxb */

/* fatbin.c: the PTX or the module of an image; the caller frees it where *owned is true. NULL: there is none, and *why,
 * a constant, says why. */
const char *rt_code(const void *data, size_t *size, bool *owned, bool *is_module, const char **why);
int rt_image_lanes(const void *data);    /* lanes of a warp in the image's code */
bool rt_image_is_part(const void *data); /* it is to be joined with those of the program's other files (join.c) */

/* cluster.c: the size of a kernel's clusters, in blocks, as its source gives it (__cluster_dims__); 0: it gives none.
 */
void rt_cluster_of(const void *host, uint32_t cluster[3]);

/* join.c: one text made of several, which the caller frees; NULL: no memory. A name that is private to one part, and
 * that another part has, too, gets the part's number as its ending. */
#define RT_OF_PART "$part%zu"
char *rt_join(const char *const *texts, const size_t *sizes, size_t count);

/* stream.c */
mx_stream *rt_stream(cudaStream_t s); /* NULL: the default stream */
struct rt_device *rt_stream_device(cudaStream_t s);
bool rt_capture_alive(unsigned number); /* whether some stream still takes part in the capture of that number */

/* The shape of a launch. */
struct rt_grid {
  dim3 grid, block;
  size_t shared;
  bool cooperative;
  uint32_t cluster[3]; /* 0: what the kernel says */
};

/* graph.c: what a stream that is being captured remembers: the graph, and the nodes on which the next node will depend.
 * An event that is recorded in such a stream remembers the same, and a stream that waits for such an event is captured
 * from then on, too. */
struct rt_capture {
  unsigned number;
  cudaGraph_t graph;
  cudaGraphNode_t *last;
  size_t n;
};
bool rt_capturing(cudaStream_t s);
void rt_capture_end(struct rt_capture *c);
cudaError_t rt_capture_kernel(cudaStream_t s, struct rt_device *d, const void *function, mx_kernel *k,
                              const struct rt_grid *g, void **args);
cudaError_t rt_capture_box(cudaStream_t s, const struct cudaMemcpy3DParms *p);
cudaError_t rt_capture_copy(cudaStream_t s, void *to, const void *from, size_t count, enum cudaMemcpyKind kind);
cudaError_t rt_capture_fill(cudaStream_t s, const struct cudaMemsetParams *p);
cudaError_t rt_capture_call(cudaStream_t s, cudaHostFn_t fn, void *user);
cudaError_t rt_capture_record(cudaStream_t s, cudaEvent_t event);
cudaError_t rt_capture_wait(cudaStream_t s, cudaEvent_t event);
cudaError_t rt_capture_memory(cudaStream_t s, void *p, size_t size); /* size 0: it is freed */

/* graph_launch.c */
cudaError_t rt_fill(const struct cudaMemsetParams *p, cudaStream_t s); /* elements of 1, 2 or 4 bytes */

/* version.c: the program was built for version 13 of the runtime, some of whose calls have other parameters. */
bool rt_is_version_13(void);

/* array.c: a copy from or to an array. */
cudaError_t rt_copy_array(const struct cudaMemcpy3DParms *p, cudaStream_t stream);

/* mirrors.c: memory of the host that has a copy on the device, so that kernels use it, too */
bool rt_is_managed_variable(const void *host);
cudaError_t rt_mirror_add(void *host, size_t size, bool variable);
cudaError_t rt_mirror_remove(void *host);
bool rt_is_mirrored(const void *p);
mx_addr rt_mirrored(struct rt_device *d, const void *p);
void rt_mirrors_begin(struct rt_device *d);
void rt_mirrors_home(void);
void rt_mirrors_forget(struct rt_device *d);
void **rt_mirrors_leave(struct rt_device *d, mx_kernel *k, uint32_t params, void *const *args);

/* watch.c: launches that options of `mxrun exec` ask to be recorded, debugged or explained. Where rt_watches answers
 * true, all launches go through rt_watch_launch, one at a time, and the text or bytes of each module are kept. */
bool rt_watches(void);
void rt_watch_program(mx_module *module, const char *bytes, size_t size, bool is_module);
void rt_watch_forget(const mx_module *module); /* a module is being unloaded; NULL: all are, by a reset */
void rt_watch_objects(int more);               /* so many textures and surfaces were made; negative: destroyed */
mx_status rt_watch_launch(struct rt_device *d, mx_kernel *k, const mx_kernel_info *info, const mx_launch_config *c,
                          void **args);

/* launch.c */
void rt_attributes(struct cudaFuncAttributes *a, const mx_kernel_info *info);
cudaError_t rt_occupancy(int *blocks, struct rt_device *d, mx_kernel *k, int threads, size_t shared);
cudaError_t rt_launch(struct rt_device *d, mx_kernel *k, const struct rt_grid *g, void **args, cudaStream_t s);
void rt_launch_attributes(struct rt_grid *g, const cudaLaunchAttribute *attribute, unsigned n);

#endif
