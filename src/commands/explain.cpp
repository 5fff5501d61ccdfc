// tcnum explain: one dot product, bit by bit, as one datapath computes it or several; or an element of a whole matrix
// product.
#include <nlohmann/json.hpp>

#include "gemm.hpp"
#include "io/printable.hpp"
#include "src/catalogue/names.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/report/datapath_text.hpp"
#include "src/report/explain.hpp"
#include "src/report/identify_report.hpp"
#include "src/report/layout.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/identify.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "vectors.hpp"

namespace tcnum {
namespace {

// --- An element of a whole matrix product

struct ElementOfProduct {
  /// One or two: where one is asked for and the file's D is another, also a named plan that gives it, if there is one.
  std::vector<ExplainedElement> plans;
  ExplainedSide chain;                    ///< the first plan's first accumulator
  std::optional<std::uint64_t> observed;  ///< the file's D, where it is of the plans' format
};

struct Place {
  std::size_t batch = 0, row = 0, column = 0;
};

/// "row,column", or "batch,row,column".
Place place_of(const ExplainOptions& options, const ProductMatrices& matrices) {
  if (!matrices.batched) {
    const auto at = parse_place("--at", options.at, {matrices.m, matrices.n}, "row,column");
    return {0, at[0], at[1]};
  }
  const auto at = parse_place("--at", options.at, {matrices.batches, matrices.m, matrices.n}, "batch,row,column");
  return {at[0], at[1], at[2]};
}

/// What a plan makes of the element at a place.
struct AskedElement {
  const BatchInputs& of;
  GemmInputs others;
  Place at;

