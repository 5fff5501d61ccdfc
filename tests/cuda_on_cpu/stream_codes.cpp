#include "../../probes/stream_codes.cu"
