// Codes of formats of at most 32 bits, as kernels make them, are those of the streams' definition.
// Labels: sanitized
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include "src/campaign/gpu/codes32.hpp"

namespace tcnum::stream {
namespace {

std::vector<Format> formats_of_32_bits() {
  std::vector<Format> all;
  for (const Format& f : kFormats) {
    if (Format32::suits(f)) all.push_back(f);
  }
  return all;
}

/// Calls with the bytes of a code.
template <class With>
std::uint32_t with_bytes_of(const Format& f, const With& with) {
  switch (f.storage_bytes()) {
    case 1:
      return with.template operator()<1>();
    case 2:
      return with.template operator()<2>();
    default:
      return with.template operator()<4>();
  }
}

Format any_format() {
  static const std::vector<Format> all = formats_of_32_bits();
  return *rc::gen::elementOf(all);
}

/// Random words, with every pattern and edges of the exponents.
Words any_words() {
  const auto word = [] { return *rc::gen::element<std::uint32_t>(0, ~0u, *rc::gen::arbitrary<std::uint32_t>()); };
  Words w{word(), *rc::gen::arbitrary<std::uint32_t>() ^ word()};
  if (*rc::gen::inRange(0, 4) == 0)
    w.choice = (w.choice & ~0xfff0u) | static_cast<std::uint32_t>(*rc::gen::inRange(0, 64)) << 4;
  return w;
}
Range any_range(const Format& f) {
  const int low = *rc::gen::inRange(f.min_exponent() - f.fraction_bits - 4, f.max_exponent() + 4);
  return {low, *rc::gen::inRange(0, 40)};
}
Draw any_draw() { return *rc::gen::element(Draw::number, Draw::number, Draw::bits, Draw::gaussian); }
std::uint32_t any_chance() { return *rc::gen::element(0u, 0u, percent(10), kChances); }

RC_GTEST_PROP(Codes32, OperandsAreThoseOfTheDefinition, ()) {
  Recipe r{};
  r.a = any_format();
  r.b = any_format();
  r.shape.k = 2;
  FrameDraw f;
  f.frame.draw = any_draw();
  f.frame.fixed_signs = *rc::gen::arbitrary<bool>();
  f.frame.operand_special = any_chance();
  f.frame.flips = any_chance();
  SlotFrame slots[2];
  for (std::int16_t k = 0; k < 2; ++k) {
    SlotFrame& s = slots[k];
    s = {any_range(r.a),
         any_range(r.b),
         *rc::gen::inRange(0, 5) == 0,
         *rc::gen::inRange(0, 5) == 0,
         *rc::gen::arbitrary<bool>(),
         *rc::gen::arbitrary<bool>(),
         k};
  }
  if (*rc::gen::arbitrary<bool>()) {
    slots[1].source = 0;
    f.frame.stride = 1;
  }
  RC_CLASSIFY(has_plain_operands(f.frame), "plain");
  for (int n = 0; n < 20; ++n) {
    const Words w = any_words();
    for (const Purpose purpose : {Purpose::a, Purpose::b}) {
      const Format32 format32(purpose == Purpose::a ? r.a : r.b);
      const std::uint32_t signs = format32.sign_if(!f.frame.fixed_signs);
      for (int k = 0; k < 2; ++k) {
        const SlotFrame32 slot = slot_frame32(format32, f.frame, slots, purpose, k);
        const std::uint64_t expected = operand_code(r, f, slots, purpose, k, w);
        RC_ASSERT(static_cast<int>(slot.element()) == slots[k].source);
        RC_ASSERT(expected == with_bytes_of(format32.format, [&]<int kBytes>() {
                    return operand32<kBytes>(format32, f.frame, signs, slot, w);
                  }));
        if (!has_plain_operands(f.frame)) continue;
        RC_ASSERT(expected == with_bytes_of(format32.format, [&]<int kBytes>() {
                    return plain_operand32<kBytes>(format32, signs, slot, w);
                  }));
      }
    }
  }
}

RC_GTEST_PROP(Codes32, RandomNumbersAreThoseOfTheDefinition, ()) {
  Recipe r{};
  r.seed = *rc::gen::arbitrary<std::uint64_t>();
  r.distribution = *rc::gen::element(Distribution::narrow, Distribution::gaussian);
  const auto tile = *rc::gen::arbitrary<std::uint64_t>();
  const auto index = *rc::gen::arbitrary<std::uint32_t>();
  const Purpose purpose = *rc::gen::element(Purpose::a, Purpose::b, Purpose::c);
  const Block expected = random_block(r, tile, purpose, index), block = PhiloxKeys(r).block(tile, purpose, index);
  for (int i = 0; i < 4; ++i) RC_ASSERT(block.word[i] == expected.word[i]);
}

RC_GTEST_PROP(Codes32, AccumulatorsAreThoseOfTheDefinition, ()) {
  Recipe r{};
  r.c = any_format();
  r.d = r.c;
  r.distribution = *rc::gen::element(Distribution::signed_zeros, Distribution::huge);
  FrameDraw f;
  f.frame.draw = any_draw();
  f.frame.c = any_range(r.c);
  f.frame.fixed_signs = *rc::gen::arbitrary<bool>();
  f.frame.c_special = *rc::gen::arbitrary<bool>() ? 0 : any_chance();
  f.frame.c_zero = any_chance();
  f.frame.c_largest = *rc::gen::inRange(0, 5) == 0;
  RC_CLASSIFY(has_plain_accumulators(f.frame), "plain");
  for (int n = 0; n < 20; ++n) {
    const Words w = any_words();
    const std::uint64_t c = accumulator_code(r, f, w);
    RC_ASSERT(c == with_bytes_of(r.c, [&]<int kBytes>() {
                return accumulator32<kBytes, false>(Format32(r.c), f.frame, r.distribution, w);
              }));
    if (!has_plain_accumulators(f.frame)) continue;
    RC_ASSERT(c == with_bytes_of(r.c, [&]<int kBytes>() {
                return accumulator32<kBytes, true>(Format32(r.c), f.frame, r.distribution, w);
              }));
  }
}

RC_GTEST_PROP(Codes32, OppositeProductsAreThoseOfTheDefinition, ()) {
  Recipe r{};
  r.a = any_format();
  r.b = any_format();
  r.c = r.d = any_format();
  for (int n = 0; n < 50; ++n) {
    const auto code = [](const Format& f) {
      const auto mask = static_cast<std::uint32_t>(f.code_mask());
      return *rc::gen::element(1u, mask, *rc::gen::arbitrary<std::uint32_t>()) & mask;
    };
    const std::uint32_t a = code(r.a), b = code(r.b);
    RC_ASSERT(opposite_product(r, a, b) == with_bytes_of(r.c, [&]<int kBytes>() {
                return opposite_product32<kBytes>(Format32(r.a), a, Format32(r.b), b, Format32(r.c));
              }));
  }
}

// --- Integers.

Format any_integers() {
  static const std::vector<Format> all = [] {
    std::vector<Format> found;
    for (const Format& f : kFormats) {
      if (Integer32::suits(f) && f.storage_bytes() == 1) found.push_back(f);
    }
    return found;
  }();
  return *rc::gen::elementOf(all);
}
Range any_bits() { return {*rc::gen::inRange(-1, 12), *rc::gen::inRange(0, 40)}; }
Draw any_integer_draw() {
  return *rc::gen::element(Draw::number, Draw::number, Draw::bits, Draw::gaussian, Draw::end, Draw::pattern);
}

RC_GTEST_PROP(Codes32, IntegersAreThoseOfTheDefinition, ()) {
  Recipe r{};
  r.a = any_integers();
  r.b = any_integers();
  r.c = r.d = format(FormatId::s32);
  r.shape.k = 2;
  r.distribution = *rc::gen::element(Distribution::edges, Distribution::wide);
  FrameDraw f;
  Frame& frame = f.frame;
  frame.draw = any_integer_draw();
  frame.fixed_signs = *rc::gen::arbitrary<bool>();
  frame.negative = *rc::gen::arbitrary<bool>();
  frame.flips = any_chance();
  frame.reach = *rc::gen::inRange(0, 25);
  frame.c = {*rc::gen::inRange(-1, 30), *rc::gen::inRange(0, 40)};
  frame.c_zero = any_chance();
  SlotFrame slots[2];
  for (std::int16_t k = 0; k < 2; ++k) {
    slots[k] = {any_bits(),
                any_bits(),
                *rc::gen::inRange(0, 5) == 0,
                *rc::gen::inRange(0, 5) == 0,
                *rc::gen::arbitrary<bool>(),
                *rc::gen::arbitrary<bool>(),
                k};
  }
  if (*rc::gen::arbitrary<bool>()) {
    slots[1].source = 0;
    frame.stride = 1;
  }
  RC_CLASSIFY(has_plain_operands(frame), "plain");
  for (int n = 0; n < 20; ++n) {
    const Words w = any_words();
    for (const Purpose purpose : {Purpose::a, Purpose::b}) {
      const Integer32 integers(purpose == Purpose::a ? r.a : r.b);
      const std::uint32_t signs = integers.sign_if(!frame.fixed_signs);
      for (int k = 0; k < 2; ++k) {
        const SlotFrame32 slot = slot_frame32(integers, frame, slots, purpose, k);
        const std::uint64_t expected = operand_code(r, f, slots, purpose, k, w);
        RC_ASSERT(expected == operand32<1>(integers, frame, signs, slot, w));
        if (has_plain_operands(frame)) RC_ASSERT(expected == plain_operand32<1>(integers, signs, slot, w));
      }
    }
    const Integer32 c(r.c);
    const std::uint64_t expected = accumulator_code(r, f, w);
    RC_ASSERT((expected == accumulator32<4, false>(c, frame, r.distribution, w)));
    if (has_plain_accumulators(frame)) RC_ASSERT((expected == accumulator32<4, true>(c, frame, r.distribution, w)));
    const auto a = static_cast<std::uint32_t>(operand_code(r, f, slots, Purpose::a, 0, w)),
               b = static_cast<std::uint32_t>(operand_code(r, f, slots, Purpose::b, 0, any_words()));
    RC_ASSERT(opposite_product(r, a, b) == opposite_product32<4>(Integer32(r.a), a, Integer32(r.b), b, c));
  }
}

}  // namespace
}  // namespace tcnum::stream
