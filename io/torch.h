// The parts of LibTorch that every folder uses: tensors, autograd, modules. <torch/torch.h> holds
// optimisers, data loaders and the rest as well, and takes a source file twice the time.
#pragma once

#include <torch/csrc/autograd/autograd.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
