// SPDX-License-Identifier: BSD-3-Clause
#include "communicator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "../runtime/errors.h"
#include "origins.h"

namespace manymove {
namespace {

// An error as bytes of one size, which ranks can gather whatever it is.
struct Message {
  enum Kind : std::int32_t {
    kOther,
    kParameter,
    kParticle,
    kOverlap,
    kInvalidArgument,
    kLogicError,
    kOutOfMemory
  } kind = kOther;
  std::int32_t problem = 0;  // where it begins in `text`
  std::int64_t particles[2] = {};
  double depth = 0;       // of an overlap
  char subject[32] = {};  // the parameter, or the kind of particles
  char quantity[24] = {};
  char text[496] = {};
};

// An error that all ranks throw. Agreed tells it from one that the others do not know of.
template <class Error>
struct Common final : Error, Agreed {
  using Error::Error;
};

template <>
struct Common<std::bad_alloc> final : std::bad_alloc, Agreed {
  explicit Common(const char* text) : text(text) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

Message message_of(const std::exception_ptr& error) {
  Message message;
  const auto write = [&message](Message::Kind kind, const char* text) {
    message.kind = kind;
    copy_text(message.text, text);
  };
  const auto write_about = [&](Message::Kind kind, const char* text, const std::string& subject,
                               const std::string& problem) {
    write(kind, text);
    copy_text(message.subject, subject);
    // what() ends with the problem.
    message.problem = static_cast<std::int32_t>(std::strlen(text) - problem.size());
  };
  try {
    std::rethrow_exception(error);
    // The derived types first: ParameterError and ParticleError are std::invalid_argument, too.
  } catch (const ParameterError& failure) {
    write_about(Message::kParameter, failure.what(), failure.about.name, failure.problem);
  } catch (const ParticleError& failure) {
    const Particles& about = failure.about;
    write_about(Message::kParticle, failure.what(), about.kind, failure.problem);
    copy_text(message.quantity, about.quantity);
    message.particles[0] = about.first;
    message.particles[1] = about.second;
    if (const auto* const overlap = dynamic_cast<const OverlapError*>(&failure)) {
      message.kind = Message::kOverlap;
      message.depth = overlap->depth;
    }
  } catch (const std::bad_alloc& failure) {
    const bool plain = std::strcmp(failure.what(), "std::bad_alloc") == 0;
    write(Message::kOutOfMemory, plain ? "out of memory" : failure.what());
  } catch (const std::invalid_argument& failure) {
    write(Message::kInvalidArgument, failure.what());
  } catch (const std::logic_error& failure) {
    write(Message::kLogicError, failure.what());
  } catch (const std::exception& failure) {
    write(Message::kOther, failure.what());
  } catch (...) {
    write(Message::kOther, "unknown error");
  }
  return message;
}

// `place`: the rank that the message is from.
[[noreturn]] void throw_common(const Message& message, const std::string& place) {
  const std::string text = message.text;
  // The text may have been cut before the problem.
  const std::string problem = text.substr(std::min<std::size_t>(message.problem, text.size()));
  switch (message.kind) {
    case Message::kParameter:
      throw Common<ParameterError>(Parameter{message.subject}, problem);
    case Message::kParticle:
    case Message::kOverlap: {
      Particles about(message.subject, message.particles[0], message.particles[1]);
      about.quantity = message.quantity;
      if (message.kind == Message::kOverlap)
        throw Common<OverlapError>(about, problem, message.depth);
      throw Common<ParticleError>(about, problem);
    }
    case Message::kInvalidArgument:
      throw Common<std::invalid_argument>(message.text);
    case Message::kLogicError:
      throw Common<std::logic_error>(message.text);
    case Message::kOutOfMemory:
      throw Common<std::bad_alloc>(message.text);
    default:  // such as a device that has failed
      throw Common<std::runtime_error>(place + ": " + text);
  }
}

}  // namespace

void agree(Communicator& communicator, std::exception_ptr error) {
  const int rank = communicator.rank(), ranks = communicator.ranks();
  // The largest is that of the lowest rank with an error, which all throw.
  std::int64_t worst = error ? ranks - rank : 0;
  communicator.maximum(&worst, 1);
  if (worst == 0) return;
  std::vector<Message> all = communicator.gathered(error ? message_of(error) : Message{});
  if (worst < 0 || worst > ranks)
    throw std::runtime_error(text_of("a rank announces an error of rank ", ranks - worst));
  Message& first = all[static_cast<std::size_t>(ranks - worst)];
  // Texts of another rank end within their arrays, whatever has been received.
  first.subject[sizeof first.subject - 1] = 0;
  first.quantity[sizeof first.quantity - 1] = 0;
  first.text[sizeof first.text - 1] = 0;
  throw_common(first, text_of("rank ", ranks - worst, " of ", ranks));
}

std::int64_t total_of(const std::vector<std::int64_t>& numbers, std::size_t bytes) {
  // All records must fit one array: their bytes are a signed distance of pointers.
  const std::int64_t most = PTRDIFF_MAX / static_cast<std::int64_t>(bytes);
  std::int64_t total = 0;
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    if (numbers[r] < 0 || numbers[r] > most - total)
      throw std::runtime_error(text_of("rank ", r, " announces ", numbers[r], " records"));
    total += numbers[r];
  }
  return total;
}

void check_rank(const Communicator& communicator, std::int32_t rank) {
  if (rank < 0 || rank >= communicator.ranks())
    throw std::runtime_error(text_of("rank ", rank, " of ", communicator.ranks(), " is asked for"));
}

int rank_among_namesakes(Communicator& communicator, const std::string& name) {
  Message mine;
  copy_text(mine.text, name);
  const std::vector<Message> all = communicator.gathered(mine);
  int lower = 0;
  for (int r = 0; r < communicator.rank(); ++r)
    lower += std::strncmp(all[static_cast<std::size_t>(r)].text, mine.text, sizeof mine.text) == 0;
  return lower;
}

void fail(Watchdog& watchdog, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const Agreed&) {
    // The others have it already.
    throw;
  } catch (...) {
  }
  watchdog.fail(
      text_of("rank ", watchdog.rank(), " of ", watchdog.ranks(), ": ", message_of(error).text));
}

