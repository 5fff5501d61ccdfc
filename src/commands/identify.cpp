// tcnum identify: which datapaths and plans give these few answers.
#include <nlohmann/json.hpp>

#include "io/printable.hpp"
#include "output.hpp"
#include "src/files/matrix_file.hpp"
#include "src/files/product_matrices.hpp"
#include "src/files/written_number.hpp"
#include "src/report/identify_report.hpp"
#include "tcnum/identify.hpp"
#include "tcnum/matrix.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "vectors.hpp"

namespace tcnum {
namespace {

// --- Answers as a user has them: typed, or in a file of any form

struct GivenAnswers {
  Tiles tiles;                        ///< dense
  FormatId scales = FormatId::ue8m0;  ///< of block scales, if there are any
  bool sparse = false;                ///< of a sparse instruction, as a file says
};

constexpr std::string_view kIn = "--in";
constexpr int kBitsOfDigit = 4;

/// Formats of A and B: "fp16", or "fp8e4m3:fp8e5m2".
struct OperandPair {
  FormatId a, b;
};
OperandPair operands_of(const std::string& text) {
  if (text.empty()) throw InputError("--format: missing; expected the format of a and b, such as fp16");
  // A custom format has colons of its own.
  if (const auto whole = find_format(text)) return {*whole, *whole};
  const std::size_t colon = text.find(':');
  const FormatId a = parse_any_format("--format", text.substr(0, colon));
  return {a, colon == text.npos ? a : parse_any_format("--format", text.substr(colon + 1))};
}

/// What sums of such operands are held in.
FormatId sums_of(FormatId operands) {
  if (!format(operands).floating) return FormatId::s32;
  return operands == FormatId::fp64 ? FormatId::fp64 : FormatId::fp32;
}

/// The format of a code that is as long as the text, else of sums.
FormatId format_of_result(const std::string& option, const std::string& text, const OperandPair& of) {
  const FormatId sums = sums_of(of.a);
  if (!parse_code(text)) return sums;
  const auto bits = static_cast<int>(text.size() - 2) * kBitsOfDigit;
  constexpr int kHalf = 16;
  if (bits == format(sums).storage_bits) return sums;
  if (bits == kHalf && format(of.a).floating) return of.a == FormatId::bf16 ? FormatId::bf16 : FormatId::fp16;
  throw InputError(
      fmt::format("{}: {} has {} digits; expected {} of them, a code of {}, or --output with the format of results",
                  option, shown(text), text.size() - 2, format(sums).storage_bits / kBitsOfDigit, format(sums).name));
}

GivenAnswers typed(const IdentifyCommandOptions& options) {
  if (options.a.empty() || options.b.empty() || options.d.empty())
    throw InputError("identify: expected --in FILE, or --format, --a, --b and --d");
  const OperandPair of = operands_of(options.format);
  Numerics n;
  n.a.format = of.a;
  n.b.format = of.b;
  n.c.format = format_of_result("--c", options.c, of);
  n.result =
      options.output.empty() ? format_of_result("--d", options.d, of) : parse_any_format("--output", options.output);
  const std::size_t block =
      options.scale_block.empty() ? 32 : parse_whole("--scale-block", options.scale_block, 1, 256);
  GivenAnswers answers;
  if (!options.sa.empty() || !options.sb.empty()) {
    if (!options.scale_format.empty()) answers.scales = parse_any_format("--scale-format", options.scale_format);
    n.scales = ScaleRule{answers.scales, static_cast<int>(block)};
  }
  const Problem problem = parse_problem(n, {options.a, options.b, options.c, options.sa, options.sb},
                                        [&](const std::string& /*option*/, std::size_t given) {
                                          return n.scales ? (given + block - 1) / block * block : given;
                                        });
  answers.tiles = tile_of(n, problem);
  answers.tiles.d.set(0, code_of_printed(format(n.result), options.d, "--d"));
  return answers;
}

/// Of a file that names its instruction.
GivenAnswers of_vectors(const VectorsInFile& in) {
  return {dot_problems(in.vectors.tiles, in.vectors.metadata), in.instruction->scales.format, in.instruction->sparse()};
}

/// The dot product of k products that the options say a file has.
Instruction said_dot(const IdentifyCommandOptions& options, std::size_t k) {
  const OperandPair of = operands_of(options.format);
  const FormatId d = options.output.empty() ? sums_of(of.a) : parse_any_format("--output", options.output);
  if (k == 0 || k > kMostDotProducts) {
    throw InputError(fmt::format("{}: each dot product has {} products; expected 1 to {}, or matrices in safetensors",
                                 options.in, k, kMostDotProducts));
  }
  return make_dot(d, of.a, of.b, sums_of(of.a), static_cast<int>(k));
}

GivenAnswers of_text(const IdentifyCommandOptions& options, TextForm form) {
  TextVectors text(open_text(options.in, form));
  if (text.metadata().contains("instruction")) {
    const NamedInstruction named = instruction_of_metadata(options.in, text.metadata());
    VectorsInFile in;
    in.be_of(named.arch, *named.instruction);
    in.vectors = text.read(*named.instruction, true);
    return of_vectors(in);
  }
  const Instruction one = said_dot(options, 1);
  return {text.read(said_dot(options, text.products(one)), true).tiles};
}

/// Appends each batch's codes, row by row.
Codes batches_of(const StoredTensor& tensor, std::size_t batches) {
  Codes all = Matrix(view_of(tensor, 0)).codes();
  for (std::size_t batch = 1; batch < batches; ++batch) all.append(Matrix(view_of(tensor, batch)).codes());
  return all;
}

GivenAnswers of_matrices(const IdentifyCommandOptions& options, const ProductMatrices& matrices) {
  const StoredTensor &a = *matrices.find("A"), &b = *matrices.find("B"), &d = *matrices.find("D");
  const StoredTensor* const c = matrices.find("C");
  if (matrices.scale_parts != 0 || matrices.find("bias") != nullptr) {
    throw InputError(fmt::format("{}: {}; expected A, B, D, and no more than C and block scales beside them",
                                 options.in, matrices.scale_parts != 0 ? "has scales of fp32" : "has a bias"));
  }
  GivenAnswers answers;
  answers.tiles = make_tiles(a.format, b.format, c == nullptr ? sums_of(a.format) : c->format, d.format,
                             matrices.batches, matrices.m, matrices.n, matrices.k);
  answers.tiles.a = batches_of(a, matrices.batches);
  answers.tiles.b = batches_of(b, matrices.batches);
  if (c != nullptr) answers.tiles.c = batches_of(*c, matrices.batches);
  answers.tiles.d = batches_of(d, matrices.batches);
  if (matrices.scale_block == 0) return answers;
  const StoredTensor &sa = *matrices.find("SA"), &sb = *matrices.find("SB");
  answers.scales = sa.format;
  answers.tiles.scale_block = static_cast<int>(matrices.scale_block);
  answers.tiles.sa = batches_of(sa, matrices.batches);
  answers.tiles.sb = batches_of(sb, matrices.batches);
  return answers;
}

GivenAnswers of_arrays(const IdentifyCommandOptions& options) {
  const OperandPair of = operands_of(options.format);
  std::vector<NpyOperand> operands = {{"A", array_path(options.in, "a"), of.a},
                                      {"B", array_path(options.in, "b"), of.b}};
  std::optional<FormatId> d;
  if (!options.output.empty()) d = parse_any_format("--output", options.output);
  if (is_there(array_path(options.in, "c"))) operands.push_back({"C", array_path(options.in, "c"), {}});
  operands.push_back({"D", array_path(options.in, "d"), d});
  return of_matrices(options, read_product(operands));
}

GivenAnswers of_safetensors(const IdentifyCommandOptions& options) {
  const MatrixFile file(options.in);
  if (file.metadata().contains("instruction")) return of_vectors(read_vectors_in(options.in, {}));
  ProductRequest request{.required = {"D"}};
  if (!options.format.empty()) {
    const OperandPair of = operands_of(options.format);
    request.formats = {{"A", of.a}, {"B", of.b}};
  }
  if (!options.output.empty()) request.formats["D"] = parse_any_format("--output", options.output);
  return of_matrices(options, read_product(file, request));
}

/// What --in, or --a, --b, --c and --d, say.
GivenAnswers read_answers(const IdentifyCommandOptions& options) {
  if (options.in.empty()) return typed(options);
  const VectorForm form = vector_form(kIn, options.in, "--in-form", options.in_form);
  if (form.text) return of_text(options, *form.text);
  return form.arrays ? of_arrays(options) : of_safetensors(options);
}

}  // namespace

int run_identify(const IdentifyCommandOptions& options) {
  require_writable(options.json);
  const GivenAnswers answers = read_answers(options);
  IdentifyOptions how{.sparse = answers.sparse, .scales = answers.scales, .seed = options.seed};
  for (const std::string& name : options.archs) how.archs.push_back(parse_arch(name));
  const ProgressLine progress;
  how.progress = [&](std::size_t done, std::size_t all) {
    progress.show(fmt::format("{} of {} datapaths and plans", done, all));
  };
  const Identification found = identify(answers.tiles, how);
  progress.clear();
  constexpr std::size_t kFewOthers = 5;
  report(options.json,
         identify_text(found, answers.tiles, answers.scales,
                       options.all ? std::numeric_limits<std::size_t>::max() : kFewOthers),
         identify_document(found, answers.tiles, answers.scales));
  return found.agreeing() > 0 ? kAgreed : kDisagreed;
}

}  // namespace tcnum
