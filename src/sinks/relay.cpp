// JSON lines into a stream sender.
#include "sinks/relay.h"

#include <utility>

#include "net/stream_sender.h"
#include "sinks/json_lines.h"
#include "sinks/line_writer.h"

namespace dynolog {
namespace {

class StreamLines final : public LineWriter {
 public:
  explicit StreamLines(std::unique_ptr<StreamSender> sender) : sender_(std::move(sender)) {}

  void put(std::string line) override {
    line += '\n';
    sender_->put(std::move(line));
  }
  [[nodiscard]] SinkQueue queue() const override {
    const StreamCounters counters = sender_->counters();
    return {.length = counters.queued,
            .dropped = counters.dropped,
            .delivery_failures = counters.failures};
  }
  [[nodiscard]] std::optional<Error> problem() const override { return sender_->problem(); }

 private:
  std::unique_ptr<StreamSender> sender_;
};

}  // namespace

Destination relay_destination(const RelaySinkOptions& options) {
  const std::string& address = options.address;
  if (address.starts_with('/') || address.starts_with('@')) return {.unix_path = address};
  return {.host = address, .port = options.port};
}

std::unique_ptr<Sink> make_relay_sink(const RelaySinkOptions& options, Nanoseconds slowest,
                                      std::string executable, Log& log) {
  StreamSenderOptions sender;
  sender.to = relay_destination(options);
  sender.executable = std::move(executable);
  sender.thread_name = "relay";
  sender.max_queued_bytes = options.max_queued_bytes;
  return make_json_lines_sink(
      std::make_unique<StreamLines>(StreamSender::start(std::move(sender), log)),
      {.sink = "relay", .interval = options.interval, .slowest = slowest});
}

}  // namespace dynolog
