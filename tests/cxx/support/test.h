// SPDX-License-Identifier: BSD-3-Clause
// C++ tests: TEST("a sentence") { ... } registers a test, which ends at its first failed check, by
// an exception: a check must not stand in a task of a thread pool. tests/package/test_cxx.py runs
// each test in a process of its own.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace manymove::test {

// What a test throws if this machine cannot run it.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Test {
  Test(const char* sentence, void (*body)());
};

[[noreturn]] void fail(const char* file, int line, const std::string& what);

template <class A, class B>
void check_equal(const A& a, const B& b, const char* expression, const char* file, int line) {
  if (a == b) return;
  std::ostringstream text;
  text.precision(20);
  text << expression << ": " << +a << " against " << +b;
  fail(file, line, text.str());
}

template <class Error, class Call>
void check_throws(Call call, const char* message, const char* file, int line) {
  try {
    call();
  } catch (const Error& error) {
    if (std::string(error.what()).find(message) != std::string::npos) return;
    fail(file, line, std::string("the message is \"") + error.what() + "\"");
  }
  fail(file, line, std::string("no error that says \"") + message + "\"");
}

}  // namespace manymove::test

#define MM_TEST_JOIN_(a, b) a##b
#define MM_TEST_JOIN(a, b) MM_TEST_JOIN_(a, b)
#define TEST(sentence)                                                     \
  static void MM_TEST_JOIN(test_, __LINE__)();                             \
  static const ::manymove::test::Test MM_TEST_JOIN(registered_, __LINE__)( \
      sentence, MM_TEST_JOIN(test_, __LINE__));                            \
  static void MM_TEST_JOIN(test_, __LINE__)()

#define CHECK(...) \
  ((__VA_ARGS__) ? void() : ::manymove::test::fail(__FILE__, __LINE__, #__VA_ARGS__))
// Prints both numbers when they differ.
#define CHECK_EQUAL(a, b) ::manymove::test::check_equal(a, b, #a " == " #b, __FILE__, __LINE__)
// The expression throws an Error whose message contains this text.
#define CHECK_THROWS(expression, Error, message) \
  ::manymove::test::check_throws<Error>([&] { (void)(expression); }, message, __FILE__, __LINE__)
