#include "npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "io/printable.hpp"
#include "subject.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMagicBytes = kMagic.size() + 2;  // and the version
/// NumPy itself reads no longer headers, unless told to.
constexpr std::uint64_t kMaxHeaderBytes = 10'000;
/// All before the data is a multiple of this.
constexpr std::size_t kAlignment = 64;
/// NumPy leaves room for the axis along which an array may be appended to to grow to so many digits.
constexpr std::size_t kGrowthDigits = 21;
constexpr std::size_t kMostAxes = 3;

/// NumPy's own types; those of ml_dtypes, which are saved as opaque bytes or, e5m2, as a float of one byte; and names,
/// which NumPy reads too.
constexpr std::array<ElementType, 35> kTypes = {{
    {"<f8", 64, FormatId::fp64, false},
    {"<f4", 32, FormatId::fp32, false},
    {"<f2", 16, FormatId::fp16, false},
    {"|i1", 8, FormatId::s8, true},
    {"|u1", 8, FormatId::u8, true},
    {"<i4", 32, FormatId::s32, true},
    {"<u4", 32, {}, true},
    {"<i2", 16, {}, true},
    {"<u2", 16, {}, true},
    {"<i8", 64, {}, true},
    {"<u8", 64, {}, true},
    {"|b1", 8, FormatId::b1, false},
    {"|V1", 8, {}, true},
    {"<V1", 8, {}, true},
    {"|V2", 16, {}, true},
    {"<V2", 16, {}, true},
    {"|f1", 8, FormatId::fp8e5m2, false},
    {"<f1", 8, FormatId::fp8e5m2, false},
    {"bfloat16", 16, FormatId::bf16, false},
    {"float8_e4m3fn", 8, FormatId::fp8e4m3, false},
    {"float8_e5m2", 8, FormatId::fp8e5m2, false},
    {"float8_e4m3fnuz", 8, FormatId::fp8e4m3fnuz, false},
    {"float8_e5m2fnuz", 8, FormatId::fp8e5m2fnuz, false},
    {"float8_e8m0fnu", 8, FormatId::ue8m0, false},
    {"float6_e2m3fn", 8, FormatId::fp6e2m3, false},
    {"float6_e3m2fn", 8, FormatId::fp6e3m2, false},
    {"float4_e2m1fn", 8, FormatId::fp4e2m1, false},
    {"int4", 8, FormatId::s4, false},
    {"uint4", 8, FormatId::u4, false},
    {"float16", 16, FormatId::fp16, false},
    {"float32", 32, FormatId::fp32, false},
    {"float64", 64, FormatId::fp64, false},
    {"int32", 32, FormatId::s32, true},
    {"int8", 8, FormatId::s8, true},
    {"uint8", 8, FormatId::u8, true},
}};

// --- The header's dict ------------------------------------------------------------------------------------------

struct Dict {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::uint64_t>> shape;
};

/// Reads the Python literal: of Python's syntax as much as NumPy writes, and no more.
class DictParser {
 public:
  DictParser(const Subject& subject, std::string_view text) : subject_(subject), text_(text) {}

  Dict parse() {
    Dict dict;
    if (!take('{')) fail("header", R"(right would be a dict such as {'descr': '<f2', 'fortran_order': False, …})");
    while (!take('}')) {
      const std::optional<std::string> key = string();
      if (!key) fail("header", "right would be a key in quotes, or }");
      if (!take(':')) fail(*key, "right would be a colon and a value");
      value(dict, *key);
      if (take(',')) continue;
      if (!take('}')) fail("header", "right would be a comma or }");
      break;
    }
    skip_blanks();
    if (at_ != text_.size()) fail("header", "right would be nothing but blanks after the dict");
    return dict;
  }

 private:
  void value(Dict& dict, const std::string& key) {
    if (key == "descr") {
      std::optional<std::string> descr = string();
      if (!descr) fail(key, "right would be one simple type, such as '<f2'");
      set(dict.descr, key, std::move(*descr));
    } else if (key == "fortran_order") {
      const bool yes = word("True");
      if (!yes && !word("False")) fail(key, "right would be True or False");
      set(dict.fortran_order, key, yes);
    } else if (key == "shape") {
      set(dict.shape, key, tuple());
    } else {
      subject_.fail("header", "{}: unknown; right would be descr, fortran_order and shape alone", in_quotes(key));
    }
  }

