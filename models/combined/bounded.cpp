// Implements the model within bounds.
#include "models/combined/bounded.h"

#include "io/error.h"

namespace isinglass {

// The bounds are a buffer, so that they are part of the model's identity (models/identity.h).
BoundedModel::BoundedModel(std::shared_ptr<EnergyModel> model, const Bounds& bounds)
    : WrappedModel(std::move(model)), bounds_(bounds) {
  check_bounds(bounds, "bounds");
  require_options(!inner().space().discrete(),
                  "`bounds` are those of continuous states, but the states of {} are discrete",
                  inner().title());
  const Bounds own = bounds_of(inner()).value_or(bounds);
  require_options(own == bounds,
                  "`bounds` is {:g},{:g}, but the states of {} have the bounds {:g},{:g}",
                  bounds.low, bounds.high, inner().title(), own.low, own.high);
  register_buffer("bounds", torch::tensor({bounds.low, bounds.high}, torch::kFloat64));
}

}  // namespace isinglass
