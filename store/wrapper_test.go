// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/observed"
)

// everything is a wrapper with the methods of more powers than most stores have.
type everything struct{ store.Store }

func (e everything) Unwrap() store.Store    { return e.Store }
func (everything) Traits() store.Traits     { return store.Traits{Place: "memory:"} }
func (everything) CheckKey(store.Key) error { return nil }
func (e everything) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, e.Store, key)
}

// onlyGets is a store without any further power.
type onlyGets struct{ store.Store }

func TestAs(t *testing.T) {
	m := memtest.New()
	for name, c := range map[string]struct {
		s                store.Store
		stats, describes bool // has the power to say where it is
		lists, isDriver  bool
	}{
		"driver":                 {s: m, stats: true, lists: true, isDriver: true},
		"wrapped":                {s: everything{m}, stats: true, isDriver: true},
		"wrapped twice":          {s: everything{everything{m}}, stats: true, isDriver: true},
		"less":                   {s: onlyGets{m}},
		"less, wrapped":          {s: everything{onlyGets{m}}},
		"more":                   {s: describer{m}, describes: true},
		"more, wrapped":          {s: everything{describer{m}}, describes: true},
		"more, wrapped and less": {s: onlyGets{everything{describer{m}}}},
	} {
		if _, ok := store.As[store.Stater](c.s); ok != c.stats {
			t.Errorf("%s: a Stater is %t", name, ok)
		}
		if _, ok := store.As[store.Describer](c.s); ok != c.describes {
			t.Errorf("%s: a Describer is %t", name, ok)
		}
		if _, ok := store.As[store.Lister](c.s); ok != c.lists {
			t.Errorf("%s: a Lister is %t", name, ok)
		}
		if _, ok := store.Driver(c.s).(memtest.Store); ok != c.isDriver {
			t.Errorf("%s: the driver is %T", name, store.Driver(c.s))
		}
	}
}

// describer is a store whose only power is Describer.
type describer struct{ store.Store }

func (describer) Traits() store.Traits     { return store.Traits{Place: "here"} }
func (describer) CheckKey(store.Key) error { return nil }

// plainStore has no power but to read.
type plainStore struct{ store.Store }

// TestUnsupportedNames checks that errors name the kind of the store below all wrappers,
// and no Go type.
func TestUnsupportedNames(t *testing.T) {
	for _, s := range []store.Store{&plainStore{}, observed.New(&plainStore{}, nil)} {
		_, err := store.Write(t.Context(), s, store.Put(store.MustKey("k"), nil), store.Flush)
		if !errors.Is(err, store.ErrUnsupported) || strings.ContainsAny(err.Error(), "*") || !strings.Contains(err.Error(), "the store_test store cannot write") {
			t.Error(err)
		}
	}
}
