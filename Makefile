# mx: build, test, install. Quiet by default; V=1 shows the commands.
#
#   make                 everything            make SAN=1          address and undefined-behaviour sanitizers
#   make check           build and test        make check SAN=1    all tests under the sanitizers
#                                              make check SAN=thread   threads against one another, under that
#                                                                      sanitizer
#   make demo            the examples          make fuzz           libFuzzer programs (clang)
#   make bench           compiled code against PoCL, Oclgrind, native C         make bench-interp    the interpreter
#   make bench-foreign   the same for kernels that nobody tuned for (CASES='digest track': these)
#   make bench-micro     one access to memory against plain C (LEVEL=v3: this CPU level alone)
#   make bench-compile   what compiling an instruction costs, in chains of 100 (LEVEL=v4 ROW=ADD_U32: these)
#   make bench-matrix    matrix instructions against f32 multiply-adds and plain C (LEVEL=v3: this CPU level)
#   make bench-groups    reduce over tiles, copies by cp.async, against the same by hand (LEVEL=v3 PART=gemm, reduce)
#   make bench-texture   samples of a picture against PoCL's and AVX2 by hand
#   make bench-intrinsics    vendor device functions against glibc, SLEEF, native loops (LEVEL=v3: another CPU level)
#   make bench-cxx       what mxcc takes besides clang, and the start of a program that it has built
#   make bench-tools     what a profile and the checkers cost, on the examples
#   make install         PREFIX, DESTDIR       make uninstall
#   make deb             Debian packages       make dist           an archive of the sources
#   make help            this list             make clean
#
# Sources are found by wildcard: a new file in one of these folders needs no edit here.
#   core/ asm/ vm/ jit/runtime/ api/ -> libmx.a, libmx.so      jit/compiler/   -> mx-jitc (alone links libgccjit)
#   vm/exec/lanes/                -> libmx, once per CPU level
#   cxx/runtime/                  -> libmxrt.so, the runtime of programs that mxcc builds; with libmx.so, which it needs
#   tools/common/ tools/NAME/[*/] -> NAME                   tests/unit/X.c  -> tests/unit/X (cmocka)
#   tests/SUITE/*.c otherwise    -> tests/SUITE (one program a suite); tests/faults/ -> tests/faults.so
#   tests/fuzz/X.c               -> tests/fuzz/X (with tests/fuzz/driver/), and by `make fuzz` fuzz/X

MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0) # those that it starts share its jobs
MAKEFLAGS += -j$(shell expr $(or $(JOBS),2) + 1)
endif
.SUFFIXES:
.DELETE_ON_ERROR:
SHELL := /bin/sh

VERSION := $(shell sed -n 's/^#define MX_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/mx/mx.h | paste -sd.)
SOVERSION := 0
PREFIX ?= /usr/local
DESTDIR ?=
CC := gcc
AR := ar
SAN ?=
V ?=

BUILD := build$(if $(filter thread,$(SAN)),/tsan,$(if $(SAN),/san))
OBJ := $(BUILD)/obj
comma := ,
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$(2))')

ARCH := $(shell uname -m)
GCC_LIB := $(dir $(shell $(CC) -print-libgcc-file-name 2> /dev/null))
# libgccjit belongs to gcc 12; its header and library lie in that compiler's own folder
JIT_DIR := $(firstword $(wildcard /usr/lib/gcc/$(ARCH)-linux-gnu/12) $(GCC_LIB))

DEBUG := -g1# lines and names of functions; -g, with all variables, takes a quarter longer to compile
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPT := -O2
ifeq ($(SAN),thread)
# Its checks are calls and slow; -O1 leaves out those of what stays in registers. Vectors as in the plain build: fewer
# of them.
OPT := -O1
SANFLAGS := -fsanitize=thread -fno-omit-frame-pointer -fno-pie -no-pie
else ifneq ($(SAN),)
OPT := -Og# compiles in half of the time of -O1, into code that runs as fast under these checks
# Undefined behaviour ends a program by an instruction, which the address sanitizer reports with its line
# (ASAN_OPTIONS=handle_sigill=1): calls that would also say what it was take a fifth longer to compile.
# EXTRA_CFLAGS=-fno-sanitize-undefined-trap-on-error has them.
# Not position-independent: 200,000 places that checks know by their addresses would be relocated each time a program
# starts.
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fsanitize-undefined-trap-on-error \
  -fno-omit-frame-pointer -fno-pie -no-pie
