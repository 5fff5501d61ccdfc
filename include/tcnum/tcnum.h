/* tcnum for C: the bits that tensor cores compute, as libtcnum.so. docs/c.md is an introduction.
 *
 * Calls      Each that can fail returns a tcnum_status; what was wrong is in tcnum_message(). What a call hands back
 *            through a pointer is NULL, or as it was, if the call fails. No call ends the program or throws.
 * Strings    Are UTF-8 and end with a zero. A `const char*` that comes back belongs to the library, or to the handle
 *            that it was asked of, and lives as long; a `char*` belongs to the caller, who gives it to tcnum_free().
 *            Names of architectures, instructions, formats and the like are those that `tcnum list` shows, or PTX's.
 * Handles    Are freed by the function of their name; to free NULL does nothing.
 * Structures that begin with `size` must have it set to their own sizeof; a library whose structure has another size
 *            refuses the call. All other members that are zero ask for defaults.
 * Codes      Are the bits of a number in its format, one number after the other, each in as many bytes as the format
 *            needs, a byte at least (s4, b1, fp6 and fp4 are one a byte, whose other bits are zero), in the machine's
 *            order of bytes.
 * Threads    All calls may be made from any thread at any time. Datapaths, plans and matrices never change, so that
 *            several threads may use one; of tiles, several may only if none writes to them. `threads` is how many a
 *            call may keep busy; 0: as many as the machine has. Callbacks are called on the caller's thread, and must
 * return: no longjmp, no exception.
 */
#ifndef TCNUM_TCNUM_H
#define TCNUM_TCNUM_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TCNUM_API __attribute__((visibility("default")))
#else
#define TCNUM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- The library ------------------------------------------------------------------------------------------------ */

typedef enum tcnum_status {
  TCNUM_OK = 0,
  TCNUM_STOPPED = 1,     /* a callback said so */
  TCNUM_INVALID = 2,     /* an argument or a file is wrong; the message names it and says what was expected */
  TCNUM_UNAVAILABLE = 3, /* this machine lacks what was asked for, such as space on a disk */
  TCNUM_NO_MEMORY = 4,
  TCNUM_INTERNAL = 5 /* a bug of the library's */
} tcnum_status;

/* "0.1.0". */
TCNUM_API const char* tcnum_version(void);
/* What a status means, in a few words. */
TCNUM_API const char* tcnum_status_text(tcnum_status status);
/* One line about the last call on this thread that failed; "" if none has. It stays until the next one that does. */
TCNUM_API const char* tcnum_message(void);
/* Of a string that came back as `char*`. */
TCNUM_API void tcnum_free(char* text);

/* --- Formats ---------------------------------------------------------------------------------------------------- */

typedef struct tcnum_format_info {
  size_t size;
  const char* name; /* "fp8e4m3" */
  const char* ptx;  /* "e4m3" */
  int bits;         /* of a code */
  int bytes;        /* that it takes */
  int is_floating, is_signed;
  int exponent_bits; /* 0 for integers */
  int fraction_bits; /* of integers: all but the sign */
  int padding_bits;  /* low bits of a code that are not part of the number: 13 of a tf32 */
  int bias;          /* of the exponent */
  int has_infinity, has_nan;
  /* What functions take wherever a format is asked for, and structures that come back call it: the name of one that
   * `tcnum list` shows; of a custom format "NAME:EXPONENT_BITS:FRACTION_BITS:BIAS:NON_FINITE:signed" (or unsigned),
   * which needs no tcnum_format_define(). */
  const char* text;
} tcnum_format_info;

TCNUM_API size_t tcnum_format_count(void);
TCNUM_API tcnum_status tcnum_format_at(size_t index, tcnum_format_info* info);
TCNUM_API tcnum_status tcnum_format_find(const char* name, tcnum_format_info* info);
/* A custom floating-point format, as "formats" in a datapath's JSON describes it (docs/datapath.md). All functions know
 * it by its text, and by its name until another format gets that name, here or in a datapath that is read. With a
 * `bias` of TCNUM_USUAL_BIAS it is 2^(exponent_bits - 1) - 1. `non_finite`: "ieee" (NULL), "nan_all_ones",
 * "nan_negative_zero" or "none". The same description twice is one format; there may be 4096. `info` may be NULL. */
