# Cross-building for arm64 on Debian, amd64: its cross compiler, and the libraries' arm64 packages as
# scripts/package unpacks them (nothing of them is installed).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(DYNOLOG_CROSS_ROOT "${CMAKE_CURRENT_LIST_DIR}/../../build/packages-arm64" CACHE PATH
    "Where the libraries' arm64 packages are unpacked")
get_filename_component(DYNOLOG_CROSS_ROOT "${DYNOLOG_CROSS_ROOT}" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${DYNOLOG_CROSS_ROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# OpenSSL has one header for each processor. The C library's headers are the compiler's own.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES
    "${DYNOLOG_CROSS_ROOT}/usr/include/aarch64-linux-gnu")

# dyno writes its completions itself, when it is installed.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
