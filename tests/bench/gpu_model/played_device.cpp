// Implements the emulated GPU.
#include "tests/bench/gpu_model/played_device.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/ConvUtils.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <mutex>
#include <unordered_map>

#include "io/torch.h"

namespace isinglass {
namespace {

using at::Tensor, c10::Device, c10::IValue, c10::Stream;

std::mutex mutex;  // autograd has its own threads
std::vector<LibraryCall> calls;

struct Guard : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  Device getDevice() const override { return kGpu; }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  Device exchangeDevice(Device) const override { return kGpu; }
  Stream getStream(Device device) const override { return Stream(Stream::DEFAULT, device); }
  Stream getDefaultStream(Device device) const override { return getStream(device); }
  Stream getStreamFromGlobalPool(Device device, bool) const override { return getStream(device); }
  Stream getNewStream(Device device, int) const override { return getStream(device); }
  Stream exchangeStream(Stream stream) const override { return stream; }
  // The default stream's; releases before 2.11 do not ask.
  // NOLINTNEXTLINE(modernize-use-override)
  virtual void* getStreamNativeHandle(Stream) const { return nullptr; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void recordDataPtrOnStream(const c10::DataPtr&, const Stream&) const override {}
};

// The hooks that autograd uses before it takes a gradient on a GPU.
struct Hooks : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  void init() const override {}
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  bool compiledWithCuDNN() const override { return true; }
  // NOLINTNEXTLINE(google-runtime-int): LibTorch's own
  long versionCuDNN() const override { return 90000; }
};

// Returns a tensor of the same memory on another device, which keeps `t` alive.
Tensor on_device(const Tensor& t, Device device) {
  if (!t.defined()) return t;
  auto* keeps = new Tensor(t);
  c10::DataPtr pointer(
      t.storage().mutable_data(), keeps, [](void* kept) { delete static_cast<Tensor*>(kept); },
      device);
  c10::Storage storage(c10::Storage::use_byte_size_t(), t.storage().nbytes(), std::move(pointer),
                       c10::GetCPUAllocator(), /*resizable=*/true);
  const auto key = device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
  Tensor other = at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                          c10::DispatchKeySet(key), t.dtype());
  other.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  return other;
}

