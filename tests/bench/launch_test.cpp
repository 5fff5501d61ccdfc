// Starting kernels: the fit on made-up times, and the measurement on a device that makes its times up.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "bench/device/launch_timing.hpp"
#include "bench/measure/line_fit.hpp"
#include "fake_device.hpp"

namespace tcnum::bench {
namespace {

TEST(LineFit, FindsTheLineThatThereIs) {
  std::vector<std::pair<double, double>> points;
  for (double x = 1024; x <= 1 << 24; x *= 2) points.emplace_back(x, 2.25 + x / 2048);
  const LineFit fit = fit_line(points);
  EXPECT_NEAR(fit.start, 2.25, 1e-9);
  EXPECT_NEAR(fit.slope, 1.0 / 2048, 1e-12);
  EXPECT_LT(fit.largest_residual_percent, 1e-6);
}

/// No other line near it has less: the derivative of the sum is zero.
TEST(LineFit, IsTheLeastSquaresOfRelativeResiduals) {
  const std::vector<std::pair<double, double>> points = {{0, 2}, {1, 2.5}, {10, 9}, {100, 130}, {1000, 900}};
  const auto sum = [&](double start, double slope) {
    double all = 0;
    for (const auto& [x, y] : points) all += std::pow((start + slope * x - y) / y, 2);
    return all;
  };
  const LineFit fit = fit_line(points);
  for (const double off : {-1e-3, 1e-3}) {
    EXPECT_LT(sum(fit.start, fit.slope), sum(fit.start + off, fit.slope));
    EXPECT_LT(sum(fit.start, fit.slope), sum(fit.start, fit.slope + off));
  }
  double largest = 0;
  for (const auto& [x, y] : points) largest = std::max(largest, std::abs(fit.start + fit.slope * x - y) / y * 100);
  EXPECT_DOUBLE_EQ(fit.largest_residual_percent, largest);
}

TEST(LineFit, RefusesWhatHasNoLine) {
  EXPECT_THROW(fit_line({}), std::logic_error);
  EXPECT_THROW(fit_line({{1, 1}}), std::logic_error);
  EXPECT_THROW(fit_line({{1, 1}, {1, 2}}), std::logic_error);
  EXPECT_THROW(fit_line({{1, 0}, {2, 1}}), std::logic_error);
}

/// A start takes 2 µs, in a graph 1, and the host 1.9 µs to submit a kernel, or a graph; a copy reads and writes 4
/// bytes a nanosecond. Buffers are copied to and fro.
class FakeDevice final : public BareDevice {
 public:
  std::vector<LaunchTimes> launch(const LaunchWork& work, unsigned times) override {
    // What the copies have added in the buffer that the last one wrote, kernel by kernel.
    std::uint32_t a = 0, b = 0, *last = &a;
    for (unsigned t = 0; t < times; ++t) {
      for (unsigned k = 0; k < work.kernels; ++k) {
        last = k % 2 == 0 ? &b : &a;
        *last = (k % 2 == 0 ? a : b) + 1;
      }
    }
    words_.resize(work.bytes / 4);
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = launch_word(i) + *last;
    if (spoil && !words_.empty()) words_.back() ^= 1;
    const double each = (work.as_graph ? 1e-6 : 2e-6) + static_cast<double>(work.bytes) * 2 / 4e9;
    const double all = each * work.kernels;
    const double submit =
        slow_host && !work.as_graph && work.kernels > 1 ? all : 1.9e-6 * (work.as_graph ? 1 : work.kernels);
    return std::vector<LaunchTimes>(times, {submit, all + 5e-6, work.kernels == 1 ? 0 : all});
  }
  std::vector<std::uint32_t> launched_words() override { return words_; }

  bool spoil = false, slow_host = false;

 private:
  std::vector<std::uint32_t> words_;
};

TEST(LaunchMeasurement, OfEmptyKernels) {
  FakeDevice device;
  const auto records = measure("launch", device, {"empty"});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].text("way"), "stream");
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(records[0].number("round_trip_us"), 7);
  EXPECT_EQ(records[0].number("submit_us"), 1.9);
  EXPECT_EQ(records[0].number("kernel_us"), 2);
  EXPECT_EQ(records[1].text("way"), "graph");
  EXPECT_EQ(records[1].number("kernel_us"), 1);
}

TEST(LaunchMeasurement, OfCopiesFitsTheirTimes) {
  FakeDevice device;
  const auto records = measure("launch", device, {"copy"});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(records[0].number("start_us"), 2);
  EXPECT_EQ(records[1].number("start_us"), 1);
  EXPECT_EQ(records[0].number("giga_bytes_per_second"), 4);
  EXPECT_EQ(records[0].number("alone_start_us"), 7);
  EXPECT_EQ(records[1].number("alone_start_us"), 6);
  EXPECT_EQ(records[0].number("alone_giga_bytes_per_second"), 4);
  EXPECT_EQ(records[0].numbers("copy_bytes")->size(), 15u) << "1 KiB to 16 MiB";
}

/// A line through times that the host sets would say nothing of the device.
TEST(LaunchMeasurement, LeavesOutWhatTheHostHoldsUp) {
  FakeDevice device;
  device.slow_host = true;
  const auto records = measure("launch", device, {"copy"});
  EXPECT_EQ(records[0].error, "");
  EXPECT_EQ(records[0].number("start_us"), std::nullopt);
  EXPECT_EQ(records[0].number("alone_start_us"), 7);
  EXPECT_EQ(records[0].numbers("copy_us")->size(), 15u);
  EXPECT_EQ(records[1].number("start_us"), 1);
}

TEST(LaunchMeasurement, WrongCopiesAreErrors) {
  FakeDevice device;
  device.spoil = true;
  EXPECT_NE(measure("launch", device, {"copy"})[0].error.find("word 255"), std::string::npos);
}

}  // namespace
}  // namespace tcnum::bench
