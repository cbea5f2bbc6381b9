// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace manymove::test {

// While one exists, the system gives this process so many threads more, and then none.
class FewThreads {
 public:
  explicit FewThreads(int threads);
  ~FewThreads();
};

}  // namespace manymove::test
