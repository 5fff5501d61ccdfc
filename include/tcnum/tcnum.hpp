// The library in one call: a matrix product with the bits of a tensor-core instruction. gemm.hpp has those of kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

/// Who computes. Names are those that `tcnum list` shows.
struct MatmulOptions {
  /// An architecture, such as "sm_90"; needed unless there is a `datapath`.
  std::string_view arch = {};
  /// An instruction of it that is not sparse, by its name or its PTX spelling. Empty: of those that take the matrices'
  /// formats one of the kind that the vendor's library makes large products of (library_of()); of these the one with the
  /// widest result, of these the one with the most products, of these the first.
  std::string_view instruction = {};
  /// Which account of the instruction's datapath, such as "fitted"; empty: the one to believe first.
  std::string_view account = {};
  /// A datapath of your own instead of the catalogue's (read_datapath() reads a file). Without an `instruction`, its
  /// own formats and length count.
  std::optional<Datapath> datapath = {};
  /// Block scales, where the datapath has them: of A one for each row and block of K (M × blocks), of B one for each
  /// block and column (blocks × N), in the datapath's format. The last block may be shorter than the others.
  std::optional<MatrixView> a_scales = {}, b_scales = {};
  /// Of the CPU. 0: as many as the machine has.
  unsigned threads = 0;
  /// The GPU gives the same bits. matmul() throws UnavailableError where there is none, where the library was built
  /// without its GPU parts, and where no evaluator of the GPU takes the datapath (docs/emulators.md).
  Processor processor = Processor::cpu;
  /// Called now and then with the number of rows of D that are finished; false: stop. The other rows are then zero.
  std::function<bool(std::size_t rows)> progress = {};
};

/// D = A·B + C, where A is M × K, B is K × N, and C and D are M × N, of any M, N and K from 1 on. D is row-major. Each
/// element of D has the bits that a chain of the instruction along K gives: the first takes c and the first products,
/// and each further one takes the last one's d for its c. So where K is longer than the instruction, c and d must be of
/// one format.
///
/// M and N change no bits, as elements are independent of each other. A K that is no multiple of the instruction's is
/// filled up with products of +0 and +0, which is what a kernel that pads its operands gives. They change the bits only
/// where the datapath says so: a sum of −0 may become +0, and where zeros take part in the alignment
/// (docs/space.md, zero_exponent), bits of very small terms may be cut.
///
/// The formats of a, b and c are the instruction's; fp32 codes may stand for tf32. Throws InputError that says what
/// would be right if shapes, formats or names are wrong.
Matrix matmul(const MatrixView& a, const MatrixView& b, const MatrixView& c, const MatmulOptions& options);
/// The same with C = +0.
Matrix matmul(const MatrixView& a, const MatrixView& b, const MatmulOptions& options);

/// The instruction that matmul() takes for operands of these formats, if none is named: of those that can be chained, as
/// any K asks for. Throws InputError if there is none.
const Instruction& instruction_for(std::string_view arch, FormatId a, FormatId b);

}  // namespace tcnum
