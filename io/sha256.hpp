// SHA-256: what a file's content is known by.
#pragma once

#include <nettle/sha2.h>

#include <string>
#include <string_view>

namespace tcnum {

class Sha256 {
 public:
  Sha256() { sha256_init(&context_); }
  void add(std::string_view bytes);
  /// Of all that was added, as 64 hexadecimal digits. After it, nothing is added.
  std::string hex();

 private:
  sha256_ctx context_;
};

std::string sha256(std::string_view bytes);
/// Throws InputError if it cannot be read. `right`: what is expected.
std::string sha256_of_file(const std::string& path, std::string_view right);

}  // namespace tcnum
