#include "json_mutator.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace tcnum::fuzz {
namespace {

using nlohmann::ordered_json;

class Mutation {
 public:
  Mutation(ordered_json& document, std::uint32_t seed) : random_(seed) { collect(document); }

  void apply() {
    ordered_json& target = any();
    switch (below(8)) {
      case 0:
        target = any_value();
        break;
      case 1: {
        const ordered_json other = any();
        target = other;
        break;
      }
      case 2:
        remove_from(target);
        break;
      case 3:
        add_to(target);
        break;
      case 4:
        rename_in(target);
        break;
      default:
        nudge(any_scalar());
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  ordered_json& any() { return *values_[below(values_.size())]; }
  ordered_json& any_scalar() { return scalars_.empty() ? any() : *scalars_[below(scalars_.size())]; }

  void collect(ordered_json& value) {
    values_.push_back(&value);
    if (!value.is_structured()) scalars_.push_back(&value);
    if (value.is_object()) {
      for (auto& [key, inner] : value.items()) {
        keys_.push_back(key);
        collect(inner);
      }
    } else if (value.is_array()) {
      for (ordered_json& inner : value) collect(inner);
    }
  }

  ordered_json any_value() {
    switch (below(8)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return any_whole();
      case 3:
        return static_cast<double>(any_whole()) / 3;
      case 4:
        return ordered_json::array();
      case 5:
        return ordered_json::object();
      case 6:
        return std::string(below(4) * 40, 'x') + "\"\n<\x7f&";
      default:
        return keys_.empty() ? std::string() : keys_[below(keys_.size())];
    }
  }

  std::int64_t any_whole() {
    constexpr std::array<std::int64_t, 12> kEdges = {0,
                                                     1,
                                                     -1,
                                                     2,
                                                     23,
                                                     64,
                                                     255,
                                                     4096,
                                                     1 << 20,
                                                     std::int64_t{1} << 32,
                                                     std::numeric_limits<std::int64_t>::max(),
                                                     std::numeric_limits<std::int64_t>::min()};
    return below(2) == 0 ? kEdges[below(kEdges.size())] : static_cast<std::int64_t>(below(64)) - 32;
  }

  /// A number a little off, another word, the other truth.
  void nudge(ordered_json& value) {
    if (value.is_number_unsigned() && below(3) != 0) {
      value = value.get<std::uint64_t>() + below(5) - 2;
    } else if (value.is_number_integer() && below(3) != 0) {
      value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.get<std::int64_t>()) + below(5) - 2);
    } else if (value.is_boolean()) {
      value = !value.get<bool>();
    } else if (value.is_string() && below(2) == 0 && !value.get_ref<std::string&>().empty()) {
      std::string& text = value.get_ref<std::string&>();
      text[below(text.size())] = static_cast<char>(' ' + below(95));
    } else if (value.is_string()) {
      const ordered_json other = any_scalar();
      value = other;
    } else {
      value = any_whole();
    }
  }

  void remove_from(ordered_json& value) {
    if (value.is_structured() && !value.empty()) {
      value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(below(value.size()))));
    } else {
      value = nullptr;
    }
  }

  void add_to(ordered_json& value) {
    const ordered_json other = below(2) == 0 ? any() : any_value();
    if (value.is_array()) {
      value.insert(std::next(value.begin(), static_cast<std::ptrdiff_t>(below(value.size() + 1))), other);
    } else if (value.is_object() && !keys_.empty()) {
      value[keys_[below(keys_.size())]] = other;
    } else {
      value = ordered_json::array({value, other});
    }
  }

  void rename_in(ordered_json& value) {
    if (!value.is_object() || value.empty() || keys_.empty()) return nudge(any_scalar());
    auto& entries = value.get_ref<ordered_json::object_t&>();
    ordered_json::object_t renamed;
    const std::size_t changed = below(entries.size());
    std::size_t i = 0;
    for (auto& [key, inner] : entries) {
      const bool change = i++ == changed;
      renamed[change ? keys_[below(keys_.size())] + (below(3) == 0 ? "_" : "") : key] = inner;
    }
    value = ordered_json(std::move(renamed));
  }

  std::mt19937 random_;
  std::vector<ordered_json*> values_, scalars_;
  std::vector<std::string> keys_;
};

/// Too deep for what works on documents by recursion, as this does.
bool is_too_deep(std::string_view text) {
  constexpr int kDeepest = 200;
  int depth = 0, deepest = 0;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  return deepest > kDeepest;
}

}  // namespace

std::string mutated_json(std::string_view text, std::uint32_t seed) {
  const std::size_t end = text.find('\0');
  const std::string_view rest = end == std::string_view::npos ? "" : text.substr(end);
  text = text.substr(0, end);
  if (is_too_deep(text)) return "";
  ordered_json document = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return "";
  Mutation(document, seed).apply();
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace).append(rest);
}

}  // namespace tcnum::fuzz
