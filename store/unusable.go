// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"varve.dev/zarr/internal/own"
)

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
				e.Unusable = Foreign
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

// Foreign is why something in a directory of Varve cannot be used that Varve has not
// written, such as a node of another program.
const Foreign = "it is of another program, in a directory that Varve reserves"

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
