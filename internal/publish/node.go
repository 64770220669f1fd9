// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/store"
)

var (
	// ErrUnsafe reports that the store has neither locks nor conditional writes, so
	// concurrent writers could lose each other's changes.
	ErrUnsafe = errors.New("the store has neither locks nor conditional writes, so concurrent changes could be lost; declare this the only writer (SingleWriter), or use another store")
	// ErrIncomplete reports that a change was published but a later step failed: its
	// superseded chunks were not removed, or the change was not made durable. Do not
	// repeat the change. The remaining chunks are invisible, and an array that grows
	// there overwrites them.
	ErrIncomplete = errors.New("published, but a later step failed")
	// ErrOutcomeUnknown reports that the change may or may not have been published.
	// Read the node before repeating the change.
	ErrOutcomeUnknown = errors.New("it is unknown whether the change was published")
)

// Node is the node to change, and how to change it.
type Node struct {
	Store        store.Store
	Path         store.Path
	Document     string // name of the metadata document, "zarr.json" or ".zarray"
	Durability   store.Durability
	SingleWriter bool  // the caller guarantees that there is no concurrent writer
	Limit        int64 // maximum size of the document in bytes
	Locking      store.Locking
	Concurrency  int     // most nodes that are worked on at once in a store without locks; 0 is 16
	Holder       string  // identifies the caller to a reservation of the node; see [Hold]
	Held         *Locks  // locks that the caller holds, or nil
	Recent       *Recent // nil if nothing is remembered, or the node has a holder
}

// Document is one version of a node's metadata document.
type Document struct {
	Bytes   []byte
	Version store.Version // zero if the store has no versions
}

// AtOnce returns the most nodes that are worked on at once: one in a store with locks,
// where a request takes no time.
func (n Node) AtOnce() int {
	if _, locks := store.As[store.Locker](n.Store); locks {
		return 1
	}
	return cmp.Or(n.Concurrency, mostAtOnce)
}

// mostAtOnce is the default of [Node.Concurrency].
const mostAtOnce = 16

// key returns the key of the node's document.
func (n Node) key() store.Key { return n.Path.MustKey(n.Document) }

// Fenced reports whether changes of the node run under a fence: the store has no locks,
// and there may be other writers. Then chunks are deleted on conditions.
func (n Node) Fenced() bool {
	_, locks := store.As[store.Locker](n.Store)
	return !locks && !n.SingleWriter
}

// trails reports whether documents of the node have trails: they tell concurrent writers
// apart where there are no locks.
func (n Node) trails() bool {
	conditional := store.Can(n.Store, store.OpPutIf)
	return n.Fenced() && conditional
}

// read returns the present document.
func (n Node) read(ctx context.Context) (Document, error) {
	data, info, err := n.Store.Get(ctx, n.key(), store.Request{Limit: n.Limit}, nil)
	return Document{data, info.Version}, err
}

// batch runs work with a batch of writes, and commits the batch.
func (n Node) batch(ctx context.Context, work func(context.Context, store.Batch) error) error {
	if work == nil {
		return nil
	}
	return Batch(store.WithLocking(ctx, n.Locking), n.Store, n.Durability, work)
}

