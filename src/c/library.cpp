// The version, texts of statuses, and what frees texts.
#include <cstdlib>

#include "tcnum/tcnum.h"

const char* tcnum_version() { return TCNUM_VERSION; }

const char* tcnum_status_text(tcnum_status status) {
  switch (status) {
    case TCNUM_OK:
      return "done";
    case TCNUM_STOPPED:
      return "stopped by a callback";
    case TCNUM_INVALID:
      return "wrong argument or file";
    case TCNUM_UNAVAILABLE:
      return "this machine lacks what was asked for";
    case TCNUM_NO_MEMORY:
      return "not enough memory";
    case TCNUM_INTERNAL:
      return "a bug of tcnum";
  }
  return "not a status of tcnum";
}

void tcnum_free(char* text) { std::free(text); }
