// A capture in a graph ends whatever happens within it. One that is left open keeps its stream, and
// with it every thread's CUDA calls that are not allowed in a capture, for as long as the process
// lives.
#pragma once

#include <utility>

namespace isinglass {

// Graph has begin(), end() and abandon(). Where one of the first two or the work throws, abandon(),
// which does not, ends the capture and drops what was captured; the exception passes on.
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