endif
CPPFLAGS := -Iinclude -I. -D_GNU_SOURCE $(if $(SAN),-DMX_CHECK_LOCKS) $(EXTRA_CPPFLAGS)
CFLAGS := -pipe -std=gnu17 $(OPT) $(DEBUG) -fPIC -fno-semantic-interposition -ffp-contract=off -pthread $(WARN) \
  $(SANFLAGS) $(EXTRA_CFLAGS)
LDFLAGS := -pthread $(SANFLAGS) $(EXTRA_LDFLAGS)
LIBS := -lsleef -lxxhash -ldl -lm
# for the many programs that only tests need: a third of the time
QUICK_LD := $(if $(wildcard /usr/bin/ld.gold),-fuse-ld=gold)

# ---- what is there -----------------------------------------------------------------------------------
LIB_SRC := $(wildcard core/*.c asm/*.c asm/*/*.c vm/*/*.c jit/runtime/*.c api/*.c)
LANE_SRC := $(wildcard vm/exec/lanes/*.c)
JITC_SRC := $(wildcard jit/compiler/*.c)
TOOLS := $(patsubst tools/%/main.c,%,$(wildcard tools/*/main.c))
COMMON_SRC := $(wildcard tools/common/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/*.c)
SUITES := $(sort $(filter-out unit fuzz faults,$(patsubst tests/%/,%,$(dir $(wildcard tests/*/*.c)))))

ifeq ($(ARCH)$(SAN),x86_64)
LEVELS := v2 v3 v4
else # sanitizers see the plain bodies: the path that other machines take
LEVELS := plain
endif
LANE_OPT := $(if $(SAN),$(OPT))
# The table's rows: -O1 compiles in two thirds of the time of -O2 and makes the same loops, but does not unroll short
# ones, which -fpeel-loops does for long vectors. -foptimize-sibling-calls: bodies jump to the functions of modifiers.
# Lane functions (fn_*.c) need more; -O3 copies their loops, from which only roots gain, and only with long vectors.
LANE_VECTORS := -ftree-vectorize -fvect-cost-model=dynamic
# Passes that find nothing in loops over lanes and the few lines around them, and take a fifth of the time. memory.c,
# which has more lines, is compiled with them.
LANE_QUICK := $(addprefix -fno-,tree-bit-ccp tree-dominator-opts thread-jumps tree-pta tree-slsr tree-sink \
  tree-phiprop tree-copy-prop tree-builtin-call-dce ssa-backprop split-wide-types compare-elim ipa-modref \
  ipa-pure-const ipa-profile ipa-reference)
# With -fexpensive-optimizations bodies leave the upper halves of vector registers empty. Code that runs after a body is
# compiled for any x86-64, and on some processors took three times as long where they were not empty (tests/uppers).
LANE_OPT_v2 := -O1 -fexpensive-optimizations -fstrict-aliasing -foptimize-sibling-calls $(LANE_VECTORS)
LANE_OPT_v3 := $(LANE_OPT_v2)
LANE_OPT_v4 := $(LANE_OPT_v2) -fpeel-loops
LANE_OPT_plain := $(LANE_OPT_v2)
LANE_OPT_fn := -O2 $(LANE_VECTORS)
LANE_OPT_fn_root_v4 := -O3
$(foreach l,v2 v3 v4 plain,$(foreach f,samples sums direct shape,$(eval LANE_OPT_$(f)_$(l) := $(LANE_OPT_fn))))
lane_opt = $(or $(LANE_OPT),$(LANE_OPT_$(1)_$(2)),$(if $(filter fn_%,$(1)),$(LANE_OPT_fn)),$(LANE_OPT_$(2)) \
  $(if $(filter memory,$(1)),,$(LANE_QUICK)))
# Checks that are left out of the lanes' files. A wrong address in their loops is found by the address sanitizer anyway.
# Whether addresses are aligned is checked in lane functions (fn_*.c) and memory.c only: all other files have the same
# loops, those of body.h.
lane_align_checks := $(comma)alignment$(comma)pointer-overflow
lane_unchecked = $(if $(SAN),\
  -fno-sanitize=null$(comma)object-size$(if $(filter fn_% memory,$(1)),,$(lane_align_checks)))
