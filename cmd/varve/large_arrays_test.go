// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/racing"
)

// hugeNode returns an array of 10^18 chunks, of which two are stored.
func hugeNode(t *testing.T, shape, chunks string, stored ...string) string {
	t.Helper()
	node := newNode(t, "--shape", shape, "--chunks", chunks, "--dtype", "int32")
	for _, sel := range stored {
		must(t, "", "write", node, "--select", sel, "--value", "7")
	}
	return node
}

// TestHuge runs every command on arrays of far too many chunks to visit each of them.
func TestHuge(t *testing.T) {
	commands := []struct {
		args   string // NODE is the array, and DIR a directory
		status int
		says   string // on standard output, or on standard error after a failure
	}{
		{"info --stats NODE", 0, "stored      2 of"},
		{"tree NODE", 0, "int32"},
		{"ls NODE", 0, "int32"},
		{"grid NODE", 0, "10^"},
		{"cat NODE", 0, "…"},
		{"check NODE", 0, "2 stored chunks"},
		{"check --complete NODE", 1, "limit exceeded"},
		{"bench NODE --seconds 0.01", 0, "Bound by"},
		{"equal NODE NODE", 0, ""},
		{"copy NODE DIR/copy.zarr", 0, "2 stored values"},
		{"equal NODE DIR/copy.zarr", 0, ""},
		{"convert NODE DIR/v2.zarr --to 2 --dry-run", 0, "1 array"}, // nameless axes: the fill value stays

		{"unlock NODE", 0, ""},
		{"append NODE DIR/copy.zarr", 1, "of which 2 are stored"},
		{"write NODE DIR/copy.zarr", 1, "of which 2 are stored"},
		{"write NODE --value 1", 1, "select a part"},
		{"write NODE --value 1 --dry-run", 1, "select a part"},
		{"write NODE --value 0 --dry-run", 0, "2 chunks: 34 B"},
		{"write NODE --value 0 --yes", 0, ""},
		{"info --stats NODE", 0, "stored      0 of"},
		{"resize NODE --shape SMALL --yes", 0, ""},
	}
	for small, node := range map[string]string{
		"10":    hugeNode(t, "1000000000000000000", "[1]", "5", "999999999999999999"),
		"10,10": hugeNode(t, "1000000000,1000000000", "[1,1]", "5,5", "7,999999999"),
	} {
		named := strings.NewReplacer("NODE", node, "DIR", t.TempDir(), "SMALL", small)
		for _, c := range commands {
			out, errs, status := withDeadline(t, strings.Fields(named.Replace(c.args))...)
			said := out
			if c.status != 0 {
				said = errs
			}
			if status != c.status || !strings.Contains(said, c.says) {
				t.Errorf("%s: status %d, %s%s", c.args, status, out, errs)
			}
		}
	}
}

// withDeadline runs a command, and stops it if it does not end.
func withDeadline(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	status = run(ctx, args, console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return out.String(), errs.String(), status
}

// TestHugeStream checks that the output of such an array begins at once, and ends with a
// signal.
func TestHugeStream(t *testing.T) {
	racing.Skip(t)
	node := hugeNode(t, "1000000000000000000", "[1]", "5")
	for _, args := range [][]string{
		{"export", node, "--format", "raw"}, {"conformance", "--array_path", node},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		out := &alarm{at: func() { cancel(&console.Interrupt{Signal: syscall.SIGINT}) }}
		var errs bytes.Buffer
		if status := run(ctx, args, console.Streams{In: strings.NewReader(""), Out: out, Err: &errs}); status != 130 {
			t.Errorf("%q: status %d, %s", args, status, errs.String())
		}
	}
}

// alarm calls a function with the first bytes that are written to it.
type alarm struct{ at func() }

func (w *alarm) Write(p []byte) (int, error) {
	w.at()
	return len(p), nil
}

// TestHasRoom refuses a file that is larger than the free space.
func TestHasRoom(t *testing.T) {
	ctx, node := t.Context(), newNode(t, "--shape", "1000", "--dtype", "int32")
	a, err := zarr.OpenArray(ctx, node, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s, err := source.New(ctx, a, "", false)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		f     export.Format
		room  int64
		known bool
		fits  bool
	}{
		{export.Raw, 3999, true, false}, {export.Raw, 4000, true, true}, {export.Raw, 0, false, true},
		{export.NPY, 4000, true, false}, {export.CSV, 1999, true, false}, {export.CSV, 2000, true, true},
	} {
		err := format.CheckRoom(s, file, c.f, func(string) (int64, bool) { return c.room, c.known })
		if (err == nil) != c.fits || !c.fits && (!errors.Is(err, syscall.ENOSPC) || zarr.KindOf(err) != "no-space") {
			t.Errorf("%v: %v", c, err)
		}
	}
}
