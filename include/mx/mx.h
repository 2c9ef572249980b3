/* The public C API of libmx: devices, modules, memory, launches, streams, errors. Text becomes module bytes in
 * mx/asm.h, which knows nothing of devices; mx/text.h joins the two. No type of a compiler, of the instruction table or
 * of the container appears here.
 *
 * Conventions
 * - Every call that can fail returns an mx_status. The full text of a device's last failure is
 *   mx_last_error_text(device); mx_status_text() is the short text of a code. Nothing is kept outside of devices.
 * - Any thread may make any call, on any device, at any time, unless the call's comment says otherwise. Calls on one
 *   device wait for one another where they have to. Devices share nothing but what mx_device_reach allows.
 * - Handles belong to their device: mx_device_destroy ends those that are left, and a handle that has ended must not be
 *   used any more. Output parameters (pointers at the end of a call's list) must not be NULL unless the comment says
 *   so. Strings inside of answers belong to what was asked (device, module or profile) and end with it; a char * that
 *   is returned belongs to the caller, who frees it by mx_text_free.
 * - Structs that a caller fills, and structs for answers, begin with struct_size = sizeof the struct, which the caller
 *   sets (the macros *_INIT do that), so that a program keeps working with a later library of the same major version.
 *   Fields left 0 mean the default.
 * - Calls without a stream are synchronous and in the order of the default stream, as the CUDA and MACA programming
 *   guides (here: the guides) have it: they begin when everything that was put into the device's blocking streams
 *   before them has ended.
 * - A kernel that traps leaves its record with the device (mx_device_trap); from then on every launch, copy and
 *   synchronisation answers MX_TRAPPED with the same text, until mx_device_reset. Other devices go on. */
#ifndef MX_MX_H
#define MX_MX_H

#include "mx/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Same major number: programs keep compiling and running. Minor: something was added. Patch: neither. */
#define MX_VERSION_MAJOR 0
#define MX_VERSION_MINOR 2
#define MX_VERSION_PATCH 0
#define MX_VERSION_HEX (MX_VERSION_MAJOR << 16 | MX_VERSION_MINOR << 8 | MX_VERSION_PATCH)
MX_API unsigned mx_version(void);           /* MX_VERSION_HEX of the library that the program runs with */
MX_API const char *mx_version_string(void); /* "0.2.0" */

/* ---- status ---------------------------------------------------------------------------------------------
 * X(name, number, text). Numbers never change their meaning. */
#define MX_STATUS_LIST(X) \
  X(OK, 0, "success") \
  X(INVALID_VALUE, 1, "an argument is not valid") \
  X(OUT_OF_MEMORY, 2, "the host is out of memory") \
  X(OUT_OF_DEVICE_MEMORY, 3, "the device is out of memory") \
  X(INVALID_ADDRESS, 4, "the address range is not inside one live allocation of the device") \
  X(INVALID_MODULE, 5, "the module is damaged, was made for another version, or was refused by the verifier") \
  X(NOT_FOUND, 6, "no such name") \
  X(FILE_ERROR, 7, "a file could not be read") \
  X(INVALID_LAUNCH, 8, "the launch configuration is not possible for this kernel") \
  X(TOO_LARGE, 9, "a cooperative launch has more blocks than can be resident at once") \
  X(TRAPPED, 10, "a kernel trapped; the device refuses work until it is reset") \
  X(STEP_LIMIT, 11, "the launch was stopped at its step limit") \
  X(TIME_LIMIT, 12, "the launch was stopped at its time limit") \
  X(INTERRUPTED, 13, "the launch was interrupted") \
  X(NOT_READY, 14, "not finished yet") \
  X(UNSUPPORTED, 15, "this is not supported") \
  X(HOST_FAILURE, 16, "the operating system refused something that the machine needs") \
  X(JIT_FAILURE, 17, "compiled code was demanded and could not be had") \
  X(BUSY, 18, "still in use")