LANE_FLAGS := -fno-math-errno -fno-trapping-math -Wno-psabi -Wno-missing-prototypes -Wno-maybe-uninitialized
LEVEL_v2 := -march=x86-64-v2
LEVEL_v3 := -march=x86-64-v3
LEVEL_v4 := -march=x86-64-v4 -mprefer-vector-width=512
LEVEL_plain := $(if $(filter x86_64,$(ARCH)),-mcx16)

objs = $(patsubst %.c,$(OBJ)/%.o,$(1))
LIB_OBJ := $(call objs,$(LIB_SRC)) $(foreach l,$(LEVELS),$(patsubst %.c,$(OBJ)/%.$(l).o,$(LANE_SRC)))
COMMON_OBJ := $(call objs,$(COMMON_SRC))
MEANING := build/obj/jit/compiler/meaning.o
JITC_OBJ := $(sort $(MEANING) $(filter-out %/meaning.o,$(call objs,$(JITC_SRC))))

TOOL_BIN := $(TOOLS:%=$(BUILD)/%)
JITC_BIN := $(if $(JITC_SRC),$(BUILD)/mx-jitc)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
SUITE_BIN := $(SUITES:%=$(BUILD)/tests/%)
LIBSO := $(BUILD)/libmx.so
RT_SRC := $(wildcard cxx/runtime/*.c)
RT_OBJ := $(call objs,$(RT_SRC))
RTSO := $(BUILD)/libmxrt.so
EXEC_LIBS := $(patsubst %,$(BUILD)/exec/%,libcudart.so.11.0 libcudart.so.12 libcudart.so.13 libcuda.so.1)
# headers of kernels' C++ that are made of the list of the guides' functions
CXX_MADE := $(patsubst %,$(BUILD)/cxx/include/mx/functions_%.h,device half bfloat16) $(BUILD)/cxx/include/mx/names.h

NO_DEPS := clean uninstall dist help
.PHONY: FORCE help all tests check bench bench-interp bench-foreign bench-micro bench-compile bench-matrix \
  bench-groups bench-texture bench-intrinsics bench-cxx bench-tools demo install uninstall clean fuzz deps-build \
  deps-test objects
all: $(BUILD)/libmx.a $(if $(SAN),,$(LIBSO) $(RTSO) $(EXEC_LIBS) $(CXX_MADE)) $(TOOL_BIN) $(JITC_BIN) \
  $(if $(SAN),,$(BUILD)/docs/isa.md $(BUILD)/docs/intrinsics.md $(BUILD)/docs/commands.md)
# without the benches, which are for this kind of processor only
tests: all $(UNIT_BIN) $(FUZZ_BIN) $(if $(SAN),,$(BUILD)/tests/faults.so) \
  $(filter-out %/bench %/bench-intrinsics,$(SUITE_BIN))
objects: $(LIB_OBJ) $(COMMON_OBJ)

# ---- dependencies: checked once, installed where that is possible -----------------------------------------
# in one round all that the goals need
DEPS := build/.deps-build
PARTS := build \
  $(if $(filter check tests san-tests bench bench-% build/tests/% build/san/tests/%,$(MAKECMDGOALS)),test) \
  $(if $(filter bench bench-interp,$(MAKECMDGOALS)),bench) $(filter deb fuzz,$(MAKECMDGOALS))
build/.deps-build: tools/deps.sh
	$(Q)mkdir -p build && tools/deps.sh $(PARTS) && touch $(addprefix build/.deps-,$(PARTS))
build/.deps-%: tools/deps.sh | build/.deps-build
	$(Q)mkdir -p build && tools/deps.sh $* && touch $@
# an empty makefile: when it is new, make reads everything again, and sees the compiler that has come
ifneq ($(or $(filter-out $(NO_DEPS),$(MAKECMDGOALS)),$(if $(MAKECMDGOALS),,all)),)
include $(DEPS)
endif

# ---- compiling -----------------------------------------------------------------------------------------
$(OBJ)/%.o: %.c | $(DEPS)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_$(firstword $(subst /, ,$*))) -MMD -MP -c $< -o $@

# What launches do not wait for: -O1 compiles in three fifths of the time of -O2.
ifeq ($(SAN),)
$(foreach r,asm jit/compiler tools tests,$(OBJ)/$(r)/%.o): CFLAGS += -O1
endif

# conditions are asked at every turn of a loop
$(OBJ)/tools/mxrun/repl/expression.o: CFLAGS += $(if $(filter -O2,$(OPT)),-O3)

# the page of mxrun profile --html, as a string
$(BUILD)/made/profile_page.h: tools/mxrun/profile.html
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< > $@
$(OBJ)/tools/mxrun/profile_html.o: $(BUILD)/made/profile_page.h
$(OBJ)/tools/mxrun/profile_html.o: CPPFLAGS += -I$(BUILD)/made

$(OBJ)/vm/load/level.o: CPPFLAGS += $(LEVELS:%=-DMX_HAVE_%)
# new when other levels are asked for than the last time
$(OBJ)/levels: FORCE
	$(Q)mkdir -p $(@D) && echo '$(LEVELS)' | cmp -s - $@ || echo '$(LEVELS)' > $@
$(OBJ)/vm/load/level.o $(BUILD)/libmx.a $(LIBSO): $(OBJ)/levels

define level_rule
$(OBJ)/vm/exec/lanes/%.$(1).o: vm/exec/lanes/%.c | $(DEPS)
	$$(call say,CC,$$< ($(1)))
	$(Q)mkdir -p $$(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) $$(call lane_opt,$$*,$(1)) $$(call lane_unchecked,$$*) \
	  $(LANE_FLAGS) $(LEVEL_$(1)) -DMX_LEVEL=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach l,$(LEVELS),$(eval $(call level_rule,$(l))))

define jitc_rule
$(1)/jit/compiler/%.o: jit/compiler/%.c | $(DEPS)
	$$(call say,CC,$$<)
	$(Q)mkdir -p $$(@D) && $(CC) $(CPPFLAGS) $$(CFLAGS) -I$(JIT_DIR)/include -MMD -MP -c $$< -o $$@
endef
$(foreach o,$(sort $(OBJ) build/obj),$(eval $(call jitc_rule,$(o))))

# The table's meanings make a large file of straight code that runs once in a compile. It has a hundred thousand
# temporaries, which die at the ends of their functions, and no access to memory of its own: sanitizers would find
# nothing there, so all builds have the same object.
$(MEANING): CFLAGS := $(filter-out $(SANFLAGS),$(CFLAGS)) -O0

# In most unit tests the library is what takes time; under sanitizers also in the tools. Those that are filtered out
# compute as much themselves: their time halves, for half a second of compiling.
COMPUTING := %/allocate.c %/direct.c %_model.c
$(patsubst %.c,$(OBJ)/%.o,$(filter-out $(COMPUTING),$(UNIT_SRC))): CFLAGS += -O0
ifneq ($(SAN),)
$(OBJ)/tools/%.o $(OBJ)/jit/compiler/%.o: CFLAGS += -O0
endif

# ---- linking -------------------------------------------------------------------------------------------
$(BUILD)/libmx.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $(LIB_OBJ)

# exports are the names mx_…; mx__… are shared between files only
$(BUILD)/libmx.map: Makefile
	$(Q)mkdir -p $(@D) && echo 'MX_$(SOVERSION) { global: mx_[a-zA-Z0-9]*; local: *; };' > $@

$(LIBSO): $(LIB_OBJ) $(BUILD)/libmx.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libmx.so.$(SOVERSION) -Wl,--version-script,$(BUILD)/libmx.map -Wl,-Bsymbolic \
	  -Wl,-z,defs $(LDFLAGS) $(LIB_OBJ) $(LIBS) -o $@
	$(Q)ln -sf libmx.so $@.$(SOVERSION)

# The runtime knows libmx by mx.h alone. It looks for it beside itself.
CFLAGS_cxx := -Icxx/include
$(BUILD)/libmxrt.map: Makefile
	$(Q)mkdir -p $(@D) && echo '{ global: cuda*; __cuda*; __mx_managed_variables; cu[A-Z]*; local: *; };' > $@
# Programs built for a default stream of each thread call these under other names; here such a stream is the default
# one.
PER_THREAD := $(patsubst %,cuda%_ptsz,EventRecord EventRecordWithFlags FreeAsync GraphLaunch GraphUpload \
  LaunchCooperativeKernel LaunchHostFunc LaunchKernel LaunchKernelExC MallocAsync MallocFromPoolAsync MemPrefetchAsync \
  Memcpy2DAsync Memcpy3DAsync MemcpyAsync Memcpy2DToArrayAsync Memcpy2DFromArrayAsync MemcpyFromSymbolAsync \
  MemcpyToSymbolAsync Memset2DAsync MemsetAsync StreamAddCallback StreamAttachMemAsync StreamBeginCapture \
  StreamEndCapture StreamGetFlags StreamGetPriority StreamIsCapturing StreamQuery StreamSynchronize StreamWaitEvent \
  Memcpy3DPeerAsync MemcpyFromArrayAsync MemcpyToArrayAsync Memset3DAsync StreamCopyAttributes StreamGetAttribute \
  StreamSetAttribute StreamGetCaptureInfo StreamGetDevice StreamGetId GetDriverEntryPoint GetDriverEntryPointByVersion \
  GraphInstantiateWithParams MemDiscardAndPrefetchBatchAsync MemDiscardBatchAsync MemPrefetchBatchAsync \
  Memcpy3DBatchAsync MemcpyBatchAsync SignalExternalSemaphoresAsync StreamBeginCaptureToGraph \
  StreamUpdateCaptureDependencies WaitExternalSemaphoresAsync) \
  $(patsubst %,cuda%_ptds,Memcpy Memcpy2D Memcpy3D Memset Memset2D Memset3D MemcpyToSymbol \
  MemcpyFromSymbol Memcpy2DToArray Memcpy2DFromArray Memcpy2DArrayToArray Memcpy3DPeer MemcpyArrayToArray \
  MemcpyFromArray MemcpyToArray)
$(RTSO): $(RT_OBJ) $(LIBSO) $(BUILD)/libmxrt.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libmxrt.so.$(SOVERSION) -Wl,--version-script,$(BUILD)/libmxrt.map -Wl,-Bsymbolic \
	  -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' \
	  $(foreach n,$(PER_THREAD),-Wl,--defsym=$(n)=$(basename $(subst _pt,.pt,$(n)))) \
	  $(LDFLAGS) $(RT_OBJ) -L$(BUILD) -lmx -ldl -o $@
	$(Q)ln -sf libmxrt.so $@.$(SOVERSION)

# Under the names that programs of other compilers ask for, in a folder that only mxrun exec names: libraries that are
# empty but for the version, and bring libmxrt with them.
$(BUILD)/exec/%: $(RTSO)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && echo '$* { local: *; };' > $@.map && \
	  $(CC) -shared -nostdlib -x c /dev/null -x none -Wl,-soname,$* \
	  $(if $(filter libcudart%,$*),-Wl$(comma)--version-script$(comma)$@.map) -Wl,--no-as-needed -L$(BUILD) -lmxrt \
	  -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' -o $@ && rm -f $@.map

$(BUILD)/cxx/include/mx/functions_%.h: cxx/functions.awk docs/guide.tsv
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && awk -f cxx/functions.awk -v part=$* docs/guide.tsv > $@

$(BUILD)/cxx/include/mx/names.h: cxx/names.awk $(patsubst %,cxx/include/mx/%.h,types runtime image graph)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && awk -f $^ > $@

# At an address of its own, the program's tables need no relocating at each of its many starts.
$(BUILD)/mx-jitc: $(JITC_OBJ) $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -no-pie $(filter %.o,$^) $(BUILD)/libmx.a -L$(JIT_DIR) -lgccjit $(LIBS) -o $@

define tool_rule
$(BUILD)/$(1): $(call objs,$(wildcard tools/$(1)/*.c tools/$(1)/*/*.c)) $(COMMON_OBJ) $(BUILD)/libmx.a
	$$(call say,LD,$$@)
	$(Q)$(CC) $(LDFLAGS) $$(filter %.o,$$^) $(BUILD)/libmx.a $(LIBS) $(LIBS_$(1)) -o $$@
