// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package vfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
	"varve.dev/zarr/internal/racing"

	"golang.org/x/sys/unix"
)

// neverVariable is the environment variable with the system call that never succeeds.
const neverVariable = "VFS_TEST_NEVER"

// neverLength is the length of the reads and writes that fail. Calls of other lengths
// succeed, because the Go runtime makes some.
const neverLength = 12345

// never has the system calls of all operations, and whether only calls of neverLength
// bytes count.
var never = map[string]struct {
	call   uintptr
	sized  bool
	passes bool // no operation fails
}{
	"fsync": {unix.SYS_FSYNC, false, false}, "mkdirat": {unix.SYS_MKDIRAT, false, false},
	"utimensat": {unix.SYS_UTIMENSAT, false, false}, "openat": {unix.SYS_OPENAT, false, false},
	"openat2": {unix.SYS_OPENAT2, false, false}, "fstat": {unix.SYS_FSTAT, false, false},
	"getdents64": {unix.SYS_GETDENTS64, false, false}, "readlinkat": {unix.SYS_READLINKAT, false, false},
	"unlinkat": {unix.SYS_UNLINKAT, false, false}, "flock": {unix.SYS_FLOCK, false, false},
	"fchmod": {unix.SYS_FCHMOD, false, true}, "copy_file_range": {unix.SYS_COPY_FILE_RANGE, false, true},
	"write": {unix.SYS_WRITE, true, false}, "pread64": {unix.SYS_PREAD64, true, false}, "close": {unix.SYS_CLOSE, false, false},
}

// TestNeverEnding makes one system call always fail with EINTR, in a separate process, as
// some file systems in user space do. Every operation returns. It returns an error if it
// needs the call.
func TestNeverEnding(t *testing.T) {
	if name := os.Getenv(neverVariable); name != "" {
		neverEnding(t, name)
		return
	}
	racing.Skip(t)
	for name, c := range never {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestNeverEnding$", "-test.v")
			cmd.Env = append(os.Environ(), neverVariable+"="+name, "TMPDIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			switch {
			case ctx.Err() != nil:
				t.Fatalf("it does not end: %s", out)
			case err != nil:
				t.Fatalf("%v: %s", err, out)
			case strings.Contains(string(out), "--- SKIP"):
				t.Skipf("%s", out)
			case strings.Contains(string(out), "interrupted system call") == c.passes:
				t.Errorf("%s", out)
			}
		})
	}
}

// neverEnding makes all operations, and prints how they ended.
func neverEnding(t *testing.T, name string) {
	r, _ := openTree(t)
	if err := os.Symlink("file", r.fast.path+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := interruptAll(name); err != nil {
		t.Skip("no filter of system calls here:", err)
	}
	for what, do := range map[string]func() error{
		"mkdir": func() error { return r.Mkdir("new") }, "touch": func() error { return r.Touch("file", 1) },
		"rename": func() error { return r.Rename("dir/file", "dir/other") },
		"remove": func() error { return r.Remove("dir/sub/file") },
		"list":   func() error { return listAll(r) }, "stat": func() error { _, err := r.Stat("file"); return err },
		"readlink": func() error { _, err := r.Readlink("link"); return err },
		"create":   func() error { return createAndRead(r) },
		"lock": func() error {
			f, err := r.TryLock("lock")
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"make": func() error {
			made, err := MakeRoot(r.fast.path + "/a/b")
			if err == nil {
				err = made.Close()
			}
			return err
		},
	} {
		err := do()
		if err != nil && (!errors.Is(err, unix.EINTR) || errors.Is(err, ErrLocked)) {
			t.Errorf("%s: %v", what, err)
		}
		fmt.Println(what, err)
	}
	os.Exit(map[bool]int{true: 1}[t.Failed()]) // the process cannot remove the directory; its parent does
}

// createAndRead writes a file, copies it, syncs and reads it.
func createAndRead(r *Root) error {
	f, err := r.Create("created")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, neverLength))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if f, err = r.Open("created"); err != nil {
		return err
	}
	to, err := r.Create("copy")
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p := make([]byte, neverLength)
	_, err = f.ReadAt(p, 0)
	_, statErr := to.Stat()
	return errors.Join(err, statErr, to.CopyFrom(f, 0, neverLength), to.Close(), f.Close())
}

// interruptAll makes a system call of this process fail with EINTR from now on.
func interruptAll(name string) error {
	const number, length = 0, 32 // where the filter finds the call and the lower half of its third argument
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(is uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: is, Jf: skip}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	interrupt := give(unix.SECCOMP_RET_ERRNO | uint32(unix.EINTR))
	c := never[name]
	filter := []unix.SockFilter{load(number), unless(uint32(c.call), 1), interrupt, give(unix.SECCOMP_RET_ALLOW)}
	if c.sized {
		filter = []unix.SockFilter{load(number), unless(uint32(c.call), 3), load(length), unless(neverLength, 1), interrupt, give(unix.SECCOMP_RET_ALLOW)}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const setFilter = 1
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
