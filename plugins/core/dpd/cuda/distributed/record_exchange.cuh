// SPDX-License-Identifier: BSD-3-Clause
// Records for and from other ranks, in the segments of a transport.
#pragma once

#include <stdexcept>
#include <vector>

#include "../../../parallel/transport.cuh"
#include "../step_constants.cuh"
#include "exchange_kernels.cuh"

namespace manymove::dpd {

// In the order of ranks; to and from are what kernels write and read.
template <class T>
struct RecordExchange {
  Transport::Segments sent, received;
  Places<T> to, from;
};

// Segments that follow each other in memory are one place.
template <class T>
Places<T> places_of(const Transport::Segments& segments, std::size_t bytes) {
  Places<T> places{};
  const char* end = nullptr;
  unsigned records = 0;
  for (const Transport::Segment& segment : segments) {
    if (segment.data != end) {
      if (places.count == Places<T>::kMost) throw std::logic_error("segments in too many places");
      places.first[places.count] = records;
      places.data[places.count++] = reinterpret_cast<T*>(segment.data);
    }
    records += static_cast<unsigned>(segment.bytes / bytes);
    places.first[places.count] = records;
    end = segment.data + segment.bytes;
  }
  return places;
}

// Finds places for to[r] records for rank r and from[r] records of it, `bytes` from one to the
// next.
template <class T>
RecordExchange<T> place_records(Transport& transport, const std::vector<std::int64_t>& to,
                                const std::vector<std::int64_t>& from,
                                std::size_t bytes = sizeof(T)) {
  RecordExchange<T> t;
  const auto add = [&](Transport::Segments& segments, int rank, std::int64_t records) {
    if (records) segments.push_back({rank, static_cast<std::size_t>(records) * bytes, nullptr});
  };
  for (std::size_t r = 0; r < to.size(); ++r) {
    add(t.sent, static_cast<int>(r), to[r]);
    add(t.received, static_cast<int>(r), from[r]);
  }
  transport.place(t.sent, t.received);
  t.to = places_of<T>(t.sent, bytes);
  t.from = places_of<T>(t.received, bytes);
  return t;
}

// One thread per record: a row of blocks for each place.
template <class T>
dim3 grid_of(const Places<T>& places) {
  unsigned most = 0;
  for (int b = 0; b < places.count; ++b)
    most = std::max(most, places.first[b + 1] - places.first[b]);
  return {static_cast<unsigned>(blocks_for(static_cast<int>(most), kSorters)),
          static_cast<unsigned>(places.count)};
}

}  // namespace manymove::dpd