#define TCNUM_USUAL_BIAS INT_MIN
TCNUM_API tcnum_status tcnum_format_define(const char* name, int exponent_bits, int fraction_bits, int bias,
                                           const char* non_finite, int is_signed, tcnum_format_info* info);

/* `count` numbers into `bytes` bytes of codes. `rounding`: "nearest_even" (NULL), "nearest_away", "toward_zero", "up"
 * or "down". `overflow`, what becomes of numbers beyond the largest: "ieee" (NULL), as IEEE 754 has it; "infinity",
 * however numbers are rounded; "max_finite", the largest. Where there is no infinity, NaN stands for it, and the
 * largest where there is no NaN either, as in integers. A NaN becomes the format's, and is refused where it has none;
 * zero becomes the smallest number of a format without zero, ue8m0. */
TCNUM_API tcnum_status tcnum_encode(const double* numbers, size_t count, const char* format, const char* rounding,
                                    const char* overflow, void* codes, size_t bytes);
/* The same of integers: int64_t, or with `are_unsigned` other than 0 uint64_t. */
TCNUM_API tcnum_status tcnum_encode_integers(const void* numbers, int are_unsigned, size_t count, const char* format,
                                             const char* rounding, const char* overflow, void* codes, size_t bytes);
/* And back. Every format's numbers are doubles; floats are rounded to nearest where they must be. */
TCNUM_API tcnum_status tcnum_decode(const void* codes, size_t bytes, const char* format, double* numbers, size_t count);
TCNUM_API tcnum_status tcnum_decode_floats(const void* codes, size_t bytes, const char* format, float* numbers,
                                           size_t count);

/* --- The catalogue ---------------------------------------------------------------------------------------------- */

typedef struct tcnum_arch_info {
  size_t size;
  const char* name;    /* "sm_90" */
  const char* family;  /* "NVIDIA Hopper" */
  size_t instructions; /* how many tcnum_instruction_at() knows */
} tcnum_arch_info;

TCNUM_API size_t tcnum_arch_count(void);
TCNUM_API tcnum_status tcnum_arch_at(size_t index, tcnum_arch_info* info);
TCNUM_API tcnum_status tcnum_arch_find(const char* name, tcnum_arch_info* info);

typedef struct tcnum_instruction_info {
  size_t size;
  const char* name; /* "wgmma.m64n8k32.f32.e4m3.e4m3" */
  const char* ptx;  /* "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3" */
  int m, n, k;      /* of a matrix product by it */
  int is_sparse;
  int products;              /* of one dot product: k, or half of it if the instruction is sparse */
  const char *a, *b, *c, *d; /* formats */
  size_t accounts;           /* datapaths that the catalogue has of it: 0 if none is known */
} tcnum_instruction_info;

/* Of an architecture; those of wgmma stand for all N with N = 8, those of tcgen05.mma for all M and N with the
 * smallest. */
TCNUM_API tcnum_status tcnum_instruction_at(const char* arch, size_t index, tcnum_instruction_info* info);
/* By its name, of any M and N, or its PTX spelling (but of tcgen05.mma, whose has no shape). */
TCNUM_API tcnum_status tcnum_instruction_find(const char* arch, const char* name, tcnum_instruction_info* info);
/* The one that tcnum_matmul() takes for operands of these formats, of any K: of the kind that the vendor's library
 * makes large products of (wgmma on sm_90, tcgen05.mma on sm_100), where that is known, with the widest result. */
TCNUM_API tcnum_status tcnum_instruction_for(const char* arch, const char* a, const char* b,
                                             tcnum_instruction_info* info);

/* --- Datapaths: how one dot product gets its bits (docs/datapath.md) --------------------------------------------- */

typedef struct tcnum_datapath tcnum_datapath;

