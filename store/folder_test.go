// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestRegisterFolder opens locations with several folders that could show something. Each
// is asked, in order, until one does, with the folder that it is in.
func TestRegisterFolder(t *testing.T) {
	var asked []string
	shown := memstore.New()
	open := func(_ context.Context, folder, name string, _ store.Access) (store.Store, error) {
		asked = append(asked, folder+"|"+name)
		if name != "real.shown" {
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return shown, nil
	}
	store.RegisterFolder(".shown", open)
	store.RegisterFolder(".well.shown", func(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
		return open(ctx, folder, "well:"+name, access)
	})
	plain := memstore.New()
	store.Register("folders", func(context.Context, string, store.Access) (store.Store, store.Path, error) {
		return plain, store.Path{}, nil
	})
	for location, want := range map[string]struct {
		found store.Store
		path  string
		asked []string
	}{
		"folders://host/real.shown/x/y":              {shown, "x/y", []string{"folders://host|real.shown"}},
		"folders://host/a.shown/b/real.shown/x?q=1":  {shown, "x", []string{"folders://host?q=1|a.shown", "folders://host/a.shown/b?q=1|real.shown"}},
		"folders://host/real.shown/b.shown":          {shown, "b.shown", []string{"folders://host|real.shown"}},
		"folders://host/a.shown/b.well.shown":        {plain, "", []string{"folders://host|a.shown", "folders://host/a.shown|well:b.well.shown"}},
		"folders://host.shown/.shown/shown/x":        {plain, "", nil},
		"/real.shown":                                {shown, "", []string{"/|real.shown"}},
		"real.shown/":                                {shown, "", []string{"|real.shown"}},
		"one.shown/two.shown/three.shown/real.shown": {shown, "", []string{"|one.shown", "one.shown|two.shown", "one.shown/two.shown|three.shown", "one.shown/two.shown/three.shown|real.shown"}},
	} {
		asked = nil
		s, path, err := store.OpenLocation(t.Context(), location, store.ReadOnly)
		if err != nil || s != want.found || path.String() != want.path || !slices.Equal(asked, want.asked) {
			t.Errorf("%s: %T, %q (%v), after %q, want %q", location, s, path, err, asked, want.asked)
		}
		if asked = nil; location[:7] != "folders" {
			continue
		}
		if s, _, err := store.OpenPlain(t.Context(), location, store.ReadOnly); err != nil || s != plain || asked != nil {
			t.Errorf("%s as it is: %T (%v), after %q", location, s, err, asked)
		}
	}
}
