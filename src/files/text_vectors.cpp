#include "dot_vectors.hpp"

#include <fmt/ranges.h>

#include "io/printable.hpp"
#include "problem_fields.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "written_number.hpp"

namespace tcnum {
namespace {

struct FormRow {
  std::string_view name, comment;  ///< the latter: what a comment begins with
  std::array<std::string_view, 2> endings;
};
constexpr std::array<FormRow, 2> kForms = {{{"csv", "#", {".csv", ""}}, {"hex", "//", {".hex", ".mem"}}}};
const FormRow& row(TextForm form) { return kForms[static_cast<std::size_t>(form)]; }

// --- What a problem consists of

std::size_t digits_of(const ProblemField& field) {
  return static_cast<std::size_t>((format(field.format_id).storage_bits + 3) / 4);
}

/// A field and one of its elements.
struct Column {
  const ProblemField* field;
  std::size_t element;
  std::string name() const {
    const bool alone = field->of == ProblemField::Of::element;
    return alone ? std::string(field->name) : fmt::format("{}{}", field->name, element);
  }
  std::size_t digits() const { return digits_of(*field); }
  const Format& its_format() const { return format(field->format_id); }
};
std::vector<Column> columns_of(const std::vector<ProblemField>& fields) {
  std::vector<Column> columns;
  for (const ProblemField& field : fields) {
    for (std::size_t s = 0; s < field.count; ++s) columns.push_back({&field, s});
  }
  return columns;
}

// --- Reading

/// Whether a comment may begin with it as a key of metadata.
bool is_key(std::string_view text) {
  const auto of_a_key = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !text.empty() && std::ranges::all_of(text, of_a_key);
}

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words = split(text, ' ');
  std::erase(words, "");
  return words;
}

/// Puts problems together.
class Collector {
 public:
  Collector(std::string path, const Instruction& instruction)
      : path_(std::move(path)), in_(instruction), fields_(problem_fields(instruction)), columns_(columns_of(fields_)) {}

  const std::vector<Column>& columns() const { return columns_; }
  const std::string& path() const { return path_; }

  [[noreturn]] void fail(std::size_t line, std::string_view what) const {
    throw InputError(fmt::format("{}: line {}: {}", path_, line, what));
  }

  /// How many elements the lines have: all, or all but the result, and all lines as many.
  void set_width(std::size_t line, std::size_t width) {
    if (width_ == 0 && (width == columns_.size() || width + 1 == columns_.size())) width_ = width;
    if (width == width_) return;
    const std::string right = width_ != 0
                                  ? fmt::format("{}, as the lines before have", width_)
                                  : fmt::format("{}, or {} without results", columns_.size(), columns_.size() - 1);
    fail(line, fmt::format("has {} elements; expected {} ({})", width, right, in_.name()));
  }

  void add(const std::vector<std::uint64_t>& codes) {
    codes_.insert(codes_.end(), codes.begin(), codes.end());
    codes_.resize(++problems_ * columns_.size());
  }

  Tiles finish(bool results_required) const {
    if (problems_ == 0) throw InputError(fmt::format("{}: no dot product; expected one or more lines", path_));
    if (results_required && width_ != columns_.size())
      throw InputError(fmt::format("{}: d: missing; expected results as the last of each line", path_));
    Tiles tiles = make_operands(in_, problems_, 1, 1);
    auto code = codes_.begin();
    for (std::size_t t = 0; t < problems_; ++t) {
      for (const auto& [field, s] : columns_) (tiles.*field->codes).set(field->index(tiles, t, 0, 0, s), *code++);
    }
    check_positions({path_}, "e", tiles, in_);
    return tiles;
  }

 private:
  std::string path_;
  const Instruction& in_;
  std::vector<ProblemField> fields_;
  std::vector<Column> columns_;
  std::size_t width_ = 0, problems_ = 0;
  std::vector<std::uint64_t> codes_;  ///< of all problems, each in the order of the columns
};

void take_names(const Collector& to, std::size_t line, const std::vector<std::string_view>& names) {
  const std::vector<Column>& columns = to.columns();
  for (std::size_t i = 0; i < std::min(names.size(), columns.size()); ++i) {
    if (names[i] != columns[i].name())
      to.fail(line,
              fmt::format("column {}: {}; expected {}", i + 1, in_quotes(std::string(names[i])), columns[i].name()));
  }
}

/// One code between others, of a field's width at most.
std::uint64_t code_of_digits(const Collector& to, std::size_t line, const Column& column, std::string_view digits) {
  const Format& f = column.its_format();
  const std::optional<std::uint64_t> code =
      digits.size() <= column.digits() ? parse_code(fmt::format("0x{}", digits)) : std::nullopt;
  if (!code || (*code & ~f.code_mask()) != 0) {
    to.fail(line, fmt::format("{}: {}; expected {} hexadecimal digits, a code of {}", column.name(),
                              in_quotes(std::string(digits)), column.digits(), f.name));
  }
  return *code;
}

/// A word of all elements, with or without underscores.
void take_word(Collector& to, std::size_t line, std::string_view word) {
  if (word.starts_with('@')) to.fail(line, "an address; expected words from the first address on");
  std::string digits(word);
  std::erase(digits, '_');
  const std::vector<Column>& columns = to.columns();
  std::size_t all = 0;
  for (const Column& column : columns) all += column.digits();
  const std::size_t without = all - columns.back().digits();
  if (digits.size() != all && digits.size() != without) {
    to.fail(line, fmt::format("a word of {} digits; expected {}, or {} without results", digits.size(), all, without));
  }
  to.set_width(line, digits.size() == all ? columns.size() : columns.size() - 1);
  std::vector<std::uint64_t> codes;
  std::string_view left = digits;
  for (std::size_t i = 0; !left.empty(); ++i) {
    codes.push_back(code_of_digits(to, line, columns[i], left.substr(0, columns[i].digits())));
    left.remove_prefix(columns[i].digits());
  }
  to.add(codes);
}

void take_numbers(Collector& to, std::size_t line, const std::vector<std::string_view>& numbers) {
  to.set_width(line, numbers.size());
  std::vector<std::uint64_t> codes;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Column& column = to.columns()[i];
    const std::string where = fmt::format("{}: line {}: {}", to.path(), line, column.name());
    codes.push_back(code_of_written(column.its_format(), numbers[i], where));
  }
  to.add(codes);
}

