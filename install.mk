# Installing and packaging; part of the Makefile. PREFIX is where things are looked for, DESTDIR is put before it.
#
#   make install      programs, library, headers, documents, manual pages, completion, editors' syntax files
#   make dist         build/mx-VERSION.tar.gz: the sources
#   make deb          Debian packages beside it, with dpkg-buildpackage
#
# A program that is linked by mx.pc finds the library in its prefix, without ldconfig or LD_LIBRARY_PATH.
# Manual pages, completion and syntax files are made from the programs' own tables and help, and from docs/.

GEN := $(addprefix $(BUILD)/man/,mxasm.1 mxcc.1 mxrun.1 mx.7 mx-launch.5 mx-commands.7) \
  $(BUILD)/completion/mx.bash $(BUILD)/completion/_mx $(BUILD)/editors/mx.vim $(BUILD)/editors/mx.tmLanguage.json

BRIEF_mxasm := assembler and disassembler of GPU kernels in MX assembly or PTX
BRIEF_mxcc := compiler driver for GPU kernels in C++
BRIEF_mxrun := run GPU kernels on the CPU
BRIEF_mx := MX assembly, the language of kernels
BRIEF_mx-commands := commands of interactive sessions of mxrun
BRIEF_mx-launch := launch manifests, the tests of mxrun
man = awk -v version=$(VERSION) -v page=$(basename $(@F)) -v section=$(subst .,,$(suffix $@)) \
  -v brief='$(BRIEF_$(basename $(@F)))' -f tools/install/manual.awk
$(BUILD)/man/%.1: $(BUILD)/% tools/install/manual.awk
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $< --help | $(man) > $@
$(BUILD)/man/mx.7: docs/assembly.md tools/install/manual.awk
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $(man) -v markdown=1 $< > $@
$(BUILD)/man/mx-launch.5: docs/manifest.md tools/install/manual.awk
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $(man) -v markdown=1 $< > $@
$(BUILD)/man/mx-commands.7: $(BUILD)/docs/commands.md tools/install/manual.awk
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $(man) -v markdown=1 $< > $@

$(BUILD)/completion/mx.bash: SHELL_NAME := bash
$(BUILD)/completion/_mx: SHELL_NAME := zsh
$(BUILD)/completion/%: tools/install/completion.sh $(TOOL_BIN)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && PATH="$(abspath $(BUILD)):$$PATH" $< $(SHELL_NAME) $(TOOLS) > $@

$(BUILD)/editors/mx.vim: $(BUILD)/mxasm
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $< --syntax=vim > $@
$(BUILD)/editors/mx.tmLanguage.json: $(BUILD)/mxasm
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $< --syntax=vscode > $@

