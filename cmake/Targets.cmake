# dynolog_library(NAME SOURCES ... USES ...): the library of one folder. USES is the whole list of
#   folders (as dynolog_<folder>) and packages that it may link.
# dynolog_unit_tests(FOLDER SOURCES ... USES ...): one test program for the folder's *_test.cpp.
function(dynolog_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  add_library(dynolog_${name} STATIC ${ARG_SOURCES})
  target_include_directories(dynolog_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(dynolog_${name} PUBLIC ${ARG_USES})
  dynolog_precompile(dynolog_${name} library)
endfunction()

function(dynolog_unit_tests folder)
  if(NOT DYNOLOG_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  add_executable(${folder}_test ${ARG_SOURCES})
  target_include_directories(${folder}_test PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(${folder}_test PRIVATE dynolog_${folder} ${ARG_USES} GTest::gmock
    GTest::gtest_main)
  dynolog_precompile(${folder}_test test)
  gtest_discover_tests(${folder}_test TEST_PREFIX "${folder}." DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT 600)
endfunction()
