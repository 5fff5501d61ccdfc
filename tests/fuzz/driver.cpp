// libFuzzer's side of the harnesses: one program for all, so that what they test is linked once.
//   fuzz --harness=NAME [libFuzzer's options and corpora]…
//   fuzz --harnesses                  their names
//   fuzz --harness=NAME --seeds=FOLDER   writes good inputs to begin with, and FOLDER.dict, their words
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>

#include "fuzz.hpp"
#include "json_mutator.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

namespace fs = std::filesystem;
using namespace tcnum::fuzz;

const Harness* chosen = nullptr;

void write_seeds(const fs::path& folder) {
  constexpr std::size_t kShortest = 3, kLongest = 30, kMostWords = 1000;
  fs::create_directories(folder);
  std::set<std::string> words;
  std::size_t number = 0;
  for (const std::string& seed : chosen->seeds()) {
    std::ofstream(folder / ("seed" + std::to_string(number++)), std::ios::binary) << seed;
    std::string word;
    for (const char c : seed + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
      } else {
        if (word.size() >= kShortest && word.size() <= kLongest && words.size() < kMostWords) words.insert(word);
        word.clear();
      }
    }
  }
  std::ofstream dictionary(folder.string() + ".dict");
  for (const std::string& word : words) dictionary << '"' << word << "\"\n";
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  std::string seeds;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = (*argv)[i];
    if (word == "--harnesses") {
      for (const Harness& harness : harnesses()) std::printf("%s\n", std::string(harness.name).c_str());
      std::exit(0);
    }
    if (word.starts_with("--seeds=")) seeds = word.substr(word.find('=') + 1);
    if (!word.starts_with("--harness=")) continue;
    const auto found = std::ranges::find(harnesses(), word.substr(word.find('=') + 1), &Harness::name);
    if (found != harnesses().end()) chosen = &*found;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "fuzz: expected --harness=NAME, with a name that --harnesses shows\n");
    std::exit(2);
  }
  if (!seeds.empty()) {
    write_seeds(seeds);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (chosen->json && random() % 4 != 0) {
    const std::string mutated = mutated_json({reinterpret_cast<const char*>(data), size}, seed);
    if (!mutated.empty() && mutated.size() <= most) {
      std::memcpy(data, mutated.data(), mutated.size());
      return mutated.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
