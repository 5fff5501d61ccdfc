// Products of whole matrices by plans: bands of rows, each along all of k and through the epilogue before the next, so
// that what is kept beside the matrices is a band. Where k is divided for some blocks of D alone, a band is as high as
// its rows are alike, and has parts side by side.
#include "tcnum/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "caller.hpp"
#include "converted.hpp"
#include "element.hpp"
#include "emu/cpu/matrix_product.hpp"
#include "emu/gpu/product.hpp"
#include "emu/machine_rounding.hpp"
#include "emu/parallel.hpp"
#include "performer.hpp"
#include "plan.hpp"
#include "reduction.hpp"
#include "scales.hpp"
#include "sums.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kWhere = "gemm";

/// What is added to the sums, in the epilogue's format.
struct Addend {
  MatrixCodes<const std::byte> codes;
  FormatId id = FormatId::fp32;

  Addend() = default;
  explicit Addend(const MatrixView* view) {
    if (view == nullptr) return;
    codes = codes_of(*view);
    id = view->format();
  }
  bool is_there() const { return codes.codes != nullptr; }
  double operator()(std::size_t row, std::size_t column) const {
    return number_of(format(id), code_at(codes, row, column, bytes_of(id)));
  }
};
/// A bias: a number of each column, or of each row.
Addend bias_of(const MatrixView* view) {
  Addend bias(view);
  if (!bias.is_there()) return bias;
  // All rows, or columns, are the one there is.
  if (view->rows() == 1) bias.codes.row_stride = 0;
  if (view->columns() == 1) bias.codes.column_stride = 0;
  return bias;
}

/// What all bands share.
struct Product {
  const GemmPlan& plan;
  const Performer& performer;
  const Reduction& reduction;
  ProductShape shape;
  const ConvertedOperand &a, &b;
  Addend c, bias;
  Scales scales;
  double alpha = 1, beta = 0;
  OutputRule output;
  unsigned threads = 1;
  Processor processor = Processor::cpu;
  KnownAccumulations* known = nullptr;
  ElementWatch* watch = nullptr;
  Caller* caller;

  bool has_epilogue() const {
    return alpha != 1 || c.is_there() || bias.is_there() || scales.are_last() || scales.are_in_alpha();
  }
  /// Of what is added up where k is divided.
  bool has_epilogue_of_parts() const { return plan.split_k && plan.split_k->epilogue == EpilogueOf::parts; }
};

/// Some of D.
struct Rectangle {
  std::size_t row = 0, column = 0;  ///< that it begins with
  std::size_t rows = 0, columns = 0;
};

/// A part of D, whose sums are of this type.
template <class Sum>
class Band {
 public:
  Band(const Product& product, const Rectangle& of)
      : product_(product), row_(of.row), column_(of.column), rows_(of.rows), columns_(of.columns) {}

  void compute(Matrix& d) {
    const FormatId result = product_.performer.formats.d;
    if (is_one_chain()) {
      advance(product_.reduction.steps[0].products);
      const bool keeps_infinities = product_.output.overflow != Overflow::max_finite;
      if (!product_.has_epilogue() && product_.output.format == result && keeps_infinities) {
        const std::size_t bytes = bytes_of(result);
        copy_codes(part_from(codes_of(d), row_, column_, bytes),
                   codes_from(std::as_const(codes_).bytes().data(), columns_), rows_, columns_, bytes);
        return;
      }
    }
    sums_.resize(product_.reduction.sums);
    if (is_one_chain()) {
      take(sums_[0]);
    } else {
      for (const ReductionStep& step : product_.reduction.steps) take_step(step);
    }
    if (product_.watch != nullptr) product_.watch->end_reduction();
    each_row([&](std::size_t row) { finish(row, d); });
  }

 private:
  using Numbers = std::vector<Sum>;

  static constexpr FormatId kSums = std::is_same_v<Sum, float>    ? FormatId::fp32
                                    : std::is_same_v<Sum, double> ? FormatId::fp64
                                                                  : FormatId::s32;

  /// Nothing happens between the instructions and the epilogue.
  bool is_one_chain() const {
    return product_.reduction.steps.size() == 1 && !product_.plan.promote_every && !product_.plan.split_k &&
           product_.watch == nullptr;
  }