/* An instruction's. `account`: whose, such as "fitted"; NULL: the one to believe first. */
TCNUM_API tcnum_status tcnum_datapath_find(const char* arch, const char* instruction, const char* account,
                                           tcnum_datapath** datapath);
/* The one of that number, below tcnum_instruction_info's `accounts`. */
TCNUM_API tcnum_status tcnum_datapath_at(const char* arch, const char* instruction, size_t index,
                                         tcnum_datapath** datapath);
TCNUM_API tcnum_status tcnum_datapath_from_json(const char* json, tcnum_datapath** datapath);
/* A file's, or the catalogue's by "ARCH:INSTRUCTION" or "ARCH:INSTRUCTION:ACCOUNT". */
TCNUM_API tcnum_status tcnum_datapath_read(const char* path, tcnum_datapath** datapath);
TCNUM_API tcnum_status tcnum_datapath_to_json(const tcnum_datapath* datapath, char** json);
TCNUM_API void tcnum_datapath_free(tcnum_datapath* datapath);

typedef struct tcnum_datapath_info {
  size_t size;
  size_t k;                  /* products of one dot product */
  const char *a, *b, *c, *d; /* formats */
  const char* scale_format;  /* of block scales; NULL: it has none */
  size_t scale_block;        /* products that share one; 0: none */
  const char* account;       /* "" if it is not from the catalogue; the same of the others */
  const char* origin;        /* which recorded answers, or which publication */
  const char* refuted_by;    /* hardware's answers that it does not explain; "" if none are known */
  int is_fitted;             /* to recorded answers of the hardware, by tcnum */
  const char* standing;      /* how well it is known: "measured_here", "published_and_checked" or "published_only" */
  size_t answers;            /* of the hardware, published by others, that it was checked against; 0: none */
  const char* lowered_to; /* what a compiler makes of the instruction where there is none of its kind; "": it is one */
} tcnum_datapath_info;
TCNUM_API tcnum_status tcnum_datapath_describe(const tcnum_datapath* datapath, tcnum_datapath_info* info);

/* --- Matrix products -------------------------------------------------------------------------------------------- */

typedef enum tcnum_layout {
  TCNUM_ROW_MAJOR = 0,   /* element (i, j) is code number i * columns + j */
  TCNUM_COLUMN_MAJOR = 1 /* or j * rows + i */
} tcnum_layout;

/* A matrix in somebody's memory. */
typedef struct tcnum_view {
  const void* codes;
  size_t bytes; /* of all codes: rows * columns * the format's bytes */
  size_t rows, columns;
  const char* format;
  int layout; /* a tcnum_layout */
} tcnum_view;

/* A result. */
typedef struct tcnum_matrix tcnum_matrix;

/* Its codes, row-major, which live as long as it. */
TCNUM_API tcnum_status tcnum_matrix_view(const tcnum_matrix* matrix, tcnum_view* view);
TCNUM_API void tcnum_matrix_free(tcnum_matrix* matrix);

typedef struct tcnum_matmul_options {
  size_t size;
  const char* arch;               /* needed unless there is a `datapath` */
  const char* instruction;        /* NULL: that of the vendor's library, as tcnum_instruction_for() */
  const char* account;            /* NULL: the one to believe first */
  const tcnum_datapath* datapath; /* instead of the catalogue's */
  unsigned threads;               /* of the CPU */
  const char* processor;          /* "cpu" (NULL) or "gpu", which gives the same bits */
  /* Where the datapath has block scales: of A one for each row and block of K, M x blocks, of B one for each block and
   * column, blocks x N, in the datapath's format. The last block may be shorter than the others. */
  const tcnum_view *a_scales, *b_scales;
  /* Called now and then with the number of rows of D that are finished. Not 0: stop. */
  int (*progress)(void* user, size_t rows);
  void* user;
} tcnum_matmul_options;

