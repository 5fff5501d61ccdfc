/* An oracle for `tcnum probe --from exec:./oracle --a fp32 --d fp32 --k 16`: it answers what this machine's C computes.
 *
 * Standard input and standard output carry messages: 8 bytes that hold a length, little-endian, and a safetensors file
 * of that length: 8 bytes with the length of its header, the header in JSON, and the tensors' data. A question has A
 * [T, M, K], B [T, K, N] and C [T, M, N], and the answer D [T, M, N]. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensor {
  long long shape[3];
  float *data;
};

static void must(int done, const char *what) {
  if (done) return;
  fprintf(stderr, "oracle: %s\n", what);
  exit(1);
}

/* Of a header such as {"A":{"dtype":"F32","shape":[2,8,16],"data_offsets":[0,1024]},…} */
static struct tensor find(const char *header, const char *name, char *data) {
  struct tensor t;
  long long begin = 0;
  const char *at = strstr(header, name);
  must(at != NULL && strstr(at, "\"dtype\":\"F32\"") != NULL, "there is a tensor that is missing, or not of F32");
  at = strstr(at, "\"shape\":[");
  must(at && sscanf(at, "\"shape\":[%lld,%lld,%lld]", &t.shape[0], &t.shape[1], &t.shape[2]) == 3, "a shape is wrong");
  at = strstr(at, "\"data_offsets\":[");
  must(at && sscanf(at, "\"data_offsets\":[%lld,", &begin) == 1, "offsets are wrong");
  t.data = (float *)(data + begin);
  return t;
}

/* What is asked about: the products one after the other, each rounded and added, and c at the end. */
static float dot(const float *a, const float *b, long long stride, long long k, float c) {
  volatile float sum = 0, product; /* volatile: no compiler makes one operation of two */
  for (long long i = 0; i < k; ++i) {
    product = a[i] * b[i * stride];
    sum = sum + product;
  }
  return sum + c;
}

int main(void) {
  uint64_t length;
  while (fread(&length, sizeof length, 1, stdin) == 1) {
    uint64_t header_length;
    char *question = malloc(length + 1);
    must(question && fread(question, 1, length, stdin) == length, "a question ends early");
    memcpy(&header_length, question, sizeof header_length);
    char *data = question + 8 + header_length, first = data[0];
    data[0] = '\0'; /* where the header ends, as a string */
    struct tensor a = find(question + 8, "\"A\":", data), b = find(question + 8, "\"B\":", data),
                  c = find(question + 8, "\"C\":", data);
    data[0] = first;

    long long tiles = a.shape[0], m = a.shape[1], k = a.shape[2], n = b.shape[2];
    char header[200];
    header_length = snprintf(header, sizeof header, "{\"D\":{\"dtype\":\"F32\",\"shape\":[%lld,%lld,%lld],\"data_offsets\":[0,%lld]}}",
                             tiles, m, n, 4 * tiles * m * n);
    length = 8 + header_length + 4 * tiles * m * n;
    fwrite(&length, sizeof length, 1, stdout);
    fwrite(&header_length, sizeof header_length, 1, stdout);
    fwrite(header, 1, header_length, stdout);
    for (long long at = 0; at < tiles * m * n; ++at) {
      long long t = at / (m * n), i = at / n % m, j = at % n;
      float d = dot(a.data + (t * m + i) * k, b.data + t * k * n + j, n, k, c.data[at]);
      fwrite(&d, sizeof d, 1, stdout);
    }
    fflush(stdout);
    free(question);
  }
  return 0;
}
