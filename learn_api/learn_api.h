/* The C interface of libforkpoint_learn.so: everything the rest of the program may ask of LibTorch.
 *
 * The library exports one symbol, forkpoint_learn_api(), which returns a table of functions. Only plain C
 * types cross the boundary: no exception, no C++ type, no allocation that the other side must free. A
 * function returns 0, or -1 after which last_error() explains. C++ code uses learn_api/learn_library.h
 * instead.
 *
 * Thread-safety: every function may be called from any thread; last_error() is the calling thread's own.
 * Ownership: buffers belong to the caller and are not kept after the call.
 */
#pragma once

#include <stdint.h>

/* Raised whenever the table or a struct changes; the loader refuses a library with another number. */
#define FORKPOINT_LEARN_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ForkpointLearnInfo {
  char torch_version[32]; /* "1.13.1", ends in NUL */
  int32_t cuda_devices;   /* usable ones */
  int32_t threads;        /* that one CPU operation may use */
} ForkpointLearnInfo;

typedef struct ForkpointLearnApi {
  uint32_t abi; /* FORKPOINT_LEARN_ABI of the library; first in every version of this struct */

  /* What went wrong in this thread's last failed call; valid until its next one. Never null. */
  const char* (*last_error)(void);

  int (*info)(ForkpointLearnInfo* info);

  /* Speed of a 512 x 512 x 512 float32 matrix product on the CPU, in GFLOP/s; the best of a few, which takes
   * some milliseconds. */
  int (*measure_sgemm)(double* gflops);

  /* log p(targets[t]) under softmax(logits[t] / temperature), for each of `tokens` rows.
   *   logits        [tokens][vocabulary], row-major; -inf forbids an entry
   *   targets       [tokens], each in 0..vocabulary-1
   *   temperature   > 0, a normal float32
   *   device        "cpu", "cuda" or "cuda:N"; rows travel there piece by piece
   *   log_probs     [tokens], written
   * Fails on a row with NaN, +inf or no finite entry, and names it. */
  int (*token_log_probs)(const float* logits, int64_t tokens, int64_t vocabulary, const int64_t* targets,
                         double temperature, const char* device, float* log_probs);
} ForkpointLearnApi;

__attribute__((visibility("default"))) const ForkpointLearnApi* forkpoint_learn_api(void);

#ifdef __cplusplus
}
#endif
