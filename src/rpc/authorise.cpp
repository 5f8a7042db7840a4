// Proofs of identity by transport and options.
#include "rpc/authorise.h"

#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "rpc/protocol/codec.h"

namespace dynolog::rpc {
namespace {

std::unexpected<Error> root_over_tcp() {
  return fail(ErrorKind::denied,
              "root is not accepted over TCP here (--rpc_loopback_root is off): use the unix "
              "socket, as dyno does when neither --host nor --port is given");
}

UnixPinning pinning(const Accepted& connection, const ServerOptions& options) {
  return {.accepted = connection.at, .by_kernel = options.pin_by_kernel};
}

}  // namespace

Result<PeerProof> peer_proof(const Accepted& connection, const ServerOptions& options) {
  switch (connection.transport) {
    case Transport::unix_socket: {
      auto peer = unix_peer(connection.socket, pinning(connection, options));
      if (!peer) return std::unexpected(std::move(peer.error()));
      return PeerProof(std::move(*peer));
    }
    case Transport::loopback_tcp: {
      if (!options.loopback_identity) {
        return fail(ErrorKind::unavailable,
                    "callers over TCP are not known here (--rpc_loopback_identity is off): use "
                    "the unix socket");
      }
      const auto peer = loopback_tcp_peer(connection.socket);
      if (!peer) return std::unexpected(peer.error());
      if (peer->uid == kRootUid && !options.loopback_root) return root_over_tcp();
      return PeerProof(*peer);
    }
    case Transport::remote_tcp:
      break;
  }
  return fail(ErrorKind::unavailable,
              "callers from other hosts are not known to this daemon (--rpc_auth=none), and this "
              "call acts on a user's behalf: run it on the host itself");
}

std::optional<Uid> accountable_peer(const Accepted& connection, const ServerOptions& options) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(connection.socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return std::nullopt;
  }
  const Uid uid{credentials.uid};
  if (uid == kRootUid || uid == Uid{::geteuid()}) return uid;  // these no namespace can pretend
  const auto peer = unix_peer(connection.socket, pinning(connection, options));
  if (peer) return accountable_uid(peer->pid, peer->uid, peer->pidfd.get());
  // Without a descriptor to look with, as they say; a flooder must not make others nobody's.
  return peer.error().kind == ErrorKind::denied ? std::nullopt : std::optional(uid);
}

void resolve(CallerResolver& resolver, const PeerProof& proof,
             std::function<void(Result<Caller>)> done) {
  if (const auto* peer = std::get_if<UnixPeer>(&proof)) {
    // confirm() says later whether it was still the peer that was looked at here.
    const bool foreign = accountable_uid(peer->pid, peer->uid, peer->pidfd.get()) != peer->uid;
    resolver.resolve_unix(*peer, [foreign, done = std::move(done)](Result<Caller> caller) {
      if (caller) caller->in_foreign_user_namespace = foreign;
      done(std::move(caller));
    });
  } else {
    resolver.resolve_tcp(std::get<TcpPeer>(proof), std::move(done));
  }
}

Status confirm(const Accepted& connection, const PeerProof& proof, const Caller& caller,
               const ServerOptions& options) {
  if (const auto* before = std::get_if<UnixPeer>(&proof)) {
    // An error when the process has ended meanwhile.
    const auto now = unix_peer(connection.socket, pinning(connection, options));
    if (!now) return std::unexpected(now.error());
    if (now->uid != before->uid || now->pid != before->pid) {
      return fail(ErrorKind::denied, "the caller has changed while it was looked up");
    }
    return {};
  }
  const auto now = loopback_tcp_peer(connection.socket);
  if (!now) return std::unexpected(now.error());
  if (*now != std::get<TcpPeer>(proof)) {
    return fail(ErrorKind::denied, "the caller's socket has changed while it was looked up");
  }
  const bool root = caller.host_root || caller.tenant.uid == kRootUid;
  if (root && !options.loopback_root) return root_over_tcp();
  return {};
}

ErrorReply identity_error(const Error& error) {
  if (error.kind == ErrorKind::unavailable) return {"not_identified", error.message};
  return to_error_reply(error);
}

}  // namespace dynolog::rpc
