// Dot products a second on one core: the fast emulator, for whole tiles and one at a time as the fit asks for them, and
// the exact one beside it.
#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "emu/cpu/cpu_emulator.hpp"
#include "src/questions/families.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kSide = 8;
constexpr std::size_t kFastTiles = 256, kExactTiles = 4;
constexpr int kWatchedExponent = -132;

struct Case {
  std::string name;
  const Instruction* instruction;
  Datapath datapath;
};

const Instruction& instruction(const char* name) {
  const Instruction* found = find_instruction(name);
  if (found == nullptr) throw std::logic_error(std::string("no instruction ") + name);
  return *found;
}

Datapath example(const std::string& name) {
  return read_datapath(std::string(TCNUM_SOURCE_DIR) + "/docs/datapaths/" + name + ".json");
}

/// A published datapath of the same structure, with the formats and the length of another instruction.
Datapath adapted(Datapath datapath, const Instruction& in) {
  datapath.numerics.a.format = in.a;
  datapath.numerics.b.format = in.b;
  datapath.tree.k = in.products();
  return datapath;
}

/// Blocks of `size` products in a chain that starts from c.
Datapath chain_of_blocks(const std::string& name, const Instruction& in, int size) {
  Datapath datapath = adapted(example(name), in);
  datapath.tree.nodes.clear();
  Term sum{Term::Kind::accumulator, 0};
  for (int first = 0; first < in.products(); first += size) {
    Node node{0, {sum}};
    for (int k = first; k < first + size; ++k) node.terms.push_back({Term::Kind::product, k});
    sum = {Term::Kind::node, static_cast<int>(datapath.tree.nodes.size())};
    datapath.tree.nodes.push_back(std::move(node));
  }
  validate(datapath, name);
  return datapath;
}

Datapath one_block(const std::string& name, const Instruction& in) { return chain_of_blocks(name, in, in.products()); }

std::vector<Case> cases() {
  const Instruction& e4m3 = instruction("wgmma.m64n8k32.f32.e4m3.e4m3");
  const Instruction& lowered = instruction("mma.m16n8k32.f32.e4m3.e4m3.f32");
  const Instruction& half = instruction("mma.m16n8k16.f32.f16.f16.f32");
  const Instruction& bf16 = instruction("mma.m16n8k16.f32.bf16.bf16.f32");
  const Instruction& tf32 = instruction("mma.m16n8k8.f32.tf32.tf32.f32");
  const Instruction& s8 = instruction("mma.m16n8k32.s32.s8.s8.s32");
  const Instruction& b1 = instruction("mma.m16n8k256.s32.b1.b1.s32.and.popc");
  const Instruction& fp64_4 = instruction("mma.m8n8k4.f64.f64.f64.f64");
  const Instruction& fp64_16 = instruction("mma.m16n8k16.f64.f64.f64.f64");
  return {
      {"fp8e4m3 k=32, one block, 13 bits", &e4m3, one_block("hopper-fp8-e8m13", e4m3)},
      {"fp8e4m3 k=32, one block, 25 bits", &e4m3, one_block("hopper-fp16", e4m3)},
      {"fp8e4m3 k=32, lowered to fp16", &lowered, adapted(example("hopper-fp8-lowered"), lowered)},
      {"fp16 k=16, one block, 25 bits", &half, one_block("hopper-fp16", half)},
      {"fp16 k=16, two blocks, 24 bits", &half, adapted(example("ampere-fp16"), half)},
      {"bf16 k=16, one block, 25 bits", &bf16, one_block("hopper-fp16", bf16)},
      {"tf32 k=8, one block, 25 bits", &tf32, one_block("hopper-fp16", tf32)},
      {"s8 k=32, one block", &s8, one_block("ampere-s8", s8)},
      {"s8 k=32, blocks of 4", &s8, chain_of_blocks("ampere-s8", s8, 4)},
      {"b1 k=256, one block", &b1, one_block("ampere-s8", b1)},
      {"fp64 k=4, FMA chain", &fp64_4, chain_of_blocks("fp64-fma-chain", fp64_4, 1)},
      {"fp64 k=16, FMA chain", &fp64_16, chain_of_blocks("fp64-fma-chain", fp64_16, 1)},
  };
}

Tiles operands(const Case& each, std::size_t count) {
  return make_family_tiles(*each.instruction, Family::gaussian, 1, 0, count, kSide, kSide);
}

/// "columns", or several in the order of the table.
std::string evaluators_on_cpu(const Datapath& datapath) {
  std::string names;
  for (const EvaluatorAnswer& answer : evaluators_of(datapath)) {
    if (answer.processor == Processor::cpu && answer.nodes > 0)
      names += (names.empty() ? "" : ", ") + std::string(answer.name);
  }
  return names;
}

void run_fast(benchmark::State& state, const Case& each) {
  const Emulator emulator(each.datapath);
  Tiles tiles = operands(each, kFastTiles);
  for (auto _ : state) {
    emulator.run(tiles);
    benchmark::DoNotOptimize(tiles.d.bytes().data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tiles.size()));
  state.SetLabel(evaluators_on_cpu(each.datapath));
}

void run_traced(benchmark::State& state, const Case& each) {
  const CpuEmulator emulator(each.datapath);
  const Tiles tiles = operands(each, kFastTiles);
  const Numerics& n = each.datapath.numerics;
  const DecodedTiles decoded(tiles, n.a, n.b, n.c);
  for (auto _ : state) {
    for (std::size_t t = 0; t < tiles.count; ++t) {
      for (std::size_t i = 0; i < tiles.m; ++i) {
        for (std::size_t j = 0; j < tiles.n; ++j) {
          unsigned consulted = 0;
          benchmark::DoNotOptimize(emulator.dot(decoded, t, i, j, kWatchedExponent, consulted));
          benchmark::DoNotOptimize(consulted);
        }
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tiles.size()));
}

void run_exact(benchmark::State& state, const Case& each) {
  Tiles tiles = operands(each, kExactTiles);
  for (auto _ : state) {
    emulate_exact(each.datapath, tiles);
    benchmark::DoNotOptimize(tiles.d.bytes().data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tiles.size()));
}

}  // namespace
}  // namespace tcnum

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const tcnum::Case& each : tcnum::cases()) {
    benchmark::RegisterBenchmark(("fast: " + each.name).c_str(), tcnum::run_fast, each);
    benchmark::RegisterBenchmark(("traced: " + each.name).c_str(), tcnum::run_traced, each);
    benchmark::RegisterBenchmark(("exact: " + each.name).c_str(), tcnum::run_exact, each);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
