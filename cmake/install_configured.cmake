# Run by `cmake --install`: files that name the prefix, completions (which `dyno` writes itself),
# and configuration, which never replaces what is there. Variables dynolog_* come from
# Install.cmake.
set(made "${dynolog_binary}/packaging")

function(dynolog_under_prefix out directory)
  if(IS_ABSOLUTE "${directory}")
    set(${out} "${directory}" PARENT_SCOPE)
  else()
    set(${out} "${CMAKE_INSTALL_PREFIX}/${directory}" PARENT_SCOPE)
  endif()
endfunction()

# /etc is nobody's prefix: it belongs to / and /usr alike.
function(dynolog_configuration_directory out)
  if(NOT IS_ABSOLUTE "${dynolog_sysconfdir}" AND CMAKE_INSTALL_PREFIX MATCHES "^/(usr/?)?$")
    set(${out} "/${dynolog_sysconfdir}" PARENT_SCOPE)
  else()
    dynolog_under_prefix(directory "${dynolog_sysconfdir}")
    set(${out} "${directory}" PARENT_SCOPE)
  endif()
endfunction()

function(dynolog_install_unit)
  set(dynolog "${bindir}/dynolog")
  set(sysconfdir "${configuration}")
  if(NOT configuration STREQUAL "/etc")
    # The daemon looks in /etc by itself.
    string(APPEND dynolog " --config=${configuration}/dynolog/dynolog.toml")
  endif()
  configure_file("${dynolog_source}/packaging/systemd/dynolog.service.in"
                 "${made}/dynolog.service" @ONLY)
  set(dynolog "${bindir}/dynolog")
  configure_file("${dynolog_source}/packaging/systemd/unprivileged.conf.in"
                 "${made}/service.conf" @ONLY)
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/system" TYPE FILE
       FILES "${made}/dynolog.service")
  file(INSTALL DESTINATION "${data}/dynolog/unprivileged" TYPE FILE FILES "${made}/service.conf")
endfunction()

function(dynolog_install_completion shell directory name)
  execute_process(COMMAND ${dynolog_emulator} "${dynolog_dyno}" completion ${shell}
                  OUTPUT_FILE "${made}/${name}" COMMAND_ERROR_IS_FATAL ANY)
  dynolog_under_prefix(directory "${directory}")
  file(INSTALL DESTINATION "${directory}" TYPE FILE FILES "${made}/${name}")
endfunction()

function(dynolog_install_configuration directory file)
  get_filename_component(name "${file}" NAME)
  set(there "$ENV{DESTDIR}${directory}/${name}")
  if(EXISTS "${there}" OR IS_SYMLINK "${there}")
    message(STATUS "Left as it is: ${there}")
  else()
    file(INSTALL DESTINATION "${directory}" TYPE FILE FILES "${file}")
  endif()
endfunction()

file(MAKE_DIRECTORY "${made}")
set(installed_prefix "${CMAKE_INSTALL_PREFIX}")
dynolog_configuration_directory(configuration_place)
dynolog_under_prefix(data_place "${dynolog_datadir}")

# Names in files, as opposed to places now.
if(dynolog_unit_prefix)
  set(CMAKE_INSTALL_PREFIX "${dynolog_unit_prefix}")
endif()
dynolog_configuration_directory(configuration)
dynolog_under_prefix(bindir "${dynolog_bindir}")
dynolog_under_prefix(datadir "${dynolog_datadir}")
string(APPEND datadir "/dynolog")
set(CMAKE_INSTALL_PREFIX "${installed_prefix}")
set(data "${data_place}")

dynolog_install_unit()
dynolog_install_completion(bash "${dynolog_datadir}/bash-completion/completions" dyno)
dynolog_install_completion(zsh "${dynolog_zsh}" _dyno)
dynolog_install_completion(fish "${dynolog_datadir}/fish/vendor_completions.d" dyno.fish)
dynolog_install_configuration("${configuration_place}/dynolog"
                              "${dynolog_source}/packaging/dynolog.toml")
dynolog_install_configuration("${configuration_place}" "${dynolog_source}/packaging/libkineto.conf")
if(NOT configuration_place STREQUAL "/etc")
  message(STATUS "PyTorch reads /etc/libkineto.conf, or what KINETO_CONFIG names: copy it there")
endif()
