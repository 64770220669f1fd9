// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
)

// ErrInvalidKey means that a text is not a legal key, node path or node name. The message
// names the offending segment.
var ErrInvalidKey = errors.New("invalid key")

// Key names one value of a store: segments separated by '/', such as "t2m/c/0/1".
//
// A segment is any text or bytes but for an empty one, ".", "..", and one with a zero
// byte, so a key cannot lead out of a store. Other programs write names with colons,
// backslashes, control characters or thousands of bytes. A driver refuses what its place
// cannot hold; object stores hold at most 1024 bytes of valid UTF-8. The zero Key names
// nothing.
type Key struct{ s string }

// ParseKey returns s as a key, or an error that wraps [ErrInvalidKey].
func ParseKey(s string) (Key, error) {
	if s == "" {
		return Key{}, fmt.Errorf("%w: empty", ErrInvalidKey)
	}
	if err := checkSegments(s); err != nil {
		return Key{}, err
	}
	return Key{s}, nil
}

// MustKey is like [ParseKey] but panics if s is not a key. It is for constants.
func MustKey(s string) Key {
	k, err := ParseKey(s)
	if err != nil {
		panic(err)
	}
	return k
}

// String returns the key as it is stored.
func (k Key) String() string { return k.s }

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k.s == "" }

// Dir returns the path of the segments before the last one.
func (k Key) Dir() Path {
	i := strings.LastIndexByte(k.s, '/')
	if i < 0 {
		return Path{}
	}
	return Path{k.s[:i]}
}

// Base returns the last segment.
func (k Key) Base() string { return k.s[strings.LastIndexByte(k.s, '/')+1:] }

// Path names a node of a hierarchy, or a directory of keys. The zero Path is the root.
type Path struct{ s string }

// ParsePath returns s as the path of a node. The root is "" or "/", and s may begin
// with a slash. Errors wrap [ErrInvalidKey].
//
// No segment may be "__varve", where Varve keeps its own values. Any other key may be the
// path of a node that somebody has stored; what a new node may be called is up to whoever
// creates it.
func ParsePath(s string) (Path, error) {
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return Path{}, nil
	}
	for name := range strings.SplitSeq(s, "/") {
		if err := nodename.CheckPath(name); err != nil {
			return Path{}, fmt.Errorf("%w %q: %w", ErrInvalidKey, s, err)
		}
	}
	return Path{s}, nil
}

// String returns the path without a leading slash; the root is "".
func (p Path) String() string { return p.s }

// IsRoot reports whether p is the root.
func (p Path) IsRoot() bool { return p.s == "" }

// Name returns the last segment, "" for the root.
func (p Path) Name() string { return p.s[strings.LastIndexByte(p.s, '/')+1:] }

// Parent returns the path one level up; the root is its own parent.
func (p Path) Parent() Path {
	i := strings.LastIndexByte(p.s, '/')
	if i < 0 {
		return Path{}
	}
	return Path{p.s[:i]}
}

// Join returns the path of the node rel below p, or an error that wraps [ErrInvalidKey].
func (p Path) Join(rel string) (Path, error) {
	c, err := ParsePath(rel)
	switch {
	case err != nil || p.IsRoot():
		return c, err
	case c.IsRoot():
		return p, nil
	}
	return ParsePath(p.s + "/" + c.s)
}

// Key returns the key of the value rel below p, such as "zarr.json" or "c/0/1". If that
// is not a key, the error wraps [ErrInvalidKey].
func (p Path) Key(rel string) (Key, error) {
	return ParseKey(p.prefix() + rel)
}

// MustKey returns the key of the value rel below p. It panics if rel has an illegal
// segment, so rel must be a constant or made from numbers. For other text, use
// [Path.Key].
func (p Path) MustKey(rel string) Key {
	if err := checkSegments(rel); err != nil {
		panic(err)
	}
	return Key{p.prefix() + rel}
}

// AsKey returns the key with the same text as p, or the zero Key for the root.
func (p Path) AsKey() Key { return Key(p) }

