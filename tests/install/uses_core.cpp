// Everything: a matrix product by an instruction of the catalogue.
#include <tcnum/tcnum.hpp>

#include <vector>

int main() {
  const auto a = tcnum::Matrix::from(std::vector<float>(6, 1.0f), 2, 3, "fp16");
  const auto b = tcnum::Matrix::from(std::vector<float>(6, 2.0f), 3, 2, "fp16");
  const tcnum::Matrix d = tcnum::matmul(a, b, {.arch = "sm_90"});
  return d.to_floats() == std::vector<float>(4, 6.0f) ? 0 : 1;
}
