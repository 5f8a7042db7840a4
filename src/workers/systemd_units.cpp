// systemd's interface on the bus, through its own library.
#include "workers/systemd_units.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <systemd/sd-bus.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text.h"

namespace dynolog {
namespace {

constexpr const char* kLibrary = "libsystemd.so.0";
constexpr const char* kService = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr const char* kServiceUnit = "org.freedesktop.systemd1.Service";
// A unit: name, description, load and active and sub state, followed, path, job and its type, path.
constexpr const char* kUnit = "(ssssssouso)";
constexpr std::uint64_t kPatienceUs = 1'500'000;
constexpr std::size_t kMaxWord = 64;

struct LibraryCloser {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, LibraryCloser>;

struct Calls {
  decltype(&::sd_bus_open_system) open_system = nullptr;
  decltype(&::sd_bus_set_method_call_timeout) set_timeout = nullptr;
  decltype(&::sd_bus_close_unref) close = nullptr;
  decltype(&::sd_bus_message_new_method_call) new_call = nullptr;
  decltype(&::sd_bus_message_append_strv) append_strings = nullptr;
  decltype(&::sd_bus_call) call = nullptr;
  decltype(&::sd_bus_message_enter_container) enter = nullptr;
  decltype(&::sd_bus_message_read) read = nullptr;
  decltype(&::sd_bus_message_unref) unref_message = nullptr;
  decltype(&::sd_bus_get_property_string) get_string = nullptr;
  decltype(&::sd_bus_error_free) free_error = nullptr;
};

template <class Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

bool find_all(void* library, Calls& calls) {
  return find(library, "sd_bus_open_system", calls.open_system) &&
         find(library, "sd_bus_set_method_call_timeout", calls.set_timeout) &&
         find(library, "sd_bus_close_unref", calls.close) &&
         find(library, "sd_bus_message_new_method_call", calls.new_call) &&
         find(library, "sd_bus_message_append_strv", calls.append_strings) &&
         find(library, "sd_bus_call", calls.call) &&
         find(library, "sd_bus_message_enter_container", calls.enter) &&
         find(library, "sd_bus_message_read", calls.read) &&
         find(library, "sd_bus_message_unref", calls.unref_message) &&
         find(library, "sd_bus_get_property_string", calls.get_string) &&
         find(library, "sd_bus_error_free", calls.free_error);
}

// One connection, for one question.
class Question {
 public:
  explicit Question(const Calls& calls) : calls_(calls) {}
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() {
    calls_.free_error(&error_);
    if (reply_ != nullptr) calls_.unref_message(reply_);
    if (call_ != nullptr) calls_.unref_message(call_);
    if (bus_ != nullptr) calls_.close(bus_);
  }

  Result<std::vector<UnitState>> ask(const std::vector<std::string>& names) {
    if (const int opened = calls_.open_system(&bus_); opened < 0) {
      return fail_errno(-opened, "the system bus");
    }
    calls_.set_timeout(bus_, kPatienceUs);
    if (const int done = list(names); done < 0) return problem(done);
    std::vector<UnitState> units;
    for (;;) {
      auto unit = next();
      if (!unit) return std::unexpected(std::move(unit.error()));
      if (!*unit) return units;
      if (units.size() < kMaxUnits) units.push_back(std::move(**unit));
    }
  }

 private:
  int list(const std::vector<std::string>& names) {
    std::vector<char*> strings;
    for (const std::string& name : names) strings.push_back(const_cast<char*>(name.c_str()));
    strings.push_back(nullptr);
    int done = calls_.new_call(bus_, &call_, kService, kManagerPath, kManager, "ListUnitsByNames");
    if (done >= 0) done = calls_.append_strings(call_, strings.data());
    if (done >= 0) done = calls_.call(bus_, call_, 0, &error_, &reply_);
    if (done >= 0) done = calls_.enter(reply_, SD_BUS_TYPE_ARRAY, kUnit);
    return done;
  }

  // nullopt after the last one.
  Result<std::optional<UnitState>> next() {
    const char* name = nullptr;
    const char* load = nullptr;
    const char* state = nullptr;
    const char* path = nullptr;
    const char* ignored = nullptr;
    std::uint32_t job = 0;
    const int got = calls_.read(reply_, kUnit, &name, &ignored, &load, &state, &ignored, &ignored,
                                &path, &job, &ignored, &ignored);
    if (got < 0) return problem(got);
    if (got == 0) return std::nullopt;
    UnitState unit{.name = clean_text(name, kMaxUnitName),
                   .load = clean_text(load, kMaxWord),
                   .state = clean_text(state, kMaxWord),
                   .type = {}};
    if (unit.load == "loaded" && unit.name.ends_with(".service")) unit.type = type_of(path);
    return unit;
  }

  // A unit may be gone by now: it has no type then.
  std::string type_of(const char* path) {
    char* type = nullptr;
    sd_bus_error error{};
    const int got = calls_.get_string(bus_, kService, path, kServiceUnit, "Type", &error, &type);
    calls_.free_error(&error);
    const std::unique_ptr<char, decltype(&std::free)> owned(type, std::free);
    return got < 0 || type == nullptr ? std::string() : clean_text(type, kMaxWord);
  }

  std::unexpected<Error> problem(int result) const {
    if (error_.message == nullptr) return fail_errno(-result, "asking systemd for its units");
    return fail_errno(
        -result, fmt::format("asking systemd for its units: {}", clean_text(error_.message, 512)));
  }

  const Calls& calls_;
  sd_bus* bus_ = nullptr;
  sd_bus_message* call_ = nullptr;
  sd_bus_message* reply_ = nullptr;
  sd_bus_error error_{};
};

class OverTheBus final : public SystemdUnits {
 public:
  Result<std::vector<UnitState>> read(const std::vector<std::string>& names) override {
    if (auto loaded = load(); !loaded) return std::unexpected(std::move(loaded.error()));
    return Question(calls_).ask(names);
  }

 private:
  Status load() {
    if (library_) return {};
    Library library(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL));
    if (!library || !find_all(library.get(), calls_)) {
      const char* why = ::dlerror();
      return fail(ErrorKind::unavailable,
                  fmt::format("systemd cannot be asked for its units: {}; install libsystemd0",
                              why == nullptr ? kLibrary : why));
    }
    library_ = std::move(library);
    return {};
  }

  Library library_;
  Calls calls_;
};

}  // namespace

std::shared_ptr<SystemdUnits> SystemdUnits::make() { return std::make_shared<OverTheBus>(); }

}  // namespace dynolog