typedef enum mx_status {
#define X(name_, number_, text_) MX_##name_ = number_,
  MX_STATUS_LIST(X)
#undef X
} mx_status;

MX_API const char *mx_status_name(mx_status s); /* "MX_INVALID_VALUE" */
MX_API const char *mx_status_text(mx_status s); /* the list's text */

/* ---- handles --------------------------------------------------------------------------------------------*/
typedef struct mx_device mx_device;
typedef struct mx_module mx_module;
typedef struct mx_kernel mx_kernel; /* belongs to its module */
typedef struct mx_stream mx_stream;
typedef struct mx_event mx_event;
typedef struct mx_profile mx_profile; /* mx/profile.h */
typedef uint64_t mx_addr;             /* a generic device address; never a host pointer */

/* ---- devices --------------------------------------------------------------------------------------------*/
typedef enum mx_jit_mode { MX_JIT_AUTO, MX_JIT_ON, MX_JIT_OFF } mx_jit_mode;

typedef struct mx_device_options {
  size_t struct_size;
  uint64_t memory_bytes;    /* address range reserved for global memory; 0: 64 GiB. Only touched pages cost memory */
  uint32_t threads;         /* worker threads of a launch that does not say; 0: one for each CPU that may be used */
  mx_jit_mode jit;          /* for launches that say MX_JIT_AUTO */
  const char *jit_compiler; /* path of mx-jitc; NULL: looked for beside the library and in PATH */
  const char *cache_dir;    /* NULL: $XDG_CACHE_HOME/mx; "": no cache */
  mx_device *beside; /* a device whose addresses the new one must not use, so that each may be allowed to reach the
                        other's memory: mx_device_reach. NULL: the new device stands alone */
} mx_device_options;
#define MX_DEVICE_OPTIONS_INIT \
  { sizeof(mx_device_options), 0, 0, MX_JIT_AUTO, NULL, NULL, NULL }

MX_API mx_status mx_device_create(const mx_device_options *options, mx_device **device); /* options may be NULL */
/* Waits for the device's streams, then frees the device and everything that belongs to it. No other call on the device
 * may be under way. NULL: nothing happens. */
MX_API void mx_device_destroy(mx_device *device);
/* Interrupts the running launch, drops the work queued in streams, unloads all modules, frees all memory and arrays and
 * forgets the trap. Limits and output callbacks stay as they are. Stream and event handles stay usable, module and
 * kernel handles do not. MX_BUSY: a debugging session is open. */
MX_API mx_status mx_device_reset(mx_device *device);
/* Devices that were created beside one another (options.beside; up to eight, 508 GiB in all) have distinct addresses.
 * Their kernels see the managed memory of all of them; with mx_device_reach, kernels of `device` also read and write
 * all other global memory of `peer`, until a call with allowed = false or the end of one of them. Fences and atomics of
 * scope .sys work across devices. While a launch runs, a call that frees memory which the launch may reach waits. Out
 * of reach are constants and what kernels have allocated by malloc. Debugging sessions do not show the memory of other
 * devices, and going back in a session does not take changes of it back. */
MX_API mx_status mx_device_can_reach(mx_device *device, mx_device *peer, bool *can);
/* MX_UNSUPPORTED: the two were not created beside one another. */
MX_API mx_status mx_device_reach(mx_device *device, mx_device *peer, bool allowed);
MX_API mx_status mx_device_synchronize(mx_device *device); /* returns when all streams are empty */
/* Stops the running launch, if any, at the next safepoint of each worker; the launch then answers MX_INTERRUPTED. Of
 * this header's calls the only one that a signal handler may make. */
MX_API void mx_device_interrupt(mx_device *device);
/* How far the running launch is, or how far the last one came: the number of blocks that have begun, and of all blocks
 * of its grid. */
