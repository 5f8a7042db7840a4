// JSON text of the messages, both ways. Decoders take hostile text: depth and types are checked,
// unknown fields are passed over (newer peers), a missing or wrong one is an error that names it.
// Only of a status, which is asked of older daemons too, nothing has to be there.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "rpc/protocol/messages.h"

namespace dynolog::rpc {

inline constexpr int kMaxJsonDepth = 32;

// Requests: whole JSON text with its "fn".
[[nodiscard]] std::string encode_request(std::string_view fn);  // no fields
[[nodiscard]] std::string encode(const PrepareRequest& request);
[[nodiscard]] std::string encode(const CommitRequest& request);
[[nodiscard]] std::string encode(const FetchRequest& request);
[[nodiscard]] std::string encode(const ReleaseRequest& request);
[[nodiscard]] std::string encode(const DiagnoseRequest& request);
[[nodiscard]] std::string encode(const SetLogLevelRequest& request);
[[nodiscard]] std::string encode_request(std::string_view fn, const SessionRequest& request);

// The "fn" of a request: errors (invalid) for text that is not JSON, not an object, too deep, or
// without a string "fn".
[[nodiscard]] Result<std::string> decode_fn(std::string_view text);
[[nodiscard]] Result<PrepareRequest> decode_prepare_request(std::string_view text);
[[nodiscard]] Result<CommitRequest> decode_commit_request(std::string_view text);
[[nodiscard]] Result<SessionRequest> decode_session_request(std::string_view text);
[[nodiscard]] Result<FetchRequest> decode_fetch_request(std::string_view text);
[[nodiscard]] Result<ReleaseRequest> decode_release_request(std::string_view text);
[[nodiscard]] Result<DiagnoseRequest> decode_diagnose_request(std::string_view text);
[[nodiscard]] Result<SetLogLevelRequest> decode_set_log_level_request(std::string_view text);

// Replies.
[[nodiscard]] std::string encode(const ErrorReply& reply);
[[nodiscard]] std::string encode(const StatusReply& reply);
[[nodiscard]] std::string encode(const ListProcessesReply& reply);
[[nodiscard]] std::string encode(const PrepareReply& reply);
[[nodiscard]] std::string encode(const CommitReply& reply);
[[nodiscard]] std::string encode(const FollowFrame& frame);
[[nodiscard]] std::string encode(const CancelReply& reply);
[[nodiscard]] std::string encode(const FetchReply& reply);
[[nodiscard]] std::string encode(const ReleaseReply& reply);
[[nodiscard]] std::string encode(const ListTracesReply& reply);
[[nodiscard]] std::string encode(const DeleteTraceReply& reply);
[[nodiscard]] std::string encode(const DiagnoseReply& reply);
[[nodiscard]] std::string encode(const SocketDirectoryReply& reply);
[[nodiscard]] std::string encode(const LogLevelReply& reply);

// On the client's side an {"error": ...} is an Error whose message is the daemon's sentence; its
// kind follows the code. Who needs the code itself asks decode_error_reply() first.
[[nodiscard]] Result<StatusReply> decode_status_reply(std::string_view text);
[[nodiscard]] Result<ListProcessesReply> decode_list_processes_reply(std::string_view text);
[[nodiscard]] Result<PrepareReply> decode_prepare_reply(std::string_view text);
[[nodiscard]] Result<CommitReply> decode_commit_reply(std::string_view text);
[[nodiscard]] Result<FollowFrame> decode_follow_frame(std::string_view text);
[[nodiscard]] Result<CancelReply> decode_cancel_reply(std::string_view text);
[[nodiscard]] Result<FetchReply> decode_fetch_reply(std::string_view text);
[[nodiscard]] Result<ReleaseReply> decode_release_reply(std::string_view text);
[[nodiscard]] Result<ListTracesReply> decode_list_traces_reply(std::string_view text);
[[nodiscard]] Result<DeleteTraceReply> decode_delete_trace_reply(std::string_view text);
[[nodiscard]] Result<DiagnoseReply> decode_diagnose_reply(std::string_view text);
[[nodiscard]] Result<SocketDirectoryReply> decode_socket_directory_reply(std::string_view text);
[[nodiscard]] Result<LogLevelReply> decode_log_level_reply(std::string_view text);
// nullopt-like: kind not_found when the text is no error reply.
[[nodiscard]] Result<ErrorReply> decode_error_reply(std::string_view text);

// Error codes of the wire and ErrorKind, both ways: to_string(kind), but invalid is "bad_request".
[[nodiscard]] ErrorReply to_error_reply(const Error& error);
[[nodiscard]] ErrorKind kind_of_code(std::string_view code);

}  // namespace dynolog::rpc
