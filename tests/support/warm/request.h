// A request to a warm server (server.cpp, client.cpp): a command line, an environment, three
// streams and a directory. The answer consists of two integers: the process id, and at the end the
// process's status as given by waitpid().
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace isinglass::warm {

// The name of the environment variable that gives the abstract address of the server to the program
// that serves.
inline constexpr const char* kAddressVariable = "ISINGLASS_WARM_ADDRESS";

struct Request {
  std::vector<std::string> arguments, environment;
  int files[4] = {0, 1, 2, -1};  // the streams, and the directory
};

inline bool write_all(int to, const void* bytes, size_t count) {
  for (const auto* at = static_cast<const char*>(bytes); count > 0;) {
    const ssize_t written = send(to, at, count, MSG_NOSIGNAL);
    if (written <= 0) return false;
    at += written;
    count -= static_cast<size_t>(written);
  }
  return true;
}

inline bool read_all(int from, void* bytes, size_t count) {
  for (auto* at = static_cast<char*>(bytes); count > 0;) {
    const ssize_t got = recv(from, at, count, 0);
    if (got <= 0) return false;
    at += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

// Sends the sizes first, together with the files, and then every text with its terminating zero.
inline bool send_request(int to, const Request& request) {
  std::string texts;
  for (const auto* list : {&request.arguments, &request.environment}) {
    for (const std::string& text : *list) texts.append(text.c_str(), text.size() + 1);
  }
  uint64_t sizes[2] = {request.arguments.size(), texts.size()};
  iovec part = {sizes, sizeof sizes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof request.files)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof request.files);
  std::memcpy(CMSG_DATA(header), request.files, sizeof request.files);
  return sendmsg(to, &message, MSG_NOSIGNAL) == sizeof sizes &&
         write_all(to, texts.data(), texts.size());
}

inline bool receive_request(int from, Request& request) {
  uint64_t sizes[2] = {};
  iovec part = {sizes, sizeof sizes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof request.files)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(from, &message, MSG_WAITALL) != sizeof sizes) return false;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_len != CMSG_LEN(sizeof request.files)) return false;
  std::memcpy(request.files, CMSG_DATA(header), sizeof request.files);
  std::string texts(sizes[1], '\0');
  if (!read_all(from, texts.data(), texts.size())) return false;
  for (size_t at = 0; at < texts.size();) {
    const std::string text = texts.c_str() + at;
    at += text.size() + 1;
    auto& list = request.arguments.size() < sizes[0] ? request.arguments : request.environment;
    list.push_back(text);
  }
  return true;
}

}  // namespace isinglass::warm
