// SPDX-License-Identifier: Apache-2.0

// Package store is the contract between Varve and the places where values are stored.
//
// A store maps keys to values. This page says all that the author of a driver needs.
//
// # Reading
//
// A driver needs one method, [Store.Get]. It should have two more powers: [Lister], to
// find nodes, and [Stater], if a question for the size costs less than Get of no bytes.
//
// # Writing
//
// A store for reading and writing is a [Writer]: it makes a [Change] of one value. A
// change is of a kind, its [Op], and a store says by Can which kinds it makes. A store
// for one writer makes [OpPut] and [OpDelete]. Concurrent writers also need [OpPutIf]
// and [OpDeleteIf], or a [Locker].
//
// Callers use the function [Write], which makes some changes in another way if the store
// cannot make them itself:
//
//	change       in a store that cannot make it
//	Put          ErrUnsupported: the store is read-only
//	PutIf        ErrUnsupported
//	Delete       ErrUnsupported
//	DeleteIf     ErrUnsupported
//	Splice       read the old bytes, PutIf
//	PatchValue   ErrUnsupported: use Splice
//	Assemble     read the parts, Put
//	Gather       ErrUnsupported: WriteParts, Put
//	Copy         Get, Put
//	Clone        Copy between two Stats, or Get, Put
//
// # More powers
//
// The other interfaces are optional. For most of them the package has a function, which
// works without the power too or returns [ErrUnsupported]:
//
//	interface     function       without the power
//	Lister        List           ErrUnsupported
//	Stater        Stat           Get of no bytes
//	Opener        Open           Get, comparing versions
//	Batcher       NewBatch       one call for each change
//	TreeDeleter   DeleteTree     List, Delete
//	Locker        Lock           ErrUnsupported
//	Describer     TraitsOf       the zero Traits
//	Directories   DirectoriesOf  different names are different directories
//
// [Drafter] and [UploadSweeper] are for object stores, and [Directories] is for
// directories of files. Other stores need none of them.
//
// A [Wrapper] is a store that adds behaviour to another one. Its method Can asks the
// store below. Use [As] and the function [Can], not a type assertion, to find the
// powers of any store.
//
// # Tests
//
// Package storetest has the conformance suite: a driver is complete when storetest.Run
// passes. Package memstore is the reference; the example below is the smallest driver for
// one writer.
//
// # Errors
//
// A key without a value is [fs.ErrNotExist], and a refused access is [fs.ErrPermission].
// A power that a store lacks is [ErrUnsupported]. A condition that does not hold is
// [ErrConflict]. Find them with errors.Is.
package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr/internal/sentinel"
)

var (
	// ErrUnsupported means that a store lacks a power. Use another store or another call.
	ErrUnsupported = sentinel.New("not supported by this store", sentinel.ErrUnsupported)
	// ErrConflict means that the condition of a conditional write did not hold, because a
	// concurrent writer came first. Nothing was written. Read the value again and retry.
	ErrConflict = errors.New("changed by another writer")
	// ErrTooLarge means that a value is longer than the caller's limit. If you trust the
	// value, raise the limit.
	ErrTooLarge = errors.New("value too large")
	// ErrNoBucket means that the bucket or container of a store does not exist: the
	// service has said so. Nothing was written. It is not [fs.ErrNotExist], because its
	// values must not be read as missing ones. Check its name, or create it.
	ErrNoBucket = errors.New("the bucket does not exist")
	// ErrRefused means that a service has refused a write for lack of permission, or
	// that the write was not sent for lack of credentials, and that no attempt may have
	// taken effect. Nothing was written. Without this error, callers look for the
	// outcome of the write.
	ErrRefused = errors.New("the write was refused")
	// ErrDurability means that the operating system failed to make written bytes durable.
	// The store refuses further writes, because a second sync may succeed without the
	// bytes. Open the store again.
	ErrDurability = errors.New("written data may not be durable")
)

// Store reads values. Its methods are safe for concurrent use.
type Store interface {
	// Get appends the bytes of the value at key that q selects to dst, and returns the
	// extended slice. The bytes come from one version of the value, which the returned
	// Info describes.
	//
	// The driver allocates only if dst lacks capacity, and only after it has checked
	// q.Limit. It does not write beyond the returned slice, and does not keep it. After
	// an error the returned slice is nil, and the free capacity of dst may hold any
	// bytes.
	Get(ctx context.Context, key Key, q Request, dst []byte) ([]byte, Info, error)
}

// Info describes one version of a value.
type Info struct {
	Size    int64   // size of the whole value, in bytes
	Version Version // zero if the store has no versions
	// Modified is the time of the last write, by the clock of this machine. It is zero if
	// the store does not know it. It may be early by one tick of the store's clock, so
	// allow at least that much slack. It may also be late. A driver that converts from
	// another clock may return a different time for each call, so use Size and Version to
	// distinguish versions.
	Modified time.Time
	// FileTime is the modification time of a file, zero in stores without files. Programs
	// that copy a file may keep it, and then it is earlier than Modified.
	FileTime time.Time
}