  template <class T>
  void set(std::optional<T>& field, std::string_view key, T value) {
    if (field) subject_.fail(key, "this key appears twice");
    field = std::move(value);
  }

  /// In single or double quotes; nothing if there is none. No type's name has a backslash.
  std::optional<std::string> string() {
    skip_blanks();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == text_.npos) return std::nullopt;
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find_first_of("\\\n\r") != inside.npos) return std::nullopt;
    at_ = end + 1;
    return std::string(inside);
  }

  std::vector<std::uint64_t> tuple() {
    constexpr std::string_view kRight = "right would be a tuple of 1 to 3 whole numbers, such as (16, 8)";
    std::vector<std::uint64_t> numbers;
    if (!take('(')) fail("shape", kRight);
    bool comma = true;  // (3) is a number, (3,) a tuple
    while (!take(')')) {
      const std::optional<std::uint64_t> each = comma ? number() : std::nullopt;
      if (!each || numbers.size() == kMostAxes) fail("shape", kRight);
      numbers.push_back(*each);
      comma = take(',');
    }
    if (numbers.empty()) subject_.fail("shape", "(), a number without axes; right would be 1 to 3 axes, such as (1,)");
    if (numbers.size() == 1 && !comma) fail("shape", kRight);
    return numbers;
  }

  /// A whole number of at most 64 bits, without a sign.
  std::optional<std::uint64_t> number() {
    skip_blanks();
    std::uint64_t value = 0;
    const char* const first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    const auto digits = static_cast<std::size_t>(end - first);
    if (error != std::errc{} || (digits > 1 && *first == '0')) return std::nullopt;
    at_ += digits;
    return value;
  }

  bool word(std::string_view wanted) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  bool take(char wanted) { return word({&wanted, 1}); }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \n", at_), text_.size()); }

  [[noreturn]] void fail(std::string_view field, std::string_view right) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    subject_.fail(field, "{} at byte {} of the header; {}", rest.empty() ? "the end" : in_quotes(rest), at_ + 1, right);
  }

  const Subject& subject_;
  std::string_view text_;
  std::size_t at_ = 0;
};

template <class T>
const T& required(const Subject& subject, const std::optional<T>& field, std::string_view key) {
  if (!field) subject.fail(key, "missing; right would be a header with descr, fortran_order and shape");
  return *field;
}

const ElementType& type_of(const Subject& subject, const std::string& descr) {
  const ElementType* const type = find_element_type(kTypes, descr);
  if (type != nullptr) return *type;
  if (descr.starts_with('>')) {
    for (const char order : {'<', '|'}) {
      const ElementType* const little = find_element_type(kTypes, order + descr.substr(1));
      if (little == nullptr) continue;
      subject.fail("descr", "'{}' is big-endian; right would be '{}', as a.astype('{}') makes it", shown(descr),
                   little->name, little->name);
    }
  }
  std::vector<std::string_view> names;
  for (const ElementType& each : kTypes) names.push_back(each.name);
  subject.fail("descr", "{} is unknown; right would be one of {}", in_quotes(descr), fmt::join(names, ", "));
}

// --- The file ---------------------------------------------------------------------------------------------------

/// Where the dict stands.
struct HeaderPlace {
  std::uint64_t offset, length;
};

