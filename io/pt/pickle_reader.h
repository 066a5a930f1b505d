// Decodes the data.pkl of a .pt file, as torch.save writes it (pickle protocols 2 to 5), into plain
// values and tensors, with a restricted pickle machine that imports nothing and calls nothing.
//
// The known globals are collections.OrderedDict, torch._utils._rebuild_tensor_v2,
// torch._utils._rebuild_parameter and torch.*Storage of the real and integer types; any other is
// refused, and the error names it. A tensor's sizes, strides and offset are checked against its
// storage in 128-bit arithmetic. Depth, number of values and bytes of text are bounded, also for
// shared and cyclic references, so that a small file cannot expand into a large value.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass::pickle {

// Returns the bytes of the record data/KEY. It is called once per key.
using StorageLoader = std::function<c10::Storage(const std::string& key)>;

// Returns the decoded value. Throws Error whose message lacks the subject (the file's name):
// "refers to os.system, which …".
PtValue read(std::string_view pickle, const StorageLoader& load_storage);

}  // namespace isinglass::pickle
