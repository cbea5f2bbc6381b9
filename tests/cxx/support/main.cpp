// SPDX-License-Identifier: BSD-3-Clause
// Without an argument: prints the sentences of all tests, one per line. With a sentence: runs that
// test; the exit code is 0 if it passed, 77 if this machine cannot run it, otherwise 1.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "test.h"

namespace manymove::test {
namespace {

using Entry = std::pair<const char*, void (*)()>;

std::vector<Entry>& all() {
  static std::vector<Entry> tests;
  return tests;
}

}  // namespace

Test::Test(const char* sentence, void (*body)()) { all().emplace_back(sentence, body); }

void fail(const char* file, int line, const std::string& what) {
  throw Failure(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace manymove::test

int main(int count, char** arguments) {
  using namespace manymove::test;
  for (const auto& [sentence, body] : all()) {
    if (count < 2) {
      std::puts(sentence);
    } else if (!std::strcmp(sentence, arguments[1])) {
      try {
        body();
        return 0;
      } catch (const Skipped& reason) {
        std::puts(reason.what());
        return 77;
      } catch (const std::exception& error) {
        std::puts(error.what());
        return 1;
      }
    }
  }
  if (count < 2) return 0;
  std::printf("no test says \"%s\"\n", arguments[1]);
  return 1;
}
