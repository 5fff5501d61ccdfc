#!/usr/bin/env bash
# Runs the commands that README.md shows, and pages beside it, and puts their real output between the markers of the same
# name.
#   docs/update_readme.sh [probe|explain|explain-all|identify|campaign|test|numpy|numpy-fp16|model|gemm-model|datapaths|diff|diffs|plan-diff|works|h200|differential]…
#                                                            (default: all but differential, which takes long)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As it would be typed.
command_text() {
  local word text=""
  for word in "$@"; do
    [[ $word == *\ * ]] && word="'$word'"
    text+=" $word"
  done
  echo "${text# }"
}

# Replaces what is between <!-- begin NAME --> and <!-- end NAME --> by the command and its output: so many lines from
# its beginning, from its end if negative, all if 0.
update() {
  local name=$1 lines=$2 page=$3 block new
  shift 3
  grep -q "^<!-- begin $name -->\$" "$page" && grep -q "^<!-- end $name -->\$" "$page" || {
    echo "$page: no markers <!-- begin $name --> and <!-- end $name -->" >&2
    exit 2
  }
  block=$(mktemp)
  new=$(mktemp)
  {
    printf '```console\n$ %s\n' "$(command_text "$@")"
    # Without the lines of GoogleTest's, which say how long it took. Status 1 is a disagreement that was to be shown.
    { "$@" || (($? == 1)); } |
      if ((lines > 0)); then head -n "$lines"; elif ((lines < 0)); then tail -n "${lines#-}"; else sed '/^\[[ =A-Z]*\] /d'; fi
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

# Keeps the plot of that number of a section of an H200's report as a file.
plot() {
  local file=$1 number=$2 section=$3
  mkdir -p docs/plots
  ./run bench report --device h200 --section "$section" --html - |
    awk -v number="$number" '/<svg/ { ++count } count == number { print } /<\/svg>/ && count == number { exit }' |
    sed '1s|<svg |<svg xmlns="http://www.w3.org/2000/svg" |' >"docs/plots/$file"
}

(($# > 0)) || set -- probe explain explain-all identify campaign test numpy numpy-fp16 model gemm-model datapaths diff diffs plan-diff works h200
fp16=mma.m16n8k16.f32.f16.f16.f32
for name in "$@"; do
  case $name in
    probe) update probe 0 README.md ./run probe --arch sm_90 --instr wgmma.m64n8k32.f32.e4m3.e4m3 ;;
    explain) update explain 0 README.md ./run explain --arch sm_90 --instr mma.m16n8k16.f32.f16.f16.f32 --a -32,0x1.004p0 --b -8,0x1.004p-14 --c -0x1.51fcp-3 ;;
    explain-all) update explain-all 31 README.md ./run explain --all --c 2^23 --a -2^12,-0.5,-0.25,-0.125 --b 2^11,1,1,1 ;;  # the results
    identify) update identify 0 README.md ./run identify --format fp16 --a -2^12,-0.5,-0.25,-0.125 --b 2^11,1,1,1 --c 2^23 --d -0.75 ;;
    campaign) update campaign 0 README.md ./run verify --campaign vectors/sm_90/campaigns.json ;;
    test) update test -2 README.md ./run test ;;  # what was skipped, and the counts
    numpy) update numpy 0 docs/oracles.md ./run probe --from 'exec:python3 examples/oracles/oracle.py' --a fp32 --d fp32 --k 16 --any-nan ;;
    numpy-fp16) update numpy-fp16 1 docs/oracles.md ./run verify --count 1e6 --from 'exec:python3 examples/oracles/oracle.py' --a fp16 --d fp16 --k 16 --any-nan --datapath examples/oracles/numpy-fp16.json ;;
    model) update model 26 docs/oracles.md ./run verify --count 1e5 --arch sm_90 --instr "$fp16" --from "exec:build/tcnum emulate --serve --arch sm_80 --instr $fp16" ;;
    gemm-model) update gemm-model 0 docs/model.md ./run model gemm --m 4096 --n 7168 --k 16384 --format fp8e4m3 ;;
    datapaths) update datapaths 0 docs/architectures.md ./run list --arch a100 h100 b200 mi300x mi350x --format bf16 nvfp4 --table text ;;
    diff) update diff 0 docs/architectures.md ./run diff --arch sm_80 --arch sm_90 --format fp16 ;;
    diffs) update diffs 0 docs/architectures.md ./run diff --all --format fp16 ;;
    plan-diff) update plan-diff 0 docs/architectures.md ./run diff --plan nvjet-fp8 --plan nvjet-fp8-slow --format fp8e4m3 ;;
    works) update works 0 docs/works.md ./run list --works --arch sm_90 ;;
    h200)
      report=(./run bench report --device h200 --section)
      update h200-glance 0 docs/h200.md "${report[@]}" 'At a glance'
      update h200-memory 0 docs/h200.md "${report[@]}" 'Memory: latency'
      update h200-roofline 0 docs/h200.md "${report[@]}" 'Roofline'
      plot h200-wgmma.svg 1 'wgmma and wgmma.sp: throughput and power'
      plot h200-bandwidth.svg 2 'Memory: bandwidth'
      plot h200-roofline.svg 1 'Roofline'
      ;;
    differential) update differential 0 docs/verification.md ./run test differential_test --count 1e8 --gtest_brief=1 ;;
    *) echo "update_readme.sh: $name is unknown; expected probe, explain, explain-all, identify, campaign, test, numpy, numpy-fp16, model, gemm-model, datapaths, diff, diffs, plan-diff, works, h200 or differential" >&2 && exit 2 ;;
  esac
done
