#!/usr/bin/env bash
# Runs the commands that README.md shows and puts their real output between the markers of the same name.
#   docs/update_readme.sh [probe|explain|campaign|test]…     (default: all)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Replaces what is between <!-- begin NAME --> and <!-- end NAME --> by the command and its output.
update() {
  local name=$1 last=$2 block new
  shift 2
  grep -q "^<!-- begin $name -->\$" README.md && grep -q "^<!-- end $name -->\$" README.md || {
    echo "README.md: no markers <!-- begin $name --> and <!-- end $name -->" >&2
    exit 2
  }
  block=$(mktemp)
  new=$(mktemp)
  {
    printf '```console\n$ %s\n' "$*"
    if ((last > 0)); then "$@" | tail -n "$last"; else "$@"; fi
    printf '```\n'
  } >"$block"
  awk -v name="$name" -v block="$block" '
    $0 == "<!-- begin " name " -->" { print; while ((getline line < block) > 0) print line; inside = 1 }
    $0 == "<!-- end " name " -->" { inside = 0 }
    !inside && $0 != "<!-- begin " name " -->" { print }
  ' README.md >"$new"
  cat "$new" >README.md
  rm -f "$block" "$new"
}

(($# > 0)) || set -- probe explain campaign test
for name in "$@"; do
  case $name in
    probe) update probe 0 ./run probe --arch sm_90 --instr wgmma.m64n8k32.f32.e4m3.e4m3 ;;
    explain) update explain 0 ./run explain --arch sm_90 --instr mma.m16n8k16.f32.f16.f16.f32 --a 0xd000,0x3c01 --b 0xc800,0x0401 --c 0xbe28fe00 ;;
    campaign) update campaign 0 ./run verify --campaign vectors/sm_90/campaigns.json ;;
    test) update test 2 ./run test ;;  # what was skipped, and the counts
    *) echo "update_readme.sh: $name is unknown; right would be probe, explain, campaign or test" >&2 && exit 2 ;;
  esac
done
