/* Finds the size of a kernel's clusters where its source gives it (__cluster_dims__). PTX of the version that clang
 * writes has no directive for it, so the macro puts the kernel's stub on the host into a section whose name contains
 * the size. Sections are looked up in the file of the program or library in which the stub lies. */

#include "rt.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct object {
  uintptr_t stub, base;
  char file[4096];
};
static int find_object(struct dl_phdr_info *info, size_t size, void *data) {
  struct object *o = data;
  (void)size;
  for (unsigned k = 0; k < info->dlpi_phnum; k++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[k];
    if (p->p_type != PT_LOAD || o->stub - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz) continue;
    o->base = info->dlpi_addr;
    snprintf(o->file, sizeof o->file, "%s", info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe");
    return 1;
  }
  return 0;
}
/* The name of the section that the address is in; NULL: there is none. The file may be anything. */
static const char *section_at(const unsigned char *file, size_t size, uintptr_t address) {
  const Elf64_Ehdr *h = (const void *)file;
  if (size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_shentsize != sizeof(Elf64_Shdr) ||
      h->e_shoff > size || h->e_shoff % 8 || (size - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum ||
      h->e_shstrndx >= h->e_shnum)
    return NULL;
  const Elf64_Shdr *s = (const void *)(file + h->e_shoff), *names = s + h->e_shstrndx;
  if (names->sh_offset > size || names->sh_size > size - names->sh_offset || !names->sh_size) return NULL;
  const char *text = (const char *)file + names->sh_offset;
  if (text[names->sh_size - 1]) return NULL;
  for (unsigned k = 0; k < h->e_shnum; k++)
    if (s[k].sh_flags & SHF_ALLOC && address - s[k].sh_addr < s[k].sh_size)
      return s[k].sh_name < names->sh_size ? text + s[k].sh_name : NULL;
  return NULL;
}

void rt_cluster_of(const void *host, uint32_t cluster[3]) {
  struct object o = {.stub = (uintptr_t)host};
  struct stat st;
  memset(cluster, 0, 3 * sizeof *cluster);
  if (!dl_iterate_phdr(find_object, &o)) return;
  const int fd = open(o.file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (!fstat(fd, &st) && st.st_size > 0) {
    unsigned char *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file != MAP_FAILED) {
      const char *name = section_at(file, (size_t)st.st_size, o.stub - o.base);
      unsigned n[3];
      if (name && sscanf(name, "mx_cluster.%u.%u.%u", &n[0], &n[1], &n[2]) == 3)
        for (unsigned k = 0; k < 3; k++) cluster[k] = n[k];
      munmap(file, (size_t)st.st_size);
    }
  }
  close(fd);
}
