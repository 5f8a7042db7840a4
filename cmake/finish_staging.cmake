# Run by cpack between staging and packing: manual pages and the changelog as Debian has them,
# compressed without name and time, and folders' modes whatever the umask of who builds.
file(CHMOD_RECURSE "${CPACK_TEMPORARY_DIRECTORY}" DIRECTORY_PERMISSIONS
     OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
find_program(DYNOLOG_GZIP gzip REQUIRED)
file(GLOB_RECURSE pages "${CPACK_TEMPORARY_DIRECTORY}/usr/share/man/*.[1-8]"
     "${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/dynolog/CHANGELOG.md")
foreach(page ${pages})
  execute_process(COMMAND "${DYNOLOG_GZIP}" -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# Debian's own changelog: one entry, dated by SOURCE_DATE_EPOCH where that is set.
set(doc "${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/dynolog")
file(RENAME "${doc}/CHANGELOG.md.gz" "${doc}/changelog.gz")
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(version "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
file(WRITE "${doc}/changelog.Debian" "${CPACK_PACKAGE_NAME} (${version}) unstable; urgency=medium

  * See changelog.gz.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${now}
")
file(CHMOD "${doc}/changelog.Debian" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
execute_process(COMMAND "${DYNOLOG_GZIP}" -9n "${doc}/changelog.Debian" COMMAND_ERROR_IS_FATAL ANY)
