#include "sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "input_file.hpp"

namespace tcnum {

void Sha256::add(std::string_view bytes) {
  sha256_update(&context_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&context_, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_of_file(const std::string& path, std::string_view right) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  const InputFile file(path, right);
  std::vector<char> bytes(kAtOnce);
  Sha256 hash;
  while (const std::size_t count = file.read_some(bytes)) hash.add({bytes.data(), count});
  return hash.hex();
}

}  // namespace tcnum
