// JSON text of the metrics' messages, as codec.h has that of the others. Defined in codec.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "rpc/protocol/metrics_messages.h"

namespace dynolog::rpc {

[[nodiscard]] std::string encode(const QueryMetricsRequest& request);
[[nodiscard]] std::string encode(const ListMetricsRequest& request);
[[nodiscard]] Result<QueryMetricsRequest> decode_query_metrics_request(std::string_view text);
[[nodiscard]] Result<ListMetricsRequest> decode_list_metrics_request(std::string_view text);

[[nodiscard]] std::string encode(const QueryMetricsReply& reply);
[[nodiscard]] std::string encode(const ListMetricsReply& reply);
[[nodiscard]] Result<QueryMetricsReply> decode_query_metrics_reply(std::string_view text);
[[nodiscard]] Result<ListMetricsReply> decode_list_metrics_reply(std::string_view text);

}  // namespace dynolog::rpc
