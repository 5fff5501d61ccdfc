#!/usr/bin/env python3
"""Breaks one line at a time and asks whether the tests notice.

    tests/mutation/mutate.py [--count 200] [--seed 1] [--in emu src/fit]

Each mutant is one small change, drawn at random: a comparison that includes its end or does not, a sum that is a
difference, a condition that is turned round. It is built and the fast tests run on it, in a copy of the last commit
under build-mutants/. A mutant that no test fails on has survived: either it changes nothing that anybody could see, or
a test is missing. build-mutants/mutants.jsonl keeps what became of each, and a later call goes on from there.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build-mutants"
TREE = FOLDER / "tree"
BUILD = FOLDER / "build"
RECORD = FOLDER / "mutants.jsonl"

# What is replaced by what. Each rule is tried at each of its places in a line.
RULES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ 1\b", ""), (r" - 1\b", ""), (r" \+ ", " - "), (r" - ", " + "),
    (r" << ", " >> "), (r" >> ", " << "), (r" & ", " | "), (r" \| ", " & "),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"std::max\(", "std::min("), (r"std::min\(", "std::max("),
    (r"(?<=[( ])!(?=[a-z_])", ""), (r"\bcontinue;", ";"), (r"\+\+(?=[a-z_]+;)", ""),
]  # fmt: skip
# The tests that say something about these folders, and fast.
TESTS = "emulator|reference|panels|matmul|misuse|format|explain|fit|equivalence|integer|probe|report|catalogue|sparse|gpu_emulator|patch|datapath_json|differential|questions|published|recorded"
BUILD_SECONDS, TEST_SECONDS = 900, 900


def run(command, seconds, **options):
    """The exit status, or None if it took too long; and what it said."""
    try:
        done = subprocess.run(command, timeout=seconds, capture_output=True, text=True, **options)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) else ""


def places(folders):
    """All (file, line number, rule, column) at which a line of code can be broken."""
    found = []
    for folder in folders:
        for path in sorted((TREE / folder).rglob("*")):
            if path.suffix not in {".cpp", ".hpp"}:
                continue
            for number, line in enumerate(path.read_text().splitlines()):
                code = line.split("//")[0]
                if not code.strip() or code.lstrip().startswith("#") or '"' in code or "template" in code:
                    continue
                for rule, (pattern, _) in enumerate(RULES):
                    found += [(path.relative_to(TREE).as_posix(), number, rule, match.start())
                              for match in re.finditer(pattern, code)]
    return found


def prepare():
    FOLDER.mkdir(exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    stamp = FOLDER / "commit"
    if not stamp.exists() or stamp.read_text() != commit:
        subprocess.run(["rm", "-rf", TREE], check=True)
        TREE.mkdir()
        archive = subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE)
        subprocess.run(["tar", "x"], cwd=TREE, stdin=archive.stdout, check=True)
        RECORD.unlink(missing_ok=True)
        stamp.write_text(commit)
    print(f"mutate: building the tests of {commit[:12]}", file=sys.stderr)
    configure = ["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTCNUM_TESTS=ON", "-DTCNUM_GPU=OFF"]
    for command in (configure, ["ninja", "-C", BUILD]):
        status, said = run(command, None)
        if status != 0:
            sys.exit(f"mutate: the commit itself does not build:\n{said[-4000:]}")
    status, said = test()
    if status != 0:
        sys.exit(f"mutate: the tests of the commit itself fail:\n{said[-4000:]}")


def test():
    return run(["ctest", "--test-dir", BUILD, "-j", "2", "-R", TESTS, "-LE", "long|install", "--stop-on-failure", "--timeout", "300"], TEST_SECONDS)


def outcome():
    status, said = run(["ninja", "-C", BUILD], BUILD_SECONDS)
    if status is None:
        return "does not compile", "took too long"
    if status != 0:
        return "does not compile", ""
    status, said = test()
    if status == 0:
        return "survived", ""
    failed = re.search(r"(\w+)[\w.]* \((Failed|Timeout|SEGFAULT|Subprocess aborted|ILLEGAL|NUMERICAL)", said)
    return "killed", failed.group(1) if failed else "time"


def broken(line, rule, column):
    pattern, replacement = RULES[rule]
    return line[:column] + re.sub(pattern, replacement, line[column:], count=1)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=200, help="mutants")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--in", dest="folders", nargs="+", default=["emu", "src/fit"], help="folders to break")
    chosen = options.parse_args()
    prepare()
    candidates = places(chosen.folders)
    random.Random(chosen.seed).shuffle(candidates)
    known = {}
    if RECORD.exists():
        known = {tuple(entry["place"]): entry for entry in map(json.loads, RECORD.read_text().splitlines())}
    counts = {"killed": 0, "survived": 0, "does not compile": 0}
    for place in candidates[: chosen.count]:
        entry = known.get(place)
        if entry is None:
            name, number, rule, column = place
            path = TREE / name
            text = path.read_text()
            lines = text.splitlines(keepends=True)
            before, after = lines[number], broken(lines[number], rule, column)
            started = time.monotonic()
            try:
                path.write_text("".join(lines[:number] + [after] + lines[number + 1 :]))
                became, by = outcome()
            finally:
                path.write_text(text)
            entry = {"place": place, "became": became, "by": by, "seconds": round(time.monotonic() - started),
                     "before": before.strip(), "after": after.strip()}  # fmt: skip
            with RECORD.open("a") as record:
                record.write(json.dumps(entry) + "\n")
        counts[entry["became"]] += 1
        print(f"{entry['became']:<17}{entry['by']:<20}{entry['place'][0]}:{entry['place'][1] + 1}", flush=True)
        if entry["became"] == "survived":
            print(f"    {entry['before']}\n    {entry['after']}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
