// Text in lines, as it comes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tcnum {

/// Puts pieces of text together and cuts them into lines.
class Lines {
 public:
  using Take = std::function<void(const std::string& line)>;

  /// `where` is what messages begin with.
  Lines(std::string where, Take take) : where_(std::move(where)), take_(std::move(take)) {}

  /// Hands on the lines that are complete. Throws InputError if one is endless.
  void add(std::string_view piece);
  /// Hands on the last one.
  void finish();

 private:
  std::string where_, line_;
  Take take_;
};

}  // namespace tcnum