  template <class With>
  void each_row(const With& with) {
    constexpr std::size_t kRows = 8;
    in_parallel((rows_ + kRows - 1) / kRows, product_.threads, [&](std::size_t at) {
      const PlainArithmetic plain;
      for (std::size_t row = at * kRows; row < std::min(rows_, (at + 1) * kRows); ++row) with(row);
    });
  }
  /// Of one row.
  template <class With>
  void each_sum(Numbers& numbers, const With& with) {
    each_row([&](std::size_t row) {
      for (std::size_t i = row * columns_; i < (row + 1) * columns_; ++i) with(numbers[i], i);
    });
  }

  /// One accumulator, from +0: its codes.
  void advance(const Accumulation& accumulation) {
    const OperandFormats& formats = product_.performer.formats;
    product_.caller->ask_now_and_then();
    if (product_.watch != nullptr) {
      codes_ = Codes(format(formats.d).storage_bytes(), 1);
      return codes_.set(0, product_.watch->accumulate(accumulation));
    }
    if (product_.known != nullptr) {
      if (const Codes* const codes = product_.known->find(row_, column_, accumulation)) {
        codes_ = *codes;
        return;
      }
    }
    if (codes_.empty()) codes_ = Codes(format(formats.d).storage_bytes(), rows_ * columns_);
    accumulate(accumulation);
    if (product_.known != nullptr) product_.known->add(row_, column_, accumulation, codes_);
  }
  void accumulate(const Accumulation& accumulation) {
    const OperandFormats& formats = product_.performer.formats;
    const MatrixCodes<std::byte> d = codes_from(codes_.bytes().data(), columns_);
    const auto multiply = [&](std::size_t k, const MatrixCodes<const std::byte>& a,
                              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c) {
      const ProductShape shape{rows_, columns_, k};
      if (product_.processor == Processor::gpu)
        multiply_on_gpu(product_.performer.datapath, formats, shape, a, b, c, d);
      else
        product_.performer.product.multiply(shape, a, b, c, d, product_.threads, {}, product_.caller->pauses());
    };
    constexpr std::size_t kFew = 2;
    if (accumulation.size() > kFew) {
      const std::size_t k = gather(accumulation);
      return multiply(k, codes_from(std::as_const(a_).bytes().data(), k),
                      codes_from(std::as_const(b_).bytes().data(), columns_), {});
    }
    MatrixCodes<const std::byte> c;
    for (const Stretch& stretch : accumulation) {
      multiply(stretch.count, product_.a.from(row_, stretch.first, formats.a),
               product_.b.from(stretch.first, column_, formats.b), c);
      c = {d.codes, d.row_stride, d.column_stride};
    }
  }
  /// Puts many stretches side by side, each filled up with zeros: so many products.
  std::size_t gather(const Accumulation& accumulation) {
    const OperandFormats& formats = product_.performer.formats;
    const std::size_t depth = product_.performer.depth();
    const auto whole = [depth](std::size_t count) { return (count + depth - 1) / depth * depth; };
    std::size_t k = 0;
    for (const Stretch& stretch : accumulation) k += whole(stretch.count);
    a_ = Codes(format(formats.a).storage_bytes(), rows_ * k);
    b_ = Codes(format(formats.b).storage_bytes(), k * columns_);
    std::size_t at = 0;
    const MatrixCodes<std::byte> a = codes_from(a_.bytes().data(), k), b = codes_from(b_.bytes().data(), columns_);
    for (const Stretch& stretch : accumulation) {
      const std::size_t of_a = bytes_of(formats.a), of_b = bytes_of(formats.b);
      copy_codes(part_from(a, 0, at, of_a), product_.a.from(row_, stretch.first, formats.a), rows_, stretch.count,
                 of_a);
      copy_codes(part_from(b, at, 0, of_b), product_.b.from(stretch.first, column_, formats.b), stretch.count, columns_,
                 of_b);
      at += whole(stretch.count);
    }
    return k;
  }
  /// The accumulator's codes as numbers.
  void take(Numbers& to) {
    to.resize(rows_ * columns_);
    const Format& f = format(product_.performer.formats.d);
    if (static_cast<std::size_t>(f.storage_bytes()) == sizeof(Sum)) {
      std::memcpy(to.data(), codes_.bytes().data(), codes_.bytes().size());
    } else {
      each_sum(to, [&](Sum& x, std::size_t i) { x = static_cast<Sum>(number_of(f, codes_[i])); });
    }
  }