// Batch runs work with a batch of writes to s, and commits the batch.
func Batch(ctx context.Context, s store.Store, d store.Durability, work func(context.Context, store.Batch) error) error {
	b, err := store.NewBatch(ctx, s, d)
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := work(ctx, b); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// Locks are the locks that one call holds, in the order in which it took them.
//
// A symbolic link or a mount gives a directory a second name. A call that locks the same
// directory by both names would deadlock with itself. To prevent that, a call that holds
// locks sets [Node].Held to them before it takes the next one.
type Locks struct {
	outer   *Locks // locks of the caller, or nil
	paths   []store.Path
	unlocks []func() error
}

// add records a lock that the call has taken.
func (l *Locks) add(n Node, unlock func() error) {
	l.paths, l.unlocks = append(l.paths, n.Path), append(l.unlocks, unlock)
}

// unlock releases all locks in the order in which they were taken. A removal takes the
// locks of groups last, so no writer can enter a group while its members are still
// locked.
func (l *Locks) unlock() (err error) {
	for _, unlock := range l.unlocks {
		err = errors.Join(err, unlock())
	}
	l.paths, l.unlocks = nil, nil
	return err
}

// name returns the path under which the node's directory is locked already.
func (l *Locks) name(n Node) (store.Path, bool) {
	for ; l != nil; l = l.outer {
		for _, p := range l.paths {
			if same, err := directory.Same(n.Store, n.Path, p); same && err == nil {
				return p, true
			}
		}
	}
	return store.Path{}, false
}

// Change is the result of a plan. All functions may be nil.
type Change struct {
	Document []byte // nil if only Reclaim and Tidy are to run
	// Warn marks the present document, and gives it a new version, before Stage. A change
	// that reads the present chunks in Stage needs it; see [Warned].
	Warn  bool
	Stage func(context.Context, store.Batch) error // writes the new chunks
	// Share is the part of the caller's budget and requests, of 1, that Stage takes at
	// most. 0 means all of it, as 1 does.
	Share float64
	// Marker is the marker chunk: the first chunk that Stage puts. Every plan on the
	// same document that puts any chunk guarded by it puts Marker first. The zero Key
	// means that there is none.
	Marker store.Key
	// Guarded reports whether every plan on the same document that puts the chunk at
	// key puts Marker first. It is called only after Marker is put. A nil Guarded
	// means that no chunk is guarded.
	Guarded func(key store.Key) bool
	// Published is called, under the lock, as soon as the document is published. The
	// version is zero if the store has none.
	Published func(store.Version)
	Reclaim   func(context.Context, store.Batch) error // deletes and clears superseded chunks
	// Kept is called for each chunk that Reclaim deletes and that stays nevertheless, in
	// a store without locks. The cause wraps [store.ErrConflict] if another writer has
	// changed the chunk, and [store.ErrUnsupported] if the store does not delete on
	// conditions. Calls may run at the same time. Kept may be nil.
	Kept func(key store.Key, cause error)
	// Tidy removes objects that nothing needs once the writes of Reclaim are durable.
	Tidy func(context.Context, store.Batch) error
	// Abandon deletes staged chunks after Stage failed. Its errors are ignored,
	// because the remaining chunks are invisible.
	Abandon func(context.Context, store.Batch) error
}

// relative returns the name of a place relative to a node. Files beside nodes refer to
// each other this way, because a store may be opened at any directory above them.
func relative(from store.Path, to string) string {
	a, b := segments(from.String()), segments(to)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	up := slices.Repeat([]string{".."}, len(a))
	return strings.Join(append(up, b...), "/")
}

func segments(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// resolve returns the place that a name relative to a node refers to. If that is above
// the root of the store, the error wraps [store.ErrInvalidKey].
func resolve(from store.Path, place string) (string, error) {
	to := path.Join(from.String(), place)
	if to == ".." || strings.HasPrefix(to, "../") || strings.HasPrefix(place, "/") {
		return "", fmt.Errorf("%w: %q leads out of the store: open the store at a directory above, or, if the node is a copy that was made during a change, copy it again once that is finished (%s names the change)", store.ErrInvalidKey, place, pointerName)
	}
	if to == "." {
		to = ""
	}
	return to, nil
}

// Recent is the version of the document that this program has published last, or that it
// has read before it looked for a pointer and found none. In a store without locks, a
// change that finds this version need not look for a pointer:
//
//   - This program has looked since the document that came before was read.
//   - A transaction that stores its pointer later raises its fence after that, and a
//     holder publishes. Either the document has another version then, or it is about to
//     get one, and then one of the two changes fails.
//
// Where versions are hashes of the content, a later document may have the same one, such
// as that of an array that was created again. So a version is known for a short time.
//
// The zero value knows none. A Recent is safe for concurrent use.
type Recent struct {
	mu      sync.Mutex
	version store.Version
	at      time.Time // when it was set
}

// recentTime is how long a version is known. Most appends of a series follow sooner.
const recentTime = 2 * time.Second

// matches reports whether v is the version.
func (r *Recent) matches(v store.Version) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return v == r.version && !v.IsZero() && time.Since(r.at) < recentTime
}

// Set records the version.
func (r *Recent) Set(v store.Version) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version, r.at = v, time.Now()
}

