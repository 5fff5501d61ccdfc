// Fields of a JSON file that a stranger wrote: each that is missing or wrong is one line naming the file and the field.
#pragma once

#include <fmt/format.h>

#include "io/json.hpp"
#include "tcnum/error.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// One JSON object, and where it stands.
class JsonFields {
 public:
  JsonFields(const nlohmann::ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail_here("is no object");
  }

  const nlohmann::ordered_json& any(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(key, "is missing");
    return *found;
  }
  std::string text(const char* key) const {
    const auto& value = any(key);
    if (!value.is_string()) fail(key, "expected a string");
    return value.get<std::string>();
  }
  std::uint64_t whole(const char* key) const {
    const auto& value = any(key);
    if (!value.is_number_unsigned()) fail(key, "expected a whole number, 0 or more");
    return value.get<std::uint64_t>();
  }
  const nlohmann::ordered_json& array(const char* key) const {
    const auto& value = any(key);
    if (!value.is_array()) fail(key, "expected an array");
    return value;
  }
  /// "0x…" of at most 64 bits.
  std::uint64_t bits(const nlohmann::ordered_json& value, const std::string& key) const {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    const auto code = parse_code(text);
    if (!code) fail(key, "expected 64 bits as \"0x…\"");
    return *code;
  }

  template <class Key>
  [[noreturn]] void fail(const Key& key, std::string_view what) const {
    throw InputError(fmt::format("{}.{}: {}", where_, key, what));
  }
  const std::string& where() const { return where_; }

 private:
  [[noreturn]] void fail_here(std::string_view what) const { throw InputError(fmt::format("{}: {}", where_, what)); }

  const nlohmann::ordered_json& json_;
  std::string where_;
};

/// Reads a JSON file of that schema; throws InputError.
inline nlohmann::ordered_json read_json_file(const std::string& path, std::string_view schema) {
  nlohmann::ordered_json json = read_json(path, fmt::format("JSON of the schema {}", schema));
  if (JsonFields(json, path).text("schema") != schema) {
    throw InputError(fmt::format("{}: schema: expected \"{}\"", path, schema));
  }
  return json;
}

}  // namespace tcnum
