#!/usr/bin/env python3
"""Holds what tcnum writes, and the JSON of vectors/, against docs/schemas: check.py TCNUM SOURCE PRODUCT_BENCHMARK.

The validator is python3-jsonschema, Debian's and the specification's own; 77 where it is missing."""
import copy
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import warnings

SKIPPED = 77

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not here")
    sys.exit(SKIPPED)
warnings.simplefilter("ignore", DeprecationWarning)  # RefResolver: Debian's version has no registry yet

PROGRAM, SOURCE, BENCHMARK = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
SCHEMAS = {}
for path in sorted((SOURCE / "docs/schemas").glob("*.json")):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    SCHEMAS[schema["properties"]["schema"]["const"]] = schema
STORE = {schema["$id"]: schema for schema in SCHEMAS.values()}


def errors_of(document, kind=None):
    schema = SCHEMAS[kind or document["schema"]]
    resolver = jsonschema.RefResolver.from_schema(schema, store=STORE)
    return list(jsonschema.Draft202012Validator(schema, resolver=resolver).iter_errors(document))


failures = []


def require(document, what, kind=None):
    for error in errors_of(document, kind)[:3]:
        failures.append(f"{what}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")


def refuses_changes(document, what):
    """A member more, or one that is required less, is no such document."""
    changed = copy.deepcopy(document)
    changed["nonsense"] = 1
    if not errors_of(changed):
        failures.append(f"{what}: takes a member that nobody writes")
    for member in SCHEMAS[document["schema"]]["required"]:
        if member == "schema":
            continue
        changed = copy.deepcopy(document)
        del changed[member]
        if not errors_of(changed):
            failures.append(f"{what}: does without {member}")


def first_and_some(items, step):
    return items[:50] + items[50::step]


FP16 = "mma.m16n8k16.f32.f16.f16.f32"
HOPPER = str(SOURCE / "docs/datapaths/hopper-fp16.json")
LIVE = ["--arch", "sm_90", "--instr", FP16, "--from", "datapath:" + HOPPER]
RECORDED = str(SOURCE / "vectors/sm_90" / (FP16 + ".safetensors"))
PLAN = {"schema": "tcnum.gemm_plan/1", "name": "", "instruction": "wgmma.m64n8k16.f32.f16.f16", "arch": "sm_90",
        "output": "fp32"}


def npy(descr, shape, values, code):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
        f"<{len(values)}{code}", *values)


