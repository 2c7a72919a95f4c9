# Finds LibTorch, 1.13 or 2.x, CPU or CUDA, and makes one target of it: forkpoint_torch.
#
# LibTorch's own TorchConfig.cmake is used to find it and to read its compiler flags, but not included: that of a
# CUDA build stops with an error on a machine that has the libraries and no CUDA toolkit, which is what a Python wheel on
# a GPU machine is, and its targets would spread flags over ours. We need headers and libraries, no nvcc.
#
# In: CMAKE_PREFIX_PATH (for a wheel: what `python3 -c "import torch; print(torch.utils.cmake_prefix_path)"` prints) or
# Torch_DIR, else the system's; FORKPOINT_TORCH_CUDA=OFF leaves the CUDA half of a CUDA build out. Out: forkpoint_torch, ForkpointTorch_VERSION, ForkpointTorch_CUDA.

option(FORKPOINT_TORCH_CUDA "Link the CUDA half of LibTorch where there is one" ON)

set(_suffixes Torch cmake/Torch share/cmake/Torch lib/cmake/Torch lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch)
find_path(ForkpointTorch_CONFIG_DIR TorchConfig.cmake
  HINTS ${Torch_DIR} ${CMAKE_PREFIX_PATH} PATHS /usr PATH_SUFFIXES ${_suffixes} NO_CMAKE_SYSTEM_PATH)

# The folder that holds include/ lies three or four above TorchConfig.cmake.
set(_root "${ForkpointTorch_CONFIG_DIR}")
while(_root AND NOT EXISTS "${_root}/include/torch/csrc/api/include/torch/types.h")
  get_filename_component(_above "${_root}" DIRECTORY)
  if(_above STREQUAL _root)
    set(_root "")
  else()
    set(_root "${_above}")
  endif()
endwhile()
if(_root)
  set(_api_include "${_root}/include/torch/csrc/api/include")
  set(_version_header "${_root}/include/torch/headeronly/version.h")  # 2.10 and later
  if(NOT EXISTS "${_version_header}")
    set(_version_header "${_api_include}/torch/version.h")
  endif()
  file(STRINGS "${_version_header}" _version REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" _version "${_version}")
  list(JOIN _version "." ForkpointTorch_VERSION)
endif()
foreach(_name torch torch_cpu c10 torch_cuda c10_cuda)
  find_library(ForkpointTorch_${_name}_LIBRARY ${_name} HINTS "${_root}/lib" "${_root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}"
               NO_DEFAULT_PATH)
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ForkpointTorch
  REQUIRED_VARS ForkpointTorch_torch_cpu_LIBRARY ForkpointTorch_c10_LIBRARY ForkpointTorch_CONFIG_DIR
  VERSION_VAR ForkpointTorch_VERSION)

if(ForkpointTorch_FOUND AND NOT TARGET forkpoint_torch)
  set(ForkpointTorch_CUDA OFF)
  set(_libraries ${ForkpointTorch_torch_cpu_LIBRARY} ${ForkpointTorch_c10_LIBRARY})
  if(ForkpointTorch_torch_cuda_LIBRARY AND FORKPOINT_TORCH_CUDA)
    set(ForkpointTorch_CUDA ON)
    # Nothing calls these directly: they register the CUDA kernels when they are loaded.
    list(APPEND _libraries -Wl,--push-state,--no-as-needed ${ForkpointTorch_torch_cuda_LIBRARY}
         ${ForkpointTorch_c10_cuda_LIBRARY} -Wl,--pop-state)
  endif()
  # "-D_GLIBCXX_USE_CXX11_ABI=0" of older wheels; absent where the compiler's default is right.
  file(STRINGS "${ForkpointTorch_CONFIG_DIR}/TorchConfig.cmake" _flags REGEX "set\\(TORCH_CXX_FLAGS \"-D")
  string(REGEX MATCH "-D_GLIBCXX_USE_CXX11_ABI=[01]" _flags "${_flags}")

  add_library(forkpoint_torch INTERFACE)
  target_include_directories(forkpoint_torch SYSTEM INTERFACE "${_root}/include" "${_api_include}")
  target_compile_options(forkpoint_torch INTERFACE ${_flags})
  target_link_libraries(forkpoint_torch INTERFACE ${_libraries})
endif()
