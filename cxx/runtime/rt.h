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
  mx_module *module[RT_MOST_DEVICES]; /* loaded when first used */
  bool gone;
};
struct rt_function {
  struct rt_function *next;
  const void *host; /* the stub that the program names */
  struct rt_image *image;
  char *name;
  mx_kernel *kernel[RT_MOST_DEVICES];
};
struct rt_variable {
  struct rt_variable *next;
  const void *host;
  void **managed; /* where the program looks for its address; NULL: not managed */
  struct rt_image *image;
  char *name;
  size_t size;
};

/* ---- devices, streams, events -----------------------------------------------------------------------------------*/
struct rt_device {
  mx_device *mx;
  int number;
  uint32_t reaches;     /* a bit for each peer whose memory its kernels may use; rt_lock */
  _Atomic bool told;    /* what its trap says has been printed */
  _Atomic bool stopped; /* a launch was stopped at its time limit; until a reset */
};
struct CUstream_st {
  struct rt_device *device;
  mx_stream *mx;
  unsigned flags;
  int priority;
};
struct CUevent_st {
  struct rt_device *device;
  mx_event *mx;
  unsigned flags;
  _Atomic bool recorded;
};

extern pthread_mutex_t rt_lock;
extern struct rt_settings { /* from the environment, when the first device is made */
  double timeout;           /* MX_TIMEOUT: of a launch, seconds; 0: none */
  bool stats;               /* MX_STATS: a line for each launch */
  size_t slack;             /* MX_LENIENT: bytes behind each allocation */
} rt_settings;

/* errors.c */
cudaError_t rt_error(cudaError_t e); /* remembers it for cudaGetLastError */
cudaError_t rt_status(struct rt_device *d,
                      mx_status s); /* what mx answered, as an error; the text of a trap is printed once */
void rt_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a line on stderr */
cudaError_t rt_missing(const char *name);                                   /* says once that a call is not supported */
#define RT_MISSING() rt_missing(__func__)

/* device.c */
int rt_device_count(void);
struct rt_device *rt_current(void); /* the thread's device, made when first used; NULL: that failed */
struct rt_device *rt_device(int number);
struct rt_device *rt_owner(const void *address); /* the device whose memory it is, or NULL */
void rt_flush(void);                             /* hands what kernels have printed to stdout */
int rt_lanes(void);                              /* of a warp, as the program's modules say */

/* registry.c */
struct rt_function *rt_find_function(const void *host);
mx_kernel *rt_kernel(struct rt_device *d, const void *host, cudaError_t *e);
cudaError_t rt_symbol(struct rt_device *d, const void *host, mx_addr *address, uint64_t *bytes);
void rt_forget_modules(int device); /* after a reset of the device */
cudaError_t rt_load(struct rt_device *d, const void *data, mx_module **module, char **why);

/* fatbin.c: the PTX or the module of an image; *text is to be freed where *owned says so. NULL: *why says it (static)
 */
const char *rt_code(const void *data, size_t *size, bool *owned, bool *is_module, const char **why);
int rt_image_lanes(const void *data); /* of a warp */

/* stream.c */
mx_stream *rt_stream(cudaStream_t s); /* NULL: the default stream */
struct rt_device *rt_stream_device(cudaStream_t s);

/* launch.c */
cudaError_t rt_launch(struct rt_device *d, mx_kernel *k, dim3 grid, dim3 block, void **args, size_t shared,
                      cudaStream_t s, bool cooperative);

#endif
