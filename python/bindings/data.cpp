// Implements the conversion of data sets, and the replay buffer.
#include "python/bindings/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>

#include <utility>

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

using MaybeTensor = std::optional<torch::Tensor>;
using MaybeBounds = std::optional<std::pair<double, double>>;

// Holds the base distribution of a buffer, as it is given: the means of binary sites [D] or the
// frequencies of categorical ones [D, K]; mean and deviation [D] of normal sites; or the number of
// sites and their bounds.
struct GivenBase {
  MaybeTensor mean, deviation;
  MaybeBounds bounds;
  std::optional<int64_t> sites;

  BaseDistribution made() const {
    if (bounds) {
      require_options(!mean && !deviation && sites,
                      "`bounds` goes with `sites`, the number of sites, and without `mean`");
      require_options(*sites >= 1, "`sites` is {}; at least 1 is needed", *sites);
      const Bounds interval{bounds->first, bounds->second};
      check_bounds(interval, "bounds");
      return BaseDistribution::uniform(*sites, interval, torch::kCPU);
    }
    require_options(mean.has_value(), "`mean` or `bounds` is needed");
    require_options(!sites, "`sites` goes with `bounds`; `mean` says how many sites there are");
    const torch::Tensor center = mean->detach();
    if (!deviation) return discrete(center);
    require_options(vector(center) && vector(*deviation) && center.sizes() == deviation->sizes() &&
                        torch::isfinite(center).all().item<bool>() &&
                        (*deviation > 0).all().item<bool>(),
                    "`mean` and `deviation` must be real tensors [D] of finite numbers, and "
                    "`deviation` above 0");
    return BaseDistribution::normal(center, deviation->detach().to(center.device()));
  }

  py::tuple pickled() const { return py::make_tuple(mean, deviation, bounds, sites); }
  static GivenBase unpickled(const py::tuple& saved) {
    return {py::cast<MaybeTensor>(saved[0]), py::cast<MaybeTensor>(saved[1]),
            py::cast<MaybeBounds>(saved[2]), py::cast<std::optional<int64_t>>(saved[3])};
  }

 private:
  static bool vector(const torch::Tensor& values) {
    return values.dim() == 1 && values.is_floating_point() && values.numel() > 0;
  }
  static BaseDistribution discrete(const torch::Tensor& mean) {
    constexpr double kRounding = 1e-3;
    if (mean.dim() == 2 && mean.is_floating_point() && mean.numel() > 0) {
      const torch::Tensor p = mean.to(torch::kFloat64), total = p.sum(1, /*keepdim=*/true);
      require_options(
          (p > 0).all().item<bool>() && ((total - 1).abs() < kRounding).all().item<bool>() &&
              p.size(1) <= 256,
          "`mean` [D, K] must hold the frequencies of the values of every site, above 0 "
          "and with the sum 1");
      return {p / total};
    }
    require_options(vector(mean) && ((mean > 0) & (mean < 1)).all().item<bool>(),
                    "`mean` must be a real tensor [D] of numbers inside (0, 1), which "
                    "isinglass.base_mean(images) makes, or frequencies [D, K]; with `deviation`, "
                    "any real tensor [D]");
    return {mean.to(torch::kFloat32)};
  }
};

// Holds the persistent chains of a training loop that the user writes.
class Buffer {
 public:
  Buffer(int64_t size, const MaybeTensor& mean, const MaybeTensor& deviation,
         const MaybeBounds& bounds, std::optional<int64_t> sites, uint64_t seed)
      : Buffer(size, GivenBase{mean, deviation, bounds, sites}, seed) {}

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
            "slots int64 [B] and their states {} [B, {}] are needed",
            states.is_floating_point() ? "float32" : "uint8", states.size(1));
    require(slots.numel() == 0 ||
                (slots.min().item<int64_t>() >= 0 && slots.max().item<int64_t>() < buffer_.size()),
            "slots must be from 0 to {}", buffer_.size() - 1);
    const TorchStateGuard guard;
    buffer_.write_back(slots.to(states.device()), x.detach().to(states.device()));
  }

  py::dict state_dict() const {
    py::dict saved;
    saved["states"] = buffer_.states().clone();
    saved["draws"] = draws_;
    saved["seed"] = seed_;
    return saved;
  }
  void load_state_dict(const py::dict& saved) {
    for (const char* name : {"states", "draws", "seed"}) {
      require(saved.contains(name), "the state dict of a buffer has no '{}'", name);
    }
    const auto states = py::cast<torch::Tensor>(saved["states"]);
    const torch::Tensor& own = buffer_.states();
    require(states.sizes() == own.sizes() && states.scalar_type() == own.scalar_type(),
            "the state dict holds {} [{}], but the buffer holds {} [{}]",
            torch::toString(states.scalar_type()), fmt::join(states.sizes(), ", "),
            torch::toString(own.scalar_type()), fmt::join(own.sizes(), ", "));
    draws_ = py::cast<int64_t>(saved["draws"]);
    seed_ = py::cast<uint64_t>(saved["seed"]);
    buffer_.set_seed(seed_);
    buffer_.states().copy_(states);
  }

  py::tuple pickled() const { return py::make_tuple(size(), base_.pickled(), seed_, state_dict()); }
  static Buffer unpickled(const py::tuple& saved) {
    Buffer made(py::cast<int64_t>(saved[0]), GivenBase::unpickled(saved[1]),
                py::cast<uint64_t>(saved[2]));
    made.load_state_dict(saved[3]);
    return made;
  }

  torch::Tensor states() const { return buffer_.states(); }
  int64_t size() const { return buffer_.size(); }

 private:
  Buffer(int64_t size, GivenBase base, uint64_t seed)
      : base_(std::move(base)), seed_(seed), buffer_(base_.made(), checked(size), seed) {}

  static int64_t checked(int64_t size) {
    require_options(size >= 1, "`size` is {}; at least 1 is needed", size);
    return size;
  }

  GivenBase base_;
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
  return are_points(arrays) ? own_points(arrays, name)
                            : as_points(own_images(arrays, name), use.every_split);
}

