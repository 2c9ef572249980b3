/* Names and texts of status codes and trap kinds, and the version: everything of mx.h that needs no device. */
#include "mx/mx.h"

#define STRING_(x_) #x_
#define STRING(x_) STRING_(x_)

unsigned mx_version(void) { return MX_VERSION_HEX; }

const char *mx_version_string(void) {
  return STRING(MX_VERSION_MAJOR) "." STRING(MX_VERSION_MINOR) "." STRING(MX_VERSION_PATCH);
}

const char *mx_status_name(mx_status s) {
  switch (s) {
#define X(name_, number_, text_) \
  case MX_##name_: return "MX_" #name_;
    MX_STATUS_LIST(X)
#undef X
  }
  return "unknown status";
}

const char *mx_status_text(mx_status s) {
  switch (s) {
#define X(name_, number_, text_) \
  case MX_##name_: return text_;
    MX_STATUS_LIST(X)
#undef X
  }
  return "unknown status";
}

const char *mx_trap_kind_name(mx_trap_kind kind) {
  switch (kind) {
#define X(name_, number_, text_) \
  case MX_TRAP_##name_: return #name_;
    MX_TRAP_LIST(X)
#undef X
  }
  return "unknown trap";
}

const char *mx_trap_kind_text(mx_trap_kind kind) {
  switch (kind) {
#define X(name_, number_, text_) \
  case MX_TRAP_##name_: return text_;
    MX_TRAP_LIST(X)
#undef X
  }
  return "unknown trap";
}
