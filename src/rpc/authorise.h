// The one place that decides whether, and by what proof, a caller is known. Later kinds of
// authentication (munge, mutual TLS) are further proofs here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include "base/error.h"
#include "net/peer_identity.h"
#include "processes/identity.h"
#include "rpc/caller_resolver.h"
#include "rpc/options.h"
#include "rpc/protocol/messages.h"

namespace dynolog::rpc {

enum class Transport : std::uint8_t { unix_socket, loopback_tcp, remote_tcp };

// An accepted connection.
struct Accepted {
  int socket = -1;
  Transport transport = Transport::unix_socket;
  Nanoseconds at{};  // since_boot()
};

// What the kernel says of the peer, before anybody has looked at the process behind it.
using PeerProof = std::variant<UnixPeer, TcpPeer>;

// From the socket, when a request that needs an identity is complete. An error of kind unavailable:
// this kind of caller cannot be known here; denied: this caller cannot.
[[nodiscard]] Result<PeerProof> peer_proof(const Accepted& connection,
                                           const ServerOptions& options);

// Whom limits on unix connections count; nullopt when nobody can say, as of a process that has
// ended: then its socket is held by others, and its user namespace is not known.
[[nodiscard]] std::optional<Uid> accountable_peer(const Accepted& connection,
                                                  const ServerOptions& options);

void resolve(CallerResolver& resolver, const PeerProof& proof,
             std::function<void(Result<Caller>)> done);

// Right before the method acts: the peer still holds its socket, and is still the one that was
// resolved.
[[nodiscard]] Status confirm(const Accepted& connection, const PeerProof& proof,
                             const Caller& caller, const ServerOptions& options);

// "not_identified" where the caller cannot be known, else by the error's kind.
[[nodiscard]] ErrorReply identity_error(const Error& error);

}  // namespace dynolog::rpc
