#include "integers.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "emu/integer_sums.hpp"
#include "integer_kernels.hpp"
#include "parts.hpp"

namespace tcnum::panels {
namespace {

/// Pairs of products along k that are packed at once.
constexpr std::size_t kPairs = 512;

IntegerFields fields_of(FormatId id) {
  const Format& f = format(id);
  return {(1 << f.storage_bits) - 1, f.has_sign ? 1 << (f.storage_bits - 1) : 0};
}

/// The order in which products of some k-steps go into pairs, none of which two sums share, and where each sum ends.
struct Pairs {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> k;  ///< of each product, two to a pair
  std::vector<std::size_t> ends;
  std::size_t range;     ///< of k, some k-steps
  bool in_order = true;  ///< k are 0, 1, 2, …

  Pairs(const IntegerPlan& plan, std::size_t k_steps) : range(k_steps * plan.depth) {
    for (std::size_t k_step = 0; k_step < k_steps; ++k_step) {
      for (const std::vector<int>& node : plan.nodes) {
        for (const int kk : node) k.push_back(k_step * plan.depth + static_cast<std::size_t>(kk));
        if (plan.wraps) continue;  // modulo 2^32 it does not matter what is added first
        end_sum();
      }
    }
    if (plan.wraps) end_sum();
    for (std::size_t p = 0; p < k.size(); ++p) in_order = in_order && k[p] == p;
  }
  std::size_t size() const { return k.size() / 2; }

 private:
  void end_sum() {
    if (k.size() % 2 != 0) k.push_back(kNone);
    ends.push_back(size());
  }
};

class IntegerPart {
 public:
  IntegerPart(const IntegerPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const Part& part)
      : plan_(plan),
        shape_(shape),
        a_(a),
        b_(b),
        part_(part),
        results_(part, rounded_up(part.m, kIntegerRows)),
        a_fields_(fields_of(plan.a)),
        b_fields_(fields_of(plan.b)) {}

  void run(const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) {
    if (c.codes != nullptr) {
      each_result(c, [](std::int32_t& result, const std::byte* code) { std::memcpy(&result, code, sizeof(result)); });
    }
    const std::size_t k_steps = rounded_up(shape_.k, plan_.depth) / plan_.depth;
    const std::size_t at_once = std::max<std::size_t>(1, 2 * kPairs / plan_.depth);
    for (std::size_t k_step = 0; k_step < k_steps; k_step += at_once)
      add_k_steps(k_step, std::min(at_once, k_steps - k_step));
    each_result(d, [](const std::int32_t& result, std::byte* code) { std::memcpy(code, &result, sizeof(result)); });
  }

 private:
  template <class Byte, class With>
  void each_result(const MatrixCodes<Byte>& matrix, const With& with) {
    constexpr std::size_t kBytes = sizeof(std::int32_t);
    results_.each_stretch(matrix, kBytes, [&](std::int32_t* results, std::size_t count, Byte* codes) {
      for (std::size_t j = 0; j < count; ++j) with(results[j], codes + j * matrix.column_stride * kBytes);
    });
  }

  void add_k_steps(std::size_t first_k_step, std::size_t k_steps) {
    const Pairs pairs(plan_, k_steps);
    const std::size_t first = first_k_step * plan_.depth;
    pack_a(pairs, first);
    packed_b_.resize(pairs.size() * kColumns);
    for (std::size_t panel = 0; panel < results_.panels(); ++panel) {
      pack_b(pairs, first, panel);
      for (std::size_t row = 0; row < results_.rows(); row += kIntegerRows) {
        IntegerWork work;
        for (std::size_t r = 0; r < kIntegerRows; ++r) {
          work.a[r] = &packed_a_[(row + r) * pairs.size()];
          work.results[r] = results_.of(row + r, panel);
        }
        work.b = packed_b_.data();
        work.sums = pairs.ends.data();
        work.count = pairs.ends.size();
        work.wraps = plan_.wraps;
        integer_kernels()->add_sums(work);
      }
    }
  }

  /// Copies codes, each so far from the one before, of the products that are there: not those that fill a pair or the
  /// last k-step up.
  static void copy(const std::byte* codes, std::size_t stride, std::size_t count, std::uint8_t* to) {
    if (stride == 1) {
      std::memcpy(to, codes, count);
      return;
    }
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(codes[i * stride]);
  }

