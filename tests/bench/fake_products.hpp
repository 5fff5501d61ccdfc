// Matrix products on a device that computes by the emulator what is asked for of them, and makes its times up.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "fake_device.hpp"
#include "tcnum/error.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {

class FakeProducts final : public bench::BareDevice {
 public:
  /// Which operands the launches have lies this far apart, in elements.
  static constexpr std::size_t kBetweenLaunches = 1024;
  static constexpr double kStartSeconds = 1e-6, kClockMhz = 1500;
  static constexpr LibraryAlgorithm kAlgorithm = {.id = 66, .tile = 20, .split_k = 1, .cluster = 3};

  /// What is wrong in the products of the calls from `first_call` on, counted from 0.
  struct Spoiled {
    std::size_t row = 0, column = 0;
    std::size_t first_call = 0;
  };

  void load_codes(std::span<const std::byte> codes) override { codes_.assign(codes.begin(), codes.end()); }

  GemmTimes multiply(const GemmWork& work) override {
    if (!work.tile && !has_library) throw UnavailableError("there is no libcublasLt.so");
    if (codes_.empty() || work.launches == 0) throw std::logic_error("nothing to multiply");
    calls.push_back(work);
    GemmTimes times;
    times.seconds = seconds_of(work.shape, work.tile) * slower;
    times.clock_mhz = work.tile ? kClockMhz : 0;
    // After a rest a launch takes twice as long, and the first one three times.
    for (unsigned i = 0; work.rest_seconds > 0 && i < work.launches; ++i) {
      times.single_seconds.push_back(times.seconds * (i == 0 ? 3 : 2));
    }
    times.a_first = (work.launches - 1) * kBetweenLaunches;
    times.b_first = times.a_first + work.shape.m * work.shape.k;
    if (!work.tile) times.algorithm = kAlgorithm;
    last_ = times;
    return times;
  }

  std::vector<std::byte> results(std::span<const std::size_t> rows, std::span<const std::size_t> columns) override {
    const auto& [formats, shape, tile, launches, rest] = calls.at(calls.size() - 1);
    Matrix a(formats.operands, rows.size(), shape.k), b(formats.operands, shape.k, columns.size());
    for (std::size_t p = 0; p < shape.k; ++p) {
      for (std::size_t i = 0; i < rows.size(); ++i) a.set(i, p, code(formats, last_.a_first + rows[i] * shape.k + p));
      for (std::size_t j = 0; j < columns.size(); ++j) {
        b.set(p, j, code(formats, last_.b_first + columns[j] * shape.k + p));
      }
    }
    const char* const plan = formats.operands == FormatId::fp8e4m3 ? "nvjet-fp8" : "nvjet";
    Matrix d = gemm(named_plan(plan, formats.operands, formats.results), a, b, {}, {.threads = 1});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        const bool here = spoiled && rows[i] == spoiled->row && columns[j] == spoiled->column;
        if (here && calls.size() > spoiled->first_call) d.set(i, j, d(i, j) ^ 1);
      }
    }
    return {d.bytes().begin(), d.bytes().end()};
  }

  /// The larger a tile, the higher its rate, and the library's is the highest; it begins late.
  static double seconds_of(const GemmShape& shape, const std::optional<GemmTile>& tile) {
    constexpr double kRateOfElement = 1e9, kRateOfLibrary = 4e13;
    const double rate = tile ? kRateOfElement * tile->rows * tile->columns : kRateOfLibrary;
    return kStartSeconds * (tile ? 1 : 4) + 2.0 * static_cast<double>(shape.m * shape.n * shape.k) / rate;
  }

  bool has_library = true;
  double slower = 1;
  std::optional<Spoiled> spoiled;
  std::vector<GemmWork> calls;

 private:
  std::uint64_t code(const GemmFormats& formats, std::size_t i) const {
    const std::size_t bytes = bytes_of(formats.operands);
    std::uint64_t code = 0;
    std::memcpy(&code, codes_.data() + i % (codes_.size() / bytes) * bytes, bytes);
    return code;
  }

  std::vector<std::byte> codes_;
  GemmTimes last_;
};

}  // namespace tcnum
