// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Ledger records the changes of a rehearsal. The zero Ledger is empty. It is safe for
// concurrent use.
type Ledger struct {
	mu      sync.Mutex
	entries map[store.Key]*entry
	writes  int64
	unread  Unread
	kept    int64       // bytes of the values in order
	order   []store.Key // values that may be dropped, oldest first
}

// Change is the change of one value.
type Change struct {
	Key    store.Key
	Before int64 // bytes in the store, -1 if it has no such value
	After  int64 // bytes after the change, -1 if the value is deleted
}

// IsDocument reports whether the value is a metadata document.
func (c Change) IsDocument() bool { return nodename.IsDocument(c.Key.Base()) }

// IsChunk reports whether the value is a chunk: neither a metadata document nor an object
// that Varve keeps for itself, such as a journal.
func (c Change) IsChunk() bool { return !stays(c.Key) }

// entry is one value after the changes so far.
type entry struct {
	info   store.Info
	data   []byte
	before int64 // bytes in the store below, -1 if it has no such value
	exists bool
	kept   bool  // the ledger can return the value
	held   int64 // bytes in memory, for data or part
	// part appends bytes of a value that is not in data. It is nil if the value was
	// dropped.
	part func(ctx context.Context, off, n int64, dst []byte) ([]byte, error)
}

// Unread counts values that the change would read and write, but that the rehearsal does
// not read, because its results do not depend on them ([Store.Rework]). Sizes are in
// bytes.
type Unread struct {
	Values int64 // values that would be rewritten
	Stored int64 // their present size
	Coded  int64 // that would be decoded, and encoded again
}

// Unread returns the counts of values that the rehearsal did not read.
func (l *Ledger) Unread() Unread {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unread
}

// mostEntries is the largest number of values that a rehearsal can change. Each takes a
// few hundred bytes of memory.
var mostEntries = 1 << 22

// ErrFull means that a rehearsal would change more than 2^22 values. Try a part of the
// change.
var ErrFull = errors.New("too many values would change for a dry run: try a part of the change")

// mostKept is the number of bytes of values, other than documents, that are kept.
const mostKept = 256 << 20

var errDropped = errors.New("the dry run has dropped this value from memory and cannot read it again")

// Changes returns the differences from the store, in the order of keys. It omits values
// that were created and deleted again. A value that is rewritten counts as changed.
func (l *Ledger) Changes() []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Change
	for key, e := range l.entries {
		c := Change{key, e.before, -1}
		if e.exists {
			c.After = e.info.Size
		}
		if c.Before >= 0 || c.After >= 0 {
			list = append(list, c)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Key.String() < list[j].Key.String() })
	return list
}

// find returns the entry of a key, and reports whether the rehearsal has changed it. If
// it was deleted, the error is [fs.ErrNotExist].
func (l *Ledger) find(ctx context.Context, key store.Key) (e entry, changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, changed := l.entries[key]
	if !changed {
		return e, false, nil
	}
	if err := ctx.Err(); err != nil {
		return e, true, err
	}
	if !p.exists {
		return e, true, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return *p, true, nil
}

// read appends the bytes that q selects to dst.
func (e entry) read(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(e.info.Size)
	switch {
	case err != nil:
	case e.kept:
		return append(dst, e.data[off:off+n]...), nil
	case e.part != nil:
		dst, err = e.part(ctx, off, n, dst)
	default:
		err = errDropped
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return dst, nil
}

// stays reports whether a value is never dropped: it is a document, or an object below a
// directory that Varve reserves, such as a chunk set aside.
func stays(key store.Key) bool {
	return nodename.IsDocument(key.Base()) || own.IsBelow(key.String())
}

// put makes data the value of a key. The caller holds the lock.
func (l *Ledger) put(key store.Key, data []byte, was int64) (store.Version, error) {
	n := int64(len(data))
	return l.change(key, &entry{
		info: store.Info{Size: n}, data: slices.Clone(data), before: was, exists: true, kept: true, held: n,
	})
}

// change makes e the entry of a key, and returns its version. The caller holds the lock.
func (l *Ledger) change(key store.Key, e *entry) (store.Version, error) {
	if l.entries == nil {
		l.entries = map[store.Key]*entry{}
	}
	old := l.entries[key]
	if old == nil && len(l.entries) >= mostEntries {
		return store.Version{}, fmt.Errorf("rehearsal: %s: %w", quantity.Count(mostEntries, "values"), ErrFull)
	}
	if e.exists {
		l.writes++
		e.info.Version = store.MakeVersion("rehearsal-" + strconv.FormatInt(l.writes, 10))
		e.info.Modified = time.Now()
	}
	// The bytes of the superseded version are no longer held.
	if old != nil && old.held > 0 && !stays(key) {
		l.order = slices.DeleteFunc(l.order, func(k store.Key) bool { return k == key })
		l.kept -= old.held
	}
	l.entries[key] = e
	if e.held > 0 && !stays(key) {
		l.order = append(l.order, key)
		l.kept += e.held
	}
	// Drop the oldest values, but never the latest, even if it exceeds the limit.
	for l.kept > mostKept && len(l.order) > 1 {
		l.drop(l.order[0])
		l.order = l.order[1:]
	}
	return e.info.Version, nil
}

// drop drops the bytes of a value.
func (l *Ledger) drop(key store.Key) {
	e := *l.entries[key] // a copy, so that readers of the old entry keep its bytes
	l.kept -= e.held
	e.data, e.part, e.kept, e.held = nil, nil, false, 0
	l.entries[key] = &e
}
