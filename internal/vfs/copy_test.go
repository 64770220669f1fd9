// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
)

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
