// Joins the processes of a job, started by torchrun, mpirun or srun, as ranks of one computation.
// Between joining and leaving, the package's runs share their chains among the ranks.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <functional>

#include "engine/context.h"
#include "python/bindings/torch_state_guard.h"

namespace isinglass::python {

// Returns the context of a call: the joined ranks, and a stop that holds once any of them is
// interrupted, or once this one's functions ask for it.
Context context_of(torch::Device device, Interrupts& interrupts);

// Returns whether this process has the common results: it is the only one, or rank 0.
bool is_rank0();
// Returns this process's number on the machine, which selects its GPU for "cuda".
int64_t local_rank();
// Returns the function that yields the next grid cell of this rank, or an empty function if this
// process takes all cells in turn. Call it once per grid.
std::function<int64_t()> next_cell();

// Returns the exception that ended a call early: this rank's own, or another rank's Ctrl-C; None if
// there is none. All ranks call it together, with the GIL held.
py::object ending(const Interrupts& interrupts);

// Waits, after a rank was lost, until the job has reported which one and ends this process. Call
// with the GIL held.
void await_end();

void add_ranks(py::module_& module);

}  // namespace isinglass::python
