// One poll, one decision, at most one datagram.
#include "ipc/kineto_answers.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

namespace dynolog {
namespace {

// When it is looked whether a configuration was read: a client takes it within 10 ms when all is
// well, and stops waiting after 90.
constexpr std::array<Milliseconds, 4> kChecks = {Milliseconds(20), Milliseconds(20),
                                                 Milliseconds(40), Milliseconds(70)};
constexpr std::size_t kHeader = 40;
constexpr int kAnswersBetweenLooks = 10;
// A little less than the second in which a client asks again: of a slow one each poll is told.
constexpr Nanoseconds kBetweenUnanswered = Milliseconds(900);

}  // namespace

KinetoAnswers::KinetoAnswers(std::size_t limit, const SystemRoot& root, const Clock& clock,
                             KinetoTally& tally, Emit emit)
    : root_(root), clock_(clock), tally_(tally), emit_(std::move(emit)), mailbox_(limit) {}

void KinetoAnswers::put(Mailbox::Item item) {
  KinetoNotHandedOver refusal{.key = item.key,
                              .trace_id = item.request.trace_id,
                              .why = KinetoNotHandedOver::Why::busy,
                              .time = clock_.monotonic()};
  if (!mailbox_.put(std::move(item))) emit_(std::move(refusal));
}

void KinetoAnswers::withdraw(const ProcessKey& key, const std::string& trace_id) {
  const bool withdrawn = mailbox_.withdraw(key, trace_id);
  emit_(KinetoWithdrawn{.key = key, .trace_id = trace_id, .withdrawn = withdrawn});
}

bool KinetoAnswers::is_late(std::optional<WallTime> queued, WallTime now) {
  if (!queued || now - *queued <= kLate) return false;
  ++tally_.late;
  return true;
}

bool KinetoAnswers::may_answer(KinetoClient& client, std::optional<WallTime> queued, WallTime now,
                               MonotonicTime monotonic) {
  if (is_late(queued, now)) return false;
  // Between the kernel's stamps, not between our readings: two polls that waited for us together
  // may have been sent seconds apart.
  if (queued && client.last_answered && *queued >= *client.last_answered &&
      *queued - *client.last_answered < kDoubled) {
    ++tally_.doubled;
    return false;
  }
  if (has_unread_reply(client)) {
    ++tally_.behind;
    if (client.unread) {
      client.unread->checks = 0;
      client.unread->polled_since = true;
      if (!client.unread->check_due) schedule(client, monotonic);
    }
    return false;
  }
  return true;
}

void KinetoAnswers::refuse(const Mailbox::Item& item, KinetoNotHandedOver::Why why, Offer& offer,
                           MonotonicTime now) {
  offer.text.reset();
  offer.refusal = KinetoNotHandedOver{
      .key = item.key, .trace_id = item.request.trace_id, .why = why, .time = now};
  mailbox_.remove(item.key.pid);
}

KinetoAnswers::Offer KinetoAnswers::offer(KinetoClient& client, const KinetoPoll& poll,
                                          WallTime wall, MonotonicTime now) {
  using Why = KinetoNotHandedOver::Why;
  Offer offer;
  const Mailbox::Item* item = mailbox_.find(client.key.pid);
  if (item == nullptr) return offer;
  if (item->key != client.key) {
    refuse(*item, Why::identity_changed, offer, now);
    return offer;
  }
  if (!poll.idle) {
    refuse(*item, Why::busy, offer, now);
    return offer;
  }
  const auto identity = read_identity(root_, client.key.pid, client.pidfd.get());
  if (!identity && identity.error().kind != ErrorKind::denied) return offer;  // it keeps waiting
  if (identity) client.uid = identity->uid;
  if (!identity || identity->uid != item->uid || identity->start_ticks != item->key.start_ticks) {
    refuse(*item, Why::identity_changed, offer, now);
    return offer;
  }
  offer.text = handed_over_text(item->request, wall);
  if (offer.text->size() + kHeader > kMaxKinetoReply) refuse(*item, Why::too_large, offer, now);
  return offer;
}

// 0, or the errno.
int KinetoAnswers::send(const KinetoClient& client, std::string_view datagram) {
  const ssize_t sent =
      ::send(client.reply.fd.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? errno : 0;
}

void KinetoAnswers::on_poll(KinetoClient& client, const KinetoPoll& poll,
                            std::optional<WallTime> queued) {
  const MonotonicTime now = clock_.monotonic();
  const WallTime wall = clock_.wall();
  ++tally_.polls;
  client.polled = true;
  KinetoPolled polled{.key = client.key,
                      .uid = client.uid,
                      .endpoint = client.endpoint->label(),
                      .idle = poll.idle,
                      .claimed_job = poll.job,
                      .claimed_pids = poll.pids,
                      .time = now,
                      .wall = wall,
                      .answered = false};
  if (!may_answer(client, queued, wall, now)) {
    tell_unanswered(client, std::move(polled));
    return;
  }
  if (client.unread) settle(client, true, now);
  Offer offered = offer(client, poll, wall, now);
  int error = send(client, encode_kineto_reply(offered.text.value_or("")));
  if (error == EMSGSIZE && offered.text) {
    refuse(*mailbox_.find(client.key.pid), KinetoNotHandedOver::Why::too_large, offered, now);
    error = send(client, encode_kineto_reply(""));
  }
  look_at_user(client);
  polled.uid = client.uid;
  polled.answered = error == 0;
  ++(error == 0 ? tally_.answered : tally_.reply_failed);
  if (error == 0) client.last_answered = queued.value_or(wall);
  // An address that is gone may come back under the same name: connect anew at the next poll.
  if (error == ECONNREFUSED) client.reply.sender.clear();
  if (polled.answered) {
    tell(client, std::move(polled));
  } else {
    tell_unanswered(client, std::move(polled));
  }
  if (offered.refusal) emit_(std::move(*offered.refusal));
  if (offered.text && error == 0) handed_over(client, wall, now);
}

void KinetoAnswers::look_at_user(KinetoClient& client) {
  if (--client.until_looked > 0) return;
  const bool first = client.until_looked < 0;  // it was read a moment ago, at the admission
  client.until_looked = kAnswersBetweenLooks;
  if (first) return;
  const auto identity = read_identity(root_, client.key.pid, client.pidfd.get());
  if (identity) client.uid = identity->uid;
}

void KinetoAnswers::tell(KinetoClient& client, KinetoPolled polled) {
  if (client.newcomer) {
    client.untold = std::make_unique<KinetoPolled>(std::move(polled));
  } else {
    emit_(std::move(polled));
  }
}

void KinetoAnswers::on_known(KinetoClient& client) {
  if (!client.untold) return;
  client.untold->key = client.key;
  emit_(std::move(*client.untold));
  client.untold.reset();
}

// A flooder's are not for the event loop.
void KinetoAnswers::tell_unanswered(KinetoClient& client, KinetoPolled polled) {
  if (client.told_unanswered && polled.time - *client.told_unanswered < kBetweenUnanswered) return;
  client.told_unanswered = polled.time;
  tell(client, std::move(polled));
}

void KinetoAnswers::handed_over(KinetoClient& client, WallTime wall, MonotonicTime now) {
  const Mailbox::Item* item = mailbox_.find(client.key.pid);
  KinetoHandedOver event{.key = client.key,
                         .trace_id = item->request.trace_id,
                         .start = item->request.asked_start,
                         .time = now,
                         .wall = wall};
  if (item->request.start_lead) {
    // The text carries whole milliseconds.
    event.start = std::chrono::floor<Milliseconds>(wall + *item->request.start_lead);
  }
  client.unread = KinetoClient::Unread{.trace_id = item->request.trace_id};
  mailbox_.remove(client.key.pid);
  schedule(client, now);
  emit_(std::move(event));
}

void KinetoAnswers::on_context(KinetoClient& client, std::size_t clients,
                               std::optional<WallTime> queued) {
  ++tally_.contexts;
  if (is_late(queued, clock_.wall())) return;
  if (has_unread_reply(client)) {
    ++tally_.behind;
    return;
  }
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto count = static_cast<std::int32_t>(std::min(clients, kMost));
  if (send(client, encode_kineto_context_reply(count)) != 0) ++tally_.reply_failed;
}

void KinetoAnswers::on_end(KinetoClient& client) {
  const Mailbox::Item* item = mailbox_.find(client.key.pid);
  if (item != nullptr && item->key == client.key) mailbox_.remove(client.key.pid);
  if (client.polled) emit_(KinetoEnded{.key = client.key});
}

void KinetoAnswers::on_move(KinetoClient& client) {
  if (!client.unread) return;
  // Whoever asks from the new socket has not read what lies in the old one.
  settle(client, false, clock_.monotonic());
  client.unread.reset();
}

void KinetoAnswers::schedule(KinetoClient& client, MonotonicTime now) {
  checks_.emplace(now + kChecks.at(client.unread->checks), client.key);
  client.unread->check_due = true;
}

void KinetoAnswers::settle(KinetoClient& client, bool read, MonotonicTime now) {
  if (!read && std::exchange(client.unread->reported, true)) return;
  emit_(KinetoReceipt{
      .key = client.key, .trace_id = client.unread->trace_id, .read = read, .time = now});
  if (read) client.unread.reset();
}

void KinetoAnswers::on_time(KinetoClients& clients) {
  const MonotonicTime now = clock_.monotonic();
  while (!checks_.empty() && checks_.begin()->first <= now) {
    const ProcessKey key = checks_.begin()->second;
    checks_.erase(checks_.begin());
    KinetoClient* client = clients.find(key.pid);
    if (client == nullptr || client->key != key || !client->unread) continue;
    client->unread->check_due = false;
    // A dead process's queue is empty too: that is no receipt.
    if (has_ended(client->pidfd.get())) continue;
    if (!has_unread_reply(*client)) {
      settle(*client, true, now);
    } else if (++client->unread->checks < kChecks.size()) {
      schedule(*client, now);
    } else if (client->unread->polled_since) {
      settle(*client, false, now);
    }
  }
}

std::optional<MonotonicTime> KinetoAnswers::next_due() const {
  if (checks_.empty()) return std::nullopt;
  return checks_.begin()->first;
}

}  // namespace dynolog
