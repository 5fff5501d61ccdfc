// The bench's commands: what each is told, and the function that does it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/device/gemm_timing.hpp"
#include "bench/measure/record.hpp"
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
  std::string markdown, json;
};
int run_bench_report(const BenchReportOptions& options);

struct ModelGemmOptions {
  std::string device, format = "fp16", tile, shapes, csv;  ///< empty device: this machine's, or the first recorded
  std::uint64_t m = 0, n = 0, k = 0, clock_mhz = 0;        ///< 0: not said
  bool single = false;
};
int run_model_gemm(const ModelGemmOptions& options);

struct DeviceRecord {
  bench::Document document;
  std::string file;
  std::string in_place_of;  ///< this machine's GPU, of which there is no record; empty: none was looked for in vain
};
/// The record of a device: `asked` is a file, or part of the device's name. If it is empty: the record of this
/// machine's GPU, or the first one where there is none. Throws InputError, naming the devices that there are.
DeviceRecord find_device_record(const std::string& asked);
/// One line, without its end: the device, when it was measured, driver, clock and file.
std::string record_line(const DeviceRecord& record);

inline constexpr std::uint64_t kMostProductLines = 1 << 20, kMostProductDepth = 1 << 24;  ///< of m and n, and of k

struct ShapeRow {
  GemmShape shape;
  std::optional<std::size_t> formats;  ///< its place in kGemmFormats, where the table says it
};
/// Lines of m,n,k or, if formats may be said, of m,n,k,format below a heading; "-" is standard input. Throws
/// InputError, naming the line and what is expected.
std::vector<ShapeRow> read_shapes(const std::string& path, bool may_say_formats);

/// The place in kGemmFormats of operands of that format; throws InputError, naming the option or the line.
std::size_t product_formats_of(std::string_view option, const std::string& text);

/// The commands' options (command_line.cpp), and what each does.
void add_bench(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);

}  // namespace tcnum
