#include "json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "input_file.hpp"
#include "printable.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(std::string_view where, std::string_view place, std::string_view message) {
  if (place.empty()) throw InputError(fmt::format("{}: {}", where, message));
  throw InputError(fmt::format("{}: {}: {}", where, place, message));
}

/// Takes what the library's parser finds, and builds the value. The library would build it too, but it looks through
/// all members of an object for each that it adds, and copies them whenever their list grows.
class Builder {
 public:
  Builder(std::string_view where, const JsonLimits& limits) : where_(where), limits_(limits) {}

  Json take() { return std::move(root_); }

  // The library's interface (nlohmann::json_sax). Each says whether to go on.
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool key(std::string& name) {
    Level& level = levels_.back();
    level.members.emplace_back(std::move(name), nullptr);
    if (level.members.size() > limits_.members) {
      fail(where_, path(levels_.size() - 1), fmt::format("an object has more than {} members", limits_.members));
    }
    return true;
  }
  bool end_object() {
    check_keys();
    Json object = Json::object();
    auto& to = object.get_ref<Json::object_t&>();
    to.reserve(levels_.back().members.size());
    for (auto& [name, value] : levels_.back().members) to.emplace_back(std::move(name), std::move(value));
    levels_.pop_back();
    return add(std::move(object));
  }
  bool end_array() {
    Json array = std::move(levels_.back().elements);
    levels_.pop_back();
    return add(std::move(array));
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    std::string_view message = error.what();
    if (const auto at = message.find("] "); at != message.npos) message.remove_prefix(at + 2);  // the library's number
    constexpr std::size_t kMost = 240;  // it quotes the whole of a token, which may be all of the file
    fail(where_, fmt::format("byte {}", position), fmt::format("no JSON: {}", shortened(message, kMost)));
  }

 private:
  /// An array or object that is not complete yet.
  struct Level {
    bool object;
    Json::array_t elements;
    std::vector<std::pair<std::string, Json>> members;  ///< the last one's value may be still to come
  };

  bool open(bool object) {
    if (levels_.size() >= limits_.levels) {
      fail(where_, "", fmt::format("is nested deeper than {} levels", limits_.levels));
    }
    levels_.push_back({object, {}, {}});
    return true;
  }

  bool add(Json&& value) {
    if (++values_ > limits_.values) fail(where_, "", fmt::format("holds more than {} values", limits_.values));
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (levels_.back().object) {
      levels_.back().members.back().second = std::move(value);
    } else {
      levels_.back().elements.push_back(std::move(value));
    }
    return true;
  }

  /// Of the innermost level, which is an object.
  void check_keys() const {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : levels_.back().members) names.push_back(name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice == names.end()) return;
    const std::string outer = path(levels_.size() - 1);
    fail(where_, outer + (outer.empty() ? "" : ".") + in_quotes(*twice), "this key appears twice in one object");
  }

  /// The keys that lead to what stands in so many levels; a few of them, if they are many.
  std::string path(std::size_t levels) const {
    std::string text;
    for (std::size_t i = 0; i < levels; ++i) {
      if (levels_[i].object) text += (text.empty() ? "" : ".") + in_quotes(levels_[i].members.back().first);
    }
    return shortened(text, 4 * kMostShown);
  }

  std::string_view where_;
  const JsonLimits& limits_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
  Json root_;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits) {
  if (text.size() > limits.bytes) fail(where, "", fmt::format("is larger than {} MiB", limits.bytes >> 20));
  // The library skips a byte order mark, and takes a zero byte for the end of its input.
  if (text.starts_with("\xef\xbb\xbf")) fail(where, "byte 1", "is a byte order mark; expected JSON without it");
  if (const std::size_t at = text.find('\0'); at != text.npos) {
    fail(where, fmt::format("byte {}", at + 1), "is zero; expected JSON in UTF-8");
  }
  Builder builder(where, limits);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json read_json(const std::string& path, std::string_view right, const JsonLimits& limits) {
  return parse_json(read_text(path, right, limits.bytes), path, limits);
}

}  // namespace tcnum