// File is an additional document of a node, such as the attributes in format 2.
type File struct {
	Name  string
	Bytes []byte
}

// Create publishes the document of a new node and returns its version, or the zero
// version if the store has none. It writes the files beside the document first, so that
// no reader sees the node without them. If the node or one of the files exists, the error
// wraps [store.ErrConflict].
func Create(ctx context.Context, n Node, document []byte, beside ...File) (store.Version, error) {
	for i, f := range beside {
		if _, err := n.withDocument(f.Name).create(ctx, f.Bytes); err != nil {
			// The file that failed belongs to another writer. Remove only the
			// earlier ones.
			n.forget(ctx, beside[:i])
			return store.Version{}, err
		}
	}
	version, err := n.create(ctx, document)
	if errors.Is(err, store.ErrConflict) {
		// A concurrent writer created the node without these files; otherwise the
		// loop above would have failed. They must not become part of it.
		n.forget(ctx, beside)
	}
	return version, err
}

// withDocument returns the node with another document.
func (n Node) withDocument(document string) Node {
	n.Document = document
	return n
}

// forget removes files of a node that was not created. A file that stays is harmless.
func (n Node) forget(ctx context.Context, files []File) {
	for _, f := range files {
		_, _ = store.Write(context.WithoutCancel(ctx), n.Store, store.Delete(n.Path.MustKey(f.Name)), store.Sync)
	}
}

func (n Node) create(ctx context.Context, document []byte) (store.Version, error) {
	key, id := n.key(), newID()
	if n.trails() {
		if err := n.checkTrailRoom(document); err != nil {
			return store.Version{}, err
		}
		document = withCreation(document, id)
	}
	version, err := store.Write(ctx, n.Store, store.PutIf(key, document, store.IfAbsent()), n.Durability)
	conflict := errors.Is(err, store.ErrConflict)
	switch {
	case err == nil:
		return version.Version, nil
	case n.trails() && (conflict || !certainlyNotWritten(err)):
		return n.settleCreation(ctx, id, err)
	case conflict:
		return version.Version, err
	case !errors.Is(err, store.ErrUnsupported):
		return n.settle(ctx, document, version.Version, err)
	}
	// The store has no conditional writes, so two concurrent calls may both succeed.
	found, err := store.Exists(ctx, n.Store, key)
	switch {
	case err != nil:
		return store.Version{}, err
	case found:
		return store.Version{}, fmt.Errorf("%w: %s", store.ErrConflict, key)
	}
	w, err := store.Write(ctx, n.Store, store.Put(key, document), n.Durability)
	return w.Version, err
}

// settleCreation finds out whether the document that is there has come from this
// creation: an answer may be lost, or be that of a second delivery of the request.
// The version is zero if others have written since.
func (n Node) settleCreation(ctx context.Context, id writeID, failed error) (store.Version, error) {
	there, err := n.read(context.WithoutCancel(ctx))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return store.Version{}, failed
	case err != nil:
		return store.Version{}, outcomeUnknown(failed, err)
	}
	t := trailOf(there.Bytes)
	switch {
	// A trail that no longer reaches back to the creation counts as that of another node:
	// so many others have written since, while this request was under way.
	case !slices.Contains(t.published, id):
		return store.Version{}, failed
	case t.last() == id && t.fence == 0:
		return there.Version, nil
	}
	return store.Version{}, nil
}
