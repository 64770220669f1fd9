// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package budget

// physical returns 0: the memory of the machine is unknown.
func physical() int64 { return 0 }

// grouped returns no limit.
func grouped() int64 { return unlimited }
