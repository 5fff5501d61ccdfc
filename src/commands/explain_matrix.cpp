#include "explain_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/printable.hpp"
#include "names.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "src/files/product_matrices.hpp"
#include "tcnum/error.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

struct Place {
  std::size_t batch = 0, row = 0, column = 0;
};

/// "row,column", or "batch,row,column".
Place place_of(const ExplainOptions& options, const ProductMatrices& matrices) {
  const std::vector<std::string> parts = split_at_commas(options.at);
  const std::string right =
      fmt::format("--at: {}; right would be {}row,column, below {}{},{}, as {} has them", options.at,
                  matrices.batched ? "batch," : "", matrices.batched ? fmt::format("{},", matrices.batches) : "",
                  matrices.m, matrices.n, options.in);
  std::vector<std::size_t> extents = {matrices.m, matrices.n};
  if (matrices.batched) extents.insert(extents.begin(), matrices.batches);
  if (options.at.empty() || parts.size() != extents.size()) throw InputError(right);
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    try {
      at.push_back(parse_whole("--at", parts[i], 0, extents[i] - 1));
    } catch (const InputError&) {
      throw InputError(right);
    }
  }
  return matrices.batched ? Place{at[0], at[1], at[2]} : Place{0, at[0], at[1]};
}

GemmPlan plan_of(const ExplainOptions& options, FormatId operands) {
  const auto plans = named_plans();
  if (std::ranges::find(plans, options.plan, &NamedPlan::name) != plans.end())
    return named_plan(options.plan, operands);
  if (!is_there(options.plan)) {
    throw InputError(fmt::format(
        "--plan: {} is neither a plan's name nor a file; right would be one that `tcnum gemm --help` shows, "
        "or a file",
        options.plan));
  }
  return read_plan(options.plan);
}

/// What keeps the plan from being one chain for so many products; empty: nothing.
std::string why_no_chain(const GemmPlan& plan, std::size_t k) {
  if (plan.k_order != KOrder::ascending) return "goes down along k";
  if (plan.slices > 1) return fmt::format("has {} slices", plan.slices);
  if (plan.promote_every && *plan.promote_every < k) return fmt::format("promotes every {}", *plan.promote_every);
  if (plan.split_k && plan.split_k->count != 0) return fmt::format("splits k into {} parts", plan.split_k->count);
  if (plan.split_k && plan.split_k->chunk < k) return fmt::format("splits k into parts of {}", plan.split_k->chunk);
  if (plan.residue == Residue::first && plan.k_tile && k % *plan.k_tile != 0) return "takes a ragged part of k first";
  return "";
}

/// A number as the plan's instruction reads it.
std::uint64_t converted(std::uint64_t code, FormatId from, FormatId to, const std::optional<Rounding>& convert) {
  const Format &f = format(from), &g = format(to);
  const Decoded x = decode(f, code);
  if (from == to || !convert || !x.is_finite()) return code;  // fp32 codes are tf32 ones, whose low bits are not read
  return encode(g, x.negative, x.significand, x.exponent - f.fraction_bits, false, *convert);
}

Matrix row_of(const Matrix& matrix, std::size_t row) {
  Matrix one(matrix.format(), 1, matrix.columns());
  for (std::size_t k = 0; k < matrix.columns(); ++k) one.set(0, k, matrix(row, k));
  return one;
}
Matrix column_of(const Matrix& matrix, std::size_t column) {
  Matrix one(matrix.format(), matrix.rows(), 1);
  for (std::size_t k = 0; k < matrix.rows(); ++k) one.set(k, 0, matrix(k, column));
  return one;
}

}  // namespace

ElementOfProduct element_of_product(const ExplainOptions& options) {
  const ProductMatrices matrices = read_product(MatrixFile(options.in), {.optional = {"D"}});
  const Place place = place_of(options, matrices);
  const Matrix a = row_of(Matrix(view_of(*matrices.find("A"), place.batch)), place.row),
               b = column_of(Matrix(view_of(*matrices.find("B"), place.batch)), place.column);
  GemmPlan plan = plan_of(options, a.format());
  if (!divides_k(plan, matrices.m, matrices.n, place.row, place.column)) plan.split_k.reset();
  if (const std::string why = why_no_chain(plan, matrices.k); !why.empty()) {
    throw InputError(
        fmt::format("--plan: {} {}; right would be a plan that is one chain of an instruction", options.plan, why));
  }
  ElementOfProduct found;
  // This checks the formats too.
  found.d = gemm(plan, a, b)(0, 0);
  found.output = plan.output;
  if (const StoredTensor* d = matrices.find("D"); d != nullptr && d->format == plan.output)
    found.observed = Matrix(view_of(*d, place.batch))(place.row, place.column);

  ExplainedOf of{plan.arch, plan.instruction, "", ""};
  Datapath datapath;
  if (plan.datapath) {
    datapath = *plan.datapath;
    of = {"", printable(options.plan), "", ""};
  } else {
    const ArchId id = parse_arch(plan.arch);
    NamedDatapath named = choose_datapath({}, id, parse_instruction(plan.instruction, id), options.plan, plan.account);
    of.account = named.account;
    of.origin = named.origin;
    datapath = std::move(named.datapath);
  }
  const Numerics& n = datapath.numerics;
  Problem problem{{}, {}, zero_code(format(n.c.format), false)};
  for (std::size_t k = 0; k < matrices.k; ++k) {
    problem.a.push_back(converted(a(0, k), a.format(), n.a.format, plan.convert_a));
    problem.b.push_back(converted(b(k, 0), b.format(), n.b.format, plan.convert_b));
  }
  const auto each = static_cast<std::size_t>(datapath.tree.k);
  problem.a.resize((matrices.k + each - 1) / each * each, zero_code(format(n.a.format), false));
  problem.b.resize(problem.a.size(), zero_code(format(n.b.format), false));
  found.side = make_side(std::move(of), std::move(datapath), std::move(problem));
  return found;
}

}  // namespace tcnum
