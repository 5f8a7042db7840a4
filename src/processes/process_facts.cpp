// What stays of a process's facts when it is read again.
#include "processes/process_facts.h"

#include <utility>

namespace dynolog {
namespace {

bool read_less(const ProcessFacts& fresh, const ProcessFacts& known) {
  if (fresh.complete) return false;
  return known.complete || (known.descriptors_read && !fresh.descriptors_read) ||
         (known.environment_read && !fresh.environment_read) ||
         (known.mapped_files_read && !fresh.mapped_files_read);
}

}  // namespace

ProcessFacts renewed(const ProcessFacts& known, ProcessFacts fresh) {
  const bool same_tenant = fresh.uid == known.uid && fresh.container == known.container;
  if (!same_tenant || !read_less(fresh, known)) return fresh;
  ProcessFacts kept = known;
  kept.namespace_pid = fresh.namespace_pid;
  kept.parent = fresh.parent;
  kept.ancestors = std::move(fresh.ancestors);
  kept.thread_name = std::move(fresh.thread_name);
  return kept;
}

}  // namespace dynolog