MX_API void mx_device_progress(mx_device *device, uint64_t *begun, uint64_t *blocks);
/* Says whether the running launch is stuck: once all lanes have been spinning or waiting for two seconds and no
 * register has changed meanwhile, a text that says which lanes do so, where, and on what word of memory (several lines,
 * each with a newline before it). NULL: it is not known to be stuck. Launches are observed for this from the first call
 * on, so a program asks now and then while it waits. mx_text_free frees the text. */
MX_API char *mx_device_stuck(mx_device *device);

typedef struct mx_device_properties {
  size_t struct_size;
  const char *name, *cpu_level; /* "mx", "x86-64-v4" */
  uint32_t threads;
  uint32_t max_threads_per_block; /* 1024 */
  uint32_t max_block[3], max_grid[3];
  uint32_t max_shared_bytes;    /* of a block, static and dynamic: 232448 */
  uint32_t max_param_bytes;     /* of a kernel: 32764 */
  uint32_t max_resident_blocks; /* also the largest cooperative grid */
  uint32_t multiprocessors;     /* 1 */
  uint64_t memory_bytes;
} mx_device_properties;
MX_API mx_status mx_device_get_properties(mx_device *device, mx_device_properties *out); /* set struct_size first */

typedef enum mx_limit {
  MX_LIMIT_STACK,           /* bytes of local memory that a lane may use in functions beyond what the kernel's own frame
                               takes; default 16384. A kernel of which it is known that all the functions that it may
                               call take less has that much */
  MX_LIMIT_PRINTF_FIFO,     /* bytes of the buffer of device printf; default 1 MiB */
  MX_LIMIT_HEAP,            /* bytes of the heap of device malloc; default 8 MiB; setting it is MX_BUSY while kernels'
                               allocations are in it */
  MX_LIMIT_RESIDENT_BLOCKS, /* most blocks of one launch that are resident at once; default 1024, at most 65536 */
  MX_LIMIT_CALL_DEPTH,      /* most nested calls of a lane; default 4096 */
  MX_LIMIT_CONSTANT, /* most bytes of a module's .const variables, and of one mx_alloc_constant; default 65536, at most
                        32 MiB */
  MX_LIMIT_COUNT
} mx_limit;
MX_API mx_status mx_limit_get(mx_device *device, mx_limit limit, uint64_t *value);
MX_API mx_status mx_limit_set(mx_device *device, mx_limit limit, uint64_t value);

/* Full text of the last call that failed on the device, by any thread: several lines are possible, no newline at the
 * end. mx_text_free frees it. NULL: nothing has failed yet, there is no memory for the text, or device is NULL. */
MX_API char *mx_last_error_text(mx_device *device);
/* What a user should know though no call failed: that kernels stay in the interpreter because the compiler is missing
 * or fails, or that compiled code cannot be kept in the cache. A device has at most one such note, for the first reason
 * that came up, and hands it out once; mx_text_free frees it. NULL: there is none, or it has been handed out. */
MX_API char *mx_device_note(mx_device *device);

/* ---- memory ---------------------------------------------------------------------------------------------
 * The n-th allocation of a program has the same device address in every run. Addresses are multiples of 256, and
 * allocations never touch: one past the end of one is not the start of the next. New memory is zero. */
MX_API mx_status mx_alloc(mx_device *device, uint64_t bytes, mx_addr *address);
/* Frees what one of the mx_alloc calls returned, after waiting for all work in streams. 0: nothing happens. */
MX_API mx_status mx_free(mx_device *device, mx_addr address);
/* Memory in the constant address space, which kernels only read: for __constant pointers of OpenCL, and for ld.const
 * through a parameter. *address is generic: for copies, mx_free and loads that name no space. *offset is the same place
 * as an address in the constant space: what ld.const takes, and so the kernel's argument. Either pointer may be NULL.
 */
