// See data.h. Also the replay buffer.
#include "python/bindings/data.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/python_variable.h>

#include "io/error.h"
#include "python/bindings/guest.h"
#include "train/data/readers.h"
#include "train/objectives/replay_buffer.h"

namespace isinglass::python {
namespace {

constexpr const char* kImages = "the images";

torch::Tensor tensor_of(const py::handle& value) {
  if (THPVariable_Check(value.ptr())) return py::cast<torch::Tensor>(value).detach().cpu();
  return py::cast<torch::Tensor>(py::module_::import("torch").attr("as_tensor")(value)).cpu();
}

// The splits as they are.
Dataset splits_of(const py::dict& splits) {
  Dataset data;
  data.name = data.source = kImages;
  std::vector<torch::Tensor> pixels;
  for (const auto& [key, value] : splits) {
    const auto name = py::cast<std::string>(key);
    require(name == "train" || name == "validation" || name == "test",
            "the images have a split '{}'; train, validation and test are known", name);
    const torch::Tensor images = tensor_of(value);
    require(images.dim() == 2 || images.dim() == 3,
            "the {} images have {} dimensions; [N, D] or [N, H, W] is needed", name, images.dim());
    const torch::Tensor flat = to_pixels(name + " images", images).flatten(1).contiguous();
    (name == "train" ? data.train : name == "test" ? data.test : data.validation) = flat;
    data.height = images.dim() == 3 ? images.size(1) : 1;
    data.width = flat.size(1) / data.height;
    pixels.push_back(flat);
  }
  require(data.train.defined(), "the images have no split 'train'");
  for (torch::Tensor* split : {&data.validation, &data.test}) {
    if (!split->defined()) *split = data.train.narrow(0, 0, 0);
  }
  for (const torch::Tensor& split : pixels) {
    require(split.size(1) == data.train.size(1), "the splits' images differ in size");
    if (values_of(split) == PixelValues::kGrey) data.values = PixelValues::kGrey;
  }
  return data;
}

// A loop's own buffer of persistent chains.
class Buffer {
 public:
  Buffer(int64_t size, const torch::Tensor& mean, uint64_t seed)
      : buffer_(checked(size, mean), size, seed) {}

  py::tuple draw(int64_t count, double reinit) {
    require_options(count >= 1 && count <= buffer_.size(),
                    "`count` is {}; 1 to {}, the buffer's size, is needed", count, buffer_.size());
    require_options(reinit >= 0 && reinit <= 1, "`reinit` is {}; it is a probability", reinit);
    torch::Tensor slots, chains;
    {
      const Guest guest;
      slots = buffer_.draw_slots(count, ++draws_);
      chains = buffer_.chains(slots, reinit, draws_);
    }
    return py::make_tuple(slots, chains);
  }

  void write_back(const torch::Tensor& slots, const torch::Tensor& x) {
    const torch::Tensor& states = buffer_.states();
    require(x.dim() == 2 && x.size(1) == states.size(1) &&
                x.scalar_type() == states.scalar_type() && slots.dim() == 1 &&
                slots.size(0) == x.size(0) && slots.scalar_type() == torch::kInt64,
            "slots int64 [B] and their states uint8 [B, {}] are needed", states.size(1));
    require(slots.numel() == 0 ||
                (slots.min().item<int64_t>() >= 0 && slots.max().item<int64_t>() < buffer_.size()),
            "slots are 0 to {}", buffer_.size() - 1);
    const Guest guest;
    buffer_.write_back(slots.to(states.device()), x.to(states.device()));
  }

  torch::Tensor states() const { return buffer_.states(); }
  int64_t size() const { return buffer_.size(); }

 private:
  static torch::Tensor checked(int64_t size, const torch::Tensor& mean) {
    require_options(size >= 1, "`size` is {}; at least 1 is needed", size);
    require_options(mean.dim() == 1 && mean.is_floating_point() && mean.numel() > 0 &&
                        ((mean > 0) & (mean < 1)).all().item<bool>(),
                    "`mean` must be a real tensor [D] of numbers inside (0, 1); "
                    "isinglass.base_mean(images) makes one");
    return mean.detach().to(torch::kFloat32).contiguous();
  }

  ReplayBuffer buffer_;
  int64_t draws_ = 0;
};

}  // namespace

std::optional<Dataset> dataset_of(const py::object& data, bool points) {
  if (data.is_none() || py::isinstance<py::str>(data) || py::hasattr(data, "__fspath__")) {
    return std::nullopt;
  }
  const bool splits = py::isinstance<py::dict>(data);
  const torch::Tensor values = splits ? torch::Tensor() : tensor_of(data);
  if (points && !splits && values.is_floating_point() && values.dim() == 2) {
    return own_points(values, kImages);
  }
  Dataset images = splits ? splits_of(data) : own_images(values, kImages);
  return points ? as_points(std::move(images)) : images;
}

void add_data(py::module_& module) {
  module.def(
      "base_mean",
      [](const py::object& images) {
        const torch::Tensor values = tensor_of(images);
        Dataset data;
        data.train = to_pixels(kImages, values).flatten(1);
        data.values = values_of(data.train);
        return clamped_mean(data);
      },
      py::arg("images"),
      R"(The mean of images [N, D] or [N, H, W], drawn inside (0, 1): 0.98 mean + 0.01, float32 [D].

Of the Bernoulli sites from which buffers and annealing begin.)");
  py::class_<Buffer>(module, "ReplayBuffer", R"(Persistent chains of contrastive divergence.

`size` states drawn from Bernoulli(mean), mean float [D] inside (0, 1), on its device.)")
      .def(py::init<int64_t, const torch::Tensor&, uint64_t>(), py::arg("size"), py::kw_only(),
           py::arg("mean"), py::arg("seed") = 0)
      .def("draw", &Buffer::draw, py::arg("count"), py::kw_only(), py::arg("reinit") = 0.0,
           R"(Distinct slots, int64 [count], and a copy of their states, uint8 [count, D].

With probability `reinit` a state is drawn from Bernoulli(mean) again. The numbers of the n-th call
follow from the seed and n.)")
      .def("write_back", &Buffer::write_back, py::arg("slots"), py::arg("x"),
           "The slots' states are x from now on.")
      .def_property_readonly("states", &Buffer::states, "All states, uint8 [size, D], live.")
      .def("__len__", &Buffer::size)
      .def("__repr__", [](const Buffer& b) {
        return fmt::format("<isinglass.ReplayBuffer: {} states of {} sites>", b.size(),
                           b.states().size(1));
      });
}

}  // namespace isinglass::python
