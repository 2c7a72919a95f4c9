# How every target of the project is built: language level, warnings, sanitizers, ccache, and the
# two functions that the folders' CMakeLists.txt use.
#
#   forkpoint_library(core SOURCES a.cc b.cc PUBLIC lib... PRIVATE lib...)
#   forkpoint_tests(core_tests LABELS unit SOURCES a_test.cc LINK forkpoint_core)
include_guard(GLOBAL)

get_filename_component(FORKPOINT_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

if(FORKPOINT_CCACHE)
  find_program(FORKPOINT_CCACHE_PROGRAM ccache)
  if(FORKPOINT_CCACHE_PROGRAM)
    # Precompiled headers: ccache must compare what the header was made from, not its time stamps.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros ${FORKPOINT_CCACHE_PROGRAM})
  endif()
endif()

# Carried by every target of ours; third-party headers come in as system headers.
add_library(forkpoint_flags INTERFACE)
target_include_directories(forkpoint_flags INTERFACE ${FORKPOINT_ROOT})
target_compile_options(forkpoint_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fno-omit-frame-pointer -fpch-preprocess)
if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 takes "a" + std::string for overlapping memory (its bug 105651); the second option is for
  # clang-tidy, which does not know the first.
  target_compile_options(forkpoint_flags INTERFACE -Wno-restrict -Wno-unknown-warning-option)
endif()
if(FORKPOINT_SANITIZE STREQUAL "address")
  target_compile_options(forkpoint_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(forkpoint_flags INTERFACE -fsanitize=address,undefined)
elseif(FORKPOINT_SANITIZE STREQUAL "thread")
  target_compile_options(forkpoint_flags INTERFACE -fsanitize=thread)
  target_link_options(forkpoint_flags INTERFACE -fsanitize=thread)
elseif(FORKPOINT_SANITIZE)
  message(FATAL_ERROR "FORKPOINT_SANITIZE=${FORKPOINT_SANITIZE}: expected address, thread or nothing")
endif()

# The static library forkpoint_<folder>.
function(forkpoint_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(target forkpoint_${folder})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_link_libraries(${target} PUBLIC forkpoint_flags ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
endfunction()

# One GoogleTest executable; each of its tests becomes a ctest test with the given labels.
function(forkpoint_tests target)
  cmake_parse_arguments(ARG "" "TIMEOUT_S" "LABELS;SOURCES;LINK;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT_S)
    set(ARG_TIMEOUT_S 120)
  endif()
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE forkpoint_flags ${ARG_LINK} $<TARGET_NAME_IF_EXISTS:rapidcheck>
                        GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${target}
    DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT_S} ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
