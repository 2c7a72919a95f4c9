// Error: an expected failure, as data.
//
// Every failure that a user or a caller can meet is one of these: which part of the program it
// belongs to, whose fault it is (that decides the exit code and whether a retry makes sense), a
// stable code for scripts, what happened and where, and what to do about it.
//
// Plain value; safe to copy between threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forkpoint {
namespace core {

// The part of the program that an error belongs to. `system` is our own process's dealings with its
// machine: files, sockets, child processes.
enum class Boundary { config, task, sandbox, policy, store, learner, system };

// Whose fault an error is.
enum class Fault {
  input,        // what the caller gave is wrong: exit code 2
  host,         // the machine lacks something that was demanded: exit code 3
  transient,    // may pass by itself (a busy server, a closed connection): the only kind worth a retry
  work,         // the work itself failed, or a check found a fault: exit code 1
  interrupted,  // stopped on request, state saved: exit code 130
};

std::string_view to_string(Boundary boundary);
std::string_view to_string(Fault fault);

struct Error {
  Boundary boundary = Boundary::system;
  Fault fault = Fault::work;
  std::string code;         // stable, snake_case: "unknown_key"; scripts and tests may compare it
  std::string message;      // what is wrong and where, one line, no final full stop
  std::string advice = {};  // what to do about it, one line; empty when there is nothing useful to say
  std::vector<std::string> context = {};  // what was being done, innermost first: "reading run.toml"

  // This error with what was being done when it came up added to its context.
  Error within(std::string what) &&;

  // One line: "outer: inner: message (advice)".
  std::string to_line() const;
};

// The exit code that the command-line contract gives to an error of this fault.
int exit_code(Fault fault);

// The error for a failed system call: `errno_value` in words behind `message`.
Error system_error(int errno_value, std::string code, std::string message);

}  // namespace core

using core::Boundary;
using core::Error;
using core::Fault;

}  // namespace forkpoint
