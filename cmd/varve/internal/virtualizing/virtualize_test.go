// SPDX-License-Identifier: Apache-2.0

package virtualizing

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// runVirtualize runs the command.
func runVirtualize(t *testing.T, args ...string) {
	t.Helper()
	cmd := NewVirtualize()
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestVirtualizeCopiesGone deletes copies of chunks before the manifest is stored. The
// error does not say that there is another manifest, or another program.
func TestVirtualizeCopiesGone(t *testing.T) {
	dir := filetest.Copied(t, "../../../../virtual/testdata/yearly_padded_0[12].nc")
	at := func(name string) string { return filepath.Join(dir, name) }
	runVirtualize(t, at("yearly_padded_01.nc"), "--concat", "time", "-o", at("old.vz"))
	for _, f := range []*virtualizeFlags{{out: at("new.vz"), concat: "time", copyPadded: true}, {out: at("old.vz"), copyPadded: true, more: true}} {
		cmd := NewVirtualize()
		cmd.SetContext(t.Context())
		s, folder, err := store.OpenLocation(t.Context(), dir, store.Create)
		if err != nil {
			t.Fatal(err)
		}
		path, err := folder.Join(filepath.Base(f.out))
		if err != nil {
			t.Fatal(err)
		}
		c, err := virtual.NewCollector(f.out)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		data := filepath.Join(f.out, "data")
		before, _ := filepath.Glob(data + "/*") // none for a new manifest
		m, err := f.collect(cmd, c, s, path, []string{at("yearly_padded_01.nc"), at("yearly_padded_02.nc")}, new(virtualized))
		if err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(data + "/*")
		if err != nil || len(names) != len(before)+1 {
			t.Fatalf("%s: %q (%v)", f.out, names, err)
		}
		for _, name := range names {
			if !slices.Contains(before, name) {
				err = os.Remove(name)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		err = f.publish(t.Context(), m, s, path)
		if !errors.Is(err, virtual.ErrCopiesGone) || strings.Contains(err.Error(), "already") || strings.Contains(err.Error(), "has added files") {
			t.Errorf("%s: %v", f.out, err)
		}
	}
}