  void take_step(const ReductionStep& step) {
    using enum ReductionStep::Kind;
    if (product_.watch != nullptr) product_.watch->begin(step);
    Numbers &to = sums_[step.to], &from = sums_[step.from];
    to.resize(rows_ * columns_);
    switch (step.kind) {
      case accumulate:
        advance(step.products);
        return take(to);
      case promote:
        advance(step.products);
        take(promoted_);
        if (step.turn == 0) to.assign(to.size(), Sum{});
        promote_to(to, step.turn);
        return note(ElementStepKind::promotion, to[0], kSums);
      case slices:
        each_sum(to, [&](Sum& x, std::size_t i) { x = sum_of(x, from[i]); });
        return note(ElementStepKind::slices, to[0], kSums);
      case part:
        if (step.format == kSums) return;
        each_sum(to, [&](Sum& x, std::size_t) { x = rounded(step.format, x); });
        return note(ElementStepKind::part, to[0], step.format);
      case parts:
        each_sum(to, [&](Sum& x, std::size_t i) { x = rounded(step.format, sum_of(x, from[i])); });
        return note(ElementStepKind::parts, to[0], step.format);
      case epilogue:
        each_sum(to, [&](Sum& x, std::size_t i) {
          x = result_of_part(step.turn, from[i], x, row_ + i / columns_, column_ + i % columns_);
        });
        return note(ElementStepKind::parts, to[0], product_.plan.output);
    }
  }
  /// Adds what accumulators came to.
  void promote_to(Numbers& total, std::size_t promotion) {
    if (product_.scales.are_in_promotions()) {
      each_sum(total, [&](Sum& x, std::size_t i) {
        x = static_cast<Sum>(product_.scales.added(static_cast<float>(x), static_cast<float>(promoted_[i]),
                                                   row_ + i / columns_, column_ + i % columns_, promotion));
      });
      return;
    }
    each_row([&](std::size_t row) {
      const MachineRounding rounding(product_.plan.promote_rounding);
      add(&total[row * columns_], &promoted_[row * columns_], columns_);
    });
  }
  static void add(Sum* to, const Sum* more, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = sum_of(to[i], more[i]);
  }
  /// Of an epilogue that each part has in its turn, after which `before` is what the parts before it came to.
  Sum result_of_part(std::size_t turn, Sum sum, Sum before, std::size_t row, std::size_t column) const {
    const BiasPlace bias = product_.plan.epilogue.bias;
    const bool bias_comes_first = bias == BiasPlace::first || (bias == BiasPlace::as_c && !product_.c.is_there());
    EpilogueTerms<Sum> terms = terms_of<Sum>(row, column);
    if (turn != 0) terms.c = before, terms.beta = 1;
    const std::size_t turn_of_bias = bias_comes_first ? 0 : product_.reduction.parts - 1;
    if (turn != turn_of_bias) terms.bias.reset();
    return rounded_to<Sum>(product_.output, result_of(sum, row, column, terms));
  }
  /// To a format that parts of k, or their sums, have.
  Sum rounded(FormatId id, Sum x) const {
    if (id == kSums) return x;
    return rounded_to<Sum>({id, Rounding::nearest_even, Overflow::ieee, nan_of(product_.performer.datapath, id)}, x);
  }
  /// alpha · sum + beta · C + bias of one row, into D.
  void finish(std::size_t row, Matrix& d) {
    for (std::size_t column = 0; column < columns_; ++column) {
      const Sum sum = sums_[0][row * columns_ + column];
      const std::uint64_t code = finished(sum, row_ + row, column_ + column);
      d.set(row_ + row, column_ + column, code);
      if (product_.watch != nullptr)
        note(ElementStepKind::output, number_of(format(product_.output.format), code), product_.output.format);
    }
  }
  std::uint64_t finished(Sum sum, std::size_t row, std::size_t column) const {
    const bool is_done = !product_.has_epilogue() || product_.has_epilogue_of_parts();
    if constexpr (std::is_integral_v<Sum>) {
      // Integers stay what they are until something is to be done with them.
      if (is_done && !format(product_.output.format).floating)
        return code_of(product_.output, static_cast<double>(sum));
      if (product_.plan.epilogue.type != FormatId::s32)
        return code_of(product_.output, static_cast<double>(result_of<float>(static_cast<float>(sum), row, column)));
    }
    if (is_done) return code_of(product_.output, static_cast<double>(sum));
    return code_of(product_.output, static_cast<double>(result_of<Sum>(sum, row, column)));
  }
  template <class Number>
  Number result_of(Number sum, std::size_t row, std::size_t column) const {
    return result_of(sum, row, column, terms_of<Number>(row, column));
  }
  template <class Number>
  Number result_of(Number sum, std::size_t row, std::size_t column, const EpilogueTerms<Number>& terms) const {
    constexpr FormatId kNumbers = std::is_same_v<Number, float> ? FormatId::fp32 : kSums;
    if (product_.scales.are_last()) {
      sum = static_cast<Number>(product_.scales.scaled(static_cast<float>(sum), row, column));
      note(ElementStepKind::scale, sum, kNumbers);
    }
    const Number result = with_epilogue(product_.plan.epilogue, sum, terms, [&](Number x) {
      const auto number = rounded_to<Number>(product_.output, x);
      note(ElementStepKind::between, number, product_.output.format);
      return number;
    });
    if (product_.alpha != 1 || terms.alpha != Number{1} || terms.c || terms.bias)
      note(ElementStepKind::epilogue, result, kNumbers);
    return result;
  }
  template <class Number>
  void note(ElementStepKind kind, Number result, FormatId id) const {
    if (product_.watch != nullptr) product_.watch->note(kind, static_cast<double>(result), id);
  }
  /// What comes to the element's sum.
  template <class Number>
  EpilogueTerms<Number> terms_of(std::size_t row, std::size_t column) const {
    EpilogueTerms<Number> terms = {.alpha = static_cast<Number>(product_.alpha),
                                   .beta = static_cast<Number>(product_.beta)};
    if (product_.scales.are_in_alpha())
      terms.alpha = static_cast<Number>(product_.scales.alpha(static_cast<float>(terms.alpha), row, column));
    if (product_.c.is_there()) terms.c = static_cast<Number>(product_.c(row, column));
    if (product_.bias.is_there()) terms.bias = static_cast<Number>(product_.bias(row, column));
    return terms;
  }

