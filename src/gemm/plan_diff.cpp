#include "tcnum/plan_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "emu/rank.hpp"
#include "plan_search.hpp"
#include "src/fit/description_diff.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using namespace std::string_literals;

/// Members of a plan that say together whose datapath it is.
constexpr std::array<const char*, 4> kDatapath = {"/instruction", "/arch", "/account", "/datapath"};
constexpr const char* kDatapathField = "/instruction";

bool is_of_datapath(const std::string& path) {
  return std::ranges::any_of(kDatapath, [&](const char* key) { return path == key || path.starts_with(key + "/"s); });
}

/// Paths of the fields in which plans differ; of whose datapath it is, one.
std::vector<std::string> fields_of(const ordered_json& one, const ordered_json& other) {
  std::vector<std::string> fields = differing_members({one, other});
  std::erase_if(fields, [](const std::string& path) { return path == "/name"; });
  const auto first = std::ranges::find_if(fields, is_of_datapath);
  if (first == fields.end()) return fields;
  *first = kDatapathField;
  fields.erase(std::remove_if(first + 1, fields.end(), is_of_datapath), fields.end());
  return fields;
}

std::string text_of(const ordered_json& plan, const std::string& field) {
  if (field != kDatapathField) return member_text(plan, field);
  if (plan.contains("datapath")) return "a datapath of its own";
  const std::string account = plan.contains("account") ? fmt::format(" ({})", member_text(plan, "/account")) : "";
  return fmt::format("{} {}{}", member_text(plan, "/arch"), member_text(plan, "/instruction"), account);
}

/// The first plan, with that field as the second has it.
GemmPlan with_field(ordered_json one, const ordered_json& other, const std::string& field) {
  if (field != kDatapathField) {
    take_member(one, other, field);
  } else {
    for (const char* key : kDatapath) take_member(one, other, key);
  }
  return plan_from_json(one, "plan");
}

/// What the matrices are of that both plans multiply: fp32 for tf32, as kernels take it.
std::pair<FormatId, FormatId> operands_of(const Performer& performer) {
  const auto given = [](FormatId id) { return id == FormatId::tf32 ? FormatId::fp32 : id; };
  const Numerics& n = performer.datapath.numerics;
  return {given(n.a.format), given(n.b.format)};
}

class Search {
 public:
  Search(const GemmPlan& one, const GemmPlan& other, const PlanDiffOptions& options)
      : one_(one), other_(other), options_(options) {
    const Performer x = performer_of(one, "one"), y = performer_of(other, "other");
    const auto formats = operands_of(x);
    const auto text = [](const std::pair<FormatId, FormatId>& of, FormatId output) {
      return fmt::format("{} · {} → {}", format(of.first).name, format(of.second).name, format(output).name);
    };
    if (formats != operands_of(y) || one.output != other.output) {
      throw InputError(fmt::format("plan: one is of {}, the other of {}; expected the same formats",
                                   text(formats, one.output), text(operands_of(y), other.output)));
    }
    found_.a = formats.first;
    found_.b = formats.second;
    found_.output = one.output;
  }

  PlanDiff run() {
    const ordered_json mine = plan_to_json(one_), theirs = plan_to_json(other_);
    const std::vector<std::string> fields = fields_of(mine, theirs);
    found_.equal = fields.empty();
    std::size_t same_until = 0;
    for (std::size_t k = 1; k <= options_.most_k; k *= 2) {
      found_.lengths.push_back(compare(k));
      if (!smallest_) same_until = k;
    }
    if (smallest_) {
      // Between the two there may be lengths without a difference, so that what is found need not be the least.
      while (smallest_->k - same_until > 1) {
        const std::size_t k = same_until + (smallest_->k - same_until) / 2;
        if (compare(k).different == 0) same_until = k;
      }
      found_.smallest_k = smallest_->k;
    }
    for (const std::string& field : fields) {
      found_.fields.push_back(
          {shown_path(field), text_of(mine, field), text_of(theirs, field), decides(mine, theirs, field)});
    }
    return std::move(found_);
  }

 private:
  struct Example {
    std::size_t k;
    GemmOperands operands;
    Matrix theirs;
  };

  /// Remembers a product that differs, of the smallest k.
  PlansAtLength compare(std::size_t k) {
    constexpr double kLeastSide = 8, kMostSide = 64;
    const double elements = static_cast<double>(options_.multiply_adds) / static_cast<double>(k);
    const auto side = static_cast<std::size_t>(std::clamp(std::sqrt(elements), kLeastSide, kMostSide));
    PlansAtLength at;
    at.k = k;
    UlpsApart apart;
    const Format& f = format(found_.output);
    for (std::size_t family = 0; family < kOperandFamilies; ++family) {
      GemmOperands operands = make_operands({one_.arch, found_.a, found_.b, found_.output, side, side, k},
                                            static_cast<OperandFamily>(family), options_.seed);
      const Matrix x = product(one_, operands);
      Matrix y = product(other_, operands);
      std::uint64_t different = 0;
      each_difference(x, y, [&](std::size_t i, std::size_t j) {
        ++different;
        apart.add(f, x(i, j), y(i, j));
      });
      at.tried += x.codes().size();
      at.different += different;
      if (different > 0 && (!smallest_ || k < smallest_->k)) smallest_ = {k, std::move(operands), std::move(y)};
    }
    at.max_ulps = apart.most();
    at.mean_ulps = apart.mean();
    return at;
  }

  Matrix product(const GemmPlan& plan, const GemmOperands& operands) const {
    return gemm(plan, operands.a, operands.b, {}, {.threads = options_.threads});
  }

  bool decides(const ordered_json& mine, const ordered_json& theirs, const std::string& field) const {
    if (!smallest_) return false;
    try {
      return count_differences(product(with_field(mine, theirs, field), smallest_->operands), smallest_->theirs) == 0;
    } catch (const InputError&) {
      return false;  // the two do not go together
    }
  }

  const GemmPlan &one_, &other_;
  const PlanDiffOptions& options_;
  PlanDiff found_;
  std::optional<Example> smallest_;
};

}  // namespace

PlanDiff diff(const GemmPlan& one, const GemmPlan& other, const PlanDiffOptions& options) {
  validate(one, "one");
  validate(other, "other");
  return Search(one, other, options).run();
}

}  // namespace tcnum