// Same reports whether i and o describe the same version, if the store can tell.
func (i Info) Same(o Info) bool { return i.Size == o.Size && i.Version == o.Version }

// Version identifies the content of a key at one time: an ETag, a generation, or the
// inode and times of a file. Versions are opaque. They change with every write, and can
// be compared with == for one key of one store. The version of a value that was cloned
// may also change without a write; see [OpClone].
//
// Some services have hashes of the content only. There, equal versions mean equal bytes:
// a Put of the bytes that are there may keep the version, and so may a deletion that is
// followed by a Put. A PutIf on the condition of a version changes it in any case.
type Version struct{ s string }

// MakeVersion returns the version with the given text. It is for drivers.
func MakeVersion(text string) Version { return Version{text} }

// String returns the text of the version, "" for the zero Version.
func (v Version) String() string { return v.s }

// IsWeak reports whether v is made of a time in whole seconds or of a weak ETag: then two
// values may share it if both were written within a second or two. The text of such a
// version begins with "W/", as in HTTP.
func (v Version) IsWeak() bool { return strings.HasPrefix(v.s, "W/") }

// IsZero reports whether v is the zero Version.
func (v Version) IsZero() bool { return v.s == "" }

// Durability selects when written bytes become durable. In either case readers see only
// whole values, also after a crash of the program.
//
// The zero value means Sync to a store, so drivers compare with Flush. In options that
// can be inherited, the zero value is not set, and Sync is.
type Durability int

const (
	// Sync means that bytes are durable when the call returns or, for a batch, when
	// Commit returns. It is the default.
	Sync Durability = iota + 1
	// Flush means that bytes are handed to the operating system. A power cut may lose or
	// damage the latest writes.
	Flush
)

// Entry is one item of a listing: a value, or a directory, which is a prefix of keys.
type Entry struct {
	// Name is the path relative to the listed directory, such as "zarr.json" or, in a
	// deep listing, "c/0/1".
	Name string
	// Dir means that the entry is a directory. Only flat listings have such entries.
	Dir bool
	// Size is the size of the value in bytes, or -1 if the size would cost a request.
	Size int64
	// Version, Modified and FileTime are those of [Info]. They are zero if the listing
	// does not know them; see [WithVersions].
	Version  Version
	Modified time.Time
	FileTime time.Time
	// Unusable is the reason for which no call can use what has this name: it is no
	// value, or the driver needs the name. [List] yields no such entries; see
	// [UnusableError].
	Unusable string
	// described is set after a Stat, so that the layers of wrappers above make no other.
	described bool
}

// Listing selects what a listing yields: a sum of the constants.
type Listing uint8

const (
	// Flat yields the values and directories one level down.
	Flat Listing = 0
	// Deep yields all values at any depth.
	Deep Listing = 1 << (iota - 1)
	// WithVersions adds to each value the Size, Version and Modified that Stat returned
	// at some moment of the listing. It omits a value that is deleted before it is
	// described.
	WithVersions
)

// Lister lists keys.
type Lister interface {
	// List yields the entries below dir, in no order. If there are none, it yields
	// nothing. It also yields names that are not legal keys, and, as unusable, whatever
	// is no value; the function [List] takes both out. It omits the driver's own
	// temporary objects, and objects that only mark directories. An error ends the
	// sequence.
	//
	// Without WithVersions the driver makes no request for a value. With it, a driver
	// that knows versions at less cost than a Stat adds them; another one leaves them
	// zero, and the function [List] calls Stat.
	List(ctx context.Context, dir Path, how Listing) iter.Seq2[Entry, error]
}

// Stater returns the size and version of a value without reading it.
type Stater interface {
	Stat(ctx context.Context, key Key) (Info, error)
}

// Opener opens one version of a value for many reads.
type Opener interface {
	// Open returns the present version of the value at key. The caller closes it.
	Open(ctx context.Context, key Key) (Object, error)
}

// Object is one version of a value. Its methods are safe for concurrent use.
type Object interface {
	// Info describes the version.
	Info() Info
	// Read appends the bytes that q selects to dst, as Store.Get does. If the store no
	// longer has this version, the error is ErrConflict.
	Read(ctx context.Context, q Request, dst []byte) ([]byte, error)
	Close() error
}

// Locker excludes other writers, in this process and in others that use the same lock.
type Locker interface {
	// Lock waits until no other holder has the lock on dir, and returns the function that
	// releases it. Locks are advisory and not reentrant, and end with the process.
	Lock(ctx context.Context, dir Path) (unlock func() error, err error)
	// LockHolder returns the holder of the lock on dir. It returns the zero Holder if the
	// lock is free or the holder is unknown.
	LockHolder(dir Path) Holder
}

