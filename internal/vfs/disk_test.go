// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// write makes a file, and syncs it if sync is set.
func (d *Disk) write(tb testing.TB, name, data string, sync bool) {
	tb.Helper()
	f, err := d.Create(name)
	if err == nil {
		_, err = f.Write([]byte(data))
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func (d *Disk) syncDir(tb testing.TB, name string) {
	tb.Helper()
	f, err := d.Open(name)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// contents returns the names on a disk with their bytes; a directory is "/".
func (d *Disk) contents() map[string]string {
	out := map[string]string{}
	var visit func(prefix string, n *node)
	visit = func(prefix string, n *node) {
		for name, child := range n.names {
			if child.dir {
				out[prefix+name] = "/"
				visit(prefix+name+"/", child)
				continue
			}
			out[prefix+name] = string(child.data)
		}
	}
	visit("", d.root)
	return out
}

// images returns the fixed images by label.
func (d *Disk) images() map[string]map[string]string {
	out := map[string]map[string]string{}
	for label, image := range d.Images(1, 0) {
		out[label] = image.contents()
	}
	return out
}

func TestImages(t *testing.T) {
	d := NewDisk()
	d.write(t, "safe", "safe bytes", true)
	d.syncDir(t, ".")
	d.write(t, "half", "synced, but not its name", true)
	d.write(t, "loose", "loose bytes", false)
	images := d.images()
	for label, want := range map[string]map[string]string{
		"nothing that was not synced": {"safe": "safe bytes"},
		"everything":                  {"safe": "safe bytes", "half": "synced, but not its name", "loose": "loose bytes"},
		"names without their bytes":   {"safe": "safe bytes", "half": "synced, but not its name", "loose": ""},
		"bytes without their names":   {"safe": "safe bytes"},
		"names with torn bytes":       {"safe": "safe bytes", "half": "synced, but not its name", "loose": "loos"},
		"names with blank bytes":      {"safe": "safe bytes", "half": "synced, but not its name", "loose": strings.Repeat("\x00", 11)},
		"the early half of the names": {"safe": "safe bytes", "half": "synced, but not its name"},
		"the late half of the names":  {"safe": "safe bytes", "loose": ""},
	} {
		if !maps.Equal(images[label], want) {
			t.Errorf("%s: %q, want %q", label, images[label], want)
		}
		delete(images, label)
	}
	if len(images) > 0 {
		t.Errorf("more images: %q", images)
	}
}

// TestLadder writes a value in several ways. Each way is safer than the one before: a
// power cut leaves fewer wrong states.
func TestLadder(t *testing.T) {
	for _, c := range []struct {
		name             string
		syncFile, syncIt bool
		torn, lost       bool
	}{
		{"rename only", false, false, true, true},
		{"sync the file, rename", true, false, false, true},
		{"sync the file, rename, sync the directory", true, true, false, false},
	} {
		d := NewDisk()
		d.write(t, "x", "the old value", true)
		d.syncDir(t, ".")
		d.write(t, "tmp", "the new value", c.syncFile)
		if err := d.Rename("tmp", "x"); err != nil {
			t.Fatal(err)
		}
		if c.syncIt {
			d.syncDir(t, ".")
		}
		torn, lost := false, false
		for _, image := range d.Images(1, 50) {
			got := image.contents()["x"]
			torn = torn || got != "the old value" && got != "the new value"
			lost = lost || got == "the old value"
		}
		if torn != c.torn || lost != c.lost {
			t.Errorf("%s: torn %t, lost %t, want %t and %t", c.name, torn, lost, c.torn, c.lost)
		}
	}
}

func TestDiskErrors(t *testing.T) {
	d := NewDisk()
	d.write(t, "file", "x", false)
	if err := errors.Join(d.Mkdir("dir"), d.Mkdir("dir/sub")); err != nil {
		t.Fatal(err)
	}
	_, exists := d.Create("file")
	_, below := d.Open("file/x")
	for what, c := range map[string]struct{ err, want error }{
		"create what exists":      {exists, fs.ErrExist},
		"mkdir what exists":       {d.Mkdir("dir"), fs.ErrExist},
		"mkdir below nothing":     {d.Mkdir("none/x"), fs.ErrNotExist},
		"mkdir below a file":      {d.Mkdir("file/x"), syscall.ENOTDIR},
		"open below a file":       {below, syscall.ENOTDIR},
		"rename onto a directory": {d.Rename("file", "dir"), syscall.EISDIR},
		"rename nothing":          {d.Rename("none", "x"), fs.ErrNotExist},
		"remove a full directory": {d.Remove("dir"), fs.ErrExist},
		"remove nothing":          {d.Remove("none"), fs.ErrNotExist},
		"remove a file as a dir":  {d.RemoveDir("file"), syscall.ENOTDIR},
		"touch nothing":           {d.Touch("none", 1), fs.ErrNotExist},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error is %v, want %v", what, c.err, c.want)
		}
	}
}

func TestDiskLock(t *testing.T) {
	d := NewDisk()
	for _, note := range []string{"longer", "one"} {
		f, err := d.TryLock("lock")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.TryLock("lock"); !errors.Is(err, ErrLocked) {
			t.Errorf("error is %v, want %v", err, ErrLocked)
		}
		if _, err := io.WriteString(f, note); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := d.contents(); !maps.Equal(got, map[string]string{"lock": "oneger"}) {
		t.Errorf("the disk holds %q", got)
	}
	if _, err := d.TryLock("none/lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want %v", err, fs.ErrNotExist)
	}
}

func TestHook(t *testing.T) {
	d := NewDisk()
	var kinds []string
	h := Hook(d, func(op Op) error { kinds = append(kinds, op.Kind); return nil })
	f, err := h.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := f.Write([]byte("text"))
	_, err2 := f.Stat()
	_, err3 := f.ReadAt(make([]byte, 4), 0)
	_, err4 := h.Stat("a")
	_, err5 := h.Open("a")
	lock, err6 := h.TryLock("a")
	for range h.ReadDir(".") {
	}
	if err := errors.Join(err1, err2, err3, err4, err5, err6, f.Sync(), lock.Close(), h.Touch("a", 1), h.Rename("a", "b"),
		h.Mkdir("c"), h.Remove("b"), h.RemoveDir("c"), f.Close(), h.Close()); err != nil {
		t.Error(err)
	}
	want := strings.Fields("create write fstat read stat open lock readdir sync touch rename mkdir remove removedir")
	if !slices.Equal(kinds, want) {
		t.Errorf("operations are %q, want %q", kinds, want)
	}
}

// TestHookStops fails each operation of a list once, and checks that it has no effect.
func TestHookStops(t *testing.T) {
	fault := errors.New("fault")
	d := NewDisk()
	d.write(t, "a", "x", true)
	before, failed := FailAt(0, fault)
	if _, err := Hook(d, before).Create("b"); !errors.Is(err, fault) || !failed() {
		t.Errorf("error is %v, want %v", err, fault)
	}
	for name, op := range map[string]func(h FS) error{
		"open":      func(h FS) error { _, err := h.Open("a"); return err },
		"stat":      func(h FS) error { _, err := h.Stat("a"); return err },
		"readlink":  func(h FS) error { _, err := h.Readlink("a"); return err },
		"lock":      func(h FS) error { _, err := h.TryLock("a"); return err },
		"mkdir":     func(h FS) error { return h.Mkdir("m") },
		"touch":     func(h FS) error { return h.Touch("a", 7) },
		"rename":    func(h FS) error { return h.Rename("a", "r") },
		"remove":    func(h FS) error { return h.Remove("a") },
		"removedir": func(h FS) error { return h.RemoveDir("a") },
		"readdir": func(h FS) (err error) {
			for _, err = range h.ReadDir(".") {
			}
			return err
		},
	} {
		stop, stopped := StopAt(0)
		if err := op(Hook(d, stop)); !errors.Is(err, ErrStopped) || !stopped() {
			t.Errorf("%s: error is %v, want %v", name, err, ErrStopped)
		}
	}
	if got := d.contents(); !maps.Equal(got, map[string]string{"a": "x"}) {
		t.Errorf("the disk holds %q", got)
	}
}

// TestDurableStays writes at random. Every image has the bytes and names that were
// synced.
func TestDurableStays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d, durable := NewDisk(), map[string]string{}
		for i := range rapid.IntRange(1, 12).Draw(r, "writes") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "name")
			data := strings.Repeat(string(rune('A'+i)), 6)
			d.write(t, "tmp", data, true)
			if err := d.Rename("tmp", name); err != nil {
				r.Fatal(err)
			}
			delete(durable, name)
			if rapid.Bool().Draw(r, "sync") {
				d.syncDir(t, ".")
				for name, data := range d.contents() {
					durable[name] = data
				}
			}
		}
		for label, image := range d.Images(rapid.Uint64().Draw(r, "seed"), 5) {
			got := image.contents()
			for name, data := range durable {
				if got[name] != data {
					r.Fatalf("%s: %s is %q, want %q", label, name, got[name], data)
				}
			}
		}
	})
}

func TestModified(t *testing.T) {
	for _, c := range []struct {
		mtime, ctime int64
		want         time.Time
	}{
		{0, 0, time.Time{}}, {5, 0, time.Unix(0, 5)}, {0, 7, time.Unix(0, 7)}, {5, 7, time.Unix(0, 7)}, {9, 7, time.Unix(0, 9)},
	} {
		if got := (Stat{Mtime: c.mtime, Ctime: c.ctime}).Modified(); !got.Equal(c.want) {
			t.Errorf("%d and %d: %v, want %v", c.mtime, c.ctime, got, c.want)
		}
	}
}
