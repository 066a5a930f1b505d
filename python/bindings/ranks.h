// The processes of a job that torchrun, mpirun or srun has started, as ranks of one computation: from
// joining to leaving it, the package's runs share their chains.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <functional>

#include "engine/context.h"
#include "python/bindings/guest.h"

namespace isinglass::python {

// Where a call computes: with the ranks that were joined, until any of them is interrupted.
Context context_of(torch::Device device, Interrupts& interrupts);

// Whether this process has what the ranks make together: it is alone, or rank 0.
bool leads();
// Its GPU, where it is told "cuda".
int64_t local_rank();
// Which cell of a grid this rank takes next; empty: all in their turn. To be asked for once a grid.
std::function<int64_t()> next_cell();

// What ended a call early: this rank's exception, or another one's Ctrl-C; None. By all ranks together,
// with the GIL.
py::object ending(const Interrupts& interrupts);

// A rank was lost: waits for the job to say which, and to end this process. With the GIL.
void await_end();

void add_ranks(py::module_& module);

}  // namespace isinglass::python
