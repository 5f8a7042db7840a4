// A trace session: prepared (says what it would do), committed, followed, cancelled.
#pragma once

#include "rpc/methods/method.h"

namespace dynolog::rpc {

void prepare_trace(const Request& request);
void commit_trace(const Request& request);
void follow_trace(const Request& request);
void cancel_trace(const Request& request);

// What came of it: brought piece by piece, listed, deleted.
void fetch_trace(const Request& request);
void release_trace(const Request& request);
void list_traces(const Request& request);
void delete_trace(const Request& request);

}  // namespace dynolog::rpc
