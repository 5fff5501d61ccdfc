#!/usr/bin/env python3
"""Breaks one line at a time and asks whether the tests notice.

    tests/mutation/mutate.py [--count 200] [--from 0] [--seed 1] [--in emu src/fit] [--except emu/cpu/panels] [--quick] [--survivors]

Each mutant is one small change, drawn at random: a comparison that includes its end or does not, a sum that is a
difference, a statement that is not there. It is built in a copy of the last commit under build-mutants/, and test
programs run on it, one at a time, those first that noticed most for the seconds that they cost; only programs that run
are linked, and the first that fails ends it. A mutant becomes

    killed            a test fails, crashes, or takes several times the CPU time or memory that it should
    survived          no test fails: something is not tested, or not needed
    does not compile  the compiler notices (warnings are errors)
    same code         the compiler makes the same of it
    explained         it survived, and equivalent.json says why nobody could see it

build-mutants/mutants.jsonl remembers: a later call goes on from there, with what was tried before in the first places.
Where a file has not changed, what was killed stays so; survivors have to survive new tests too. One core is enough, at
the lowest priority.
Exit status: 0, or 1 if one survived; 2 for wrong usage; 3 if the commit itself does not build or pass.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build-mutants"
TREE = FOLDER / "tree"
BUILD = TREE / "build"
RECORD = FOLDER / "mutants.jsonl"
SECONDS = FOLDER / "seconds.json"
EQUIVALENT = ROOT / "tests/mutation/equivalent.json"

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
    block_order_test catalogue_test classes_test codes32_test cuda_operands_test datapath_json_test
    differential_test elimination_test emulator_test explain_test fit_test format_test gpu_emulator_test matmul_test
    minimise_test misuse_test panels_test patch_cut_test placement_test published_test questions_test
    reference_test report_test sparse_tiles_test stream_test threads_test
""".split()
# Those that take minutes, which come last, and only for these folders; --quick leaves them out.
LONG_TESTS = {
    "cuda_kernels_test": "emu/gpu",
    "recorded_test": "emu",
    "integer_fit_test": "src/fit",
    "equivalence_test": "src/fit",
    "catalogue_blind_test": "src/fit",
    "wide_blind_test": "src/fit",
}
MEMORY = 6 << 30  # of addresses; more than any test needs
ENVIRONMENT = {**os.environ, "RC_PARAMS": "seed=1", "GTEST_BRIEF": "1", "GTEST_FAIL_FAST": "1"}


