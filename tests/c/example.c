/* What docs/c.md shows, and a little of everything else: compiled as C99, it uses what a C program can use. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcnum/tcnum.h>

/* What failed ends the program; it would be a bug of the library's or of this file's. */
static void check(tcnum_status status, const char* call) {
  if (status == TCNUM_OK) return;
  fprintf(stderr, "%s: %s: %s\n", call, tcnum_status_text(status), tcnum_message());
  exit(1);
}
#define CHECK(call) check(call, #call)

static void print_numbers(const char* what, const tcnum_matrix* matrix) {
  tcnum_view view;
  double* numbers;
  size_t i, count;
  CHECK(tcnum_matrix_view(matrix, &view));
  count = view.rows * view.columns;
  numbers = malloc(count * sizeof *numbers);
  if (numbers == NULL) exit(3);
  CHECK(tcnum_decode(view.codes, view.bytes, view.format, numbers, count));
  printf("%s (%s):", what, view.format);
  for (i = 0; i < count; ++i) printf(" %.8f", numbers[i]);
  printf("\n");
  free(numbers);
}

/* README.md's product, whose exact value is 257.12890625, by an instruction and by a kernel's plan. */
static void multiply(void) {
  const double a_numbers[4] = {16.0, 1.0, 0.125, 0.0625}, b_numbers[4] = {16.0, 1.0, 1.0, 0.0625};
  uint8_t a_codes[4], b_codes[4];
  const tcnum_view a = {a_codes, sizeof a_codes, 1, 4, "fp8e4m3", TCNUM_ROW_MAJOR};
  const tcnum_view b = {b_codes, sizeof b_codes, 4, 1, "fp8e4m3", TCNUM_ROW_MAJOR};
  tcnum_matmul_options options = {.size = sizeof options};
  tcnum_plan* plan;
  tcnum_matrix* d;

  CHECK(tcnum_encode(a_numbers, 4, "fp8e4m3", NULL, NULL, a_codes, sizeof a_codes));
  CHECK(tcnum_encode(b_numbers, 4, "fp8e4m3", NULL, NULL, b_codes, sizeof b_codes));
  options.arch = "sm_90";
  options.instruction = "wgmma.m64n8k32.f32.e4m3.e4m3";
  CHECK(tcnum_matmul(&a, &b, NULL, &options, &d));
  print_numbers("matmul", d);
  tcnum_matrix_free(d);

  CHECK(tcnum_plan_find("deepgemm", "fp8e4m3", NULL, &plan));
  CHECK(tcnum_gemm(plan, &a, &b, NULL, &d));
  print_numbers("gemm", d);
  tcnum_matrix_free(d);
  tcnum_plan_free(plan);
}

/* Recorded answers against the catalogue's datapath. */
static void verify(const char* path) {
  tcnum_tiles* tiles;
  tcnum_comparison found = {.size = sizeof found};
  CHECK(tcnum_tiles_read(path, 0, &tiles));
  CHECK(tcnum_verify(tiles, NULL, 1, &found));
  printf("%s: %s\n", tcnum_tiles_text(tiles, "instruction"), found.mismatches == 0 ? "agrees" : "disagrees");
  tcnum_tiles_free(tiles);
}

/* What is wrong is said in one line. */
static void complain(void) {
  tcnum_datapath* datapath;
  const tcnum_status status = tcnum_datapath_find("sm_90", "mma.m16n8k16.f32.f16.f16.f32", "mine", &datapath);
  printf("%d (%s): %s\n", (int)status, tcnum_status_text(status), tcnum_message());
  tcnum_datapath_free(datapath); /* NULL */
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s VECTOR_FILE\n", argv[0]);
    return 2;
  }
  multiply();
  verify(argv[1]);
  complain();
  return 0;
}
