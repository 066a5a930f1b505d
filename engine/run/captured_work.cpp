// See captured_work.h.
#include "engine/run/captured_work.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <optional>

#include "io/error.h"

namespace isinglass {
namespace {

constexpr int kFirstTimes = 3;

}  // namespace

struct CapturedWork::Capture {
  // The default stream cannot be captured. What libraries keep for a stream is made for this one by
  // the first times, outside of the graph's memory.
  std::optional<c10::cuda::CUDAStream> stream;
  std::unique_ptr<at::cuda::CUDAGraph> graph;
  bool forgotten = false;
  int first_times = 0;

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

CapturedWork::CapturedWork(std::string what, bool capture)
    : what_(std::move(what)), capture_(capture ? std::make_unique<Capture>() : nullptr) {}

CapturedWork::CapturedWork(CapturedWork&&) noexcept = default;
CapturedWork::~CapturedWork() = default;

void CapturedWork::run(torch::Device device, c10::function_ref<void()> work) {
  if (!capture_) return work();
  Capture& c = *capture_;
  if (c.first_times < kFirstTimes) {
    ++c.first_times;
    return c.on_stream(device, work);
  }
  if (!c.graph || c.forgotten) {
    try {
      c.on_stream(device, [&] {
        // In the memory of the one before: a pool of its own would stay reserved when the graph has gone.
        auto graph = std::make_unique<at::cuda::CUDAGraph>();
        if (c.graph) {
          graph->capture_begin(c.graph->pool());
        } else {
          graph->capture_begin();
        }
        work();
        graph->capture_end();
        c.graph = std::move(graph);
        c.forgotten = false;
      });
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error& error) {
      fail("{} cannot be captured in a CUDA graph, and with `cuda-graph` false it need not: {}",
           what_, error.what_without_backtrace());
    }
  }
  c.graph->replay();
}

void CapturedWork::forget() {
  if (capture_) capture_->forgotten = true;
}

}  // namespace isinglass
