// The fit of plans: all that could be, less what an element of a product refutes.
#include "tcnum/gemm_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "emu/parallel.hpp"
#include "io/memory.hpp"
#include "plan_search.hpp"

namespace tcnum {
namespace {

Answered part_of(const Answered& whole, const Sample& sample) {
  return {rows_of(whole.a, sample.rows), columns_of(whole.b, sample.columns),
          columns_of(rows_of(whole.d, sample.rows), sample.columns)};
}

/// What is known of one product, for each instruction and conversion.
class KnownOfProduct {
 public:
  KnownAccumulations* of(const Candidate& candidate) {
    const std::lock_guard lock(mutex_);
    return &known_[{candidate.performer.get(), candidate.plan.convert_a}];
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<const Performer*, std::optional<Rounding>>, KnownAccumulations> known_;
};

SearchedPlans searched_of(const std::vector<Candidate>& candidates) {
  SearchedPlans searched;
  for (const Candidate& each : candidates) {
    if (std::ranges::find(searched.instructions, each.plan.instruction) == searched.instructions.end())
      searched.instructions.push_back(each.plan.instruction);
    searched.most_parts = std::max(searched.most_parts, each.reduction.parts);
    searched.most_slices = std::max(searched.most_slices, static_cast<std::size_t>(each.plan.slices));
    searched.most_promoted = std::max(searched.most_promoted, each.plan.promote_every.value_or(0));
  }
  return searched;
}

class Fit {
 public:
  Fit(const GemmSubject& subject, const std::vector<Candidate>& candidates, const GemmFitOptions& options)
      : subject_(subject),
        options_(options),
        threads_(options.threads == 0 ? all_threads() : options.threads),
        watch_(options.progress),
        candidates_(candidates),
        mismatches_(candidates_.size(), 0) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) alive_.push_back(i);
    result_.considered = candidates_.size();
    result_.searched = searched_of(candidates_);
  }

  /// Leaves the plans that explain it: first a few of its elements, then all, where few plans are left.
  void take(Answered answered) {
    products_.push_back(std::move(answered));
    if (is_refuted()) return;
    const Answered& whole = products_.back();
    // One element refutes most plans, and a few most of the others.
    sift(part_of(whole, sample_of(subject_.m, subject_.n, 1, 1)));
    sift(part_of(whole, sample_of(subject_.m, subject_.n, 2, 8)));
    sift(part_of(whole, sample_of(subject_.m, subject_.n, 16, 64)));
    if (alive_.size() <= kFew) sift(whole);
  }

  bool is_open() const { return alive_.size() > 1; }
  bool is_refuted() const { return alive_.empty(); }

  /// A product that two of the plans left give different results of; none if none was found.
  std::optional<AskedProduct> separating(std::uint64_t& seed) const {
    for (std::size_t tries = 0; tries < options_.search_products; ++tries) {
      for (std::size_t family = 0; family < kOperandFamilies; ++family) {
        const AskedProduct product = {static_cast<OperandFamily>(family), seed};
        if (tells_apart(make_operands(subject_, product.family, product.seed))) return product;
      }
      ++seed;
    }
    return std::nullopt;
  }

  /// Looks for plans that divide k for some of D alone, where none for all of D is left.
  void look_for_tails() {
    if (is_refuted()) tails_ = fit_tails(subject_, candidates_, products_, threads_, watch_);
  }
  bool has_tails() const { return !tails_.empty(); }

  GemmFit finish(std::vector<AskedProduct> asked) {
    result_.asked = std::move(asked);
    sift_all();
    std::vector<const Candidate*> left;
    for (const Candidate& tail : tails_) left.push_back(&tail);
    for (const std::size_t i : alive_) left.push_back(&candidates_[i]);
    result_.products = products_.size();
    result_.surviving = left.size();
    result_.verdict = left.empty() ? Verdict::unexplained : left.size() == 1 ? Verdict::identified : Verdict::ambiguous;
    compare(left.empty() ? candidates_[nearest()] : *left.front());
    // A plan that explained samples may fail on the rest of its products, and one with a tail on the last.
    if (result_.mismatches != 0) {
      result_.verdict = Verdict::unexplained;
      if (has_tails()) result_.surviving = 0;
    }
    if (result_.verdict == Verdict::ambiguous) {
      std::vector<const GemmPlan*> plans;
      for (const Candidate* each : left) plans.push_back(&each->plan);
      result_.open = differences(plans);
    }
    return std::move(result_);
  }

 private:
  /// So many plans are compared with all elements of a product.
  static constexpr std::size_t kFew = 16;

