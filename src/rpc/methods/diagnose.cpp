// diagnose: decoding, the service, the answer.
#include "rpc/methods/diagnose.h"

namespace dynolog::rpc {

void diagnose(const Request& request) {
  auto decoded = decode_diagnose_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.services.diagnosis.diagnose(request.caller, std::move(*decoded),
                                      reply_to<DiagnoseReply>(request.responder));
}

}  // namespace dynolog::rpc
