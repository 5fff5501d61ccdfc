// Matrix products by instructions: who computes, and whether the matrices fit.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "caller.hpp"
#include "emu/gpu/product.hpp"
#include "emu/parallel.hpp"
#include "performer.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kMatmul = "matmul";

/// Of the instructions that take the formats and have a datapath in the catalogue, the one to prefer.
const Instruction& fitting_instruction(FormatId a, FormatId b, const MatrixView* c, std::size_t k, ArchId id) {
  const Instruction* best = nullptr;
  bool any_takes = false;
  for (const Instruction* in : instructions_of(id)) {
    const bool takes = can_be(a, in->a) && can_be(b, in->b) && (c == nullptr || c->format() == in->c);
    any_takes |= takes && !in->sparse();
    if (!takes || in->sparse() || catalogue(id, *in).empty()) continue;
    if (k > static_cast<std::size_t>(in->k) && in->c != in->d) continue;  // it cannot be chained
    const auto rank = [id](const Instruction& i) {
      return std::tuple(!library_of(id, i).empty(), format(i.d).storage_bits, i.k);
    };
    if (best == nullptr || rank(*in) > rank(*best)) best = in;
  }
  if (best != nullptr) return *best;
  const std::string operands = fmt::format("{} and {}{}", name_of(a), name_of(b),
                                           c == nullptr ? "" : fmt::format(" with a C of {}", name_of(c->format())));
  if (any_takes) {
    throw InputError(fmt::format(
        "{}: no datapath is known of its instructions for {}; expected an architecture of which one is (`tcnum list "
        "--known`), or a datapath of your own",
        arch(id).name, operands));
  }
  throw InputError(
      fmt::format("{0}: no instruction takes {1}; expected formats that `tcnum list --arch {0}` shows together",
                  arch(id).name, operands));
}

Performer choose_performer(const MatrixView& a, const MatrixView& b, const MatrixView* c,
                           const MatmulOptions& options) {
  if (options.datapath) {
    if (!options.account.empty()) throw InputError("matmul: account: expected none, as there is a datapath");
    return own_performer(*options.datapath, options.arch, options.instruction, kMatmul);
  }
  const ArchId id = named_arch(options.arch, kMatmul);
  if (!options.instruction.empty()) return named_performer(id, options.instruction, options.account, kMatmul);
  return catalogued(id, fitting_instruction(a.format(), b.format(), c, a.columns(), id), options.account, kMatmul);
}

void check_scale(std::string_view name, const std::optional<MatrixView>& given, const std::optional<ScaleRule>& rule,
                 std::size_t rows, std::size_t columns) {
  if (!rule) {
    if (given) throw InputError(fmt::format("matmul: {} is given; expected none, as the datapath has no scales", name));
    return;
  }
  const std::string right = fmt::format("{} × {} of {}, one for each block of {} along K", rows, columns,
                                        name_of(rule->format), rule->block_k);
  if (!given) throw InputError(fmt::format("matmul: {} is missing; expected {}", name, right));
  if (given->format() != rule->format || given->rows() != rows || given->columns() != columns) {
    throw InputError(fmt::format("matmul: {} is {} × {} of {}; expected {}", name, given->rows(), given->columns(),
                                 name_of(given->format()), right));
  }
}

void check_scales(const MatrixView& a, const MatrixView& b, const MatmulOptions& options,
                  const std::optional<ScaleRule>& rule) {
  const std::size_t block_k = rule ? static_cast<std::size_t>(rule->block_k) : 1;
  const std::size_t blocks = (a.columns() + block_k - 1) / block_k;
  check_scale("a_scales", options.a_scales, rule, a.rows(), blocks);
  check_scale("b_scales", options.b_scales, rule, blocks, b.columns());
}

template <class Byte>
MatrixCodes<Byte> rows_from(const MatrixCodes<Byte>& codes, std::size_t first, FormatId id) {
  MatrixCodes<Byte> from = codes;
  from.codes += first * codes.row_stride * format(id).storage_bytes();
  return from;
}

Matrix checked_product(const MatrixView& a, const MatrixView& b, const MatrixView* c, const MatmulOptions& options) {
  check_shapes(a, b, c, kMatmul);
  const Performer performer = choose_performer(a, b, c, options);
  check_operand("A", a.format(), performer.formats.a, performer, kMatmul);
  check_operand("B", b.format(), performer.formats.b, performer, kMatmul);
  if (c != nullptr) check_operand("C", c->format(), performer.formats.c, performer, kMatmul);
  if (a.columns() > performer.depth() && performer.formats.c != performer.formats.d) {
    throw InputError(
        fmt::format("matmul: K is {}, {} takes {} at a time, and its d ({}) cannot be the next one's c ({}); "
                    "expected a K up to {}, or c and d of one format",
                    a.columns(), performer.name, performer.depth(), name_of(performer.formats.d),
                    name_of(performer.formats.c), performer.depth()));
  }

  check_scales(a, b, options, performer.datapath.numerics.scales);
  Matrix d(performer.formats.d, a.rows(), b.columns());
  const ProductShape shape{a.rows(), b.columns(), a.columns()};
  const auto of_c = c == nullptr ? MatrixCodes<const std::byte>{} : codes_of(*c);
  const BlockScales scales =
      options.a_scales ? BlockScales{codes_of(*options.a_scales), codes_of(*options.b_scales)} : BlockScales();
  const bool on_gpu = options.processor == Processor::gpu;
  const unsigned threads = options.threads == 0 ? all_threads() : options.threads;
  Caller caller(options.progress);
  const Pauses pauses = caller.pauses();
  std::size_t finished = 0;
  const auto multiply = [&](std::size_t first, std::size_t rows) {
    const ProductShape band{rows, shape.n, shape.k};
    const MatrixCodes<const std::byte> a_rows = rows_from(codes_of(a), first, a.format()), b_codes = codes_of(b);
    const MatrixCodes<const std::byte> c_rows = c == nullptr ? of_c : rows_from(of_c, first, c->format());
    const MatrixCodes<std::byte> d_rows = rows_from(codes_of(d), first, d.format());
    BlockScales of_band = scales;
    if (options.a_scales) of_band.a = rows_from(scales.a, first, options.a_scales->format());
    if (on_gpu) {
      multiply_on_gpu(performer.datapath, performer.formats, band, a_rows, b_codes, c_rows, d_rows, of_band);
    } else {
      performer.product.multiply(band, a_rows, b_codes, c_rows, d_rows, threads, of_band, pauses);
    }
    finished = first + rows;
  };
  try {
    // With all rows at once if nobody wants to hear of them.
    const std::size_t most = options.progress ? band_rows(shape, options.processor) : shape.m;
    while (finished < shape.m) {
      multiply(finished, std::min(most, shape.m - finished));
      if (!caller.hears(finished)) break;
    }
  } catch (const Caller::Stops&) {  // within a band, of which D has something
  }
  clear_rows_from(finished, d);
  return d;
}

}  // namespace

const Instruction& instruction_for(std::string_view arch, FormatId a, FormatId b) {
  return fitting_instruction(a, b, {}, std::numeric_limits<std::size_t>::max(), named_arch(arch, kMatmul));
}

Matrix matmul(const MatrixView& a, const MatrixView& b, const MatrixView& c, const MatmulOptions& options) {
  return checked_product(a, b, &c, options);
}

Matrix matmul(const MatrixView& a, const MatrixView& b, const MatmulOptions& options) {
  return checked_product(a, b, nullptr, options);
}

}  // namespace tcnum
