// Matrix products by instructions: who computes, and whether the matrices fit.
#include <fmt/format.h>

#include <string>

#include "emu/cpu/matrix_product.hpp"
#include "emu/parallel.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

std::string_view name_of(FormatId id) { return format(id).name; }

/// Who computes, and what an error calls it.
struct Performer {
  Datapath datapath;
  FormatId a, b, c, d;
  std::string name;
  std::size_t depth() const { return static_cast<std::size_t>(datapath.tree.k); }
};

/// Whether codes of a matrix can be an operand: fp32 codes are tf32 operands as they are.
bool can_be(FormatId matrix, FormatId operand) {
  return matrix == operand || (matrix == FormatId::fp32 && operand == FormatId::tf32);
}

// --- Choosing who computes.

const Instruction& named_instruction(std::string_view text, std::optional<ArchId> id) {
  const Instruction* const found = find_instruction(text);
  if (found == nullptr) {
    throw InputError(
        fmt::format("matmul: instruction {} is unknown; right would be one that `tcnum list` shows", text));
  }
  if (id && !found->archs.contains(*id)) {
    throw InputError(fmt::format("matmul: {} does not have {}; right would be one that `tcnum list --arch {}` shows",
                                 arch(*id).name, found->name(), arch(*id).name));
  }
  if (found->sparse()) {
    throw InputError(fmt::format("matmul: instruction {} is sparse; right would be one with a dense A", found->name()));
  }
  return *found;
}

/// Of the instructions that take the formats and have a datapath in the catalogue, the one to prefer.
const Instruction& fitting_instruction(const MatrixView& a, const MatrixView& b, const MatrixView* c, ArchId id) {
  const Instruction* best = nullptr;
  for (const Instruction* in : instructions_of(id)) {
    const bool takes = can_be(a.format(), in->a) && can_be(b.format(), in->b) && (c == nullptr || c->format() == in->c);
    if (!takes || in->sparse() || catalogue(id, *in).empty()) continue;
    if (a.columns() > static_cast<std::size_t>(in->k) && in->c != in->d) continue;  // it cannot be chained
    const auto rank = [](const Instruction& i) { return std::pair(format(i.d).storage_bits, i.k); };
    if (best == nullptr || rank(*in) > rank(*best)) best = in;
  }
  if (best != nullptr) return *best;
  throw InputError(
      fmt::format("matmul: no instruction of {} takes {} and {}{}; right would be formats that `tcnum list --arch {}` "
                  "shows together",
                  arch(id).name, name_of(a.format()), name_of(b.format()),
                  c == nullptr ? "" : fmt::format(" with a C of {}", name_of(c->format())), arch(id).name));
}

ArchId named_arch(std::string_view text) {
  if (const auto id = find_arch(text)) return *id;
  throw InputError(text.empty()
                       ? fmt::format("matmul: arch is missing; right would be one of {}", arch_names())
                       : fmt::format("matmul: arch {} is unknown; right would be one of {}", text, arch_names()));
}

Datapath catalogued(ArchId id, const Instruction& in, std::string_view account) {
  std::string known;
  for (CatalogueEntry& entry : catalogue(id, in)) {
    if (account.empty() || entry.account == account) return std::move(entry.datapath);
    known += (known.empty() ? "" : ", ") + entry.account;
  }
  if (known.empty()) {
    throw InputError(
        fmt::format("matmul: the catalogue has no datapath of {} on {}; right would be one that `tcnum "
                    "list --arch {}` shows with one, or a datapath of your own",
                    in.name(), arch(id).name, arch(id).name));
  }
  throw InputError(
      fmt::format("matmul: account {} of {} is unknown; right would be one of: {}", account, in.name(), known));
}

