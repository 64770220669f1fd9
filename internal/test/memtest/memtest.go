// SPDX-License-Identifier: Apache-2.0

// Package memtest gives tests a store in memory with all its powers as methods, so that
// stores of tests can embed it.
package memtest

import (
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// Store is a store of package memstore.
type Store interface {
	store.Store
	store.Writer
	store.Batcher
	store.Stater
	store.Lister
	store.Opener
	store.Locker
}

// New returns an empty store.
func New() Store { return memstore.New().(Store) }