// --- Writing

constexpr std::size_t kPiece = std::size_t{1} << 16;

}  // namespace

std::string_view name(TextForm form) { return row(form).name; }

std::optional<TextForm> find_text_form(std::string_view name) {
  const auto found = std::ranges::find(kForms, name, &FormRow::name);
  if (found == kForms.end()) return std::nullopt;
  return static_cast<TextForm>(found - kForms.begin());
}

std::optional<TextForm> text_form_of(std::string_view path) {
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    for (const std::string_view ending : kForms[i].endings) {
      if (!ending.empty() && path.ends_with(ending)) return static_cast<TextForm>(i);
    }
  }
  return std::nullopt;
}

TextVectors::TextVectors(std::string path, TextForm form, std::string text)
    : path_(std::move(path)), form_(form), text_(std::move(text)), lines_(split(text_, '\n')) {
  const std::string_view comment = row(form_).comment;
  for (; first_ < lines_.size(); ++first_) {
    std::string_view line = lines_[first_];
    if (line.empty()) continue;
    if (!line.starts_with(comment)) break;
    line.remove_prefix(comment.size());
    const std::size_t colon = line.find(": ");
    const std::string key(trimmed(line.substr(0, colon)));
    if (colon == line.npos || !is_key(key)) continue;
    if (!metadata_.emplace(key, trimmed(line.substr(colon + 2))).second)
      throw InputError(fmt::format("{}: line {}: {}: stands twice; expected one such comment", path_, first_ + 1, key));
  }
}

std::size_t TextVectors::products(const Instruction& one) const {
  if (first_ == lines_.size()) return 0;
  const std::string_view line = lines_[first_];
  if (form_ == TextForm::csv) {
    const std::size_t elements = split(line, ',').size();
    return elements < 2 ? 0 : (elements - 2) / 2;  // c and d are two of them
  }
  std::string digits(words_of(line).front());
  std::erase(digits, '_');
  const auto digits_in = [](FormatId id) { return static_cast<std::size_t>((format(id).storage_bits + 3) / 4); };
  const std::size_t ends = digits_in(one.c) + digits_in(one.d);
  return digits.size() < ends ? 0 : (digits.size() - ends) / (digits_in(one.a) + digits_in(one.b));
}

Vectors TextVectors::read(const Instruction& instruction, bool results_required) const {
  Collector to(path_, instruction);
  bool named = form_ != TextForm::csv;
  for (std::size_t i = first_; i < lines_.size(); ++i) {
    const std::size_t number = i + 1;
    const std::string_view line = trimmed(lines_[i].substr(0, lines_[i].find(row(form_).comment)));
    if (line.empty()) continue;
    if (form_ == TextForm::hex) {
      for (const std::string_view word : words_of(line)) take_word(to, number, word);
    } else if (!named) {
      const std::vector<std::string_view> names = split(line, ',');
      take_names(to, number, names);
      to.set_width(number, names.size());
      named = true;
    } else {
      take_numbers(to, number, split(line, ','));
    }
  }
  Vectors vectors;
  vectors.tiles = to.finish(results_required);
  put_metadata(metadata_, vectors);
  return vectors;
}

void print_vectors(const Vectors& vectors, const Instruction& instruction, TextForm form,
                   const std::function<void(std::string_view)>& write) {
  const std::vector<ProblemField> fields = problem_fields(instruction);
  const std::vector<Column> columns = columns_of(fields);
  std::string text;
  // A key that could not be read back stands in quotes, so that the reader takes its line for no metadata.
  for (const auto& [key, value] : metadata_of(vectors)) {
    if (!value.empty())
      text += fmt::format("{} {}: {}\n", row(form).comment, is_key(key) ? key : in_quotes(key), printable(value));
  }
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name());
  const bool is_csv = form == TextForm::csv;
  const char between = is_csv ? ',' : '_';
  text += fmt::format("{}{}\n", is_csv ? "" : "// ", fmt::join(names, std::string(1, between)));
  const Tiles& tiles = vectors.tiles;
  for (std::size_t t = 0; t < tiles.count; ++t) {
    for (std::size_t i = 0; i < tiles.m; ++i) {
      for (std::size_t j = 0; j < tiles.n; ++j) {
        for (const auto& [field, s] : columns) {
          fmt::format_to(std::back_inserter(text), "{}{:0{}x}{}", is_csv ? "0x" : "",
                         (tiles.*field->codes)[field->index(tiles, t, i, j, s)], digits_of(*field), between);
        }
        text.back() = '\n';
        if (text.size() < kPiece) continue;
        write(text);
        text.clear();
      }
    }
  }
  write(text);
}

}  // namespace tcnum
