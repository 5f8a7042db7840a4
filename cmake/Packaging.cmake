# `cpack` makes the Debian package. scripts/package does so with a fixed date, so that the same source
# gives the same bytes; it makes the tarball without cpack, which would name whoever builds it.
set(DYNOLOG_PACKAGE_MAINTAINER "The Dynolog authors <dynolog@localhost>" CACHE STRING
    "Maintainer that packages name: whoever builds them")

set(CPACK_PACKAGE_NAME "dynolog")
set(CPACK_PACKAGE_VENDOR "The Dynolog authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Telemetry and PyTorch profiling daemon for GPU clusters")
set(CPACK_PACKAGE_DESCRIPTION
    "dynolog is a daemon, one on each host: it watches the host and, on request,
puts running PyTorch jobs into profiling mode without a change to their code.
dyno is the command that people type; it waits for the traces, checks them and
brings them to where they were asked for.")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};dynolog;dynolog;/")
set(CPACK_GENERATOR "DEB")

set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${DYNOLOG_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION "admin")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE "xz")
# systemctl, sysusers and tmpfiles; containers do without, see packaging/deb/postinst.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "systemd")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    "${CMAKE_SOURCE_DIR}/packaging/deb/conffiles" "${CMAKE_SOURCE_DIR}/packaging/deb/postinst"
    "${CMAKE_SOURCE_DIR}/packaging/deb/postrm" "${CMAKE_SOURCE_DIR}/packaging/deb/prerm")

set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/finish_staging.cmake")
include(CPack)