MX_API mx_status mx_alloc_constant(mx_device *device, uint64_t bytes, mx_addr *address, mx_addr *offset);
MX_API mx_status mx_copy_to_device(mx_device *device, mx_addr to, const void *from, uint64_t bytes);
MX_API mx_status mx_copy_from_device(mx_device *device, void *to, mx_addr from, uint64_t bytes);
MX_API mx_status mx_copy_on_device(mx_device *device, mx_addr to, mx_addr from, uint64_t bytes); /* may overlap */
/* Copies between two devices, which may be the same one. */
MX_API mx_status mx_copy_between_devices(mx_device *to_device, mx_addr to, mx_device *from_device, mx_addr from,
                                         uint64_t bytes);
MX_API mx_status mx_memset8(mx_device *device, mx_addr to, uint8_t value, uint64_t count);
MX_API mx_status mx_memset16(mx_device *device, mx_addr to, uint16_t value, uint64_t count);
MX_API mx_status mx_memset32(mx_device *device, mx_addr to, uint32_t value, uint64_t count);
MX_API mx_status mx_memory_info(mx_device *device, uint64_t *free_bytes, uint64_t *total_bytes);
/* The allocation (or variable of a module) that contains an address: where it begins and how long it is. */
MX_API mx_status mx_allocation_range(mx_device *device, mx_addr address, mx_addr *base, uint64_t *bytes);
/* Lets a run repeat the addresses of another one, for launches that were recorded: whatever is allocated from now on,
 * variables of modules included, lies at `address` or above, and the next allocation exactly there if its alignment
 * allows. MX_INVALID_ADDRESS: something lies or has lain there, or the device's memory does not reach so far. */
MX_API mx_status mx_alloc_from(mx_device *device, mx_addr address);
/* Walks through all allocations: answers the first one that ends above `address`, in order of addresses, constant
 * memory last. MX_NOT_FOUND: there is none. No thread may allocate or free during the walk. */
typedef struct mx_allocation_info {
  size_t struct_size;
  mx_addr address;
  uint64_t bytes;
  const char *name; /* of a variable, or given by mx_allocation_set_name; NULL: none. Valid as long as the allocation */
  bool variable;    /* it is a variable of a module */
  bool internal; /* it is used by the library itself or holds an array's texels: the host cannot copy from or to it */
} mx_allocation_info;
MX_API mx_status mx_allocation_next(mx_device *device, mx_addr address, mx_allocation_info *out);
/* Gives an allocation a name, which is copied, by which messages about traps call it. NULL takes the name away. */
MX_API mx_status mx_allocation_set_name(mx_device *device, mx_addr address, const char *name);

/* Managed memory: one piece of memory with a device address and a host pointer. The host may use the pointer while no
 * launch that touches the memory runs; atomic accesses it may make at any time. mx_free frees it. */
MX_API mx_status mx_alloc_managed(mx_device *device, uint64_t bytes, mx_addr *address, void **host);
/* The host pointer of an address inside managed memory or a .managed variable. */
MX_API mx_status mx_managed_pointer(mx_device *device, mx_addr address, void **host);

/* ---- modules and kernels --------------------------------------------------------------------------------*/
/* Loads the bytes of a module file (.mxb). They are checked completely, and copied. MX_INVALID_MODULE: they were
 * refused, and mx_last_error_text says why. */
MX_API mx_status mx_module_load_data(mx_device *device, const void *bytes, size_t size, mx_module **module);
MX_API mx_status mx_module_load_file(mx_device *device, const char *path, mx_module **module);
MX_API mx_status mx_module_unload(mx_module *module); /* frees its variables, too; MX_BUSY: queued launches use it */

/* Address (generic) and size of a .global, .const or .managed variable of the module. */
MX_API mx_status mx_module_symbol(mx_module *module, const char *name, mx_addr *address, uint64_t *bytes);
MX_API mx_status mx_module_kernel(mx_module *module, const char *name, mx_kernel **kernel);
MX_API size_t mx_module_kernel_count(const mx_module *module);
MX_API mx_kernel *mx_module_kernel_at(mx_module *module, size_t number); /* in the order of the text; NULL beyond */

