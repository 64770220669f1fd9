// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// physical returns the memory of the machine in bytes, 0 if it is unknown.
func physical() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}

// grouped returns the memory limit of the control group of this process in bytes.
// Containers set it.
func grouped() int64 {
	n := int64(unlimited)
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// "max" in version 2, and numbers beyond int64 in version 1, mean no limit.
		if limit, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && limit > 0 {
			n = min(n, limit)
		}
	}
	return n
}
