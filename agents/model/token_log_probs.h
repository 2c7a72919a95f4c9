// Log-probabilities of given tokens: what `score` prints and what every loss starts from.
#pragma once

#include "agents/model/torch.h"

namespace forkpoint::agents {

// log softmax(logits_TV / temperature) at targets_T, as float32 [T] on the CPU.
//
// Shapes: T tokens, V vocabulary, R rows in one piece. logits_TV is float32 in any memory; its rows are taken
// to `device` piece by piece, so that no second [T, V] tensor ever exists. Row t of the result does not
// depend on the other rows. Throws c10::Error or std::invalid_argument, the latter for arguments that can't
// be right, naming the row.
torch::Tensor token_log_probs(const torch::Tensor& logits_TV, const torch::Tensor& targets_T,
                              double temperature, const torch::Device& device);

}  // namespace forkpoint::agents
