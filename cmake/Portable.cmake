# Programs for many distributions: all but glibc and libgcc_s is linked into them.
#
# dynolog_find_library(TARGET HEADER header.h LIBRARY name [LIBRARY name]...): an imported target
#   for a library of the distribution that CMake has no module for. As with find_package() below, it
#   is the static one in a portable build.
# dynolog_libraries_of_headers(): fmt, spdlog and tomlplusplus, compiled from their headers.
option(DYNOLOG_PORTABLE "Link all but glibc and libgcc_s into the programs" OFF)
set(DYNOLOG_PORTABLE_GLIBC "2.34" CACHE STRING
    "Oldest glibc that portable programs run with; for older hosts one lies beside them")

if(DYNOLOG_PORTABLE)
  # For every find_library(), and so for find_package()'s modules.
  set(CMAKE_FIND_LIBRARY_SUFFIXES ".a")
  set(OPENSSL_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  # libgcc_s stays shared: the static one wants a newer glibc (_dl_find_object, 2.35).
  add_link_options(-static-libstdc++)
endif()

function(dynolog_find_library target)
  cmake_parse_arguments(ARG "" "HEADER" "LIBRARY" ${ARGN})
  string(MAKE_C_IDENTIFIER "${target}" id)
  find_path(DYNOLOG_${id}_INCLUDE "${ARG_HEADER}" REQUIRED)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE "${DYNOLOG_${id}_INCLUDE}")
  foreach(name ${ARG_LIBRARY})
    find_library(DYNOLOG_${id}_${name} "${name}" REQUIRED)
    target_link_libraries(${target} INTERFACE "${DYNOLOG_${id}_${name}}")
  endforeach()
endfunction()

# To those who use them the same as the shared libraries of the three, definitions included: so the
# compiler's cache serves this build and others. src/base and src/config make the libraries.
function(dynolog_libraries_of_headers)
  dynolog_find_library(fmt::fmt HEADER fmt/format.h)
  target_compile_definitions(fmt::fmt INTERFACE FMT_SHARED)
  target_link_libraries(fmt::fmt INTERFACE dynolog_fmt_spdlog)
  dynolog_find_library(spdlog::spdlog HEADER spdlog/spdlog.h)
  target_compile_definitions(spdlog::spdlog INTERFACE
    SPDLOG_SHARED_LIB SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
  target_link_libraries(spdlog::spdlog INTERFACE Threads::Threads fmt::fmt)
  dynolog_find_library(tomlplusplus::tomlplusplus HEADER toml++/toml.h)
  target_compile_options(tomlplusplus::tomlplusplus INTERFACE
    -DTOML_HEADER_ONLY=0 -DTOML_SHARED_LIB=1)
endfunction()

# dynolog_install_portable(): launchers, programs, and the C library for older hosts, which is the
# compiler's own: what programs link, and what libraries of a host that are loaded at run time may want besides.
set(DYNOLOG_LIBC_NEEDED libc.so.6 libm.so.6 libgcc_s.so.1 libpthread.so.0 libdl.so.2 librt.so.1
    libutil.so.1 libresolv.so.2 libnss_files.so.2 libnss_dns.so.2)
set(DYNOLOG_LIBC_OPTIONAL libmvec.so.1 libanl.so.1 libnss_compat.so.2)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(DYNOLOG_LOADER ld-linux-x86-64.so.2)
else()
  set(DYNOLOG_LOADER ld-linux-aarch64.so.1)
endif()

function(dynolog_libc_file out name)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${name}"
                  OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  # A name that it does not know comes back as it is.
  if(IS_ABSOLUTE "${path}")
    file(REAL_PATH "${path}" path)
    set(${out} "${path}" PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

# The layout is that of src/base/portable_layout.h.
function(dynolog_install_portable)
  install(TARGETS dynolog dyno RUNTIME DESTINATION lib/dynolog/programs COMPONENT dynolog)
  foreach(name dynolog dyno)
    install(PROGRAMS $<TARGET_FILE:launcher> DESTINATION bin RENAME ${name} COMPONENT dynolog)
  endforeach()
  foreach(name ${DYNOLOG_LOADER} ${DYNOLOG_LIBC_NEEDED} ${DYNOLOG_LIBC_OPTIONAL})
    dynolog_libc_file(path ${name})
    if(path)
      set(kind FILES)
      if(name STREQUAL DYNOLOG_LOADER)
        set(kind PROGRAMS)
      endif()
      install(${kind} "${path}" DESTINATION lib/dynolog/glibc RENAME ${name} COMPONENT dynolog)
    elseif(NOT name IN_LIST DYNOLOG_LIBC_OPTIONAL)
      message(FATAL_ERROR "A portable build carries ${name}, which ${CMAKE_CXX_COMPILER} lacks")
    endif()
  endforeach()
endfunction()
