// Implements the conversion of data sets, and the replay buffer.
#include "python/bindings/data.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/python_variable.h>

#include "io/error.h"
#include "python/bindings/torch_state_guard.h"
#include "train/data/own_images.h"
#include "train/objectives/replay_buffer.h"

namespace isinglass::python {
namespace {

constexpr const char* kTensor = "the tensor";

bool is_of(const py::handle& value, const char* module, const char* type) {
  return py::isinstance(value, py::module_::import(module).attr(type));
}

bool is_mapping(const py::handle& value) {
  return py::isinstance<py::dict>(value) || is_of(value, "collections.abc", "Mapping");
}

bool is_file_or_name(const py::object& data) {
  return data.is_none() || py::isinstance<py::str>(data) || py::hasattr(data, "__fspath__");
}

// Returns the tensor that torch makes of arrays, nested lists or lists of tensors.
py::object tensor_made_of(const py::handle& value) {
  const py::module_ torch = py::module_::import("torch");
  const bool listed = py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value);
  if (listed && py::len(value) > 0) {
    const auto items = py::reinterpret_borrow<py::sequence>(value);
    const py::object first = items[0];
    if (THPVariable_Check(first.ptr())) return torch.attr("stack")(value);
  }
  if (!py::hasattr(value, "__array__")) return torch.attr("as_tensor")(value);
  return torch.attr("as_tensor")(py::module_::import("numpy").attr("ascontiguousarray")(value));
}

// Returns a mapping's splits by name. Any other value becomes the training split if `whole`, and
// otherwise data that are to be split.
OwnArrays arrays_of(const py::object& data, bool whole) {
  OwnArrays arrays;
  if (!is_mapping(data)) {
    OwnArray& all = whole ? arrays.train : arrays.whole;
    all.name = kTensor;
    all.values = tensor_of(data, "the data");
    return arrays;
  }
  for (const auto& [key, value] : py::dict(data)) {
    const auto name = py::cast<std::string>(py::str(key));
    OwnArray* split = name == "train"  ? &arrays.train
                      : name == "test" ? &arrays.test
                      : name == "validation" || name == "valid" || name == "val"
                          ? &arrays.validation
                          : nullptr;
    require(split, "the data have a split '{}'; only train, validation and test are known", name);
    require(!split->values.defined(), "the data have the split '{}' under two names", name);
    const std::string subject = fmt::format("the split '{}'", name);
    *split = {subject, tensor_of(value, subject)};
  }
  require(arrays.train.values.defined(), "the data have no split 'train'");
  return arrays;
}

// Holds the persistent chains of a training loop that the user writes.
class Buffer {
 public:
  Buffer(int64_t size, const torch::Tensor& mean, uint64_t seed)
      : mean_(checked(size, mean)), seed_(seed), buffer_(mean_, size, seed) {}

  py::tuple draw(int64_t count, double reinit) {
    require_options(count >= 1 && count <= buffer_.size(),
                    "`count` is {}; a number from 1 to {}, the size of the buffer, is needed",
                    count, buffer_.size());
    require_options(reinit >= 0 && reinit <= 1,
                    "`reinit` is {}; a probability from 0 to 1 is needed", reinit);
    torch::Tensor slots, chains;
    {
      const TorchStateGuard guard;
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
            "slots must be from 0 to {}", buffer_.size() - 1);
    const TorchStateGuard guard;
    buffer_.write_back(slots.to(states.device()), x.to(states.device()));
  }

