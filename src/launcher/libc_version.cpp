// The version definitions (.gnu.version_d) of an ELF file, found as the dynamic loader finds them.
#include "launcher/libc_version.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace dynolog {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
#error "the launcher knows x86-64 and arm64"
#endif

// glibc has some 40; a file that claims more is none.
constexpr unsigned kMaxDefinitions = 1000;

// False where the bytes end before.
template <class T>
bool read(std::span<const std::byte> file, std::uint64_t at, T& value) {
  if (at > file.size() || file.size() - at < sizeof value) return false;
  std::memcpy(&value, file.data() + at, sizeof value);
  return true;
}

struct Dynamic {
  std::uint64_t strings = 0;  // these three are addresses
  std::uint64_t strings_size = 0;
  std::uint64_t definitions = 0;
  std::uint64_t count = 0;
};

class ElfFile {
 public:
  explicit ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_library_of_this_machine() {
    return read(bytes_, 0, header_) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
           header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB &&
           header_.e_machine == kMachine && header_.e_type == ET_DYN &&
           header_.e_phentsize == sizeof(Elf64_Phdr);
  }

  [[nodiscard]] bool find(unsigned type, Elf64_Phdr& segment) const {
    for (unsigned i = 0; segment_at(i, segment); ++i) {
      if (segment.p_type == type) return true;
    }
    return false;
  }

  // Where in the file an address lies; false where nothing of the file is loaded to it.
  [[nodiscard]] bool offset_of(std::uint64_t address, std::uint64_t& offset) const {
    Elf64_Phdr segment{};
    for (unsigned i = 0; segment_at(i, segment); ++i) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      if (address - segment.p_vaddr >= segment.p_filesz) continue;
      offset = segment.p_offset + (address - segment.p_vaddr);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool find_dynamic(Dynamic& found) const {
    Elf64_Phdr segment{};
    if (!find(PT_DYNAMIC, segment)) return false;
    Elf64_Dyn entry{};
    for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof entry) {
      if (!read(bytes_, segment.p_offset + at, entry)) return false;
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) found.strings = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) found.strings_size = entry.d_un.d_val;
      if (entry.d_tag == DT_VERDEF) found.definitions = entry.d_un.d_ptr;
      if (entry.d_tag == DT_VERDEFNUM) found.count = entry.d_un.d_val;
    }
    return true;
  }

 private:
  [[nodiscard]] bool segment_at(unsigned i, Elf64_Phdr& segment) const {
    return i < header_.e_phnum &&
           read(bytes_, header_.e_phoff + std::uint64_t{i} * sizeof segment, segment);
  }

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
};

// Whether the table of strings has `text`, and a NUL behind it, at `at`.
bool has_string(std::span<const std::byte> strings, std::uint64_t at, std::string_view text) {
  if (at > strings.size() || strings.size() - at <= text.size()) return false;
  return std::memcmp(strings.data() + at, text.data(), text.size()) == 0 &&
         strings[at + text.size()] == std::byte{0};
}

}  // namespace

bool defines_version(std::span<const std::byte> file, std::string_view version) {
  ElfFile elf(file);
  Dynamic dynamic;
  std::uint64_t strings = 0;
  std::uint64_t at = 0;
  if (!elf.is_library_of_this_machine() || !elf.find_dynamic(dynamic)) return false;
  if (!elf.offset_of(dynamic.strings, strings) || !elf.offset_of(dynamic.definitions, at)) {
    return false;
  }
  if (strings > file.size() || dynamic.strings_size > file.size() - strings) return false;
  const auto table = file.subspan(strings, dynamic.strings_size);
  for (std::uint64_t i = 0; i < dynamic.count && i < kMaxDefinitions; ++i) {
    Elf64_Verdef definition{};
    Elf64_Verdaux name{};
    if (!read(file, at, definition) || !read(file, at + definition.vd_aux, name)) return false;
    if (has_string(table, name.vda_name, version)) return true;
    if (definition.vd_next == 0) return false;
    at += definition.vd_next;
  }
  return false;
}

}  // namespace dynolog
