#include "reads.hpp"

#include "emu/parallel.hpp"

namespace tcnum::bench {

ReadWords::ReadWords(const ReadWork& work, std::size_t pieces, std::uint32_t seed, unsigned threads)
    : xored_(pieces * kReadThreads) {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  in_parallel(pieces, threads, [&](std::size_t piece) {
    for (unsigned load = 0; load < work.loads(); ++load) {
      for (unsigned thread = 0; thread < kReadThreads; ++thread) {
        const std::size_t first = (piece * kReadPiece + work.offset(load, thread)) / kWord;
        for (std::size_t w = 0; w < work.width / kWord; ++w) {
          xored_[piece * kReadThreads + thread] ^= memory_word(seed, first + w);
        }
      }
    }
  });
}

std::vector<std::uint32_t> ReadWords::checksums(const ReadWork& work, std::size_t blocks, unsigned threads) const {
  std::vector<std::uint32_t> all(blocks * kReadThreads);
  in_parallel(blocks, threads, [&](std::size_t block) {
    std::uint32_t* const mine = all.data() + block * kReadThreads;
    const std::size_t first = work.first_piece(block), start = work.start(block, blocks);
    for (std::size_t round = 0; round < std::size_t{work.warm_rounds} + work.timed_rounds(block); ++round) {
      const std::uint32_t* const words = xored_.data() + (first + (start + round) % work.pieces()) * kReadThreads;
      for (unsigned thread = 0; thread < kReadThreads; ++thread) {
        mine[thread] = next_checksum(mine[thread], words[thread]);
      }
    }
  });
  return all;
}

}  // namespace tcnum::bench