  ExplainedElement by(const std::string& name, const GemmPlan& plan) const {
    return {name, trace_element(plan, of.a(), of.b(), others, at.row, at.column)};
  }
};

/// The first of the named plans whose D has that code there.
std::optional<ExplainedElement> named_plan_that_gives(std::uint64_t code, FormatId output, const AskedElement& asked) {
  const FormatId operands = asked.of.a().format();
  for (const NamedPlan& named : named_plans()) {
    if (std::ranges::find(named.operands, operands) == named.operands.end()) continue;
    try {
      ExplainedElement found = asked.by(std::string(named.name), named_plan(named.name, operands, output));
      if (found.trace.d == code) return found;
    } catch (const InputError&) {  // it takes no such scales
    }
  }
  return std::nullopt;
}

/// The plan's instruction, from +0 on.
ExplainedSide chain_of(const ExplainedElement& element) {
  const GemmPlan& plan = element.trace.plan;
  const Problem& problem = element.trace.chains.at(0);
  const bool is_instruction = !plan.datapath && find_instruction(plan.instruction) != nullptr;
  if (!is_instruction) {
    return make_side({"", printable(plan.datapath ? element.name : plan.instruction), "", ""}, element.trace.datapath,
                     problem);
  }
  const ArchId id = parse_arch(plan.arch);
  NamedDatapath named = choose_datapath({}, id, parse_instruction(plan.instruction, id), element.name, plan.account);
  return make_side({plan.arch, plan.instruction, named.account, named.origin}, std::move(named.datapath), problem);
}

/// That of --in, --plan and --at, with the C, bias and scales that the file has.
ElementOfProduct element_of_product(const ExplainOptions& options) {
  constexpr std::size_t kMostPlans = 2;
  if (options.plans.size() > kMostPlans) throw InputError("--plan: expected one plan, or two to compare");
  const ProductMatrices matrices = read_product(MatrixFile(options.in), {.optional = {"C", "bias", "D", "SA", "SB"}});
  const Place place = place_of(options, matrices);
  const BatchInputs inputs(matrices, place.batch);
  const AskedElement asked{inputs, inputs.others(options.alpha, options.beta), place};
  ElementOfProduct found;
  for (const std::string& name : options.plans)
    found.plans.push_back(asked.by(name, parse_plan(name, inputs.a().format())));
  found.chain = chain_of(found.plans.front());
  const StoredTensor* const d = matrices.find("D");
  const bool is_theirs = d != nullptr && std::ranges::all_of(found.plans, [&](const auto& each) {
                           return each.trace.plan.output == d->format;
                         });
  if (!is_theirs) return found;
  found.observed = Matrix(view_of(*d, place.batch))(place.row, place.column);
  if (found.plans.size() == 1 && *found.observed != found.plans.front().trace.d) {
    if (auto other = named_plan_that_gives(*found.observed, found.plans.front().trace.plan.output, asked))
      found.plans.push_back(*std::move(other));
  }
  return found;
}

// --- A dot product

/// A dot problem as an instruction takes it, and what a file has for its result.
struct FromFile {
  VectorsInFile of;
  Problem problem;
  std::uint64_t observed;
  std::string modifiers;  ///< what the file says that the instruction did with its operands; lines
};

/// problem_at() has the operands as dot_problems() left them; this says what it did.
std::string modifiers_text(const Vectors& vectors, std::size_t index) {
  const auto is = [&](const char* key, std::string_view value) {
    const auto found = vectors.metadata.find(key);
    return found != vectors.metadata.end() && found->second == value;
  };
  std::string text;
  for (const auto& [key, operand] : {std::pair{"scale_a", "a"}, std::pair{"scale_b", "b"}}) {
    if (is(key, "-1")) text += fmt::format("  {} is -1: each {} has the opposite sign of the file's\n", key, operand);
  }
  if (is("scale_d", "0")) {
    const Format& f = format(vectors.tiles.c_format);
    const std::uint64_t c = vectors.tiles.c[index];
    text += fmt::format("  scale_d is 0: c is 0, and not the file's {} = {}\n", hex(f, c), number_text(f, c));
  }
  return text.empty() ? text : text + "\n";
}

std::size_t index_of_place(const std::string& at, const Tiles& tiles) {
  const auto place = parse_place("--at", at, {tiles.count, tiles.m, tiles.n}, "tile,row,column");
  return (place[0] * tiles.m + place[1]) * tiles.n + place[2];
}

FromFile question_of_file(const ExplainOptions& options) {
  if (options.archs.size() > 1 || options.instructions.size() > 1)
    throw InputError("--in: is of one instruction; expected others as --datapath ARCH:INSTRUCTION beside it");
  const auto first = [](const std::vector<std::string>& given) { return given.empty() ? "" : given.front(); };
  VectorsInFile of = read_vectors_in(options.in, {.arch = first(options.archs),
                                                  .instruction = first(options.instructions),
                                                  .datapath = first(options.datapaths),
                                                  .results = false});
  const Vectors& vectors = of.vectors;
  const std::size_t index = options.at.empty() ? options.index : index_of_place(options.at, vectors.tiles);
  if (index >= vectors.tiles.size()) {
    throw InputError(fmt::format("--index: {}; expected a number below {}, the results of {}", index,
                                 vectors.tiles.size(), options.in));
  }
  Problem problem = problem_at(dot_problems(vectors.tiles, vectors.metadata), index);
  const std::uint64_t observed = vectors.tiles.d[index];
  std::string modifiers = modifiers_text(vectors, index);
  return {std::move(of), std::move(problem), observed, std::move(modifiers)};
}

/// Whose datapaths explain the problem.
class Sides {
 public:
  Sides(const ExplainOptions& options, const std::optional<FromFile>& file) : options_(options), file_(file) {}

  std::vector<ExplainedSide> found() {
    for (const std::string& name : options_.datapaths) {
      NamedDatapath found = named_datapath(name);
      if (file_) check_datapath_fits(found.datapath, *file_->of.instruction, name);
      if (const auto in = catalogue_name_of(name))
        add_instruction(in->arch, parse_instruction(in->instruction, in->arch), std::move(found));
      else
        add({"", printable(name), "", ""}, found.datapath);
    }
    const bool names_none = options_.archs.empty() && options_.instructions.empty() && options_.format.empty();
    if (options_.all) {
      add_all();
    } else if (file_) {
      if (options_.datapaths.empty()) add_instruction(*file_->of.arch, *file_->of.instruction);
    } else if (options_.datapaths.empty() || !names_none) {
      add_named();
    }
    return std::move(sides_);
  }
  /// Instructions that the operands are none for.
  std::size_t left_out() const { return left_out_; }
  /// Which instructions were chosen for a format; empty if the user named them.
  const std::string& choices() const { return choices_; }

