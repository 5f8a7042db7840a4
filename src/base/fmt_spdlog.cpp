// fmt and spdlog as part of the programs, for portable builds: distributions have only shared
// libraries of the two. Their headers hold all of their code, as inline functions that the compiler
// is told to keep (-fkeep-inline-functions); other files are compiled as for the shared ones.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <locale>
#include <mutex>

// Templates that the shared libraries hold for their users.
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template class spdlog::sinks::base_sink<std::mutex>;
template class spdlog::sinks::stdout_sink_base<spdlog::details::console_mutex>;
template class spdlog::sinks::stderr_sink<spdlog::details::console_mutex>;
