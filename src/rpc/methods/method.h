// What a method of the RPC is: a row of all_methods.cpp and a function that answers one request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "processes/identity.h"
#include "rpc/metrics_service.h"
#include "rpc/protocol/codec.h"
#include "rpc/protocol/messages.h"
#include "rpc/services.h"

namespace dynolog::rpc {

// The way back to the caller. Every function may be called at any time on the loop's thread, also
// after the connection has ended: then it does nothing.
class Responder {
 public:
  virtual ~Responder() = default;
  // The one reply: ends the request.
  virtual void answer(std::string json) = 0;
  // The same where the reply says, as the existing calls' clients expect it, that nothing was done.
  virtual void answer_failed(std::string json) = 0;
  // The one reply, as an error: ends the request.
  virtual void refuse(const ErrorReply& error) = 0;
  // One frame of a stream of replies; `last` ends the request.
  virtual void stream(std::string json, bool last) = 0;
  // What feeds the stream: kept until the last frame, or until the connection ends.
  virtual void keep(std::unique_ptr<TraceService::Following> following) = 0;
};

struct Request {
  std::string_view text;  // whole JSON; valid during the call
  Caller caller;          // default-made for methods that need no identity
  Services& services;
  MetricsService& metrics;
  std::shared_ptr<Responder> responder;
};

// Whether a method acts on somebody's behalf, so that the caller has to be known.
enum class Identity : std::uint8_t { not_needed, needed };
// The existing calls close the connection after their reply, as their clients expect.
enum class AfterReply : std::uint8_t { close, keep };

struct Method {
  std::string_view name;
  Identity identity;
  AfterReply after;
  void (*run)(const Request& request);
};

// For a service's result: encoded, or refused with its error.
template <class Reply>
[[nodiscard]] Done<Reply> reply_to(std::shared_ptr<Responder> responder) {
  return [responder = std::move(responder)](Result<Reply> result) {
    if (result) {
      responder->answer(encode(*result));
    } else {
      responder->refuse(to_error_reply(result.error()));
    }
  };
}

}  // namespace dynolog::rpc