typedef struct mx_kernel_info {
  size_t struct_size;
  const char *name;
  uint32_t lanes; /* of a warp: 32 or 64 */
  uint32_t params, param_bytes;
  uint32_t static_shared_bytes;
  uint32_t local_bytes; /* of the kernel's own frame, a lane */
  uint32_t slots32, slots64, predicates, spills;
  uint32_t code_words;
  uint32_t reqntid[3], maxntid[3]; /* 0: not given */
  uint32_t max_threads_per_block;
  bool cooperative;    /* its text asks for cooperative launches */
  uint32_t cluster[3]; /* blocks of a cluster that its text asks for; 0: not given */
} mx_kernel_info;
MX_API mx_status mx_kernel_get_info(const mx_kernel *kernel, mx_kernel_info *out); /* set struct_size first */

typedef struct mx_param_info {
  size_t struct_size;
  const char *name, *type;      /* type as in the text, without the dot: "u64", "f32"; arrays: of an element */
  uint32_t offset, size, align; /* in the parameter buffer, bytes; an array's size is that of all elements */
  bool is_pointer;              /* declared .ptr */
} mx_param_info;
MX_API mx_status mx_kernel_get_param(const mx_kernel *kernel, size_t number, mx_param_info *out);

/* ---- launches -------------------------------------------------------------------------------------------*/
/* When asynchronous copies (cp.async and the like) are carried out. LATE: not before some lane waits for them and
 * nothing else in the block can run, so that a program that forgets to wait reads old values in every run; NOW: at
 * once; RANDOM: at some time between these, which the seed decides. */
typedef enum mx_async_order { MX_ASYNC_LATE, MX_ASYNC_NOW, MX_ASYNC_RANDOM } mx_async_order;

typedef struct mx_launch_config {
  size_t struct_size;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes; /* dynamic shared memory */
  bool cooperative;      /* all blocks resident at once; grid barriers work */
  mx_jit_mode jit;
  uint32_t threads;         /* workers; 0: the device's */
  uint32_t resident_blocks; /* how many blocks may be under way at once, and so wait for one another; 0: the library
                             * chooses */
  uint64_t steps;           /* stop after about so many warp instructions, all warps together; 0: never */
  double timeout;           /* stop after so many seconds, waiting for the compiler included; 0: never */
  uint64_t jit_stress;      /* not 0: change engines at random safepoints, chosen by this seed (for tests) */
  bool live; /* printed text goes to the function of mx_device_set_output at once, from the threads that run the launch,
              * one at a time; false: at the times that the comment there lists */
  mx_async_order async; /* when asynchronous copies are carried out */
  uint64_t async_seed;  /* for MX_ASYNC_RANDOM */
  uint32_t cluster[3];  /* size of a cluster, in blocks: these run at the same time and can access each other's shared
                         * memory; the grid must be a multiple of it. 0: as the kernel says, or one block */
  mx_profile *profile;  /* NULL, or the profile to which the launch adds its counts (mx/profile.h) */
  uint32_t check; /* checkers that watch this launch, bits of mx_check_tool (mx/check.h); 0: those of the device. Not
                   * together with a profile. Memory that was allocated while the device had no checkers counts as
                   * written. Debugging sessions ignore this and have the device's */
} mx_launch_config;
#define MX_LAUNCH_CONFIG_INIT \
  { \
    sizeof(mx_launch_config), {1, 1, 1}, {1, 1, 1}, 0, false, MX_JIT_AUTO, 0, 0, 0, 0, 0, false, MX_ASYNC_LATE, 0, \
        {0, 0, 0}, NULL, 0 \
  }

/* Runs a kernel and returns when its grid has ended. The parameters are one buffer, laid out as mx_kernel_get_param
 * says; bytes must be the kernel's param_bytes (0, and params NULL, for a kernel without parameters). */
MX_API mx_status mx_launch(mx_kernel *kernel, const mx_launch_config *config, const void *params, size_t bytes);
/* The same, with an array of `count` pointers: args[i] points at the value of parameter i, in the parameter's size. */
MX_API mx_status mx_launch_args(mx_kernel *kernel, const mx_launch_config *config, const void *const *args,
                                size_t count);
