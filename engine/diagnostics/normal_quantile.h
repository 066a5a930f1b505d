// The half width of a 95 % interval of a normally distributed estimate, in standard errors.
#pragma once

namespace isinglass {

constexpr double kNormal975 = 1.960;  // the 97.5 % quantile of N(0, 1)

}  // namespace isinglass