/* D = A B + C, where A is M x K, B is K x N, C and D are M x N, of any M, N and K from 1 on. Each element of D has the
 * bits of a chain of the instruction along K (tcnum/tcnum.hpp says it in full). C may be NULL: +0. D is in the format
 * of the instruction's results. By the GPU, it is TCNUM_UNAVAILABLE where there is none, where the library was built
 * without its GPU parts, and where none of them takes the datapath (docs/emulators.md). If `progress` stops it, the
 * call returns TCNUM_STOPPED and D has the rows that are finished; the others are zero. */
TCNUM_API tcnum_status tcnum_matmul(const tcnum_view* a, const tcnum_view* b, const tcnum_view* c,
                                    const tcnum_matmul_options* options, tcnum_matrix** d);

/* How a kernel goes through k and what it does with the sums (docs/plans.md). */
typedef struct tcnum_plan tcnum_plan;

typedef struct tcnum_plan_info {
  size_t size;
  const char* name;            /* "nvjet" */
  const char* does;            /* in a few words */
  const char* source;          /* where what is said of it comes from */
  const char* const* operands; /* formats that it takes, for A and B alike */
  size_t operand_count;
} tcnum_plan_info;

/* Those that have names. */
TCNUM_API size_t tcnum_plan_count(void);
TCNUM_API tcnum_status tcnum_plan_at(size_t index, tcnum_plan_info* info);

/* `operands`: a format. `output`: another format than the plan's usual for D; NULL: that one. */
TCNUM_API tcnum_status tcnum_plan_find(const char* name, const char* operands, const char* output, tcnum_plan** plan);
/* What cuBLASLt says of one of its algorithms for a product on Hopper, and of the product (tcnum/cublaslt.hpp). */
typedef struct tcnum_cublaslt_configuration {
  size_t size;
  const char *a, *b, *d; /* formats */
  size_t k;
  int fast_accumulation;              /* of fp8 */
  int id, stages, split_k, reduction; /* CUBLASLT_ALGO_CONFIG_ID, _STAGES_ID, _SPLITK_NUM, _REDUCTION_SCHEME */
  int custom;                         /* CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION */
  size_t m, n;                        /* rows and columns of D; this and what follows is for a split_k of -1 alone */
  int tile, cluster, swizzle;         /* CUBLASLT_ALGO_CONFIG_TILE_ID, _CLUSTER_SHAPE_ID, _CTA_SWIZZLING */
  size_t workspace;                   /* bytes: workspaceSize of cublasLtMatmulHeuristicResult_t */
  int clusters_at_once;               /* cudaOccupancyMaxActiveClusters() of blocks that fill a multiprocessor */
  int a_k_outermost, b_k_outermost;   /* not 0: A is CUBLAS_OP_N, or B CUBLAS_OP_T; m and n are then needed, too */
  int has_epilogue;                   /* not 0: alpha is not 1, or there is a C or a bias; m and n are then needed */
  int adds_to_d;                      /* not 0: C is what D holds before, and beta is 1 */
  size_t a_lead, b_lead;              /* CUBLASLT_MATRIX_LAYOUT_LD; 0: what a column has, and no more */
} tcnum_cublaslt_configuration;
/* The plan of that algorithm; TCNUM_INVALID if nobody knows it. */
TCNUM_API tcnum_status tcnum_plan_of_cublaslt(const tcnum_cublaslt_configuration* configuration, tcnum_plan** plan);
TCNUM_API tcnum_status tcnum_plan_from_json(const char* json, tcnum_plan** plan);
TCNUM_API tcnum_status tcnum_plan_read(const char* path, tcnum_plan** plan);
TCNUM_API tcnum_status tcnum_plan_to_json(const tcnum_plan* plan, char** json);
TCNUM_API void tcnum_plan_free(tcnum_plan* plan);

