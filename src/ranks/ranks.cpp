#include "ranks.hpp"

namespace tcnum {

std::vector<int> share_of(const std::vector<int>& all, const Ranks& ranks) {
  const auto part = static_cast<std::size_t>(ranks.local_rank()), parts = static_cast<std::size_t>(ranks.local_size());
  if (part >= all.size()) return {all[part % all.size()]};
  std::vector<int> own;
  for (std::size_t i = part; i < all.size(); i += parts) own.push_back(all[i]);
  return own;
}

}  // namespace tcnum
