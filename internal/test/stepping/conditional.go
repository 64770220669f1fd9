// SPDX-License-Identifier: Apache-2.0

package stepping

import (
	"context"
	"iter"

	"varve.dev/zarr/store"
)

// ObjectStore has the powers of an object store, which puts and deletes values, also on
// conditions. It has no locks, and no way to make several changes atomic. A store in
// memory has these powers and more.
type ObjectStore interface {
	store.Store
	store.Stater
	store.Writer
	store.Lister
}

// Op is one operation of a store.
type Op struct {
	Name string    // the method, such as "PutIf"
	Key  store.Key // its key; for List the directory, zero for the root
}

// String describes the operation, such as "PutIf a/zarr.json".
func (o Op) String() string { return o.Name + " " + o.Key.String() }

// Hooks are called around each operation of a store, on the goroutine of the operation.
// Either may be nil. They may wait, so that a test can delay one client while others go
// on.
type Hooks struct {
	// Before is called before an operation. If it returns an error, the operation does
	// not happen and returns that error.
	Before func(ctx context.Context, op Op) error
	// After is called with the result of an operation. The caller gets the result of
	// After. So After can return an error to simulate a lost response.
	After func(op Op, err error) error
}

// Conditional returns a small object store: s with the powers of an [ObjectStore], and
// those of a [store.Drafter] if it has them, and no others, and with hooks. Every
// operation is one step. A listing is complete when it begins, and is one step too.
func Conditional(s ObjectStore, h Hooks) ObjectStore {
	if _, drafts := s.(store.Drafter); drafts {
		return drafting{hooked{s, h}}
	}
	return hooked{s, h}
}

type hooked struct {
	s ObjectStore
	h Hooks
}

// do runs act between the hooks.
func (h hooked) do(ctx context.Context, name string, key store.Key, act func() error) error {
	op := Op{name, key}
	if h.h.Before != nil {
		if err := h.h.Before(ctx, op); err != nil {
			return err
		}
	}
	err := act()
	if h.h.After != nil {
		err = h.h.After(op, err)
	}
	return err
}

func (h hooked) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) (out []byte, i store.Info, err error) {
	err = h.do(ctx, "Get", key, func() (err error) {
		out, i, err = h.s.Get(ctx, key, q, dst)
		return err
	})
	if err != nil {
		return nil, store.Info{}, err
	}
	return out, i, nil
}

func (h hooked) Stat(ctx context.Context, key store.Key) (i store.Info, err error) {
	err = h.do(ctx, "Stat", key, func() (err error) {
		i, err = h.s.Stat(ctx, key)
		return err
	})
	if err != nil {
		return store.Info{}, err
	}
	return i, nil
}

// names are the operations of the changes.
var names = [...]string{store.OpPut: "Put", store.OpPutIf: "PutIf", store.OpDelete: "Delete", store.OpDeleteIf: "DeleteIf"}

func (h hooked) Can(op store.Op) bool { return op <= store.OpDeleteIf && h.s.Can(op) }

func (h hooked) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	if !h.Can(c.Op) {
		return made, store.ErrUnsupported
	}
	err = h.do(ctx, names[c.Op], c.Key, func() (err error) {
		made, err = h.s.Write(ctx, c, d)
		return err
	})
	if err != nil {
		return store.Written{}, err
	}
	return made, nil
}

func (h hooked) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		// List everything before the caller gets an entry, so that the listing is one
		// step.
		var entries []store.Entry
		err := h.do(ctx, "List", dir.AsKey(), func() error {
			for e, err := range h.s.List(ctx, dir, how) {
				if err != nil {
					return err
				}
				entries = append(entries, e)
			}
			return nil
		})
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// drafting is a [hooked] store with drafts.
type drafting struct{ hooked }

// Draft implements [store.Drafter].
func (s drafting) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (made store.Draft, err error) {
	err = s.do(ctx, "Draft", key, func() (err error) {
		made, err = s.s.(store.Drafter).Draft(ctx, key, value, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &draft{made, s.hooked, key}, nil
}

// Revoke implements [store.Drafter].
func (s drafting) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(*draft); ok {
		keep = d.Draft
	}
	return s.do(ctx, "Revoke", key, func() error { return s.s.(store.Drafter).Revoke(ctx, key, keep) })
}

// draft is a draft whose publication is one step. Discarding it is none: it changes
// nothing that others see.
type draft struct {
	store.Draft
	s   hooked
	key store.Key
}

// Publish implements [store.Draft].
func (d *draft) Publish(ctx context.Context, cond store.Condition) (v store.Version, err error) {
	err = d.s.do(ctx, "Publish", d.key, func() (err error) {
		v, err = d.Draft.Publish(ctx, cond)
		return err
	})
	if err != nil {
		return store.Version{}, err
	}
	return v, nil
}
