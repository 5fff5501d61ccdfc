// The commands: what each is told, and the function that does it. Each is in the file of its name, but for convert,
// which is in generate.cpp; command_line.cpp is the only one that knows how the options are spelled. A wrong option is
// an InputError.
#pragma once

#include <fmt/format.h>

#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

enum ExitStatus : int { kAgreed = 0, kDisagreed = 1, kWrongInput = 2, kUnavailable = 3 };

// An option that was not given is empty. `json`, and all that is written, may be "-": standard output.

/// Of `--from exec:COMMAND`: what the program computes, where that is no instruction, and how long it may take.
struct ProgramCommandOptions {
  std::string a, b, c, d, k, scale_block, scale_format;
  double time_limit = 60;
  bool any_nan = false;
};

struct ProbeOptions {
  std::string arch, format, instruction, from, record, json, table;
  ProgramCommandOptions program;
  std::uint64_t seed = 1;
};
int run_probe(const ProbeOptions& options);

struct VerifyOptions {
  std::vector<std::string> vectors;
  std::string campaign;
  std::string datapath, json, arch, instruction, from, devices, checkpoint, record, disagreements;
  std::string count, chunk, shard;
  ProgramCommandOptions program;
  std::vector<std::string> distributions;
  std::uint64_t seed = 1;
  bool all = false;
};
int run_verify(const VerifyOptions& options);

struct GenerateOptions {
  std::string arch, instruction, datapath, distribution = "gaussian", count, out, form;
  std::uint64_t seed = 1;
  bool exact = false;
};
int run_generate(const GenerateOptions& options);

struct ConvertOptions {
  std::string arch, instruction, datapath, in, in_form, out, form;
};
int run_convert(const ConvertOptions& options);

struct EmulateOptions {
  std::string arch, instruction, in, in_form, out, form, datapath;
  std::uint64_t threads = 0;  ///< 0: all
  bool exact = false, serve = false;
};
int run_emulate(const EmulateOptions& options);

struct ExplainOptions {
  std::vector<std::string> archs, instructions, datapaths, plans;
  std::string format, in, at, a, b, c, d, sa, sb, json;
  std::uint64_t index = 0;
  double alpha = 1;            ///< with --plan
  std::optional<double> beta;  ///< not given: 1 where there is a C, else 0
  bool all = false;
};
int run_explain(const ExplainOptions& options);

struct IdentifyCommandOptions {
  std::vector<std::string> archs;
  std::string format, output, in, in_form, a, b, c, d, sa, sb, scale_block, scale_format, json;
  std::uint64_t seed = 1;
  bool all = false;
};
int run_identify(const IdentifyCommandOptions& options);

struct GemmCommandOptions {
  std::string in, out, a, b, c, d, bias, scale_a, scale_b, exact_a, exact_b, format, scale_format, plan, output;
  std::string processor;
  double alpha = 1;
  std::optional<double> beta;  ///< not given: 1 where there is a C, else 0
  bool fit = false, error = false;
  bool epilogue = false;                   ///< of --fit
  std::string arch = "sm_90", from, json;  ///< of --fit
  std::vector<std::string> formats, shapes, layouts;
  std::uint64_t algorithms = 32, seed = 1;
  double time_limit = 60;  ///< of exec:
};
int run_gemm(const GemmCommandOptions& options);

struct DiffCommandOptions {
  std::vector<std::string> archs, instructions, datapaths, plans;  ///< one or two of each
  std::string format, output, json, svg, most_k = "65536";
  std::uint64_t seed = 1;
  bool all = false;
};
int run_diff(const DiffCommandOptions& options);

struct ListOptions {
  std::vector<std::string> archs, formats;
  std::string json, table, instruction, datapath;
  bool evaluators = false, known = false, measured = false, works = false;
};
int run_list(const ListOptions& options);
/// --works: of these instructions of the architecture, those that anybody has published anything of. Throws
/// UnavailableError if answers are recorded of none of these.
int list_works(const ListOptions& options, ArchId id, const std::vector<const Instruction*>& instructions);

struct SassOptions {
  std::string arch, text, nvcc, json;
};
int run_sass(const SassOptions& options);

}  // namespace tcnum
