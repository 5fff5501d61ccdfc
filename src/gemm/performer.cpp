#include "performer.hpp"

#include <fmt/format.h>

#include "io/printable.hpp"
#include "src/catalogue/names.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

ArchId named_arch(std::string_view text, std::string_view where) {
  if (const auto id = find_arch(text)) return *id;
  throw InputError(text.empty()
                       ? fmt::format("{}: arch is missing; expected one of {}", where, arch_names())
                       : fmt::format("{}: arch {} is unknown; expected {}", where, text, expected_archs(text)));
}

const Instruction& named_instruction(std::string_view text, std::optional<ArchId> id, std::string_view where) {
  const std::string field = fmt::format("{}: instruction", where);
  const Instruction* const found = id ? &instruction_named(field, text, *id) : find_instruction(text);
  if (found == nullptr)
    throw InputError(fmt::format("{}: {} is unknown; expected one that `tcnum list` shows", field, shown(text)));
  if (found->sparse())
    throw InputError(fmt::format("{}: {} is sparse; expected one with a dense A", field, found->name()));
  return *found;
}

Performer catalogued(ArchId id, const Instruction& in, std::string_view account, std::string_view where) {
  CatalogueEntry entry = account_named(where, fmt::format("{}: account", where), id, in, account);
  return {std::move(entry.datapath), {in.a, in.b, in.c, in.d}, in.name()};
}

Performer named_performer(ArchId id, std::string_view instruction, std::string_view account, std::string_view where) {
  const std::optional<Datapath> scalar = scalar_instruction(id, instruction);
  if (!scalar) return catalogued(id, named_instruction(instruction, id, where), account, where);
  if (!account.empty())
    throw InputError(fmt::format("{}: account: expected none, as {} has one datapath", where, instruction));
  const Numerics& n = scalar->numerics;
  return {*scalar, {n.a.format, n.b.format, n.c.format, n.result}, std::string(instruction)};
}

std::string_view fma_of(FormatId operand) {
  switch (operand) {
    case FormatId::fp64:
      return "fma.rn.f64";
    case FormatId::fp32:
      return "fma.rn.f32";
    case FormatId::fp16:
      return "fma.rn.f32.f16";
    case FormatId::bf16:
      return "fma.rn.f32.bf16";
    default:
      return {};
  }
}

Performer own_performer(const Datapath& datapath, std::string_view arch, std::string_view instruction,
                        std::string_view where) {
  const std::string field = fmt::format("{}: datapath", where);
  validate(datapath, field);
  const Numerics& n = datapath.numerics;
  if (instruction.empty())
    return {datapath, {n.a.format, n.b.format, n.c.format, n.result}, std::string("the datapath")};
  const auto id = arch.empty() ? std::nullopt : std::optional(named_arch(arch, where));
  const Instruction& in = named_instruction(instruction, id, where);
  check_datapath_fits(datapath, in, field);
  return {datapath, {in.a, in.b, in.c, in.d}, in.name()};
}

void check_shapes(const MatrixView& a, const MatrixView& b, const MatrixView* c, std::string_view where) {
  const auto shape = [](const MatrixView& x) { return fmt::format("{} × {}", x.rows(), x.columns()); };
  for (const auto& [name, matrix] : {std::pair{"A", &a}, std::pair{"B", &b}}) {
    if (matrix->rows() == 0 || matrix->columns() == 0)
      throw InputError(fmt::format("{}: {} is {}; expected at least 1 × 1", where, name, shape(*matrix)));
  }
  if (b.rows() != a.columns()) {
    throw InputError(fmt::format("{}: B is {}; expected {} rows, as many as A ({}) has columns", where, shape(b),
                                 a.columns(), shape(a)));
  }
  if (c != nullptr && (c->rows() != a.rows() || c->columns() != b.columns())) {
    throw InputError(fmt::format("{}: C is {}; expected {} × {}, as A ({}) and B ({}) make it", where, shape(*c),
                                 a.rows(), b.columns(), shape(a), shape(b)));
  }
}

void check_bias(const MatrixView& bias, std::size_t m, std::size_t n, std::string_view where) {
  const std::size_t rows = bias.rows(), columns = bias.columns();
  if ((rows == 1 && columns == n) || (rows == m && columns == 1)) return;
  throw InputError(fmt::format("{}: bias is {} × {}; expected 1 × {} or {} × 1", where, rows, columns, n, m));
}

void check_operand(std::string_view matrix, FormatId given, FormatId right, const Performer& performer,
                   std::string_view where) {
  if (can_be(given, right)) return;
  throw InputError(fmt::format("{}: {} is of {}; expected {}, as {} has it", where, matrix, name_of(given),
                               name_of(right), performer.name));
}

void multiply_doubles(const ProductShape& shape, std::span<const double> a, std::span<const double> b,
                      std::span<double> d, unsigned threads) {
  static const Performer kFmas = named_performer(ArchId::sm_90, "mma.m8n8k4.f64.f64.f64.f64", {}, "doubles");
  kFmas.product.multiply(shape, codes_from(std::as_bytes(a).data(), shape.k),
                         codes_from(std::as_bytes(b).data(), shape.n), {},
                         codes_from(std::as_writable_bytes(d).data(), shape.n), threads);
}

}  // namespace tcnum
