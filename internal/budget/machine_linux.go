package budget

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// physical returns the bytes of memory that the machine has, 0 where nobody knows.
func physical() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}

// grouped returns what the system allows the group of this process, as it does in a
// container.
func grouped() int64 {
	n := int64(unlimited)
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// "max", and numbers that do not fit, are no limit.
		if limit, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && limit > 0 {
			n = min(n, limit)
		}
	}
	return n
}
