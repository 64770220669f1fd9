// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPipe opens a named pipe without a writer. An open that blocks would never return.
func TestPipe(t *testing.T) {
	r, top := openTree(t)
	if err := unix.Mkfifo(filepath.Join(top, "pipe"), 0o666); err != nil {
		t.Skip("no named pipes here:", err)
	}
	for _, open := range []func(string) (File, error){r.Open, r.openPlain} {
		f, err := open("pipe")
		if err != nil {
			t.Fatal(err)
		}
		if st, err := f.Stat(); err != nil || st.Mode.IsRegular() || st.Mode.IsDir() {
			t.Errorf("mode is %v, error %v", st.Mode, err)
		}
		f.Close()
	}
	odd := ""
	for item, err := range Walk(t.Context(), r, ".", true, func(string, bool) Fate { return Take }) {
		if err != nil {
			t.Error(err)
		}
		if item.Odd != "" {
			odd += item.Name
		}
	}
	if odd != "pipe" {
		t.Errorf("%q is odd, want pipe", odd)
	}
}

// TestOpenRootOfPipe opens a named pipe as a directory. This is an error, without a wait.
func TestOpenRootOfPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	if r, err := OpenRoot(pipe); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("%v and error %v", r, err)
	}
}
