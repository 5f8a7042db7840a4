// Pieces of a file: bounded, whole gzip members, and the file again when put in a row.
#include "artifacts/chunk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/file.h"
#include "base/unique_fd.h"

namespace dynolog {
namespace {

constexpr std::size_t kData = 48U << 10U;

UniqueFd file_of(std::string_view text) {
  UniqueFd fd(::memfd_create("chunk_test", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(fd.get(), text).has_value());
  return fd;
}

std::string random_bytes(std::size_t size) {
  std::mt19937_64 engine(size);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = engine();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

std::string trace_text(std::size_t size) {
  std::mt19937_64 engine(1);
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  while (text.size() < size) {
    text += fmt::format(
        "\n  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{}\", \"pid\": 100, "
        "\"tid\": {},\n    \"ts\": {}.{:03}, \"dur\": {}\n  }},",
        engine() % 50, engine() % 4, engine() % 100'000'000, engine() % 1000, engine() % 1000);
  }
  text.resize(size);
  return text;
}

std::string unfolded(const std::string& gzip) {
  const UniqueFd fd = file_of(gzip);
  ::lseek(fd.get(), 0, SEEK_SET);
  gzFile file = ::gzdopen(::dup(fd.get()), "rb");
  std::string text;
  std::vector<char> buffer(1U << 20U);
  int got = 0;
  while ((got = ::gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  EXPECT_EQ(got, 0);
  EXPECT_EQ(::gzclose(file), Z_OK);
  return text;
}

std::uint32_t checksum(std::string_view text) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

// All pieces of the file, each judged by itself.
std::string all_pieces(const std::string& text, std::size_t max_data, int& pieces) {
  const UniqueFd fd = file_of(text);
  std::string gzip;
  std::uint64_t offset = 0;
  for (pieces = 0;; ++pieces) {
    const auto chunk = read_chunk(fd.get(), offset, max_data);
    if (!chunk) {
      ADD_FAILURE() << chunk.error().message;
      return {};
    }
    EXPECT_LE(chunk->data.size(), max_data);
    EXPECT_LE(chunk->plain_bytes, kMaxChunkPlain);
    const std::string plain = text.substr(offset, chunk->plain_bytes);
    EXPECT_EQ(unfolded(chunk->data), plain);
    EXPECT_EQ(chunk->crc32, checksum(plain));
    gzip += chunk->data;
    offset += chunk->plain_bytes;
    if (chunk->plain_bytes == 0) break;
  }
  EXPECT_EQ(offset, text.size());
  return gzip;
}

TEST(ReadChunk, PiecesInARowAreTheFile) {
  const std::vector<std::string> files = {
      "",
      "x",
      random_bytes(1),
      random_bytes(511),
      random_bytes(kData - 100),
      random_bytes(kData),
      random_bytes(300'000),
      trace_text(100),
      trace_text(65'536),
      trace_text(65'537),
      trace_text(3'000'000),
      std::string(9U << 20U, '\0'),
      trace_text(500'000) + random_bytes(200'000) + trace_text(500'000),
  };
  for (const std::string& file : files) {
    for (const std::size_t max_data : {kLeastChunkData, kData, std::size_t{1} << 20U}) {
      SCOPED_TRACE(fmt::format("{} bytes by {}", file.size(), max_data));
      int pieces = 0;
      EXPECT_TRUE(unfolded(all_pieces(file, max_data, pieces)) == file);
    }
  }
}

TEST(ReadChunk, TheRoomIsUsed) {
  const std::string text = trace_text(5'000'000);
  int pieces = 0;
  const std::string gzip = all_pieces(text, kData, pieces);
  EXPECT_LT(static_cast<std::size_t>(pieces) * kData, gzip.size() + gzip.size() / 8 + kData);
  EXPECT_LT(gzip.size(), text.size() / 4);
  // What cannot be compressed is carried as it is.
  const std::string noise = random_bytes(1'000'000);
  EXPECT_LT(all_pieces(noise, kData, pieces).size(), noise.size() + noise.size() / 50);
  EXPECT_LE(pieces, 25);
}

TEST(ReadChunk, AtMostFourMiBOfPlainBytes) {
  const UniqueFd zeros = file_of(std::string(6U << 20U, '\0'));
  EXPECT_EQ(read_chunk(zeros.get(), 0, kData)->plain_bytes, kMaxChunkPlain);
  EXPECT_EQ(read_chunk(zeros.get(), kMaxChunkPlain, kData)->plain_bytes, 2U << 20U);
}

TEST(ReadChunk, BeyondTheEndIsAnEmptyMember) {
  const UniqueFd fd = file_of("abc");
  for (const std::uint64_t offset :
       {std::uint64_t{3}, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    const auto chunk = read_chunk(fd.get(), offset, kData);
    ASSERT_TRUE(chunk.has_value()) << chunk.error().message;
    EXPECT_EQ(chunk->plain_bytes, 0U);
    EXPECT_EQ(chunk->crc32, 0U);
    EXPECT_EQ(unfolded(chunk->data), "");
    EXPECT_FALSE(chunk->data.empty());
  }
}

TEST(ReadChunk, ErrorsAreTold) {
  const UniqueFd fd = file_of("abc");
  EXPECT_EQ(read_chunk(fd.get(), 0, kLeastChunkData - 1).error().kind, ErrorKind::invalid);
  const UniqueFd write_only(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_THAT(read_chunk(write_only.get(), 0, kData).error().message,
              ::testing::HasSubstr("reading the file"));
}

}  // namespace
}  // namespace dynolog