torch::Tensor labels_of(const py::object& labels) {
  return labels.is_none() ? torch::Tensor() : tensor_of(labels, "labels");
}

void add_data(py::module_& module) {
  module.def("are_points",
             [](const py::object& data) { return are_points(arrays_of(data, /*whole=*/true)); });
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

The buffer holds `size` states, which are drawn from independent sites at first: binary ones from
Bernoulli(mean), categorical ones from their frequencies, continuous ones from a normal distribution
or uniformly within bounds. It is on the device of `mean`, else on the CPU, and can be pickled;
len(buffer) is its size.

Args:
    size: the number of states, at least 1.
    mean: for binary sites the mean of every site, float [D], inside (0, 1); base_mean() makes one.
        For categorical sites the frequencies of the values, float [D, K], above 0. With deviation,
        the mean of every continuous site, float [D].
    deviation: for continuous sites: the standard deviation of every site, float [D], above 0.
    bounds: for continuous sites: the interval (low, high) in which sites are uniform.
    sites: with bounds: the number of sites D.
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
      .def(py::init<int64_t, const MaybeTensor&, const MaybeTensor&, const MaybeBounds&,
                    std::optional<int64_t>, uint64_t>(),
           py::arg("size"), py::kw_only(), py::arg("mean") = py::none(),
           py::arg("deviation") = py::none(), py::arg("bounds") = py::none(),
           py::arg("sites") = py::none(), py::arg("seed") = 0)
      .def("draw", &Buffer::draw, py::arg("count"), py::kw_only(), py::arg("reinit") = 0.0,
           R"(Chooses random slots and copies their states. The random numbers of the n-th call
follow from the seed and n.

Args:
    count: the number of slots B, from 1 to the buffer's size.
    reinit: the probability with which a state is replaced by a new draw, of the kind that the
        buffer started with.

Returns:
    the slots, int64 [B], which are distinct, and a copy of their states, uint8 or float32 [B, D].

Raises:
    Error: if `count` or `reinit` is not allowed.)")
      .def("write_back", &Buffer::write_back, py::arg("slots"), py::arg("x"),
           R"(Sets the states of slots.

Args:
    slots: the slots, int64 [B], each from 0 to the buffer's size − 1.
    x: their new states [B, D], in the buffer's dtype.

Raises:
    Error: if a shape, a type or a slot is not allowed.)")
      .def_property_readonly(
          "states", &Buffer::states,
          "The states of all slots [size, D], uint8, or float32 for continuous sites: the buffer's "
          "own tensor, not a copy.")
      .def("state_dict", &Buffer::state_dict,
           R"(Copies the states and what decides the next draws.

Returns:
    a dictionary of a tensor and numbers, which torch.save writes, and which torch.load reads with
    weights_only=True.)")
      .def("load_state_dict", &Buffer::load_state_dict, py::arg("state_dict"),
           R"(Continues the buffer of a state dict: the next draws give the same bits, if both
buffers were made from the same distribution.

Args:
    state_dict: what state_dict() returned, of a buffer of the same size.

Raises:
    Error: if an entry is missing or the states do not fit.)")
      .def(py::pickle([](const Buffer& one) { return one.pickled(); },
                      [](const py::tuple& saved) { return Buffer::unpickled(saved); }))
      .def("__len__", &Buffer::size)
      .def("__repr__", [](const Buffer& b) {
        return fmt::format("<isinglass.ReplayBuffer: {} states of {} sites>", b.size(),
                           b.states().size(1));
      });
}

}  // namespace isinglass::python