  const Product& product_;
  std::size_t row_, column_, rows_, columns_;
  Codes codes_, a_, b_;
  std::vector<Numbers> sums_;  ///< by their numbers in the reduction
  Numbers promoted_;
};

void compute_band(const Product& product, const Rectangle& of, Matrix& d) {
  switch (product.performer.formats.d) {
    case FormatId::fp64:
      return Band<double>(product, of).compute(d);
    case FormatId::s32:
      return Band<std::int32_t>(product, of).compute(d);
    default:
      return Band<float>(product, of).compute(d);
  }
}

void check_addend(std::string_view name, const MatrixView& view, FormatId type) {
  const Format& f = format(view.format());
  const bool taken = type == FormatId::fp64  ? f.floating
                     : type == FormatId::s32 ? !f.floating && f.storage_bits <= 32
                                             : f.storage_bits <= 32;
  if (taken) return;
  throw InputError(fmt::format("{}: {} is of {}; expected {}", kWhere, name, f.name,
                               type == FormatId::fp64  ? "a floating-point format"
                               : type == FormatId::s32 ? "integers, as the epilogue computes with them"
                                                       : "a format of at most 32 bits"));
}

void check_factor(std::string_view name, double factor, FormatId type) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (type != FormatId::s32 || (factor == std::trunc(factor) && factor >= Limits::min() && factor <= Limits::max()))
    return;
  throw InputError(fmt::format("{}: {} is {}; expected an integer of 32 bits, as the epilogue computes with them",
                               kWhere, name, factor));
}

void check_inputs(const GemmPlan& plan, const GemmInputs& inputs, const Matrix& d, FormatId sums) {
  const FormatId type = plan.epilogue.type.value_or(usual_epilogue_type(sums));
  if (inputs.c != nullptr) check_addend("C", *inputs.c, type);
  if (const MatrixView* const bias = inputs.bias) {
    check_bias(*bias, d.rows(), d.columns(), kWhere);
    check_addend("bias", *bias, type);
  }
  const double beta = inputs.factor_of_c();
  if (inputs.c == nullptr && beta != 0)
    throw InputError(fmt::format("{}: beta is {} and there is no C; expected a C, or a beta of 0", kWhere, beta));
  check_factor("alpha", inputs.alpha, type);
  check_factor("beta", beta, type);
}

}  // namespace

