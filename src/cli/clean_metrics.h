// As clean.h, for replies about metrics. In their own namespace, where every caller finds these.
#pragma once

#include "rpc/protocol/metrics_messages.h"

namespace dynolog::rpc {

void clean(QueryMetricsReply& reply);
void clean(ListMetricsReply& reply);

}  // namespace dynolog::rpc
