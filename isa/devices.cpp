// Names of architectures: their own, their numbers, their generations, and the devices that have them.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <tuple>

#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

/// What people call an architecture: its generation, of which the one in data centres is meant, and devices.
struct ArchNames {
  ArchId arch;
  std::string_view names;  ///< with commas between them
};
// Sources: CUDA C++ Programming Guide, "Compute Capabilities", and developer.nvidia.com/cuda-gpus; LLVM, "User Guide
// for AMDGPU Backend", "Processors"; ROCm, "Compatibility matrix".
constexpr auto kArchNames = std::to_array<ArchNames>({
    {ArchId::sm_70, "Volta,V100,Titan V"},
    {ArchId::sm_75, "Turing,T4,RTX 2060,RTX 2070,RTX 2080,RTX 2080 Ti,Titan RTX"},
    {ArchId::sm_80, "Ampere,A100,A800,A30"},
    {ArchId::sm_86, "A2,A10,A16,A40,RTX A6000,RTX 3060,RTX 3070,RTX 3080,RTX 3090"},
    {ArchId::sm_87, "Orin,Jetson AGX Orin"},
    {ArchId::sm_89, "Ada,Ada Lovelace,L4,L20,L40,L40S,RTX 6000 Ada,RTX 4060,RTX 4070,RTX 4080,RTX 4090"},
    {ArchId::sm_90, "Hopper,H100,H200,H20,H800,GH200"},
    {ArchId::sm_100, "Blackwell,B100,B200,GB200"},
    {ArchId::sm_103, "Blackwell Ultra,B300,GB300"},
    {ArchId::sm_120, "RTX PRO 6000,RTX 5060,RTX 5070,RTX 5080,RTX 5090"},
    {ArchId::sm_121, "GB10,DGX Spark"},
    {ArchId::gfx908, "CDNA1,MI100"},
    {ArchId::gfx90a, "CDNA2,MI200,MI210,MI250,MI250X"},
    {ArchId::gfx942, "CDNA3,MI300,MI300A,MI300X,MI308X,MI325X"},
    {ArchId::gfx950, "CDNA4,MI350,MI350X,MI355X"},
    {ArchId::gfx1100, "RDNA3,RX 7900 XT,RX 7900 XTX"},
    {ArchId::gfx1151, "Strix Halo,Ryzen AI Max,Radeon 8060S"},
    {ArchId::gfx1200, "RDNA4,RX 9060,RX 9060 XT"},
});

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Small letters and digits alone, without what stands between words and without the vendor's; empty if other
/// characters are there, as paths have them.
std::string plain_name(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z')
      plain += static_cast<char>(c | 0x20);
    else if ((c >= 'a' && c <= 'z') || is_digit(c))
      plain += c;
    else if (c != '_' && c != '-' && c != ' ')
      return "";
  }
  for (const std::string_view word : {"nvidia", "tesla", "geforce", "amd", "radeon", "instinct"}) {
    if (plain.starts_with(word)) plain.erase(0, word.size());
  }
  return plain;
}

/// Calls with each name and its architecture: the architectures' own first.
template <class Visit>
void each_name(const Visit& visit) {
  for (const Arch& each : kArchs) visit(each.name, each.id);
  for (const ArchNames& each : kArchNames) {
    for (std::string_view rest = each.names; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find(','));
      visit(name, each.arch);
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    }
  }
}

std::size_t common_prefix(std::string_view one, std::string_view other) {
  return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

/// The number of a plain name behind its series ("rtx", 4090); −1 if it has none.
int number_in(std::string_view plain) {
  const auto digits = std::ranges::find_if(plain, is_digit);
  int number = -1;
  std::from_chars(digits, plain.end(), number);
  return number;
}

/// How like a text a name is: those that have the text in them first, then by the letters and digits that both begin
/// with, then by their numbers. A name of another series is not like it at all: an RTX 4090 is no sm_90.
struct Likeness {
  bool is_part;
  std::size_t common;
  int distance;

  Likeness(std::string_view meant, std::string_view name)
      : is_part(meant.size() > 1 && name.find(meant) != name.npos),
        common(common_prefix(meant, name)),
        distance(std::abs(number_in(meant) - number_in(name))) {}

  bool any(std::string_view meant) const {
    constexpr std::size_t kEnoughLetters = 3;
    const auto series = static_cast<std::size_t>(std::ranges::find_if(meant, is_digit) - meant.begin());
    const bool numbered = series > 0 && series < meant.size();
    return is_part || common >= (numbered ? series : kEnoughLetters);
  }
  auto rank() const { return std::tuple(!is_part, -static_cast<int>(common), distance); }
};

std::string near_names(std::string_view text) {
  constexpr std::size_t kMostNames = 3, kMostDigits = 3;  // of a compute capability
  std::string meant = plain_name(text);
  if (meant.empty()) return "";
  if (meant.size() <= kMostDigits && std::ranges::all_of(meant, is_digit)) meant.insert(0, "sm");
  struct Near {
    Likeness likeness;
    std::string written;
  };
  std::vector<Near> near;
  each_name([&](std::string_view name, ArchId id) {
    const Likeness likeness(meant, plain_name(name));
    std::string written(name);
    if (name != arch(id).name) written.append(" (").append(arch(id).name).append(")");
    if (likeness.any(meant)) near.push_back({likeness, std::move(written)});
  });
  std::ranges::stable_sort(near, {}, [](const Near& each) { return each.likeness.rank(); });
  near.erase(near.begin() + static_cast<std::ptrdiff_t>(std::min(near.size(), kMostNames)), near.end());
  std::string words;
  for (std::size_t i = 0; i < near.size(); ++i)
    words.append(i == 0 ? "" : i + 1 == near.size() ? " or " : ", ").append(near[i].written);
  return words;
}

}  // namespace

std::optional<ArchId> find_arch(std::string_view text) {
  std::string meant = plain_name(text);
  if (meant.empty()) return std::nullopt;
  if (std::ranges::all_of(meant, is_digit)) meant.insert(0, "sm");
  // PTX's targets "sm_90a" (architecture-specific) and "sm_100f" (family-specific).
  if (meant.starts_with("sm") && (meant.ends_with('a') || meant.ends_with('f'))) meant.pop_back();
  std::optional<ArchId> found;
  each_name([&](std::string_view name, ArchId id) {
    if (!found && plain_name(name) == meant) found = id;
  });
  return found;
}

std::string arch_names() {
  std::string text;
  for (const Arch& a : kArchs) text.append(text.empty() ? "" : ", ").append(a.name);
  return text;
}

std::string expected_archs(std::string_view text) {
  const std::string near = near_names(text);
  return "one of " + arch_names() + (near.empty() ? "" : "; nearest are " + near);
}

}  // namespace tcnum