std::size_t multiply_by(const PlanToFollow& to_follow, Matrix& d, const MatrixView& a, const MatrixView& b,
                        const GemmInputs& inputs, const GemmOptions& options) {
  const GemmPlan& plan = to_follow.plan;
  const FormatId sums = to_follow.performer.formats.d;
  // An alpha that operands take makes them numbers of the sums' format.
  const bool scales_operand = inputs.alpha != 1 && has_alpha_on_operand(plan);
  const std::optional<Performer> of_scaled =
      scales_operand ? std::optional(named_performer(named_arch(plan.arch, kWhere), fma_of(sums), "", kWhere))
                     : std::nullopt;
  const Performer& performer = of_scaled ? *of_scaled : to_follow.performer;
  const unsigned threads = options.threads == 0 ? all_threads() : options.threads;
  const ProductShape shape = {a.rows(), b.columns(), a.columns()};
  const std::uint64_t nan = nan_of(performer.datapath, FormatId::tf32);
  const auto operand = [&](const MatrixView& view, const std::optional<Rounding>& convert, AlphaPlace place) {
    if (!scales_operand) return ConvertedOperand(view, convert, nan, threads);
    return ConvertedOperand(view, sums, plan.epilogue.alpha == place ? inputs.alpha : 1, threads);
  };
  const ConvertedOperand a_codes = operand(a, plan.convert_a, AlphaPlace::on_a),
                         b_codes = operand(b, plan.convert_b, AlphaPlace::on_b);
  if (to_follow.watch != nullptr) to_follow.watch->begin(performer, a_codes, b_codes);
  Caller caller(options.progress);
  const auto product_of = [&](const GemmPlan& by, const Reduction& reduction) {
    return Product{by,
                   performer,
                   reduction,
                   shape,
                   a_codes,
                   b_codes,
                   Addend(inputs.factor_of_c() == 0 ? nullptr : inputs.c),
                   bias_of(inputs.bias),
                   Scales(plan, performer.formats.d, shape.m, shape.n, shape.k, inputs, kWhere),
                   scales_operand ? 1 : inputs.alpha,
                   inputs.factor_of_c(),
                   {plan.output, plan.output_rounding, overflow_of(plan), nan_of(performer.datapath, plan.output)},
                   threads,
                   options.processor,
                   to_follow.known,
                   to_follow.watch,
                   &caller};
  };
  const Product product = product_of(plan, to_follow.reduction);
  // Of elements whose k is whole, where that of others is not.
  GemmPlan whole_plan;
  Reduction whole_reduction;
  std::optional<Product> whole;
  if (plan.split_k && plan.split_k->tail) {
    whole_plan = plan;
    whole_plan.split_k.reset();
    whole_reduction = reduction_of(whole_plan, performer.depth(), shape.k);
    whole.emplace(product_of(whole_plan, whole_reduction));
  }

  const DividedElements divided(plan, shape.m, shape.n);
  const std::size_t most_rows = band_rows(shape, options.processor);
  std::size_t row = 0;
  try {
    while (row < shape.m) {
      const std::size_t rows = std::min(most_rows, divided.rows_alike(row));
      for (const auto& run : divided.runs(row))
        compute_band(whole && !run.divided ? *whole : product, {row, run.first, rows, run.count}, d);
      row += rows;
      if (!caller.hears(row)) break;
    }
  } catch (const Caller::Stops&) {  // within a band, of which D may have some elements
  }
  clear_rows_from(row, d);
  return row;
}

std::size_t gemm_into(Matrix& d, const GemmPlan& plan, const MatrixView& a, const MatrixView& b,
                      const GemmInputs& inputs, const GemmOptions& options) {
  validate(plan, kWhere);
  const Performer performer = performer_of(plan, kWhere);
  check_shapes(a, b, inputs.c, kWhere);
  check_operand("A", a.format(), performer.formats.a, performer, kWhere);
  check_operand("B", b.format(), performer.formats.b, performer, kWhere);
  if (d.format() != plan.output || d.rows() != a.rows() || d.columns() != b.columns()) {
    throw InputError(fmt::format("{}: D is {} × {} of {}; expected {} × {} of {}", kWhere, d.rows(), d.columns(),
                                 format(d.format()).name, a.rows(), b.columns(), format(plan.output).name));
  }
  check_inputs(plan, inputs, d, performer.formats.d);

  const Reduction reduction = reduction_of(plan, performer.depth(), a.columns());
  return multiply_by({plan, performer, reduction}, d, a, b, inputs, options);
}

Matrix gemm(const GemmPlan& plan, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs,
            const GemmOptions& options) {
  Matrix d(plan.output, a.rows(), b.columns());
  gemm_into(d, plan, a, b, inputs, options);
  return d;
}

}  // namespace tcnum
