# What `cmake --install` puts where.
include(GNUInstallDirs)
install(TARGETS dynolog dyno RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES docs/man/dyno.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
