#include "product_matrices.hpp"

#include <fmt/ranges.h>

#include <deque>

namespace tcnum {
namespace {

enum class Axis : std::uint8_t { batch, m, k, n, blocks, one, scaled_rows, scaled_columns, parts };
constexpr std::array<std::string_view, 9> kAxisNames = {
    "batches", "M", "K", "N", "K/block", "1", "1 or M", "1, N/128 or N", "parts of K"};
constexpr std::size_t kColumnsOfABlock = 128;  // which may share a scale of B

constexpr std::string_view name_of(Axis axis) { return kAxisNames[static_cast<std::size_t>(axis)]; }

std::string axes_text(const std::vector<Axis>& axes) {
  std::vector<std::string_view> names;
  for (const Axis axis : axes) names.push_back(name_of(axis));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

struct OperandRule {
  std::string_view name;
  std::vector<Axis> axes;  ///< without the batches
  bool scales;
};
/// A and B first, as they say how large the others are; D last, as it has the batch axis if any other has.
const std::array<OperandRule, 9>& operand_rules() {
  static const std::array<OperandRule, 9> kRules = {{
      {"A", {Axis::m, Axis::k}, false},
      {"B", {Axis::k, Axis::n}, false},
      {"C", {Axis::m, Axis::n}, false},
      {"bias", {Axis::n}, false},
      {"SA", {Axis::m, Axis::blocks}, true},
      {"SB", {Axis::blocks, Axis::n}, true},
      {"exact_A", {Axis::m, Axis::k}, false},
      {"exact_B", {Axis::k, Axis::n}, false},
      {"D", {Axis::m, Axis::n}, false},
  }};
  return kRules;
}
constexpr std::string_view kResults = "D";

/// A tensor before its elements are read.
struct Declared {
  const OperandRule* rule;
  Subject subject;
  std::string shape_field, type_field;
  std::string elsewhere;  ///< where the format is said if the type does not tell; empty: nowhere
  TensorDescription description;
  std::function<StoredTensor()> read;

  /// Scales of fp32 are one for all of the tensor, or some for its lines and for parts of K; others are one for each
  /// block of products.
  std::vector<Axis> axes() const {
    if (!rule->scales || description.format != FormatId::fp32) return rule->axes;
    if (description.shape.size() < 2) return {Axis::one};
    return scaled_axes();
  }
  /// Of scales of fp32 for lines and parts.
  std::vector<Axis> scaled_axes() const {
    if (rule->axes.front() == Axis::m) return {Axis::scaled_rows, Axis::parts};
    return {Axis::parts, Axis::scaled_columns};
  }
};

/// The extents of the axes, and which tensor says so.
class Extents {
 public:
  Extents() { (*this)[Axis::one] = {1, ""}; }

  /// Takes what a tensor says of axes that none spoke of before; of others it must say the same.
  void add(const Declared& declared) {
    const std::vector<std::size_t>& shape = declared.description.shape;
    std::vector<Axis> axes = declared.axes();
    const bool has_batches = shape.size() == axes.size() + 1;
    if (has_batches) axes.insert(axes.begin(), Axis::batch);
    if (shape.size() != axes.size()) fail(declared, axes, "");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Known& known = (*this)[axes[i]];
      if (known.extent == 0) known = {shape[i], declared.rule->name};
      if (known.extent != shape[i]) {
        fail(declared, axes,
             known.from.empty() ? ""
                                : fmt::format(" with {} = {}, as {} has", name_of(axes[i]), known.extent, known.from));
      }
    }
    const Known &k = (*this)[Axis::k], &blocks = (*this)[Axis::blocks];
    if (blocks.extent != 0 && k.extent % blocks.extent != 0) {
      fail(declared, axes, fmt::format(" with a K/block that divides K = {}", k.extent));
    }
    check_lines(declared, axes);
    if (declared.rule->name == kResults && !has_batches && extent(Axis::batch) != 0) {
      axes.insert(axes.begin(), Axis::batch);
      fail(declared, axes,
           fmt::format(" with batches = {}, as {} has", extent(Axis::batch), (*this)[Axis::batch].from));
    }
  }

  /// 0: no tensor has it.
  std::size_t extent(Axis axis) const { return known_[static_cast<std::size_t>(axis)].extent; }

 private:
  struct Known {
    std::size_t extent = 0;
    std::string_view from;
  };
  Known& operator[](Axis axis) { return known_[static_cast<std::size_t>(axis)]; }

  /// Scales of fp32 are for lines of a matrix that A or B has told.
  void check_lines(const Declared& declared, const std::vector<Axis>& axes) const {
    const std::size_t m = extent(Axis::m), n = extent(Axis::n);
    const std::size_t rows = extent(Axis::scaled_rows), columns = extent(Axis::scaled_columns);
    if (rows > 1 && rows != m) fail(declared, axes, fmt::format(" with M = {}", m));
    if (columns > 1 && columns != n && columns != (n + kColumnsOfABlock - 1) / kColumnsOfABlock)
      fail(declared, axes, fmt::format(" with N = {}", n));
  }

  [[noreturn]] static void fail(const Declared& declared, const std::vector<Axis>& axes, std::string_view with) {
    const std::string others = axes.back() == Axis::one ? ", or " + axes_text(declared.scaled_axes()) : "";
    declared.subject.fail(declared.shape_field, "[{}]; expected {}{}{}{}", fmt::join(declared.description.shape, ", "),
                          axes_text(axes), others, with.empty() ? ", or batches of it" : "", with);
  }

  std::array<Known, kAxisNames.size()> known_;
};

void check_scale_format(const Declared& declared) {
  constexpr std::array kScaleFormats = {FormatId::fp32, FormatId::ue8m0, FormatId::ue4m3};
  const FormatId id = declared.description.format;
  if (!declared.rule->scales || std::ranges::find(kScaleFormats, id) != kScaleFormats.end()) return;
  const std::string others =
      declared.elsewhere.empty() ? "" : fmt::format(", or {}, ue8m0 or ue4m3", declared.elsewhere);
  declared.subject.fail(declared.type_field, "{} is no format of scales; expected fp32{}", format(id).name, others);
}

/// Vectors of several batches, [batches, N], as matrices of one row, [batches, 1, N]: else they are one matrix.
StoredTensor as_rows(StoredTensor vectors) {
  const std::size_t batches = vectors.shape[0], n = vectors.shape[1];
  if (std::exchange(vectors.column_major, false)) {
    const Codes columns = vectors.codes;
    for (std::size_t i = 0; i < columns.size(); ++i) vectors.codes.set(i, columns[i % n * batches + i / n]);
  }
  vectors.shape = {batches, 1, n};
  return vectors;
}

/// `declared` in the order of the rules.
ProductMatrices read_declared(const std::vector<Declared>& declared) {
  Extents extents;
  for (const Declared& each : declared) {
    check_scale_format(each);
    extents.add(each);
  }
  ProductMatrices product;
  product.m = extents.extent(Axis::m);
  product.n = extents.extent(Axis::n);
  product.k = extents.extent(Axis::k);
  product.batched = extents.extent(Axis::batch) != 0;
  if (product.batched) product.batches = extents.extent(Axis::batch);
  if (extents.extent(Axis::blocks) != 0) product.scale_block = product.k / extents.extent(Axis::blocks);
  product.scale_parts = extents.extent(Axis::parts);
  for (const Declared& each : declared) {
    StoredTensor tensor = each.read();
    const bool of_vectors = each.axes().size() == 1 && tensor.shape.size() == 2;
    product.tensors.emplace(each.rule->name, of_vectors ? as_rows(std::move(tensor)) : std::move(tensor));
  }
  return product;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Without them there is no product.
bool is_factor(const OperandRule& rule) { return rule.name == "A" || rule.name == "B"; }

}  // namespace

ProductMatrices read_product(const MatrixFile& file, const ProductRequest& request) {
  std::vector<Declared> declared;
  for (const OperandRule& rule : operand_rules()) {
    const std::string name(rule.name);
    const bool required = is_factor(rule) || contains(request.required, name);
    if (!required && !(contains(request.optional, name) && file.has(name))) continue;
    if (!file.has(name)) {
      Subject{file.path()}.fail(tensor_field(name), "missing; expected a tensor {}", axes_text(rule.axes));
    }
    const auto asked = request.formats.find(name);
    const std::optional<FormatId> format = asked == request.formats.end() ? std::nullopt : std::optional(asked->second);
    declared.push_back({&rule, Subject{file.path()}, tensor_field(name, "shape"), tensor_field(name, "dtype"),
                        MatrixFile::format_field(name), file.describe(name, format),
                        [&file, name, format] { return file.read(name, format); }});
  }
  return read_declared(declared);
}

ProductMatrices read_product(std::span<const NpyOperand> operands) {
  std::deque<NpyFile> files;  // an open file does not move
  std::vector<Declared> declared;
  for (const OperandRule& rule : operand_rules()) {
    const auto operand = std::ranges::find(operands, rule.name, &NpyOperand::name);
    if (operand == operands.end()) {
      if (is_factor(rule)) throw std::invalid_argument("read_product: A and B must be given");
      continue;
    }
    const NpyFile& file = files.emplace_back(operand->path);
    const std::optional<FormatId> format = operand->format;
    declared.push_back({&rule, Subject{file.path()}, "shape", "descr", "", describe_npy(file, format),
                        [&file, format] { return read_npy(file, format); }});
  }
  return read_declared(declared);
}

}  // namespace tcnum
