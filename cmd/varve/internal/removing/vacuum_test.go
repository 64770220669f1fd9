// SPDX-License-Identifier: Apache-2.0

package removing

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/virtualizing"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// virtualize runs the command.
func virtualize(t *testing.T, args ...string) {
	t.Helper()
	cmd := virtualizing.NewVirtualize()
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// ahead is a store whose clock is two days ahead of that of this machine.
type ahead struct{ filetest.Store }

func (s *ahead) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := s.Store.Stat(ctx, key)
	if strings.Contains(key.String(), "/clock/") {
		info.Modified = info.Modified.Add(48 * time.Hour)
	}
	return info, err
}

// TestVacuumAsksFirst vacuums a manifest where the grace of values has ended by the clock
// of the store, but not by the one that a dry run goes by. Nothing is deleted that nobody
// was asked about.
func TestVacuumAsksFirst(t *testing.T) {
	dir := filetest.Copied(t, "../../../../virtual/testdata/epochs_days_*.nc")
	at := func(name string) string { return filepath.Join(dir, name) }
	virtualize(t, at("epochs_days_01.nc"), "--concat", "time", "-o", at("e.vz"))
	virtualize(t, at("epochs_days_02.nc"), "--append", "-o", at("e.vz"))
	home, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := func() []string {
		names, err := filepath.Glob(at("e.vz/*/*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	before := values()
	path, err := store.ParsePath("e.vz")
	if err != nil {
		t.Fatal(err)
	}
	f := &node.ManifestFolder{Store: &ahead{home.(filetest.Store)}, Path: path}
	for _, yes := range []bool{false, true} {
		cmd, out := NewVacuum(), new(strings.Builder)
		cmd.SetContext(t.Context())
		cmd.SetOut(out)
		v := &vacuuming{grace: 24 * time.Hour, yes: yes}
		if err := v.vacuumManifest(cmd, at("e.vz"), f); err != nil {
			t.Fatal(err)
		}
		kept := strings.Contains(out.String(), "2 values superseded") && strings.Contains(out.String(), "kept: readers may still use them")
		if slices.Equal(values(), before) == yes || kept == yes {
			t.Errorf("--yes %v: %q, %s", yes, values(), out)
		}
	}
}
