// What the daemon says about itself and about the processes it knows.
#include "rpc/methods/host.h"

namespace dynolog::rpc {

void daemon_status(const Request& request) {
  request.responder->answer(encode(request.services.status.status()));
}

void list_processes(const Request& request) {
  request.responder->answer(encode(request.services.processes.list(request.caller)));
}

void socket_directory(const Request& request) {
  request.services.processes.socket_directory(request.caller,
                                              reply_to<SocketDirectoryReply>(request.responder));
}

}  // namespace dynolog::rpc
