// See step_graph.h.
#include "engine/run/step_graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <optional>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr int kFirstSteps = 3;

}  // namespace

struct StepGraph::Capture {
  // The default stream cannot be captured. What libraries keep for a stream is made for this one by
  // the first steps, outside of the graph's memory.
  std::optional<c10::cuda::CUDAStream> stream;
  std::unique_ptr<at::cuda::CUDAGraph> graph;
  bool forgotten = false;
  StepInfo info;
  int first_steps = 0;

  // The device is idle before and after, so that memory may pass between the streams.
  template <class F>
  void on_stream(torch::Device device, F f) {
    if (!stream) stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index());
    const c10::cuda::CUDAGuard on_device(device);
    c10::cuda::device_synchronize();
    {
      const c10::cuda::CUDAStreamGuard guard(*stream);
      f();
    }
    c10::cuda::device_synchronize();
  }
};

StepGraph::StepGraph(const Sampler& sampler, bool capture)
    : sampler_(sampler), capture_(capture ? std::make_unique<Capture>() : nullptr) {}

StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph::~StepGraph() = default;

StepInfo StepGraph::step(EnergyModel& model, ChainState& state, StepParams& params) {
  if (!capture_) return sampler_.step(model, state, params);
  Capture& c = *capture_;
  if (c.first_steps < kFirstSteps) {
    ++c.first_steps;
    c.on_stream(state.x.device(), [&] { c.info = sampler_.step(model, state, params); });
    return c.info;
  }
  if (!c.graph || c.forgotten) {
    try {
      c.on_stream(state.x.device(), [&] {
        // In the memory of the one before: a pool of its own would stay reserved when the graph has gone.
        auto graph = std::make_unique<at::cuda::CUDAGraph>();
        if (c.graph) {
          graph->capture_begin(c.graph->pool());
        } else {
          graph->capture_begin();
        }
        c.info = sampler_.step(model, state, params);
        graph->capture_end();
        c.graph = std::move(graph);
        c.forgotten = false;
      });
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error& error) {
      fail("a step cannot be captured in a CUDA graph, and with `cuda-graph` false it need not: {}",
           error.what_without_backtrace());
    }
  }
  c.graph->replay();
  return c.info;
}

void StepGraph::forget() {
  if (capture_) capture_->forgotten = true;
}

}  // namespace isinglass
