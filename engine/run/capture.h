// Ends a CUDA graph capture whatever happens within it. A capture that is left open blocks its
// stream, and all threads' CUDA calls that are not allowed during a capture, for as long as the
// process lives.
#pragma once

#include <utility>

namespace isinglass {

// Captures the work. Graph has begin(), end() and abandon(). If begin(), end() or the work throws,
// abandon(), which must not throw, ends the capture and drops what was captured; the exception then
// propagates.
template <class Graph, class Work>
void capture(Graph& graph, Work&& work) {
  try {
    graph.begin();
    std::forward<Work>(work)();
    graph.end();
  } catch (...) {
    graph.abandon();
    throw;
  }
}

}  // namespace isinglass
