#include <iostream>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return forkpoint::cli::run_program(arguments, forkpoint::cli::make_verbs(), std::cout, std::cerr);
}