def fail(status, message):
    print(f"mutate: {message}", file=sys.stderr)
    sys.exit(status)


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def limited(command, cpu_seconds):
    """Runs a command, which may take so much CPU time. Its exit status (not 0 if it took too long), and what it took."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:  # a mutant may also wait for ever; the machine may be slow
        done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, preexec_fn=limit, timeout=300 + 60 * cpu_seconds)
        status, said = done.returncode, (done.stdout + done.stderr).decode(errors="replace")
    except subprocess.TimeoutExpired:
        status, said = -1, "waits"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ninja(*targets):
    done = subprocess.run(["ninja", "-C", BUILD, "-j", str(chosen.jobs), *targets], capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


class Program:
    """One of the tests, as it is without a mutant."""

    def __init__(self, name, seconds):
        """`seconds` has what programs of known digests took; others are run."""
        self.name = name
        self.path = BUILD / "tests" / name
        self.digest = digest(self.path)
        self.kills = []  # files of mutants that it killed
        if self.digest not in seconds:
            status, said, seconds[self.digest] = limited([self.path], 600)
            if status != 0:
                fail(3, f"{name} fails without a mutant:\n{said[-4000:]}")
        self.seconds = seconds[self.digest]

    def promise(self, name):
        """How likely it notices what is wrong with that file, for what it costs: linking it is a good part of that."""
        room = name.rpartition("/")[0]
        likely = 0.5 + sum(8 if other == name else 2 if other.startswith(room) else 0.5 for other in self.kills)
        return likely / (self.seconds + 0.3)

    def concerns(self, name):
        return name.startswith(LONG_TESTS.get(self.name, ""))


def prepare():
    """Brings the copy to the last commit and builds it. The tests' digest; the objects of sources; the tests' programs."""
    commit = git(ROOT, "rev-parse", "HEAD")
    if not TREE.exists():
        FOLDER.mkdir(exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, TREE], check=True)
    git(TREE, "checkout", "--quiet", "--force", "--detach", commit)  # its objects are ROOT's
    print(f"mutate: building and running the tests of {commit[:12]}", file=sys.stderr)
    configured = subprocess.run(
        ["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTCNUM_TESTS=ON",
         "-DTCNUM_GPU=OFF", "-DTCNUM_DEVELOPER=ON", "-DTCNUM_TOGETHER=OFF"], capture_output=True, text=True)  # fmt: skip
    if configured.returncode != 0:
        fail(3, f"the commit itself cannot be configured:\n{configured.stderr[-4000:]}")
    names = [*TESTS] if chosen.quick else [*TESTS, *LONG_TESTS]
    built, said = ninja(*names)
    if not built:
        fail(3, f"the commit itself does not build:\n{said[-4000:]}")
    seconds = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    programs = [Program(name, seconds) for name in names]
    SECONDS.write_text(json.dumps(seconds))
    tests = hashlib.sha256(git(TREE, "ls-files", "--stage", "tests/*.cpp", "tests/*.hpp").encode()).hexdigest()
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    objects = {}
    for each in commands:
        output = re.search(r" -o (\S+\.o) ", each["command"]).group(1)
        objects.setdefault(pathlib.Path(each["file"]).relative_to(TREE).as_posix(), []).append(output)
    return tests, objects, programs


def places(names):
    """All places where a line of code can be broken: file, line, how often the line was there before, what it becomes."""
    found = []
    for name in names:
        seen = {}
        for number, line in enumerate((TREE / name).read_text().splitlines()):
            nth = seen[line] = seen.get(line, -1) + 1
            code = line.split("//")[0].rstrip()
            if not code.strip() or code.lstrip().startswith("#") or '"' in code or "template" in code:
                continue
            for pattern, replacement in RULES:
                for match in re.finditer(pattern, code):
                    mutant = code[: match.start()] + replacement + code[match.end() :]
                    found.append({"file": name, "line": line.strip(), "nth": nth, "mutant": mutant.strip(), "number": number})
    return found


def key(place):
    return place["file"], place["line"], place["nth"], place["mutant"]


def draw(place):
    """A random number that is the mutant's own: others that come or go with the code do not change the order."""
    return hashlib.sha256(repr((chosen.seed, *key(place))).encode()).digest()


def sources(folders, exceptions):
    found = set()
    for folder in folders:
        path = TREE / folder
        if not path.exists():
            fail(2, f"--in: {folder} is not there; expected a folder or file such as emu/exact")
        found |= {path} if path.is_file() else {each for each in path.rglob("*") if each.suffix in {".cpp", ".hpp"}}
    names = sorted(path.relative_to(TREE).as_posix() for path in found)
    return [name for name in names if not any(name == each or name.startswith(each.rstrip("/") + "/") for each in exceptions)]


def outcome(name, objects, originals, programs):
    """What becomes of the mutant that is in the tree: a word, the program that noticed, the mutant's CPU seconds."""
    for output in objects.get(name, []):  # of a .cpp file; the first says whether it compiles
        built, _ = ninja(output)
        if not built:
            return "does not compile", ""
    if objects.get(name) and all(digest(BUILD / output) == originals[output] for output in objects[name]):
        return "same code", ""
    same = True
    for program in sorted(programs, key=lambda each: (each.name in LONG_TESTS, -each.promise(name))):
        if not program.concerns(name):
            continue
        built, _ = ninja(program.name)
        if not built:
            return "does not compile", ""
        if digest(program.path) == program.digest:
            continue
        same = False
        status, _, _ = limited([program.path], int(5 * program.seconds + 5))
        if status != 0:
            program.kills.append(name)
            return "killed", program.name
    return ("same code" if same else "survived"), ""


