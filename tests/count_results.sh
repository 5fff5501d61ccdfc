#!/usr/bin/env bash
# Counts the tests that ran in build folders, from what ctest and GoogleTest left in their results/. A test that ctest ran
# and that left no file of its own counts as one, so that none that crashed is forgotten.
#   tests/count_results.sh BUILD…
# The last line is "N passed, N failed, N skipped"; before it come the reasons of those that were skipped.
set -euo pipefail

# One line for each test: passed, failed, or skipped and why.
results_of() {
  local results=$1/results name status
  while read -r name status; do
    if [[ -s $results/$name.xml ]]; then
      awk '
        function attribute(name,    at) {
          at = index($0, " " name "=\"")
          if (at == 0) return ""
          at = substr($0, at + length(name) + 3)
          return substr(at, 1, index(at, "\"") - 1)
        }
        function finish() { if (result != "") print result; result = "" }
        /^ *<testcase / { finish(); if (attribute("status") == "run") result = "passed" }
        /^ *<failure / { result = "failed" }
        /^ *<skipped / && result == "passed" {
          why = attribute("message")
          sub(/^[^&]*&#x0A;/, "", why)  # file and line, as GoogleTest puts them first
          sub(/(&#x0A;)+$/, "", why)
          gsub(/&#x0A;/, " ", why)
          gsub(/&quot;/, "\"", why); gsub(/&apos;/, "\047", why); gsub(/&lt;/, "<", why); gsub(/&gt;/, ">", why)
          gsub(/&amp;/, "\\&", why)
          result = "skipped " why
        }
        END { finish() }
      ' "$results/$name.xml"
    elif [[ $status == run ]]; then
      echo passed
    else
      echo failed
    fi
  done < <(sed -n 's/^[[:space:]]*<testcase name="\([^"]*\)".* status="\([^"]*\)".*/\1 \2/p' "$results/ctest.xml")
}

for folder in "$@"; do
  if [[ ! -s $folder/results/ctest.xml ]]; then
    echo "count_results.sh: $folder/results/ctest.xml: not there; expected a folder whose tests ran" >&2
    exit 2
  fi
done
for folder in "$@"; do results_of "$folder"; done | sort | uniq -c | awk '
  $2 == "passed" { passed = $1 }
  $2 == "failed" { failed = $1 }
  $2 == "skipped" { skipped += $1; count = $1; sub(/^ *[0-9]+ skipped /, ""); print "skipped " count ": " $0 }
  END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }'
