// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// TestMain uses the disk also where the tests of other packages have their files in
// memory.
func TestMain(m *testing.M) {
	if disk := os.Getenv("VARVE_DISK"); disk != "" {
		os.Setenv("TMPDIR", disk)
	}
	goleak.VerifyTestMain(m)
}

// tree makes a directory with a store in it and a secret beside it, and opens the store.
func openTree(t *testing.T) (r *Root, top string) {
	t.Helper()
	outer := t.TempDir()
	top = filepath.Join(outer, "store")
	for _, name := range []string{"secret", "store/file", "store/dir/file", "store/dir/sub/file", "storeplus/file"} {
		name = filepath.Join(outer, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, top
}

func link(t *testing.T, top, name, target string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(top, filepath.FromSlash(name))); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

// openCases are names and whether they can be opened. Links are made by [makeLinks].
var openCases = []struct {
	name string
	ok   bool
}{
	{"file", true}, {"dir", true}, {"dir/file", true}, {"dir/sub/file", true}, {".", true},
	{"none", false}, {"file/below", false}, {"dir/none/file", false},
	{"../secret", false}, {"..", false}, {"dir/../../secret", false}, {"../store/file", false}, {"../storeplus/file", false},
	{"dir/../file", true},
	{"inside", true}, {"dir/up", true}, {"indir/file", true}, {"indir/sub/file", true}, {"chain/sub/file", true},
	{"outside", false}, {"absolute", false}, {"absoluteinside", false}, {"outdir/secret", false}, {"outdir", false},
	{"indir/../../secret", false}, {"broken", false}, {"loop", false}, {"loop/file", false}, {"dir/far", false},
	{"outandin", false}, {"prefix", false},
}

func makeLinks(t *testing.T, top string) {
	for name, target := range map[string]string{
		"inside": "file", "dir/up": "../file", "indir": "dir", "chain": "indir",
		"outside": "../secret", "outdir": "..", "broken": "none", "loop": "loop", "dir/far": "../../secret",
		"outandin": "../store/file", "prefix": "../storeplus/file",
	} {
		link(t, top, name, target)
	}
	link(t, top, "absolute", filepath.Join(filepath.Dir(top), "secret"))
	link(t, top, "absoluteinside", filepath.Join(top, "file"))
}

// TestOpenStaysInside also checks that the fast path of Open agrees with os.Root.
func TestOpenStaysInside(t *testing.T) {
	r, top := openTree(t)
	makeLinks(t, top)
	for _, c := range openCases {
		f, err := r.Open(c.name)
		plain, plainErr := r.openPlain(c.name)
		if (err == nil) != c.ok || (plainErr == nil) != c.ok {
			t.Errorf("%q: error is %v, of os.Root %v, want success %t", c.name, err, plainErr, c.ok)
		}
		if Missing(err) != Missing(plainErr) || errors.Is(err, fs.ErrNotExist) != errors.Is(plainErr, fs.ErrNotExist) {
			t.Errorf("%q: error is %v, of os.Root %v", c.name, err, plainErr)
		}
		sameStat(t, r, c.name)
		if err != nil || plainErr != nil {
			continue
		}
		same(t, c.name, f, plain)
		if err := errors.Join(f.Close(), plain.Close()); err != nil {
			t.Error(err)
		}
	}
}

// sameStat checks that the fast path of Stat agrees with os.Root.
func sameStat(t *testing.T, r *Root, name string) {
	t.Helper()
	a, err := r.Stat(name)
	b, plainErr := r.statPlain(name)
	if (err == nil) != (plainErr == nil) || Missing(err) != Missing(plainErr) {
		t.Errorf("%q: error is %v, of os.Root %v", name, err, plainErr)
	}
	if a.Mode.Type() != b.Mode.Type() || a.Mode.Perm() != b.Mode.Perm() || a.Version() != b.Version() {
		t.Errorf("%q: %+v, of os.Root %+v", name, a, b)
	}
}

// TestMovedRoot moves an open directory and puts another in its place. Later reads and
// writes are in the directory that was opened.
func TestMovedRoot(t *testing.T) {
	r, top := openTree(t)
	if err := os.Rename(top, top+"-moved"); err != nil {
		t.Skip("open directories cannot be moved here:", err)
	}
	if err := os.Mkdir(top, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := r.Mkdir("new"); err != nil {
		if _, missing := os.Stat("/proc/self/fd"); missing != nil && errors.Is(err, fs.ErrNotExist) {
			t.Skip("nothing leads to a directory that was moved here:", err)
		}
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top+"-moved", "new")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"file", "new"} {
		if _, err := r.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestHasFile(t *testing.T) {
	_, top := openTree(t)
	link(t, top, "inside", "file")
	link(t, top, "broken", "none")
	for names, want := range map[string]bool{
		"file": true, "none file": true, "inside": true, "dir": false, "none": false, "broken": false, "dir broken none": false, "": false,
	} {
		for _, dir := range []string{top, top + string(os.PathSeparator)} {
			if got := HasFile(dir, strings.Fields(names)...); got != want {
				t.Errorf("%q in %s: %t", names, dir, got)
			}
		}
	}
}

// same checks that two ways of opening a file give the same file and status.
func same(t *testing.T, name string, f, g File) {
	t.Helper()
	a, err1 := f.Stat()
	b, err2 := g.Stat()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if a.Mode.Type() != b.Mode.Type() || a.Mode.Perm() != b.Mode.Perm() || a.Version() != b.Version() || !a.SameData(b) {
		t.Errorf("%q: %+v, of os.Root %+v", name, a, b)
	}
	if !a.Mode.IsRegular() {
		return
	}
	for _, off := range []int64{0, 2, 4, 9} {
		var p, q [3]byte
		n, err := f.ReadAt(p[:], off)
		m, plainErr := g.ReadAt(q[:], off)
		if n != m || p != q || err != plainErr {
			t.Errorf("%q at %d: %q and %v, of os.Root %q and %v", name, off, p[:n], err, q[:m], plainErr)
		}
	}
}

func TestWritesStayInside(t *testing.T) {
	r, top := openTree(t)
	makeLinks(t, top)
	for _, name := range []string{"../new", "outdir/new", "absolute/new", "dir/../../new"} {
		if f, err := r.Create(name); err == nil {
			t.Errorf("Create %q: no error", name)
			f.Close()
		}
		for what, err := range map[string]error{
			"Mkdir": r.Mkdir(name), "Rename": r.Rename("file", name), "Touch": r.Touch("outdir/secret", 1),
			"Remove": r.Remove("outdir/secret"), "RemoveDir": r.RemoveDir("outdir/storeplus"),
		} {
			if err == nil {
				t.Errorf("%s %q: no error", what, name)
			}
		}
		if _, err := r.TryLock("outdir/lock"); err == nil {
			t.Error("TryLock: no error")
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(top), "secret")); err != nil {
		t.Error(err)
	}
}

func TestRemoveDir(t *testing.T) {
	r, top := openTree(t)
	link(t, top, "link", "dir")
	if err := r.Mkdir("empty"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "dir", "link", "none"} {
		if err := r.RemoveDir(name); err == nil {
			t.Errorf("RemoveDir %q: no error", name)
		}
	}
	if err := r.RemoveDir("empty"); err != nil {
		t.Error(err)
	}
	if _, err := r.Stat("link/file"); err != nil {
		t.Error(err)
	}
}

func TestMakeRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		r, err := MakeRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTryLock(t *testing.T) {
	r, _ := openTree(t)
	for _, name := range []string{"file", "new", "dir/new"} {
		for range 2 {
			lock, err := r.TryLock(name)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.TryLock(name); !errors.Is(err, ErrLocked) {
				t.Errorf("%s: error is %v, want %v", name, err, ErrLocked)
			}
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := r.TryLock("none/lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want %v", err, fs.ErrNotExist)
	}
}

// TestLockOfRemovedFile removes a lock file while it is held. A program that opened it
// before must not hold its lock as that of the new file.
func TestLockOfRemovedFile(t *testing.T) {
	r, _ := openTree(t)
	var holders, turns atomic.Int32
	turn := func() error {
		lock, err := r.TryLock("lock")
		if errors.Is(err, ErrLocked) {
			return nil
		}
		if err != nil {
			return err
		}
		if n := holders.Add(1); n > 1 {
			err = fmt.Errorf("%d holders at once", n)
		}
		turns.Add(1)
		runtime.Gosched()
		holders.Add(-1)
		return errors.Join(err, r.Remove("lock"), lock.Close())
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for turns.Load() < 400 && errs[i] == nil {
				errs[i] = turn()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Error(err)
	}
}

// TestLockBesideRemoval locks a file that a concurrent holder makes and removes. TryLock
// succeeds or returns ErrLocked. It never reports a missing file.
func TestLockBesideRemoval(t *testing.T) {
	r, top := openTree(t)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for name := filepath.Join(top, "lock"); !done.Load(); {
			_ = os.WriteFile(name, nil, 0o666)
			_ = os.Remove(name)
		}
	})
	for range 10_000 {
		lock, err := r.TryLock("lock")
		if errors.Is(err, errors.ErrUnsupported) {
			t.Log(err)
			break
		}
		if err == nil {
			err = lock.Close()
		}
		if err != nil && !errors.Is(err, ErrLocked) {
			t.Error(err)
			break
		}
	}
	done.Store(true)
	wg.Wait()
}

func TestReadDirInParts(t *testing.T) {
	r, _ := openTree(t)
	const n = 1031 // more than are read at once
	for i := range n {
		f, err := r.Create("dir/sub/" + strings.Repeat("x", 1+i%50) + string(rune('0'+i%10)) + string(rune(0x4e00+i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for _, err := range r.ReadDir("dir/sub") {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	if seen != n+1 {
		t.Errorf("%d entries, want %d", seen, n+1)
	}
	for range r.ReadDir("dir/sub") {
		break
	}
	for _, err := range r.ReadDir("none") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error is %v, want %v", err, fs.ErrNotExist)
		}
	}
}

// walk returns the names that Walk yields, directories with a slash and odd ones
// with a question mark, and its error.
func walk(t *testing.T, tree Tree, dir string, deep bool) (found []string, err error) {
	skip := func(name string, _ bool) Fate {
		if strings.HasSuffix(name, "~") {
			return Hide
		}
		return Take
	}
	for item, err := range Walk(t.Context(), tree, dir, deep, skip) {
		if err != nil {
			return found, err
		}
		if item.Dir {
			item.Name += "/"
		}
		if item.Odd != "" {
			item.Name += "?"
		}
		found = append(found, item.Name)
	}
	slices.Sort(found)
	return found, nil
}

// TestWalk lists directories with links. Those that it does not follow are odd.
func TestWalk(t *testing.T) {
	r, top := openTree(t)
	for name, target := range map[string]string{
		"dir/self": ".", "dir/sub/up": "..", "dir/sub/top": "../..", "inside": "file", "broken": "none", "outside": "../secret",
		"outdir": "..", "loop": "loop",
	} {
		link(t, top, name, target)
	}
	for _, c := range []struct {
		dir  string
		deep bool
		want string
	}{
		{".", false, "broken? dir/ file inside loop? outdir? outside?"},
		{".", true, "broken? dir/file dir/self? dir/sub/file dir/sub/top? dir/sub/up? file inside loop? outdir? outside?"},
		{"dir", false, "dir/file dir/self? dir/sub/"},
		{"none", true, ""},
		{"file", true, ""},
	} {
		got, err := walk(t, r, c.dir, c.deep)
		if err != nil || !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s (deep %t): %q and error %v, want %q", c.dir, c.deep, got, err, c.want)
		}
	}
}

func TestWalkThroughLinks(t *testing.T) {
	r, top := openTree(t)
	link(t, top, "linked", "dir/sub")
	want := []string{"dir/file", "dir/sub/file", "file", "linked/file"}
	if got, err := walk(t, r, ".", true); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q and error %v, want %q", got, err, want)
	}
	// Two directories with links to each other have infinitely many names.
	if err := r.Mkdir("other"); err != nil {
		t.Fatal(err)
	}
	link(t, top, "dir/sub/other", "../../other")
	link(t, top, "other/sub", "../dir/sub")
	if _, err := walk(t, r, ".", true); err == nil || !strings.Contains(err.Error(), "below the symbolic link") {
		t.Errorf("error is %v, want one about a link below a link", err)
	}
}

func TestClosed(t *testing.T) {
	r, _ := openTree(t)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := r.Open("file")
	_, statErr := r.Stat("file")
	for _, err := range []error{err, statErr, r.Mkdir("new"), r.Remove("file")} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("error is %v, want %v", err, fs.ErrClosed)
		}
	}
}

func TestOpenForReadingOnly(t *testing.T) {
	r, _ := openTree(t)
	f, err := r.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("Write: no error")
	}
	if n, err := f.ReadAt(make([]byte, 10), 0); n != 4 || err != io.EOF {
		t.Errorf("ReadAt: %d and %v, want 4 and %v", n, err, io.EOF)
	}
	if runtime.GOOS != "windows" {
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
	}
}

// TestRemoveFollowsNoLink removes links, and names that lead through links. A link itself
// is removed; names behind links are refused.
func TestRemoveFollowsNoLink(t *testing.T) {
	r, top := openTree(t)
	for name, target := range map[string]string{"to-dir": "dir", "to-file": "file", "dir/up": "..", "broken": "none"} {
		link(t, top, name, target)
	}
	if err := r.Mkdir("dir/empty"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"to-dir/file", "dir/up/file", "to-dir/empty", "dir/up/dir/file"} {
		if err := r.Remove(name); !errors.Is(err, ErrLinked) {
			t.Errorf("Remove %q: error is %v, want %v", name, err, ErrLinked)
		}
		if err := r.RemoveDir(name); !errors.Is(err, ErrLinked) {
			t.Errorf("RemoveDir %q: error is %v, want %v", name, err, ErrLinked)
		}
	}
	for _, name := range []string{"file/x", "none/x"} {
		if err := r.Remove(name); !Missing(err) || errors.Is(err, ErrLinked) {
			t.Errorf("Remove %q: error is %v", name, err)
		}
	}
	for _, name := range []string{"to-dir", "to-file", "dir/up", "broken"} {
		if err := r.RemoveDir(name); err == nil {
			t.Errorf("RemoveDir %q: no error for a link", name)
		}
		if err := r.Remove(name); err != nil {
			t.Errorf("Remove %q: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(top, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the link %q is still there: %v", name, err)
		}
	}
	for _, name := range []string{"file", "dir/file", "dir/empty"} {
		if _, err := r.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestReadlink(t *testing.T) {
	r, top := openTree(t)
	link(t, top, "dir/up", "../file")
	if target, err := r.Readlink("dir/up"); target != "../file" || err != nil {
		t.Errorf("it leads to %q, %v", target, err)
	}
	for _, name := range []string{"dir", "file", "none"} {
		if _, err := r.Readlink(name); err == nil {
			t.Errorf("%q counts as a link", name)
		}
	}
}

// TestLink gives files second names in every kind of tree.
func TestLink(t *testing.T) {
	root, _ := openTree(t)
	disk := NewDisk()
	if err := disk.Mkdir("dir"); err != nil {
		t.Fatal(err)
	}
	disk.write(t, "file", "text", true)
	disk.write(t, "dir/file", "text", true)
	free := func(Op) error { return nil }
	for name, f := range map[string]FS{"root": root, "disk": disk, "hooked": Hook(disk, free)} {
		s, err := f.Link("file", "dir/link")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		was, err1 := f.Stat("file")
		is, err2 := f.Stat("dir/link")
		if err := errors.Join(err1, err2); err != nil || !s.SameFile(was) || !s.SameData(was) || s != is {
			t.Errorf("%s: the link is %+v, Link says %+v, the file is %+v; error %v", name, is, s, was, err)
		}
		// As POSIX requires, a rename between names of one file does nothing.
		if err := f.Rename("dir/link", "file"); err != nil {
			t.Errorf("%s: Rename: %v", name, err)
		}
		if _, err := f.Stat("dir/link"); err != nil {
			t.Errorf("%s: after a rename that does nothing: %v", name, err)
		}
		for _, c := range []struct {
			from, to string
			want     error
		}{
			{"file", "dir/file", fs.ErrExist}, {"none", "dir/new", fs.ErrNotExist}, {"file", "none/new", fs.ErrNotExist}, {"dir", "new", nil},
		} {
			if _, err := f.Link(c.from, c.to); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: Link of %s to %s: error is %v, want %v", name, c.from, c.to, err, c.want)
			}
		}
		if err := errors.Join(f.Remove("dir/link")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := f.Stat("file"); err != nil || !now.SameData(was) {
			t.Errorf("%s: without the link, the file is %+v, error %v", name, now, err)
		}
	}
}

// TestShare shares bytes of files where a file system can, and finds out where it cannot.
func TestShare(t *testing.T) {
	root, top := openTree(t)
	if err := os.WriteFile(filepath.Join(top, "src"), []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	plain, sharing := NewDisk(), NewDisk()
	sharing.Shares = true
	plain.write(t, "src", "text", true)
	sharing.write(t, "src", "text", true)
	free := func(Op) error { return nil }
	for name, c := range map[string]struct {
		fs   FS
		open func(string) (File, error)
		can  bool
	}{
		"disk": {plain, plain.Open, false}, "sharing disk": {sharing, sharing.Open, true}, "of another disk": {sharing, plain.Open, false},
		"hooked": {Hook(sharing, free), Hook(sharing, free).Open, true}, "of another tree": {root, plain.Open, false},
		"root": {root, root.Open, false}, "root, as package os": {root, root.openPlain, false},
	} {
		src, err := c.open("src")
		if err != nil {
			t.Fatal(err)
		}
		dst, err := c.fs.Create("dst")
		if err != nil {
			t.Fatal(err)
		}
		err = dst.Share(src)
		st, statErr := dst.Stat()
		// The temporary directory may be on a file system that shares.
		if unknown := c.fs == FS(root) && name != "of another tree"; !unknown && (err == nil) != c.can {
			t.Errorf("%s: error is %v, want one: %t", name, err, !c.can)
		}
		if want := map[bool]int64{true: 4, false: 0}[err == nil]; st.Size != want || statErr != nil {
			t.Errorf("%s: the file has %d bytes, want %d; error %v", name, st.Size, want, statErr)
		}
		if c.fs == FS(root) && src.Share(dst) == nil { // a disk in memory allows more
			t.Errorf("%s: a file that was opened to read takes bytes", name)
		}
		if err := errors.Join(dst.Close(), src.Close(), c.fs.Remove("dst")); err != nil {
			t.Error(err)
		}
	}
}

// copied writes a new file of f, calls copying between two writes, and returns the
// content of the file and the error of the copy.
func copied(t *testing.T, f FS, name string, copying func(dst File) error) ([]byte, error) {
	t.Helper()
	dst, err := f.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := dst.Write([]byte("before "))
	failed := copying(dst)
	_, err2 := dst.Write([]byte(" after"))
	st, err3 := dst.Stat()
	if err := errors.Join(err1, err2, err3, dst.Close()); err != nil {
		t.Fatal(err)
	}
	src, err := f.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	data := make([]byte, st.Size)
	if _, err := src.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data, failed
}

// TestCopyFrom copies parts of files in every way. The results equal those of the plain
// copy.
func TestCopyFrom(t *testing.T) {
	value := make([]byte, copyBuffer+copyBuffer/2)
	for i := range value {
		value[i] = byte(i * 7 >> 3)
	}
	size := int64(len(value))
	root, top := openTree(t)
	if err := os.WriteFile(filepath.Join(top, "src"), value, 0o666); err != nil {
		t.Fatal(err)
	}
	disk := NewDisk()
	disk.write(t, "src", string(value), true)
	free := func(Op) error { return nil }
	ways := map[string]struct {
		fs   FS
		open func(string) (File, error)
		copy func(dst, src File, off, n int64) error
	}{
		"root, fast":          {root, root.Open, File.CopyFrom},
		"root, as package os": {root, root.openPlain, File.CopyFrom},
		"root, plain": {root, root.Open, func(dst, src File, off, n int64) error {
			return copyPlain(dst, src, off, n)
		}},
		"from another tree": {root, disk.Open, File.CopyFrom},
		"disk":              {disk, disk.Open, File.CopyFrom},
		"to a disk":         {disk, root.Open, File.CopyFrom},
		"hooked":            {Hook(root, free), Hook(root, free).Open, File.CopyFrom},
	}
	for name, way := range ways {
		src, err := way.open("src")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			off, n int64
			ends   bool // the source is too short
		}{
			{0, 0, false}, {0, 1, false}, {5, 10, false}, {0, size, false}, {size - 1, 1, false}, {size, 0, false},
			{copyBuffer - 1, copyBuffer / 2, false}, {0, size + 1, true}, {size, 1, true}, {size + 5, 1, true},
			{1, math.MaxInt64 - 1, true}, {math.MaxInt64, 1, true},
		} {
			got, err := copied(t, way.fs, "copy", func(dst File) error { return way.copy(dst, src, c.off, c.n) })
			part := value[min(c.off, size):]
			if !c.ends {
				part = part[:c.n]
			}
			want := "before " + string(part) + " after"
			if string(got) != want || c.ends != errors.Is(err, io.ErrUnexpectedEOF) || !c.ends && err != nil {
				t.Errorf("%s: %d bytes from %d on: %d bytes and error %v, want %d", name, c.n, c.off, len(got), err, len(want))
			}
			if err := way.fs.Remove("copy"); err != nil {
				t.Fatal(err)
			}
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyFails checks failed copies: a part of the bytes is written, and none to a file
// that is open only for reading.
func TestCopyFails(t *testing.T) {
	disk, fault := NewDisk(), errors.New("fault")
	disk.write(t, "src", "0123456789", true)
	hooked := Hook(disk, func(op Op) error {
		if op.Kind == "copy" {
			return fault
		}
		return nil
	})
	src, err := hooked.Open("src")
	if err != nil {
		t.Fatal(err)
	}
	got, err := copied(t, hooked, "copy", func(dst File) error { return dst.CopyFrom(src, 0, 10) })
	if !errors.Is(err, fault) || !bytes.Equal(got, []byte("before 01234 after")) {
		t.Errorf("%q and error %v, want half of it and %v", got, err, fault)
	}
	root, _ := openTree(t)
	for _, open := range []func(string) (File, error){root.Open, root.openPlain} {
		f, err := open("file")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.CopyFrom(f, 0, 1); err == nil {
			t.Error("a file that was opened to read takes a copy")
		}
		f.Close()
	}
}

// BenchmarkCopy copies 64 MiB from file to file, by the kernel and through a buffer.
func BenchmarkCopy(b *testing.B) {
	const size = 64 << 20
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "src"), make([]byte, size), 0o666); err != nil {
		b.Fatal(err)
	}
	root, err := OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	src, err := root.Open("src")
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	for name, copying := range map[string]func(dst, src File, off, n int64) error{
		"CopyFrom": File.CopyFrom,
		"plain":    func(dst, src File, off, n int64) error { return copyPlain(dst, src, off, n) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				dst, err := root.Create("dst")
				if err != nil {
					b.Fatal(err)
				}
				if err := errors.Join(copying(dst, src, 0, size), dst.Close(), root.Remove("dst")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
