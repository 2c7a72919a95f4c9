// The one header through which LibTorch comes in, and the place where its versions are told apart.
//
// We keep to what LibTorch 1.13 (Debian's) and 2.x share. torch/types.h has tensors and operators for half
// the price of torch/torch.h, which adds modules and optimizers that we write ourselves; including it takes
// about 11 s, so this header is precompiled and few units use it.
#pragma once

#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/version.h>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
