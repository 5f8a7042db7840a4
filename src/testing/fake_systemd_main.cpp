// `fake-systemd FILE`: what systemd is on a bus, as far as it is asked for units. Each line of
// FILE, which is read for each question, is a unit: its name, load state, active state, type.
#include <systemd/sd-bus.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr const char* kUnits = "/org/freedesktop/systemd1/unit";

struct Unit {
  std::string name;
  std::string load = "not-found";
  std::string state = "inactive";
  std::string type;
};

Unit unit_of(const std::string& file, const std::string& name) {
  std::ifstream lines(file);
  Unit unit;
  while (lines >> unit.name >> unit.load >> unit.state >> unit.type) {
    if (unit.name == name) return unit;
  }
  Unit missing;
  missing.name = name;
  return missing;
}

using Text = std::unique_ptr<char, decltype(&std::free)>;

int append(sd_bus_message* reply, const Unit& unit) {
  char* path = nullptr;
  sd_bus_path_encode(kUnits, unit.name.c_str(), &path);
  const Text owned(path, std::free);
  return sd_bus_message_append(reply, "(ssssssouso)", unit.name.c_str(), "A unit",
                               unit.load.c_str(), unit.state.c_str(), "sub", "", path, 0U, "", "/");
}

int list(sd_bus_message* call, const std::string& file) {
  char** names = nullptr;
  int done = sd_bus_message_read_strv(call, &names);
  sd_bus_message* reply = nullptr;
  if (done >= 0) done = sd_bus_message_new_method_return(call, &reply);
  if (done >= 0) done = sd_bus_message_open_container(reply, SD_BUS_TYPE_ARRAY, "(ssssssouso)");
  for (char** name = names; name != nullptr && *name != nullptr; ++name) {
    if (done >= 0) done = append(reply, unit_of(file, *name));
    std::free(*name);
  }
  std::free(names);
  if (done >= 0) done = sd_bus_message_close_container(reply);
  if (done >= 0) done = sd_bus_send(nullptr, reply, nullptr);
  sd_bus_message_unref(reply);
  return done;
}

int say_type(sd_bus_message* call, const std::string& file) {
  char* name = nullptr;
  if (sd_bus_path_decode(sd_bus_message_get_path(call), kUnits, &name) <= 0) return 0;
  const Text owned(name, std::free);
  return sd_bus_reply_method_return(call, "v", "s", unit_of(file, name).type.c_str());
}

int answer(sd_bus_message* call, void* file_path, sd_bus_error*) {
  const std::string& file = *static_cast<std::string*>(file_path);
  if (sd_bus_message_is_method_call(call, "org.freedesktop.systemd1.Manager", "ListUnitsByNames") >
      0) {
    return list(call, file);
  }
  if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Get") > 0) {
    return say_type(call, file);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string file = argv[1];
  sd_bus* bus = nullptr;
  int done = sd_bus_open_system(&bus);
  if (done >= 0) {
    done = sd_bus_add_fallback(bus, nullptr, "/org/freedesktop/systemd1", answer, &file);
  }
  if (done >= 0) done = sd_bus_request_name(bus, "org.freedesktop.systemd1", 0);
  if (done >= 0) std::puts("ready");
  std::fflush(stdout);
  while (done >= 0) {
    done = sd_bus_process(bus, nullptr);
    if (done == 0) done = sd_bus_wait(bus, UINT64_MAX);
  }
  sd_bus_unref(bus);
  return 1;
}
