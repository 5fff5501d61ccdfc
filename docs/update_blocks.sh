#!/usr/bin/env bash
# Runs the commands that README.md and the pages of docs/ show, and puts their real output between the markers of the same name.
#   docs/update_blocks.sh [NAME…]     (default: all but differential, which takes long)
# Its python3 needs NumPy (Debian: python3-numpy).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Each block: its name, its page, and how many lines of the output the page shows: so many from its beginning, from its end if negative, all
# if 0. Then a command, which is shown and run; a function of this file writes what stands between the markers itself.
declare -A page lines commands
names=()
block() {
  local name=$1
  names+=("$name")
  page[$name]=$2
  lines[$name]=$3
  shift 3
  commands[$name]=$(printf '%q ' "$@")
}

# The command as a user would type it.
command_text() {
  local word text=""
  for word in "$@"; do
    [[ $word == *[\ *]* ]] && word="'$word'"
    text+=" $word"
  done
  echo "${text# }"
}

# What a page shows of a command: without GoogleTest's lines, which say how long it took. Status 1 is a disagreement that was to be shown.
console() {
  local count=$1 output
  shift
  output=$({ "$@" || (($? == 1)); } | sed '/^\[[ =A-Z]*\] /d')
  printf '$ %s\n' "$(command_text "$@")"
  if ((count > 0)) && (($(wc -l <<<"$output") > count)); then
    head -n "$count" <<<"$output"
    echo …
  elif ((count < 0)); then
    tail -n "${count#-}" <<<"$output"
  else
    printf '%s\n' "$output"
  fi
}
one_console() {
  echo '```console'
  console "$@"
  echo '```'
}

# Replaces what is between <!-- begin NAME --> and <!-- end NAME --> in the page.
update() {
  local name=$1 file=$2 new made
  shift 2
  if ! grep -q "^<!-- begin $name -->\$" "$file" || ! grep -q "^<!-- end $name -->\$" "$file"; then
    echo "$file: no markers <!-- begin $name --> and <!-- end $name -->" >&2
    exit 2
  fi
  new=$(mktemp)
  made=$(mktemp)
  "$@" >"$made"
  awk -v name="$name" -v made="$made" '
    $0 == "<!-- begin " name " -->" { print; while ((getline line < made) > 0) print line; inside = 1 }
    $0 == "<!-- end " name " -->" { inside = 0 }
    !inside && $0 != "<!-- begin " name " -->" { print }
  ' "$file" >"$new"
  cat "$new" >"$file"
  rm -f "$new" "$made"
}

# --- Blocks that are no single command -------------------------------------------------------------------------------

plots() { docs/plots.py vectors/sm_90/bench.json docs/plots; }

# With the files that docs/tutorial.md has made by then.
in_tutorial() {
  local file
  for file in a.npy b.npy mine.json; do
    [[ ! -e $file ]] || { echo "update_blocks.sh: $file is in the way" >&2 && exit 2; }
  done
  sed 's/"fraction_bits": 25/"fraction_bits": 26/' docs/datapaths/hopper-fp16.json >mine.json
  python3 -c "$(sed -n "s/^\$ python3 -c '\(.*\)'\$/\1/p" docs/tutorial.md)"
  "$@"
  rm a.npy b.npy mine.json
}
tutorial_gemm() { in_tutorial one_console 8 ./run gemm error --a a.npy --b b.npy --plan nvjet --output fp32; }
tutorial_own() {
  in_tutorial one_console 0 ./run explain --datapath mine.json --a 1,2^-13,2^-13 --b 1,2^-12,2^-13 --c -1
}
tutorial_verify() {
  in_tutorial one_console 15 ./run verify --arch sm_90 --instr mma.m16n8k16.f32.f16.f16.f32 --datapath mine.json
}

# The arrows of tests/rooms_test.cpp, as a table.
rooms() {
  python3 - <<'END'
import re
text = open("tests/rooms_test.cpp").read()
table = text[text.index("kRooms = {"):text.index("/// The room of a file")]
print("| room | may include |\n|---|---|")
for room, others in re.findall(r'\{"([^"]+)",\s*\{([^}]*)\}\}', table):
    print(f"| `{room}` | " + ", ".join(f"`{other}`" for other in re.findall(r'"([^"]+)"', others)) + " |")
END
}

