// MessageSoup: messages out of the marks that action formats, shells and JSON use, and of what lies between.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/rng.h"

namespace forkpoint::tests {

// What soups are made of: fences, tags, quotes, here-documents, JSON, text in several scripts. UTF-8.
const std::vector<std::string>& soup_tokens();

// Up to `tokens_max` of them, mostly in an order that some format could use.
std::string message_soup(core::RngStream& rng, std::size_t tokens_max);

}  // namespace forkpoint::tests
