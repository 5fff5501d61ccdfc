#include "words.hpp"

#include <fmt/format.h>

#include <optional>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

std::vector<std::string> split_words(std::string_view command, std::string_view where) {
  std::vector<std::string> words;
  std::optional<std::string> word;  // that has begun
  char quote = 0;                   // that has
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\0') throw InputError(fmt::format("{}: holds a zero byte; expected a command", where));
    if (quote == 0 && is_blank(c)) {
      if (word) words.push_back(*std::move(word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
      continue;
    }
    if (c == '\\' && quote != '\'') {
      if (i + 1 == command.size())
        throw InputError(fmt::format("{}: ends with a backslash; expected a character after it", where));
      const char next = command[i + 1];
      if (quote == 0 || next == '"' || next == '\\') {
        *word += next;
        ++i;
        continue;
      }
    }
    *word += c;
  }
  if (quote != 0) throw InputError(fmt::format("{}: a {} does not end; expected two of them", where, quote));
  if (word) words.push_back(*std::move(word));
  if (words.empty() || words.front().empty())
    throw InputError(fmt::format("{}: names no program; expected a program and its arguments", where));
  return words;
}

}  // namespace tcnum
