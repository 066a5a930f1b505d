// Includes the parts of LibTorch that every folder uses: tensors, autograd, modules.
// <torch/torch.h> also includes optimisers, data loaders and more, and doubles the time to compile
// a source file.
#pragma once

#include <torch/csrc/autograd/autograd.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