/* One cooperative launch on several devices, a kernel of one name on each, whose blocks may all wait for one another
 * (multi_grid_group). kernels[i] and its parameters params[i] are those of device i of the group. No kernel runs unless
 * all can; when one fails, the others are interrupted. The devices must have been created beside one another. */
MX_API mx_status mx_launch_cooperative_multi(mx_kernel *const *kernels, size_t count, const mx_launch_config *config,
                                             const void *const *params, size_t bytes);
/* Answers what mx_launch would refuse before anything runs, and runs nothing. */
MX_API mx_status mx_launch_check(mx_kernel *kernel, const mx_launch_config *config, size_t param_bytes);

/* How many blocks of this shape the device keeps resident: the largest grid of a cooperative launch. */
MX_API mx_status mx_occupancy(mx_kernel *kernel, uint32_t threads_per_block, uint32_t shared_bytes, uint32_t *blocks);
/* A good block size for kernels that leave it open, and the grid that fills the device with such blocks. */
MX_API mx_status mx_occupancy_block_size(mx_kernel *kernel, uint32_t shared_bytes, uint32_t *grid, uint32_t *block);

/* Whether a kernel had compiled code when its launch ended, and since when. */
typedef enum mx_tier {
  MX_TIER_INTERPRETED, /* compiled code was not wanted */
  MX_TIER_WAITING,     /* what it costs in the interpreter is less than a compile would */
  MX_TIER_COMPILING,   /* the compiler was still working */
  MX_TIER_COMPILED,    /* it was compiled during the launch, or before it on demand */
  MX_TIER_CACHED,      /* its code came from the cache at the beginning */
  MX_TIER_READY,       /* its code was there before the launch began */
  MX_TIER_FAILED,      /* there is no code for it: mx_device_note */
  MX_TIER_SLOWER       /* its code was measured to be slower than the interpreter, which runs the kernel again */
} mx_tier;

/* What the last launch that ended on the device did. */
typedef struct mx_launch_stats {
  size_t struct_size;
  uint64_t blocks, warps;
  uint64_t steps;             /* warp instructions of the interpreter; compiled code counts the same instructions */
  uint64_t steps_compiled;    /* of these, by compiled code */
  uint64_t warps_interpreted; /* warps that never entered compiled code */
  uint64_t warps_compiled;    /* warps that did */
  uint64_t splits, rejoins;   /* times that a warp's lanes diverged, and that diverged lanes came together again */
  uint64_t parks;             /* times that a block was set aside because all its warps waited or spun */
  uint64_t enters;            /* times that a warp entered compiled code */
  uint64_t exits[8];          /* times that one left it, by enum mx_exit_reason */
  uint64_t pmevents[16];      /* executions of the instruction pmevent, by its number */
  uint64_t printf_lost;       /* bytes of printed text that later text overwrote in the full buffer */
  double seconds;             /* wall time of the launch */
  double compile_ms;          /* of compiles that ended in this launch */
  uint64_t cache_hits, cache_misses;
  mx_tier tier;
  double interpreted_ms;       /* what the kernel's launches without compiled code have taken so far, all of them */
  double predicted_compile_ms; /* what compiling it was expected to take */
  uint32_t threads, resident_blocks, peak_resident_blocks;
  double interpreted_ns, compiled_ns; /* processor time of an instruction, as far as measured for this kernel; 0: not */
  uint64_t bodies; /* times that compiled code called the interpreter's function for one instruction, and went on */
} mx_launch_stats;
enum mx_exit_reason {
  MX_EXIT_DONE, /* the warp has ended */
  MX_EXIT_POLL, /* the warp's slice (its turn) is used up, and other warps run next */
  MX_EXIT_TRAP,
  MX_EXIT_CALL,    /* a call of something that is not compiled */
  MX_EXIT_BLOCK,   /* lanes wait for others */
  MX_EXIT_OPCODE,  /* an instruction that is left to the interpreter */
  MX_EXIT_DIVERGE, /* at a branch, or where diverged lanes come together again */
  MX_EXIT_STRESS   /* as mx_launch_config.jit_stress demands */
};
MX_API mx_status mx_device_stats(mx_device *device, mx_launch_stats *out); /* set struct_size first */

