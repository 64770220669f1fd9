//go:build !linux

package budget

// physical returns 0: nobody knows how much memory the machine has.
func physical() int64 { return 0 }

// grouped returns no limit.
func grouped() int64 { return unlimited }
