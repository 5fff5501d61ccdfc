// Matrix products by instructions: who computes, and whether the matrices fit.
#include <fmt/format.h>

#include <utility>

#include "emu/gpu/product.hpp"
#include "emu/parallel.hpp"
#include "performer.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kWhere = "matmul";

std::string_view name_of(FormatId id) { return format(id).name; }

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

Performer choose_performer(const MatrixView& a, const MatrixView& b, const MatrixView* c,
                           const MatmulOptions& options) {
  if (options.datapath) {
    if (!options.account.empty()) throw InputError("matmul: account: right would be none, as there is a datapath");
    return own_performer(*options.datapath, options.arch, options.instruction, kWhere);
  }
  const ArchId id = named_arch(options.arch, kWhere);
  const Instruction& in = options.instruction.empty() ? fitting_instruction(a, b, c, id)
                                                      : named_instruction(options.instruction, id, kWhere);
  return catalogued(id, in, options.account, kWhere);
}

void check_scale(std::string_view name, const std::optional<MatrixView>& given, const std::optional<ScaleRule>& rule,
                 std::size_t rows, std::size_t columns) {
  if (!rule) {
    if (given)
      throw InputError(fmt::format("matmul: {} is given; right would be none, as the datapath has no scales", name));
    return;
  }
  const std::string right = fmt::format("{} × {} of {}, one for each block of {} along K", rows, columns,
                                        name_of(rule->format), rule->block_k);
  if (!given) throw InputError(fmt::format("matmul: {} is missing; right would be {}", name, right));
  if (given->format() != rule->format || given->rows() != rows || given->columns() != columns) {
    throw InputError(fmt::format("matmul: {} is {} × {} of {}; right would be {}", name, given->rows(),
                                 given->columns(), name_of(given->format()), right));
  }
}

void check_scales(const MatrixView& a, const MatrixView& b, const MatmulOptions& options,
                  const std::optional<ScaleRule>& rule) {
  const std::size_t block_k = rule ? static_cast<std::size_t>(rule->block_k) : 1;
  const std::size_t blocks = (a.columns() + block_k - 1) / block_k;
  check_scale("a_scales", options.a_scales, rule, a.rows(), blocks);
  check_scale("b_scales", options.b_scales, rule, blocks, b.columns());
}

Matrix checked_product(const MatrixView& a, const MatrixView& b, const MatrixView* c, const MatmulOptions& options) {
  check_shapes(a, b, c, kWhere);
  const Performer performer = choose_performer(a, b, c, options);
  check_operand("A", a.format(), performer.formats.a, performer, kWhere);
  check_operand("B", b.format(), performer.formats.b, performer, kWhere);
  if (c != nullptr) check_operand("C", c->format(), performer.formats.c, performer, kWhere);
  if (a.columns() > performer.depth() && performer.formats.c != performer.formats.d) {
    throw InputError(
        fmt::format("matmul: K is {}, {} takes {} at a time, and its d ({}) cannot be the next one's c ({}); "
                    "right would be a K up to {}, or c and d of one format",
                    a.columns(), performer.name, performer.depth(), name_of(performer.formats.d),
                    name_of(performer.formats.c), performer.depth()));
  }

  check_scales(a, b, options, performer.datapath.numerics.scales);
  Matrix d(performer.formats.d, a.rows(), b.columns());
  const ProductShape shape{a.rows(), b.columns(), a.columns()};
  const auto of_c = c == nullptr ? MatrixCodes<const std::byte>{} : codes_of(*c);
  const BlockScales scales =
      options.a_scales ? BlockScales{codes_of(*options.a_scales), codes_of(*options.b_scales)} : BlockScales();
  if (options.processor == Processor::gpu)
    multiply_on_gpu(performer.datapath, performer.formats, shape, codes_of(a), codes_of(b), of_c, codes_of(d));
  else
    performer.product.multiply(shape, codes_of(a), codes_of(b), of_c, codes_of(d),
                               options.threads == 0 ? all_threads() : options.threads, scales);
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
