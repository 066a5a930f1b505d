// Implements the capture and replay of work in a CUDA graph.
#include "engine/run/captured_work.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/version.h>

#include <optional>

#include "engine/run/capture.h"
#include "io/error.h"

namespace isinglass {
namespace {

// The number of warm-up runs before the capture.
constexpr int kWarmupRuns = 3;

// Returns true if f() returns, false if it throws an exception.
template <class F>
bool succeeds(F f) noexcept {
  try {
    f();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Captures one graph on the current stream, with memory from the pool; for capture() of capture.h.
class GraphCapture {
 public:
  GraphCapture(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool)
      : graph_(graph), pool_(pool), device_(c10::cuda::current_device()) {}

  void begin() { graph_.capture_begin(pool_); }
  void end() { graph_.capture_end(); }

  // Ends an invalid capture. A call that is not allowed in a capture makes it invalid. LibTorch's
  // capture_end() then ends it, but throws before it has informed the allocators and the generator;
  // they are informed here.
  void abandon() noexcept {
    if (succeeds([&] { graph_.capture_end(); })) return;
    namespace allocator = c10::cuda::CUDACachingAllocator;
    if (succeeds([&] { allocator::endAllocateToPool(device_, pool_); })) {
      succeeds([&] { allocator::releasePool(device_, pool_); });
    }
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
    auto* host = at::getHostAllocator(at::kCUDA);
    if (succeeds([&] { host->end_allocate_to_pool(pool_); })) {
      succeeds([&] { host->release_pool(pool_); });
    }
#endif
    // The generator's state still counts as captured; a copy of it does not.
    succeeds([&] {
      at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(device_);
      generator.graphsafe_set_state(generator.clone().graphsafe_get_state());
    });
  }

 private:
  at::cuda::CUDAGraph& graph_;
  at::cuda::MempoolId_t pool_;
  c10::DeviceIndex device_;
};

}  // namespace

struct CapturedWork::Capture {
  // The default stream cannot be captured. The warm-up runs make, on this stream and outside of the
  // graph's memory, what libraries keep per stream.
  std::optional<c10::cuda::CUDAStream> stream;
  // All graphs share one pool. A graph's own pool would stay reserved after the graph is gone.
  at::cuda::MempoolId_t pool = {};
  std::unique_ptr<at::cuda::CUDAGraph> graph;
  bool forgotten = false;
  int first_times = 0;

  // Runs f on the stream. The device is idle before and after, so that memory may pass between
  // streams.
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
  if (c.first_times < kWarmupRuns) {
    ++c.first_times;
    return c.on_stream(device, work);
  }
  if (!c.graph || c.forgotten) {
    try {
      c.on_stream(device, [&] {
        if (c.pool == at::cuda::MempoolId_t()) c.pool = at::cuda::graph_pool_handle();
        auto graph = std::make_unique<at::cuda::CUDAGraph>();
        GraphCapture capturing(*graph, c.pool);
        capture(capturing, work);
        c.graph = std::move(graph);
        c.forgotten = false;
      });
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error& error) {
      fail(
          "{} cannot be captured in a CUDA graph; `cuda-graph` false turns capture off. The reason "
          "is: {}",
          what_, error.what_without_backtrace());
    }
  }
  c.graph->replay();
}

void CapturedWork::invalidate() {
  if (capture_) capture_->forgotten = true;
}

}  // namespace isinglass
