// Runs work in each of Highway's instruction sets.
#pragma once

#include "kernels/base/vectors_cpu.h"
// After it, which leaves some out.
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace isinglass {

// Calls work() in every set that this machine has.
template <class F>
void in_every_instruction_set(F work) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    work();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace isinglass