# The surveys of cuBLASLt's products, as a table: what each found, and whether cublaslt_plan() says it.
surveys() {
  python3 - <<'END'
import glob, json, os
print("| record | GPU, date | formats | algorithms | products | identified | ambiguous | unexplained | right | wrong | declined |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
for path in sorted(glob.glob("vectors/sm_90/gemm*.json")):
    survey = json.load(open(path))
    if survey["schema"] != "tcnum.gemm_survey/1":
        continue
    source, totals = survey["source"], survey["totals"]
    formats = sorted({case["a"] + (" as tf32" if case.get("fast_tf32") else "") for case in survey["cases"]})
    counts = [totals[key] for key in ("cases", "products", "identified", "ambiguous", "unexplained")]
    counts += [totals["predicted"].get(key, 0) for key in ("right", "wrong", "declined")]
    gpu = source["device"].split()[1] + ", " + source["date"]
    print(f"| `{os.path.basename(path)}` | {gpu} | {', '.join(formats)} | " + " | ".join(map(str, counts)) + " |")
END
}

# --- The blocks -------------------------------------------------------------------------------------------------------

fp16=mma.m16n8k16.f32.f16.f16.f32
numpy='exec:python3 examples/oracles/oracle.py'
report=(./run bench report --device h200 --section)
block explain-all README.md 19 ./run explain --all --format fp16 --c 2^23 --a -2^12,-0.5,-0.25,-0.125 --b 2^11,1,1,1
block probe docs/report.md 0 ./run probe --arch sm_90 --instr wgmma.m64n8k32.f32.e4m3.e4m3
block tutorial-probe docs/tutorial.md 13 ./run probe --arch sm_90 --instr wgmma.m64n8k32.f32.e4m3.e4m3
block explain docs/tutorial.md 0 ./run explain --arch sm_90 --instr "$fp16" --a -32,0x1.004p0 --b -8,0x1.004p-14 --c -0x1.51fcp-3
block identify docs/tutorial.md 0 ./run identify --format fp16 --a -2^12,-0.5,-0.25,-0.125 --b 2^11,1,1,1 --c 2^23 --d -0.75
block tutorial-diff docs/tutorial.md 24 ./run diff --arch sm_80 --arch sm_90 --format fp16
block tutorial-gemm docs/tutorial.md 0 tutorial_gemm
block tutorial-own docs/tutorial.md 0 tutorial_own
block tutorial-verify docs/tutorial.md 0 tutorial_verify
block campaign docs/tutorial.md 0 ./run verify --campaign vectors/sm_90/campaigns.json
block rooms docs/house.md 0 rooms
block surveys docs/cublaslt.md 0 surveys
block numpy docs/oracles.md 0 ./run probe --from "$numpy" --a fp32 --d fp32 --k 16 --any-nan
block numpy-fp16 docs/oracles.md 1 ./run verify --count 1e6 --from "$numpy" --a fp16 --d fp16 --k 16 --any-nan --datapath examples/oracles/numpy-fp16.json
block model docs/oracles.md 27 ./run verify --count 1e5 --arch sm_90 --instr "$fp16" --from "exec:build/tcnum emulate --serve --arch sm_80 --instr $fp16"
block gemm-model docs/model.md 0 ./run model gemm --m 4096 --n 7168 --k 16384 --format fp8e4m3
block datapaths docs/architectures.md 0 ./run list --arch a100 h100 b200 mi300x mi350x --format bf16 nvfp4 --table text
block diff docs/architectures.md 0 ./run diff --arch sm_80 --arch sm_90 --format fp16
block diffs docs/architectures.md 0 ./run diff --all --format fp16
block plan-diff docs/architectures.md 0 ./run diff --plan nvjet-fp8 --plan nvjet-fp8-slow --format fp8e4m3
block works docs/works.md 0 ./run list --works --arch sm_90
block h200-glance docs/h200.md 0 "${report[@]}" 'At a glance'
block h200-memory docs/h200.md 0 "${report[@]}" 'Memory: latency'
block plots '' 0 plots # files of docs/plots
block differential docs/verification.md 0 ./run test differential_test --count 1e8 --gtest_brief=1

(($# > 0)) || for name in "${names[@]}"; do [[ $name == differential ]] || set -- "$@" "$name"; done
for name in "$@"; do
  [[ -v commands[$name] ]] || { echo "update_blocks.sh: $name is unknown; expected one of: ${names[*]}" >&2 && exit 2; }
done
command=()
for name in "$@"; do
  eval "command=(${commands[$name]})"
  if [[ -z ${page[$name]} ]]; then
    "${command[@]}"
  elif [[ $(type -t "${command[0]}") == function ]]; then
    update "$name" "${page[$name]}" "${command[@]}"
  else
    update "$name" "${page[$name]}" one_console "${lines[$name]}" "${command[@]}"
  fi
done
