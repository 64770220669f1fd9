// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// endless is a store whose values have any length. It notes the longest read.
type endless struct {
	size    int64
	longest int64
	fails   bool // at the end
}

var errEndless = errors.New("the end cannot be read")

func (s *endless) Get(ctx context.Context, _ store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(s.size)
	if err == nil && s.fails && off+n == s.size {
		err = errEndless
	}
	if err != nil {
		return nil, store.Info{}, err
	}
	s.longest = max(s.longest, n)
	dst = append(dst, make([]byte, n)...)
	dst[len(dst)-1] = byte(off + n)
	return dst, store.Info{Size: s.size, Version: store.MakeVersion("1")}, nil
}

// TestGatherHoldsLittle gathers a value that is longer than what is held, and one whose
// end cannot be read.
func TestGatherHoldsLittle(t *testing.T) {
	d := vfs.NewDisk()
	s := filestore.On(d, nil)
	put(t, s, "a/k", "before")
	from := &endless{size: 41<<20 + 3}
	parts := []store.Part{{Data: []byte("head")}, part("v", 1, from.size-1)}
	if _, err := s.Write(t.Context(), store.Gather(store.MustKey("a/k"), from, parts), store.Flush); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Stat(t.Context(), store.MustKey("a/k")); err != nil || info.Size != from.size+3 {
		t.Errorf("the value has %d bytes (%v)", info.Size, err)
	}
	if from.longest > budget.Parts/2 {
		t.Errorf("%d bytes are read at once", from.longest)
	}
	from.fails = true
	put(t, s, "a/k", "before")
	if _, err := s.Write(t.Context(), store.Gather(store.MustKey("a/k"), from, parts), store.Flush); !errors.Is(err, errEndless) {
		t.Errorf("error is %v, want %v", err, errEndless)
	}
	if got := valueOf(t, s, "a/k"); got != "before" {
		t.Errorf("the value has %d bytes", len(got))
	}
	if left := diskNames(d, "a"); !slices.Equal(left, []string{"k"}) {
		t.Errorf("the files are %q", left)
	}
}

// TestGatherCopiesFiles gathers from the files of another store: the kernel copies, and
// no name is given to a file of the other store, which programs may change in place.
func TestGatherCopiesFiles(t *testing.T) {
	filestore.SetShortPart(t, -1)
	dirs := [2]string{t.TempDir(), t.TempDir()}
	stores := [2]*filestore.Store{}
	for i, dir := range dirs {
		s, err := filestore.OpenStore(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close(s)
		stores[i] = s
	}
	put(t, stores[0], "a/k", "0123456789")
	if _, err := stores[1].Write(t.Context(), store.Gather(store.MustKey("k"), stores[0], []store.Part{part("a/k", 0, 10)}), store.Flush); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(filepath.Join(dirs[0], "a", "k"))
	is, err2 := os.Stat(filepath.Join(dirs[1], "k"))
	if err := errors.Join(err, err2); err != nil || os.SameFile(was, is) {
		t.Errorf("the stores share a file (%v)", err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "a", "k"), []byte("in place!!"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := valueOf(t, stores[1], "k"); got != "0123456789" {
		t.Errorf("the value is %q after the source was changed in place", got)
	}
	copies := 0
	hook := func(op vfs.Op) error {
		if op.Kind == "copy" {
			copies++
		}
		return nil
	}
	on := filestore.On(vfs.Hook(vfs.NewDisk(), hook), nil)
	from := filestore.On(onWoven(t), nil)
	if _, err := on.Write(t.Context(), store.Gather(store.MustKey("n"), from, woven), store.Flush); err != nil {
		t.Fatal(err)
	}
	if got := valueOf(t, on, "n"); got != wovenValue || copies != 3 {
		t.Errorf("the value is %q, after %d copies by the file system", got, copies)
	}
}
