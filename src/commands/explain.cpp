// tcnum explain: one dot product, bit by bit, as one datapath computes it or several.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "explain_matrix.hpp"
#include "io/printable.hpp"
#include "names.hpp"
#include "operands.hpp"
#include "output.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/report/choice.hpp"
#include "src/report/element_report.hpp"
#include "src/report/explain.hpp"
#include "src/report/explain_sides.hpp"
#include "src/report/identify_report.hpp"
#include "src/report/layout.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"
#include "tcnum/identify.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "vectors.hpp"

namespace tcnum {
namespace {

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

/// The only one of several, or none.
std::string only(const std::vector<std::string>& given) { return given.size() == 1 ? given[0] : ""; }

std::size_t index_of_place(const std::string& at, const Tiles& tiles) {
  const auto place = parse_place("--at", at, {tiles.count, tiles.m, tiles.n}, "tile,row,column");
  return (place[0] * tiles.m + place[1]) * tiles.n + place[2];
}

FromFile question_of_file(const ExplainOptions& options) {
  // Of several architectures the file's need not be one.
  const bool several = options.archs.size() > 1;
  VectorsInFile of =
      read_vectors_in(options.in, {.arch = several ? "" : only(options.archs),
                                   .instruction = several ? "" : only(options.instructions),
                                   .datapath = options.datapaths.empty() ? "" : options.datapaths.front(),
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
      const NamedDatapath found = named_datapath(name);
      if (file_) check_datapath_fits(found.datapath, *file_->of.instruction, name);
      add({"", printable(name), "", ""}, found.datapath);
    }
    if (options_.all)
      add_all();
    else
      add_named();
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

  void add_instruction(ArchId id, const Instruction& in) {
    std::vector<std::string> accounts = options_.accounts;
    if (accounts.empty()) accounts.emplace_back();
    for (const std::string& account : accounts) {
      NamedDatapath of = choose_datapath({}, id, in, "--instr", account);
      if (file_) check_takes_file(id, in);
      add({std::string(arch(id).name), in.name(), of.account, of.origin, {}, of.lowered_to}, of.datapath);
    }
  }
  void check_takes_file(ArchId id, const Instruction& in) const {
    const Instruction& of = *file_->of.instruction;
    if (in.products() == of.products() && in.a == of.a && in.b == of.b && in.c == of.c && in.scales == of.scales)
      return;
    throw InputError(
        fmt::format("--instr: {} of {} does not take the operands of {}; expected one of the same "
                    "formats and k",
                    in.name(), arch(id).name, options_.in));
  }

  void add_named() {
    if (file_ && options_.archs.size() < 2) {
      if (options_.datapaths.empty()) add_instruction(*file_->of.arch, *file_->of.instruction);
      return;
    }
    if (options_.archs.empty() && !options_.datapaths.empty() && options_.instructions.empty() &&
        options_.format.empty()) {
      if (!options_.accounts.empty())
        throw InputError("--account: is of --arch and --instr; expected it or --datapath ARCH:INSTRUCTION:ACCOUNT");
      return;
    }
    std::vector<std::string> names = options_.instructions;
    if (names.empty() && file_ && file_->of.arch) names.push_back(file_->of.instruction->name());
    if (options_.archs.empty() || names.empty() == options_.format.empty()) {
      throw InputError(
          "explain: --arch or --instr: missing; expected both, or --arch and --format, or --datapath, or --in "
          "FILE");
    }
    std::vector<bool> is_some(names.size(), false);
    for (const std::string& arch_name : options_.archs) {
      const ArchId id = parse_arch(arch_name);
      if (names.empty()) {
        for (const Instruction* chosen : instructions_for(parse_operands(options_.format, id))) {
          choices_ += choice_text(id, *chosen);
          add_instruction(id, *chosen);
        }
      }
      for (std::size_t i = 0; i < names.size(); ++i) {
        // Of several architectures, each has some of several instructions.
        const Instruction* const known = find_instruction(names[i]);
        if (names.size() > 1 && known != nullptr && !known->archs.contains(id)) continue;
        add_instruction(id, parse_instruction(names[i], id));
        is_some[i] = true;
      }
    }
    if (const auto none = std::ranges::find(is_some, false); none != is_some.end()) {
      throw InputError(fmt::format("--instr: none of the architectures has {}",
                                   names[static_cast<std::size_t>(none - is_some.begin())]));
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
  if (options.json != "-" && options.latex != "-") say(text);
  if (!options.json.empty()) {
    nlohmann::ordered_json json = sides_document(sides);
    if (!observed.empty()) json["observed"] = observed;
    if (!asked.is_null()) json["asked"] = asked;
    write_json(options.json, json);
  }
  if (!options.latex.empty()) write_text(options.latex, sides_latex(sides));
}

int run_plans(const ExplainOptions& options) {
  const ElementOfProduct found = element_of_product(options);
  const bool is_chain = found.plans.size() == 1 && found.plans.front().is_one_chain();
  if (!options.latex.empty() && !is_chain)
    throw InputError("--latex: tables are of one datapath's sums; expected one plan that is one chain");
  if (options.json != "-" && options.latex != "-")
    say((is_chain ? single_text(found.chain) + "\n" : "") + element_text(found.plans, found.observed, is_chain));
  if (!options.json.empty()) write_json(options.json, element_document(found.plans, found.chain, found.observed));
  if (!options.latex.empty()) write_text(options.latex, sides_latex({found.chain}));
  return kAgreed;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  for (const std::string& written : {options.json, options.latex}) {
    if (!written.empty()) require_writable(written);
  }
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
