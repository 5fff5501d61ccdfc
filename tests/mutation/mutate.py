#!/usr/bin/env python3
"""Breaks one line at a time and asks whether the tests notice.

    tests/mutation/mutate.py [--count 200] [--seed 1] [--in emu src/fit] [--quick] [--jobs 1]

Each mutant is one small change, drawn at random: a comparison that includes its end or does not, a sum that is a
difference, a statement that is not there. It is built in a copy of the last commit under build-mutants/, and the test
programs that it changes run, until one fails. A mutant becomes

    killed            a test fails, crashes, or takes several times as long as it should
    survived          no test fails: something is not tested, or not needed
    does not compile  the compiler notices (warnings are errors)
    same code         the compiler makes the same of it
    explained         it survived, and equivalent.json says why nobody could see it

Exit status: 0, or 1 if one survived; 2 for wrong usage; 3 if the commit itself does not build or pass.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build-mutants" / "tree"
BUILD = TREE / "build"
EXPLAINED = [(each["file"], each["line"], each["mutant"])
             for each in json.loads((ROOT / "tests/mutation/equivalent.json").read_text())]  # fmt: skip

# What is replaced by what. Each rule is tried at each of its places in a line.
RULES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ 1\b", ""), (r" - 1\b", ""), (r" \+ ", " - "), (r" - ", " + "),
    (r" << ", " >> "), (r" >> ", " << "), (r" & ", " | "), (r" \| ", " & "),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"std::max\(", "std::min("), (r"std::min\(", "std::max("),
    (r"(?<=[( ])!(?=[a-z_])", ""), (r"\bcontinue;", "{}"), (r"\+\+(?=[a-z_]+;)", ""),
    (r"^ +[a-z_][\w.>\[\]-]*(\(.*\)| [-+*|&^<>]*= [^{}]*);$", " {}"),  # a statement
]  # fmt: skip
# Those that say something about these folders and are done in seconds.
TESTS = """
    block_order_test catalogue_test classes_test cuda_operands_test datapath_json_test
    differential_test elimination_test emulator_test explain_test fit_test format_test gpu_emulator_test matmul_test
    minimise_test misuse_test panels_test patch_cut_test placement_test published_test questions_test
    reference_test report_test sparse_tiles_test stream_test threads_test
""".split()
# Those that take minutes, which come last; --quick leaves them out.
LONG_TESTS = "cuda_kernels_test recorded_test integer_fit_test equivalence_test catalogue_blind_test blind_test".split()
ENVIRONMENT = {**os.environ, "RC_PARAMS": "seed=1", "GTEST_BRIEF": "1", "GTEST_FAIL_FAST": "1"}


def fail(status, message):
    print(f"mutate: {message}", file=sys.stderr)
    sys.exit(status)


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        fail(3, f"{' '.join(map(str, words))}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout.strip()


def builds(target):
    return subprocess.run(["ninja", "-C", BUILD, "-j", str(chosen.jobs), target], capture_output=True).returncode == 0


def passes(program, seconds):
    try:
        return subprocess.run([BUILD / "tests" / program], capture_output=True, env=ENVIRONMENT, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def digest(program):
    return hashlib.sha256((BUILD / "tests" / program).read_bytes()).digest()


def places(path):
    """All places where a line of code can be broken: file, number, line, what it becomes."""
    for number, line in enumerate((TREE / path).read_text().splitlines()):
        code = line.split("//")[0].rstrip()
        if not code.strip() or code.lstrip().startswith("#") or '"' in code or "template" in code:
            continue
        for pattern, replacement in RULES:
            for match in re.finditer(pattern, code):
                yield path, number, line, code[: match.start()] + replacement + code[match.end() :]


def outcome(programs):
    same = True
    for program, (original, seconds) in programs.items():
        if not builds(program):
            return "does not compile"
        if digest(program) == original:
            continue
        same = False
        if not passes(program, 5 * seconds + 60):
            return f"killed by {program}"
    return "same code" if same else "survived"


def main():
    os.nice(19)
    if not TREE.exists():
        call("git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, TREE)
    call("git", "-C", TREE, "checkout", "--quiet", "--force", "--detach", call("git", "-C", ROOT, "rev-parse", "HEAD"))
    call("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTCNUM_TESTS=ON",
         "-DTCNUM_GPU=OFF", "-DTCNUM_DEVELOPER=ON", "-DTCNUM_TOGETHER=OFF")  # fmt: skip
    programs = {}
    for program in TESTS if chosen.quick else TESTS + LONG_TESTS:
        started = time.monotonic()
        if not builds(program) or not passes(program, 3600):
            fail(3, f"{program} does not build or fails without a mutant")
        programs[program] = digest(program), time.monotonic() - started
    names = [name for name in call("git", "-C", TREE, "ls-files", *chosen.folders).splitlines() if name.endswith((".cpp", ".hpp"))]
    candidates = [place for name in names for place in places(name)]
    counts = collections.Counter()
    for name, number, line, mutant in random.Random(chosen.seed).sample(candidates, min(chosen.count, len(candidates))):
        path = TREE / name
        text = path.read_text()
        lines = text.split("\n")
        lines[number] = mutant
        try:
            path.write_text("\n".join(lines))
            became = outcome(programs)
        finally:
            path.write_text(text)
        if became == "survived" and (name, line.strip(), mutant.strip()) in EXPLAINED:
            became = "explained"
        counts[became.split(" by ")[0]] += 1
        print(f"{became:<32}{name}:{number + 1}", flush=True)
        if became == "survived":
            print(f"    {line.strip()}\n    {mutant.strip()}", flush=True)
    print(f"{len(candidates)} mutants are possible: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=200, help="mutants")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--quick", action="store_true", help="only tests that take seconds")
    options.add_argument("--jobs", type=int, default=1, help="compilers at a time")
    options.add_argument("--in", dest="folders", nargs="+", default=["emu", "src/fit"], help="folders or files to break")
    chosen = options.parse_args()
    sys.exit(main())