 private:
  void add(ExplainedOf of, const Datapath& datapath) {
    // Most instructions have another one's datapath.
    const auto like =
        std::ranges::find_if(sides_, [&](const ExplainedSide& side) { return side.datapath == datapath; });
    if (like != sides_.end()) {
      of.operands = like->of.front().operands;
      like->of.push_back(std::move(of));
      return;
    }
    const Problem problem =
        file_ ? file_->problem
              : parse_problem(datapath, {options_.a, options_.b, options_.c, options_.sa, options_.sb});
    sides_.push_back(make_side(std::move(of), datapath, problem));
  }

  void add_instruction(ArchId id, const Instruction& in, NamedDatapath of) {
    add({std::string(arch(id).name), in.name(), of.account, of.origin, {}, of.lowered_to}, of.datapath);
  }
  void add_instruction(ArchId id, const Instruction& in) {
    add_instruction(id, in, choose_datapath({}, id, in, "--instr"));
  }

  void add_named() {
    if (options_.archs.empty() || options_.instructions.empty() == options_.format.empty()) {
      throw InputError(
          "explain: --arch or --instr: missing; expected both, or --arch and --format, or --datapath, or --in FILE");
    }
    for (const std::string& arch_name : options_.archs) {
      const ArchId id = parse_arch(arch_name);
      for (const std::string& name : options_.instructions) add_instruction(id, parse_instruction(name, id));
      if (options_.format.empty()) continue;
      for (const Instruction* chosen : instructions_for(parse_operands(options_.format, id))) {
        choices_ += choice_text(id, *chosen);
        add_instruction(id, *chosen);
      }
    }
  }

  void add_all() {
    if (!options_.format.empty()) require_format_name("--format", options_.format);
    std::optional<InputError> last;
    for (const Arch& each : kArchs) {
      for (const Instruction* in : instructions_asked_for(each.id)) {
        if (!is_asked_for(*in) || catalogue(each.id, *in).empty()) continue;
        try {
          add_instruction(each.id, *in);
        } catch (const InputError& error) {
          ++left_out_;
          last = error;
        }
      }
    }
    if (sides_.empty() && last) throw *last;
    if (sides_.empty())
      throw InputError("--all: the catalogue has no such instruction; expected what `tcnum list` shows");
  }
  std::vector<const Instruction*> instructions_asked_for(ArchId id) const {
    if (options_.format.empty()) return instructions_of(id);
    const std::optional<Operands> operands = find_operands(options_.format, id);
    return operands ? instructions_of(*operands) : std::vector<const Instruction*>();
  }
  bool is_asked_for(const Instruction& in) const {
    if (in.a != in.b) return false;
    return options_.instructions.empty() ||
           std::ranges::any_of(options_.instructions, [&](const std::string& name) { return in.name() == name; });
  }

