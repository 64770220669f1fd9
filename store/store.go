// Package store is the contract between Varve and the places where bytes live.
//
// A store maps keys to values. Implementers write one method, [Store.Get]; every further
// power is an interface of its own ([Writer], [ConditionalWriter], [Splicer], [Patcher],
// [Batcher], [ConditionalBatch], [SplicingBatch], [PatchingBatch], [Copier],
// [CopyingBatch], [Deleter], [ConditionalDeleter], [TreeDeleter], [Sweeper], [Lister],
// [Stater], [Opener], [Locker], [HeldLocker], [Placer], [Linker]), and a function of this
// package uses the power where the store has it and falls back where it can. A store that
// wraps another one, and changes nothing about its values, is a [Wrapper]; [As] finds the
// powers of any. The suite in package storetest makes the contract true: a driver is done
// when storetest.Run passes.
//
// # Errors
//
// A key without a value is [fs.ErrNotExist]; a refused access is [fs.ErrPermission]; a
// power that a store lacks is [ErrUnsupported]; a condition that does not hold is
// [ErrConflict]. All are found with errors.Is.
package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"time"

	"varve.dev/zarr/internal/sentinel"
)

var (
	// ErrUnsupported says that a store lacks the power asked for. Use another store or
	// another call.
	ErrUnsupported = sentinel.New("store: not supported by this store", sentinel.Unsupported)
	// ErrConflict says that the condition of a conditional write did not hold: somebody
	// else wrote first, and nothing was written now. Read again and decide anew.
	ErrConflict = errors.New("store: changed by another writer")
	// ErrTooLarge says that a value is longer than the caller's limit. Raise the limit if
	// the value is to be trusted.
	ErrTooLarge = errors.New("store: value too large")
	// ErrDurability says that the operating system could not promise that written bytes
	// survive a power cut. The store refuses further writes, because a second sync of the
	// same data proves nothing; open it anew.
	ErrDurability = errors.New("store: written data may not be durable")
)

// Store is the power that every store has: it reads values.
// Its methods may be called from several goroutines at once.
type Store interface {
	// Get appends the bytes of the value at key that q selects to dst and returns the
	// extended slice. The caller guarantees that key is legal. The driver allocates only
	// where dst lacks capacity, writes no byte of dst beyond what it returns, and honours
	// q.Limit before it allocates. It does not keep the slice. On an error the returned
	// slice is nil and the capacity of dst may hold anything. The value is read from one
	// version of the object, whole or not at all.
	Get(ctx context.Context, key Key, q Request, dst []byte) ([]byte, Info, error)
}

// Info describes one version of a value.
type Info struct {
	Size    int64   // bytes of the whole value
	Version Version // zero where the store knows none
	// Modified is when this version was written, by the clock of this machine, and zero
	// where the store does not know. It is never earlier than the write by more than a
	// tick of the clock behind it, so that who knows when something else was read can
	// tell that this version is newer; it may be later. A driver whose clock is elsewhere
	// converts, and may then say something else every time: compare Size and Version to
	// tell versions apart.
	Modified time.Time
}

// Same reports whether i and o describe the same version, as far as the store tells
// versions apart.
func (i Info) Same(o Info) bool { return i.Size == o.Size && i.Version == o.Version }

// Version identifies the content that a key had at one time: an ETag, a generation, or
// what a file system tells. Versions are opaque, comparable with == for one key of one
// store, and change with every write.
type Version struct{ s string }

// MakeVersion returns the version with the given text; for drivers.
func MakeVersion(text string) Version { return Version{text} }

// String returns the text of the version, "" for the zero Version.
func (v Version) String() string { return v.s }

// IsZero reports whether v is no version.
func (v Version) IsZero() bool { return v.s == "" }

// Durability says when written bytes survive a power cut. In every case other readers see
// a value whole or not at all, and a program that dies leaves values whole.
type Durability int

const (
	// Sync means that bytes are durable when the call, or the commit of the batch,
	// returns. It is the default.
	Sync Durability = iota
	// Flush means that bytes are handed to the operating system. A power cut may lose or
	// damage what was written last.
	Flush
)

// Writer is the power to write values.
type Writer interface {
	// Put stores value at key, whole or not at all, and returns the new version where the
	// store knows it. The driver does not keep value.
	Put(ctx context.Context, key Key, value []byte, d Durability) (Version, error)
}

