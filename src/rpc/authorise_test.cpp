// Who may be known how, without a server.
#include "rpc/authorise.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace dynolog::rpc {
namespace {

using testing::HasSubstr;

class AuthoriseTest : public testing::Test {
 protected:
  AuthoriseTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }
  [[nodiscard]] Accepted accepted(Transport transport) const {
    return {.socket = ours_.get(), .transport = transport, .at = since_boot()};
  }

  UniqueFd ours_;
  UniqueFd theirs_;
  ServerOptions options_;
};

TEST_F(AuthoriseTest, AUnixPeerIsKnownByItsCredentials) {
  const auto proof = peer_proof(accepted(Transport::unix_socket), options_);
  ASSERT_TRUE(proof);
  EXPECT_EQ(std::get<UnixPeer>(*proof).pid.value, ::getpid());
  EXPECT_TRUE(confirm(accepted(Transport::unix_socket), *proof, Caller{}, options_));
}

TEST_F(AuthoriseTest, ARemotePeerCannotBeKnown) {
  options_.auth = RpcAuth::none;
  const auto proof = peer_proof(accepted(Transport::remote_tcp), options_);
  ASSERT_FALSE(proof);
  EXPECT_EQ(identity_error(proof.error()).code, "not_identified");
}

TEST_F(AuthoriseTest, ADeniedPeerIsDenied) {
  EXPECT_EQ(identity_error(Error{ErrorKind::denied, "x"}).code, "denied");
}

TEST_F(AuthoriseTest, AnotherProcessThanTheResolvedOneIsRefused) {
  const PeerProof other(UnixPeer{Uid{::getuid()}, Pid{::getpid() + 1}, UniqueFd()});
  const auto known = confirm(accepted(Transport::unix_socket), other, Caller{}, options_);
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().kind, ErrorKind::denied);
  EXPECT_THAT(known.error().message, HasSubstr("changed"));
}

}  // namespace
}  // namespace dynolog::rpc
