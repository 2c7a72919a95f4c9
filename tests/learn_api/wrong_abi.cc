#include "learn_api/learn_api.h"

const ForkpointLearnApi* forkpoint_learn_api(void) {
  static constexpr ForkpointLearnApi kApi = {.abi = FORKPOINT_LEARN_ABI + 1,
                                             .last_error = nullptr,
                                             .info = nullptr,
                                             .measure_sgemm = nullptr,
                                             .token_log_probs = nullptr};
  return &kApi;
}