  /// Products that came while many plans were left have been looked at in part. Larger and larger parts leave few
  /// plans, or plans that are the same for these products, before all elements are compared.
  void sift_all() {
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{64, 256}, {256, 1024}}) {
      for (const Answered& product : products_) {
        if (alive_.size() > kFew) sift(part_of(product, sample_of(subject_.m, subject_.n, rows, columns)));
      }
    }
    for (const Answered& product : products_) {
      if (alive_.size() > 1) sift(product);
    }
  }
  std::size_t count_mismatches(const Candidate& candidate, const Answered& part, KnownOfProduct& known) const {
    return count_differences(product_by(candidate, part.a, part.b, 1, known.of(candidate)), part.d);
  }
  void sift(const Answered& part) {
    watch_.begin("comparing plans", alive_.size(), alive_.size());
    KnownOfProduct known;
    in_parallel(alive_.size(), threads_, [&](std::size_t at) {
      const std::size_t i = alive_[at];
      mismatches_[i] = count_mismatches(candidates_[i], part, known);
      watch_.step();
    });
    std::vector<std::size_t> left;
    std::ranges::copy_if(alive_, std::back_inserter(left), [&](std::size_t i) { return mismatches_[i] == 0; });
    if (left.empty()) last_ = alive_;
    alive_ = std::move(left);
  }
  /// Of those that were left last, the one with the fewest mismatches.
  std::size_t nearest() const {
    return *std::ranges::min_element(last_, {}, [&](std::size_t i) { return mismatches_[i]; });
  }
  bool tells_apart(const GemmOperands& operands) const {
    constexpr std::size_t kColumns = 64, kElements = 1024;
    const Sample sample = sample_of(subject_.m, subject_.n, kElements / std::min(subject_.n, kColumns), kColumns);
    const Matrix a = rows_of(operands.a, sample.rows), b = columns_of(operands.b, sample.columns);
    std::vector<Matrix> results(alive_.size());
    watch_.begin("separating plans", alive_.size(), alive_.size());
    KnownOfProduct known;
    in_parallel(alive_.size(), threads_, [&](std::size_t at) {
      const Candidate& candidate = candidates_[alive_[at]];
      results[at] = product_by(candidate, a, b, 1, known.of(candidate));
      watch_.step();
    });
    return std::ranges::any_of(results, [&](const Matrix& d) { return d != results.front(); });
  }
  /// With all elements of all products.
  void compare(const Candidate& candidate) {
    result_.plan = candidate.plan;
    for (std::size_t i = 0; i < products_.size(); ++i) compare(candidate, i);
  }
  void compare(const Candidate& candidate, std::size_t product) {
    const Answered& answered = products_[product];
    const Matrix d = product_by(candidate, answered.a, answered.b, threads_);
    result_.elements += d.rows() * d.columns();
    each_difference(d, answered.d, [&](std::size_t i, std::size_t j) {
      ++result_.mismatches;
      if (!result_.mismatch) result_.mismatch = GemmMismatch{product, i, j, d(i, j), answered.d(i, j)};
    });
  }

  const GemmSubject& subject_;
  GemmFitOptions options_;
  unsigned threads_;
  mutable FitWatch watch_;
  const std::vector<Candidate>& candidates_;
  std::vector<std::size_t> mismatches_;  ///< of each candidate in the last sample that it was tried on
  std::vector<std::size_t> alive_, last_;
  std::vector<Answered> products_;
  std::vector<Candidate> tails_;
  GemmFit result_;
};

void check_subject(const GemmSubject& subject) {
  for (const auto& [name, extent] : {std::pair{"M", subject.m}, std::pair{"N", subject.n}, std::pair{"K", subject.k}}) {
    if (extent == 0) throw InputError(fmt::format("gemm: {} is 0; expected 1 or more", name));
  }
}

}  // namespace

namespace {

/// Operands and answers of one product of each family are kept until one plan is left.
void require_room(const GemmSubject& of) {
  const auto bytes = [](std::size_t rows, std::size_t columns, FormatId id) {
    return static_cast<double>(rows) * static_cast<double>(columns) * format(id).storage_bytes();
  };
  const double product = bytes(of.m, of.k, of.a) + bytes(of.k, of.n, of.b) + bytes(of.m, of.n, of.d);
  require_memory(fmt::format("a fit of products of {} × {} × {}", of.m, of.n, of.k), kOperandFamilies * product);
}

}  // namespace

GemmFitter::GemmFitter(GemmSubject subject) : subject_(std::move(subject)) {
  check_subject(subject_);
  require_room(subject_);
  candidates_ = std::make_shared<const std::vector<Candidate>>(plan_space(subject_));
}

GemmFit GemmFitter::fit(const GemmCallable& callable, const GemmFitOptions& options) const {
  Fit fit(subject_, *candidates_, options);
  std::vector<AskedProduct> asked;
  const auto ask = [&](const AskedProduct& product) {
    GemmOperands operands = make_operands(subject_, product.family, product.seed);
    Matrix d = callable(operands.a, operands.b);
    check_answer(d, subject_);
    asked.push_back(product);
    fit.take({std::move(operands.a), std::move(operands.b), std::move(d)});
  };
  std::uint64_t seed = options.seed;
  for (std::size_t family = 0; family < kOperandFamilies && !fit.is_refuted(); ++family)
    ask({static_cast<OperandFamily>(family), seed});
  ++seed;
  while (fit.is_open()) {
    const std::optional<AskedProduct> product = fit.separating(seed);
    if (!product) break;
    ask(*product);
    ++seed;
  }
  if (fit.is_refuted()) {
    // The other families tell where in D one plan ends and another begins.
    for (std::size_t family = asked.size(); family < kOperandFamilies; ++family)
      ask({static_cast<OperandFamily>(family), options.seed});
    fit.look_for_tails();
  }
  // One product more, which had no part in choosing the plan.
  if (!fit.is_refuted() || fit.has_tails()) ask({OperandFamily::plain, seed});
  return fit.finish(std::move(asked));
}

GemmFit GemmFitter::fit(const Matrix& a, const Matrix& b, const Matrix& d, const GemmFitOptions& options) const {
  Fit fit(subject_, *candidates_, options);
  fit.take({a, b, d});
  fit.look_for_tails();
  return fit.finish({});
}

GemmFit fit_gemm(const GemmSubject& subject, const GemmCallable& callable, const GemmFitOptions& options) {
  return GemmFitter(subject).fit(callable, options);
}

GemmFit fit_gemm(std::string_view arch, const MatrixView& a, const MatrixView& b, const MatrixView& d,
                 const GemmFitOptions& options) {
  check_shapes(a, b, &d, "gemm");
  return GemmFitter({std::string(arch), a.format(), b.format(), d.format(), a.rows(), b.columns(), a.columns()})
      .fit(Matrix(a), Matrix(b), Matrix(d), options);
}

}  // namespace tcnum
