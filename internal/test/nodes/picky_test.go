// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// picky is a store that does not hold every name, as object stores do not hold long ones.
type picky struct{ memtest.Store }

// Traits implements [store.Describer].
func (picky) Traits() store.Traits { return store.Traits{} }

// CheckKey implements [store.Describer].
func (picky) CheckKey(key store.Key) error {
	if strings.Contains(key.String(), "long") {
		return fmt.Errorf("%w: %s is too long", store.ErrInvalidKey, key)
	}
	return nil
}

// TestCreateChecksKeys creates nodes with names that the place does not hold. Nothing is
// stored or deleted, neither of the groups above them nor of other nodes.
func TestCreateChecksKeys(t *testing.T) {
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int8, Chunks: grid.Chunks(2)}
	for _, format := range []int{2, 3} {
		for _, overwrite := range []bool{false, true} {
			opt := &zarr.CreateOptions{Format: format, Overwrite: overwrite}
			for name, create := range map[string]func(l *zarr.Location) error{
				"an array": func(l *zarr.Location) error {
					_, err := l.At("g/long").CreateArray(t.Context(), spec, opt)
					return err
				},
				"a group": func(l *zarr.Location) error {
					_, err := l.At("g/h/long").CreateGroup(t.Context(), nil, opt)
					return err
				},
				"several nodes": func(l *zarr.Location) error {
					_, err := l.Create(t.Context(), map[string]zarr.NodeSpec{"a": spec, "g/h": zarr.GroupSpec{}, "g/long": spec}, opt)
					return err
				},
			} {
				s := picky{memtest.New()}
				l := zarr.At(s, "")
				if _, err := l.At("a").CreateArray(t.Context(), spec, &zarr.CreateOptions{Format: format}); err != nil {
					t.Fatal(err)
				}
				before := keysOf(t, s)
				if err := create(l); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), " is too long") {
					t.Errorf("format %d: %s: %v", format, name, err)
				}
				if after := keysOf(t, s); after != before {
					t.Errorf("format %d: %s: %s, and before %s", format, name, after, before)
				}
			}
		}
	}
}

// keysOf lists the keys of a store.
func keysOf(t *testing.T, s store.Store) string {
	t.Helper()
	var keys []string
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Name)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}
