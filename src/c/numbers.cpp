// Describes formats, and converts numbers to codes and back.
#include "arguments.hpp"
#include "io/printable.hpp"
#include "src/gemm/sums.hpp"

namespace tcnum {
namespace {

tcnum_format_info info_of(const Format& f) {
  tcnum_format_info info = {};
  info.name = f.name.data();
  info.ptx = f.ptx.data();
  info.bits = f.storage_bits;
  info.bytes = f.storage_bytes();
  info.is_floating = f.floating;
  info.is_signed = f.has_sign;
  info.exponent_bits = f.exponent_bits;
  info.fraction_bits = f.fraction_bits;
  info.padding_bits = f.padding_bits;
  info.bias = f.bias;
  info.has_infinity = f.has_infinity();
  info.has_nan = f.non_finite != NonFinite::none;
  info.text = c_name(f.id);
  return info;
}

/// The names of values, the first of which NULL stands for. Overflow::wrap is left out: it is a rule of accumulators of
/// integers.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};
constexpr Named<Rounding> kRoundings[] = {{"nearest_even", Rounding::nearest_even},
                                          {"nearest_away", Rounding::nearest_away},
                                          {"toward_zero", Rounding::toward_zero},
                                          {"up", Rounding::up},
                                          {"down", Rounding::down}};
constexpr Named<Overflow> kOverflows[] = {
    {"ieee", Overflow::ieee}, {"infinity", Overflow::infinity}, {"max_finite", Overflow::max_finite}};
constexpr Named<NonFinite> kNonFinite[] = {{"ieee", NonFinite::ieee},
                                           {"nan_all_ones", NonFinite::nan_all_ones},
                                           {"nan_negative_zero", NonFinite::nan_negative_zero},
                                           {"none", NonFinite::none}};

template <class Value, std::size_t count>
Value value_of(const char* name, const Named<Value> (&names)[count], std::string_view argument) {
  if (name == nullptr) return names[0].value;
  std::string known;
  for (const auto& [text, value] : names) {
    if (text == name) return value;
    known.append(known.empty() ? "" : ", ").append(text);
  }
  throw InputError(fmt::format("{}: {} is unknown; expected one of {}", argument, in_quotes(name), known));
}

void check_bytes(std::size_t bytes, std::size_t count, const Format& f) {
  std::size_t expected = 0;
  const bool too_many = __builtin_mul_overflow(count, static_cast<std::size_t>(f.storage_bytes()), &expected);
  if (!too_many && bytes == expected) return;
  throw InputError(fmt::format("bytes: is {}; expected {}, as {} codes of {} have", bytes,
                               too_many ? "more than a memory can hold" : std::to_string(expected), count, f.name));
}

OutputRule output_rule(const Format& f, const char* rounding, const char* overflow) {
  return {f.id, value_of(rounding, kRoundings, "rounding"), value_of(overflow, kOverflows, "overflow"),
          f.non_finite == NonFinite::none ? 0 : nan_code(f)};
}

/// The address that codes are written to.
std::byte* room_for(void* codes, std::size_t bytes) {
  return static_cast<std::byte*>(&required(static_cast<std::byte*>(codes), "codes", fmt::format("{} bytes", bytes)));
}

void encode_numbers(const double* numbers, std::size_t count, const char* format_name, const char* rounding,
                    const char* overflow, void* codes, std::size_t bytes) {
  const Format& f = format_of(format_name, "format");
  const OutputRule rule = output_rule(f, rounding, overflow);
  check_bytes(bytes, count, f);
  if (count == 0) return;
  required(numbers, "numbers", fmt::format("{} numbers", count));
  std::byte* const to = room_for(codes, bytes);
  if (f.non_finite == NonFinite::none) {  // refuses NaNs before anything is written
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isnan(numbers[i])) continue;
      throw InputError(
          fmt::format("numbers: number {} is NaN; expected a format that has one, which {} has not", i, f.name));
    }
  }
  const auto each = static_cast<std::size_t>(f.storage_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t code = code_of(rule, numbers[i]);
    std::memcpy(to + i * each, &code, each);
  }
}

template <class Number>
void decode_codes(const void* codes, std::size_t bytes, const char* format_name, Number* numbers, std::size_t count) {
  const Format& f = format_of(format_name, "format");
  check_bytes(bytes, count, f);
  if (count == 0) return;
  const std::span<const std::byte> from = bytes_at(codes, bytes, "codes");
  required(numbers, "numbers", fmt::format("room for {} numbers", count));
  check_codes(from, f, "codes");
  const auto each = static_cast<std::size_t>(f.storage_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, &from[i * each], each);
    numbers[i] = static_cast<Number>(number_of(f, code));
  }
}

}  // namespace
}  // namespace tcnum

using namespace tcnum;

size_t tcnum_format_count() { return kFormats.size(); }

tcnum_status tcnum_format_at(size_t index, tcnum_format_info* info) {
  return guarded([&] {
    check_index(index, kFormats.size(), "the formats");
    hand_back(info_of(kFormats[index]), info, "info");
  });
}

tcnum_status tcnum_format_find(const char* name, tcnum_format_info* info) {
  return guarded([&] { hand_back(info_of(format_of(name, "name")), info, "info"); });
}

tcnum_status tcnum_format_define(const char* name, int exponent_bits, int fraction_bits, int bias,
                                 const char* non_finite, int is_signed, tcnum_format_info* info) {
  return guarded([&] {
    OwnFormat own{std::string(text_of(name, "name", "a name for the format")),
                  exponent_bits,
                  fraction_bits,
                  bias,
                  value_of(non_finite, kNonFinite, "non_finite"),
                  is_signed != 0};
    if (bias == TCNUM_USUAL_BIAS) own.bias = usual_bias(exponent_bits);
    const FormatId id = own_format(own);
    if (info != nullptr) hand_back(info_of(format(id)), info, "info");
  });
}

tcnum_status tcnum_encode(const double* numbers, size_t count, const char* format, const char* rounding,
                          const char* overflow, void* codes, size_t bytes) {
  return guarded([&] { encode_numbers(numbers, count, format, rounding, overflow, codes, bytes); });
}

tcnum_status tcnum_encode_integers(const void* numbers, int are_unsigned, size_t count, const char* format,
                                   const char* rounding, const char* overflow, void* codes, size_t bytes) {
  return guarded([&] {
    const Format& f = format_of(format, "format");
    const OutputRule rule = output_rule(f, rounding, overflow);
    check_bytes(bytes, count, f);
    if (count == 0) return;
    const auto* const whole =
        &required(static_cast<const std::uint64_t*>(numbers), "numbers", fmt::format("{} numbers", count));
    std::byte* const to = room_for(codes, bytes);
    const auto each = static_cast<std::size_t>(f.storage_bytes());
    for (std::size_t i = 0; i < count; ++i) {
      const bool negative = are_unsigned == 0 && whole[i] >> 63 != 0;
      const std::uint64_t magnitude = negative ? 0 - whole[i] : whole[i];
      const std::uint64_t code = encode(f, negative, magnitude, 0, false, rule.rounding, rule.overflow);
      std::memcpy(to + i * each, &code, each);
    }
  });
}

tcnum_status tcnum_decode(const void* codes, size_t bytes, const char* format, double* numbers, size_t count) {
  return guarded([&] { decode_codes(codes, bytes, format, numbers, count); });
}

tcnum_status tcnum_decode_floats(const void* codes, size_t bytes, const char* format, float* numbers, size_t count) {
  return guarded([&] { decode_codes(codes, bytes, format, numbers, count); });
}