// List yields the entries below dir; see [Lister]. It yields [ErrUnsupported] if s is not
// a Lister, and at the end an [UnusableError] if there are names that are not legal keys.
//
// With [WithVersions], it calls [Stat] for each value whose size or version the driver
// does not know, for several values at a time. If s has no versions, the versions are
// zero.
func List(ctx context.Context, s Store, dir Path, how Listing) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l, ok := As[Lister](s)
		if !ok {
			yield(Entry{}, unsupported(s, "list"))
			return
		}
		entries := Sift(dir, l.List(ctx, dir, how))
		if how&WithVersions != 0 {
			entries = described(ctx, s, dir, entries)
		}
		entries(yield)
	}
}

// Stat returns the size and version of the value at key. If s is not a [Stater], it reads
// no bytes of the value.
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

// Open returns the value at key, pinned to its present version. If s is not an [Opener],
// every read is a Get that compares versions, and returns [ErrConflict] if the value was
// replaced.
func Open(ctx context.Context, s Store, key Key) (Object, error) {
	if o, ok := As[Opener](s); ok {
		return o.Open(ctx, key)
	}
	info, err := Stat(ctx, s, key)
	if err != nil {
		return nil, err
	}
	return &object{s, key, info}, nil
}

type object struct {
	s    Store
	key  Key
	info Info
}

func (o *object) Info() Info   { return o.info }
func (o *object) Close() error { return nil }

func (o *object) Read(ctx context.Context, q Request, dst []byte) ([]byte, error) {
	q.Expect = o.info
	out, now, err := o.s.Get(ctx, o.key, q, dst)
	if err == nil && !now.Same(o.info) {
		return nil, replaced(o.key)
	}
	return out, err
}

// described yields entries with the sizes and versions of values.
func described(ctx context.Context, s Store, dir Path, entries iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		d := describer{ctx: ctx, s: s, dir: dir, yield: yield}
		for e, err := range entries {
			switch {
			case err != nil:
				if !errors.Is(err, ErrUnusable) || d.flush() {
					yield(Entry{}, err)
				}
				return
			case len(d.waiting) == 0 && !e.isVague():
				if !yield(e, nil) {
					return
				}
				continue
			}
			if d.waiting = append(d.waiting, e); len(d.waiting) == describedAtOnce && !d.flush() {
				return
			}
		}
		d.flush()
	}
}

// isVague reports whether a Stat would tell more about the entry.
func (e Entry) isVague() bool {
	return !e.Dir && !e.described && (e.Version.IsZero() || e.Size < 0)
}

// describedAtOnce is the number of concurrent requests of a listing. It hides most of
// the delay of a remote store, and does not strain it.
const describedAtOnce = 32

// describer adds versions to entries.
type describer struct {
	ctx     context.Context
	s       Store
	dir     Path
	yield   func(Entry, error) bool
	waiting []Entry
}

// flush yields the waiting entries with their versions, and reports whether to continue.
func (d *describer) flush() bool {
	errs := make([]error, len(d.waiting))
	var wg sync.WaitGroup
	for i := range d.waiting {
		if e := &d.waiting[i]; e.isVague() {
			wg.Go(func() { errs[i] = d.describe(e) })
		}
	}
	wg.Wait()
	for i, e := range d.waiting {
		switch {
		case errors.Is(errs[i], fs.ErrNotExist): // deleted since it was listed
			continue
		case errs[i] != nil:
			d.yield(Entry{}, errs[i])
			return false
		case !d.yield(e, nil):
			return false
		}
	}
	d.waiting = d.waiting[:0]
	return true
}

// describe adds the size and version to the entry of a value.
func (d *describer) describe(e *Entry) error {
	info, err := Stat(d.ctx, d.s, d.dir.MustKey(e.Name))
	if err == nil {
		e.Size, e.Version, e.Modified, e.FileTime = info.Size, info.Version, info.Modified, info.FileTime
		e.described = true
	}
	return err
}

// Traits describe the place where a store keeps its values. Zero fields are not known.
type Traits struct {
	// Place is a URL without credentials. The URL of a key is the place, a slash and the
	// key. Two stores with the same place have the same values.
	Place string
	// Requests is how many requests the callers of the store may have begun at the same
	// time, in a store that limits its own requests in flight, such as one of a service
	// that throttles. The store decides how many of them it sends.
	Requests int
	// WriteInterval is the shortest time between two changes of one key, such as in a
	// service that refuses a second one within a second.
	WriteInterval time.Duration
}

// Describer is a store that describes its place.
type Describer interface {
	// Traits is cheap, and always gives the same answer.
	Traits() Traits
	// CheckKey returns an error that wraps [ErrInvalidKey] if no value can be stored
	// under the key, because of its name. It asks nobody.
	CheckKey(key Key) error
}

// TraitsOf returns the traits of s. They are zero if s is not a [Describer].
func TraitsOf(s Store) Traits {
	if d, ok := As[Describer](s); ok {
		return d.Traits()
	}
	return Traits{}
}

// CheckKey returns the error with which storing a value under the key would fail because
// of its name, if that is known without trying. A copy calls it for all names
// before it stores the first value. It returns nil if s is not a [Describer].
func CheckKey(s Store, key Key) error {
	if d, ok := Driver(s).(Describer); ok { // a wrapper has nothing to add
		return d.CheckKey(key)
	}
	return nil
}
