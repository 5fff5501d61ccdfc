#include "buffer.hpp"

#include <new>

#include <hwy/aligned_allocator.h>
#include <sys/mman.h>

namespace tcnum {

void* allocate_for_vectors(std::size_t bytes) {
  // A system gives memory page by page, each cleared when it is first touched. In pages of 4 KiB that takes up to a
  // tenth of the time of a product of 1024.
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const bool is_large = bytes >= kHugePage / 2;
  const std::size_t alignment = is_large ? kHugePage : HWY_ALIGNMENT;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr && bytes > 0) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (is_large) madvise(memory, bytes, MADV_HUGEPAGE);  // pages stay small where it is refused
#endif
  return memory;
}

}  // namespace tcnum
