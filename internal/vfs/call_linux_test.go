// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInterrupted checks that interrupted calls are repeated, but not for ever.
func TestInterrupted(t *testing.T) {
	for _, often := range []int{0, 1, mostInterrupts - 1, mostInterrupts + 1, 1 << 30} {
		gives := error(nil)
		if often > mostInterrupts {
			gives = unix.EINTR
		}
		calls := 0
		n, err := retried(func() (int, error) {
			if calls++; calls <= often {
				return 0, unix.EINTR
			}
			return 7, nil
		})
		if err != gives || err == nil && n != 7 || calls > mostInterrupts {
			t.Errorf("%d interrupts: %d, %v after %d calls", often, n, err, calls)
		}
		calls = 0
		p := make([]byte, 8)
		n, err = readAt(func(_ int, p []byte, off int64) (int, error) { // two bytes a time, each after so many interrupts
			if calls++; calls <= often {
				return -1, unix.EINTR
			}
			calls = 0
			return copy(p[:2], "ab"), nil
		}, 0, p, 0)
		if err != gives || err == nil && (n != 8 || string(p) != "abababab") {
			t.Errorf("%d interrupts: %d bytes, %v", often, n, err)
		}
	}
	testInterruptedWrites(t)
	n, err := readAt(func(int, []byte, int64) (int, error) { return 0, nil }, 0, make([]byte, 1), 0)
	if n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d, %v", n, err)
	}
}

// testInterruptedWrites writes two bytes with each call, after a number of interrupts.
func testInterruptedWrites(t *testing.T) {
	for _, often := range []int{0, mostInterrupts - 1, 1 << 30} {
		calls, wrote := 0, ""
		n, err := writeAll(func(_ int, p []byte) (int, error) {
			if calls++; calls <= often {
				return -1, unix.EINTR
			}
			calls, wrote = 0, wrote+string(p[:2])
			return 2, nil
		}, 0, []byte("abcdef"))
		if often < mostInterrupts && (n != 6 || wrote != "abcdef" || err != nil) || often > mostInterrupts && err != unix.EINTR {
			t.Errorf("%d interrupts: %d bytes, %q, %v", often, n, wrote, err)
		}
	}
	if n, err := writeAll(func(int, []byte) (int, error) { return 0, nil }, 0, []byte("a")); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}
