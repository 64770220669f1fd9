// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// TestKind checks the kinds of errors, above all of those that wrap several errors.
func TestKind(t *testing.T) {
	on := func(err error) error { return &zarr.Error{Op: "write", Path: "a", Axis: -1, Err: err} }
	full := &fs.PathError{Op: "write", Path: "c/0", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want zarr.Kind
	}{
		{context.Canceled, "canceled"},
		{on(fmt.Errorf("chunk: %w", context.Canceled)), "canceled"},
		{errors.Join(context.Canceled, on(context.Canceled)), "canceled"},
		{errors.Join(context.Canceled, errors.New("EIO")), "io"},
		{errors.Join(on(full), context.Canceled), "no-space"},
		{fmt.Errorf("%w: %w", context.Canceled, syscall.EDQUOT), "no-space"},
		{fmt.Errorf("%w: %w", zarr.ErrDecided, context.Canceled), "decided"},
		{fmt.Errorf("%w: %w", zarr.ErrOutcomeUnknown, context.Canceled), "outcome-unknown"},
		{context.DeadlineExceeded, "timeout"},
		{on(os.ErrDeadlineExceeded), "timeout"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}, "timeout"},
		{syscall.EAGAIN, "io"},
		{fmt.Errorf("%w: zarr.json", zarr.ErrSourceChanged), "source-changed"},
		{zarr.ErrConflict, "conflict"},
		{errors.New("broken"), "io"},
	} {
		if got := zarr.KindOf(c.err); got != c.want {
			t.Errorf("%v is %q, want %q", c.err, got, c.want)
		}
	}
	if !errors.Is(zarr.ErrSourceChanged, zarr.ErrConflict) {
		t.Error("ErrSourceChanged is not a conflict")
	}
}

// TestUnsupported checks that zarr.ErrUnsupported is found in the error of each public
// package, and that the table names all of them.
func TestUnsupported(t *testing.T) {
	of := map[string]error{
		".": zarr.ErrUnsupported, "cf/calendar": calendar.ErrUnsupported, "codec": codec.ErrUnsupported, "dtype": dtype.ErrUnsupported,
		"grid": grid.ErrUnsupported, "metadata": metadata.ErrUnsupported, "store": store.ErrUnsupported,
		"virtual/scan": scan.ErrUnsupported,
	}
	root := os.DirFS(filepath.Join("..", "..", ".."))
	declares := regexp.MustCompile(`(?m)^(var |\t)ErrUnsupported( error)? += `)
	found := map[string]bool{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		// Module columnar knows nothing of Zarr. The command gives its errors a kind.
		if name == "columnar" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.Contains(name, "internal/") {
			return err
		}
		source, err := fs.ReadFile(root, name)
		if declares.Match(source) {
			found[path.Dir(name)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range found {
		switch err := of[name]; {
		case err == nil:
			t.Errorf("%s declares ErrUnsupported; add it to the test", name)
		case !errors.Is(err, zarr.ErrUnsupported), zarr.KindOf(fmt.Errorf("reading: %w", err)) != "unsupported":
			t.Errorf("%s: %v is of kind %q", name, err, zarr.KindOf(err))
		}
	}
	if len(found) != len(of) {
		t.Errorf("found %v", found)
	}
}