  py::tuple pickled() const { return py::make_tuple(mean_, seed_, draws_, buffer_.states()); }
  static Buffer unpickled(const py::tuple& saved) {
    const auto states = py::cast<torch::Tensor>(saved[3]);
    Buffer made(states.size(0), py::cast<torch::Tensor>(saved[0]), py::cast<uint64_t>(saved[1]));
    made.draws_ = py::cast<int64_t>(saved[2]);
    made.buffer_.states().copy_(states);
    return made;
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

  torch::Tensor mean_;
  uint64_t seed_;
  ReplayBuffer buffer_;
  int64_t draws_ = 0;
};

}  // namespace

torch::Tensor tensor_of(const py::handle& value, const std::string& what) {
  py::object held = py::reinterpret_borrow<py::object>(value);
  const char* data = "torch.utils.data";
  if (is_of(held, data, "TensorDataset")) held = held.attr("tensors")[py::int_(0)];
  const auto type = py::cast<std::string>(py::type::of(held).attr("__name__"));
  require(!is_of(held, data, "Dataset") && !is_of(held, data, "DataLoader"),
          "{} is a {}; a tensor of all its images is needed, such as torch.stack([x for x, _ in "
          "dataset])",
          what, type);
  if (!THPVariable_Check(held.ptr())) {
    try {
      held = tensor_made_of(held);
    } catch (const py::error_already_set& error) {
      if (!error.matches(PyExc_Exception)) throw;
      const auto reason = py::cast<std::string>(py::str(error.value()));
      fail("{} is a {}, which torch cannot convert to a tensor: {}", what, type,
           reason.substr(0, reason.find('\n')));
    }
  }
  const torch::Tensor tensor = py::cast<torch::Tensor>(held).detach();
  return (tensor.layout() == torch::kStrided ? tensor : tensor.to_dense()).cpu();
}

std::optional<Dataset> dataset_of(const py::object& data, const DataSpec& spec,
                                  const DataUse& use) {
  if (is_file_or_name(data)) return std::nullopt;
  require_options(spec.validation.empty() && spec.test.empty(),
                  "`validation` and `test` name files, but the data are in memory; give a "
                  "dictionary of train, validation and test instead");
  OwnArrays arrays = arrays_of(data, use.whole);
  if (!use.labels.is_none()) arrays.labels = tensor_of(use.labels, "labels");
  const std::string name = is_mapping(data) ? "the splits" : kTensor;
  if (!use.points) return own_images(arrays, name, spec.levels);
  require_options(!spec.levels, "`levels` applies to images that are categorical states");
  return are_points(arrays) ? own_points(arrays, name) : as_points(own_images(arrays, name));
}

torch::Tensor labels_of(const py::object& labels) {
  return labels.is_none() ? torch::Tensor() : tensor_of(labels, "labels");
}

void add_data(py::module_& module) {
  module.def("sites_of", [](const py::object& data) -> std::optional<int64_t> {
    if (is_file_or_name(data)) return std::nullopt;
    return sites_of(arrays_of(data, /*whole=*/true));
  });
  module.def(
      "base_mean",
      [](const py::object& images) {
        require(!is_file_or_name(images),
                "the images are given by a name or file, but a tensor is needed");
        return clamped_mean(*dataset_of(images, {}, {.whole = true}));
      },
      py::arg("images"),
      R"(Computes the mean of images, moved inside (0, 1): 0.98 mean + 0.01.

It is the mean of the Bernoulli distribution from which buffers and annealing start. Missing values
(NaN) are left out of the mean; a site without known values has 0.5.

Args:
    images: a tensor, array or list of images [N, D], [N, H, W] or [N, 1, H, W], as train() takes
        them.

Returns:
    the mean of every site, float32 [D], on the CPU.

Raises:
    Error: if the images are a name or a file, or have another shape or other values.

Example:
    >>> import torch, isinglass as ig
    >>> ig.base_mean(torch.tensor([[0, 1], [1, 1]], dtype=torch.uint8))
    tensor([0.5000, 0.9900]))");
  py::class_<Buffer>(
      module, "ReplayBuffer",
      R"(The persistent chains of contrastive divergence, for a training loop of your own.

The buffer holds `size` states of binary sites, which are drawn from Bernoulli(mean) at first. It is
on the device of `mean`, and can be pickled; len(buffer) is its size.

Args:
    size: the number of states, at least 1.
    mean: the mean of every site, float [D], inside (0, 1); base_mean() makes one.
    seed: the seed of the random numbers, at least 0.

Raises:
    Error: if an argument is not allowed.

Example:
    >>> import torch, isinglass as ig
    >>> target = ig.models.bernoulli(theta=torch.zeros(8))
    >>> buffer = ig.ReplayBuffer(100, mean=torch.full((8,), 0.5), seed=0)
    >>> slots, x = buffer.draw(20)
    >>> x = ig.sampler("gwg").run(target, x, steps=5).x
    >>> buffer.write_back(slots, x)
    >>> slots.shape, x.shape, len(buffer)
    (torch.Size([20]), torch.Size([20, 8]), 100))")
      .def(py::init<int64_t, const torch::Tensor&, uint64_t>(), py::arg("size"), py::kw_only(),
           py::arg("mean"), py::arg("seed") = 0)
      .def("draw", &Buffer::draw, py::arg("count"), py::kw_only(), py::arg("reinit") = 0.0,
           R"(Chooses random slots and copies their states. The random numbers of the n-th call
follow from the seed and n.

Args:
    count: the number of slots B, from 1 to the buffer's size.
    reinit: the probability with which a state is replaced by a new draw from Bernoulli(mean).

Returns:
    the slots, int64 [B], which are distinct, and a copy of their states, uint8 [B, D].

Raises:
    Error: if `count` or `reinit` is not allowed.)")
      .def("write_back", &Buffer::write_back, py::arg("slots"), py::arg("x"),
           R"(Sets the states of slots.

Args:
    slots: the slots, int64 [B], each from 0 to the buffer's size − 1.
    x: their new states, uint8 [B, D].

Raises:
    Error: if a shape, a type or a slot is not allowed.)")
      .def_property_readonly(
          "states", &Buffer::states,
          "The states of all slots, uint8 [size, D]: the buffer's own tensor, not a copy.")
      .def(py::pickle([](const Buffer& one) { return one.pickled(); },
                      [](const py::tuple& saved) { return Buffer::unpickled(saved); }))
      .def("__len__", &Buffer::size)
      .def("__repr__", [](const Buffer& b) {
        return fmt::format("<isinglass.ReplayBuffer: {} states of {} sites>", b.size(),
                           b.states().size(1));
      });
}

}  // namespace isinglass::python