HeaderPlace find_header(const InputFile& file) {
  const Subject subject{file.path()};
  std::array<std::byte, kMagicBytes> start = {};
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  file.read(0, std::span(start).first(std::min<std::uint64_t>(file.size(), start.size())));
  if (file.size() < kMagicBytes || !text.starts_with(kMagic)) {
    subject.fail("magic", "{}; right would be a .npy file, which starts with \\x93NUMPY",
                 file.size() == 0 ? "the file is empty"
                                  : in_quotes(text.substr(0, std::min<std::uint64_t>(file.size(), kMagic.size()))));
  }
  const auto major = std::to_integer<unsigned>(start[kMagic.size()]);
  const auto minor = std::to_integer<unsigned>(start[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    subject.fail("version", "{}.{}; right would be 1.0, 2.0 or 3.0", major, minor);
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::uint64_t offset = kMagicBytes + length_bytes;
  if (file.size() < offset) {
    subject.fail("header length", "missing; right would be a complete file, and this one has {} bytes", file.size());
  }
  std::uint64_t length = 0;
  file.read(kMagicBytes, std::as_writable_bytes(std::span(&length, 1)).first(length_bytes));
  const std::uint64_t most = std::min(file.size() - offset, kMaxHeaderBytes);
  if (length > most) {
    subject.fail("header length", "{} bytes; right would be at most {} ({})", length, most,
                 most == kMaxHeaderBytes ? "the longest header that NumPy reads" : "what follows in the file");
  }
  return {offset, length};
}

/// Bytes of an array; nothing where they are beyond 64 bits.
std::optional<std::uint64_t> byte_size(const std::vector<std::uint64_t>& shape, const ElementType& type) {
  auto bytes = static_cast<std::uint64_t>(type.bits / 8);
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::string tuple_text(std::span<const std::uint64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// What is written of the formats for which NumPy has a type; of others it is an unsigned integer.
struct WrittenType {
  FormatId format;
  std::string_view descr;
};
constexpr std::array<WrittenType, 7> kWritten = {{
    {FormatId::fp64, "<f8"},
    {FormatId::fp32, "<f4"},
    {FormatId::tf32, "<f4"},
    {FormatId::fp16, "<f2"},
    {FormatId::s32, "<i4"},
    {FormatId::s8, "|i1"},
    {FormatId::s4, "|i1"},
}};

std::string_view descr_of(FormatId id) {
  const auto found = std::ranges::find(kWritten, id, &WrittenType::format);
  if (found != kWritten.end()) return found->descr;
  switch (format(id).storage_bytes()) {
    case 1:
      return "|u1";
    case 2:
      return "<u2";
    case 4:
      return "<u4";
    default:
      return "<u8";
  }
}

/// All before the data.
std::string header_of(FormatId format, std::span<const std::uint64_t> shape) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr_of(format), tuple_text(shape));
  dict.append(kGrowthDigits - fmt::to_string(shape.front()).size(), ' ');
  // NumPy pads by a whole line where there is nothing to pad.
  const std::size_t unpadded = kMagicBytes + 2 + dict.size() + 1;
  dict.append(kAlignment - unpadded % kAlignment, ' ').push_back('\n');
  std::string header(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, dict.size() & 0xff, dict.size() >> 8}) {
    header.push_back(static_cast<char>(byte));
  }
  return header + dict;
}

}  // namespace

std::span<const ElementType> npy_types() { return kTypes; }

NpyFile::NpyFile(const std::string& path) : file_(path, "a .npy file") {
  const Subject subject{path};
  const auto [offset, length] = find_header(file_);
  std::string text(length, '\0');
  file_.read(offset, std::as_writable_bytes(std::span(text)));
  Dict dict = DictParser(subject, text).parse();
  type_ = &type_of(subject, required(subject, dict.descr, "descr"));
  fortran_order_ = required(subject, dict.fortran_order, "fortran_order");
  shape_ = required(subject, dict.shape, "shape");
  data_offset_ = offset + length;
  const std::optional<std::uint64_t> size = byte_size(shape_, *type_);
  if (size != file_.size() - data_offset_) {
    subject.fail("data", "{} bytes; right would be {}, the size of {} '{}'", file_.size() - data_offset_,
                 size ? fmt::to_string(*size) : "more than 2^64", tuple_text(shape_), type_->name);
  }
}

NpyWriter::NpyWriter(const std::string& path, FormatId format, std::span<const std::uint64_t> shape) : file_(path) {
  file_.write(header_of(format, shape));
}

}  // namespace tcnum