// One call on the CPU.
class Call {
 public:
  IValue argument(const IValue& value) {
    if (value.isTensor()) return lent(value.toTensor());
    if (value.isDevice() && value.toDevice().is_cuda()) return Device(c10::kCPU);
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& t : value.toTensorVector()) list.push_back(lent(t));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const std::optional<Tensor>& t : value.toOptionalTensorList().vec()) {
        list.push_back(t ? std::optional<Tensor>(lent(*t)) : t);
      }
      return list;
    }
    return value;
  }

  IValue result(const IValue& value) {
    if (value.isTensor()) return returned(value.toTensor());
    if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& t : value.toTensorVector()) list.push_back(returned(t));
      return list;
    }
    return value;
  }

  // Copies back arguments whose memory or size the call has changed.
  void take_back() {
    for (auto& [impl, pair] : lent_) {
      auto& [lent, own] = pair;
      if (lent.storage().data() != own.storage().data()) {
        own.storage().set_nbytes(lent.storage().nbytes());
        own.storage().set_data_ptr(pointer_to(lent));
      }
      if (lent.sizes() != own.sizes() || lent.strides() != own.strides()) {
        own.unsafeGetTensorImpl()->set_sizes_and_strides(lent.sizes(), lent.strides(),
                                                         lent.storage_offset());
      }
    }
  }

  bool only_views = true;  // every result shares an argument's memory
  bool on_host = false;    // an argument is in host memory
  int64_t bytes = 0;

 private:
  static c10::DataPtr pointer_to(const Tensor& t) {
    auto* keeps = new Tensor(t);
    return {t.storage().mutable_data(), keeps,
            [](void* kept) { delete static_cast<Tensor*>(kept); }, kGpu};
  }

  Tensor lent(const Tensor& t) {
    if (!t.defined()) return t;
    on_host |= t.is_cpu() && t.dim() > 0;
    if (!t.is_cuda()) return t;
    bytes += static_cast<int64_t>(t.nbytes());
    Tensor other = on_device(t, c10::kCPU);
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
      other.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    lent_.emplace(other.unsafeGetTensorImpl(), std::pair(other, t));
    return other;
  }

  Tensor returned(const Tensor& t) {
    if (!t.defined()) return t;
    if (const auto found = lent_.find(t.unsafeGetTensorImpl()); found != lent_.end()) {
      only_views = false;  // written in place
      return found->second.second;
    }
    for (const auto& [impl, pair] : lent_) {
      if (t.storage().data() && t.storage().data() == pair.first.storage().data()) {
        Tensor view = at::detail::make_tensor<c10::TensorImpl>(
            c10::Storage(pair.second.storage()), c10::DispatchKeySet(c10::DispatchKey::CUDA),
            t.dtype());
        view.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(),
                                                          t.storage_offset());
        return view;
      }
    }
    only_views = false;
    bytes += static_cast<int64_t>(t.nbytes());
    return on_device(t, kGpu);
  }

  std::unordered_map<c10::TensorImpl*, std::pair<Tensor, Tensor>> lent_;
};

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.name();
  const size_t inputs = schema.arguments().size(), outputs = schema.returns().size();
  Call call;
  for (size_t i = stack->size() - inputs; i < stack->size(); ++i) {
    (*stack)[i] = call.argument((*stack)[i]);
  }
  std::optional<at::MemoryFormat> layout;  // layout of cuDNN's results, not the host's
  if (name == "aten::convolution") {
    const IValue* input = &*(stack->end() - static_cast<std::ptrdiff_t>(inputs));
    layout = at::native::cudnn_conv_suggest_memory_format(input[0].toTensor(), input[1].toTensor());
  }
  op.callBoxed(stack);
  if (layout) stack->back() = stack->back().toTensor().contiguous(*layout);
  call.take_back();
  for (size_t i = stack->size() - outputs; i < stack->size(); ++i) {
    (*stack)[i] = call.result((*stack)[i]);
  }
  const bool makes = name.starts_with("aten::empty") || name == "aten::resize_";
  const bool reads = name == "aten::_local_scalar_dense" || name == "aten::nonzero" ||
                     (name == "aten::copy_" && call.on_host);
  if (makes || (call.only_views && outputs > 0 && !reads)) return;
  const std::lock_guard<std::mutex> lock(mutex);
  calls.push_back({name.substr(name.find(':') + 2), call.bytes, reads});
}

}  // namespace
}  // namespace isinglass

namespace at {
using PlayedHooks = isinglass::Hooks;
C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", PlayedHooks)
}  // namespace at

namespace isinglass {

struct PlayedDevice::Registration {
  Registration() {
    slot().store(&guard);
    fallback.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
    // Operators that exist for all devices, but would need CUDA code or make several calls where
    // CUDA makes one.
    for (const char* name :
         {"copy_", "convolution", "convolution_backward", "silu_backward", "_foreach_norm.Scalar",
          "_foreach_lerp_.Scalar", "_foreach_mul_.Scalar", "_foreach_mul_.Tensor"}) {
      operators.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
    }
  }
  ~Registration() { slot().store(nullptr); }

  static std::atomic<const c10::impl::DeviceGuardImplInterface*>& slot() {
    return c10::impl::device_guard_impl_registry[static_cast<size_t>(c10::kCUDA)];
  }

  Guard guard;
  torch::Library fallback{torch::Library::IMPL, "_", c10::DispatchKey::CUDA, __FILE__, __LINE__};
  torch::Library operators{torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__,
                           __LINE__};
};

PlayedDevice::PlayedDevice() : registration_(std::make_unique<Registration>()) {}
PlayedDevice::~PlayedDevice() = default;

std::vector<LibraryCall> PlayedDevice::take_calls() {
  const std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(calls, {});
}

}  // namespace isinglass