// ---- origins.h ----

// Both sides send to the rank that the tag names.
std::vector<Origin> find_origins(Communicator& communicator,
                                 const std::vector<std::uint32_t>& asked, int count,
                                 const std::uint32_t* tag) {
  struct Entry {
    std::uint32_t tag;
    Origin origin;
  };
  const auto parts = static_cast<std::uint32_t>(communicator.ranks());
  std::vector<std::vector<Entry>> hosts(parts);
  for (int i = 0; i < count; ++i)
    // Tag t is looked up at rank t mod R, by those who have it and those who ask for it.
    hosts[tag[i] % parts].push_back({tag[i], {communicator.rank(), i}});
  std::unordered_map<std::uint32_t, Origin> origins;
  for (const Entry& entry : deliver(communicator, std::move(hosts))) {
    check_rank(communicator, entry.origin.rank);
    origins[entry.tag] = entry.origin;
  }
  std::vector<std::int32_t> whom;
  for (const std::uint32_t wanted : asked)
    whom.push_back(static_cast<std::int32_t>(wanted % parts));
  std::int64_t missing = 0;
  auto result = ask<Origin>(communicator, whom, asked, [&](std::uint32_t wanted) {
    const auto found = origins.find(wanted);
    if (found != origins.end()) return found->second;
    missing = wanted;
    return Origin{};
  });
  // All ranks learn of it and throw together, so that none is waited for.
  communicator.maximum(&missing, 1);
  if (missing) throw std::runtime_error(text_of("particle ", missing, " is on no rank"));
  return result;
}

std::vector<std::array<double, 3>> fetch_from_origins(Communicator& communicator,
                                                      const std::vector<Origin>& origins,
                                                      const double (*value)[3], std::size_t count) {
  using Triple = std::array<double, 3>;
  std::vector<std::int32_t> whom, index;
  for (const Origin& origin : origins) {
    whom.push_back(origin.rank);
    index.push_back(origin.index);
  }
  return ask<Triple>(communicator, whom, index, [&](std::int32_t i) {
    if (i < 0 || static_cast<std::size_t>(i) >= count)
      throw std::runtime_error(
          text_of("a rank asked for particle ", i, " of a host that has ", count, " particles"));
    const auto& triple = value[i];
    return Triple{triple[0], triple[1], triple[2]};
  });
}

}  // namespace manymove
