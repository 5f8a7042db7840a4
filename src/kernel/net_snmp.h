// Parsers of the network stack's counters: /proc/net/snmp and netstat, snmp6, sockstat.
#pragma once

#include <optional>
#include <string_view>

#include "kernel/scan.h"

namespace dynolog {

// /proc/net/snmp and netstat: pairs of lines, "Tcp: RtoMin RtoMax ..." and "Tcp: 200 120000 ...".
// Calls `visit(protocol, field, std::optional<double>)`. A pair that does not match is passed over.
template <class Visit>
void for_each_snmp_field(std::string_view text, Visit&& visit) {
  std::string_view names;
  std::string_view values;
  while (take_line(text, names) && take_line(text, values)) {
    const std::size_t colon = names.find(':');
    if (colon == std::string_view::npos || !values.starts_with(names.substr(0, colon + 1))) {
      continue;
    }
    const std::string_view protocol = names.substr(0, colon);
    names.remove_prefix(colon + 1);
    values.remove_prefix(colon + 1);
    for (std::string_view name = take_word(names); !name.empty(); name = take_word(names)) {
      visit(protocol, name, take_value(values));
    }
  }
}

// /proc/net/snmp6: lines "Ip6InReceives  100": protocol "Ip6", field "InReceives".
template <class Visit>
void for_each_snmp6_field(std::string_view text, Visit&& visit) {
  std::string_view line;
  while (take_line(text, line)) {
    const std::string_view name = take_word(line);
    const std::size_t six = name.find('6');
    if (six == std::string_view::npos || six + 1 == name.size()) continue;
    visit(name.substr(0, six + 1), name.substr(six + 1), take_value(line));
  }
}

// /proc/net/sockstat and sockstat6: lines "TCP: inuse 1 orphan 0 ...".
template <class Visit>
void for_each_sockstat_field(std::string_view text, Visit&& visit) {
  std::string_view line;
  while (take_line(text, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view protocol = line.substr(0, colon);
    line.remove_prefix(colon + 1);
    for (std::string_view name = take_word(line); !name.empty(); name = take_word(line)) {
      visit(protocol, name, take_value(line));
    }
  }
}

}  // namespace dynolog
