package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr/store"
)

// Ledger keeps what a rehearsal changes. The zero Ledger is empty, and it may be used from several
// goroutines at once.
type Ledger struct {
	mu      sync.Mutex
	entries map[store.Key]*entry
	writes  int64
	kept    int64       // bytes of the values in order
	order   []store.Key // of values that may be dropped, the oldest first
}

// Change is what becomes of one value.
type Change struct {
	Key store.Key
	Was int64 // bytes in the store, -1 where there is no such value
	Is  int64 // bytes after the change, -1 where it is deleted
}

// entry is one value as the rehearsal has changed it.
type entry struct {
	info   store.Info
	data   []byte
	was    int64 // bytes below, -1 where there is none
	exists bool
	kept   bool // data has the value
}

// mostKept is how many bytes of values are kept that are no documents.
const mostKept = 256 << 20

var errDropped = errors.New("the dry run would have to read what it wrote before, which is more than it keeps in memory")

// Changes returns what would be different in the store, in the order of keys. Values that came and
// went meanwhile are left out. A value that is written again counts as changed.
func (l *Ledger) Changes() []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Change
	for key, e := range l.entries {
		c := Change{key, e.was, -1}
		if e.exists {
			c.Is = e.info.Size
		}
		if c.Was >= 0 || c.Is >= 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return list
}

// find returns what the rehearsal has made of a key. It reports whether that was changed at all; one
// that was deleted is [fs.ErrNotExist].
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

// read appends what q selects to dst.
func (e entry) read(key store.Key, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(e.info.Size)
	if err == nil && !e.kept {
		err = errDropped
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return append(dst, e.data[off:off+n]...), nil
}

// stays reports whether a value is kept whatever else is: documents, and what is put aside.
func stays(key store.Key) bool {
	name := key.Base()
	return name == "zarr.json" || strings.HasPrefix(name, ".z") || strings.Contains("/"+key.String(), "/__varve/")
}

// put makes data the value of a key. The caller has the lock.
func (l *Ledger) put(key store.Key, data []byte, was int64) store.Version {
	l.writes++
	v := store.MakeVersion("rehearsal-" + strconv.FormatInt(l.writes, 10))
	l.change(key, &entry{
		info: store.Info{Size: int64(len(data)), Version: v, Modified: time.Now()},
		data: slices.Clone(data), was: was, exists: true, kept: true,
	})
	if !stays(key) {
		l.order = append(l.order, key)
		l.kept += int64(len(data))
	}
	for l.kept > mostKept && len(l.order) > 1 {
		l.drop(l.order[0])
		l.order = l.order[1:]
	}
	return v
}

// change makes e what is known of a key.
func (l *Ledger) change(key store.Key, e *entry) {
	if l.entries == nil {
		l.entries = map[store.Key]*entry{}
	}
	if old := l.entries[key]; old != nil && old.exists && !stays(key) && old.kept {
		l.order = slices.DeleteFunc(l.order, func(k store.Key) bool { return k == key })
		l.kept -= old.info.Size
	}
	l.entries[key] = e
}

// drop forgets the bytes of a value.
func (l *Ledger) drop(key store.Key) {
	e := *l.entries[key] // who has read the entry keeps the bytes
	e.data, e.kept = nil, false
	l.kept -= e.info.Size
	l.entries[key] = &e
}