typedef struct tcnum_gemm_options {
  size_t size;
  const tcnum_view* c;    /* M x N; NULL: none, as if beta were 0 */
  const tcnum_view* bias; /* 1 x N, or M x 1; NULL: none */
  const double* alpha;    /* NULL: 1 */
  const double* beta;     /* NULL: 1 with a C, else 0 */
  unsigned threads;
  /* Called now and then with the number of rows of D that are finished. Not 0: stop. */
  int (*progress)(void* user, size_t rows);
  void* user;
  /* Scales, of fp32: along k one, or one for each promotion of the plan; NULL: none (tcnum/gemm.hpp, GemmInputs). For
   * tcnum_gemm_error() also block scales of ue8m0 or ue4m3; products along k that share a scale are a power of two. */
  const tcnum_view* a_scales; /* 1 or M, x along k */
  const tcnum_view* b_scales; /* along k x 1, N, or one for every 128 of N */
  const char* processor;      /* of the instructions: "cpu" (NULL) or "gpu", which gives the same bits */
  /* For tcnum_gemm_error() alone: what A and B were before they were quantised, of any format; NULL: what they are. */
  const tcnum_view* exact_a;
  const tcnum_view* exact_b;
} tcnum_gemm_options;

/* D = alpha A B + beta C + bias with the bits of the plan, in its output format. `options` may be NULL. By the GPU,
 * it is TCNUM_UNAVAILABLE where tcnum_matmul() would be. If `progress` stops it, the call returns TCNUM_STOPPED and D
 * has the rows that are finished; the others are zero. */
TCNUM_API tcnum_status tcnum_gemm(const tcnum_plan* plan, const tcnum_view* a, const tcnum_view* b,
                                  const tcnum_gemm_options* options, tcnum_matrix** d);

/* One element of such a product step by step, as `tcnum explain --plan` prints it, to the rounding that makes it D's.
 * `other` may be NULL; else it is another plan, and the steps of both are shown from the first one on that differs. */
TCNUM_API tcnum_status tcnum_explain_gemm(const tcnum_plan* plan, const tcnum_plan* other, const tcnum_view* a,
                                          const tcnum_view* b, const tcnum_gemm_options* options, size_t row,
                                          size_t column, char** text);

/* Compares D with alpha A B + beta C + bias, computed exactly, and returns the JSON of `tcnum gemm error`
 * (tcnum.gemm_error/1): the mean, median, largest and other errors in ulps and relative to the sum of the terms'
 * magnitudes, a histogram, and the worst element; with exact_a or exact_b, the errors of quantisation and of arithmetic
 * too. alpha and beta are the numbers that they are; `options` may be NULL. If `progress` stops it, the call returns
 * TCNUM_STOPPED. */
TCNUM_API tcnum_status tcnum_gemm_error(const tcnum_view* d, const tcnum_view* a, const tcnum_view* b,
                                        const tcnum_gemm_options* options, char** json);

/* --- Tiles: many dot products with their results; what vector files hold (docs/files.md) -------------------------- */

typedef struct tcnum_tiles tcnum_tiles;

/* `count` products of m x n tiles by an instruction, of its k, with all codes zero. In every group of a sparse A, the
 * first elements are the stored ones. */
TCNUM_API tcnum_status tcnum_tiles_new(const char* arch, const char* instruction, size_t count, size_t m, size_t n,
                                       tcnum_tiles** tiles);
/* By a datapath alone, with its k, formats and block scales. No vector file can hold them. */
TCNUM_API tcnum_status tcnum_tiles_of_datapath(const tcnum_datapath* datapath, size_t count, size_t m, size_t n,
                                               tcnum_tiles** tiles);
/* A vector file. With `without_results` other than 0, its D may be missing, and is zero. */
TCNUM_API tcnum_status tcnum_tiles_read(const char* path, int without_results, tcnum_tiles** tiles);
/* The path holds all of it, or what it held before. */
TCNUM_API tcnum_status tcnum_tiles_write(const tcnum_tiles* tiles, const char* path);
TCNUM_API void tcnum_tiles_free(tcnum_tiles* tiles);

/* Codes of the tiles, which are the caller's to read and to write, and stay where they are until the tiles are freed.
 */
typedef struct tcnum_tensor {
  size_t size;
  void* codes;
  size_t bytes;       /* of all codes */
  const char* format; /* of "E": "u8" */
  size_t shape[3];    /* row-major */
} tcnum_tensor;

