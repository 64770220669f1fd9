// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strconv"
	"unicode/utf8"

	"varve.dev/zarr/store"
)

// CheckText returns an error unless a key is text, as the names of services are. name is
// that of the key in messages.
func CheckText(key store.Key, name string) error {
	if !utf8.ValidString(key.String()) {
		return fmt.Errorf("%s: %w: the name is not valid UTF-8", strconv.QuoteToASCII(name), store.ErrInvalidKey)
	}
	return nil
}

// CheckWrite returns an error if a store is for reading only, or as [CheckText] does.
func CheckWrite(key store.Key, name string, readOnly bool) error {
	if readOnly {
		return fmt.Errorf("%s: %w: the store was opened for reading", name, fs.ErrPermission)
	}
	return CheckText(key, name)
}

// HasNoCondition reports whether a change that needs a condition has none.
func HasNoCondition(c store.Change) bool {
	return (c.Op == store.OpPutIf || c.Op == store.OpSplice) && !c.If.Absent() && c.If.Version().IsZero()
}

// Maker makes one value of a store.
type Maker interface {
	// Put makes it of bytes.
	Put(ctx context.Context, value []byte) (store.Version, error)
	// Assemble makes it of parts of values of a store.
	Assemble(ctx context.Context, from store.Store, parts []store.Part) (store.Version, error)
	// Fail returns an error with the name of the value.
	Fail(what string, err error) error
}

// Make makes the value of a change of new bytes, or of parts. The service splices no
// values: a value to splice is checked and assembled, and w writes it on the condition
// that it is still of its version.
func Make(ctx context.Context, s store.Store, c store.Change, w Maker) (store.Version, error) {
	switch c.Op {
	case store.OpSplice:
		if err := checkSplice(ctx, s, c); err != nil {
			return store.Version{}, w.Fail("splice", err)
		}
		return w.Assemble(ctx, s, c.Parts)
	case store.OpAssemble:
		return w.Assemble(ctx, s, c.Parts)
	case store.OpGather:
		return w.Assemble(ctx, c.From, c.Parts)
	}
	return w.Put(ctx, c.Value)
}

// checkSplice checks that the value to splice is of its version, and long enough.
func checkSplice(ctx context.Context, s store.Store, c store.Change) error {
	info, err := store.Stat(ctx, s, c.Key)
	if IsMissing(err) || err == nil && info.Version != c.If.Version() {
		return fmt.Errorf("%w: the value to splice is not of version %s", store.ErrConflict, c.If.Version())
	}
	if err == nil {
		_, err = c.Size(info.Size)
	}
	return err
}

// Pages lists the values in dir page by page. prefix begins the names of all objects of
// the store. page yields the entries of the page with a token, and returns the token of
// the next page, "" at the end, and whether the caller wants more. Errors name the place.
func Pages(
	place, prefix string, dir store.Path, page func(prefix, token string, yield func(store.Entry, error) bool) (next string, more bool, err error),
) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		prefix := prefix
		if !dir.IsRoot() {
			prefix += dir.String() + "/"
		}
		for token, more := "", true; more; {
			next, again, err := page(prefix, token, yield)
			if err == nil && again && next != "" && next == token {
				err = errors.New("the service sends the same page again")
			}
			if err != nil {
				yield(store.Entry{}, fmt.Errorf("%s: cannot list %q: %w", place, prefix, err))
				return
			}
			token, more = next, again && next != ""
		}
	}
}