  const ExplainOptions& options_;
  const std::optional<FromFile>& file_;
  std::vector<ExplainedSide> sides_;
  std::size_t left_out_ = 0;
  std::string choices_;
};

/// Of one instruction or file.
std::string single_text(const ExplainedSide& side) {
  const ExplainedOf& of = side.of.front();
  const std::string title =
      of.arch.empty() ? fmt::format("datapath {}", of.instruction)
                      : fmt::format("{} on {}, datapath {} ({})", of.marked_name(), of.arch, of.account, of.origin);
  constexpr std::size_t kMostSums = 12;  // that are shown bit by bit
  const auto busy = static_cast<std::size_t>(
      std::ranges::count_if(side.explanation.nodes, [](const ExplainedNode& node) { return !node.idle; }));
  return title + "\n\n" + (busy > kMostSums ? sides_text({side}) : explain_text(side.datapath, side.problem));
}

/// Whether somebody's answer is that of the sides, and who else of the catalogue gives it.
struct AskedAnswer {
  std::string text;
  nlohmann::ordered_json json;
};
AskedAnswer asked_answer(const std::string& d, const std::vector<ExplainedSide>& sides) {
  const ExplainedSide& first = sides.front();
  const Numerics& n = first.datapath.numerics;
  const Format& result = format(n.result);
  const std::uint64_t code = code_of_printed(result, d, "--d");
  std::vector<bool> is_its(sides.size());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Format& f = format(sides[i].datapath.numerics.result);
    is_its[i] = f.id == result.id && same_result(f.id, sides[i].explanation.d, code);
    const std::string who = sides.size() == 1 ? "this datapath" : fmt::format("row {}", i + 1);
    lines.push_back(is_its[i] ? fmt::format("{} gives it", who)
                              : fmt::format("{} gives {}", who, number_text(f, sides[i].explanation.d)));
  }
  std::string text = "\n" + wrapped(fmt::format("Asked whether d is {} = {}: {}.", hex(result, code),
                                                number_text(result, code), fmt::join(lines, ", ")),
                                    0);
  const nlohmann::ordered_json none = nlohmann::ordered_json::array();
  if (std::ranges::any_of(std::array{n.a.format, n.b.format, n.c.format, n.result}, is_own)) {
    return {text + "The catalogue has no datapath of a custom format.\n",
            {{"d", hex(result, code)}, {"given_by", is_its}, {"matches", none}}};
  }
  Tiles asked = tile_of(n, first.problem);
  asked.d.set(0, code);
  IdentifyOptions how;
  if (n.scales) how.scales = n.scales->format;
  const Identification found = identify(asked, how);
  text += found.agreeing() == 0 ? "Nothing of the catalogue gives it.\n"
                                : "Of the catalogue, it is given by:\n\n" + matches_text(found, asked);
  return {std::move(text), {{"d", hex(result, code)}, {"given_by", is_its}, {"matches", matches_json(found)}}};
}

/// `observed` is a file's result, if there is one.
void write(const ExplainOptions& options, const std::string& text, const std::vector<ExplainedSide>& sides,
           const std::string& observed, const nlohmann::ordered_json& asked = nullptr) {
  nlohmann::ordered_json json = sides_document(sides);
  if (!observed.empty()) json["observed"] = observed;
  if (!asked.is_null()) json["asked"] = asked;
  report(options.json, text, json);
}

int run_plans(const ExplainOptions& options) {
  const ElementOfProduct found = element_of_product(options);
  const bool is_chain = found.plans.size() == 1 && found.plans.front().is_one_chain();
  report(options.json,
         (is_chain ? single_text(found.chain) + "\n" : "") + element_text(found.plans, found.observed, is_chain),
         element_document(found.plans, found.chain, found.observed));
  return kAgreed;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  require_writable(options.json);
  if (!options.plans.empty()) return run_plans(options);
  std::optional<FromFile> file;
  if (!options.in.empty()) file = question_of_file(options);
  Sides asked(options, file);
  const std::vector<ExplainedSide> sides = fold(asked.found());

  const bool single = sides.size() == 1 && sides.front().of.size() == 1;
  std::string text = (file ? file->modifiers : "") + asked.choices();
  text += single ? single_text(sides.front()) : sides_text(sides);
  if (file) text += fmt::format("  the file has {}\n", hex(format(file->of.instruction->d), file->observed));
  if (asked.left_out() > 0) {
    text +=
        "\n" + wrapped(fmt::format("Left out: {} whose formats lack one of the operands, or that cannot take so many "
                                   "products one after the other.",
                                   plural(asked.left_out(), "instruction")),
                       0);
  }
  AskedAnswer answer;
  if (!options.d.empty()) answer = asked_answer(options.d, sides);
  write(options, text + answer.text, sides, file ? hex(format(file->of.instruction->d), file->observed) : "",
        answer.json);
  return kAgreed;
}

}  // namespace tcnum