def try_out(place, objects, originals, programs):
    path = TREE / place["file"]
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    indent = lines[place["number"]][: -len(lines[place["number"]].lstrip())]
    lines[place["number"]] = indent + place["mutant"] + "\n"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        path.write_text("".join(lines))
        became, by = outcome(place["file"], objects, originals, programs)
    finally:
        path.write_text(text)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return became, by, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_equivalent():
    """What equivalent.json explains; each entry must still be about a line that is there."""
    explained = {}
    for entry in json.loads(EQUIVALENT.read_text()):
        there = (TREE / entry["file"]).exists() and any(
            place["line"] == entry["line"] and place["mutant"] == entry["mutant"] for place in places([entry["file"]]))
        if not there or not entry["why"]:
            fail(2, f"{EQUIVALENT.relative_to(ROOT)}: {entry['file']} has no line that becomes '{entry['mutant']}'; expected"
                    " file, line, mutant and why of one that is there")  # fmt: skip
        explained[entry["file"], entry["line"], entry["mutant"]] = entry["why"]
    return explained


def main():
    os.nice(19)
    tests, objects, programs = prepare()
    originals = {output: digest(BUILD / output) for outputs in objects.values() for output in outputs if (BUILD / output).exists()}
    objects = {name: [output for output in outputs if output in originals] for name, outputs in objects.items()}
    explained = read_equivalent()
    candidates = places(sources(chosen.folders, chosen.exceptions))
    by_name = {program.name: program for program in programs}
    known = {}
    for entry in map(json.loads, RECORD.read_text().splitlines()) if RECORD.exists() else ():
        known[key(entry)] = entry
        if entry["became"] == "killed" and entry["by"] in by_name:
            by_name[entry["by"]].kills.append(entry["file"])
    candidates.sort(key=lambda place: (key(place) not in known, draw(place)))
    if chosen.survivors:
        candidates = [place for place in candidates if known.get(key(place), {}).get("became") == "survived"]
    tried = candidates[chosen.first : chosen.first + chosen.count]
    counts = dict.fromkeys(["killed", "survived", "does not compile", "same code", "explained"], 0)
    seconds = 0
    digests = {}
    for place in tried:
        name = place["file"]
        content = digests.setdefault(name, digest(TREE / name))
        entry = known.get(key(place))
        survived_less = entry is not None and entry["became"] == "survived" and (entry["tests"] != tests or entry["quick"] > chosen.quick)
        if entry is None or entry["content"] != content or survived_less:
            started = time.monotonic()
            became, by, took = try_out(place, objects, originals, programs)
            entry = {**place, "became": became, "by": by, "cpu_seconds": round(took, 1),
                     "seconds": round(time.monotonic() - started), "content": content, "tests": tests,
                     "quick": chosen.quick}  # fmt: skip
            seconds += took
            with RECORD.open("a") as record:
                record.write(json.dumps(entry) + "\n")
        became = entry["became"]
        if became == "survived" and (name, place["line"], place["mutant"]) in explained:
            became = "explained"
        counts[became] += 1
        print(f"{became:<17}{entry['by']:<20}{name}:{place['number'] + 1}", flush=True)
        if became == "survived":
            print(f"    {place['line']}\n    {place['mutant']}", flush=True)
    print(f"{len(candidates)} mutants are possible, {len(tried)} were tried: "
          + ", ".join(f"{count} {what}" for what, count in counts.items()) + f" ({seconds:.0f} CPU seconds)")  # fmt: skip
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=200, help="mutants")
    options.add_argument("--from", dest="first", type=int, default=0, help="how many to leave out before")
    options.add_argument("--survivors", action="store_true", help="only those that survived before")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--quick", action="store_true", help="only tests that take seconds")
    options.add_argument("--jobs", type=int, default=1, help="compilers at a time")
    options.add_argument("--in", dest="folders", nargs="+", default=["emu", "src/fit"], help="folders or files to break")
    options.add_argument("--except", dest="exceptions", nargs="+", default=[], help="folders or files to leave")
    chosen = options.parse_args()
    sys.exit(main())
