// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// target is what the ways around a missing power write to: a store, or a batch.
type target interface {
	Can(op Op) bool
	Write(ctx context.Context, c Change) (Written, error)
}

// single is a store as a target.
type single struct {
	w Writer
	d Durability
}

func (t single) Can(op Op) bool { return t.w.Can(op) }
func (t single) Write(ctx context.Context, c Change) (Written, error) {
	return t.w.Write(ctx, c, t.d)
}

// around makes a change that a store cannot make: it reads from s, and writes to t in
// another way.
func around(ctx context.Context, t target, s Store, c Change) (Written, error) {
	needs := OpPut
	switch c.Op {
	case OpSplice:
		needs = OpPutIf
	case OpCopy, OpClone, OpAssemble:
	default:
		needs = c.Op
	}
	if !t.Can(needs) {
		return Written{}, unsupported(s, needs.verb())
	}
	var value []byte
	var made Written
	var err error
	switch c.Op {
	case OpSplice:
		if value, err = splice(ctx, s, c); err != nil {
			return Written{}, err
		}
		return t.Write(ctx, PutIf(c.Key, value, c.If).Telling(c.Tell))
	case OpClone:
		// A copy to itself would look like the write of another writer.
		if t.Can(OpCopy) && c.Key != c.Source {
			made, err := cloneByCopy(ctx, t, s, c)
			if !isUnsupported(err) {
				return made, err
			}
		}
		value, made, err = cloned(ctx, s, c)
	case OpCopy:
		value, _, err = c.From.Get(ctx, c.Source, Request{Limit: c.Limit}, nil)
		made.Size = int64(len(value))
	case OpAssemble:
		value, err = gather(ctx, s, c.Parts, c.Limit, nil)
	}
	if err != nil {
		return Written{}, err
	}
	put, err := t.Write(ctx, Put(c.Key, value).Telling(c.Tell))
	if err != nil {
		return Written{}, err
	}
	if made.Version = put.Version; c.Op == OpClone && c.Key == c.Source {
		made.Source = put.Version
	}
	return made, nil
}

// isUnsupported reports whether a store has refused a change that it cannot make.
func isUnsupported(err error) bool { return errors.Is(err, ErrUnsupported) }

// cloneByCopy lets the store copy the value, and compares the version of the source
// before and after.
func cloneByCopy(ctx context.Context, t target, s Store, c Change) (Written, error) {
	before, err := Stat(ctx, s, c.Source)
	if err := isFrom(c.Source, c.SourceVersion, before, err); err != nil {
		return Written{}, err
	}
	made, err := t.Write(ctx, Copy(c.Key, s, c.Source))
	if err := isFrom(c.Source, before.Version, before, err); err != nil {
		return Written{}, err
	}
	// A concurrent writer may have replaced or deleted the source before it was copied.
	after, err := Stat(ctx, s, c.Source)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !after.Same(before) {
		err = replaced(c.Source)
	}
	if err != nil {
		return Written{}, err
	}
	return Written{Version: made.Version, Source: after.Version, Size: made.Size, Moved: made.Size}, nil
}

// cloned reads the source of a clone, and returns what the clone will be, without the new
// version.
func cloned(ctx context.Context, s Store, c Change) ([]byte, Written, error) {
	value, info, err := s.Get(ctx, c.Source, Request{Limit: c.Limit}, nil)
	if err := isFrom(c.Source, c.SourceVersion, info, err); err != nil {
		return nil, Written{}, err
	}
	return value, Written{Source: info.Version, Size: info.Size, Moved: info.Size}, nil
}

// isFrom returns [ErrConflict] if a value that was read as info, or could not be read for
// err, is not of version from. A zero from permits any. It returns other errors as they
// are.
func isFrom(key Key, from Version, info Info, err error) error {
	switch {
	case from.IsZero():
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted", ErrConflict, key)
	case err == nil && info.Version != from:
		return replaced(key)
	}
	return err
}

// splice returns the value that a splice makes.
func splice(ctx context.Context, s Store, c Change) ([]byte, error) {
	if c.If.Version().IsZero() { // a part would permit any version
		return nil, replaced(c.Key)
	}
	return gather(ctx, s, c.Parts, c.Limit, func(info Info) error {
		_, err := c.Size(info.Size)
		return err
	})
}
