// The errors that an image can earn: it is the fault of whoever gave it.
//
// Pure functions. For the files of this folder that read images.
#pragma once

#include <string>
#include <utility>

#include "core/error.h"

namespace forkpoint::sandbox {

inline Error bad_image(std::string message) {
  return Error{.boundary = Boundary::sandbox,
               .fault = Fault::input,
               .code = "bad_image",
               .message = std::move(message)};
}

inline Error image_too_large(std::string message) {
  return Error{.boundary = Boundary::sandbox,
               .fault = Fault::input,
               .code = "image_too_large",
               .message = std::move(message),
               .advice = "allow more bytes or files if the image is to be trusted"};
}

inline Error no_such_image(std::string message) {
  return Error{.boundary = Boundary::sandbox,
               .fault = Fault::input,
               .code = "no_such_image",
               .message = std::move(message)};
}

}  // namespace forkpoint::sandbox
