# What `cmake --install` puts where: all of it is component dynolog.
include(GNUInstallDirs)

set(DYNOLOG_ZSH_COMPLETION_DIR "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING
    "Where zsh finds completions (Debian's packages: share/zsh/vendor-completions)")
set(DYNOLOG_UNIT_PREFIX "" CACHE PATH
    "Prefix that the unit file names, where it is not the install prefix (tarballs)")

if(DYNOLOG_PORTABLE)
  dynolog_install_portable()
else()
  install(TARGETS dynolog dyno RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dynolog)
endif()
install(FILES docs/man/dyno.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT dynolog)
install(FILES docs/man/dynolog.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT dynolog)
# As in the source tree: README.md's links lead to the others.
install(FILES README.md CHANGELOG.md SECURITY.md ARCHITECTURE.md CONTRIBUTING.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dynolog)
file(GLOB DYNOLOG_PAGES CONFIGURE_DEPENDS docs/*.md)
install(FILES ${DYNOLOG_PAGES} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT dynolog)
install(FILES packaging/deb/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dynolog)

# systemd finds these below /usr/lib and /usr/local/lib, whatever the distribution's libdir is.
install(FILES packaging/systemd/tmpfiles.conf DESTINATION lib/tmpfiles.d RENAME dynolog.conf
        COMPONENT dynolog)
install(FILES packaging/systemd/sysusers.conf DESTINATION lib/sysusers.d RENAME dynolog.conf
        COMPONENT dynolog)
install(FILES packaging/systemd/unprivileged-tmpfiles.conf
        DESTINATION ${CMAKE_INSTALL_DATADIR}/dynolog/unprivileged RENAME tmpfiles.conf
        COMPONENT dynolog)
install(FILES packaging/containers/enroot/50-dynolog.fstab
        DESTINATION ${CMAKE_INSTALL_DATADIR}/dynolog/enroot COMPONENT dynolog)
install(PROGRAMS packaging/containers/enroot/50-dynolog.sh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/dynolog/enroot COMPONENT dynolog)
install(FILES packaging/containers/apptainer/dynolog.conf
        DESTINATION ${CMAKE_INSTALL_DATADIR}/dynolog/apptainer COMPONENT dynolog)
install(PROGRAMS packaging/containers/slurm/task-prolog
        DESTINATION ${CMAKE_INSTALL_DATADIR}/dynolog/slurm COMPONENT dynolog)

# A tarball carries what puts it onto a host.
install(PROGRAMS packaging/install.sh DESTINATION . COMPONENT tarball EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION . COMPONENT tarball EXCLUDE_FROM_ALL)

# What depends on the prefix of the installation, which `cmake --install --prefix` may still change.
install(CODE "
  set(dynolog_source \"${CMAKE_SOURCE_DIR}\")
  set(dynolog_binary \"${CMAKE_BINARY_DIR}\")
  set(dynolog_dyno \"$<TARGET_FILE:dyno>\")
  set(dynolog_emulator \"${CMAKE_CROSSCOMPILING_EMULATOR}\")
  set(dynolog_bindir \"${CMAKE_INSTALL_BINDIR}\")
  set(dynolog_datadir \"${CMAKE_INSTALL_DATADIR}\")
  set(dynolog_sysconfdir \"${CMAKE_INSTALL_SYSCONFDIR}\")
  set(dynolog_zsh \"${DYNOLOG_ZSH_COMPLETION_DIR}\")
  set(dynolog_unit_prefix \"${DYNOLOG_UNIT_PREFIX}\")
" COMPONENT dynolog)
install(SCRIPT "${CMAKE_SOURCE_DIR}/cmake/install_configured.cmake" COMPONENT dynolog)
