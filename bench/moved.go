// SPDX-License-Identifier: Apache-2.0

package main

import "strconv"

// moved is what a process has read and written through system calls, also from the cache
// of the system.
type moved struct {
	Read, Written int64 // bytes
	Calls         int64 // reads and writes
}

// movedBytes returns what the finished children of this process have moved. It is zero on
// systems that do not count it.
func movedBytes() (m moved) {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(field("/proc/self/io", name), 10, 64)
		return n
	}
	m.Read, m.Written = number("rchar"), number("wchar")
	m.Calls = number("syscr") + number("syscw")
	return m
}
