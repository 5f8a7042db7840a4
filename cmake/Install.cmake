# What `cmake --install` puts where.
include(GNUInstallDirs)
install(TARGETS dynolog RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS dyno RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
