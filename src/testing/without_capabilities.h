// A test's thread that lays its capabilities down for a while: root that is no root.
#pragma once

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace dynolog {

// Of the calling thread, as long as the object lives. Without effect for who has none.
class WithoutCapabilities {
 public:
  WithoutCapabilities() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_.data()), 0);
    auto none = before_;
    for (auto& word : none) word.effective = 0;
    EXPECT_EQ(::syscall(SYS_capset, &header_, none.data()), 0);
  }
  ~WithoutCapabilities() { EXPECT_EQ(::syscall(SYS_capset, &header_, before_.data()), 0); }
  WithoutCapabilities(const WithoutCapabilities&) = delete;
  WithoutCapabilities& operator=(const WithoutCapabilities&) = delete;

 private:
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> before_{};
};

}  // namespace dynolog
