# DYNOLOG_PCH: the standard library, and GoogleTest for tests, are parsed once and not for each file:
# a build from nothing takes some 40 % less. Off for developers: a file has to include what it uses,
# and ccache shares objects between checkouts only without it.
option(DYNOLOG_PCH "Precompile the headers of the standard library and of GoogleTest (gcc)" OFF)
if(NOT DYNOLOG_PCH OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  function(dynolog_precompile target kind)
  endfunction()
  return()
endif()

# For ccache; without these it takes no file that has a precompiled header.
add_compile_options(-fpch-preprocess)

set(dynolog_standard_headers
  <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <deque> <expected> <functional> <map>
  <memory> <optional> <ranges> <set> <span> <string> <string_view> <system_error> <thread> <tuple>
  <unordered_map> <utility> <variant> <vector>)

# One empty library of each kind, whose header the others use.
file(WRITE "${CMAKE_BINARY_DIR}/precompiled.cpp.new" "// Nothing: the header is what counts.\n")
file(COPY_FILE "${CMAKE_BINARY_DIR}/precompiled.cpp.new" "${CMAKE_BINARY_DIR}/precompiled.cpp"
     ONLY_IF_DIFFERENT)
add_library(dynolog_precompiled_library OBJECT "${CMAKE_BINARY_DIR}/precompiled.cpp")
target_precompile_headers(dynolog_precompiled_library PRIVATE ${dynolog_standard_headers})
if(DYNOLOG_BUILD_TESTS)
  add_library(dynolog_precompiled_test OBJECT "${CMAKE_BINARY_DIR}/precompiled.cpp")
  target_link_libraries(dynolog_precompiled_test PRIVATE GTest::gmock)
  target_precompile_headers(dynolog_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>
    ${dynolog_standard_headers})
endif()

# dynolog_precompile(TARGET library|test)
function(dynolog_precompile target kind)
  target_precompile_headers(${target} REUSE_FROM dynolog_precompiled_${kind})
endfunction()