/* The function that gets the text of device printf, a whole record at a time, in the order of printing. Text waits in a
 * buffer until one of these: a synchronisation with the device, one of its streams or an event; the beginning of a
 * launch, and the end of one without a stream; a copy or fill without a stream; a module is loaded or unloaded; a
 * stream comes to an mx_stream_call; a debugging session stops; the device is reset or destroyed. Then the thread that
 * does this calls fn. (With mx_launch_config.live it is called at once.) fn NULL: text is dropped. fn must not call mx
 * functions of the device. */
typedef void (*mx_output_fn)(void *user, const char *text, size_t size);
MX_API mx_status mx_device_set_output(mx_device *device, mx_output_fn fn, void *user);
/* The function that gets messages about failed assertions: a line for each thread of a launch that failed one, in the
 * order of blocks, at the same times. fn NULL: they go where printf's text goes. */
MX_API mx_status mx_device_set_messages(mx_device *device, mx_output_fn fn, void *user);

/* ---- traps ----------------------------------------------------------------------------------------------
 * X(name, number, text). */
#define MX_TRAP_LIST(X) \
  X(NONE, 0, "no trap") \
  X(OUT_OF_BOUNDS, 1, "access outside of every allocation") \
  X(MISALIGNED, 2, "misaligned access") \
  X(READ_ONLY, 3, "write to read-only memory") \
  X(WRONG_SPACE, 4, "the instruction cannot access this address space") \
  X(TRAP, 5, "trap instruction") \
  X(ASSERT, 6, "assertion failed") \
  X(SYNC, 8, "lanes disagree about a warp-wide operation or its mask") \
  X(BARRIER, 9, "barrier used wrongly") \
  X(DEADLOCK, 10, "deadlock: no lane can make progress") \
  X(STACK_OVERFLOW, 11, "the lane's stack is full") \
  X(BAD_CALL, 12, "indirect call to something that is not a function of that signature") \
  X(BAD_BRANCH, 13, "branch table index out of range") \
  X(BAD_FREE, 14, "free of something that malloc did not return") \
  X(UNSUPPORTED, 15, "the operation is not supported") \
  X(HOST_MEMORY, 16, "the host is out of memory") \
  X(INTERNAL, 17, "internal error") \
  X(MBARRIER, 18, "mbarrier used wrongly") \
  X(ASYNC, 19, "asynchronous copy used wrongly") \
  X(BAD_OBJECT, 20, "no texture or surface that the instruction can use") \
  X(OUTSIDE_SURFACE, 21, "access outside of a surface")

typedef enum mx_trap_kind {
#define X(name_, number_, text_) MX_TRAP_##name_ = number_,
  MX_TRAP_LIST(X)
#undef X
} mx_trap_kind;

MX_API const char *mx_trap_kind_name(mx_trap_kind kind); /* "OUT_OF_BOUNDS" */
MX_API const char *mx_trap_kind_text(mx_trap_kind kind);

typedef struct mx_trap_info {
  size_t struct_size;
  mx_trap_kind kind;
  const char *kernel, *function; /* the function may be a callee of the kernel */
  const char *file;              /* source line, if the module has a line table: else NULL and 0 */
  uint32_t line;
  uint32_t pc;             /* word number in the function */
  const char *instruction; /* spelling of the opcode there, or NULL */
  uint32_t block[3];
  uint32_t warp;    /* in its block */
  uint64_t lanes;   /* the lanes that trapped; for a deadlock, those that wait */
  bool has_address; /* address, access_bytes and is_write mean something */
  bool is_write;
  mx_addr address; /* of the lowest trapping lane; generic */
  uint32_t access_bytes;
  const char *nearest; /* "64 bytes past the end of buffer #3 (4096 bytes at 0x100002000)", or NULL */
  const char *detail;  /* more about it, several lines possible, or NULL */
  const char *text;    /* all of it, for people */
} mx_trap_info;
/* The trap that keeps the device from working. kind MX_TRAP_NONE: there is none. Strings are valid until the device is
 * reset or destroyed. */