// prefix returns the prefix of all keys below p.
func (p Path) prefix() string {
	if p.s == "" {
		return ""
	}
	return p.s + "/"
}

// Contains reports whether k lies below p.
func (p Path) Contains(k Key) bool {
	return p.s == "" || len(k.s) > len(p.s) && k.s[len(p.s)] == '/' && k.s[:len(p.s)] == p.s
}

// Rel returns the part of k below p, or "" if k does not lie below p.
func (p Path) Rel(k Key) string {
	switch {
	case !p.Contains(k):
		return ""
	case p.s == "":
		return k.s
	}
	return k.s[len(p.s)+1:]
}

// checkSegments returns an error if s is not a key.
func checkSegments(s string) error {
	if err := illegal(s); err != nil {
		return fmt.Errorf("%w %q: %w", ErrInvalidKey, s, err)
	}
	return nil
}

// illegal returns the reason for which s is not a key, or nil.
func illegal(s string) error {
	// Fast path: nearly all keys are plain.
	if nodename.IsPlain(s) {
		return nil
	}
	for seg := range strings.SplitSeq(s, "/") {
		if err := nodename.CheckSegment(seg); err != nil {
			return err
		}
	}
	return nil
}

// ErrUnusable is the error of a listing that has found names which no call can use. See
// [UnusableError].
var ErrUnusable = errors.New("names that cannot be used")

// UnusableError ends a listing that has yielded everything else. A store may hold what is
// no value, such as a pipe or a broken symbolic link, and a bucket may hold objects whose
// names are no keys, such as "a//b". To leave them out would be silent: a copy would lack
// them, and a deletion that follows would lose them. Nor can a node be used that another
// program has called like Varve's own directories. So every call that copies, compares or
// deletes what a listing yields fails with this error, unless it uses [Usable].
//
// It matches [ErrUnusable] and [ErrInvalidKey].
type UnusableError struct {
	Dir   Path     // that was listed
	Count int64    // of the names
	Names []string // the first few of them, relative to Dir
	whys  []string
}

// mostNamed bounds the names in an UnusableError.
const mostNamed = 3

// Error counts the names, and names the first ones.
func (e *UnusableError) Error() string {
	var named strings.Builder
	for i, name := range e.Names {
		fmt.Fprintf(&named, "%.200q (%s), ", name, e.whys[i])
	}
	text := strings.TrimSuffix(named.String(), ", ")
	if more := e.Count - int64(len(e.Names)); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return fmt.Sprintf("%v: below %q, %s; rename or remove them with another program", ErrUnusable, "/"+e.Dir.String(), text)
}

// Is reports whether target is one of the two errors that e matches.
func (e *UnusableError) Is(target error) bool {
	return target == ErrUnusable || target == ErrInvalidKey
}

func (e *UnusableError) add(name, why string) {
	if e.Count++; len(e.Names) < mostNamed {
		e.Names, e.whys = append(e.Names, name), append(e.whys, why)
	}
}

// Sift yields the entries of a driver whose names are keys, and then an UnusableError if
// there were others. Callers make keys of these names, so "../x" must not be one. It is
// for drivers; [List] uses it.
func Sift(dir Path, entries iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		bad := UnusableError{Dir: dir}
		for e, err := range entries {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if err := illegal(e.Name); err != nil && e.Unusable == "" {
				e.Unusable = err.Error()
			}
			if e.Unusable == "" && isForeign(dir, e) {
				e.Unusable = own.Foreign
			}
			if e.Unusable != "" {
				bad.add(e.Name, e.Unusable)
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
		if bad.Count > 0 {
			yield(Entry{}, &bad)
		}
	}
}

// isForeign reports whether an entry of dir is such a one.
func isForeign(dir Path, e Entry) bool {
	name := e.Name
	if e.Dir {
		name += "/"
	}
	return own.IsForeign(dir.prefix() + name)
}

// Usable yields a listing without the [UnusableError] at its end. It is for calls that
// only read, look for certain names, and do not claim to have seen all.
func Usable(entries iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range entries {
			if errors.Is(err, ErrUnusable) || !yield(e, err) {
				return
			}
		}
	}
}