def safetensors(tensors):
    """Tensors of fp16: name to shape and values."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [len(data), len(data) + 2 * len(values)]}
        data += struct.pack(f"<{len(values)}e", *values)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def bench_of(date, subject):
    """A row that goes over fewer values of an axis than it could."""
    return json.dumps({"schema": "tcnum.bench/1", "version": "1", "settings": {},
                       "device": {"name": "G", "arch": "sm_90", "sms": 1, "driver": "1", "cuda": "1", "date": date},
                       "records": [{"measurement": "clusters", "subject": subject, "axes": {"blocks": 2},
                                    "settings": {"parallel": "1,2"}, "values": {}, "series": {}}]}).encode()


INPUTS = {
    "monday.json": bench_of("2026-11-23", "latency"),
    "tuesday.json": bench_of("2026-11-24", "ring"),
    "plan.json": json.dumps(PLAN).encode(),
    "a.npy": npy("<f2", (8, 16), [1 + i / 64 for i in range(128)], "e"),
    "b.npy": npy("<f2", (16, 8), [3 - i / 32 for i in range(128)], "e"),
    "sa.npy": npy("<f4", (8, 2), [1 + i / 3 for i in range(16)], "f"),
    "m.safetensors": safetensors({"A": ([2, 300], [1 + i / 1024 for i in range(600)]),
                                  "B": ([300, 2], [3 - i / 512 for i in range(600)])}),
    "d.npy": npy("<f4", (8, 8), [i / 3 for i in range(64)], "f"),
}
COMMANDS = {
    "gemm --fit": ["gemm", "--fit", "--from", "plan:plan.json", "--formats", "fp16:fp32", "--shape", "16x16x64"],
    "gemm --fit --epilogue": ["gemm", "--fit", "--epilogue", "--from", "plan:plan.json", "--formats", "fp16:fp32",
                              "--shape", "16x16x64"],
    "gemm --error": ["gemm", "--error", "--a", "a.npy", "--b", "b.npy", "--d", "d.npy"],
    "gemm --error --plan": ["gemm", "--error", "--a", "a.npy", "--b", "b.npy", "--plan", "plan.json"],
    "gemm --error --exact-a": ["gemm", "--error", "--a", "a.npy", "--b", "b.npy", "--d", "d.npy", "--scale-a", "sa.npy",
                               "--exact-a", "a.npy"],
    "probe": ["probe", *LIVE, "--record", "p.safetensors"],
    "probe recorded": ["probe", "--from", RECORDED],
    "probe refuted": ["probe", "--from", str(SOURCE / "vectors/sm_90/wgmma.m64n8k8.f32.tf32.tf32.safetensors")],
    "probe integers": ["probe", "--from", str(SOURCE / "vectors/sm_90/mma.m16n8k32.s32.s8.s8.s32.safetensors")],
    "list": ["list", "--known", "--format", "fp8e5m2"],
    "list measured": ["list", "--arch", "sm_90", "--instr", "wgmma.*"],
    "works": ["list", "--works", "--arch", "sm_90", "--format", "fp8e4m3"],
    "evaluators": ["list", "--evaluators", "--datapath", HOPPER],
    "datapath": ["list", "--datapath", "sm_90:" + FP16],
    "diff": ["diff", "--arch", "sm_80", "--arch", "sm_90", "--format", "fp16"],
    "diff of equals": ["diff", "--datapath", HOPPER, "--datapath", HOPPER],
    "diffs": ["diff", "--all", "--format", "tf32"],
    "plan diff": ["diff", "--plan", "nvjet-fp8", "--plan", "nvjet-fp8-slow", "--format", "fp8e4m3", "--most-k", "256"],
    "explain": ["explain", "--arch", "sm_90", "--instr", FP16, "--a", "-32,0x1.004p0,inf", "--b", "-8,2,0", "--c", "1"],
    "explain all": ["explain", "--all", "--c", "2^23", "--a", "-2^12,-0.5,-0.25,-0.125", "--b", "2^11,1,1,1"],
    "identify": ["identify", "--format", "fp16", "--a", "1,2", "--b", "3,2^-14", "--d", "0x40400200"],
    "identify scales": ["identify", "--format", "fp8e4m3", "--a", "1", "--b", "3", "--sa", "2", "--d", "6"],
    "explain plans": ["explain", "--in", "m.safetensors", "--at", "1,1", "--plan", "nvjet", "--plan", "chain"],
    "explain a file's": ["explain", "--in", RECORDED, "--index", "4000", "--datapath", HOPPER],
    "bench report": ["bench", "report", str(SOURCE / "vectors/sm_90/bench.json")],
    "bench report of two days": ["bench", "report", "monday.json", "tuesday.json"],
    "verify": ["verify", "--vectors", "p.safetensors", RECORDED],
    "verify alone": ["verify", "--vectors", "alone.safetensors", "--datapath", HOPPER],
    "verify another": ["verify", "--vectors", "p.safetensors", "--datapath", "sm_80:" + FP16],
    "verify streams": ["verify", *LIVE, "--count", "1e5", "--record", "campaigns.json", "--checkpoint", "c.json"],
    "verify other streams": ["verify", *LIVE, "--count", "1e5", "--datapath", "sm_80:" + FP16],
    "verify campaign": ["verify", "--campaign", "campaigns.json", "--arch", "sm_90"],
}


def without_metadata(path):
    """The bytes of a vector file that says nothing of an instruction."""
    length = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + length])
    del header["__metadata__"]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + path.read_bytes()[8 + length :]


seen = set()
with tempfile.TemporaryDirectory() as folder:
    for name, content in INPUTS.items():
        pathlib.Path(folder, name).write_bytes(content)
    pathlib.Path(folder, "alone.safetensors").write_bytes(without_metadata(pathlib.Path(RECORDED)))
    for name, arguments in COMMANDS.items():
        written = pathlib.Path(folder, "o.json")
        written.unlink(missing_ok=True)
        done = subprocess.run([PROGRAM, *arguments, "--json", str(written)], cwd=folder, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin"}, check=False)
        if done.returncode not in (0, 1) or not written.exists():
            failures.append(f"{name}: status {done.returncode}: {done.stderr}")
            continue
        document = json.loads(written.read_text())
        seen.add(document["schema"])
        require(document, name)
        refuses_changes(document, name)
    subprocess.run([BENCHMARK, "--size", "16", "--runs", "1", "--only", "fp8", "--json", "b.json"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    for name in ("campaigns.json", "c.json", "b.json"):
        document = json.loads(pathlib.Path(folder, name).read_text())
        seen.add(document["schema"])
        require(document, name)
        refuses_changes(document, name)

for path in sorted((SOURCE / "docs/datapaths").glob("*.json")):
    require(json.loads(path.read_text()), path.name, "tcnum.datapath/1")
RECORDS = {name: json.loads((SOURCE / f"vectors/sm_90/{name}.json").read_text())
           for name in ("sass", "campaigns", "gemm", "bench", "gemm_tails", "gemm_fp32", "gemm_ragged",
                        "gemm_epilogues_fp8", "gemm_vectors_fp64")}
RECORDS["campaigns"]["campaigns"] = first_and_some(RECORDS["campaigns"]["campaigns"], 997)
RECORDS["gemm_epilogues_fp8"]["products"] = RECORDS["gemm_epilogues_fp8"]["products"][:2]
for what, document in RECORDS.items():
    seen.add(document["schema"])
    require(document, what)
    refuses_changes(document, what)
seen.add(PLAN["schema"])
refuses_changes(RECORDS["gemm"]["cases"][0]["plan"], "gemm.json: plan")

for kind in sorted(set(SCHEMAS) - seen):
    failures.append(f"{kind}: has a schema that nothing here was held against")
print("\n".join(failures) or f"{len(seen)} kinds of documents are as {SOURCE / 'docs/schemas'} says")
sys.exit(1 if failures else 0)