# ---- install ---------------------------------------------------------------------------------------------
BINDIR := $(DESTDIR)$(PREFIX)/bin
LIBDIR := $(DESTDIR)$(PREFIX)/lib
INCDIR := $(DESTDIR)$(PREFIX)/include/mx
SHARE := $(DESTDIR)$(PREFIX)/share
DOCDIR := $(SHARE)/doc/mx
BASHDIR := $(SHARE)/bash-completion/completions
ZSHDIR := $(SHARE)/zsh/site-functions
VIMDIR := $(SHARE)/vim/vimfiles
CODEDIR := $(SHARE)/mx/vscode
HEADERS := $(patsubst %,include/mx/%.h,api mx asm text texture check debug profile)
EXAMPLES := $(wildcard examples/*.mxs examples/*.launch examples/*.c examples/*.png)
MANUALS := $(filter $(BUILD)/man/%,$(GEN))
comma := ,
put = install -m 644 $(1) $(2)

install: all $(GEN)
	$(call say,INST,$(DESTDIR)$(PREFIX))
	$(Q)install -d $(BINDIR) $(LIBDIR)/mx $(LIBDIR)/pkgconfig $(INCDIR) $(DOCDIR)/docs $(DOCDIR)/examples/cuda \
	  $(BASHDIR) $(ZSHDIR) $(VIMDIR)/syntax $(VIMDIR)/ftdetect $(CODEDIR)/syntaxes \
	  $(SHARE)/man/man1 $(SHARE)/man/man5 $(SHARE)/man/man7
	$(Q)install -m 755 $(TOOL_BIN) $(BINDIR)
	$(Q)$(if $(JITC_BIN),install -m 755 $(JITC_BIN) $(LIBDIR)/mx)
	$(Q)$(call put,$(BUILD)/libmx.a,$(LIBDIR))
	$(Q)install -m 755 $(LIBSO) $(LIBDIR)/libmx.so.$(VERSION)
	$(Q)ln -sf libmx.so.$(VERSION) $(LIBDIR)/libmx.so.$(SOVERSION) && ln -sf libmx.so.$(SOVERSION) $(LIBDIR)/libmx.so
	$(Q)$(call put,$(HEADERS),$(INCDIR))
	$(Q)install -m 755 $(RTSO) $(LIBDIR)/libmxrt.so.$(VERSION)
	$(Q)ln -sf libmxrt.so.$(VERSION) $(LIBDIR)/libmxrt.so.$(SOVERSION) && \
	  ln -sf libmxrt.so.$(SOVERSION) $(LIBDIR)/libmxrt.so
	$(Q)cd cxx/include && find . -name '*.h' -o -name '*.cuh' -o -name '*.hpp' -o -path './cuda/*' -type f | \
	  while read -r f; do install -D -m 644 $$f $(abspath $(LIBDIR))/mx/cxx/$$f; done
	$(Q)$(call put,$(CXX_MADE),$(LIBDIR)/mx/cxx/mx)
	$(Q)install -d $(LIBDIR)/mx/exec && install -m 755 $(EXEC_LIBS) $(LIBDIR)/mx/exec
	$(Q)$(call put,README.md LICENSE,$(DOCDIR)) && \
	  $(call put,$(wildcard docs/*.md docs/*.png) $(wildcard $(BUILD)/docs/*.md),$(DOCDIR)/docs)
	$(Q)$(call put,$(EXAMPLES),$(DOCDIR)/examples) && $(call put,$(wildcard examples/cuda/*),$(DOCDIR)/examples/cuda)
	$(Q)$(foreach s,1 5 7,$(call put,$(filter %.$(s),$(MANUALS)),$(SHARE)/man/man$(s)) &&) true
	$(Q)$(foreach t,$(TOOLS),$(call put,$(BUILD)/completion/mx.bash,$(BASHDIR)/$(t)) &&) true
	$(Q)$(call put,$(BUILD)/completion/_mx,$(ZSHDIR))
	$(Q)$(call put,$(BUILD)/editors/mx.vim,$(VIMDIR)/syntax) && $(call put,editors/vim/ftdetect/mx.vim,$(VIMDIR)/ftdetect)
	$(Q)$(call put,$(wildcard editors/vscode/*.json),$(CODEDIR)) && \
	  $(call put,$(BUILD)/editors/mx.tmLanguage.json,$(CODEDIR)/syntaxes)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'Name: mx' 'Description: GPU kernels on the CPU' 'Version: $(VERSION)' \
	  'Cflags: -I$${prefix}/include' \
	  'Libs: -L$${prefix}/lib $(if $(filter /usr,$(PREFIX)),,-Wl$(comma)-rpath$(comma)$${prefix}/lib) -lmx' \
	  'Libs.private: $(LIBS) -pthread' > $(LIBDIR)/pkgconfig/mx.pc

uninstall:
	$(call say,RM,$(DESTDIR)$(PREFIX))
	$(Q)rm -f $(TOOLS:%=$(BINDIR)/%) $(LIBDIR)/libmx.a $(LIBDIR)/libmx.so* $(LIBDIR)/libmxrt.so* \
	  $(LIBDIR)/pkgconfig/mx.pc \
	  $(TOOLS:%=$(BASHDIR)/%) $(ZSHDIR)/_mx $(VIMDIR)/syntax/mx.vim $(VIMDIR)/ftdetect/mx.vim \
	  $(foreach s,1 5 7,$(patsubst $(BUILD)/man/%,$(SHARE)/man/man$(s)/%,$(filter %.$(s),$(MANUALS))))
	$(Q)rm -rf $(LIBDIR)/mx $(INCDIR) $(DOCDIR) $(SHARE)/mx

# ---- packages ----------------------------------------------------------------------------------------------
DIST := build/mx-$(VERSION)
# what is committed; in an unpacked archive, of which git knows nothing, the files but for those that .gitignore names
dist:
	$(call say,DIST,$(DIST).tar.gz)
	$(Q)mkdir -p build && if [ -e .git ]; then \
	  git -c safe.directory=$(CURDIR) archive --format=tar.gz --prefix=mx-$(VERSION)/ -o $(DIST).tar.gz HEAD; \
	else \
	  sed 's|^/|./|; s|/$$||' .gitignore | tar -czf $(DIST).tar.gz --exclude-from=- --sort=name --owner=root:0 \
	    --group=root:0 --transform='s|^\.|mx-$(VERSION)|' .; \
	fi

# from what dist has; the packages lie in build/deb
deb: dist build/.deps-deb
	$(call say,DEB,build/deb)
	$(Q)rm -rf build/deb && mkdir -p build/deb && tar -C build/deb -xzf $(DIST).tar.gz
	$(Q)+cd build/deb/mx-$(VERSION) && dpkg-buildpackage -us -uc > ../build.log 2>&1 || \
	  { tail -n 30 ../build.log; exit 1; }
	$(Q)rm -rf build/deb/mx-$(VERSION) && ls build/deb/*.deb

.PHONY: dist deb