// Batcher is the power to make many writes durable at the price of few.
type Batcher interface {
	// Batch begins a batch. It has to end in Commit or Discard.
	Batch(ctx context.Context, d Durability) (Batch, error)
}

// Batch collects writes. Its methods may be called from several goroutines at once,
// Commit and Discard last and once. A value put is visible, whole, when its Put returns,
// and durable when Commit does.
type Batch interface {
	Put(ctx context.Context, key Key, value []byte) error
	Delete(ctx context.Context, key Key) error
	// Commit makes all that was put visible and, with Sync, durable. After an error
	// nothing is known of what was put.
	Commit(ctx context.Context) error
	// Discard ends the batch without a promise; values already visible stay. After Commit
	// it does nothing.
	Discard()
}

// Deleter is the power to remove values.
type Deleter interface {
	// Delete removes the value at key. A key without a value is no error.
	Delete(ctx context.Context, key Key) error
}

// Entry is one item of a listing: a value, or a directory (a prefix below which there are
// keys).
type Entry struct {
	// Name is the path of the entry relative to the listed directory, "zarr.json" or, in
	// a deep listing, "c/0/1".
	Name string
	// Dir tells that the entry is a directory; only flat listings have such entries.
	Dir bool
	// Size is the number of bytes of the value, -1 where the store would have to ask for
	// it.
	Size int64
}

// Lister is the power to list keys.
type Lister interface {
	// List yields the entries below dir, in no order: all values at any depth where deep
	// is set, else the values and directories one level down. A dir without entries
	// yields nothing. Names that are no legal key, and the driver's own temporary
	// objects, are left out. An error ends the sequence.
	List(ctx context.Context, dir Path, deep bool) iter.Seq2[Entry, error]
}

// Stater is the power to tell size and version of a value without reading it.
type Stater interface {
	Stat(ctx context.Context, key Key) (Info, error)
}

// Opener is the power to read one version of a value piece by piece.
type Opener interface {
	// Open returns the value at key as it is now. The caller closes it.
	Open(ctx context.Context, key Key) (Object, error)
}

// Object is one version of a value. Its methods may be called from several goroutines at
// once.
type Object interface {
	// Info describes the version that is open.
	Info() Info
	// Read appends the bytes that q selects to dst, as Store.Get does.
	// Where the store no longer has that version it fails with ErrConflict.
	Read(ctx context.Context, q Request, dst []byte) ([]byte, error)
	Close() error
}

// Locker is the power to keep other writers away, in this process and in others that use
// the same power.
type Locker interface {
	// Lock waits until no other holder has dir and returns the function that lets go of
	// it. Locks are advisory, not reentrant, and end with the process.
	Lock(ctx context.Context, dir Path) (unlock func() error, err error)
}

// Put writes value at key, or fails with [ErrUnsupported].
func Put(ctx context.Context, s Store, key Key, value []byte, d Durability) (Version, error) {
	w, ok := As[Writer](s)
	if !ok {
		return Version{}, unsupported(s, "write")
	}
	return w.Put(ctx, key, value, d)
}

// Delete removes the value at key, or fails with [ErrUnsupported].
func Delete(ctx context.Context, s Store, key Key) error {
	w, ok := As[Deleter](s)
	if !ok {
		return unsupported(s, "delete")
	}
	return w.Delete(ctx, key)
}

// List yields the entries below dir; see [Lister]. It yields [ErrUnsupported] where s
// cannot list.
func List(ctx context.Context, s Store, dir Path, deep bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l, ok := As[Lister](s)
		if !ok {
			yield(Entry{}, unsupported(s, "list"))
			return
		}
		for e, err := range l.List(ctx, dir, deep) {
			if err == nil {
				// Callers make keys of these names. A driver that lists "../x" must not
				// make them delete or copy outside of dir.
				err = checkSegments(e.Name)
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Stat returns size and version of the value at key, with a request for no bytes where s
// has no better way.
func Stat(ctx context.Context, s Store, key Key) (Info, error) {
	if st, ok := As[Stater](s); ok {
		return st.Stat(ctx, key)
	}
	_, info, err := s.Get(ctx, key, Request{Range: Span(0, 0)}, nil)
	return info, err
}

// Exists reports whether key has a value.
func Exists(ctx context.Context, s Store, key Key) (bool, error) {
	_, err := Stat(ctx, s, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
