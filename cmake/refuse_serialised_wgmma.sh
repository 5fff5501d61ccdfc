#!/bin/sh
# Runs a compiler, and fails if ptxas informs (C7510 … C7519) that it serialised a wgmma or added fences or waits to it:
# the instruction then does not run as it was written.
messages=$(mktemp) || exit 1
trap 'rm -f "$messages"' EXIT
"$@" 2>"$messages"
status=$?
cat "$messages" >&2
if grep -q '(C751[0-9])' "$messages"; then
  echo "error: ptxas changed how a wgmma runs" >&2
  exit 1
fi
exit $status
