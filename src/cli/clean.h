// Everything that a daemon says is made safe for a terminal at one place, before anything uses it.
#pragma once

#include <string>

#include "rpc/protocol/messages.h"

namespace dynolog {

void clean(rpc::StatusReply& reply);
void clean(rpc::ListProcessesReply& reply);
void clean(rpc::PrepareReply& reply);
void clean(rpc::CommitReply& reply);
void clean(rpc::FollowFrame& reply);
void clean(rpc::CancelReply& reply);
void clean(rpc::ListTracesReply& reply);
void clean(rpc::DiagnoseReply& reply);
void clean(rpc::LogLevelReply& reply);
// A piece's texts are bytes and JSON; piece_reader.h and received_file.h check them.
inline void clean(rpc::FetchReply& /*reply*/) {}
// The directory is handed to a shell: one that would need cleaning is kept and refused later.
inline void clean(rpc::SocketDirectoryReply& /*reply*/) {}

}  // namespace dynolog