Performer own_performer(const Datapath& datapath, const MatmulOptions& options) {
  validate(datapath, "matmul: datapath");
  const Numerics& n = datapath.numerics;
  if (!options.account.empty()) throw InputError("matmul: account: right would be none, as there is a datapath");
  if (n.scales) throw InputError("matmul: datapath: scales; right would be a datapath without scales");
  if (options.instruction.empty()) return {datapath, n.a.format, n.b.format, n.c.format, n.result, "the datapath"};
  const auto id = options.arch.empty() ? std::nullopt : std::optional(named_arch(options.arch));
  const Instruction& in = named_instruction(options.instruction, id);
  check_datapath_fits(datapath, in, "matmul: datapath");
  return {datapath, in.a, in.b, in.c, in.d, in.name()};
}

Performer choose_performer(const MatrixView& a, const MatrixView& b, const MatrixView* c,
                           const MatmulOptions& options) {
  if (options.datapath) return own_performer(*options.datapath, options);
  const ArchId id = named_arch(options.arch);
  const Instruction& in =
      options.instruction.empty() ? fitting_instruction(a, b, c, id) : named_instruction(options.instruction, id);
  return {catalogued(id, in, options.account), in.a, in.b, in.c, in.d, in.name()};
}

// --- Checking.

void check_format(std::string_view matrix, FormatId given, FormatId right, const Performer& performer) {
  if (can_be(given, right)) return;
  throw InputError(fmt::format("matmul: {} is of {}; right would be {}, as {} has it", matrix, name_of(given),
                               name_of(right), performer.name));
}

void check_shapes(const MatrixView& a, const MatrixView& b, const MatrixView* c) {
  const auto shape = [](const MatrixView& x) { return fmt::format("{} × {}", x.rows(), x.columns()); };
  for (const auto& [name, matrix] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    if (matrix->rows() == 0 || matrix->columns() == 0)
      throw InputError(fmt::format("matmul: {} is {}; right would be at least 1 × 1", name, shape(*matrix)));
  }
  if (b.rows() != a.columns()) {
    throw InputError(fmt::format("matmul: B is {}; right would be {} rows, as many as A ({}) has columns", shape(b),
                                 a.columns(), shape(a)));
  }
  if (c != nullptr && (c->rows() != a.rows() || c->columns() != b.columns())) {
    throw InputError(fmt::format("matmul: C is {}; right would be {} × {}, as A ({}) and B ({}) make it", shape(*c),
                                 a.rows(), b.columns(), shape(a), shape(b)));
  }
}

Matrix checked_product(const MatrixView& a, const MatrixView& b, const MatrixView* c, const MatmulOptions& options) {
  check_shapes(a, b, c);
  const Performer performer = choose_performer(a, b, c, options);
  check_format("A", a.format(), performer.a, performer);
  check_format("B", b.format(), performer.b, performer);
  if (c != nullptr) check_format("C", c->format(), performer.c, performer);
  if (a.columns() > performer.depth() && performer.c != performer.d) {
    throw InputError(fmt::format(
        "matmul: K is {}, {} takes {} at a time, and its d ({}) cannot be the next one's c ({}); "
        "right would be a K up to {}, or c and d of one format",
        a.columns(), performer.name, performer.depth(), name_of(performer.d), name_of(performer.c), performer.depth()));
  }

  Matrix d(performer.d, a.rows(), b.columns());
  const auto codes = [](const MatrixView& x) { return MatrixCodes<const std::byte>{x.bytes().data(), x.columns(), 1}; };
  multiply(performer.datapath, {performer.a, performer.b, performer.c, performer.d},
           {a.rows(), b.columns(), a.columns()}, codes(a), codes(b),
           c == nullptr ? MatrixCodes<const std::byte>{} : codes(*c), {d.bytes().data(), d.columns(), 1},
           options.threads == 0 ? all_threads() : options.threads);
  return d;
}

}  // namespace

Matrix matmul(const MatrixView& a, const MatrixView& b, const MatrixView& c, const MatmulOptions& options) {
  return checked_product(a, b, &c, options);
}

Matrix matmul(const MatrixView& a, const MatrixView& b, const MatmulOptions& options) {
  return checked_product(a, b, nullptr, options);
}

}  // namespace tcnum
