#!/usr/bin/env bash
# Runs the commands that README.md shows, and pages beside it, and puts their real output between the markers of the same
# name.
#   docs/update_readme.sh [probe|explain|campaign|test|differential]…     (default: all but differential, which takes long)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Replaces what is between <!-- begin NAME --> and <!-- end NAME --> by the command and its output.
update() {
  local name=$1 last=$2 page=$3 block new
  shift 3
  grep -q "^<!-- begin $name -->\$" "$page" && grep -q "^<!-- end $name -->\$" "$page" || {
    echo "$page: no markers <!-- begin $name --> and <!-- end $name -->" >&2
    exit 2
  }
  block=$(mktemp)
  new=$(mktemp)
  {
    printf '```console\n$ %s\n' "$*"
    # Without the lines of GoogleTest's, which say how long it took.
    if ((last > 0)); then "$@" | tail -n "$last"; else "$@" | sed '/^\[[ =A-Z]*\] /d'; fi
    printf '```\n'
  } >"$block"
  awk -v name="$name" -v block="$block" '
    $0 == "<!-- begin " name " -->" { print; while ((getline line < block) > 0) print line; inside = 1 }
    $0 == "<!-- end " name " -->" { inside = 0 }
    !inside && $0 != "<!-- begin " name " -->" { print }
  ' "$page" >"$new"
  cat "$new" >"$page"
  rm -f "$block" "$new"
}

(($# > 0)) || set -- probe explain campaign test
for name in "$@"; do
  case $name in
    probe) update probe 0 README.md ./run probe --arch sm_90 --instr wgmma.m64n8k32.f32.e4m3.e4m3 ;;
    explain) update explain 0 README.md ./run explain --arch sm_90 --instr mma.m16n8k16.f32.f16.f16.f32 --a 0xd000,0x3c01 --b 0xc800,0x0401 --c 0xbe28fe00 ;;
    campaign) update campaign 0 README.md ./run verify --campaign vectors/sm_90/campaigns.json ;;
    test) update test 2 README.md ./run test ;;  # what was skipped, and the counts
    differential) update differential 0 docs/verification.md ./run test differential_test --count 1e8 --gtest_brief=1 ;;
    *) echo "update_readme.sh: $name is unknown; right would be probe, explain, campaign, test or differential" >&2 && exit 2 ;;
  esac
done
