// A restricted pickle machine: decodes the data.pkl of a .pt file, as torch.save writes it
// (protocols 2 to 5), into plain values and tensors. It imports nothing and calls nothing.
//
// The globals it knows: collections.OrderedDict, torch._utils._rebuild_tensor_v2,
// torch._utils._rebuild_parameter and torch.*Storage of the real and integer types; any other is
// refused by its name. A tensor's sizes, strides and offset are checked against its storage in
// 128-bit arithmetic. Depth, number of values and bytes of text are bounded, shared and cyclic
// references included, so that a small file cannot unfold into a large value.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass::pickle {

// The bytes of the record data/KEY; called once per key.
using StorageLoader = std::function<c10::Storage(const std::string& key)>;

// Throws Error whose sentence lacks its subject (the file's name): "refers to os.system, which …".
PtValue read(std::string_view pickle, const StorageLoader& load_storage);

}  // namespace isinglass::pickle
