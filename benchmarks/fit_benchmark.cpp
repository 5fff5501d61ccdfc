// Seconds that a fit takes: on the recorded answers of sm_90, and, where there is a GPU, on its answers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "src/fit/fit.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {
namespace {

void fit_recorded(benchmark::State& state, const std::string& path) {
  const Vectors vectors = read_vectors(path);
  for (auto _ : state) {
    Fit fit(*find_instruction(vectors.instruction), nullptr, {});
    fit.add_recorded(gather(vectors.tiles));
    state.SetLabel(std::string(name(fit.run().verdict)));
  }
}

void fit_live(benchmark::State& state, const Instruction* instruction) {
  try {
    const auto oracle = make_gpu_dot_oracle(*instruction);
    for (auto _ : state) {
      Fit fit(*instruction, oracle.get(), {});
      state.SetLabel(std::string(name(fit.run().verdict)));
    }
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

template <class... Args>
void add(const std::string& title, Args... args) {
  benchmark::RegisterBenchmark(title.c_str(), args...)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();
}

void add_all() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TCNUM_SOURCE_DIR "/vectors/sm_90")) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) add("recorded: " + file.stem().string(), fit_recorded, file.string());

  const GpuInfo gpu = gpu_info();
  const auto arch = gpu.present ? find_arch(gpu.arch) : std::nullopt;
  if (!arch) return;
  for (const Instruction* instruction : instructions_of(*arch))
    add("live: " + instruction->name(), fit_live, instruction);
}

}  // namespace
}  // namespace tcnum

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  tcnum::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
