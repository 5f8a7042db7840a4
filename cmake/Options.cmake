# Build options and the compiler flags that every target shares.
option(DYNOLOG_BUILD_TESTS "Build unit tests" ON)
option(DYNOLOG_BUILD_BENCH "Build benchmarks" OFF)
option(DYNOLOG_BUILD_FUZZERS "Build libFuzzer targets (clang only)" OFF)
option(DYNOLOG_WERROR "Treat warnings as errors" OFF)
set(DYNOLOG_SANITIZE "" CACHE STRING "Value for -fsanitize=, or empty")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(DYNOLOG_CCACHE ccache)
if(DYNOLOG_CCACHE)
  # base_dir and hash_dir let several build folders of one checkout share the cache; the sloppiness is
  # for precompiled headers (DYNOLOG_PCH).
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros
      ${DYNOLOG_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor)
if(DYNOLOG_WERROR)
  add_compile_options(-Werror)
endif()
if(DYNOLOG_SANITIZE)
  add_compile_options(-fsanitize=${DYNOLOG_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DYNOLOG_SANITIZE})
  if(DYNOLOG_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
    # The vptr check opens a pipe to look at an object of a new kind, and reports a sound one where no
    # descriptor is left: which is what some tests bring about.
    add_compile_options(-fno-sanitize=vptr)
  endif()
  if(DYNOLOG_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio uses fences, which gcc's tsan warns that it does not model.
    add_compile_options(-Wno-tsan)
  endif()
else()
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections)
endif()
if(DYNOLOG_BUILD_FUZZERS)
  # Coverage for libFuzzer in the libraries too; the targets alone link its main().
  add_compile_options(-fsanitize=fuzzer-no-link)
  # RapidJSON's stack adds to a null pointer; clang's check, unlike gcc's, sees that.
  add_compile_options(-fno-sanitize=pointer-overflow)
endif()
add_compile_definitions(_GNU_SOURCE)
