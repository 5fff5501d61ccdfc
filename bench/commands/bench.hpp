// The bench's commands: what each is told, and the function that does it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/commands/program.hpp"

namespace tcnum {

/// What `tcnum bench NAME` measures.
struct BenchSuite {
  const char* name;
  const char* meaning;
  std::vector<std::string> measurements;  ///< empty: all
};
std::span<const BenchSuite> bench_suites();

struct BenchOptions {
  std::vector<std::string> globs, axes;
  std::string arch, json, checkpoint, shapes;
  bool list = false;
  double seconds = 0.25;
  std::uint64_t seed = 1;
};
int run_bench(const BenchSuite& suite, const BenchOptions& options);

struct BenchReportOptions {
  std::vector<std::string> files;
  std::string device, section;  ///< empty device, where there are no files: this machine's, or the first recorded
  std::string markdown, html, json;
};
int run_bench_report(const BenchReportOptions& options);

struct ModelGemmOptions {
  std::string device, format = "fp16", tile, shapes, csv, svg;  ///< empty device: this machine's, or the first recorded
  std::uint64_t m = 0, n = 0, k = 0, clock_mhz = 0;             ///< 0: not said
  bool single = false;
};
int run_model_gemm(const ModelGemmOptions& options);

/// Their options (command_line.cpp), and what each does.
void add_bench(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);

}  // namespace tcnum