/* `name`: "A" [count, m, k], "B" [count, k, n], "C" and "D" [count, m, n]. Of a sparse instruction A is [count, m,
 * k/2], and "E", of the same shape, says where in its group along k each element stands. With block scales, "SA" is
 * [count, m, k/block], and "SB" is [count, k/block, n]. */
TCNUM_API tcnum_status tcnum_tiles_tensor(tcnum_tiles* tiles, const char* name, tcnum_tensor* tensor);

/* What is said of the tiles: "instruction", "arch", "device" and others, which docs/files.md lists. NULL if nothing is;
 * it lives until that key is set, or D filled. */
TCNUM_API const char* tcnum_tiles_text(const tcnum_tiles* tiles, const char* key);
/* The keys that there are, by number; NULL from their end on. */
TCNUM_API const char* tcnum_tiles_key(const tcnum_tiles* tiles, size_t index);
/* `value` NULL: nothing is said any more. What the tiles are of does not change. */
TCNUM_API tcnum_status tcnum_tiles_set_text(tcnum_tiles* tiles, const char* key, const char* value);

/* Fills D, and says of the tiles of an instruction that it is the emulator's. `datapath` NULL: the catalogue's first
 * for the instruction. */
TCNUM_API tcnum_status tcnum_emulate(tcnum_tiles* tiles, const tcnum_datapath* datapath, unsigned threads);
/* The same bits from the exact emulator, which is slow, short, and defines the meaning. */
TCNUM_API tcnum_status tcnum_emulate_exact(tcnum_tiles* tiles, const tcnum_datapath* datapath);

typedef struct tcnum_comparison {
  size_t size;
  size_t count;                /* of results */
  size_t mismatches;           /* of them, those that the datapath does not give */
  size_t first;                /* the first of these, as an index into D; `count` if there is none */
  uint64_t expected, observed; /* there: what the datapath gives, and what D has */
} tcnum_comparison;

/* D against what a datapath gives. It is TCNUM_OK whether they agree or not. */
TCNUM_API tcnum_status tcnum_verify(const tcnum_tiles* tiles, const tcnum_datapath* datapath, unsigned threads,
                                    tcnum_comparison* comparison);

/* Where two datapaths of the same formats part, as the JSON of `tcnum diff` (tcnum.diff/1): how many of random and
 * crafted dot products differ and by how much, the smallest operands that do, and what the descriptions say otherwise.
 * Names stand in the JSON; NULL: none. */
TCNUM_API tcnum_status tcnum_diff(const tcnum_datapath* one, const char* one_name, const tcnum_datapath* other,
                                  const char* other_name, uint64_t seed, char** json);

/* One dot product bit by bit, and how far it is from the true value, as `tcnum explain` prints it: that of element
 * `index` of D. */
TCNUM_API tcnum_status tcnum_explain(const tcnum_tiles* tiles, size_t index, const tcnum_datapath* datapath,
                                     char** text);

/* --- Finding a datapath ----------------------------------------------------------------------------------------- */

/* Fills D of tiles of dense dot problems: of a sparse instruction, k is the number of stored products. Other than 0:
 * stop. It may be called some hundred times. The tiles are the library's, and gone when it returns; what becomes of
 * their operands does not matter. */
typedef int (*tcnum_oracle)(void* user, tcnum_tiles* tiles);

/* Called some times a second while a datapath or a plan is looked for, never by two threads at once: what is done, in
 * plain words, and how many steps of it; `all` is 0 where nobody knows how many there are. Not 0: stop, and the call
 * returns TCNUM_STOPPED. */
typedef int (*tcnum_fit_progress)(void* user, const char* phase, size_t done, size_t all);

typedef struct tcnum_probe_options {
  size_t size;
  uint64_t seed; /* of random operands; 0: 1 */
  unsigned threads;
  const char* device;          /* what answers, for the report; NULL: "a program" */
  int any_nan;                 /* not 0: of a NaN, its bits are not looked at, which software mostly leaves to chance */
  tcnum_fit_progress progress; /* may be NULL */
  void* progress_user;         /* its first argument */
} tcnum_probe_options;