MX_API mx_status mx_device_trap(mx_device *device, mx_trap_info *out); /* set struct_size first */

/* ---- streams and events ---------------------------------------------------------------------------------
 * Work in one stream runs in order, in a thread of the library. One launch runs at a time on a device; it uses all
 * workers. A NULL stream means the device's default stream: the call is then synchronous. Failures of asynchronous work
 * are reported by the next synchronisation with the stream, event or device. */
enum { MX_STREAM_NON_BLOCKING = 1 }; /* synchronous calls do not wait for this stream */
MX_API mx_status mx_stream_create(mx_device *device, unsigned flags, mx_stream **stream);
MX_API mx_status mx_stream_destroy(mx_stream *stream); /* waits until it is empty */
MX_API mx_status mx_stream_synchronize(mx_stream *stream);
MX_API mx_status mx_stream_query(mx_stream *stream); /* MX_OK: empty; MX_NOT_READY */
/* What is queued later waits until the event's last mx_event_record up to now has been reached. */
MX_API mx_status mx_stream_wait_event(mx_stream *stream, mx_event *event);
/* When all earlier work of the stream is done its thread calls fn, which must not call mx functions of that device. */
MX_API mx_status mx_stream_call(mx_stream *stream, void (*fn)(void *user), void *user);

/* Configuration and parameters are copied; host memory of asynchronous copies must stay valid until they are done. */
MX_API mx_status mx_launch_async(mx_kernel *kernel, const mx_launch_config *config, const void *params, size_t bytes,
                                 mx_stream *stream);
MX_API mx_status mx_launch_args_async(mx_kernel *kernel, const mx_launch_config *config, const void *const *args,
                                      size_t count, mx_stream *stream);
MX_API mx_status mx_copy_to_device_async(mx_device *device, mx_addr to, const void *from, uint64_t bytes,
                                         mx_stream *stream);
MX_API mx_status mx_copy_from_device_async(mx_device *device, void *to, mx_addr from, uint64_t bytes,
                                           mx_stream *stream);
MX_API mx_status mx_copy_on_device_async(mx_device *device, mx_addr to, mx_addr from, uint64_t bytes,
                                         mx_stream *stream);
MX_API mx_status mx_memset8_async(mx_device *device, mx_addr to, uint8_t value, uint64_t count, mx_stream *stream);
MX_API mx_status mx_memset16_async(mx_device *device, mx_addr to, uint16_t value, uint64_t count, mx_stream *stream);
MX_API mx_status mx_memset32_async(mx_device *device, mx_addr to, uint32_t value, uint64_t count, mx_stream *stream);

/* An event marks a place in a stream: it is reached when all work before that place is done. Recording it again moves
 * the mark. */
MX_API mx_status mx_event_create(mx_device *device, mx_event **event);
MX_API mx_status mx_event_destroy(mx_event *event);
MX_API mx_status mx_event_record(mx_event *event, mx_stream *stream);
MX_API mx_status mx_event_synchronize(mx_event *event); /* returns when it is reached, or if it was never recorded */
MX_API mx_status mx_event_query(mx_event *event);       /* MX_OK: reached, or never recorded; MX_NOT_READY */
/* Milliseconds between the times at which two events of one device were reached. MX_NOT_READY: one has not been;
 * MX_INVALID_VALUE: one was never recorded. */
MX_API mx_status mx_event_elapsed_ms(mx_event *from, mx_event *to, double *ms);

#ifdef __cplusplus
}
#endif
#endif