endef
LIBS_mxrun := -lpng -ledit
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

$(BUILD)/docs/isa.md: $(BUILD)/mxasm
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $(BUILD)/mxasm --reference > $@

$(BUILD)/docs/intrinsics.md: docs/guide.tsv $(BUILD)/mxasm
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $(BUILD)/mxasm --functions=$< > $@

$(BUILD)/docs/commands.md: $(BUILD)/mxrun
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $(BUILD)/mxrun repl --batch --ex 'help reference' > $@

# ---- test programs -----------------------------------------------------------------------------------
TEST_LIBS := -lcmocka -lmpfr -lgmp -lpng
TEST_LIBS_bench := -lgomp -lm
$(call objs,$(UNIT_SRC)): DEPS := build/.deps-build build/.deps-test
$(call objs,$(UNIT_SRC)) $(call objs,$(foreach r,$(SUITES),$(wildcard tests/$(r)/*.c))): | build/.deps-test

# vm_alone is linked without jit/: the linker says so when something below calls something there
$(BUILD)/tests/unit/vm_alone: $(OBJ)/tests/unit/vm_alone.o $(filter-out $(OBJ)/jit/%,$(LIB_OBJ))
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $^ $(TEST_LIBS) $(LIBS) -o $@

$(filter-out %/vm_alone,$(UNIT_BIN)): $(BUILD)/tests/unit/%: $(OBJ)/tests/unit/%.o $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $< $(BUILD)/libmx.a $(TEST_LIBS) $(LIBS) -o $@

$(FUZZ_BIN): $(BUILD)/tests/fuzz/%: $(OBJ)/tests/fuzz/%.o $(call objs,$(wildcard tests/fuzz/driver/*.c)) \
  $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $(filter %.o,$^) $(BUILD)/libmx.a $(LIBS) -o $@

define suite_rule
$(BUILD)/tests/$(1): $(call objs,$(wildcard tests/$(1)/*.c)) $(BUILD)/libmx.a
	$$(call say,LD,$$@)
	$(Q)mkdir -p $$(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $$(filter %.o,$$^) $(BUILD)/libmx.a $(TEST_LIBS) \
	  $(TEST_LIBS_$(1)) $(LIBS) -o $$@
endef
$(foreach r,$(SUITES),$(eval $(call suite_rule,$(r))))

# What is preloaded to make calls fail. Without -U_FORTIFY_SOURCE, which some compilers set by default, calls go to
# checked functions of libc under other names, which it does not define.
$(OBJ)/tests/faults/preload.o: CFLAGS += -U_FORTIFY_SOURCE
$(BUILD)/tests/faults.so: $(OBJ)/tests/faults/preload.o
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared $(LDFLAGS) $< -ldl -o $@

# ---- checking ----------------------------------------------------------------------------------------
# The whole under the plain build, then the unit tests, fuzz programs and golden files once more under the sanitizers.
# Where recordings of a GPU lie beside the project, all of them are checked, else the committed subsets.
export MX_VECTORS ?= $(abspath $(wildcard ../shared/vectors/golden.tar.gz))
export MX_CORPUS ?= $(abspath $(wildcard ../shared/corpus))
# The thread sanitizer sees what has threads; kernels' code is made by the plain build's compiler.
ifeq ($(SAN),thread)
THREADED := $(addprefix $(BUILD)/tests/,$(shell sed -n "/^threaded='/,/'$$/p" tests/run | \
  sed "s/^threaded=//" | tr -d "'"))
check: $(THREADED) plain-compiler
	$(Q)ln -sf ../mx-jitc $(BUILD)/mx-jitc && tests/run $(if $(V),-v) --threads $(BUILD)
.PHONY: plain-compiler
plain-compiler:
	$(Q)+$(MAKE) --no-print-directory SAN= build/mx-jitc
else
check: tests $(if $(SAN),,san-tests)
	$(Q)tests/run $(if $(V),-v) $(if $(SAN),--full $(BUILD),--full $(BUILD) --quick build/san)
endif

.PHONY: san-tests
ifeq ($(SAN),)
san-tests: $(MEANING) | build/.deps-build build/.deps-test
	$(Q)+$(MAKE) --no-print-directory SAN=1 tests
endif

CXX_BENCH_OBJ := $(OBJ)/tests/bench/cxx/main.o
$(BUILD)/tests/bench-cxx: $(CXX_BENCH_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $^ -o $@
bench-cxx: all $(BUILD)/tests/bench-cxx
	$(Q)$(BUILD)/tests/bench-cxx $(BUILD) tests/cxx/programs $$($(BUILD)/mxcc --print-clang)

# Speed: a table on stdout, the same in build/bench.json or build/bench-interp.json, and build/bench.png. PoCL, Oclgrind
# and gnuplot are installed by these targets only.
BENCH_NATIVE := -O3 -march=x86-64-v4 -mtune=icelake-server -mprefer-vector-width=512 -fno-math-errno -fopenmp
BENCH_LEVEL_v2 := $(LEVEL_v2)
BENCH_LEVEL_v3 := $(LEVEL_v3) -mtune=haswell
BENCH_LEVEL_v4 := $(LEVEL_v4) -mtune=icelake-server
$(patsubst %,$(OBJ)/tests/bench/%.o,native best): CFLAGS += $(BENCH_NATIVE)
$(foreach l,v2 v3 v4,\
  $(eval $(OBJ)/tests/bench/plain_$(l).o: CFLAGS += -O3 $(BENCH_LEVEL_$(l)) -fno-math-errno -fopenmp))
$(OBJ)/tests/bench/extras.o: CFLAGS += -fopenmp
bench bench-interp: all $(BUILD)/tests/bench build/.deps-bench
	$(Q)$(BUILD)/tests/bench $(if $(filter bench,$@),all,interp) . $(BUILD)

# Kernels of tests/bench/foreign, as they come out of a compiler, on mx and PoCL: a table on stdout
FOREIGN_OBJ := $(call objs,$(wildcard tests/bench/foreign/*.c))
$(BUILD)/tests/bench-foreign: $(FOREIGN_OBJ) $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $^ $(LIBS) -o $@
bench-foreign: all $(BUILD)/tests/bench-foreign
	$(Q)tests/bench/foreign/run $(BUILD) $(CASES)

# One access to memory in compiled code against plain C, on stdout: LEVEL is v3 or v4, both where it is not set
MICRO_OBJ := $(OBJ)/tests/bench/micro/main.o $(OBJ)/tests/bench/micro/native.v3.o $(OBJ)/tests/bench/micro/native.v4.o
$(OBJ)/tests/bench/micro/native.%.o: tests/bench/micro/native.c | $(DEPS)
	$(call say,CC,$< ($*))
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -O3 -fno-math-errno $(LEVEL_$*) -DLEVEL=$* -MMD -MP -c $< -o $@
$(BUILD)/tests/bench-micro: $(MICRO_OBJ) $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $^ $(LIBS) -o $@
bench-compile: all $(BUILD)/tests/differ
	$(Q)$(BUILD)/tests/differ --costs $(or $(LEVEL),v3) --jitc $(BUILD)/mx-jitc $(if $(ROW),--row $(ROW))
bench-micro: all $(BUILD)/tests/bench-micro
	$(Q)MX_JITC=$(BUILD)/mx-jitc $(BUILD)/tests/bench-micro $(LEVEL)

# Matrix instructions against f32 multiply-adds and plain C, on stdout; LEVEL: v2, v3, v4
MATRIX_OBJ := $(OBJ)/tests/bench/matrix/main.o $(OBJ)/tests/bench/matrix/native.o
$(OBJ)/tests/bench/matrix/native.o: CFLAGS += -O3
$(BUILD)/tests/bench-matrix: $(MATRIX_OBJ) $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $^ $(LIBS) -o $@
bench-matrix: all $(BUILD)/tests/bench-matrix
	$(Q)MX_JITC=$(BUILD)/mx-jitc $(if $(LEVEL),MX_LEVEL=$(LEVEL)) $(BUILD)/tests/bench-matrix .

# Groups and copies against the same by hand, on stdout; LEVEL: v3, v4; PART: gemm, reduce. Kernels' C++ needs clang.
GROUPS_OBJ := $(OBJ)/tests/bench/groups/main.o
GROUPS_PTX := $(OBJ)/tests/bench/groups/reduce.ptx
$(BUILD)/tests/bench-groups: $(GROUPS_OBJ) $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $^ $(LIBS) -o $@
$(GROUPS_PTX): tests/bench/groups/reduce.cu $(BUILD)/mxcc $(wildcard cxx/include/*.h cxx/include/mx/*.h)
	$(call say,MXCC,$@)
	$(Q)mkdir -p $(@D) && $(BUILD)/mxcc -O3 --ptx $< -o $@
bench-groups: all $(BUILD)/tests/bench-groups $(GROUPS_PTX)
	$(Q)MX_JITC=$(BUILD)/mx-jitc $(if $(LEVEL),MX_LEVEL=$(LEVEL)) $(BUILD)/tests/bench-groups . $(GROUPS_PTX) $(PART)

# Linear samples of a picture against PoCL's and against AVX2 by hand, on stdout; LEVEL: v2, v3
TEXTURE_OBJ := $(OBJ)/tests/bench/texture/main.o $(OBJ)/tests/bench/texture/native.o
$(OBJ)/tests/bench/texture/native.o: CFLAGS += -O3 $(LEVEL_v3)
$(BUILD)/tests/bench-texture: $(TEXTURE_OBJ) $(BUILD)/libmx.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) $(QUICK_LD) $^ $(LIBS) -lOpenCL -o $@
bench-texture: all $(BUILD)/tests/bench-texture
	$(Q)MX_JITC=$(BUILD)/mx-jitc $(if $(LEVEL),MX_LEVEL=$(LEVEL)) $(BUILD)/tests/bench-texture

# What looking at launches costs: a table on stdout (REPEAT: how often each is run)
bench-tools: all $(BUILD)/tests/bench
	$(Q)tests/bench/tools.sh $(abspath $(BUILD))

# Speed of single functions, on stdout; LEVEL: v2, v3, v4
$(OBJ)/tests/bench-intrinsics/native.o: CFLAGS += $(BENCH_NATIVE)
bench-intrinsics: $(BUILD)/tests/bench-intrinsics
	$(Q)$(BUILD)/tests/bench-intrinsics $(LEVEL)

demo: all
	$(Q)examples/demo.sh $(BUILD)

# ---- libFuzzer -----------------------------------------------------------------------------------------
FZ := build/fuzz
FZ_FLAGS := -std=gnu17 -O1 -g -pthread -ffp-contract=off -fsanitize=fuzzer-no-link,address,undefined \
  -fno-sanitize-recover=undefined -fprofile-instr-generate -fcoverage-mapping
fz_objs = $(patsubst %.c,$(FZ)/obj/%.o,$(1))
FZ_LIB := $(call fz_objs,$(LIB_SRC)) $(patsubst %.c,$(FZ)/obj/%.plain.o,$(LANE_SRC))
fuzz: $(patsubst tests/fuzz/%.c,$(FZ)/%,$(FUZZ_SRC))
$(FZ)/obj/%.o: %.c | build/.deps-fuzz
	$(call say,CLANG,$<)
	$(Q)mkdir -p $(@D) && clang $(CPPFLAGS) $(FZ_FLAGS) -MMD -MP -c $< -o $@
$(FZ)/obj/vm/load/level.o: CPPFLAGS += -DMX_HAVE_plain
$(FZ)/obj/vm/exec/lanes/%.plain.o: vm/exec/lanes/%.c | build/.deps-fuzz
	$(call say,CLANG,$<)
	$(Q)mkdir -p $(@D) && clang $(CPPFLAGS) $(FZ_FLAGS) $(LEVEL_plain) -DMX_LEVEL=plain -MMD -MP -c $< -o $@
$(patsubst tests/fuzz/%.c,$(FZ)/%,$(FUZZ_SRC)): $(FZ)/%: $(FZ)/obj/tests/fuzz/%.o $(FZ_LIB)
	$(call say,LD,$@)
	$(Q)clang $(FZ_FLAGS) -fsanitize=fuzzer $^ $(LIBS) -o $@

# ---- installing, packaging ------------------------------------------------------------------------------
include install.mk

# the list at the top
help:
	@sed -n '3,/^#   make help/s/^# \{0,3\}//p' Makefile

clean:
	$(Q)rm -rf build

-include $(shell find $(sort build $(BUILD)) -name '*.d' 2>/dev/null)