/* Finds the datapath behind an oracle, as `tcnum probe` does, and returns that command's JSON (tcnum.probe/1), with the
 * verdict, the datapath, and the answers that refute others. `options` may be NULL. */
TCNUM_API tcnum_status tcnum_probe(const char* arch, const char* instruction, tcnum_oracle oracle, void* user,
                                   const tcnum_probe_options* options, char** json);
/* The dot product d = c + sum of a[k] b[k] of a program's own, which no architecture need have. */
typedef struct tcnum_dot {
  size_t size;
  const char *a, *b, *c, *d; /* formats; b NULL: as a; c NULL: as d */
  size_t k;                  /* products, 1 to 256 */
  /* Block scales of a and b: how many products share one, which divides k (0: there are none), and their format,
   * "ue8m0" or "ue4m3" (NULL: ue8m0). The oracle's tiles then have the tensors "SA" and "SB". */
  size_t scale_block;
  const char* scale_format;
} tcnum_dot;
/* The same of such a one. Its tiles are of no instruction. */
TCNUM_API tcnum_status tcnum_probe_dot(const tcnum_dot* dot, tcnum_oracle oracle, void* user,
                                       const tcnum_probe_options* options, char** json);
/* The same from answers alone: those of tiles of an instruction, such as a vector file. */
TCNUM_API tcnum_status tcnum_probe_tiles(const tcnum_tiles* tiles, const tcnum_probe_options* options, char** json);

/* --- Finding a plan --------------------------------------------------------------------------------------------- */

/* Matrix products of one shape: D = A B, where A is m x k, B is k x n and D is m x n. */
typedef struct tcnum_gemm_subject {
  size_t size;
  const char* arch;      /* whose instructions it may be made of */
  const char *a, *b, *d; /* formats */
  size_t m, n, k;
} tcnum_gemm_subject;

/* Multiplies: writes the codes of D, row-major, `bytes` bytes. Other than 0: stop. It may be called some dozen times.
 * The matrices are the library's, and gone when it returns. */
typedef int (*tcnum_multiply)(void* user, const tcnum_view* a, const tcnum_view* b, void* d, size_t bytes);

/* What comes to a product: D = alpha A B + beta C + bias. */
typedef struct tcnum_gemm_terms {
  double alpha, beta;     /* beta: 0 without a C */
  const tcnum_view* c;    /* m x n, of D's format; NULL: none */
  const tcnum_view* bias; /* 1 x n, of D's format; NULL: none */
} tcnum_gemm_terms;
/* The same with what comes to the product. */
typedef int (*tcnum_multiply_and_add)(void* user, const tcnum_view* a, const tcnum_view* b,
                                      const tcnum_gemm_terms* terms, void* d, size_t bytes);

typedef struct tcnum_gemm_fit_options {
  size_t size;
  uint64_t seed; /* of operands; 0: 1 */
  unsigned threads;
  tcnum_fit_progress progress; /* may be NULL */
  void* progress_user;         /* its first argument */
  /* Who is asked what becomes of alpha, C and a bias, with the `user` of who multiplies, where a plan is found: the
   * JSON has an "epilogue" then. NULL: nobody. */
  tcnum_multiply_and_add multiply_and_add;
} tcnum_gemm_fit_options;

/* Finds the plan behind whatever multiplies, as `tcnum gemm fit` does, and returns that command's JSON
 * (tcnum.gemm_fit/1), with the verdict and the plan. `options` may be NULL. */
TCNUM_API tcnum_status tcnum_fit_gemm(const tcnum_gemm_subject* subject, tcnum_multiply multiply, void* user,
                                      const tcnum_gemm_fit_options* options, char** json);
/* The same from one product alone. */
TCNUM_API tcnum_status tcnum_fit_gemm_matrices(const char* arch, const tcnum_view* a, const tcnum_view* b,
                                               const tcnum_view* d, const tcnum_gemm_fit_options* options, char** json);

#ifdef __cplusplus
}
#endif

#endif
