// Downloads by HTTP and HTTPS, with the program curl as a child process. Its library, libcurl, was
// the alternative. The program is the better choice here, because it comes from the system on which
// this program runs and therefore knows the system's certificates and proxies. libcurl would have
// to be packed into wheels together with about twenty libraries, among them an OpenSSL that looks
// for certificates in Debian's folders, and the archive for other machines would lack it, as it
// lacks HDF5. Nothing is lost: the transfer is the same code, its failures are curl's documented
// exit codes, and bytes, resuming and time limits are under this program's control.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/continued_file.h"

namespace isinglass {

// How a download ended.
enum class DownloadEnd {
  kComplete,  // the server sent all it has
  kFailed,    // the transfer failed; the bytes that arrived are in the part
  kNoResume,  // the server cannot continue after the bytes of the part
  kStopped,   // the watcher stopped it
};

struct DownloadResult {
  DownloadEnd end;
  std::string reason = {};  // a failure in curl's words
};

// Called about ten times a second with the bytes in the part and those of the whole file, 0 if the
// server does not say. Returns false to stop the download.
using DownloadWatch = std::function<bool(int64_t bytes, int64_t total)>;

// Appends what the address holds after the bytes in the part. Redirections are followed. A server
// that sends nothing for `timeout` [s] is a failure, as is a file above `largest` [bytes]. Throws
// Error if the part cannot be written or there is no curl.
DownloadResult download(const std::string& address, ContinuedFile& part, int64_t timeout,
                        int64_t largest, const DownloadWatch& watch);

}  // namespace isinglass