  void pack_a(const Pairs& pairs, std::size_t first) {
    const std::size_t products = pairs.k.size(), there = std::min(pairs.range, shape_.k - first);
    packed_a_.resize(results_.rows() * pairs.size());
    std::fill_n(packed_a_.data(), packed_a_.size(), 0);
    std::vector<std::uint8_t> in_order(pairs.range), codes(products);
    for (std::size_t i = 0; i < part_.m; ++i) {
      copy(a_.codes + (part_.i + i) * a_.row_stride + first * a_.column_stride, a_.column_stride, there,
           in_order.data());
      for (std::size_t p = 0; p < products && !pairs.in_order; ++p)
        codes[p] = pairs.k[p] == Pairs::kNone ? std::uint8_t{0} : in_order[pairs.k[p]];
      integer_kernels()->pack_row(a_fields_, (pairs.in_order ? in_order : codes).data(), products,
                                  &packed_a_[i * pairs.size()]);
    }
  }

  void pack_b(const Pairs& pairs, std::size_t first, std::size_t panel) {
    const std::size_t column = part_.j + panel * kColumns, columns = std::min(kColumns, part_.j + part_.n - column);
    std::uint8_t codes[2][kColumns] = {};
    for (std::size_t p = 0; p < pairs.k.size(); ++p) {
      const std::size_t k = pairs.k[p];
      if (k != Pairs::kNone && first + k < shape_.k)
        copy(b_.codes + (first + k) * b_.row_stride + column * b_.column_stride, b_.column_stride, columns,
             codes[p % 2]);
      else
        std::fill_n(codes[p % 2], kColumns, std::uint8_t{0});
      if (p % 2 != 0) integer_kernels()->pack_pairs(b_fields_, codes[0], codes[1], &packed_b_[p / 2 * kColumns]);
    }
  }

  const IntegerPlan& plan_;
  ProductShape shape_;
  MatrixCodes<const std::byte> a_, b_;
  Part part_;
  PartNumbers<std::int32_t> results_;
  IntegerFields a_fields_, b_fields_;
  Buffer<std::int32_t> packed_a_, packed_b_;
};

/// Whether a unit's only step wraps to 32 bits, or clamps to them; neither if it does something else.
struct Ending {
  bool wraps = false, clamps = false;
};
Ending ending_of(const IntegerUnits::Steps& steps) {
  using Limits = std::numeric_limits<std::int32_t>;
  const IntegerStep& s = steps.step[0];
  const bool in_32_bits = steps.count == 1 && s.lowest == Limits::min() && s.highest == Limits::max();
  return {in_32_bits && s.wraps, in_32_bits && !s.wraps};
}

}  // namespace

WhyNot why_no_integer_panels(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_integer_sums(numerics, tree); !why_not.empty()) return why_not;
  if (numerics.product.operation != ProductOperation::multiply) return "its operands are compared bit by bit";
  if (format(numerics.a.format).storage_bits > 8 || format(numerics.b.format).storage_bits > 8)
    return "its operands have more than 8 bits";
  if (numerics.c.format != FormatId::s32 || numerics.result != FormatId::s32) return "c or its results are not s32";
  const IntegerUnits units = integer_units_of(numerics, tree);
  bool all_wrap = true, all_clamp = true;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const SortedNode& node = tree.nodes[i];
    const Term sum_so_far = i == 0 ? Term{Term::Kind::accumulator, 0} : Term{Term::Kind::node, static_cast<int>(i) - 1};
    if (node.others.size() != 1 || node.others[0] != sum_so_far) return "its sums are no chain that begins with c";
    const Ending ending = ending_of(units.unit[static_cast<std::size_t>(node.unit)]);
    all_wrap = all_wrap && ending.wraps;
    all_clamp = all_clamp && ending.clamps;
  }
  return all_wrap || all_clamp ? WhyNot() : "its sums are not all clamped, or all wrapped, to 32 bits";
}

IntegerPlan make_integer_plan(const Numerics& numerics, const SortedTree& tree) {
  IntegerPlan plan;
  plan.a = numerics.a.format;
  plan.b = numerics.b.format;
  plan.depth = static_cast<std::size_t>(tree.tree.k);
  for (const SortedNode& node : tree.nodes) plan.nodes.push_back(node.products);
  const IntegerUnits units = integer_units_of(numerics, tree);
  plan.wraps = ending_of(units.unit[static_cast<std::size_t>(tree.nodes.back().unit)]).wraps;
  return plan;
}

void multiply(const IntegerPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads) {
  each_part(shape, threads, [&](const Part& part) { IntegerPart(plan, shape, a, b, part).run(c, d); });
}

}  // namespace tcnum::panels
