// Who computes a matrix product: an instruction's datapath, found by what people call it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "emu/cpu/matrix_product.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

/// A datapath, the formats of the matrices that it takes and gives, and what an error calls it.
struct Performer {
  Performer(Datapath the_datapath, const OperandFormats& the_formats, std::string the_name)
      : datapath(std::move(the_datapath)),
        formats(the_formats),
        name(std::move(the_name)),
        product(datapath, formats) {}

  Datapath datapath;
  OperandFormats formats;
  std::string name;
  MatrixProduct product;
  std::size_t depth() const { return static_cast<std::size_t>(datapath.tree.k); }
};

/// Whether codes of a matrix can be an operand: fp32 codes are tf32 operands as they are.
constexpr bool can_be(FormatId matrix, FormatId operand) {
  return matrix == operand || (matrix == FormatId::fp32 && operand == FormatId::tf32);
}

inline std::string_view name_of(FormatId id) { return format(id).name; }

// What people name. Each throws InputError that says what is expected; `where` is what it begins with.

ArchId named_arch(std::string_view text, std::string_view where);
/// A dense one, of that architecture if it is said.
const Instruction& named_instruction(std::string_view text, std::optional<ArchId> id, std::string_view where);
/// An instruction with its datapath in the catalogue; the account to believe first if none is named.
Performer catalogued(ArchId id, const Instruction& in, std::string_view account, std::string_view where);
/// The same by name, which may also be that of a scalar_instruction().
Performer named_performer(ArchId id, std::string_view instruction, std::string_view account, std::string_view where);
/// The scalar_instruction() that multiplies and adds such operands as they are; empty if there is none.
std::string_view fma_of(FormatId operand);
/// A datapath of the user's own, of that instruction if one is named.
Performer own_performer(const Datapath& datapath, std::string_view arch, std::string_view instruction,
                        std::string_view where);

/// D = A · B of doubles, all row-major: chains of FMAs over ascending k, from +0 on.
void multiply_doubles(const ProductShape& shape, std::span<const double> a, std::span<const double> b,
                      std::span<double> d, unsigned threads);

/// The codes of a matrix, as evaluators walk them.
inline MatrixCodes<const std::byte> codes_of(const MatrixView& x) {
  return x.layout() == Layout::row_major ? MatrixCodes<const std::byte>{x.bytes().data(), x.columns(), 1}
                                         : MatrixCodes<const std::byte>{x.bytes().data(), 1, x.rows()};
}
/// One element.
inline std::uint64_t code_at(const MatrixView& x, std::size_t row, std::size_t column) {
  return code_at(codes_of(x), row, column, bytes_of(x.format()));
}
inline MatrixCodes<std::byte> codes_of(Matrix& x) { return {x.bytes().data(), x.columns(), 1}; }

/// Throws InputError unless A (M × K), B (K × N) and C (M × N; may be null) fit each other and have elements.
void check_shapes(const MatrixView& a, const MatrixView& b, const MatrixView* c, std::string_view where);
/// Likewise a bias of the columns, or of the rows, of a D of m × n.
void check_bias(const MatrixView& bias, std::size_t m, std::size_t n, std::string_view where);
/// Throws InputError unless codes of the matrix can be that operand of the performer.
void check_operand(std::string_view matrix, FormatId given, FormatId right, const Performer& performer,
                   std::string_view where);

}  // namespace tcnum
