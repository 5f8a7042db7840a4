// A program that is nothing but the workers, for tests: dispatches --worker=... as the daemon does.
#include <string_view>

#include "base/system_root.h"
#include "net/child_process.h"
#include "workers/files_worker.h"
#include "workers/procs_worker.h"

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  const dynolog::SystemRoot root;
  if (kind == "--worker=procs") return dynolog::run_procs_worker(dynolog::kWorkerChannelFd, root);
  if (kind == "--worker=files") return dynolog::run_files_worker(dynolog::kWorkerChannelFd, root);
  return 2;
}
