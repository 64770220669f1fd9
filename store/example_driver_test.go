// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"sync"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// shelf is a complete driver for one writer: it reads, puts, deletes and lists values. It
// has no versions, so callers tell those of one value apart by size alone.
type shelf struct {
	mu     sync.Mutex
	values map[store.Key][]byte
}

// Get implements [store.Store].
func (s *shelf) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, store.Info{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	if !ok {
		return nil, store.Info{}, fmt.Errorf("shelf: %s: %w", key, fs.ErrNotExist)
	}
	off, n, err := q.Resolve(int64(len(value))) // checks the range, and the limit of the caller
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("shelf: %s: %w", key, err)
	}
	return append(dst, value[off:off+n]...), store.Info{Size: int64(len(value))}, nil
}

// Can implements [store.Writer].
func (s *shelf) Can(op store.Op) bool { return op == store.OpPut || op == store.OpDelete }

// Write implements [store.Writer].
func (s *shelf) Write(ctx context.Context, c store.Change, _ store.Durability) (store.Written, error) {
	if err := ctx.Err(); err != nil {
		return store.Written{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c.Op {
	case store.OpPut:
		s.values[c.Key] = append([]byte{}, c.Value...) // a copy: the caller may change its bytes
	case store.OpDelete:
		delete(s.values, c.Key)
	default:
		return store.Written{}, fmt.Errorf("shelf: %s: %w", c.Key, store.ErrUnsupported)
	}
	return store.Written{}, nil
}

// List implements [store.Lister].
func (s *shelf) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(store.Entry{}, err)
			return
		}
		for _, e := range s.entries(dir, how&store.Deep != 0) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// entries returns the entries of a listing. The caller of a listing may write meanwhile.
func (s *shelf) entries(dir store.Path, deep bool) map[string]store.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]store.Entry{}
	for key, value := range s.values {
		if !dir.Contains(key) {
			continue
		}
		name := dir.Rel(key)
		e := store.Entry{Name: name, Size: int64(len(value))}
		if child, _, below := strings.Cut(name, "/"); below && !deep {
			e = store.Entry{Name: child, Dir: true, Size: -1}
		}
		found[e.Name] = e
	}
	return found
}

// Example is a driver. The suite tests it; the test of a driver calls storetest.Run.
func Example() {
	err := storetest.Test(func() (store.Store, error) { return &shelf{values: map[store.Key][]byte{}}, nil })
	fmt.Println(err)
	// Output: <nil>
}
